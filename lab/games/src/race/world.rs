use std::sync::Arc;

use fairpath::number::EntityId;
use fairpath::time::{SharedInstant, Span, TickRate};
use fairpath::{Observation, State, vector::Vec2};
use fairpath_sim::Digest;

use super::car::CarMotion;
use super::config::{CARS_MAX, Course, RaceConfig, TICK_RATE};
use super::contact::{hold_on_road, push_apart};
use super::input::Input;
use super::track::{Place, Shape, Track};
use crate::shared::{Game, Moving, OutOfRange, PlayerInput, add_vector};

/// The whole state of a race. It draws no random numbers; drivers have their own generators.
///
/// [`step`](Self::step) plays one tick. The same track, rules and inputs give the same bits.
/// Between steps every accessor shows the world as it is at [`now`](Self::now);
/// [`events`](Self::events) lists what happened in the last tick. A clone is cheap: it shares the
/// track.
#[derive(Clone, Debug, PartialEq)]
pub struct Race {
    track: Arc<Track>,
    config: RaceConfig,
    tick: u64,
    cars: Vec<Car>,
    finishers: Vec<EntityId>,
    events: Vec<RaceEvent>,
}

/// A car and its lap times.
#[derive(Clone, Debug, PartialEq)]
pub struct Car {
    pub(super) id: EntityId,
    pub(super) motion: CarMotion,
    pub(super) place: Place,
    /// The rounds to add to `place`.
    pub(super) rounds: i32,
    pub(super) input: Input,
    /// The number of laps begun: the next line to cross is that many laps after the start line.
    pub(super) laps_begun: u32,
    pub(super) lap_began_at: Option<SharedInstant>,
    pub(super) last_lap: Option<Span>,
    pub(super) best_lap: Option<Span>,
    pub(super) condition: Condition,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// It is on the grid, before the first tick.
    OnGrid,
    /// It is racing.
    Racing,
    /// It crossed the line for the last time at that instant. It stands still and does not collide.
    Finished { at: SharedInstant },
}

#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum RaceEvent {
    /// A car began its first lap at an instant interpolated between ticks.
    Started { car: EntityId, at: SharedInstant },
    /// A car completed a lap, counted from one, and on a circuit begins the next one.
    LapDone { car: EntityId, lap: u32, time: Span, at: SharedInstant },
    /// A car completed its last lap. Rank 1 is the winner.
    Finished { car: EntityId, rank: u32 },
    /// A car hit a wall at this speed, m/s. A car that slides along a wall hits it in every tick.
    HitWall { car: EntityId, speed: f64 },
    /// Two cars collided at this closing speed, m/s. `one` has the lower number.
    Bumped { one: EntityId, other: EntityId, speed: f64 },
}

/// The distance from the line to the first car of the grid, and from car to car, in metres.
const GRID_GAP: f64 = 5.0;
/// The distance of the grid's columns from the centre line, in metres, if the track is that wide.
const GRID_COLUMN: f64 = 2.2;
const _: () = assert!(GRID_GAP * (CARS_MAX as f64 + 1.0) < super::track::STAGE_START);

impl Race {
    /// Returns a race at tick zero: the cars on the grid, car 0 in front.
    pub fn new(track: Arc<Track>, config: RaceConfig) -> Result<Self, OutOfRange> {
        config.check()?;
        let cars = (0..config.cars).map(|number| Car::on_grid(&track, number)).collect();
        Ok(Self { track, config, tick: 0, cars, finishers: Vec::new(), events: Vec::new() })
    }

    /// Returns a race that continues after `tick` ticks. The order of finished cars is lost.
    pub(super) fn resumed(track: Arc<Track>, config: RaceConfig, tick: u64, cars: Vec<Car>) -> Self {
        let has_finished = |car: &&Car| matches!(car.condition, Condition::Finished { .. });
        let finishers = cars.iter().filter(has_finished).map(|car| car.id).collect();
        Self { track, config, tick, cars, finishers, events: Vec::new() }
    }

    /// Plays one tick. `inputs` are in the order of cars; a missing one is [`Input::IDLE`].
    pub fn step(&mut self, inputs: &[Input]) {
        self.events.clear();
        let mut before = [0.0; CARS_MAX as usize];
        for (before, car) in before.iter_mut().zip(&self.cars) {
            *before = self.distance_of(car);
        }
        self.drive(inputs);
        if self.config.cars_bump {
            self.bump();
        }
        self.hold_on_road();
        self.tick += 1;
        self.watch_the_line(&before);
    }

    fn drive(&mut self, inputs: &[Input]) {
        let secs = TICK_RATE.step_secs();
        for (number, car) in self.cars.iter_mut().enumerate() {
            car.input = inputs.get(number).copied().unwrap_or_default().limited();
            if car.is_racing() {
                car.condition = Condition::Racing;
                car.motion = self.config.car.drive(&car.motion, car.input, secs);
            }
        }
    }

    fn bump(&mut self) {
        for second in 1..self.cars.len() {
            let (ahead, rest) = self.cars.split_at_mut(second);
            let other = &mut rest[0];
            if !other.is_racing() {
                continue;
            }
            for one in ahead.iter_mut().filter(|one| one.is_racing()) {
                let met = push_apart(
                    &self.track,
                    &self.config.car,
                    (&mut one.motion, one.place.along),
                    (&mut other.motion, other.place.along),
                );
                let bumped = met.map(|speed| RaceEvent::Bumped { one: one.id, other: other.id, speed });
                self.events.extend(bumped);
            }
        }
    }

    fn hold_on_road(&mut self) {
        for car in self.cars.iter_mut().filter(|car| car.is_racing()) {
            let (place, impact) = hold_on_road(&self.track, &mut car.motion, car.place.along);
            // A car moves little per tick: if the places are far apart, `along` wrapped.
            let jump = place.along - car.place.along - self.track.way(car.place.along, place.along);
            car.rounds -= (jump / self.track.length()).round() as i32;
            car.place = place;
            self.events.extend(impact.map(|speed| RaceEvent::HitWall { car: car.id, speed }));
        }
    }

    /// Finds the cars that crossed a line in this tick, in the order of crossing.
    fn watch_the_line(&mut self, before: &[f64]) {
        let lap = self.track.lap_length();
        let mut crossings: Vec<(SharedInstant, usize)> = Vec::new();
        for (number, car) in self.cars.iter().enumerate() {
            let line = f64::from(car.laps_begun) * lap;
            let (from, to) = (before[number], self.distance_of(car));
            // Each line counts once: only the next one is checked.
            if car.is_racing() && to >= line && from < to {
                let share = ((line - from) / (to - from)).clamp(0.0, 1.0);
                crossings.push((self.begin_of_tick() + self.tick_span().scaled(share), number));
            }
        }
        crossings.sort_unstable();
        for (at, number) in crossings {
            self.cross(number, at);
        }
    }

    fn cross(&mut self, number: usize, at: SharedInstant) {
        let laps = match self.track.shape() {
            Shape::Circuit => self.config.laps,
            Shape::Stage => Some(1),
        };
        let car = &mut self.cars[number];
        let id = car.id;
        let lap = car.laps_begun;
        car.laps_begun += 1;
        let Some(began_at) = car.lap_began_at.replace(at) else {
            self.events.push(RaceEvent::Started { car: id, at });
            return;
        };
        let time = at - began_at;
        car.last_lap = Some(time);
        car.best_lap = Some(car.best_lap.map_or(time, |best| best.min(time)));
        self.events.push(RaceEvent::LapDone { car: id, lap, time, at });
        if laps.is_some_and(|laps| lap >= laps) {
            car.condition = Condition::Finished { at };
            car.motion = CarMotion::at_rest(car.motion.position, car.motion.heading);
            self.finishers.push(id);
            let rank = self.finishers.len() as u32;
            self.events.push(RaceEvent::Finished { car: id, rank });
        }
    }

    fn begin_of_tick(&self) -> SharedInstant {
        SharedInstant::ZERO + TICK_RATE.begin(self.tick as i64 - 1)
    }

    fn tick_span(&self) -> Span {
        self.now() - self.begin_of_tick()
    }

    fn distance_of(&self, car: &Car) -> f64 {
        f64::from(car.rounds) * self.track.length() + car.place.along - self.track.start_line()
    }

    pub fn track(&self) -> &Arc<Track> {
        &self.track
    }

    pub fn config(&self) -> &RaceConfig {
        &self.config
    }

    pub fn tick(&self) -> u64 {
        self.tick
    }

    /// Returns the time since the start.
    pub fn now(&self) -> SharedInstant {
        SharedInstant::ZERO + TICK_RATE.begin(self.tick as i64)
    }

    pub fn cars(&self) -> &[Car] {
        &self.cars
    }

    pub fn car(&self, id: EntityId) -> Option<&Car> {
        self.cars.get(id.0 as usize)
    }

    /// Returns a car's distance from the start line along the centre line, in metres; negative on
    /// the grid. It decreases for a car that goes back.
    pub fn distance(&self, id: EntityId) -> Option<f64> {
        self.car(id).map(|car| self.distance_of(car))
    }

    /// Returns the cars that have finished, the winner first.
    pub fn finishers(&self) -> &[EntityId] {
        &self.finishers
    }

    pub fn winner(&self) -> Option<EntityId> {
        self.finishers.first().copied()
    }

    pub fn is_over(&self) -> bool {
        self.finishers.len() == self.cars.len()
    }

    /// Returns all cars, the leader first: finishers in their order, then the others by distance.
    pub fn standings(&self) -> Vec<EntityId> {
        let mut driving: Vec<&Car> = self.cars.iter().filter(|car| car.is_racing()).collect();
        driving.sort_by(|one, other| self.distance_of(other).total_cmp(&self.distance_of(one)));
        self.finishers.iter().copied().chain(driving.iter().map(|car| car.id)).collect()
    }

    pub fn events(&self) -> &[RaceEvent] {
        &self.events
    }

    /// Returns a digest of everything that affects the future: equal races have equal digests.
    pub fn digest(&self) -> u64 {
        let mut digest = Digest::new();
        digest.u64(self.tick);
        for car in &self.cars {
            car.digest(&mut digest);
        }
        for id in &self.finishers {
            digest.u32(id.0);
        }
        digest.value()
    }
}

/// The seed is not used: a race draws no random numbers.
impl Game for Race {
    type Config = Course;
    type Input = Input;
    type ConfigError = OutOfRange;

    const NAME: &'static str = "race";
    const TICK_RATE: TickRate = TICK_RATE;

    fn begin(course: &Course, _seed: u64) -> Result<Self, OutOfRange> {
        Self::new(Arc::clone(&course.track), course.config)
    }

    fn seats(course: &Course) -> u32 {
        course.config.cars.min(CARS_MAX)
    }

    fn advance(&mut self, inputs: &[Input]) {
        self.step(inputs);
    }

    fn tick(&self) -> u64 {
        self.tick
    }

    fn moving(&self) -> impl Iterator<Item = Moving> {
        self.cars.iter().map(|car| Moving {
            id: car.id,
            life: 0,
            has_jumped: car.condition == Condition::OnGrid,
            state: car.state(),
        })
    }

    fn corners(&self) -> (Vec2, Vec2) {
        let walls = self.track.left_wall().chain(self.track.right_wall());
        let start = self.track.position_at(0.0);
        walls.fold((start, start), |(low, high), point| {
            let low = Vec2::new(low.x.min(point.x), low.y.min(point.y));
            (low, Vec2::new(high.x.max(point.x), high.y.max(point.y)))
        })
    }
}

impl Car {
    fn on_grid(track: &Track, number: u32) -> Self {
        let side = if number.is_multiple_of(2) { 1.0 } else { -1.0 };
        let behind = track.start_line() - GRID_GAP * f64::from(number + 1);
        let place = Place { along: track.wrap(behind), offset: side * GRID_COLUMN };
        let place = track.limited(place, super::CAR_RADIUS);
        let mut motion =
            CarMotion::at_rest(track.position_of(place), track.tangent_at(place.along).heading());
        let (place, _) = hold_on_road(track, &mut motion, place.along);
        Self {
            id: EntityId(number),
            motion,
            place,
            rounds: if track.shape() == Shape::Circuit { -1 } else { 0 },
            input: Input::IDLE,
            laps_begun: 0,
            lap_began_at: None,
            last_lap: None,
            best_lap: None,
            condition: Condition::OnGrid,
        }
    }

    /// Returns its entity id; cars are numbered from zero.
    pub fn id(&self) -> EntityId {
        self.id
    }

    /// Returns position and motion at the end of the last tick.
    pub fn motion(&self) -> &CarMotion {
        &self.motion
    }

    pub fn state(&self) -> State<Vec2> {
        self.motion.state()
    }

    /// Returns the state as an observation for its owner's session.
    pub fn observation(&self) -> Observation<Vec2> {
        match self.condition {
            Condition::OnGrid => Observation::Jumped(self.state()),
            Condition::Racing | Condition::Finished { .. } => Observation::Moved(self.state()),
        }
    }

    pub fn place(&self) -> Place {
        self.place
    }

    /// Returns its driver's input in the last tick.
    pub fn input(&self) -> Input {
        self.input
    }

    pub fn condition(&self) -> Condition {
        self.condition
    }

    /// Returns whether it has not finished.
    pub fn is_racing(&self) -> bool {
        !matches!(self.condition, Condition::Finished { .. })
    }

    pub fn laps_done(&self) -> u32 {
        self.laps_begun.saturating_sub(1)
    }

    pub fn lap_began_at(&self) -> Option<SharedInstant> {
        self.lap_began_at
    }

    pub fn last_lap(&self) -> Option<Span> {
        self.last_lap
    }

    pub fn best_lap(&self) -> Option<Span> {
        self.best_lap
    }

    fn digest(&self, digest: &mut Digest) {
        let CarMotion { position, velocity, acceleration, heading, turn_rate, steer } = self.motion;
        digest.u32(self.id.0);
        for vector in [position, velocity, acceleration] {
            add_vector(vector, digest);
        }
        digest.f64(heading).f64(turn_rate).f64(steer);
        digest.f64(self.place.along).f64(self.place.offset).i64(self.rounds.into());
        digest.u32(self.laps_begun);
        let instants = [
            self.lap_began_at.map(|at| at.since_zero()),
            self.last_lap,
            self.best_lap,
            match self.condition {
                Condition::Finished { at } => Some(at.since_zero()),
                Condition::OnGrid | Condition::Racing => None,
            },
        ];
        for instant in instants {
            digest.bool(instant.is_some()).i64(instant.map_or(0, Span::as_micros));
        }
    }
}
