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
    /// How early a copy may leave with other DR vectors. A copy that is planned for 36 ms travels in
    /// the next datagram of a game that ticks 30 times a second, even if that is a little late.
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
