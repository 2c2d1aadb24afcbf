use super::steady::Steady;
use fairpath::time::{LocalInstant, TickRate};

/// Says how many ticks to play now, whatever the clock does.
///
/// Ticks do not drift from the clock, a clock that jumps ahead makes it catch up by at most
/// [`GAP_MAX`](super::GAP_MAX), and one that jumps back costs nothing but the jump.
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
    /// One that begins when it is first asked.
    pub fn new(rate: TickRate) -> Self {
        Self { rate, clock: Steady::default(), began: None, played: 0 }
    }

    /// How many ticks have become due since it was asked last.
    pub fn poll(&mut self, now: LocalInstant) -> u32 {
        let now = self.clock.advance(now);
        let began = *self.began.get_or_insert(now);
        let due = (self.rate.running_at(now - began) - self.played).clamp(0, i64::from(u32::MAX));
        self.played += due;
        due as u32
    }

    /// Plays so many ticks more than the clock alone would, or fewer.
    pub fn nudge(&mut self, ticks: i32) {
        self.played -= i64::from(ticks);
    }
}

/// Keeps a client just far enough ahead of its server: its inputs arrive before they are needed,
/// and not much before.
///
/// The server reports how early inputs arrive
/// ([`InputQueue::take_margin`](super::InputQueue::take_margin)); the answer to
/// [`report`](Self::report) is for [`Metronome::nudge`]. Too late is mended at once, too early
/// slowly.
#[derive(Clone, Debug)]
pub struct Lead {
    spare_min: i32,
    spare_max: i32,
    valid_from: u64,
    worst: i32,
    reports: u32,
}

/// After how many reports in a row that were all too early a client gives back an eighth of what is
/// too much, at least a tick.
///
/// 64: about a second at 60 reports a second. Fewer, and it gives back between two spikes what the
/// second one needs.
pub const REPORTS_PER_NUDGE: u32 = 64;

/// The most ticks that are given back at once: a pause of 80 ms at 100 ticks a second is a hiccup,
/// a longer one a stall.
const GIVEN_BACK_MAX: i32 = 8;

impl Lead {
    /// Inputs should arrive at least `spare_ticks` before the tick they are for, and not more than
    /// three ticks earlier than that. Default 1. At 0 the smallest jitter makes inputs late;
    /// each tick more shows the player a future that is one tick less certain.
    pub fn new(spare_ticks: u16) -> Self {
        let spare_min = i32::from(spare_ticks);
        Self { spare_min, spare_max: spare_min + 3, valid_from: 0, worst: i32::MAX, reports: 0 }
    }

    /// Hears that the input for tick `of_tick` arrived `margin` ticks before it was needed
    /// (negative: too late), while this client is at `tick`. Answers by how many ticks to be
    /// farther ahead.
    ///
    /// Reports about inputs from before the last nudge say nothing about the present lead and are
    /// passed over.
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

    /// The ticks are counted anew: what was reported is about another count.
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
