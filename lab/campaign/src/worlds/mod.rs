//! Worlds of many servers: drawn from a seed, broken, healed, and checked from outside.
//!
//! A [`WorldPlan`] is 2 to 8 servers with tanks that drive across the borders of cells and make
//! promises to each other, a store and a bus that are as bad as the real ones, clocks that are
//! wrong by as much as they state, and faults. [`run()`] plays it with the real zones; every record
//! and message goes through its bytes. Then everything heals, and the world must be whole.
//!
//! | fault | where it is drawn |
//! | --- | --- |
//! | stale reads, lost requests and answers, requests that arrive twice or seconds late | [`StorePlan`] |
//! | loss, copies, reordering and late messages on the bus | [`BusPlan`] |
//! | drift of monotonic clocks, errors of shared clocks, late ticks | [`WorldPlan`] |
//! | crashes at any time and at every step, before and after it is sent | [`Incident::Crash`], [`Incident::CrashAt`] |
//! | a paused process, a suspended machine whose clocks stand still | [`Incident::Pause`], [`Incident::Freeze`] |
//! | partitions from the bus, from the store, of the store | [`Incident::CutBus`], [`Incident::CutStore`], [`Incident::StoreDown`] |
//! | a server without a shared clock; drains | [`Incident::LoseClock`], [`Incident::Drain`] |
//!
//! The laws are [`WorldLaw`]. One server's belief is not checked while its clocks are known to have
//! stood still: nothing on that server can know it. What it then says must not be believed.
//!
//! Not here: sessions of clients, the ledger, and the real broker.

mod check;
mod plan;
mod run;
mod store;

pub use check::{WorldLaw, WorldViolation};
pub use plan::{BusPlan, Incident, Step, StorePlan, WorldPlan};
pub use run::{Entered, WorldOutcome, play, run};

/// Returns the line that replays a world.
pub fn replay_line(seed: u64) -> String {
    format!("cargo xtask sim --worlds --seed {seed}")
}
