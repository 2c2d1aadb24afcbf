use std::collections::VecDeque;

use fairpath::DrVector;
use fairpath::error::{self, Path};
use fairpath::time::{SharedInstant, Span};
use fairpath::vector::Vec2;

/// How wrong one receiver has been since it first heard of the tank: the exact integral of the
/// distance between the exported path and the one it followed, as only somebody can know who sees
/// both ends.
#[derive(Clone, Debug)]
pub(super) struct Tally {
    horizon: Span,
    /// What will have changed by then; ascending.
    changes: VecDeque<(SharedInstant, Change)>,
    exported: Option<DrVector<Vec2>>,
    followed: Option<DrVector<Vec2>>,
    settled_until: SharedInstant,
    sum: f64,
}

#[derive(Clone, Copy, Debug)]
enum Change {
    Exported(DrVector<Vec2>),
    Followed(DrVector<Vec2>),
}

impl Tally {
    pub(super) fn new(horizon: Span, begin: SharedInstant) -> Self {
        let changes = VecDeque::new();
        Self { horizon, changes, exported: None, followed: None, settled_until: begin, sum: 0.0 }
    }

    /// A DR vector was generated.
    pub(super) fn exported(&mut self, vector: &DrVector<Vec2>) {
        self.change(vector.generated_at, Change::Exported(*vector));
    }

    /// The receiver follows this one from `at` on.
    pub(super) fn followed(&mut self, vector: &DrVector<Vec2>, at: SharedInstant) {
        self.change(at, Change::Followed(*vector));
    }

    /// The error up to `now`, by which everything that has changed must have been told.
    pub(super) fn settle(&mut self, now: SharedInstant) -> f64 {
        while let Some((at, change)) = self.changes.pop_front_if(|(at, _)| *at <= now) {
            self.integrate(at);
            match change {
                Change::Exported(vector) => self.exported = Some(vector),
                Change::Followed(vector) => self.followed = Some(vector),
            }
        }
        self.integrate(now);
        self.sum
    }

    /// The error when it was last settled.
    pub(super) fn sum(&self) -> f64 {
        self.sum
    }

    /// Generation times lie on a grid, a little before the tick that cut: what arrived in between
    /// came first.
    fn change(&mut self, at: SharedInstant, change: Change) {
        let place = self.changes.partition_point(|(other, _)| *other <= at);
        self.changes.insert(place, (at, change));
    }

    fn integrate(&mut self, to: SharedInstant) {
        let from = self.settled_until;
        self.settled_until = to;
        let (Some(exported), Some(followed)) = (&self.exported, &self.followed) else { return };
        let freezes_at = followed.generated_at + self.horizon;
        if exported.generated_at == followed.generated_at && to <= freezes_at {
            return;
        }
        let placed = Path::from(followed).frozen_from(freezes_at);
        self.sum += error::accumulated(&Path::from(exported), &placed, from, to).value;
    }
}
