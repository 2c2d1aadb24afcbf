use std::collections::VecDeque;

use fairpath::State;
use fairpath::number::{EntityId, Life};
use fairpath::time::{SharedInstant, Span};
use fairpath::vector::Vector;

/// Lag compensation for shots: the server rewinds all entities to the instant the shooter saw,
/// judges the shot there, and goes on.
///
/// Call [`record`](Self::record) every tick and [`rewind`](Self::rewind) for every shot. A shooter
/// sees the past: the one-way delay, plus how far in the past its screen shows other players.
/// Without rewinding every player must aim ahead; with it, a player that has just reached cover can
/// still be hit there. How far behind cover is bounded: no shot is rewound by more than
/// [`rewind_max`](TimeWarpConfig::rewind_max), however late the shooter claims to see.
///
/// ```
/// use fairpath_compensate::{Moment, TimeWarp, TimeWarpConfig};
/// use fairpath::number::{EntityId, Life};
/// use fairpath::time::SharedInstant;
/// use fairpath::{State, Vec2};
///
/// let ms = SharedInstant::from_millis;
/// let mut warp = TimeWarp::new(TimeWarpConfig::default());
/// for at in (0..=1_000).step_by(20) {
///     let state = State::moving(Vec2::new(0.01 * at as f64, 0.0), Vec2::new(10.0, 0.0));
///     warp.record(ms(at), [Moment { entity: EntityId(7), life: Life::default(), state }]);
/// }
/// let mut seen = Vec::new();
/// assert_eq!(warp.rewind(ms(1_000), ms(850), &mut seen), Some(ms(850)));
/// assert!((seen[0].state.position.x - 8.5).abs() < 1e-9);
/// assert_eq!(warp.rewind(ms(1_000), ms(0), &mut seen), Some(ms(750)), "250 ms and no more");
/// ```
#[derive(Clone, Debug)]
pub struct TimeWarp<V: Vector> {
    config: TimeWarpConfig,
    frames: VecDeque<Frame<V>>,
}

/// How far a server can rewind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeWarpConfig {
    /// How long the past is kept. Default 1 s. If below `rewind_max`, it bounds rewinding.
    pub history: Span,
    /// The maximum time that a shot is rewound. Default 250 ms. Lower, and players with long delays
    /// must aim ahead by the rest; higher, and their targets are hit farther behind cover. Example:
    /// at 25 units a second and 250 ms, 6.25 units, a tank's length.
    pub rewind_max: Span,
}

impl Default for TimeWarpConfig {
    fn default() -> Self {
        Self { history: Span::from_secs(1), rewind_max: Span::from_millis(250) }
    }
}

/// The maximum number of frames: 256, two seconds at 128 ticks a second.
pub const FRAMES_MAX: usize = 256;

/// The maximum number of entities per frame: 4096. Further ones are not rewound.
pub const ENTITIES_MAX: usize = 4096;

/// An entity at one instant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moment<V: Vector> {
    /// The entity.
    pub entity: EntityId,
    /// Its life. Positions are never interpolated between two lives.
    pub life: Life,
    /// Position and motion.
    pub state: State<V>,
}

#[derive(Clone, Debug)]
struct Frame<V: Vector> {
    at: SharedInstant,
    /// Sorted by entity.
    moments: Vec<Moment<V>>,
}

impl<V: Vector> TimeWarp<V> {
    /// Creates one without a past.
    pub fn new(config: TimeWarpConfig) -> Self {
        Self { config, frames: VecDeque::with_capacity(FRAMES_MAX) }
    }

    /// Stores the state of all entities. Instants must grow. One that does not is ignored, unless
    /// it is so old that the clock must have been set: then the past is forgotten.
    pub fn record(&mut self, at: SharedInstant, entities: impl IntoIterator<Item = Moment<V>>) {
        if let Some(newest) = self.frames.back().map(|frame| frame.at).filter(|newest| at <= *newest) {
            if newest - at <= self.config.history {
                return;
            }
            self.frames.clear();
        }
        let mut moments = self.forget_before(at - self.config.history);
        moments.clear();
        moments.extend(entities.into_iter().take(ENTITIES_MAX));
        if !moments.is_sorted_by_key(|moment| moment.entity) {
            moments.sort_by_key(|moment| moment.entity);
        }
        self.frames.push_back(Frame { at, moments });
    }

    /// Writes all entities as of `seen_at`, or as far back as allowed, into `seen`, sorted by
    /// entity. Returns the instant they are shown at; `None` if nothing is recorded.
    ///
    /// Between frames positions are interpolated linearly. An entity that did not exist yet is left
    /// out. An entity with another life in the next frame stays at its last position in this life.
    /// Reuses the memory of `seen`.
    pub fn rewind(
        &self,
        now: SharedInstant,
        seen_at: SharedInstant,
        seen: &mut Vec<Moment<V>>,
    ) -> Option<SharedInstant> {
        seen.clear();
        let oldest = self.frames.front()?.at;
        let newest = self.frames.back()?.at;
        let at = seen_at.max(now - self.config.rewind_max).max(oldest).min(newest);
        let after = self.frames.partition_point(|frame| frame.at <= at);
        let before = &self.frames[after - 1];
        match self.frames.get(after) {
            Some(next) => between(before, next, at, seen),
            None => seen.extend_from_slice(&before.moments),
        }
        Some(at)
    }

    /// Returns the oldest and the newest recorded instant.
    pub fn reach(&self) -> Option<(SharedInstant, SharedInstant)> {
        Some((self.frames.front()?.at, self.frames.back()?.at))
    }

    /// Returns the memory that the past takes. It stops growing once
    /// [`history`](TimeWarpConfig::history) is full.
    pub fn memory_bytes(&self) -> usize {
        let moments: usize = self.frames.iter().map(|frame| frame.moments.capacity()).sum();
        moments * size_of::<Moment<V>>() + self.frames.capacity() * size_of::<Frame<V>>()
    }

    /// Drops frames before `oldest`, and one more if there is no room. Returns memory to reuse.
    fn forget_before(&mut self, oldest: SharedInstant) -> Vec<Moment<V>> {
        let mut spare = Vec::new();
        while self.frames.len() == FRAMES_MAX || self.frames.get(1).is_some_and(|second| second.at <= oldest)
        {
            spare = self.frames.pop_front().map(|frame| frame.moments).unwrap_or_default();
        }
        spare
    }
}

fn between<V: Vector>(before: &Frame<V>, next: &Frame<V>, at: SharedInstant, seen: &mut Vec<Moment<V>>) {
    let share = (at - before.at).as_secs_f64() / (next.at - before.at).as_secs_f64();
    let mut later = next.moments.iter().peekable();
    seen.extend(before.moments.iter().map(|moment| {
        while later.next_if(|candidate| candidate.entity < moment.entity).is_some() {}
        match later.next_if(|candidate| candidate.entity == moment.entity) {
            Some(candidate) if candidate.life == moment.life => {
                Moment { state: on_the_way(&moment.state, &candidate.state, share), ..*moment }
            }
            _ => *moment,
        }
    }));
}

fn on_the_way<V: Vector>(from: &State<V>, to: &State<V>, share: f64) -> State<V> {
    State {
        position: from.position + (to.position - from.position) * share,
        velocity: from.velocity + (to.velocity - from.velocity) * share,
        orientation: V::part_way(from.orientation, to.orientation, share),
        ..*from
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairpath::vector::Vec2;

    fn ms(millis: i64) -> SharedInstant {
        SharedInstant::from_millis(millis)
    }

    fn moment(entity: u32, life: u8, x: f64) -> Moment<Vec2> {
        let state = State::moving(Vec2::new(x, 0.0), Vec2::new(1.0, 0.0));
        Moment { entity: EntityId(entity), life: Life::new(life), state }
    }

    fn places(warp: &TimeWarp<Vec2>, now: i64, seen_at: i64) -> Vec<(u32, f64)> {
        let mut seen = Vec::new();
        warp.rewind(ms(now), ms(seen_at), &mut seen);
        seen.iter().map(|moment| (moment.entity.0, moment.state.position.x)).collect()
    }

    #[test]
    fn who_comes_goes_or_dies_is_where_the_shooter_saw_it() {
        let mut warp = TimeWarp::new(TimeWarpConfig::default());
        assert_eq!(places(&warp, 0, 0), []);
        warp.record(ms(0), [moment(3, 0, 0.0), moment(1, 0, 10.0), moment(2, 0, 20.0)]);
        warp.record(ms(100), [moment(1, 0, 11.0), moment(3, 1, 500.0), moment(4, 0, 40.0)]);
        assert_eq!(places(&warp, 100, 50), [(1, 10.5), (2, 20.0), (3, 0.0)]);
        assert_eq!(places(&warp, 100, 100), [(1, 11.0), (3, 500.0), (4, 40.0)]);
        assert_eq!(places(&warp, 100, 7_000), places(&warp, 100, 100), "the future is not shown");
    }

    #[test]
    fn somebody_who_turns_in_space_is_on_the_way() {
        use fairpath::rotation::Quat;
        use fairpath::vector::Vec3;

        let mut warp = TimeWarp::<Vec3>::new(TimeWarpConfig::default());
        // Across ±π, where quaternions change their sign.
        for (at, angle) in [(0, 3.1), (20, 3.2)] {
            let state = State {
                orientation: Quat::from_rotation_vector(Vec3::new(0.0, angle, 0.0)),
                ..State::default()
            };
            warp.record(ms(at), [Moment { entity: EntityId(1), life: Life::default(), state }]);
        }
        let mut seen = Vec::new();
        for (at, angle) in [(0, 3.1), (5, 3.125), (10, 3.15), (20, 3.2)] {
            warp.rewind(ms(20), ms(at), &mut seen);
            let expected = Quat::from_rotation_vector(Vec3::new(0.0, angle, 0.0));
            assert!(seen[0].state.orientation.angle_to(expected) < 1e-5, "{at} ms");
        }
    }

    #[test]
    fn the_past_is_bounded_and_a_clock_that_is_set_begins_a_new_one() {
        let mut warp = TimeWarp::new(TimeWarpConfig { rewind_max: Span::MAX, ..TimeWarpConfig::default() });
        for at in 0..10_000 {
            warp.record(ms(at * 10), (0..8).map(|entity| moment(entity, 0, at as f64)));
        }
        let (oldest, newest) = warp.reach().expect("recorded");
        assert_eq!((oldest, newest), (ms(98_990), ms(99_990)));
        let memory = warp.memory_bytes();
        for at in 10_000..20_000 {
            warp.record(ms(at * 10), (0..8).map(|entity| moment(entity, 0, at as f64)));
        }
        assert_eq!(warp.memory_bytes(), memory);
        warp.record(ms(199_980), [moment(1, 0, -1.0)]);
        assert_eq!(warp.reach().map(|(_, newest)| newest), Some(ms(199_990)), "passed over");
        warp.record(ms(0), [moment(1, 0, -1.0)]);
        assert_eq!(warp.reach(), Some((ms(0), ms(0))));
        for at in 0..100_000 {
            warp.record(SharedInstant::from_micros(at), [moment(1, 0, 0.0)]);
        }
        assert!(warp.frames.len() <= FRAMES_MAX);
    }
}
