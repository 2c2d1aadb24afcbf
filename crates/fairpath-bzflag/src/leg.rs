//! How long a client's packets travel: round trips by lag pings, and the senders' stamps.
//!
//! A proxy in the middle sees round trips, and how late a stamped packet is compared with others of
//! the same client. Half of a round trip is taken for each direction. If the directions differ, the
//! estimate is off by half of the difference ([`Leg::asymmetry_max`]); nothing that one end alone
//! can measure tells more.

use std::collections::VecDeque;

use fairpath::time::{SharedInstant, Span};

/// How many round trips the usual one is the median of. With a ping each 250 ms: two seconds.
const ROUND_TRIPS_KEPT: usize = 9;
/// How long a smallest value counts: it is forgotten after one to two of these. Long enough that
/// some packet met no queue, short enough that a drifting clock (50 parts in a million) adds 1 ms.
const MINIMUM_PERIOD: Span = Span::from_secs(10);

/// The smallest of the values of the last one to two periods.
#[derive(Clone, Copy, Debug, Default)]
struct RecentMinimum {
    current: Option<i64>,
    previous: Option<i64>,
    began: Option<SharedInstant>,
}

impl RecentMinimum {
    fn add(&mut self, value: i64, now: SharedInstant) {
        let began = *self.began.get_or_insert(now);
        if now - began >= MINIMUM_PERIOD {
            self.previous = self.current.take();
            self.began = Some(now);
        }
        self.current = Some(self.current.map_or(value, |least| least.min(value)));
    }

    fn get(&self) -> Option<i64> {
        self.current.into_iter().chain(self.previous).min()
    }
}

/// What is known about the way to one client and back.
#[derive(Clone, Debug, Default)]
pub struct Leg {
    recent: VecDeque<Span>,
    shortest: RecentMinimum,
    /// Arrival at the proxy minus the sender's stamp, in microseconds.
    lateness: RecentMinimum,
}

impl Leg {
    /// Takes the round trip of a lag ping.
    pub fn handle_round_trip(&mut self, round_trip: Span, now: SharedInstant) {
        if self.recent.len() == ROUND_TRIPS_KEPT {
            self.recent.pop_front();
        }
        self.recent.push_back(round_trip);
        self.shortest.add(round_trip.as_micros(), now);
    }

    /// Takes the stamp of an update that the client sent and that arrived now.
    pub fn handle_stamp(&mut self, stamp: f32, now: SharedInstant) {
        self.lateness.add(now.as_micros() - micros_of(stamp), now);
    }

    /// Returns the usual round trip, or `None` before the first one. The median, because the answer
    /// comes over TCP and waits there when a packet is lost.
    pub fn round_trip(&self) -> Option<Span> {
        let mut sorted: Vec<Span> = self.recent.iter().copied().collect();
        sorted.sort_unstable();
        sorted.get(sorted.len() / 2).copied()
    }

    /// Returns how long a packet travels to the client. Zero before the first round trip.
    pub fn delay_down(&self) -> Span {
        self.round_trip().map_or(Span::ZERO, |round_trip| round_trip.scaled(0.5))
    }

    /// Returns how long the quickest packets travel from the client. Zero before the first round
    /// trip.
    pub fn delay_up_min(&self) -> Span {
        self.shortest.get().map_or(Span::ZERO, |shortest| Span::from_micros(shortest / 2))
    }

    /// Returns by how much [`delay_down`](Self::delay_down) and
    /// [`delay_up_min`](Self::delay_up_min) may be off because the two directions differ.
    pub fn asymmetry_max(&self) -> Span {
        self.delay_up_min()
    }

    /// Returns when the state with this stamp was true, on the proxy's clock. `None` if no stamp
    /// was seen.
    pub fn instant_of(&self, stamp: f32) -> Option<SharedInstant> {
        let lateness = self.lateness.get()?;
        Some(SharedInstant::from_micros(micros_of(stamp).saturating_add(lateness)) - self.delay_up_min())
    }
}

fn micros_of(stamp: f32) -> i64 {
    Span::from_secs_f64(f64::from(stamp)).as_micros()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> SharedInstant {
        SharedInstant::ZERO + Span::from_millis(millis)
    }

    #[test]
    fn a_late_packet_does_not_move_the_instant_of_its_state() {
        let mut leg = Leg::default();
        leg.handle_round_trip(Span::from_millis(200), at(500));
        for (stamp, arrived) in [(1.0, 1100), (1.25, 1350), (1.5, 1790)] {
            leg.handle_stamp(stamp, at(arrived));
        }
        assert_eq!(leg.instant_of(1.5), Some(at(1500)));
    }

    #[test]
    fn one_slow_answer_does_not_change_the_delay() {
        let mut leg = Leg::default();
        for (ping, round_trip) in [100, 104, 900, 101, 99].into_iter().enumerate() {
            leg.handle_round_trip(Span::from_millis(round_trip), at(250 * ping as i64));
        }
        assert_eq!(leg.delay_down(), Span::from_micros(50_500));
        assert_eq!(leg.delay_up_min(), Span::from_micros(49_500));
    }

    #[test]
    fn a_smallest_value_is_forgotten() {
        let mut leg = Leg::default();
        leg.handle_round_trip(Span::from_millis(10), at(0));
        for second in 1..=25 {
            leg.handle_round_trip(Span::from_millis(80), at(second * 1000));
        }
        assert_eq!(leg.delay_up_min(), Span::from_millis(40));
    }
}
