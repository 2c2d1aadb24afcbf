//! The examples run as they are written; each checks what it shows.

#[path = "../../examples/compensate_contingency.rs"]
mod contingency;
#[path = "../../examples/compensate_fixed_ticks.rs"]
mod fixed_ticks;
#[path = "../../examples/compensate_free_running.rs"]
mod free_running;
#[path = "../../examples/compensate_interpolation.rs"]
mod interpolation;
#[path = "../../examples/compensate_time_warp.rs"]
mod time_warp;
#[path = "../../examples/compensate_together.rs"]
mod together;
