//! Are receivers treated alike? One owner, many receivers at different distances, and a scheduler
//! that decides which receiver is sent what, and when.
//!
//! In the order data takes:
//! - [`Motion`] is what really moves: tanks of our own, or a recording
//! - [`Receiver`] is a receiver's link: its delay and jitter
//! - [`LabScheduler`] is a scheduler by name, with its parameters
//! - [`run`](run::run) plays one truth on a [`Star`](fairpath_sim::star::Star), whose
//!   [`Observer`](fairpath_sim::star::Observer) integrates every receiver's error exactly
//! - [`Arena`] plays many trials on all cores; each becomes a [`Score`]
//! - [`Score`] has the metrics, [`ratio`] compares two of them and says how sure it is
//!
//! What is measured is what an omniscient observer sees, with true arrival times; what the sender
//! *believes* of it is reported beside it. Clocks are exact and everything promised to receivers in
//! live use is switched off
//! ([`DispatcherConfig::as_in_the_papers`](fairpath::schedule::DispatcherConfig::as_in_the_papers)). Replicas are fed
//! the bytes that links carry, one DR vector to a datagram, and answer each with feedback in bytes;
//! bytes counted are those of the former, without what UDP and IP add. Feedback takes as long as
//! the way there, is never lost and keeps its order, as the papers assume.

mod arena;
mod base_index;
pub(crate) mod bench;
mod bootstrap;

pub mod exploration;
pub(crate) mod figures;
mod lab_scheduler;
mod lie;
mod motion;
mod receiver;
pub mod run;
mod score;

pub use arena::{Arena, Trial};
pub use base_index::BaseIndex;
pub use bootstrap::{Measure, Ratio, ratio};
pub use lab_scheduler::LabScheduler;
pub use lie::Lie;
pub use motion::{Model, Motion, STRETCH_MIN};
pub use receiver::{Jitter, Receiver};
pub use score::{Game, Score, jain, mean, spread};
