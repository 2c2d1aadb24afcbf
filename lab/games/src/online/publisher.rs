//! Local tanks, published to a session.

use std::collections::BTreeMap;

use fairpath::motion::MotionKind;
use fairpath::session::{ClassId, Client, ObjectError, Server};
use fairpath::time::{LocalInstant, SharedInstant, Span};
use fairpath::vector::Vec2;
use fairpath::{EntityId, Observation, State};

use crate::tanks::{Driver, Match, MovingKind, SeenShot, SeenTank, TICK_RATE, Tank, Team, View};

pub const TANK: ClassId = ClassId(0);
pub const SHOT: ClassId = ClassId(1);
/// The state group of a tank: 1 while it is on the field, 0 while it is a wreck.
pub const ALIVE: u8 = 0;

/// A match played one tick ahead of the clock and published to a session.
///
/// A tick's input is known before the tick ends, so the position within the tick is known too: on
/// the circle that ends where the tick ends. Running ahead costs a player one tick of reaction and
/// makes the truth exact at any instant, not only at ticks.
#[derive(Debug)]
pub struct TankPublisher {
    game: Match,
    /// When tick zero was; set by the first call of [`play`](Self::play).
    began: Option<SharedInstant>,
    published: BTreeMap<EntityId, PublishedEntity>,
}

/// What was last published about one entity.
#[derive(Clone, Copy, Debug)]
struct PublishedEntity {
    object: EntityId,
    life: u16,
    is_alive: bool,
}

/// The receiving end of a [`TankPublisher`]: a server or a client session, at an instant.
pub trait EntitySink {
    fn create(&mut self, class: ClassId, creation: &[u8]) -> Result<EntityId, ObjectError>;
    fn destroy(&mut self, object: EntityId) -> Result<(), ObjectError>;
    fn observe(&mut self, object: EntityId, observation: Observation<Vec2>) -> Result<(), ObjectError>;
    fn set_state(&mut self, object: EntityId, group: u8, bytes: &[u8]) -> Result<(), ObjectError>;
}

/// The most ticks played at once. After a longer stall the match continues where it stopped.
const TICKS_AT_ONCE_MAX: i64 = 60;

impl TankPublisher {
    /// Returns a publisher of a match that no session knows yet.
    pub fn new(game: Match) -> Self {
        Self { game, began: None, published: BTreeMap::new() }
    }

    pub fn game(&self) -> &Match {
        &self.game
    }

    pub fn seat(&mut self, tank: EntityId, driver: Driver) {
        self.game.seat(tank, driver);
    }

    /// Plays up to `now` and to the end of that tick. `screen` may change what drivers are shown.
    pub fn play(&mut self, now: SharedInstant, mut screen: impl FnMut(&mut View)) {
        let tick = TICK_RATE.begin(1);
        let played = self.game.tanks().now().since_zero();
        let began = *self.began.get_or_insert(now - played);
        let stalled = now - began - played - Span::from_micros(tick.as_micros() * TICKS_AT_ONCE_MAX);
        if stalled > Span::ZERO {
            self.began = Some(began + stalled);
        }
        while self.time_of_last_tick() < now {
            self.game.step_showing(&mut screen);
        }
    }

    /// Publishes the state of every tank and shot at `now`.
    pub fn publish(&mut self, session: &mut impl EntitySink, now: SharedInstant) -> Result<(), ObjectError> {
        let mut gone = std::mem::take(&mut self.published);
        for (kind, thing) in self.game.tanks().moving() {
            let state = self.back_to(now, kind, &thing.state);
            let known = gone.remove(&thing.id);
            let is_same = known.filter(|known| kind == MovingKind::Tank || known.life == thing.life);
            if let (Some(known), None) = (known, is_same) {
                session.destroy(known.object)?;
            }
            let object = match is_same {
                Some(known) => known.object,
                None => self.create(session, kind, thing.id)?,
            };
            let has_jumped = is_same.is_none_or(|known| known.life != thing.life || !known.is_alive);
            let observed = if has_jumped { Observation::Jumped(state) } else { Observation::Moved(state) };
            session.observe(object, observed)?;
            if kind == MovingKind::Tank {
                session.set_state(object, ALIVE, &[1])?;
            }
            self.published.insert(thing.id, PublishedEntity { object, life: thing.life, is_alive: true });
        }
        // Wrecks stay as objects that are not alive; other entities that are gone are destroyed.
        for (id, known) in gone {
            if self.game.tanks().tank(id).is_some() {
                session.set_state(known.object, ALIVE, &[0])?;
                self.published.insert(id, PublishedEntity { is_alive: false, ..known });
            } else {
                session.destroy(known.object)?;
            }
        }
        Ok(())
    }

    /// Forgets what was published, for a new session.
    pub fn forget_session(&mut self) {
        self.published.clear();
    }

    /// Returns the published tanks on the field: object id, life and state at `now`.
    pub fn truths(&self, now: SharedInstant) -> impl Iterator<Item = (EntityId, u16, State<Vec2>)> + '_ {
        self.game.tanks().moving().filter(|(kind, _)| *kind == MovingKind::Tank).filter_map(
            move |(kind, thing)| {
                let known = self.published.get(&thing.id)?;
                Some((known.object, thing.life, self.back_to(now, kind, &thing.state)))
            },
        )
    }

    fn create(
        &self,
        session: &mut impl EntitySink,
        kind: MovingKind,
        id: EntityId,
    ) -> Result<EntityId, ObjectError> {
        let tanks = self.game.tanks();
        match kind {
            MovingKind::Tank => {
                let team = tanks.tank(id).map_or(Team::Red, Tank::team);
                session.create(TANK, &[team as u8])
            }
            MovingKind::Shot => {
                let team =
                    tanks.shots().iter().find(|shot| shot.id() == id).map_or(Team::Red, |shot| shot.team());
                session.create(SHOT, &[team as u8])
            }
        }
    }

    pub fn time_of_last_tick(&self) -> SharedInstant {
        self.began.unwrap_or(SharedInstant::ZERO) + self.game.tanks().now().since_zero()
    }

    /// Returns the state at `now` of an entity that is in `state` at the end of the tick.
    fn back_to(&self, now: SharedInstant, kind: MovingKind, state: &State<Vec2>) -> State<Vec2> {
        let model = match kind {
            MovingKind::Tank => MotionKind::Circular,
            MovingKind::Shot => MotionKind::Linear,
        };
        let back = (now - self.time_of_last_tick()).as_secs_f64().clamp(-1.0, 0.0);
        let mut then = model.from_state(state).state_at(back);
        if kind == MovingKind::Shot {
            then.orientation = state.orientation;
        }
        then
    }
}

/// Adds what a client session shows of other clients' tanks and shots to a driver's view.
pub fn show(view: &mut View, session: &mut Client<Vec2>, now: LocalInstant) {
    let others: Vec<EntityId> = session.objects().collect();
    for object in others {
        let Some(state) = session.place(object, now) else { continue };
        let is_mine = session.owner(object).is_some_and(|owner| {
            session.id().is_some_and(|id| owner == fairpath::session::Party::Client(id))
        });
        if is_mine {
            continue;
        }
        let team = match session.creation(object) {
            Some([1, ..]) => Team::Blue,
            _ => Team::Red,
        };
        match session.class(object) {
            Some(TANK) if session.state(object, ALIVE) != Some(&[0]) => {
                view.tanks.push(SeenTank { id: object, team, state });
            }
            Some(SHOT) => {
                view.shots.push(SeenShot { id: object, shooter: object, team, fired_at: view.now, state });
            }
            _ => {}
        }
    }
}

/// A server or client session at an instant.
#[derive(Debug)]
pub struct SessionAt<'a, S, T>(pub &'a mut S, pub T);

macro_rules! entity_sink {
    ($session:ty, $instant:ty) => {
        impl EntitySink for SessionAt<'_, $session, $instant> {
            fn create(&mut self, class: ClassId, creation: &[u8]) -> Result<EntityId, ObjectError> {
                self.0.create(class, creation, self.1)
            }

            fn destroy(&mut self, object: EntityId) -> Result<(), ObjectError> {
                self.0.destroy(object)
            }

            fn observe(
                &mut self,
                object: EntityId,
                observation: Observation<Vec2>,
            ) -> Result<(), ObjectError> {
                self.0.observe(object, observation, self.1)
            }

            fn set_state(&mut self, object: EntityId, group: u8, bytes: &[u8]) -> Result<(), ObjectError> {
                self.0.set_state(object, group, bytes)
            }
        }
    };
}

entity_sink!(Server<Vec2>, SharedInstant);
entity_sink!(Client<Vec2>, LocalInstant);
