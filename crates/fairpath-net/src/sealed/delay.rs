//! Sending less while delay rises.

use fairpath::time::{LocalInstant, Span};

/// The share of its budget that a sender may use, from the round trips that it measures.
///
/// A queue that fills on the way delays every packet before it drops one. While the round trip is
/// well above the least one of the last 10 to 20 s, the share falls by a fifth every 200 ms, down
/// to a quarter; otherwise it rises by a twentieth. Servers and clients apply the share to the
/// session's byte budget: a sender that only held packets back would make them old.
///
/// A path that becomes longer for good costs a sender up to 20 s of a smaller budget.
#[derive(Clone, Debug)]
pub struct DelayRise {
    share: f64,
    /// The share that the session was told.
    told: Option<f64>,
    /// Mean of the newest round trips, in which one late packet counts little.
    smoothed: Option<Span>,
    least: Span,
    /// The least round trip since `window_began`, which replaces `least` when the window ends.
    least_next: Span,
    window_began: LocalInstant,
    stepped_at: LocalInstant,
}

const SHARE_MIN: f64 = 0.25;
const FALL: f64 = 0.8;
const RISE: f64 = 0.05;
const STEP_EVERY: Span = Span::from_millis(200);
const WINDOW: Span = Span::from_secs(10);
/// Rises below this are jitter: a tick of 30 Hz, rounded up.
const RISE_MIN: Span = Span::from_millis(40);

impl DelayRise {
    /// No round trip is known: the whole budget.
    pub fn new(now: LocalInstant) -> Self {
        Self {
            share: 1.0,
            told: None,
            smoothed: None,
            least: Span::MAX,
            least_next: Span::MAX,
            window_began: now,
            stepped_at: now,
        }
    }

    /// Takes in a measured round trip.
    pub fn on_round_trip(&mut self, now: LocalInstant, round_trip: Span) {
        let smoothed = self.smoothed.map_or(round_trip, |mean| mean + (round_trip - mean).scaled(0.25));
        self.smoothed = Some(smoothed);
        self.least = self.least.min(round_trip);
        self.least_next = self.least_next.min(round_trip);
        if now - self.window_began >= WINDOW {
            self.least = self.least_next;
            self.least_next = round_trip;
            self.window_began = now;
        }
        if now - self.stepped_at >= STEP_EVERY {
            self.stepped_at = now;
            self.step(smoothed);
        }
    }

    /// Takes in a measured round trip, if there is one. Returns the share if it is not the one that
    /// the last call returned. The first call with a round trip returns it: a session that is
    /// resumed may have that of another path.
    pub fn next_share(&mut self, now: LocalInstant, round_trip: Option<Span>) -> Option<f64> {
        self.on_round_trip(now, round_trip?);
        (self.told.replace(self.share) != Some(self.share)).then_some(self.share)
    }

    /// The share of the budget that may be used, from 0.25 to 1.
    pub fn share(&self) -> f64 {
        self.share
    }

    fn step(&mut self, smoothed: Span) {
        let is_rising = smoothed - self.least > RISE_MIN.max(self.least.scaled(0.5));
        self.share = if is_rising { self.share * FALL } else { self.share + RISE }.clamp(SHARE_MIN, 1.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds a round trip every 50 ms and returns the least share on the way and the last one.
    fn run(rise: &mut DelayRise, from_ms: i64, to_ms: i64, round_trip_ms: impl Fn(i64) -> i64) -> (f64, f64) {
        let mut least: f64 = 1.0;
        for at in (from_ms..to_ms).step_by(50) {
            let now = LocalInstant::from_micros(at * 1_000);
            rise.on_round_trip(now, Span::from_millis(round_trip_ms(at)));
            least = least.min(rise.share());
        }
        (least, rise.share())
    }

    #[test]
    fn a_filling_queue_takes_the_budget_to_a_quarter_and_an_empty_one_gives_it_back() {
        let mut rise = DelayRise::new(LocalInstant::from_micros(0));
        let (least, _) = run(&mut rise, 0, 3_000, |at| 50 + at % 20);
        assert_eq!(least, 1.0, "jitter is no rise");
        let (_, full) = run(&mut rise, 3_000, 6_000, |at| 50 + (at - 3_000) / 5);
        assert!(full <= 0.26, "{full}");
        let (_, empty) = run(&mut rise, 6_000, 14_000, |_| 50);
        assert_eq!(empty, 1.0);
    }

    #[test]
    fn a_longer_path_is_the_new_normal_within_two_windows() {
        let mut rise = DelayRise::new(LocalInstant::from_micros(0));
        run(&mut rise, 0, 2_000, |_| 50);
        let (least, share) = run(&mut rise, 2_000, 30_000, |_| 300);
        assert!(least <= 0.26, "{least}");
        assert_eq!(share, 1.0);
    }

    #[test]
    fn the_share_never_leaves_its_range() {
        let mut rise = DelayRise::new(LocalInstant::from_micros(0));
        let (least, _) = run(&mut rise, 0, 60_000, |at| if at % 3_000 < 1_500 { 20 } else { 2_000 });
        assert!((SHARE_MIN..=1.0).contains(&least));
    }
}
