//! A simulation campaign: worlds drawn from a seed, subjected to faults, healed, and checked.
//!
//! A [`Plan`] is a server, 2 to 64 clients with tanks, their links and clocks, a scheduler and
//! placement, and a list of faults. [`run()`] plays it on the simulator with the real sessions and
//! one typed `Protocol`. Each world has some of the ingredients below. In the *safety phase* no
//! fault may break a law. Then all links heal, all objects come to rest, and
//! in the *liveness phase* every client must converge to the newest state of every object.
//!
//! The checkers ([`Law`]) are independent of the code they check: one file for each law, with a
//! simple model of its own, that is given only observable events. Every check is counted, so that a
//! checker that never runs is noticed.
//!
//! ```
//! let plan = fairpath_campaign::Plan::from_seed(7);
//! let outcome = fairpath_campaign::run(&plan);
//! assert_eq!(outcome.findings.violation, None, "{plan}");
//! ```
//!
//! ## Faults and laws
//!
//! | fault | where it is drawn |
//! | --- | --- |
//! | loss, one by one and in bursts; reordering; duplication; jitter; ways that differ | each link of a [`Plan`], by the fault mix of its world |
//! | partitions, both ways and one way; addresses that change | [`Incident::Partition`], [`Incident::OneWay`], [`Incident::Cut`] |
//! | clocks with offset, steps and drift | [`Plan::clocks`], [`Incident::Step`], [`Incident::Drift`] |
//! | crashes and restarts | [`Incident::Crash`] of clients, [`Incident::Restart`] of the server |
//! | planned restarts | [`Incident::PlannedRestart`]: clients are told, and nothing answers for a while |
//! | slow readers | [`Incident::Stall`]: the client reads nothing, then everything at once; [`Incident::Narrow`]: the link is slow |
//! | a server that does nothing for a while | [`Incident::ServerStall`]: then it reads everything at once |
//! | joins and leaves | [`Plan::late`], [`Incident::Leave`], [`Incident::Absent`], [`Incident::Dismiss`] |
//! | false receipts | [`Plan::liars`]; worse attacks in [`siege`] |
//! | values of the wrong type; a client of another game | [`Incident::Garble`]; [`Plan::stranger`] |
//!
//! | ingredient | where it is drawn |
//! | --- | --- |
//! | typed states of owners and of the server, typed calls of every delivery class | every world |
//! | thousands of objects, shown page by page | [`Plan::stones`] |
//! | ids that are used again | [`Plan::bullets`] that live for a second, [`Plan::rests`] of 125 s |
//! | parents: chains, hand-overs, carriers that vanish | [`Plan::riders`], [`Incident::Attach`], [`Incident::Board`], [`Incident::Give`], [`Incident::Sink`] |
//!
//! | law | broken by |
//! | --- | --- |
//! | [`Law::Calls`] | a promised message that is lost, doubled or reordered, or not named when its session is lost |
//! | [`Law::Placed`] | a client or server that returns to older information, or places an object where no DR vector and carrier say; a chosen parent that is not exported |
//! | [`Law::Ledger`] | a settled ledger that differs from the error computed from all arrivals |
//! | [`Law::Budget`] | more bytes, copies or claims than allowed, or more than heartbeats for a rider that stands |
//! | [`Law::Bounds`] | a queue, an outbox or a list of copies beyond its bound |
//! | [`Law::Clock`] | a shared clock that runs backwards, or is more wrong than its reported uncertainty |
//! | [`Law::Converged`] | after healing, a client or server without the newest position, owner, parent and states of an object, or a client that sees other objects than its radius of interest says |
//! | [`Law::Types`] | a creation value, state or call of another type than the protocol says |
//! | [`Law::Identity`] | a creation value, state or position of another object with the same id |
//! | [`Law::Entered`] | an object that enters without a place, or loses it while it is visible |
//! | [`Law::Restart`] | objects of two server runs in one session, a session given up too early, a lost state that is not listed |
//! | [`Law::Strangers`] | a client of another game that is admitted, or refused with a wrong reason |
//! | [`Law::Accused`] | a client that closes its connection because the server broke the protocol: it never does |
//! | [`Law::Panic`] | a panic |
//!
//! A test asserts that every fault, scheduler and placement is drawn, and every law checked.
//!
//! ## Not here
//!
//! Real sockets, hostile bytes (`fuzz`, [`siege`] and the sessions' own tests), and quality: a law
//! must hold for every client at any time; it does not measure averages.
#![forbid(unsafe_code)]
#![allow(missing_docs, reason = "not published: names that explain themselves need no comment")]

mod campaign;
mod check;
mod events;
mod game;
mod plan;
mod run;
pub mod siege;
pub mod worlds;

pub use campaign::{Campaign, CampaignResult, Failure, REGRESSIONS, replay_line};
pub use check::{Findings, Law, Violation};
pub use plan::{Drivers, Incident, Plan, REST, SchedulerPlan, Stranger};
pub use run::{PlanOutcome, run, run_traced};
