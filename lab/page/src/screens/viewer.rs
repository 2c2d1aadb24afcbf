use fairpath::number::ReceiverId;
use fairpath::time::{SharedInstant, Span};
use fairpath::vector::{Vec2, Vector};
use fairpath::{DrVector, State};
use fairpath_sim::star::{ReplicaKind, Star};

use super::TANK;
use crate::flight::Flights;

/// Local, hop, global on an exact clock, and global on the clock that a receiver estimates.
pub(super) const KINDS: [ReplicaKind; WAYS] =
    [ReplicaKind::Local, ReplicaKind::Hop, ReplicaKind::Global, ReplicaKind::GlobalEstimated];
pub(super) const WAYS: usize = 4;

/// One screen: how it places the tank in each way, and how far off that is.
pub(super) struct Viewer {
    pub(super) id: ReceiverId,
    /// How far away it is, one way.
    pub(super) delay: Span,
    placed: [Option<State<Vec2>>; WAYS],
    measured: [Measured; WAYS],
}

/// What one way of placing came to since it was last measured anew.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Measured {
    /// From the truth.
    pub(super) error: Mean,
    /// From the exported path, while newer news is under way.
    pub(super) before: Mean,
    /// From the exported path, when the newest has arrived.
    pub(super) after: Mean,
}

/// A mean that grows; zero of nothing.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Mean {
    sum: f64,
    count: u64,
}

impl Mean {
    fn add(&mut self, number: f64) {
        self.sum += number;
        self.count += 1;
    }

    pub(super) fn mean(&self) -> f64 {
        self.sum / self.count.max(1) as f64
    }
}

impl Viewer {
    pub(super) fn new(id: ReceiverId, delay: Span) -> Self {
        Self { id, delay, placed: [None; WAYS], measured: Default::default() }
    }

    pub(super) fn measure_anew(&mut self) {
        self.measured = Default::default();
    }

    #[cfg(test)]
    pub(super) fn measured(&self) -> &[Measured; WAYS] {
        &self.measured
    }

    /// Places the tank and measures how far off that is.
    pub(super) fn look(
        &mut self,
        star: &mut Star<Vec2, Flights>,
        now: SharedInstant,
        truth: Vec2,
        exported: &DrVector<Vec2>,
    ) {
        for (way, kind) in KINDS.into_iter().enumerate() {
            self.placed[way] = star.place(self.id, TANK, kind, now);
            let Some(placed) = self.placed[way] else { continue };
            let measured = &mut self.measured[way];
            measured.error.add(placed.position.distance(truth));
            let follows = star.replica(self.id, TANK, kind).and_then(|replica| replica.followed());
            let is_after = follows.is_some_and(|vector| vector.generated_at == exported.generated_at);
            let sum = if is_after { &mut measured.after } else { &mut measured.before };
            sum.add(placed.position.distance(exported.position_at(now)));
        }
    }

    /// Where one way of placing has the tank.
    pub(super) fn placed(&self, way: usize) -> Option<&State<Vec2>> {
        self.placed[way].as_ref()
    }

    /// Its part of the scene's frame.
    pub(super) fn frame(&self, way: usize, truth: Vec2, out: &mut Vec<f64>) {
        let placed = self.placed(way);
        let shown = placed.map_or(truth, |state| state.position);
        let heading = placed.map_or(0.0, |state| state.orientation);
        let is_seen = f64::from(u8::from(placed.is_some()));
        out.extend([shown.x, shown.y, heading, is_seen, shown.distance(truth)]);
        for Measured { error, before, after } in &self.measured {
            out.extend([error.mean(), before.mean(), after.mean()]);
        }
    }
}
