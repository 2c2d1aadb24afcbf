//! A campaign of whole worlds: each is drawn from a seed, broken in every way we know, healed, and checked from outside.
//!
//! A [`Plan`] is a server, 2 to 64 clients with tanks, their links and clocks, any scheduler and placement, and a list
//! of what goes wrong. [`run`] plays it on the simulator with the real sessions. First comes the *safety phase*: whatever
//! happens, nothing wrong may happen. Then all links heal, everything comes to rest, and in the *liveness phase*
//! everybody must end up with the newest of everything.
//!
//! Who checks ([`Law`]) lives outside of what is checked: one file for each law, with a simple model of its own, told
//! only what a bystander can see. What they look at is counted, so that silence is not taken for health.
//!
//! ```
//! let plan = fairpath_campaign::Plan::from_seed(7);
//! let outcome = fairpath_campaign::run(&plan);
//! assert_eq!(outcome.findings.violation, None, "{plan}");
//! ```
//!
//! ## Not here
//!
//! Real sockets, hostile bytes (`fuzz` and the sessions' own tests), and how well anything is done: a law is what must
//! hold for everybody at any time, not what is good on average.
#![forbid(unsafe_code)]

mod campaign;
mod check;
mod plan;
pub mod siege;
mod stage;
mod witness;

pub use campaign::{Campaign, Failure, REGRESSIONS, Tally, replay_line};
pub use check::{Findings, Law, Violation};
pub use plan::{Drivers, Incident, Plan, SchedulerPlan};
pub use stage::{Outcome, run, run_traced};
