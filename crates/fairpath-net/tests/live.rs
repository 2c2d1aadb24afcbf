//! Sessions over real sockets, through a middleman that simulates the network of each scenario.
//!
//! Nothing here is timed: a scenario waits until it sees what it expects, for as long as a slow
//! machine may need.

#[path = "live/access.rs"]
mod access;
#[path = "live/addresses.rs"]
mod addresses;
#[path = "live/admission.rs"]
mod admission;
#[path = "live/arena.rs"]
mod arena;
#[path = "live/clock.rs"]
mod clock;
#[path = "live/driver.rs"]
mod driver;
#[path = "live/hostile.rs"]
mod hostile;
#[path = "live/life.rs"]
mod life;
#[path = "live/links.rs"]
mod links;
#[path = "live/lobby.rs"]
mod lobby;
#[path = "live/mesh.rs"]
mod mesh;
#[path = "live/metrics.rs"]
mod metrics;
#[path = "live/problems.rs"]
mod problems;
#[path = "live/recovery.rs"]
mod recovery;
#[path = "live/relay.rs"]
mod relay;
#[path = "live/sealed.rs"]
mod sealed;
#[path = "live/shares.rs"]
mod shares;
#[path = "live/siege.rs"]
mod siege;
#[path = "live/supervision.rs"]
mod supervision;
#[path = "live/threads.rs"]
mod threads;
