//! The server in this process, and the way to it and back.

use fairpath::random::Random;
use fairpath::time::{SharedInstant, Span};
use fairpath_sim::{Link, LinkConfig};

/// Two links with half the round trip each, and what arrived last at their ends.
pub(super) struct Way<I, S> {
    up: Link<I>,
    down: Link<S>,
    received: I,
    shown: S,
}

impl<I: Copy, S: Clone> Way<I, S> {
    /// A way of `lag_ms` there and back, on which `input` and `scene` have arrived before.
    pub(super) fn new(lag_ms: u32, input: I, scene: S) -> Self {
        let config = LinkConfig::default().delay(Span::from_micros(i64::from(lag_ms) * 500));
        // Without jitter or loss there is nothing to draw.
        let dice = Random::from_seed(0);
        Self {
            up: Link::new(config.clone(), dice.fork(0)),
            down: Link::new(config, dice.fork(1)),
            received: input,
            shown: scene,
        }
    }

    /// What the player's screen shows: the newest scene that has arrived.
    pub(super) fn shown(&self) -> &S {
        &self.shown
    }

    /// One tick: the input leaves, the server plays the newest that has arrived, and its scene leaves.
    pub(super) fn tick(&mut self, now: SharedInstant, input: I, server: impl FnOnce(I) -> S) {
        // Nothing here is large enough to wait in a queue.
        const SIZE_BYTES: u32 = 0;
        self.up.send(now, SIZE_BYTES, input);
        while let Some(arrival) = self.up.poll(now) {
            self.received = arrival.payload;
        }
        let scene = server(self.received);
        self.down.send(now, SIZE_BYTES, scene);
        while let Some(arrival) = self.down.poll(now) {
            self.shown = arrival.payload;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_shows_one_round_trip_later() {
        let mut way = Way::new(100, 0, 0);
        let mut shows = Vec::new();
        for tick in 1..=30_i64 {
            way.tick(SharedInstant::from_millis(10 * tick), tick, |input| input);
            shows.push(*way.shown());
        }
        assert_eq!(shows[..10], [0; 10], "nothing is back before 100 ms");
        assert!(shows.iter().zip(1..).skip(10).all(|(shown, tick)| *shown == tick - 10), "{shows:?}");
    }

    #[test]
    fn without_lag_it_shows_at_once() {
        let mut way = Way::new(0, 0, 0);
        way.tick(SharedInstant::ZERO, 7, |input| 2 * input);
        assert_eq!(*way.shown(), 14);
    }
}
