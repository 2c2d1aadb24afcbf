//! The page: shows dead reckoning in a browser. Library, simulator and games run there unchanged.
//!
//! In order: correct, clear, quick, small. The code that runs natively computes everything the page
//! shows, and a test in a browser compares the bits.
//!
//! - [`scene`]: the interface of a scene: ticks, knobs, and a frame of plain numbers
//! - [`screens`]: one tank, three screens
//! - [`told`]: which receivers a scheduler sends to
//! - [`guess`]: predictions of where players will be
//! - [`play`]: drive over a bad network; [`live`]: over a real one
//! - [`report`]: the evaluator, for files that are dropped onto the page
//! - `browser`: the classes that JavaScript uses
//! - [`chart`]: lines over time, drawn by plotters
//!
//! The folder `page` beside the sources has the hand-written files for the browser. `cargo xtask
//! page` puts both together.
//!
//! ## Not here
//!
//! Time, the page's colours, the mouse: JavaScript asks for ticks, gets numbers, and draws them.
#![cfg_attr(not(target_arch = "wasm32"), forbid(unsafe_code))]
#![allow(missing_docs, reason = "not published: names that explain themselves need no comment")]

#[cfg(target_arch = "wasm32")]
pub mod browser;
pub mod chart;
mod flight;
pub mod guess;
pub mod live;
pub mod play;
pub mod report;
pub mod scene;
pub mod screens;
pub mod told;
