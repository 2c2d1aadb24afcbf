//! Everything a client and its server do to hide lag, each a small part that a game can use alone.
//!
//! Placement ([`place`](fairpath::place)) answers where *others* are now. This room is about the
//! player's own hands, about showing others in a past that is known, and about a server that judges
//! shots by what the shooter saw.
//!
//! ```text
//!  client                                                            server
//!  ──────                                                            ──────
//!  hands ─▶ LocalLag ─▶ InputBuffer ── the last k unacknowledged ──▶ InputQueue ── one per tick, padded ──▶ game steps
//!             │              │                                       Contingencies: fired where the event is
//!             ▼              ▼ replayed                                                                     │
//!       Metronome ─▶ FixedTicks / FreeRunning / Prototype ◀── Mailbox ◀── state, newest stamp in it ────────┤
//!             │              │                                                                              ▼
//!             ▼              ▼                                       TimeWarp: what did the shooter see?
//!        Presentation, Interpolation (others, in the past)           Buckets, TrailingStates: everybody the same
//!                            │
//!                            ▼  Drawn bends what is shown, never what is simulated
//! ```
//!
//! | part | what it hides | what it costs |
//! | --- | --- | --- |
//! | [`InputBuffer`], [`FreeRunning`] | the way there and back, for the own hands (Buchheit 2004's final game) | replaying what is unacknowledged |
//! | [`FixedTicks`], [`Metronome`], [`Lead`], [`InputQueue`] | the same, to the bit | a client that plays ahead of its server |
//! | [`Prototype`] | the same, roughly (Buchheit 2004's first game): for comparison | wrong whenever velocity matters |
//! | [`Mailbox`] | queues of old states | nothing |
//! | [`Presentation`], [`Interpolation`], [`AdaptiveDelay`] | jitter and loss of others' states | others are shown in the past |
//! | [`Buckets`] (MiMaze) | differences between players | everybody waits 100 ms |
//! | [`LocalLag`] | the same, for inputs that bear waiting | those inputs wait |
//! | [`TimeWarp`] | the past in which a shooter aims | a victim may be hit behind cover, by a bounded time |
//! | [`TrailingStates`] | late commands, without a history of states | a few copies of the world |
//! | [`Contingencies`] | even the way there, for one foreseen event | the player must foresee it |
//!
//! Each has an example in its documentation, and whole programs over simulated links are the
//! examples `compensate_…` of `fairpath-games`. What a game brings is its step function, as
//! [`Simulate`]; the client calls the very code the server does.
//!
//! ## What holds
//!
//! In fixed ticks, with inputs sent redundantly and nobody else meddling, the state first predicted
//! for a tick *is* the server's state of that tick, bit for bit, if the inputs it was predicted
//! from arrived in time. A server that free-runs plays an input when it arrives: with jitter J the
//! prediction is off by what J does to the player's velocity. The tests of the reference games say
//! both, over links with jitter, 30 % of loss and reordering.
//!
//! Every buffer has a bound with a name. What overflows, what is unknown, a clock that jumps, a
//! server that restarts and a silence of any length are answered with a value that says so, never
//! with a freeze or a runaway replay.

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
pub use trailing::{CommandOutcome, Commands, PLAYERS_MAX, TRAILS_MAX, TrailingStates, TrailingStatistics};

/// A game's step function, as prediction calls it: the rules know how to move a state on.
///
/// Implement it for the rules (or whatever the step needs and prediction does not change). Stepping
/// must be pure: the same state and input give the same bits, on the server and on the client.
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
    /// All that a client is sent and can play on.
    type State: Clone;
    /// What a player's hands do during a tick.
    type Input: Clone;

    /// Plays `ticks` ticks in which the player's hands do `input`. Many ticks at once are those
    /// ticks one by one.
    fn step(&self, state: &mut Self::State, input: &Self::Input, ticks: u32);
}

#[cfg(test)]
mod toy {
    use super::Simulate;

    /// A cart on a rail: the input is its acceleration per tick. Position and velocity.
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
