//! The page: see dead reckoning, drive it, understand it. Library, simulator and games run in the
//! browser unchanged.
//!
//! In order: true, clear, quick, small. What is shown is computed by the same code that runs
//! natively, and a test in a browser compares the bits.
//!
//! - [`scene`]: what a scene is: ticks, knobs, and a frame of plain numbers
//! - [`screens`]: one tank, three screens
//! - [`told`]: who gets told
//! - [`guess`]: guess the future
//! - [`play`]: drive over a bad network; [`live`]: over a real one
//! - [`report`]: the evaluator, for files that are dropped onto the page
//! - `browser`: what JavaScript sees of all that
//! - [`chart`]: lines over time, drawn by plotters
//!
//! The folder `page` beside the sources has what is written by hand for the browser; `cargo xtask
//! page` puts both together.
//!
//! ## Not here
//!
//! Time, colours of the page, the mouse: JavaScript asks for so many ticks, gets numbers, and draws
//! them.
#![cfg_attr(not(target_arch = "wasm32"), forbid(unsafe_code))]

#[cfg(target_arch = "wasm32")]
pub mod browser;
pub mod chart;
pub mod guess;
pub mod live;
pub mod play;
pub mod report;
pub mod scene;
pub mod screens;
pub mod told;
