use super::steady::Steady;
use fairpath::time::{LocalInstant, TickRate};

/// Returns how many ticks to play now, whatever the clock does.
///
/// Ticks do not drift from the clock. If the clock jumps ahead, it catches up by at most
/// [`GAP_MAX`](super::GAP_MAX); a jump back costs nothing but the jump.
///
/// ```
/// use fairpath_compensate::Metronome;
/// use fairpath::time::{LocalInstant, TickRate};
///
/// let mut metronome = Metronome::new(TickRate::hz(60));
/// assert_eq!(metronome.poll(LocalInstant::from_millis(5_000)), 0, "it begins here");
/// assert_eq!(metronome.poll(LocalInstant::from_millis(5_100)), 6);
/// metronome.nudge(2);
/// assert_eq!(metronome.poll(LocalInstant::from_millis(5_100)), 2, "two ticks sooner from now on");
/// ```
#[derive(Clone, Debug)]
pub struct Metronome {
    rate: TickRate,
    clock: Steady,
    began: Option<LocalInstant>,
    played: i64,
}

impl Metronome {
    /// Creates one that starts at the first [`poll`](Self::poll).
    pub fn new(rate: TickRate) -> Self {
        Self { rate, clock: Steady::default(), began: None, played: 0 }
    }

    /// Returns how many ticks have become due since the last call.
    pub fn poll(&mut self, now: LocalInstant) -> u32 {
        let now = self.clock.advance(now);
        let began = *self.began.get_or_insert(now);
        let due = (self.rate.running_at(now - began) - self.played).clamp(0, i64::from(u32::MAX));
        self.played += due;
        due as u32
    }

    /// Plays `ticks` more than the clock alone would; fewer if negative.
    pub fn nudge(&mut self, ticks: i32) {
        self.played -= i64::from(ticks);
    }
}

/// Keeps a client just far enough ahead of its server, so that its inputs arrive before they are
/// needed, but not much before.
///
/// The server reports how early inputs arrive
/// ([`InputQueue::take_margin`](super::InputQueue::take_margin)); pass the result of
/// [`report`](Self::report) to [`Metronome::nudge`]. It corrects late inputs at once and early ones
/// slowly.
#[derive(Clone, Debug)]
pub struct Lead {
    spare_min: i32,
    spare_max: i32,
    valid_from: u64,
    worst: i32,
    reports: u32,
}

/// The number of consecutive reports, all too early, after which a client gives back an eighth of
/// the excess, at least a tick.
///
/// 64: about a second at 60 reports a second. Fewer, and it gives back between two spikes what the
/// second one needs.
pub const REPORTS_PER_NUDGE: u32 = 64;

/// Most ticks given back at once: 80 ms at 100 ticks a second is a hiccup, more is a stall.
const GIVEN_BACK_MAX: i32 = 8;

impl Lead {
    /// Creates one for inputs that should arrive at least `spare_ticks` before their tick, and at
    /// most three ticks earlier than that. Default 1. At 0 the smallest jitter makes inputs late;
    /// each further tick shows the player a future that is one tick less certain.
    pub fn new(spare_ticks: u16) -> Self {
        let spare_min = i32::from(spare_ticks);
        Self { spare_min, spare_max: spare_min + 3, valid_from: 0, worst: i32::MAX, reports: 0 }
    }

    /// Takes the report that the input for tick `of_tick` arrived `margin` ticks before it was
    /// needed (negative: too late), while this client is at `tick`. Returns the ticks to add.
    ///
    /// Ignores reports about inputs from before the last nudge, which had another lead.
    pub fn report(&mut self, of_tick: u64, margin: i32, tick: u64) -> i32 {
        if of_tick < self.valid_from {
            return 0;
        }
        self.worst = self.worst.min(margin);
        self.reports += 1;
        let nudge = if margin < self.spare_min {
            self.spare_min - margin
        } else if self.reports < REPORTS_PER_NUDGE {
            return 0;
        } else {
            -((self.worst - self.spare_max).clamp(0, 8 * GIVEN_BACK_MAX) + 7) / 8
        };
        *self = Self { valid_from: tick, worst: i32::MAX, reports: 0, ..*self };
        nudge
    }

    /// Starts again with a new tick count: earlier reports are void.
    pub fn restart(&mut self) {
        *self = Self { valid_from: 0, worst: i32::MAX, reports: 0, ..*self };
    }
}

impl Default for Lead {
    fn default() -> Self {
        Self::new(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: i64) -> LocalInstant {
        LocalInstant::from_millis(millis)
    }

    #[test]
    fn a_clock_that_jumps_neither_stops_nor_floods() {
        let mut metronome = Metronome::new(TickRate::hz(100));
        metronome.poll(ms(0));
        assert_eq!(metronome.poll(ms(1_000_000)), 50, "half a second of an hour");
        assert_eq!(metronome.poll(ms(1_000_010)), 1);
        assert_eq!(metronome.poll(ms(10)), 0, "back to the beginning");
        assert_eq!(metronome.poll(ms(30)), 2, "and on from there");
    }

    #[test]
    fn fewer_ticks_are_waited_for() {
        let mut metronome = Metronome::new(TickRate::hz(100));
        metronome.poll(ms(0));
        metronome.nudge(-3);
        assert_eq!([10, 20, 30, 40].map(|at| metronome.poll(ms(at))), [0, 0, 0, 1]);
    }

    #[test]
    fn too_late_is_mended_at_once_and_too_early_slowly() {
        let mut lead = Lead::new(1);
        assert_eq!(lead.report(10, -4, 20), 5);
        assert_eq!(lead.report(15, -4, 21), 0, "that one left before the nudge");
        let nudges: Vec<i32> =
            (0..u64::from(REPORTS_PER_NUDGE)).map(|k| lead.report(25 + k, 9, 30 + k)).collect();
        assert_eq!(nudges.iter().sum::<i32>(), -1);
        assert_eq!(nudges.last(), Some(&-1));
        let nudges = (0..u64::from(REPORTS_PER_NUDGE)).map(|k| lead.report(125 + k, 1_000, 130 + k));
        assert_eq!(nudges.sum::<i32>(), -GIVEN_BACK_MAX, "far too early");
        let nudges = (0..u64::from(REPORTS_PER_NUDGE)).map(|k| lead.report(325 + k, 4, 330 + k));
        assert_eq!(nudges.sum::<i32>(), 0, "as it should be");
        lead.restart();
        assert_eq!(lead.report(0, 0, 3), 1);
    }
}
