//! Sessions in virtual time: what is promised holds over bad links, through partitions and restarts.

#[path = "sessions/arena.rs"]
mod arena;
#[path = "sessions/motion.rs"]
mod motion;
