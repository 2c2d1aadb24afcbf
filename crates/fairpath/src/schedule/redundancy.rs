use std::fmt;

use super::Departure;
use super::deadlines::NEVER;
use super::dispatcher::DepartureKind;
use crate::number::EntityId;
use crate::time::{SharedInstant, Span};

/// When further copies of a DR vector follow the first, against loss.
///
/// Each copy leaves at its time, or up to [`CopyPlan::EARLY`] before, if a datagram with other DR
/// vectors leaves then. A copy is skipped once a newer DR vector of the entity exists, or once the
/// receiver has acknowledged this one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CopyPlan {
    /// Milliseconds after the first copy, ascending.
    after_ms: [u16; Self::COPIES_MAX],
    count: u8,
}

impl CopyPlan {
    /// Most further copies: a DR vector is sent at most this often and once more.
    pub const COPIES_MAX: usize = 6;
    /// How early a copy may leave with other DR vectors. A copy that is planned for 36 ms travels
    /// in the next datagram of a game that ticks 30 times a second, even if that is a little late.
    pub const EARLY: Span = Span::from_millis(6);
    /// No further copies.
    pub const NONE: Self = Self { after_ms: [0; Self::COPIES_MAX], count: 0 };

    /// Returns a plan with copies so many milliseconds after the first, ascending. All after the
    /// sixth are left out.
    pub const fn after_ms(after_ms: &[u16]) -> Self {
        let mut plan = Self::NONE;
        while (plan.count as usize) < after_ms.len() && (plan.count as usize) < Self::COPIES_MAX {
            plan.after_ms[plan.count as usize] = after_ms[plan.count as usize];
            plan.count += 1;
        }
        plan
    }

    /// Returns the number of further copies.
    pub const fn copies(&self) -> usize {
        self.count as usize
    }

    /// Returns the same plan with at most so many further copies.
    #[must_use]
    pub fn at_most(mut self, copies: u8) -> Self {
        self.count = self.count.min(copies);
        self
    }

    /// When the n-th further copy leaves after the first, from zero.
    fn after(&self, nth: u8) -> Option<Span> {
        let after_ms = self.after_ms[..self.copies()].get(usize::from(nth))?;
        Some(Span::from_millis((*after_ms).into()))
    }
}

impl fmt::Display for CopyPlan {
    /// Writes the milliseconds, or `none`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.count == 0 {
            return f.write_str("none");
        }
        for (place, after_ms) in self.after_ms[..self.copies()].iter().enumerate() {
            if place > 0 {
                f.write_str(" ")?;
            }
            write!(f, "{after_ms}")?;
        }
        Ok(())
    }
}

/// The further copies that wait for their time, for one receiver.
#[derive(Clone, Debug)]
pub(super) struct Repeats {
    plan: CopyPlan,
    waiting: Vec<Repeat>,
    /// When the first of them leaves.
    earliest: SharedInstant,
}

#[derive(Clone, Copy, Debug)]
struct Repeat {
    entity: EntityId,
    generated_at: SharedInstant,
    first_sent: SharedInstant,
    nth: u8,
    due: SharedInstant,
}

impl Default for Repeats {
    fn default() -> Self {
        Self { plan: CopyPlan::NONE, waiting: Vec::new(), earliest: NEVER }
    }
}

impl Repeats {
    /// DR vectors sent from now on are repeated by this plan.
    pub(super) fn set_plan(&mut self, plan: CopyPlan) {
        self.plan = plan;
    }

    pub(super) fn is_on(&self) -> bool {
        self.plan.count > 0
    }

    /// When a datagram must leave for copies alone.
    pub(super) fn earliest(&self) -> SharedInstant {
        self.earliest
    }

    /// A DR vector was sent, not as a repeat: its further copies are planned, unless they are.
    pub(super) fn on_sent(&mut self, entity: EntityId, generated_at: SharedInstant, at: SharedInstant) {
        let is_planned = |it: &Repeat| it.entity == entity && it.generated_at == generated_at;
        let Some(after) = self.plan.after(0).filter(|_| !self.waiting.iter().any(is_planned)) else { return };
        let due = at + after;
        self.waiting.push(Repeat { entity, generated_at, first_sent: at, nth: 0, due });
        self.earliest = self.earliest.min(due);
    }

    /// Adds the copies that leave now, at most `copies_max`: all whose time has come, and those
    /// whose time comes soon if a datagram leaves anyway, because `departures` has some for other
    /// reasons. Copies that are not `wanted` any more are dropped, and so are those beyond
    /// `copies_max`.
    pub(super) fn collect(
        &mut self,
        now: SharedInstant,
        copies_max: usize,
        mut wanted: impl FnMut(EntityId, SharedInstant) -> Option<Departure>,
        departures: &mut Vec<Departure>,
    ) {
        let others = departures.len();
        if self.earliest > now && (others == 0 || self.earliest > now + CopyPlan::EARLY) {
            return;
        }
        let by = now + CopyPlan::EARLY;
        let plan = self.plan;
        self.earliest = NEVER;
        let earliest = &mut self.earliest;
        self.waiting.retain_mut(|repeat| {
            if repeat.due <= by {
                let Some(departure) = wanted(repeat.entity, repeat.generated_at) else { return false };
                debug_assert_eq!(departure.kind, DepartureKind::Repeat);
                if departures.len() - others < copies_max {
                    departures.push(departure);
                }
                let Some(due) = repeat.next_after(by, &plan) else { return false };
                repeat.due = due;
            }
            *earliest = repeat.due.min(*earliest);
            true
        });
    }
}

impl Repeat {
    /// When the next copy leaves, after `by`.
    fn next_after(&mut self, by: SharedInstant, plan: &CopyPlan) -> Option<SharedInstant> {
        loop {
            self.nth += 1;
            let due = self.first_sent + plan.after(self.nth)?;
            if due > by {
                return Some(due);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::number::ReceiverId;
    use crate::schedule::Claim;

    fn at(millis: i64) -> SharedInstant {
        SharedInstant::from_millis(millis)
    }

    fn departure(entity: EntityId, generated_at: SharedInstant, kind: DepartureKind) -> Departure {
        let (receiver, due) = (ReceiverId(1), generated_at);
        let claim = Claim { entity, receiver, due, weight: 0.0, delay: None, generated_at };
        Departure { claim, kind }
    }

    /// The entities that are repeated at this time, with `others` in the same datagram.
    fn repeated(repeats: &mut Repeats, millis: i64, others: usize, copies_max: usize) -> Vec<u32> {
        let other = departure(EntityId(99), at(millis), DepartureKind::Claim);
        let mut departures = vec![other; others];
        let wanted = |entity: EntityId, generated_at| {
            (entity != EntityId(3)).then(|| departure(entity, generated_at, DepartureKind::Repeat))
        };
        repeats.collect(at(millis), copies_max, wanted, &mut departures);
        departures[others..].iter().map(|it| it.claim.entity.0).collect()
    }

    fn planned(after_ms: &[u16], entities: &[u32]) -> Repeats {
        let mut repeats = Repeats::default();
        repeats.set_plan(CopyPlan::after_ms(after_ms));
        entities.iter().for_each(|entity| repeats.on_sent(EntityId(*entity), at(0), at(0)));
        repeats
    }

    #[test]
    fn copies_leave_at_their_time_or_a_little_earlier_with_others() {
        let mut repeats = planned(&[17, 36], &[1, 2, 3]);
        assert_eq!(repeats.earliest(), at(17));
        assert_eq!(repeated(&mut repeats, 10, 1, 9), [0; 0], "too early");
        assert_eq!(repeated(&mut repeats, 16, 0, 9), [0; 0], "no datagram leaves now");
        assert_eq!(repeated(&mut repeats, 17, 0, 9), [1, 2], "the third is not wanted any more");
        assert_eq!((repeats.earliest(), repeated(&mut repeats, 33, 1, 9)), (at(36), vec![1, 2]));
        assert_eq!((repeats.earliest(), repeated(&mut repeats, 1_000, 1, 9)), (NEVER, vec![]));
    }

    #[test]
    fn a_dr_vector_is_planned_once_and_late_copies_are_one() {
        let mut repeats = planned(&[17, 36, 53], &[1, 1]);
        repeats.on_sent(EntityId(1), at(0), at(5));
        assert_eq!(repeated(&mut repeats, 48, 0, 9), [1], "for three times that have come");
        assert_eq!(repeats.earliest(), NEVER);
    }

    #[test]
    fn what_there_is_no_room_for_is_dropped() {
        let mut repeats = planned(&[17, 36], &[1, 2, 4]);
        assert_eq!(repeated(&mut repeats, 17, 0, 2), [1, 2]);
        assert_eq!(repeated(&mut repeats, 17, 0, 2), [0; 0], "the copy of 4 is gone");
        assert_eq!(repeated(&mut repeats, 36, 0, 0), [0; 0]);
        assert_eq!(repeats.earliest(), NEVER);
    }

    #[test]
    fn a_plan_has_at_most_six_copies() {
        let plan = CopyPlan::after_ms(&[1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!((plan.copies(), plan.to_string()), (6, "1 2 3 4 5 6".into()));
        assert_eq!((plan.at_most(2).to_string(), CopyPlan::NONE.to_string()), ("1 2".into(), "none".into()));
    }
}
