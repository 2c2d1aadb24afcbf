//! Tanks that somebody here drives, told to a session.

use std::collections::BTreeMap;

use fairpath::motion::MotionKind;
use fairpath::session::{ClassId, Client, ObjectError, Server};
use fairpath::time::{LocalInstant, SharedInstant, Span};
use fairpath::vector::Vec2;
use fairpath::{EntityId, Observation, State};
use fairpath_games::tanks::{
    Bot, Driver, Ground, Match, MovingKind, Script, SeenShot, SeenTank, Tanks, TanksConfig, Team,
    Temperament, View,
};

use super::{ALIVE, SHOT, TANK};
use crate::BadInput;

/// A match that is played one tick ahead of the clock.
///
/// A tick's input is known before the tick is over, so where a tank is in between is known too: on the circle that ends where the
/// tick does. Running ahead costs a player one tick of reaction and makes the truth exact at any instant, not at ticks only.
#[derive(Debug)]
pub(crate) struct Crew {
    game: Match,
    /// When tick zero was; set by the first look at the clock.
    began: Option<SharedInstant>,
    told: BTreeMap<EntityId, Told>,
}

/// How a tank is driven.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Habit {
    /// As bots play.
    Bot,
    /// Straight on.
    Straight,
    /// Round and round.
    Circle,
    /// Other speeds and turns at random times: what the laboratory's tanks do.
    Random,
}

impl Habit {
    pub(crate) fn by_name(name: &str) -> Result<Self, BadInput> {
        match name {
            "bot" => Ok(Self::Bot),
            "straight" => Ok(Self::Straight),
            "circle" => Ok(Self::Circle),
            "random" => Ok(Self::Random),
            other => Err(BadInput::of("--drive", other, "choose bot, straight, circle or random")),
        }
    }
}

/// What the session was told of one thing here.
#[derive(Clone, Copy, Debug)]
struct Told {
    object: EntityId,
    life: u16,
    is_alive: bool,
}

/// Whoever takes what a crew tells: a server or a client, at some instant.
pub(crate) trait Session {
    fn create(&mut self, class: ClassId, creation: &[u8]) -> Result<EntityId, ObjectError>;
    fn destroy(&mut self, object: EntityId) -> Result<(), ObjectError>;
    fn observe(&mut self, object: EntityId, observation: Observation<Vec2>) -> Result<(), ObjectError>;
    fn set_state(&mut self, object: EntityId, group: u8, bytes: &[u8]) -> Result<(), ObjectError>;
}

/// Ticks played at once at most: after a longer stall of the machine the match goes on from there, later.
const TICKS_AT_ONCE_MAX: i64 = 60;

impl Crew {
    /// So many bots against each other, on the field of this seed.
    pub(crate) fn of_bots(count: u32, seed: u64) -> Result<Self, BadInput> {
        let config = TanksConfig { tanks: [count - count / 2, count / 2], ..TanksConfig::default() };
        Ok(Self::new(Match::of_bots(config, seed)?))
    }

    /// One tank alone on the field of this seed: the others are elsewhere.
    pub(crate) fn lone(number: u32, seed: u64, habit: Habit) -> Result<Self, BadInput> {
        let map = Tanks::new(TanksConfig::default(), seed)?.map().clone();
        let tanks = if number.is_multiple_of(2) { [1, 0] } else { [0, 1] };
        let config = TanksConfig { tanks, ground: Ground::Given(map), ..TanksConfig::default() };
        let temperament = Temperament::ALL[number as usize / 2 % Temperament::ALL.len()];
        let dice = seed.wrapping_add(1 + u64::from(number));
        let game = Match::new(config, dice, |_, _, random| match habit {
            Habit::Bot => Driver::Bot(Bot::new(temperament, random)),
            Habit::Straight => Driver::Script(Script::STRAIGHT),
            Habit::Circle => Driver::Script(Script::CIRCLE),
            Habit::Random => Driver::Script(Script::random(random)),
        })?;
        Ok(Self::new(game))
    }

    fn new(game: Match) -> Self {
        Self { game, began: None, told: BTreeMap::new() }
    }

    /// Plays up to `now` and the rest of that tick. `screen` may change what drivers are shown.
    pub(crate) fn play(&mut self, now: SharedInstant, mut screen: impl FnMut(&mut View)) {
        let tick = fairpath_games::tanks::TICK_RATE.begin(1);
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

    /// Tells a session where everything of this crew is.
    pub(crate) fn tell(&mut self, session: &mut impl Session, now: SharedInstant) -> Result<(), ObjectError> {
        let mut gone = std::mem::take(&mut self.told);
        for thing in self.game.tanks().moving() {
            let state = self.back_to(now, thing.kind, &thing.state);
            let known = gone.remove(&thing.id);
            let is_same = known.filter(|told| thing.kind == MovingKind::Tank || told.life == thing.life);
            if let (Some(told), None) = (known, is_same) {
                session.destroy(told.object)?;
            }
            let object = match is_same {
                Some(told) => told.object,
                None => self.create(session, thing.kind, thing.id)?,
            };
            let has_jumped = is_same.is_none_or(|told| told.life != thing.life || !told.is_alive);
            let observed = if has_jumped { Observation::Jumped(state) } else { Observation::Moved(state) };
            session.observe(object, observed)?;
            if thing.kind == MovingKind::Tank {
                session.set_state(object, ALIVE, &[1])?;
            }
            self.told.insert(thing.id, Told { object, life: thing.life, is_alive: true });
        }
        // Wrecks stay, and are not driven; what else is gone is gone.
        for (id, told) in gone {
            if self.game.tanks().tank(id).is_some() {
                session.set_state(told.object, ALIVE, &[0])?;
                self.told.insert(id, Told { is_alive: false, ..told });
            } else {
                session.destroy(told.object)?;
            }
        }
        Ok(())
    }

    /// The session is another one: it knows nothing.
    pub(crate) fn forget_told(&mut self) {
        self.told.clear();
    }

    /// The tanks on the field that a session knows: what it calls them, which life it is, and where they are.
    pub(crate) fn truths(
        &self,
        now: SharedInstant,
    ) -> impl Iterator<Item = (EntityId, u16, State<Vec2>)> + '_ {
        self.game.tanks().moving().filter(|thing| thing.kind == MovingKind::Tank).filter_map(move |thing| {
            let told = self.told.get(&thing.id)?;
            Some((told.object, thing.life, self.back_to(now, thing.kind, &thing.state)))
        })
    }

    fn create(
        &self,
        session: &mut impl Session,
        kind: MovingKind,
        id: EntityId,
    ) -> Result<EntityId, ObjectError> {
        let tanks = self.game.tanks();
        match kind {
            MovingKind::Tank => {
                let team = tanks.tank(id).map_or(Team::Red, fairpath_games::tanks::Tank::team);
                session.create(TANK, &[team as u8])
            }
            MovingKind::Shot => {
                let team =
                    tanks.shots().iter().find(|shot| shot.id() == id).map_or(Team::Red, |shot| shot.team());
                session.create(SHOT, &[team as u8])
            }
        }
    }

    fn time_of_last_tick(&self) -> SharedInstant {
        self.began.unwrap_or(SharedInstant::ZERO) + self.game.tanks().now().since_zero()
    }

    /// Where something was `now`, that will be in this state at the end of the tick.
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

/// Puts what a client sees into the view of its driver.
pub(crate) fn show(view: &mut View, session: &mut Client<Vec2>, now: LocalInstant) {
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

/// A server or a client, at some instant.
pub(crate) struct At<'a, S, T>(pub(crate) &'a mut S, pub(crate) T);

impl Session for At<'_, Server<Vec2>, SharedInstant> {
    fn create(&mut self, class: ClassId, creation: &[u8]) -> Result<EntityId, ObjectError> {
        self.0.create(class, creation, self.1)
    }

    fn destroy(&mut self, object: EntityId) -> Result<(), ObjectError> {
        self.0.destroy(object)
    }

    fn observe(&mut self, object: EntityId, observation: Observation<Vec2>) -> Result<(), ObjectError> {
        self.0.observe(object, observation, self.1)
    }

    fn set_state(&mut self, object: EntityId, group: u8, bytes: &[u8]) -> Result<(), ObjectError> {
        self.0.set_state(object, group, bytes)
    }
}

impl Session for At<'_, Client<Vec2>, LocalInstant> {
    fn create(&mut self, class: ClassId, creation: &[u8]) -> Result<EntityId, ObjectError> {
        self.0.create(class, creation, self.1)
    }

    fn destroy(&mut self, object: EntityId) -> Result<(), ObjectError> {
        self.0.destroy(object)
    }

    fn observe(&mut self, object: EntityId, observation: Observation<Vec2>) -> Result<(), ObjectError> {
        self.0.observe(object, observation, self.1)
    }

    fn set_state(&mut self, object: EntityId, group: u8, bytes: &[u8]) -> Result<(), ObjectError> {
        self.0.set_state(object, group, bytes)
    }
}
