#![doc = include_str!("../README.md")]
//! # Parts
//!
//! [`place`](fairpath::place) answers where *other* players are now. This crate covers own inputs,
//! other players shown in the known past, and a server that judges shots by what the shooter saw.
//!
//! ```text
//! client                                             server
//! ──────                                             ──────
//! input ─▶ LocalLag ─▶ InputBuffer ── the last k ──▶ InputQueue ── one per tick, padded ─┐
//!             │            │ replayed                                                    │
//!             ▼            ▼                                                             ▼
//!         Metronome ─▶ FixedTicks, FreeRunning,                                     game steps
//!             │        Prototype ◀── Mailbox ◀────── state with newest stamp ────────────┤
//!             ▼            │                                                             │
//!         Presentation,    │                         Contingencies: applied at the event │
//!         Interpolation    │                         TimeWarp: what did the shooter see? ┤
//!             │            │                         Buckets, TrailingStates: all agree  ┘
//!             ▼            ▼
//!         Drawn bends what is shown, never what is simulated
//! ```
//!
//! | part | what it hides | what it costs |
//! | --- | --- | --- |
//! | [`InputBuffer`], [`FreeRunning`] | the round trip, for the player's own inputs (the final game of Buchheit 2004) | replaying unacknowledged inputs |
//! | [`FixedTicks`], [`Metronome`], [`Lead`], [`InputQueue`] | the same, to the bit | a client that plays ahead of its server |
//! | [`Prototype`] | the same, roughly (the first game of Buchheit 2004): for comparison | wrong whenever velocity matters |
//! | [`Mailbox`] | queues of old states | nothing |
//! | [`Presentation`], [`Interpolation`], [`AdaptiveDelay`] | jitter and loss of other players' states | other players are shown in the past |
//! | [`Buckets`] (MiMaze) | differences between players | every player waits 100 ms |
//! | [`LocalLag`] | the same, for inputs that can wait | those inputs wait |
//! | [`TimeWarp`] | the delay of a shooter's view | a target may be hit behind cover, by a bounded time |
//! | [`TrailingStates`] | late commands, without a history of states | a few copies of the world |
//! | [`Contingencies`] | even the one-way delay, for one foreseen event | the player must foresee it |
//!
//! Each part has an example in its documentation. Whole programs over simulated links are the
//! examples `compensate_…` of `lab/games` in the repository. A game provides its step function as
//! [`Simulate`]; client and server call the same code.
//!
//! # Guarantees
//!
//! In fixed ticks, with inputs sent redundantly and no interference by other players, the state
//! first predicted for a tick *is* the server's state of that tick, bit for bit, if the inputs
//! arrived in time. A free-running server applies an input when it arrives: with jitter J the
//! prediction is off by what J does to the player's velocity. The tests of the reference games
//! check both, over links with jitter, 30 % loss and reordering.
//!
//! Every buffer has a named bound. Overflow, unknown stamps, a clock that jumps, a server that
//! restarts and a silence of any length are reported as values, never as a freeze or an endless
//! replay.

mod adaptive_delay;
mod buckets;
mod contingency;
mod epoch;
mod fixed_ticks;
mod free_running;
mod input_buffer;
mod input_queue;
mod interpolation;
mod local_lag;
mod mailbox;
mod metronome;
mod presentation;
mod prototype;
mod steady;
mod time_warp;
mod trailing;

pub use adaptive_delay::{AdaptiveDelay, AdaptiveDelayConfig, SAMPLES_MAX};
pub use buckets::{BUCKETS_MAX, Bucket, BucketConfig, BucketOutcome, Buckets, PARTICIPANTS_MAX};
pub use contingency::{CONTINGENCIES_MAX, Contingencies, Contingency, TooMany};
pub use epoch::{Epoch, EpochOrder, Epochs, RETIRED_MAX};
pub use fixed_ticks::{APART_MAX, Accepted, FixedTicks, Snapshot};
pub use free_running::{EXTRAPOLATION_MAX, FreeRunning, HeldInput, Prediction, Reply, ReplyVerdict};
pub use input_buffer::{Acknowledged, ENTRIES_DEFAULT, InputBuffer, Pushed};
pub use input_queue::{AHEAD_MAX, InputQueue, Margin, Padding, Played, Received, SEAT_SILENCE};
pub use interpolation::{HISTORY_LEN_MAX, Interpolation, Shown, Source};
pub use local_lag::{LOCAL_LAG_LEN_MAX, LocalLag};
pub use mailbox::{Delivered, Mailbox, MailboxItem, PERSISTENT_MAX};
pub use metronome::{Lead, Metronome, REPORTS_PER_NUDGE};
pub use presentation::{PRESENTATION_LEN_MAX, Presentation};
pub use prototype::{PositionOffset, Prototype, RoundTrip};
pub use steady::GAP_MAX;
pub use time_warp::{ENTITIES_MAX, FRAMES_MAX, Moment, TimeWarp, TimeWarpConfig};
pub use trailing::{CommandOutcome, PLAYERS_MAX, TRAILS_MAX, TrailingStates, TrailingStatistics};

/// A game's step function, as prediction calls it.
///
/// Implement it for the rules of the game, or for whatever a step needs and does not change.
/// Stepping must be pure: the same state and input give the same bits on server and client.
///
/// ```
/// use fairpath_compensate::Simulate;
///
/// /// A cart on a rail: the input is its speed, in cells per tick.
/// struct Rail;
///
/// impl Simulate for Rail {
///     type State = i64;
///     type Input = i64;
///
///     fn step(&self, cell: &mut i64, speed: &i64, ticks: u32) {
///         *cell += speed * i64::from(ticks);
///     }
/// }
///
/// let mut cell = 3;
/// Rail.step(&mut cell, &2, 10);
/// assert_eq!(cell, 23);
/// ```
pub trait Simulate {
    /// The state that the server sends and the client can continue.
    type State: Clone;
    /// What a player does during a tick.
    type Input: Clone;

    /// Plays `ticks` ticks with `input`. Many ticks at once must equal playing them one by one.
    fn step(&self, state: &mut Self::State, input: &Self::Input, ticks: u32);
}

#[cfg(test)]
mod toy {
    use super::Simulate;

    /// A cart on a rail: input is acceleration per tick, state is position and velocity.
    pub(super) struct Rail;

    impl Simulate for Rail {
        type State = (i64, i64);
        type Input = i64;

        fn step(&self, (position, velocity): &mut (i64, i64), push: &i64, ticks: u32) {
            for _ in 0..ticks {
                *position += *velocity;
                *velocity += push;
            }
        }
    }
}
