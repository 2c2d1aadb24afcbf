//! The omniscient observer: it knows what was exported and when everybody really heard of it.

use fairpath::DrVector;
use fairpath::error::{self, Path};
use fairpath::time::{SharedInstant, Span};
use fairpath::vector::Planar;

/// Everything that was exported about one entity in one life, and everything that was heard of it.
///
/// It keeps a plain record while the run goes on and integrates afterwards, so it shares nothing
/// with the ledger but the integral itself.
#[derive(Clone, Debug)]
pub struct Observer<V: Planar> {
    horizon: Span,
    /// From when on the exported path follows what; ascending.
    exports: Vec<(SharedInstant, Path<V>)>,
    /// For each receiver: from when on it followed which export; ascending in both.
    followed: Vec<Vec<(SharedInstant, usize)>>,
}

impl<V: Planar> Observer<V> {
    /// Watches this many receivers, whose replicas freeze after `horizon`.
    pub fn new(receivers: usize, horizon: Span) -> Self {
        Self { horizon, exports: Vec::new(), followed: vec![Vec::new(); receivers] }
    }

    /// A DR vector was generated.
    pub fn exported(&mut self, vector: &DrVector<V>) {
        self.exports.push((vector.generated_at, Path::from(vector)));
    }

    /// A receiver follows a DR vector from `at` on.
    pub fn used(&mut self, receiver: usize, vector: &DrVector<V>, at: SharedInstant) {
        let index = self.exports.partition_point(|(since, _)| *since < vector.generated_at);
        self.followed[receiver].push((at, index));
    }

    /// A receiver's error from the arrival of its first DR vector up to each of these instants,
    /// which ascend.
    pub fn accumulated(&self, receiver: usize, instants: &[SharedInstant]) -> Vec<f64> {
        let mut walk = Walk { observer: self, followed: &self.followed[receiver], at: None, sum: 0.0 };
        instants.iter().map(|instant| walk.until(*instant)).collect()
    }

    /// Which export a receiver follows at `at`, if any.
    pub fn follows(&self, receiver: usize, at: SharedInstant) -> Option<usize> {
        let heard = self.followed[receiver].partition_point(|(since, _)| *since <= at);
        Some(self.followed[receiver][heard.checked_sub(1)?].1)
    }

    /// Which export is the newest at `at`, if there is one.
    pub fn newest(&self, at: SharedInstant) -> Option<usize> {
        self.exports.partition_point(|(since, _)| *since <= at).checked_sub(1)
    }

    /// The error of somebody who follows `follows` while the exported path is `exported`.
    pub fn error(&self, exported: usize, follows: usize, from: SharedInstant, to: SharedInstant) -> f64 {
        let (since, placed) = &self.exports[follows];
        if exported == follows && to <= *since + self.horizon {
            return 0.0;
        }
        let placed = placed.frozen_from(*since + self.horizon);
        error::accumulated(&self.exports[exported].1, &placed, from, to).value
    }
}

/// Integrates one receiver's error from left to right.
struct Walk<'a, V: Planar> {
    observer: &'a Observer<V>,
    followed: &'a [(SharedInstant, usize)],
    at: Option<Place>,
    sum: f64,
}

/// How far it has come: an instant, the export of that instant, and what is followed then.
#[derive(Clone, Copy)]
struct Place {
    instant: SharedInstant,
    exported: usize,
    followed: usize,
}

impl<V: Planar> Walk<'_, V> {
    fn until(&mut self, to: SharedInstant) -> f64 {
        while let Some(place) = self.place().filter(|place| place.instant < to) {
            let exports_until = self.observer.exports.get(place.exported + 1).map(|(since, _)| *since);
            let follows_until = self.followed.get(place.followed + 1).map(|(since, _)| *since);
            let next = exports_until.into_iter().chain(follows_until).fold(to, SharedInstant::min);
            let follows = self.followed[place.followed].1;
            self.sum += self.observer.error(place.exported, follows, place.instant, next);
            self.at = Some(Place {
                instant: next,
                exported: place.exported + usize::from(exports_until.is_some_and(|at| at <= next)),
                followed: place.followed + usize::from(follows_until.is_some_and(|at| at <= next)),
            });
        }
        self.sum
    }

    /// Where it is; at first, where the receiver's first DR vector arrived, if one ever did.
    fn place(&self) -> Option<Place> {
        self.at.or_else(|| {
            let (first, _) = *self.followed.first()?;
            let exported = self.observer.exports.partition_point(|(since, _)| *since <= first) - 1;
            Some(Place { instant: first, exported, followed: 0 })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairpath::motion::{Linear, Motion};
    use fairpath::number::{EntityId, Generation, Life};
    use fairpath::vector::{Vec2, Vector};

    fn vector(at_ms: i64, velocity: Vec2) -> DrVector<Vec2> {
        DrVector {
            entity: EntityId(1),
            life: Life::default(),
            generation: Generation::default(),
            generated_at: SharedInstant::from_millis(at_ms),
            motion: Motion::Linear(Linear { position: Vec2::ZERO, velocity }),
            attitude: None,
        }
    }

    fn at(ms: i64) -> SharedInstant {
        SharedInstant::from_millis(ms)
    }

    #[test]
    fn error_grows_from_generation_to_arrival_and_not_before_the_first_one() {
        let mut observer = Observer::new(2, Span::from_secs(3));
        let (stands, drives) = (vector(0, Vec2::ZERO), vector(1_000, Vec2::new(2.0, 0.0)));
        observer.exported(&stands);
        observer.exported(&drives);
        observer.used(0, &stands, at(200));
        observer.used(0, &drives, at(2_000));
        observer.used(1, &drives, at(1_700));
        let grown = observer.accumulated(0, &[at(100), at(1_000), at(1_500), at(2_000), at(2_500)]);
        for (grown, expected) in grown.iter().zip([0.0, 0.0, 0.25, 1.0, 1.0]) {
            assert!((grown - expected).abs() < 1e-12, "{grown} instead of {expected}");
        }
        assert_eq!(observer.accumulated(1, &[at(2_500)]), [0.0], "it did not exist there before");
    }

    #[test]
    fn who_hears_nothing_for_too_long_freezes() {
        let mut observer = Observer::new(1, Span::from_secs(1));
        let drives = vector(0, Vec2::new(2.0, 0.0));
        observer.exported(&drives);
        observer.used(0, &drives, at(0));
        let grown = observer.accumulated(0, &[at(1_000), at(2_000)]);
        assert!(grown[0] == 0.0 && (grown[1] - 1.0).abs() < 1e-12, "{grown:?}");
    }
}
