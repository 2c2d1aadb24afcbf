//! Sessions on real sockets, through a middleman that makes the network as bad as a scenario wants.
//!
//! Nothing here is timed: a scenario waits for what it wants to see, with the patience of a slow
//! machine.

#[path = "live/admission.rs"]
mod admission;
#[path = "live/arena.rs"]
mod arena;
#[path = "live/clock.rs"]
mod clock;
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
#[path = "live/relay.rs"]
mod relay;
#[path = "live/siege.rs"]
mod siege;
