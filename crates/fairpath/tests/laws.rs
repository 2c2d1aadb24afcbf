//! The laws of the library, one file per room. Property tests: see `fairpath_laws` for seeds and
//! replay.

mod common;

#[path = "laws/clock.rs"]
mod clock;
#[path = "laws/converge.rs"]
mod converge;
#[path = "laws/dis.rs"]
mod dis;
#[path = "laws/dispatch.rs"]
mod dispatch;
#[path = "laws/error.rs"]
mod error;
#[path = "laws/error_index.rs"]
mod error_index;
#[path = "laws/ledger.rs"]
mod ledger;
#[path = "laws/link.rs"]
mod link;
#[path = "laws/motion.rs"]
mod motion;
#[path = "laws/number.rs"]
mod number;
#[path = "laws/observe.rs"]
mod observe;
#[path = "laws/own_trigger.rs"]
mod own_trigger;
#[path = "laws/parents.rs"]
mod parents;
#[path = "laws/place.rs"]
mod place;
#[path = "laws/schedule.rs"]
mod schedule;
#[path = "laws/session.rs"]
mod session;
#[path = "laws/session_start.rs"]
mod session_start;
#[path = "laws/trigger.rs"]
mod trigger;
#[path = "laws/wire.rs"]
mod wire;
