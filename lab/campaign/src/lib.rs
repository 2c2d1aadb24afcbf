//! A campaign of whole worlds: each is drawn from a seed, broken in every way we know, healed, and
//! checked from outside.
//!
//! A [`Plan`] is a server, 2 to 64 clients with tanks, their links and clocks, any scheduler and
//! placement, and a list of what goes wrong. [`run`] plays it on the simulator with the real
//! sessions. First comes the *safety phase*: whatever happens, nothing wrong may happen. Then all
//! links heal, everything comes to rest, and in the *liveness phase* everybody must end up with the
//! newest of everything.
//!
//! Who checks ([`Law`]) lives outside of what is checked: one file for each law, with a simple
//! model of its own, told only what a bystander can see. What they look at is counted, so that
//! silence is not taken for health.
//!
//! ```
//! let plan = fairpath_campaign::Plan::from_seed(7);
//! let outcome = fairpath_campaign::run(&plan);
//! assert_eq!(outcome.findings.violation, None, "{plan}");
//! ```
//!
//! ## What goes wrong, and who would notice
//!
//! | fault | where it is drawn |
//! | --- | --- |
//! | loss, one by one and in bursts; reordering; duplication; jitter; ways that differ | each link of a [`Plan`], by the temper of its world |
//! | partitions; addresses that change | [`Incident::Partition`], [`Incident::Cut`] |
//! | clocks that are off, step and drift | [`Plan::clocks`], [`Incident::Step`], [`Incident::Drift`] |
//! | crashes and restarts | [`Incident::Crash`] of clients, [`Incident::Restart`] of the server |
//! | slow readers | [`Incident::Stall`]: nothing is read, and then all at once; [`Incident::Narrow`]: the link is |
//! | joins and leaves | [`Plan::late`], [`Incident::Leave`], [`Incident::Absent`], [`Incident::Dismiss`] |
//! | liars | [`Plan::liars`] about their receipts; worse ones in [`siege`] |
//!
//! | law | broken by |
//! | --- | --- |
//! | [`Law::Calls`] | a promised message that is lost, doubled or reordered, or not named when its session is lost |
//! | [`Law::Placed`] | anybody who goes back to older information, or places what it was not told |
//! | [`Law::Ledger`] | a settled ledger that is not what somebody knows who saw every arrival |
//! | [`Law::Budget`] | a byte, a copy or a claim too many |
//! | [`Law::Bounds`] | a queue, an outbox or a memory of copies beyond its bound |
//! | [`Law::Clock`] | a shared clock that falls, or is more wrong than it says |
//! | [`Law::Converged`] | anybody who has not got the newest of everything once all has healed |
//! | [`Law::Panic`] | a panic |
//!
//! A test holds that every one of these faults, every scheduler and every placement is drawn, and
//! every law looked at.
//!
//! ## Not here
//!
//! Real sockets, hostile bytes (`fuzz`, [`siege`] and the sessions' own tests), and how well
//! anything is done: a law is what must hold for everybody at any time, not what is good on
//! average.
#![forbid(unsafe_code)]

mod campaign;
mod check;
mod events;
mod plan;
mod run;
pub mod siege;

pub use campaign::{Campaign, CampaignResult, Failure, REGRESSIONS, replay_line};
pub use check::{Findings, Law, Violation};
pub use plan::{Drivers, Incident, Plan, SchedulerPlan};
pub use run::{PlanOutcome, run, run_traced};
