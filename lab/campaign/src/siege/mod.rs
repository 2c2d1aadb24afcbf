//! Hostile clients, and their effect on honest ones.
//!
//! An [`Attacker`] is a real client whose messages are modified and supplemented on their way out.
//! It has no socket: [`besiege`] runs one against a server in virtual time, where the effect on
//! other clients can be measured exactly. Tests and benchmark send the same over QUIC.

mod attacker;
mod run;

pub use attacker::{Attack, AttackStep, Attacker, WITHIN};
pub use run::{AttackDamage, Defence, besiege};
