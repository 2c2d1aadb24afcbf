//! One direction of a link: delay, jitter, loss, reordering, duplication, a bottleneck.

mod config;
mod loss;
mod model;
mod rtt_trace;
mod statistics;

use fairpath::random::Random;
use fairpath::time::SharedInstant;

pub use config::{BadLinkConfig, LinkConfig, Rate};
pub use loss::Loss;
pub use model::{Fate, LinkModel, LossCause};
pub use rtt_trace::{BadRttTrace, RttSample, RttTrace};
pub use statistics::{DelayStatistics, LinkStatistics, LossCounts};

use crate::queue::EventQueue;

/// One direction of a link that carries payloads: a [`LinkModel`] and the packets in flight.
///
/// Send, sleep until [`poll_deadline`](Self::poll_deadline), then [`poll`](Self::poll) until
/// `None`. `now` must never go backwards.
///
/// ```
/// use fairpath::{random::Random, time::{SharedInstant, Span}};
/// use fairpath_sim::{Link, LinkConfig};
///
/// let config = LinkConfig::default().delay(Span::from_millis(30));
/// let mut link = Link::new(config, Random::from_seed(7));
/// link.send(SharedInstant::ZERO, 5, "hello");
///
/// let due = link.poll_deadline().expect("one packet is in flight");
/// assert_eq!(due, SharedInstant::from_millis(30));
/// assert_eq!(link.poll(due).map(|arrival| arrival.payload), Some("hello"));
/// ```
#[derive(Clone, Debug)]
pub struct Link<T> {
    model: LinkModel,
    in_flight: EventQueue<InFlight<T>>,
}

/// A packet at the far end of a [`Link`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival<T> {
    /// When it was sent.
    pub sent_at: SharedInstant,
    /// When it arrived.
    pub at: SharedInstant,
    /// Its content.
    pub payload: T,
}

#[derive(Clone, Debug)]
struct InFlight<T> {
    sent_at: SharedInstant,
    payload: T,
}

/// How many packets a link carries at once. Further packets are lost, as at a full queue.
///
/// 65 536: thirteen seconds of 5000 packets per second, and at 1200 bytes below 80 MB. A lower
/// limit would lose packets of a slow link that serves many players; a higher one only lets a flood
/// through a proxy cost more memory.
pub const IN_FLIGHT_MAX: usize = 1 << 16;

impl<T> Link<T> {
    /// Creates a link that draws from `random`.
    ///
    /// # Panics
    /// If [`LinkConfig::check`] rejects the configuration.
    pub fn new(config: LinkConfig, random: Random) -> Self {
        let in_flight = EventQueue::starting_at(SharedInstant::from_micros(i64::MIN));
        Self { model: LinkModel::new(config, random), in_flight }
    }

    /// Sends a packet of `size_bytes` and returns its fate.
    ///
    /// # Panics
    /// If `now` is before the packet sent last.
    pub fn send(&mut self, now: SharedInstant, size_bytes: u32, payload: T) -> Fate
    where
        T: Clone,
    {
        // Room for two, because the packet may be duplicated.
        let has_room = self.in_flight.len() + 2 <= IN_FLIGHT_MAX;
        let fate = self.model.send_if_room(has_room, now, size_bytes);
        if let Fate::Duplicated { copy_at, .. } = fate {
            self.in_flight.schedule(copy_at, InFlight { sent_at: now, payload: payload.clone() });
        }
        if let Fate::Delivered { at } | Fate::Duplicated { at, .. } = fate {
            self.in_flight.schedule(at, InFlight { sent_at: now, payload });
        }
        fate
    }

    /// Returns when the next packet arrives.
    pub fn poll_deadline(&self) -> Option<SharedInstant> {
        self.in_flight.next_at()
    }

    /// Returns the next packet that has arrived by `now`. Packets that arrive at the same instant
    /// come in the order of sending.
    pub fn poll(&mut self, now: SharedInstant) -> Option<Arrival<T>> {
        let (at, InFlight { sent_at, payload }) = self.in_flight.pop_until(now)?;
        Some(Arrival { sent_at, at, payload })
    }

    /// Returns the model: configuration and statistics.
    pub fn model(&self) -> &LinkModel {
        &self.model
    }

    /// Returns the model, to partition, repair or reconfigure it.
    pub fn model_mut(&mut self) -> &mut LinkModel {
        &mut self.model
    }
}
