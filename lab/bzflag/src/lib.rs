//! Measures how far off BZFlag's players see each other, with the real programs.
//!
//! ```text
//! bzflag ── tap ── middleman (delay) ── proxy ── bzfs
//! ```
//!
//! A [`Tap`](tap::Tap) stands next to each client. What a client sends is the truth: its tank keeps
//! within 0.09 units of it per axis. What a client is sent is what it shows, by BZFlag's own rule.
//! [`measure`] compares the two, sample by sample, on one clock; [`report`] judges the claims.
#![forbid(unsafe_code)]

pub mod measure;
pub mod programs;
pub mod report;
pub mod run;
pub mod tap;
