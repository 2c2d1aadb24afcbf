//! Sessions in virtual time: what is promised holds over bad links, through partitions and
//! restarts.

#[path = "sessions/announcements.rs"]
mod announcements;
#[path = "sessions/arena.rs"]
mod arena;
#[path = "sessions/budget.rs"]
mod budget;
#[path = "sessions/budget_laws.rs"]
mod budget_laws;
#[path = "sessions/calls.rs"]
mod calls;
#[path = "sessions/hostile.rs"]
mod hostile;
#[path = "sessions/interest.rs"]
mod interest;
#[path = "sessions/laws.rs"]
mod laws;
#[path = "sessions/life.rs"]
mod life;
#[path = "sessions/loss.rs"]
mod loss;
#[path = "sessions/motion.rs"]
mod motion;
#[path = "sessions/objects.rs"]
mod objects;
#[path = "sessions/ownership.rs"]
mod ownership;
#[path = "sessions/paging.rs"]
mod paging;
#[path = "sessions/parents.rs"]
mod parents;
#[path = "sessions/seats.rs"]
mod seats;
#[path = "sessions/sleep.rs"]
mod sleep;
#[path = "sessions/typed.rs"]
mod typed;
