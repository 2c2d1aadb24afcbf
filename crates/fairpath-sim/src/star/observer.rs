use std::collections::BTreeMap;

use fairpath::DrVector;
use fairpath::error::{self, Path};
use fairpath::number::ReceiverId;
use fairpath::time::{SharedInstant, Span};
use fairpath::vector::Planar;

/// Knows what was exported of one entity in one life and when each receiver really heard of it, and
/// integrates each receiver's error exactly.
///
/// The error is the distance between the exported path and the path that the receiver follows, over
/// time, from the arrival of the receiver's first DR vector. The observer keeps a plain record and
/// shares nothing with the dispatcher's ledger but the integral itself.
#[derive(Clone, Debug)]
pub struct Observer<V: Planar> {
    horizon: Span,
    /// From when on the exported path follows which motion; ascending.
    exports: Vec<(SharedInstant, Path<V>)>,
    followed: BTreeMap<ReceiverId, Followed>,
}

/// From when on a receiver followed which export, ascending in both; and how much of it is settled.
#[derive(Clone, Debug, Default)]
struct Followed {
    since: Vec<(SharedInstant, usize)>,
    settled: Integral,
}

/// An error that was integrated up to an instant.
#[derive(Clone, Copy, Debug, Default)]
struct Integral {
    upto: Option<Upto>,
    sum: f64,
}

/// How far the integration has come: an instant, its export, and the index of what is followed.
#[derive(Clone, Copy, Debug)]
struct Upto {
    instant: SharedInstant,
    exported: usize,
    followed: usize,
}

impl<V: Planar> Observer<V> {
    /// Watches receivers whose replicas freeze after `horizon`.
    pub fn new(horizon: Span) -> Self {
        Self { horizon, exports: Vec::new(), followed: BTreeMap::new() }
    }

    pub(super) fn exported(&mut self, vector: &DrVector<V>) {
        self.exports.push((vector.generated_at, Path::from(vector)));
    }

    /// Records that a receiver follows a DR vector from `at` on.
    pub(super) fn used(&mut self, receiver: ReceiverId, vector: &DrVector<V>, at: SharedInstant) {
        let index = self.exports.partition_point(|(since, _)| *since < vector.generated_at);
        self.followed.entry(receiver).or_default().since.push((at, index));
    }

    /// Returns a receiver's error up to each of these instants, which must ascend.
    pub fn accumulated(&self, receiver: ReceiverId, instants: &[SharedInstant]) -> Vec<f64> {
        let since = self.since(receiver);
        let mut integral = Integral::default();
        let upto = |instant: &SharedInstant| {
            integral = self.integrate(since, integral, *instant);
            integral.sum
        };
        instants.iter().map(upto).collect()
    }

    /// Integrates every receiver's error up to `now`, by which every export and arrival must have
    /// been recorded. Costs only what is new since the last call.
    pub fn settle(&mut self, now: SharedInstant) {
        let mut followed = std::mem::take(&mut self.followed);
        for Followed { since, settled } in followed.values_mut() {
            *settled = self.integrate(since, *settled, now);
        }
        self.followed = followed;
    }

    /// Returns a receiver's error up to the last [`settle`](Self::settle).
    pub fn settled(&self, receiver: ReceiverId) -> f64 {
        self.followed.get(&receiver).map_or(0.0, |followed| followed.settled.sum)
    }

    /// Returns the index of the export that a receiver follows at `at`, if any.
    pub fn follows(&self, receiver: ReceiverId, at: SharedInstant) -> Option<usize> {
        let since = self.since(receiver);
        let heard = since.partition_point(|(since, _)| *since <= at);
        Some(since[heard.checked_sub(1)?].1)
    }

    /// Returns the index of the newest export at `at`, if there is one.
    pub fn newest(&self, at: SharedInstant) -> Option<usize> {
        self.exports.partition_point(|(since, _)| *since <= at).checked_sub(1)
    }

    /// Returns the error of a receiver that follows export `follows` while `exported` is exported.
    pub fn error(&self, exported: usize, follows: usize, from: SharedInstant, to: SharedInstant) -> f64 {
        let (since, placed) = &self.exports[follows];
        if exported == follows && to <= *since + self.horizon {
            return 0.0;
        }
        let placed = placed.frozen_from(*since + self.horizon);
        error::accumulated(&self.exports[exported].1, &placed, from, to).value
    }

    fn since(&self, receiver: ReceiverId) -> &[(SharedInstant, usize)] {
        self.followed.get(&receiver).map_or(&[], |followed| &followed.since)
    }

    fn integrate(
        &self,
        since: &[(SharedInstant, usize)],
        mut integral: Integral,
        to: SharedInstant,
    ) -> Integral {
        let upto = |integral: &Integral| integral.upto.or_else(|| self.first(since));
        while let Some(upto) = upto(&integral).filter(|upto| upto.instant < to) {
            let exports_until = self.exports.get(upto.exported + 1).map(|(since, _)| *since);
            let follows_until = since.get(upto.followed + 1).map(|(since, _)| *since);
            let next = exports_until.into_iter().chain(follows_until).fold(to, SharedInstant::min);
            integral.sum += self.error(upto.exported, since[upto.followed].1, upto.instant, next);
            integral.upto = Some(Upto {
                instant: next,
                exported: upto.exported + usize::from(exports_until.is_some_and(|at| at <= next)),
                followed: upto.followed + usize::from(follows_until.is_some_and(|at| at <= next)),
            });
        }
        integral
    }

    /// Where a receiver's first DR vector arrived, if one ever did.
    fn first(&self, since: &[(SharedInstant, usize)]) -> Option<Upto> {
        let (instant, _) = *since.first()?;
        Some(Upto { instant, exported: self.newest(instant)?, followed: 0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairpath::motion::{Linear, Motion};
    use fairpath::number::{EntityId, Generation, Life, ReceiverId};
    use fairpath::vector::{Vec2, Vector};

    fn vector(at_ms: i64, velocity: Vec2) -> DrVector<Vec2> {
        DrVector {
            entity: EntityId(1),
            life: Life::default(),
            generation: Generation::default(),
            generated_at: SharedInstant::from_millis(at_ms),
            motion: Motion::Linear(Linear { position: Vec2::ZERO, velocity }),
            attitude: None,
            parent: None,
        }
    }

    const FIRST: ReceiverId = ReceiverId(0);
    const SECOND: ReceiverId = ReceiverId(1);

    fn at(ms: i64) -> SharedInstant {
        SharedInstant::from_millis(ms)
    }

    #[test]
    fn error_grows_from_generation_to_arrival_and_not_before_the_first_one() {
        let mut observer = Observer::new(Span::from_secs(3));
        let (stands, drives) = (vector(0, Vec2::ZERO), vector(1_000, Vec2::new(2.0, 0.0)));
        observer.exported(&stands);
        observer.exported(&drives);
        observer.used(FIRST, &stands, at(200));
        observer.used(FIRST, &drives, at(2_000));
        observer.used(SECOND, &drives, at(1_700));
        let grown = observer.accumulated(FIRST, &[at(100), at(1_000), at(1_500), at(2_000), at(2_500)]);
        for (grown, expected) in grown.iter().zip([0.0, 0.0, 0.25, 1.0, 1.0]) {
            assert!((grown - expected).abs() < 1e-12, "{grown} instead of {expected}");
        }
        assert_eq!(observer.accumulated(SECOND, &[at(2_500)]), [0.0], "it did not exist there before");
    }

    #[test]
    fn who_hears_nothing_for_too_long_freezes() {
        let mut observer = Observer::new(Span::from_secs(1));
        let drives = vector(0, Vec2::new(2.0, 0.0));
        observer.exported(&drives);
        observer.used(FIRST, &drives, at(0));
        let grown = observer.accumulated(FIRST, &[at(1_000), at(2_000)]);
        assert!(grown[0] == 0.0 && (grown[1] - 1.0).abs() < 1e-12, "{grown:?}");
    }
}
