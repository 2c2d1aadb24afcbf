//! A recorded match, served again.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use fairpath::motion::{Circular, Linear, Motion, MotionKind, Quadratic};
use fairpath::place::{Arrival, Placement, Replica};
use fairpath::session::{ObjectError, Server};
use fairpath::time::{Now, SharedInstant, Span};
use fairpath::vector::Vec2;
use fairpath::{DrVector, EntityId, Forecast, Observation, State};
use fairpath_sim::trace::{FollowedRow, StateKind, StateRow, VectorRow};

use super::publisher::{ALIVE, TANK};

/// The DR vectors of a match, and when its tanks were there.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecordedMatch {
    /// In the order of their instants. Of an entity's, no two have the same.
    vectors: Vec<VectorRow>,
    /// From the first to the last sight of each entity, by entity and then by time.
    stays: Vec<Stay>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stay {
    entity: u32,
    from_us: i64,
    until_us: i64,
}

/// An entity that was not seen for this long was away.
const AWAY_AFTER: Span = Span::from_secs(1);

impl RecordedMatch {
    /// Takes the tables of a recording. States tell when an entity was there; the DR vectors how it
    /// moved.
    pub fn new(states: &[StateRow], vectors: &[VectorRow]) -> Self {
        let mut sights = Sights::default();
        sights.see(states);
        sights.with_vectors(vectors.to_vec())
    }

    pub fn is_empty(&self) -> bool {
        self.vectors.is_empty()
    }

    /// Returns the number of DR vectors.
    pub fn len(&self) -> usize {
        self.vectors.len()
    }

    /// Returns when the match begins and ends, on the recording's clock.
    pub fn span(&self) -> (SharedInstant, SharedInstant) {
        let begin = self.stays.iter().map(|stay| stay.from_us).min().unwrap_or(0);
        let end = self.stays.iter().map(|stay| stay.until_us).max().unwrap_or(0);
        (SharedInstant::from_micros(begin), SharedInstant::from_micros(end))
    }

    fn is_there(&self, entity: u32, at_us: i64) -> bool {
        let after = self.stays.partition_point(|stay| (stay.entity, stay.from_us) <= (entity, at_us));
        after.checked_sub(1).is_some_and(|index| {
            let stay = self.stays[index];
            stay.entity == entity && at_us <= stay.until_us
        })
    }

    /// Returns the newest DR vector of each entity that is there at `at_us`.
    fn newest_at(&self, at_us: i64) -> BTreeMap<u32, VectorRow> {
        let known = self.vectors.partition_point(|row| row.generated_us <= at_us);
        let rows = self.vectors[..known].iter().filter(|row| self.is_there(row.entity, at_us));
        rows.map(|row| (row.entity, *row)).collect()
    }
}

/// When entities were seen, from states in the order of time: hours of them need not be in memory.
#[derive(Clone, Debug, Default)]
pub struct Sights {
    stays: BTreeMap<u32, Vec<Stay>>,
    count: u64,
}

/// The memory of a stay: in an array that doubles, in a node of a tree.
const STAY_BYTES: u64 = 4 * size_of::<Stay>() as u64 + 96;

impl Sights {
    /// Takes the next states.
    pub fn see(&mut self, states: &[StateRow]) {
        states.iter().for_each(|row| self.note(row.entity, row.t_us));
    }

    /// Returns an upper bound of the memory that this takes. A recording in which every state is
    /// another entity's takes more than its states.
    pub fn memory_bytes(&self) -> u64 {
        self.count * STAY_BYTES
    }

    fn note(&mut self, entity: u32, t_us: i64) {
        let stays = self.stays.entry(entity).or_default();
        match stays.last_mut() {
            Some(stay) if t_us - stay.until_us <= AWAY_AFTER.as_micros() => {
                stay.until_us = stay.until_us.max(t_us);
                stay.from_us = stay.from_us.min(t_us);
            }
            _ => {
                stays.push(Stay { entity, from_us: t_us, until_us: t_us });
                self.count += 1;
            }
        }
    }

    /// Returns the match of these entities.
    pub fn with_vectors(mut self, mut vectors: Vec<VectorRow>) -> RecordedMatch {
        vectors.sort_by_key(|row| (row.generated_us, row.entity));
        vectors.dedup_by_key(|row| (row.generated_us, row.entity));
        // An entity is there from its first DR vector on, even if it was seen later.
        for row in &vectors {
            let stays = self.stays.entry(row.entity).or_default();
            let later = stays.partition_point(|stay| stay.until_us < row.generated_us);
            match stays.get_mut(later) {
                Some(stay) if stay.from_us - row.generated_us <= AWAY_AFTER.as_micros() => {
                    stay.from_us = stay.from_us.min(row.generated_us);
                }
                _ => stays.insert(
                    later,
                    Stay { entity: row.entity, from_us: row.generated_us, until_us: row.generated_us },
                ),
            }
        }
        RecordedMatch { vectors, stays: self.stays.into_values().flatten().collect() }
    }
}

/// Serves a recorded match with its own DR vectors.
///
/// Shared time never runs back, and no DR vector is ever taken back. So every [`seek`](Self::seek)
/// begins a new epoch: the objects of the last one are destroyed, and new ones continue from the
/// chosen instant on.
///
/// At the recorded speed every receiver places what the recorded viewers placed, to the last bit:
/// the DR vectors are the recorded ones, shifted in time by whole steps of the wire's grid.
#[derive(Debug)]
pub struct ReplayPublisher {
    recorded: RecordedMatch,
    epoch: Epoch,
    epochs: u64,
    /// The first DR vector that is not published yet.
    next: usize,
    published: BTreeMap<u32, Puppet>,
    is_paused: bool,
    /// Where to go when the next frame comes.
    wanted: Option<(SharedInstant, f64)>,
}

/// Which instant of the recording is which instant of shared time.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Epoch {
    recorded_us: i64,
    shared: SharedInstant,
    speed: f64,
}

#[derive(Debug)]
struct Puppet {
    object: EntityId,
    life: u16,
    script: Script,
}

/// The steps of the wire's time grid: [`Precision`](fairpath::wire::Precision)'s default.
const GRID_US: i64 = 1_000;
/// What is older than this is told as if it were as old as this: a server refuses observations of
/// more than a second ago.
const LATE_MAX: Span = Span::from_millis(900);
/// A DR vector that was older than this when a seek began is cut anew at the start of the epoch.
const OLD: Span = Span::from_secs(2);
/// The speeds that can be chosen. Slower than a hundredth is a pause; faster than a hundred times,
/// a frame skips seconds.
pub const SPEEDS: std::ops::RangeInclusive<f64> = 0.01..=100.0;

impl ReplayPublisher {
    /// Returns a publisher that begins with the recording's first instant.
    pub fn new(recorded: RecordedMatch) -> Self {
        let (begin, _) = recorded.span();
        let epoch = Epoch { recorded_us: begin.as_micros(), shared: SharedInstant::ZERO, speed: 1.0 };
        Self {
            recorded,
            epoch,
            epochs: 0,
            next: 0,
            published: BTreeMap::new(),
            is_paused: false,
            wanted: Some((begin, 1.0)),
        }
    }

    /// Goes to an instant of the recording, in either direction, with the next frame.
    pub fn seek(&mut self, to: SharedInstant) {
        let (begin, end) = self.recorded.span();
        let speed = self.wanted.map_or(self.epoch.speed, |(_, speed)| speed);
        self.wanted = Some((to.clamp(begin, end), speed));
    }

    /// Changes the speed, with the next frame. It begins a new epoch too: DR vectors that are on
    /// their way move at the old speed.
    pub fn set_speed(&mut self, speed: f64, now: SharedInstant) {
        let at = self.wanted.map_or_else(|| self.recorded_at(now), |(at, _)| at);
        self.wanted = Some((at, speed.clamp(*SPEEDS.start(), *SPEEDS.end())));
    }

    /// Stops everything where it is, or goes on from there.
    pub fn set_paused(&mut self, is_paused: bool, now: SharedInstant) {
        if is_paused != self.is_paused {
            let at = self.wanted.map_or_else(|| self.recorded_at(now), |(at, _)| at);
            self.wanted = Some((at, self.epoch.speed));
            self.is_paused = is_paused;
        }
    }

    /// Returns the instant of the recording that is shown at `now`.
    pub fn recorded_at(&self, now: SharedInstant) -> SharedInstant {
        SharedInstant::from_micros(self.epoch.recorded_us_at(now, self.is_paused))
    }

    pub fn is_over(&self, now: SharedInstant) -> bool {
        self.wanted.is_none() && self.recorded_at(now) > self.recorded.span().1
    }

    /// Returns how many epochs have begun.
    pub fn epochs(&self) -> u64 {
        self.epochs
    }

    pub fn recorded(&self) -> &RecordedMatch {
        &self.recorded
    }

    /// Returns the object that shows an entity of the recording.
    pub fn object(&self, entity: u32) -> Option<EntityId> {
        self.published.get(&entity).map(|puppet| puppet.object)
    }

    /// Returns how much later than in the recording the DR vectors of this epoch are.
    pub fn shift(&self) -> Span {
        self.epoch.shared - SharedInstant::from_micros(self.epoch.recorded_us)
    }

    /// Publishes what happened up to `now`.
    pub fn play(&mut self, session: &mut Server<Vec2>, now: SharedInstant) -> Result<(), ObjectError> {
        if let Some((to, speed)) = self.wanted.take() {
            self.begin_epoch(session, to, speed, now)?;
        }
        if self.is_paused {
            return self.hold_still(session, now);
        }
        let until_us = self.epoch.recorded_us_at(now, false);
        for row in self.due(until_us, now) {
            self.publish(session, &row, now)?;
        }
        let gone: Vec<u32> = (self.published.keys().copied())
            .filter(|entity| !self.recorded.is_there(*entity, until_us))
            .collect();
        for entity in gone {
            self.remove(session, entity)?;
        }
        Ok(())
    }

    /// Takes the DR vectors up to an instant of the recording. After a frame that was late, those
    /// that are too old to be told are left out if there is a newer one.
    fn due(&mut self, until_us: i64, now: SharedInstant) -> Vec<VectorRow> {
        let rows = &self.recorded.vectors[self.next..];
        let rows = &rows[..rows.partition_point(|row| row.generated_us <= until_us)];
        self.next += rows.len();
        let newest: BTreeMap<u32, i64> = rows.iter().map(|row| (row.entity, row.generated_us)).collect();
        let is_told = |row: &&VectorRow| {
            self.epoch.shared_at(row.generated_us) >= now - LATE_MAX
                || newest.get(&row.entity) == Some(&row.generated_us)
        };
        rows.iter().filter(is_told).copied().collect()
    }

    fn begin_epoch(
        &mut self,
        session: &mut Server<Vec2>,
        to: SharedInstant,
        speed: f64,
        now: SharedInstant,
    ) -> Result<(), ObjectError> {
        for entity in self.published.keys().copied().collect::<Vec<_>>() {
            self.remove(session, entity)?;
        }
        // It begins with the oldest DR vector that is still followed, so that all are published as
        // they were.
        let newest = self.recorded.newest_at(to.as_micros());
        let not_before = (to - OLD).as_micros();
        let oldest = newest.values().map(|row| row.generated_us).filter(|at| *at >= not_before).min();
        let recorded_us = if self.is_paused { to.as_micros() } else { oldest.unwrap_or(to.as_micros()) };
        self.epoch = Epoch { recorded_us, shared: self.on_grid(recorded_us, now), speed };
        self.epochs += 1;
        self.next = self.recorded.vectors.partition_point(|row| row.generated_us < recorded_us);
        let is_paused = self.is_paused;
        for row in newest.values().filter(|row| is_paused || row.generated_us < recorded_us) {
            let vector: DrVector<Vec2> = row.vector();
            let state = vector.state_at(SharedInstant::from_micros(recorded_us));
            let kind = if is_paused { MotionKind::Static } else { vector.motion.kind() };
            let motion = faster(kind.from_state(&state), speed);
            self.tell(session, row, motion, self.epoch.shared, now)?;
        }
        Ok(())
    }

    /// Returns the first instant from `now` on at which recorded instants keep their place on the
    /// wire's time grid.
    fn on_grid(&self, recorded_us: i64, now: SharedInstant) -> SharedInstant {
        let grid_us = self.recorded.vectors.first().map_or(0, |row| row.generated_us.rem_euclid(GRID_US));
        let off_us = (recorded_us - grid_us).rem_euclid(GRID_US);
        let first = now.as_micros().div_euclid(GRID_US) * GRID_US + off_us;
        let first = if first < now.as_micros() { first + GRID_US } else { first };
        SharedInstant::from_micros(first)
    }

    fn publish(
        &mut self,
        session: &mut Server<Vec2>,
        row: &VectorRow,
        now: SharedInstant,
    ) -> Result<(), ObjectError> {
        let vector: DrVector<Vec2> = row.vector();
        let motion = faster(vector.motion, self.epoch.speed);
        let at = self.epoch.shared_at(row.generated_us);
        self.tell(session, row, motion, at, now)
    }

    /// Makes the server export exactly this motion at `at`.
    fn tell(
        &mut self,
        session: &mut Server<Vec2>,
        row: &VectorRow,
        motion: Motion<Vec2>,
        at: SharedInstant,
        now: SharedInstant,
    ) -> Result<(), ObjectError> {
        let at = at.max(now - LATE_MAX);
        let puppet = match self.published.get_mut(&row.entity) {
            Some(puppet) => puppet,
            None => {
                let object = session.create(TANK, &[(row.entity % 2) as u8], at.min(now))?;
                let script = Script::default();
                session.set_forecast(object, Some(Box::new(script.clone())))?;
                session.set_state(object, ALIVE, &[1])?;
                self.published.entry(row.entity).or_insert(Puppet { object, life: row.life, script })
            }
        };
        let has_jumped = std::mem::replace(&mut puppet.life, row.life) != row.life;
        puppet.script.set(motion);
        let (object, state) = (puppet.object, motion.state_at(0.0));
        if !has_jumped {
            session.observe_at(object, Observation::Moved(state), at, now)?;
        }
        // The trigger did not fire: the recorded one had another reason. A new life always does.
        let step = Span::from_micros(GRID_US);
        if session.dispatcher().newest(object).is_none_or(|newest| newest.generated_at + step <= at) {
            session.observe_at(object, Observation::Jumped(state), at, now)?;
        }
        Ok(())
    }

    /// While it is paused, everything stands where it is.
    fn hold_still(&mut self, session: &mut Server<Vec2>, now: SharedInstant) -> Result<(), ObjectError> {
        // An epoch begins on the wire's time grid, so up to a step after the frame that began it,
        // and what was observed there must not be observed for an earlier instant.
        if now < self.epoch.shared {
            return Ok(());
        }
        for puppet in self.published.values() {
            // Nothing moves, so only heartbeats are sent.
            if let Some(state) = session.place(puppet.object, now) {
                session.observe_at(puppet.object, Observation::Moved(state), now, now)?;
            }
        }
        Ok(())
    }

    fn remove(&mut self, session: &mut Server<Vec2>, entity: u32) -> Result<(), ObjectError> {
        match self.published.remove(&entity) {
            Some(puppet) => session.destroy(puppet.object),
            None => Ok(()),
        }
    }
}

impl Epoch {
    fn recorded_us_at(&self, now: SharedInstant, is_paused: bool) -> i64 {
        let elapsed = (now - self.shared).max(Span::ZERO);
        let elapsed = if is_paused { Span::ZERO } else { elapsed };
        // Exact at the recorded speed.
        let elapsed = if self.speed == 1.0 { elapsed } else { elapsed.scaled(self.speed) };
        self.recorded_us + elapsed.as_micros()
    }

    fn shared_at(&self, recorded_us: i64) -> SharedInstant {
        let elapsed = Span::from_micros(recorded_us - self.recorded_us);
        self.shared + if self.speed == 1.0 { elapsed } else { elapsed.scaled(1.0 / self.speed) }
    }
}

/// Returns the same path, travelled at another speed.
fn faster(motion: Motion<Vec2>, speed: f64) -> Motion<Vec2> {
    match motion {
        motion if speed == 1.0 => motion,
        Motion::Linear(line) => Motion::Linear(Linear { velocity: line.velocity * speed, ..line }),
        Motion::Quadratic(curve) => Motion::Quadratic(Quadratic {
            velocity: curve.velocity * speed,
            acceleration: curve.acceleration * (speed * speed),
            ..curve
        }),
        Motion::Circular(circle) => Motion::Circular(Circular {
            speed: circle.speed * speed,
            turn_rate: circle.turn_rate * speed,
            ..circle
        }),
        other => other,
    }
}

/// A forecast that says what it was told.
#[derive(Clone, Debug, Default)]
struct Script(Arc<Mutex<Option<Motion<Vec2>>>>);

impl Script {
    fn set(&self, motion: Motion<Vec2>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(motion);
    }
}

impl Forecast<Vec2> for Script {
    fn observe(&mut self, _observation: &Observation<Vec2>, _at: SharedInstant) {}

    fn motion(&mut self, _state: &State<Vec2>, _at: SharedInstant) -> Option<Motion<Vec2>> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How recorded placed states compare with those that the recorded DR vectors give.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlacedCheck {
    /// Placed states that are equal to the last bit.
    pub equal: u64,
    /// Placed states that differ.
    pub different: u64,
    /// Placed states whose DR vector is not in the recording: those from before it began.
    pub unknown: u64,
}

/// Computes every placed state of a recording again, from the DR vector that its viewer followed,
/// and compares all its bits. All tables are in the order of time, as they were recorded.
pub fn check_placed(states: &[StateRow], followed: &[FollowedRow], vectors: &[VectorRow]) -> PlacedCheck {
    let mut checker = PlacedChecker::new(followed, vectors);
    checker.see(states);
    checker.check()
}

/// [`check_placed`] for states that come piece by piece: hours of them need not be in memory.
#[derive(Debug)]
pub struct PlacedChecker<'a> {
    by_name: BTreeMap<(u32, i64), &'a VectorRow>,
    next: std::iter::Peekable<std::slice::Iter<'a, FollowedRow>>,
    replicas: BTreeMap<(u32, Option<u32>), Option<Replica<Vec2>>>,
    horizon: Span,
    check: PlacedCheck,
}

impl<'a> PlacedChecker<'a> {
    /// Takes what viewers followed, and the DR vectors.
    pub fn new(followed: &'a [FollowedRow], vectors: &'a [VectorRow]) -> Self {
        let by_name = vectors.iter().map(|row| ((row.entity, row.generated_us), row)).collect();
        let next = followed.iter().peekable();
        let (replicas, horizon) = (BTreeMap::new(), Replica::<Vec2>::HORIZON);
        Self { by_name, next, replicas, horizon, check: PlacedCheck::default() }
    }

    /// Sets how long the recorded viewers predicted before they froze. Default
    /// [`Replica::HORIZON`].
    pub fn with_horizon(mut self, horizon: Span) -> Self {
        self.horizon = horizon;
        self
    }

    /// Compares the next states.
    pub fn see(&mut self, states: &[StateRow]) {
        states.iter().filter(|row| row.kind == StateKind::Placed).for_each(|row| self.compare(row));
    }

    /// Returns the result up to here.
    pub fn check(&self) -> PlacedCheck {
        self.check
    }

    fn compare(&mut self, row: &StateRow) {
        while let Some(change) = self.next.next_if(|change| change.t_us <= row.t_us) {
            let vector = self.by_name.get(&(change.entity, change.generated_us)).map(|row| row.vector());
            let replica = vector.map(|vector| following(&vector, change.t_us, self.horizon));
            self.replicas.insert((change.entity, change.viewer), replica);
        }
        let Some(replica) = self.replicas.get(&(row.entity, row.viewer)).and_then(Option::as_ref) else {
            self.check.unknown += 1;
            return;
        };
        let at = SharedInstant::from_micros(row.t_us);
        let placed = replica.place(Now::synchronised(at));
        let again = placed.map(|state| StateRow {
            t_us: row.t_us,
            life: row.life,
            viewer: row.viewer,
            is_break: row.is_break,
            ..StateRow::new(at, EntityId(row.entity), StateKind::Placed, &state)
        });
        if again.is_some_and(|again| same_bits(&again, row)) {
            self.check.equal += 1;
        } else {
            self.check.different += 1;
        }
    }
}

fn following(vector: &DrVector<Vec2>, at_us: i64, horizon: Span) -> Replica<Vec2> {
    let mut replica = Replica::new(Placement::Global).with_horizon(horizon);
    let at = SharedInstant::from_micros(at_us).max(vector.generated_at);
    replica.accept(vector, &Arrival::at(Now::synchronised(at)));
    replica
}

/// Equality of numbers is not enough: −0 equals 0.
fn same_bits(one: &StateRow, other: &StateRow) -> bool {
    let bits = |row: &StateRow| {
        [row.x, row.y, row.z, row.vx, row.vy, row.vz, row.qw, row.qx, row.qy, row.qz].map(f64::to_bits)
    };
    one == other && bits(one) == bits(other)
}

#[cfg(test)]
mod tests {
    use fairpath::Trigger;
    use fairpath::random::Random;
    use fairpath::schedule::SchedulerChoice;
    use fairpath::session::{Class, ServerConfig};

    use super::super::publisher::SHOT;
    use super::super::publisher::{SessionAt, TankPublisher};
    use super::*;
    use crate::tanks::{Match, TanksConfig};

    const FRAME: Span = Span::from_micros(16_667);

    fn server() -> Server<Vec2> {
        let class = || Class::new(Trigger::within(0.3));
        let classes = [(TANK, class().circular()), (SHOT, class())];
        Server::new(
            ServerConfig::new(classes, 7),
            SchedulerChoice::Broadcast.build(3, 1.0),
            Random::from_seed(1),
        )
    }

    /// Twenty seconds of a match at a server, recorded as `serve --out` does.
    fn recorded() -> (Vec<StateRow>, Vec<FollowedRow>, Vec<VectorRow>) {
        let game = Match::of_bots(TanksConfig { tanks: [2, 2], ..TanksConfig::default() }, 3).expect("sound");
        let (mut session, mut crew) = (server(), TankPublisher::new(game));
        let (mut states, mut followed, mut vectors) = (Vec::new(), Vec::new(), Vec::new());
        let zero = SharedInstant::from_micros(1_700_000_000_123_456);
        for frame in 0..1200 {
            let now = zero + Span::from_micros(frame * FRAME.as_micros());
            crew.play(now, |_| {});
            crew.publish(&mut SessionAt(&mut session, now), now).expect("there is room");
            for object in session.objects().filter(|object| session.class(*object) == Some(TANK)) {
                let t_us = (now - zero).as_micros();
                let vector = session.dispatcher().newest(object).expect("it was observed");
                let generated_us = (vector.generated_at - zero).as_micros();
                let row = VectorRow::new(now, vector).expect("a circle");
                if vectors
                    .iter()
                    .all(|known: &VectorRow| (known.entity, known.generated_us) != (object.0, generated_us))
                {
                    vectors.push(VectorRow { t_us, generated_us, ..row });
                    followed.push(FollowedRow {
                        t_us,
                        viewer: Some(0),
                        entity: object.0,
                        life: row.life,
                        generated_us,
                    });
                }
                let placed = session.place(object, now).expect("it was observed");
                let row = StateRow::new(now, object, StateKind::Placed, &placed);
                states.push(StateRow { t_us, viewer: Some(0), ..row });
            }
        }
        (states, followed, vectors)
    }

    #[test]
    fn placed_states_follow_from_the_recorded_vectors_bit_for_bit() {
        let (mut states, followed, vectors) = recorded();
        let check = check_placed(&states, &followed, &vectors);
        assert_eq!((check.different, check.unknown), (0, 0), "{check:?}");
        assert!(check.equal > 4000, "{check:?}");
        states[100].x = f64::from_bits(states[100].x.to_bits() ^ 1);
        assert_eq!(check_placed(&states, &followed, &vectors).different, 1, "one bit");
    }

    /// Plays frames and compares every place with the recording's own.
    fn replayed(
        publisher: &mut ReplayPublisher,
        session: &mut Server<Vec2>,
        from: SharedInstant,
        frames: i64,
    ) -> u64 {
        let mut compared = 0;
        for frame in 0..frames {
            let now = from + Span::from_micros(frame * FRAME.as_micros());
            publisher.play(session, now).expect("there is room");
            let shift = publisher.shift();
            let recorded = publisher.recorded().newest_at((now - shift).as_micros());
            for (entity, row) in recorded {
                let Some(object) = publisher.object(entity) else { continue };
                // A wreck had no new DR vector for long: it was cut anew.
                if row.generated_us < publisher.epoch.recorded_us {
                    continue;
                }
                let mut expected: DrVector<Vec2> = row.vector();
                expected.generated_at += shift;
                let newest = session.dispatcher().newest(object).expect("published");
                assert_eq!(newest.generated_at, expected.generated_at, "frame {frame}");
                let (placed, again) =
                    (session.place(object, now).expect("published"), expected.state_at(now));
                assert_eq!(placed, again);
                assert_eq!(placed.position.x.to_bits(), again.position.x.to_bits());
                compared += 1;
            }
        }
        compared
    }

    #[test]
    fn a_replay_places_what_was_placed_bit_for_bit_and_seeking_back_never_runs_time_back() {
        let (states, _, vectors) = recorded();
        let recorded = RecordedMatch::new(&states, &vectors);
        assert_eq!(recorded.span().0, SharedInstant::from_micros(vectors[0].generated_us.min(0)));
        let (mut publisher, mut session) = (ReplayPublisher::new(recorded), server());
        let begin = SharedInstant::from_micros(1_800_000_000_654_321);
        assert!(replayed(&mut publisher, &mut session, begin, 600) > 2000);
        let before: Vec<EntityId> = session.objects().collect();
        publisher.seek(SharedInstant::from_millis(3_000));
        let later = begin + Span::from_secs(10);
        assert!(replayed(&mut publisher, &mut session, later, 300) > 1000);
        assert_eq!(publisher.epochs(), 2);
        let after: Vec<EntityId> = session.objects().collect();
        assert!(before.iter().all(|object| !after.contains(object)), "a new epoch has new objects");
        let shown = publisher.recorded_at(later + Span::from_secs(5));
        assert!((shown - SharedInstant::from_millis(8_000)).abs() < Span::from_secs(2), "{shown:?}");
    }

    /// Frames stop for three seconds, as when a machine is busy.
    #[test]
    fn after_a_late_frame_every_tank_follows_its_newest_motion() {
        let (states, _, vectors) = recorded();
        let (mut publisher, mut session) =
            (ReplayPublisher::new(RecordedMatch::new(&states, &vectors)), server());
        let begin = SharedInstant::from_micros(1_800_000_000_000_777);
        publisher.play(&mut session, begin).expect("there is room");
        for millis in [17, 3_000, 3_017, 9_000] {
            let now = begin + Span::from_millis(millis);
            publisher.play(&mut session, now).expect("there is room");
            let at_us = (now - publisher.shift()).as_micros();
            let newest = publisher.recorded().newest_at(at_us);
            assert!(!newest.is_empty());
            for (entity, row) in newest {
                let object = publisher.object(entity).expect("it is there");
                let told = session.dispatcher().newest(object).expect("published").motion;
                assert_eq!(told, row.vector::<Vec2>().motion, "after {millis} ms");
            }
        }
    }

    #[test]
    fn speed_and_pause_change_how_fast_the_recording_passes() {
        let (states, _, vectors) = recorded();
        let (mut publisher, mut session) =
            (ReplayPublisher::new(RecordedMatch::new(&states, &vectors)), server());
        let mut now = SharedInstant::from_micros(1_800_000_000_000_000);
        let play = |publisher: &mut ReplayPublisher,
                    session: &mut Server<Vec2>,
                    now: &mut SharedInstant,
                    frames: i64| {
            for _ in 0..frames {
                *now += FRAME;
                publisher.play(session, *now).expect("there is room");
            }
            publisher.recorded_at(*now)
        };
        play(&mut publisher, &mut session, &mut now, 60);
        publisher.set_speed(4.0, now);
        let from = publisher.recorded_at(now);
        let to = play(&mut publisher, &mut session, &mut now, 60);
        assert!(((to - from).as_secs_f64() - 4.0).abs() < 2.1, "{from:?} to {to:?}");
        publisher.set_paused(true, now);
        let from = play(&mut publisher, &mut session, &mut now, 60);
        assert_eq!(play(&mut publisher, &mut session, &mut now, 60), from);
        let still: Vec<_> = session.objects().filter_map(|object| session.place(object, now)).collect();
        assert!(!still.is_empty() && still.iter().all(|state| state.velocity == Vec2::new(0.0, 0.0)));
    }
}
