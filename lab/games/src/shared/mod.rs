//! What games have in common: seats, a step, a log of hands, and knobs within ranges.
//!
//! A game that is a [`Game`] gets the rest for nothing: an [`InputLog`] that keeps a run as the
//! changes of its players' hands, a [`Replay`] of that log that gives the same bits, and the run as
//! a [`Trace`](fairpath_sim::trace::Trace) that any tool can read, from which the log can be had
//! back.
//!
//! [`RoundTrip`] puts a round trip between a player and a server in the same process, with or
//! without lag compensation.
//!
//! The jet car and sailing live here; the older games have copies of their own and can move in.

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

/// Adds a vector.
pub(crate) fn add_vector(vector: Vec2, digest: &mut Digest) {
    digest.f64(vector.x).f64(vector.y);
}

/// Adds the state of a moving entity.
pub(crate) fn add_state(state: &State<Vec2>, digest: &mut Digest) {
    add_vector(state.position, digest);
    add_vector(state.velocity, digest);
    add_vector(state.acceleration, digest);
    digest.f64(state.orientation).f64(state.spin);
}

/// Adds where a generator stands, by what it would say next; the generator itself does not move.
pub(crate) fn add_random(random: &Random, digest: &mut Digest) {
    let mut ahead = random.clone();
    for _ in 0..4 {
        digest.u64(ahead.bits());
    }
}

/// An axis of a stick within `low` … 1; what is not a number is 0.
pub(crate) fn axis(value: f64, low: f64) -> f64 {
    // Adding zero makes −0 the one zero: hands that equal others lead to the same bits.
    if value.is_nan() { 0.0 } else { value.clamp(low, 1.0) + 0.0 }
}
