use super::deadlines::NEVER;
use crate::time::{SharedInstant, Span};

/// How often each receiver may and must be sent an entity, whatever the scheduler decides. A
/// receiver that was never sent the entity is sent it at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pace {
    /// Least time between two copies to one receiver.
    pub(crate) interval_min: Span,
    /// Longest time without a copy to a receiver.
    pub(crate) interval_max: Span,
}

/// When the dispatcher next looks at each entity that one receiver sees, in the order of slots.
///
/// The latest instant by which a receiver must be sent a copy changes with every trigger, departure
/// and receipt, but mostly to later. So it is not computed then. Each pair has an instant before
/// which no copy can be due, and is looked at when that has come.
#[derive(Clone, Debug)]
pub(super) struct WatchRow {
    /// When each pair is looked at: [`NEVER`] if the receiver does not see the entity. Apart from
    /// the rest, because the earliest is looked for among all.
    look_at: Vec<SharedInstant>,
    /// The first in each block of slots, and the first of all.
    blocks: Vec<SharedInstant>,
    earliest: SharedInstant,
    watches: Vec<Watch>,
}

/// Slots of a block. Eight: a changed pair is compared with few others, and a receiver of a
/// thousand entities has 125 blocks.
const BLOCK: usize = 8;

/// What the watch over one pair knows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Watch {
    /// When the last copy left, or when the receiver began to see the entity.
    since: SharedInstant,
    is_told: bool,
}

impl Default for WatchRow {
    fn default() -> Self {
        Self { look_at: Vec::new(), blocks: Vec::new(), earliest: NEVER, watches: Vec::new() }
    }
}

impl WatchRow {
    /// The receiver sees the entity in this slot from now on.
    pub(super) fn show(&mut self, slot: usize, now: SharedInstant) {
        let watch = Watch { since: now, is_told: false };
        if self.watches.len() <= slot {
            self.watches.resize(slot + 1, watch);
            self.look_at.resize(slot + 1, NEVER);
            self.blocks.resize(slot / BLOCK + 1, NEVER);
        }
        self.watches[slot] = watch;
    }

    pub(super) fn hide(&mut self, slot: usize) {
        self.set(slot, NEVER);
    }

    #[inline]
    pub(super) fn get(&self, slot: usize) -> Option<&Watch> {
        self.watches.get(slot)
    }

    /// Looks at a pair at `look_at`, or earlier if that was planned.
    pub(super) fn watch(&mut self, slot: usize, look_at: SharedInstant) {
        if self.look_at.get(slot).is_some_and(|planned| look_at < *planned) {
            self.set(slot, look_at);
        }
    }

    /// A copy left: the pair need not be looked at before `look_at`.
    #[inline]
    pub(super) fn on_departed(&mut self, slot: usize, now: SharedInstant, look_at: SharedInstant) {
        if let Some(watch) = self.watches.get_mut(slot) {
            *watch = Watch { since: now, is_told: true };
            self.set(slot, look_at);
        }
    }

    /// When the first pair is looked at.
    #[inline]
    pub(super) fn earliest(&self) -> SharedInstant {
        self.earliest
    }

    /// Looks at the pairs for which it is time. `look` returns the next instant to look: by `now`,
    /// if a copy is due and stays due until it departs.
    pub(super) fn look(&mut self, now: SharedInstant, mut look: impl FnMut(usize, &Watch) -> SharedInstant) {
        if self.earliest > now {
            return;
        }
        for block in 0..self.blocks.len() {
            if self.blocks[block] > now {
                continue;
            }
            let first = block * BLOCK;
            for (slot, look_at) in (first..).zip(slots_of(&mut self.look_at, block)) {
                if *look_at <= now {
                    *look_at = look(slot, &self.watches[slot]);
                }
            }
            self.blocks[block] = earliest_of(slots_of(&mut self.look_at, block));
        }
        self.earliest = earliest_of(&self.blocks);
    }

    #[inline]
    fn set(&mut self, slot: usize, look_at: SharedInstant) {
        let Some(planned) = self.look_at.get_mut(slot) else { return };
        let before = std::mem::replace(planned, look_at);
        let block = slot / BLOCK;
        if look_at <= self.blocks[block] {
            self.blocks[block] = look_at;
            self.earliest = self.earliest.min(look_at);
        } else if before == self.blocks[block] {
            self.blocks[block] = earliest_of(slots_of(&mut self.look_at, block));
            if before == self.earliest {
                self.earliest = earliest_of(&self.blocks);
            }
        }
    }
}

fn slots_of(look_at: &mut [SharedInstant], block: usize) -> &mut [SharedInstant] {
    let end = look_at.len().min((block + 1) * BLOCK);
    &mut look_at[block * BLOCK..end]
}

fn earliest_of(instants: &[SharedInstant]) -> SharedInstant {
    // On plain numbers, which a compiler compares without branches.
    let micros = instants.iter().map(|instant| instant.as_micros());
    SharedInstant::from_micros(micros.fold(NEVER.as_micros(), i64::min))
}

impl Watch {
    /// The earliest instant at which a copy may leave.
    pub(super) fn earliest(&self, pace: &Pace) -> SharedInstant {
        if self.is_told { self.since + pace.interval_min } else { self.since }
    }

    /// The latest instant at which a copy must leave.
    pub(super) fn latest(&self, pace: &Pace) -> SharedInstant {
        if self.is_told { self.since + pace.interval_max } else { self.since }
    }

    /// The weight of a copy that leaves for liveness: an entity that was never sent comes first.
    pub(super) fn weight(&self) -> f64 {
        if self.is_told { 0.0 } else { f64::MAX }
    }

    /// The time since the last copy, or since the receiver began to see the entity.
    pub(super) fn silence(&self, now: SharedInstant) -> Span {
        (now - self.since).max(Span::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn at(millis: i64) -> SharedInstant {
        SharedInstant::from_millis(millis)
    }

    /// The slots that are looked at; each is next looked at a second later.
    fn looked_at(row: &mut WatchRow, now: i64) -> Vec<usize> {
        let mut slots = Vec::new();
        row.look(at(now), |slot, _| {
            slots.push(slot);
            at(now + 1_000)
        });
        slots
    }

    #[test]
    fn a_pair_is_looked_at_when_it_is_time_and_not_before() {
        let mut row = WatchRow::default();
        for slot in [3, 1] {
            row.show(slot, at(0));
            assert_eq!(row.earliest(), NEVER);
        }
        row.watch(3, at(0));
        row.watch(1, at(0));
        assert_eq!(looked_at(&mut row, 0), [1, 3]);
        assert_eq!((row.earliest(), looked_at(&mut row, 999)), (at(1_000), vec![]));
        row.watch(3, at(500));
        assert_eq!(looked_at(&mut row, 500), [3]);
        row.on_departed(1, at(600), at(2_000));
        assert_eq!(row.earliest(), at(1_500), "it was 1000 before the copy left");
        row.hide(3);
        assert_eq!(looked_at(&mut row, 1_999), [0; 0]);
        assert_eq!(looked_at(&mut row, 2_000), [1]);
    }

    #[test]
    fn the_earliest_is_that_of_a_plain_list() {
        let mut random = Random::from_seed(5);
        let (mut row, mut plain) = (WatchRow::default(), vec![NEVER; 50]);
        for slot in 0..plain.len() {
            row.show(slot, at(0));
        }
        for step in 0..30_000 {
            let slot = random.below(50) as usize;
            let look_at = at(step + random.below(200) as i64);
            match random.below(5) {
                0 => {
                    row.hide(slot);
                    plain[slot] = NEVER;
                }
                1 => {
                    row.watch(slot, look_at);
                    plain[slot] = plain[slot].min(look_at);
                }
                2 => {
                    let expected: Vec<usize> = (0..50).filter(|slot| plain[*slot] <= at(step)).collect();
                    assert_eq!(looked_at(&mut row, step), expected, "in step {step}");
                    expected.into_iter().for_each(|slot| plain[slot] = at(step + 1_000));
                }
                _ => {
                    row.on_departed(slot, at(step), look_at);
                    plain[slot] = look_at;
                }
            }
            assert_eq!(Some(row.earliest()), plain.iter().copied().min(), "in step {step}");
        }
    }

    #[test]
    fn what_was_never_told_is_due_at_once_and_comes_first() {
        let pace = Pace { interval_min: Span::from_millis(50), interval_max: Span::from_secs(3) };
        let mut row = WatchRow::default();
        row.show(0, at(10));
        let watch = *row.get(0).expect("it is shown");
        assert_eq!((watch.earliest(&pace), watch.latest(&pace)), (at(10), at(10)));
        row.on_departed(0, at(20), at(1_000));
        let told = *row.get(0).expect("it is shown");
        assert_eq!((told.earliest(&pace), told.latest(&pace)), (at(70), at(3_020)));
        assert!(watch.weight() > told.weight());
        assert_eq!(told.silence(at(220)), Span::from_millis(200));
    }
}
