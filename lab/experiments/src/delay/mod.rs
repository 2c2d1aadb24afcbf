//! Playing under delay: the trials behind jet-car (X13), sailing (X14), aiming (X16) and
//! hidden-delay.
//!
//! - [`jet_car`]: a bot drives on an old screen, or on one that simulates ahead of the server
//! - [`sailing`]: an agent far away races an equal one at the server
//! - [`arena`]: tank bots aim at what their screens place, and every shot is judged in several ways
//!   at once
//! - [`Summary`]: a mean over runs with its interval
//! - [`Smoothness`]: what an eye would notice of corrections
//!
//! Everything is in virtual time: a trial and a seed give the same numbers to the bit.

pub mod arena;
pub mod jet_car;
pub mod sailing;
mod smoothness;
mod summary;

pub use smoothness::Smoothness;
pub use summary::Summary;

use fairpath::converge::Algorithm;
use fairpath::time::Span;
use fairpath_sim::LinkConfig;

/// A link with half of this round trip each way, and half of `jitter` to either side on each.
pub(crate) fn half_each_way(rtt: Span, jitter: Span) -> LinkConfig {
    LinkConfig::default().delay(rtt.scaled(0.5)).jitter_uniform(jitter.scaled(0.5))
}

pub(crate) fn in_ms(span: Span) -> String {
    format!("{} ms", span.as_millis_f64())
}

pub(crate) fn curve_name(algorithm: Algorithm) -> &'static str {
    match algorithm {
        Algorithm::Snap => "snap",
        Algorithm::Linear => "linear",
        Algorithm::Cubic => "cubic",
        Algorithm::ProjectiveVelocityBlending => "projective velocity blending",
        Algorithm::CriticallyDamped => "critically damped",
    }
}
