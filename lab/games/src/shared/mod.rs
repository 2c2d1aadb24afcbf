//! What all games use: the [`Game`] trait, input logs, traces, teams, value ranges.
//!
//! A type that implements [`Game`] gets three things: an [`InputLog`] that stores a run as changes
//! of its players' inputs, a [`Replay`] of that log with the same bits, and a [`Recorder`] that
//! writes the run as a [`Trace`](fairpath_sim::trace::Trace) that any tool can read. The log can be
//! restored from the trace.
//!
//! [`RoundTrip`] simulates the delay to a server in one process, with or without compensation.

mod game;
mod knob;
mod log;
mod record;
mod round_trip;
mod team;
mod whole_game;

pub use game::{Game, Moving, PlayerInput};
pub use knob::OutOfRange;
pub use log::{InputChange, InputLog, Replay};
pub use record::{NotReplayable, Recorder, state_rows};
pub use round_trip::{CONVERGENCE, RoundTrip};
pub use team::Team;
pub use whole_game::WholeGame;

pub(crate) use knob::{Knob, POSITIVE, all_within, count_from, positive_up_to};

use fairpath::State;
use fairpath::random::Random;
use fairpath::vector::Vec2;
use fairpath_sim::Digest;

pub(crate) fn add_vector(vector: Vec2, digest: &mut Digest) {
    digest.f64(vector.x).f64(vector.y);
}

pub(crate) fn add_state(state: &State<Vec2>, digest: &mut Digest) {
    add_vector(state.position, digest);
    add_vector(state.velocity, digest);
    add_vector(state.acceleration, digest);
    digest.f64(state.orientation).f64(state.spin);
}

/// Adds the next four outputs of a generator's clone to a digest; the generator does not advance.
pub(crate) fn add_random(random: &Random, digest: &mut Digest) {
    let mut ahead = random.clone();
    for _ in 0..4 {
        digest.u64(ahead.bits());
    }
}

/// Returns the value of an input axis clamped to `low` … 1; NaN becomes 0.
pub(crate) fn axis(value: f64, low: f64) -> f64 {
    // Adding zero turns −0 into 0, so inputs that compare equal lead to the same bits.
    if value.is_nan() { 0.0 } else { value.clamp(low, 1.0) + 0.0 }
}
