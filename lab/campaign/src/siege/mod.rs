//! Hostile peers: what they say, and what it does to everybody else.
//!
//! An [`Attacker`] is a real client whose words are twisted on their way out, and who says more
//! than a client would. It has no socket: [`besiege`] lets one loose on a server in virtual time,
//! where what the others suffer can be measured exactly; the tests and the bench of real sockets
//! carry the same words over QUIC.

mod attacker;
mod run;

pub use attacker::{Attack, AttackStep, Attacker, WITHIN};
pub use run::{AttackDamage, Defence, besiege};
