use std::collections::VecDeque;

use crate::dr_vector::DrVector;
use crate::time::SharedInstant;
use crate::vector::Planar;

/// An entity's latest DR vectors, stored once for all receivers: claims only refer to them.
#[derive(Clone, Debug)]
pub(super) struct RecentVectors<V: Planar> {
    newest: DrVector<V>,
    /// The DR vectors before the newest, the oldest first.
    older: VecDeque<DrVector<V>>,
}

impl<V: Planar> RecentVectors<V> {
    /// How many DR vectors before the newest are kept. Fifteen: only `Scheduling` with
    /// `Waiting::Send` sends another one than the newest, and it sends the one before. A copy that
    /// did not fit into a packet for longer is a second and a half old on a busy tank, and a newer
    /// one is better anyway. At 200 bytes each this is 3 kB per entity.
    const OLDER_MAX: usize = 15;

    pub(super) fn new(vector: &DrVector<V>) -> Self {
        Self { newest: *vector, older: VecDeque::new() }
    }

    pub(super) fn push(&mut self, vector: &DrVector<V>) {
        if vector.generated_at > self.newest.generated_at {
            if self.older.len() == Self::OLDER_MAX {
                self.older.pop_front();
            }
            self.older.push_back(self.newest);
        }
        self.newest = *vector;
    }

    pub(super) fn newest(&self) -> &DrVector<V> {
        &self.newest
    }

    /// Returns the one generated at that instant; if forgotten, the oldest one that is newer.
    pub(super) fn get(&self, generated_at: SharedInstant) -> &DrVector<V> {
        if generated_at >= self.newest.generated_at {
            return &self.newest;
        }
        let place = self.older.partition_point(|vector| vector.generated_at < generated_at);
        self.older.get(place).unwrap_or(&self.newest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::motion::MotionKind;
    use crate::number::{EntityId, Generation, Life};
    use crate::state::State;
    use crate::vector::{Vec2, Vector};

    fn vector(secs: i64) -> DrVector<Vec2> {
        DrVector {
            entity: EntityId(1),
            life: Life::default(),
            generation: Generation::default(),
            generated_at: SharedInstant::from_millis(1000 * secs),
            motion: MotionKind::Linear.from_state(&State::moving(Vec2::ZERO, Vec2::ZERO)),
            attitude: None,
            parent: None,
        }
    }

    #[test]
    fn what_is_forgotten_is_replaced_by_the_next_newer_one() {
        let mut recent = RecentVectors::new(&vector(0));
        (1..=100).for_each(|secs| recent.push(&vector(secs)));
        for (asked, got) in [(100, 100), (99, 99), (85, 85), (84, 85), (0, 85), (101, 100)] {
            assert_eq!(recent.get(vector(asked).generated_at), &vector(got), "asked for {asked}");
        }
        assert_eq!(recent.newest(), &vector(100));
    }
}
