use std::f64::consts::FRAC_PI_2;

use fairpath::State;
use fairpath::motion::Linear;
use fairpath::number::EntityId;
use fairpath::random::Random;
use fairpath::time::{SharedInstant, TickRate};
use fairpath::vector::{Vec2, Vector};
use fairpath_sim::Digest;

use super::config::{
    ConfigError, FLAG_RADIUS, Ground, MUZZLE_FRONT, TANK_RADIUS, TANKS_MAX, TICK_RATE, TanksConfig,
};
use super::contact::Surroundings;
use super::flag::{Flag, FlagPlace};
use super::geometry::Rectangle;
use super::input::Input;
use super::map::{BASE_SIDE, Map};
use super::shot::{SHOT_SLOTS, Shot, ShotEnd, hits_tank};
use super::tank::{Condition, Tank, at_rest, shape_of};
use crate::shared::{Game, Moving, PlayerInput, Team, add_random};

/// The whole state of a match.
///
/// [`step`](Self::step) plays one tick. The same rules, seed and inputs give the same bits. Between
/// steps every accessor shows the world as it is at [`now`](Self::now); [`events`](Self::events)
/// lists what happened in the last tick.
#[derive(Clone, Debug, PartialEq)]
pub struct Tanks {
    config: TanksConfig,
    map: Map,
    random: Random,
    tick: u64,
    tanks: Vec<Tank>,
    shots: Vec<Shot>,
    /// The life of the last shot of each shot id, in the order of ids. `u16::MAX` before the first.
    shot_lives: Vec<u16>,
    flags: [Flag; 2],
    scores: [Score; 2],
    events: Vec<Event>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Score {
    pub captures: u32,
    pub kills: u32,
}

#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// A tank spawned.
    Spawned { tank: EntityId, life: u16 },
    /// A shot left a barrel at the beginning of the tick. Its life is the use of its id.
    Fired { tank: EntityId, shot: EntityId, life: u16 },
    /// A shot ended.
    ShotEnded { shot: EntityId, life: u16, position: Vec2, end: ShotEnd },
    /// A tank was destroyed by a shot of another one.
    Killed { tank: EntityId, by: EntityId },
    /// A tank took the other team's flag.
    FlagTaken { flag: Team, by: EntityId },
    /// A flag fell to the ground.
    FlagDropped { flag: Team, position: Vec2 },
    /// A tank touched its own flag (`None`: its time on the ground was up); it is home again.
    FlagReturned { flag: Team, by: Option<EntityId> },
    /// A tank brought the other team's flag to its own base; the flag is home again.
    Captured { flag: Team, by: EntityId },
}

impl Tanks {
    /// Returns a match at tick zero: every tank on its base, both flags at home.
    pub fn new(config: TanksConfig, seed: u64) -> Result<Self, ConfigError> {
        config.check()?;
        let seeded = Random::from_seed(seed);
        let map = match &config.ground {
            Ground::Generated { boxes } => Map::generate(*boxes, &mut seeded.fork(0)),
            Ground::Given(map) => map.clone(),
        };
        let tanks: Vec<Tank> = (0..)
            .zip(Team::of_players(config.tanks))
            .map(|(number, team)| Tank::waiting(EntityId(number), team))
            .collect();
        let flags =
            Team::BOTH.map(|team| Flag { team, place: FlagPlace::Home, position: map.base(team).centre });
        let mut game = Self {
            shot_lives: tanks.iter().flat_map(|_| [u16::MAX; SHOT_SLOTS as usize]).collect(),
            random: seeded.fork(1),
            config,
            map,
            tick: 0,
            tanks,
            shots: Vec::new(),
            flags,
            scores: [Score::default(); 2],
            events: Vec::new(),
        };
        game.line_up()?;
        Ok(game)
    }

    /// Plays one tick. `inputs` are in the order of tanks; a missing one is [`Input::IDLE`].
    pub fn step(&mut self, inputs: &[Input]) {
        let begin = self.now();
        let end = at_tick(self.tick + 1);
        self.events.clear();
        self.take(inputs);
        self.fire(begin);
        let before: Vec<State<Vec2>> = self.tanks.iter().map(Tank::state).collect();
        self.drive((end - begin).as_secs_f64());
        self.fly(begin, end, &before);
        self.tend_flags(end);
        self.respawn(end);
        self.tick += 1;
    }

    pub fn tick(&self) -> u64 {
        self.tick
    }

    /// Returns the time at the end of the last tick.
    pub fn now(&self) -> SharedInstant {
        at_tick(self.tick)
    }

    pub fn config(&self) -> &TanksConfig {
        &self.config
    }

    pub fn map(&self) -> &Map {
        &self.map
    }

    /// Returns all tanks, wrecks included, by id: tank n is [`EntityId`]`(n)`, red first.
    pub fn tanks(&self) -> &[Tank] {
        &self.tanks
    }

    pub fn tank(&self, id: EntityId) -> Option<&Tank> {
        self.tanks.get(id.0 as usize)
    }

    /// Returns all shots in the air, in the order they were fired.
    pub fn shots(&self) -> &[Shot] {
        &self.shots
    }

    pub fn flag(&self, team: Team) -> &Flag {
        &self.flags[team.index()]
    }

    pub fn score(&self, team: Team) -> Score {
        self.scores[team.index()]
    }

    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// Returns every moving entity and its kind: living tanks, then shots.
    pub fn moving(&self) -> impl Iterator<Item = (MovingKind, Moving)> {
        let tanks = self.tanks.iter().filter(|tank| tank.is_alive()).map(|tank| Moving {
            id: tank.id,
            life: tank.life,
            has_jumped: tank.condition == Condition::Spawned,
            state: tank.state,
        });
        let shots = self.shots.iter().map(|shot| Moving {
            id: shot.id,
            life: shot.life,
            has_jumped: shot.is_new,
            state: shot.state,
        });
        tanks.map(|tank| (MovingKind::Tank, tank)).chain(shots.map(|shot| (MovingKind::Shot, shot)))
    }

    /// Returns a digest of the whole state: equal after equal runs, on every platform.
    pub fn digest(&self) -> u64 {
        let mut digest = Digest::new();
        digest.u64(self.tick);
        add_random(&self.random, &mut digest);
        digest.u64(self.tanks.len() as u64);
        self.tanks.iter().for_each(|tank| tank.add_to(&mut digest));
        digest.u64(self.shots.len() as u64);
        self.shots.iter().for_each(|shot| shot.add_to(&mut digest));
        for life in &self.shot_lives {
            digest.u16(*life);
        }
        self.flags.iter().for_each(|flag| flag.add_to(&mut digest));
        for score in self.scores {
            digest.u32(score.captures).u32(score.kills);
        }
        digest.value()
    }

    fn line_up(&mut self) -> Result<(), ConfigError> {
        /// Attempts per tank. A base has room for some sixty, and each covers a small part.
        const TRIES_MAX: u32 = 4_096;
        for number in 0..self.tanks.len() {
            let has_room = (0..TRIES_MAX).any(|_| {
                let spot = self.spot_on_base(self.tanks[number].team);
                self.put(number, spot)
            });
            if !has_room {
                return Err(ConfigError::NoRoom);
            }
        }
        Ok(())
    }

    fn take(&mut self, inputs: &[Input]) {
        for (number, tank) in self.tanks.iter_mut().enumerate() {
            tank.input = inputs.get(number).copied().unwrap_or_default().limited();
        }
    }

    fn fire(&mut self, now: SharedInstant) {
        for tank in &mut self.tanks {
            if !(tank.is_alive() && tank.input.fire && tank.reloaded_at <= now) {
                continue;
            }
            let names = (0..SHOT_SLOTS).map(|slot| Shot::id_of(tank.id, slot));
            let Some(id) = { names }.find(|name| self.shots.iter().all(|shot| shot.id != *name)) else {
                continue;
            };
            tank.reloaded_at = now + self.config.reload;
            let life = &mut self.shot_lives[(id.0 - Shot::id_of(EntityId(0), 0).0) as usize];
            *life = life.wrapping_add(1);
            let ahead = Vec2::from_heading(tank.state.orientation);
            // A shot must not start inside a box that the barrel reaches into, but at its side.
            let barrel = ahead * MUZZLE_FRONT;
            let muzzle = self.map.first_hit(tank.state.position, tank.state.position + barrel);
            let position = tank.state.position + barrel * muzzle.map_or(1.0, |(share, _)| share);
            let velocity = ahead * self.config.shot_speed;
            self.shots.push(Shot {
                id,
                life: *life,
                shooter: tank.id,
                team: tank.team,
                motion: Linear { position, velocity },
                fired_at: now,
                ends_at: now + self.config.shot_life(),
                state: State::moving(position, velocity),
                is_new: true,
            });
            self.events.push(Event::Fired { tank: tank.id, shot: id, life: *life });
        }
    }

    /// Moves the tanks one by one, each against the others' current positions, so none overlap.
    fn drive(&mut self, secs: f64) {
        let mut others = Vec::with_capacity(self.tanks.len());
        for number in 0..self.tanks.len() {
            if !self.tanks[number].is_alive() {
                continue;
            }
            others.clear();
            others.extend(self.shapes_but(number));
            let surroundings = Surroundings::new(&self.map, &others);
            self.tanks[number].drive(&self.config, &surroundings, secs);
        }
    }

    /// Returns the rectangles of the other living tanks that are near enough to matter in one tick.
    fn shapes_but(&self, number: usize) -> impl Iterator<Item = Rectangle> {
        let position = self.tanks[number].state.position;
        let others = self.tanks.iter().enumerate().filter(move |(other, _)| *other != number);
        others
            .filter(move |(_, tank)| {
                tank.is_alive() && tank.state.position.distance(position) < 4.0 * TANK_RADIUS
            })
            .map(|(_, tank)| tank.shape())
    }

    fn fly(&mut self, begin: SharedInstant, end: SharedInstant, before: &[State<Vec2>]) {
        let mut shots = std::mem::take(&mut self.shots);
        shots.retain_mut(|shot| match self.first_on_its_way(shot, begin, end, before) {
            None => {
                shot.is_new = shot.fired_at == begin;
                shot.state.position = shot.position_at(end);
                true
            }
            Some((position, what)) => {
                let (id, life) = (shot.id, shot.life);
                self.events.push(Event::ShotEnded { shot: id, life, position, end: what });
                if let ShotEnd::Tank(victim) = what {
                    self.destroy(victim, shot, end);
                }
                false
            }
        });
        self.shots = shots;
    }

    /// Returns where and why a shot ends in this tick, if it does.
    fn first_on_its_way(
        &self,
        shot: &Shot,
        begin: SharedInstant,
        end: SharedInstant,
        before: &[State<Vec2>],
    ) -> Option<(Vec2, ShotEnd)> {
        let stop = end.min(shot.ends_at);
        let (from, to) = (shot.position_at(begin), shot.position_at(stop));
        let barrier = self.map.first_hit(from, to).map(|(share, what)| (share, ShotEnd::Barrier(what)));
        let targets = self.tanks.iter().zip(before).filter(|(tank, _)| {
            let is_fair = tank.team != shot.team || self.config.friendly_fire;
            tank.is_alive() && is_fair && tank.id != shot.shooter
        });
        let tanks = targets.filter_map(|(tank, before)| {
            hits_tank(from, to, before, &tank.state).map(|share| (share, ShotEnd::Tank(tank.id)))
        });
        let spent = (shot.ends_at <= end).then_some((1.0, ShotEnd::Spent));
        let first =
            barrier.into_iter().chain(tanks).chain(spent).min_by(|one, other| one.0.total_cmp(&other.0));
        first.map(|(share, what)| (from + (to - from) * share, what))
    }

    fn destroy(&mut self, victim: EntityId, shot: &Shot, now: SharedInstant) {
        let tank = &mut self.tanks[victim.0 as usize];
        tank.state = at_rest(tank.state.position, tank.state.orientation);
        tank.speed = 0.0;
        tank.condition = Condition::Wrecked { until: now + self.config.respawn_after };
        tank.deaths = tank.deaths.saturating_add(1);
        let is_foe = tank.team != shot.team;
        let position = tank.state.position;
        self.events.push(Event::Killed { tank: victim, by: shot.shooter });
        if is_foe {
            let shooter = &mut self.tanks[shot.shooter.0 as usize];
            shooter.kills = shooter.kills.saturating_add(1);
            let score = &mut self.scores[shot.team.index()];
            score.kills = score.kills.saturating_add(1);
        }
        let until = now + self.config.flag_return_after;
        for flag in &mut self.flags {
            if flag.place == FlagPlace::Carried(victim) {
                flag.place = FlagPlace::Dropped { until };
                flag.position = position;
                self.events.push(Event::FlagDropped { flag: flag.team, position });
            }
        }
    }

    fn tend_flags(&mut self, now: SharedInstant) {
        for team in Team::BOTH {
            match self.flags[team.index()].place {
                FlagPlace::Home => self.let_foe_take(team),
                FlagPlace::Carried(carrier) => self.carry(team, carrier),
                FlagPlace::Dropped { until } => {
                    if let Some(friend) = self.first_touching(team, team) {
                        self.send_home(team, Some(friend));
                    } else if until <= now {
                        self.send_home(team, None);
                    } else {
                        self.let_foe_take(team);
                    }
                }
            }
        }
    }

    fn let_foe_take(&mut self, flag: Team) {
        if let Some(by) = self.first_touching(flag, flag.other()) {
            self.flags[flag.index()].place = FlagPlace::Carried(by);
            self.flags[flag.index()].position = self.tanks[by.0 as usize].state.position;
            self.events.push(Event::FlagTaken { flag, by });
        }
    }

    fn carry(&mut self, flag: Team, by: EntityId) {
        let carrier = &self.tanks[by.0 as usize];
        let (team, position) = (carrier.team, carrier.state.position);
        self.flags[flag.index()].position = position;
        if self.map.base(team).contains(position) {
            let score = &mut self.scores[team.index()];
            score.captures = score.captures.saturating_add(1);
            self.put_flag_home(flag);
            self.events.push(Event::Captured { flag, by });
        }
    }

    /// Returns the first living tank of `team` that touches `flag`.
    fn first_touching(&self, flag: Team, team: Team) -> Option<EntityId> {
        let position = self.flags[flag.index()].position;
        let touches = |tank: &&Tank| {
            let near = tank.state.position.distance(position) < TANK_RADIUS + FLAG_RADIUS;
            tank.is_alive() && tank.team == team && near
        };
        self.tanks.iter().find(touches).map(|tank| tank.id)
    }

    fn send_home(&mut self, flag: Team, by: Option<EntityId>) {
        self.put_flag_home(flag);
        self.events.push(Event::FlagReturned { flag, by });
    }

    fn put_flag_home(&mut self, flag: Team) {
        let home = self.map.base(flag).centre;
        self.flags[flag.index()] = Flag { team: flag, place: FlagPlace::Home, position: home };
    }

    fn respawn(&mut self, now: SharedInstant) {
        /// Attempts per tank and tick. A tank that finds no room tries again in the next tick.
        const TRIES_MAX: u32 = 8;
        for number in 0..self.tanks.len() {
            let Condition::Wrecked { until } = self.tanks[number].condition else { continue };
            if until > now {
                continue;
            }
            let is_back = (0..TRIES_MAX).any(|_| {
                let spot = self.spot_in_own_half(self.tanks[number].team);
                self.is_safe(number, spot.position) && self.put(number, spot)
            });
            if is_back {
                let tank = &mut self.tanks[number];
                tank.life = tank.life.wrapping_add(1);
                tank.reloaded_at = now;
                self.events.push(Event::Spawned { tank: tank.id, life: tank.life });
            }
        }
    }

    /// Places a tank if there is room. Returns whether there was.
    fn put(&mut self, number: usize, spot: State<Vec2>) -> bool {
        let others: Vec<Rectangle> =
            self.tanks.iter().filter(|tank| tank.is_alive()).map(Tank::shape).collect();
        let is_clear = Surroundings::new(&self.map, &others).is_clear(&shape_of(&spot).inflated(ELBOW_ROOM));
        if is_clear {
            let tank = &mut self.tanks[number];
            tank.state = spot;
            tank.speed = 0.0;
            tank.condition = Condition::Spawned;
        }
        is_clear
    }

    fn spot_on_base(&mut self, team: Team) -> State<Vec2> {
        let reach = 0.5 * BASE_SIDE - TANK_RADIUS;
        let offset = Vec2::new(self.random.between(-reach, reach), self.random.between(-reach, reach));
        self.facing_the_foe(team, self.map.base(team).centre + offset)
    }

    /// Draws a place nearer to the own base than to the other one, and at most as far from the own
    /// base as the other base is. On a very large field that keeps the tanks together.
    fn spot_in_own_half(&mut self, team: Team) -> State<Vec2> {
        let (own, other) = (self.map.base(team).centre, self.map.base(team.other()).centre);
        let reach = own.distance(other).min(self.map.half_side());
        let offset = Vec2::new(self.random.between(-reach, reach), self.random.between(-reach, reach));
        let spot = own + offset;
        let is_own = spot.distance(own) <= spot.distance(other);
        self.facing_the_foe(team, if is_own { spot } else { own - offset })
    }

    fn facing_the_foe(&mut self, team: Team, position: Vec2) -> State<Vec2> {
        let (own, other) = (self.map.base(team).centre, self.map.base(team.other()).centre);
        let aside = self.random.between(-FRAC_PI_2, FRAC_PI_2);
        let heading = (other - own).heading() + aside;
        at_rest(position, heading)
    }

    /// Returns whether no living foe is within [`SAFE_DISTANCE`].
    fn is_safe(&self, number: usize, position: Vec2) -> bool {
        let team = self.tanks[number].team;
        let mut foes = self.tanks.iter().filter(|tank| tank.is_alive() && tank.team != team);
        foes.all(|foe| foe.state.position.distance(position) > SAFE_DISTANCE)
    }
}

/// Free space around a tank that spawns, so that it can turn at once.
const ELBOW_ROOM: f64 = 1.5;
/// The least distance from a foe at which a tank respawns: a shot takes half a second for it.
const SAFE_DISTANCE: f64 = 50.0;

impl Game for Tanks {
    type Config = TanksConfig;
    type Input = Input;
    type ConfigError = ConfigError;

    const NAME: &'static str = "tanks";
    const TICK_RATE: TickRate = TICK_RATE;

    fn begin(config: &TanksConfig, seed: u64) -> Result<Self, ConfigError> {
        Self::new(config.clone(), seed)
    }

    fn seats(config: &TanksConfig) -> u32 {
        config.tanks[0].saturating_add(config.tanks[1]).min(TANKS_MAX)
    }

    fn advance(&mut self, inputs: &[Input]) {
        self.step(inputs);
    }

    fn tick(&self) -> u64 {
        self.tick
    }

    fn moving(&self) -> impl Iterator<Item = Moving> {
        self.moving().map(|(_, moving)| moving)
    }

    fn corners(&self) -> (Vec2, Vec2) {
        let corner = Vec2::new(self.map.half_side(), self.map.half_side());
        (-corner, corner)
    }

    fn title(config: &TanksConfig) -> String {
        let [red, blue] = config.tanks;
        match config.ground {
            Ground::Generated { boxes } => format!("tanks: {red} against {blue} on up to {boxes} boxes"),
            Ground::Given(_) => format!("tanks: {red} against {blue} on a given map"),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MovingKind {
    /// A tank: circular motion predicts it best.
    Tank,
    /// A shot: it moves in a straight line.
    Shot,
}

fn at_tick(tick: u64) -> SharedInstant {
    SharedInstant::ZERO + TICK_RATE.begin(tick.cast_signed())
}
