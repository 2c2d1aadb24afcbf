use fairpath::number::EntityId;
use fairpath::vector::{Vec2, Vector};
use fairpath::{Observation, State};
use fairpath_sim::Digest;

use super::config::{ACCELERATION, EtherealConfig, TICK_RATE, TOP_SPEED};
use super::input::{Input, Keys};
use super::map::Map;
use crate::shared::{Team, add_vector};

/// Half the width of a player: Shi 2014's players are about 60 pixels wide. Against walls a player
/// is a square of that width, against shots a disc.
pub const PLAYER_RADIUS: f64 = 30.0;

/// The moving part of a player: enough to step it from keys and walls.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Body {
    pub position: Vec2,
    /// Its velocity, in pixels per second; at most [`TOP_SPEED`].
    pub velocity: Vec2,
}

impl Body {
    /// Returns a body at rest.
    pub const fn at(position: Vec2) -> Self {
        Self { position, velocity: Vec2::ZERO }
    }

    /// Returns the body after one tick under these keys: the velocity follows them with
    /// [`ACCELERATION`], then the body moves and slides along walls.
    #[must_use]
    pub fn step(self, keys: Keys, map: &Map) -> Self {
        self.step_towards(keys.direction(), map)
    }

    /// Returns the body after one tick under a push in any direction, of at most unit length.
    /// Predictors use it for directions between the eight of the keys.
    #[must_use]
    pub fn step_towards(self, push: Vec2, map: &Map) -> Self {
        let secs = TICK_RATE.step_secs();
        let wish = push * TOP_SPEED;
        let change = (wish - self.velocity).clamp_length(ACCELERATION * secs);
        let velocity = (self.velocity + change).clamp_length(TOP_SPEED);
        let (position, has_hit) = map.slide(self.position, velocity * secs);
        let stopped = |speed: f64, has_hit: bool| if has_hit { 0.0 } else { speed };
        Self {
            position,
            velocity: Vec2::new(stopped(velocity.x, has_hit[0]), stopped(velocity.y, has_hit[1])),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Player {
    pub(super) id: EntityId,
    pub(super) team: Team,
    pub(super) life: u16,
    pub(super) condition: Condition,
    pub(super) body: Body,
    pub(super) acceleration: Vec2,
    pub(super) input: Input,
    pub(super) health: u32,
    pub(super) ammo: u32,
    pub(super) reloaded_at: u64,
    pub(super) pressed: Option<PendingShot>,
    pub(super) kills: u32,
    pub(super) deaths: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// It spawned in the tick that just ended.
    Spawned,
    /// It is alive.
    Playing,
    /// It is dead and respawns at that tick.
    Dead { until: u64 },
}

/// A shot between the trigger and the muzzle (local lag).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct PendingShot {
    pub(super) leaves_at: u64,
    pub(super) aim: Vec2,
    pub(super) rewind_ticks: u32,
}

impl Player {
    /// Returns a player that spawns in the next tick.
    pub(super) fn waiting(id: EntityId, team: Team) -> Self {
        Self {
            id,
            team,
            life: u16::MAX,
            condition: Condition::Dead { until: 0 },
            body: Body::default(),
            acceleration: Vec2::ZERO,
            input: Input::IDLE,
            health: 0,
            ammo: 0,
            reloaded_at: 0,
            pressed: None,
            kills: 0,
            deaths: 0,
        }
    }

    /// Returns its entity id; players are numbered from zero, red first.
    pub fn id(&self) -> EntityId {
        self.id
    }

    pub fn team(&self) -> Team {
        self.team
    }

    /// Returns which of its lives this is, counted from zero. It increases at every respawn.
    pub fn life(&self) -> u16 {
        self.life
    }

    pub fn is_alive(&self) -> bool {
        !matches!(self.condition, Condition::Dead { .. })
    }

    pub fn condition(&self) -> Condition {
        self.condition
    }

    /// Returns position and velocity. A dead player stays where it died.
    pub fn body(&self) -> Body {
        self.body
    }

    /// Returns the state with the acceleration of the last tick, oriented towards the aim.
    pub fn state(&self) -> State<Vec2> {
        State {
            position: self.body.position,
            velocity: self.body.velocity,
            acceleration: self.acceleration,
            orientation: (self.input.aim - self.body.position).heading(),
            spin: 0.0,
        }
    }

    /// Returns the state as an observation for its owner's session; `None` while it is dead.
    pub fn observation(&self) -> Option<Observation<Vec2>> {
        match self.condition {
            Condition::Spawned => Some(Observation::Jumped(self.state())),
            Condition::Playing => Some(Observation::Moved(self.state())),
            Condition::Dead { .. } => None,
        }
    }

    pub fn input(&self) -> Input {
        self.input
    }

    pub fn health(&self) -> u32 {
        self.health
    }

    pub fn ammo(&self) -> u32 {
        self.ammo
    }

    /// Returns the first tick at which it can fire again.
    pub fn reloaded_at(&self) -> u64 {
        self.reloaded_at
    }

    pub fn kills(&self) -> u32 {
        self.kills
    }

    pub fn deaths(&self) -> u32 {
        self.deaths
    }

    pub(super) fn is_born_at(&mut self, position: Vec2, config: &EtherealConfig) {
        self.life = self.life.wrapping_add(1);
        self.condition = Condition::Spawned;
        self.body = Body::at(position);
        self.acceleration = Vec2::ZERO;
        self.health = config.health_max;
        self.ammo = config.ammo_max;
        self.pressed = None;
    }

    pub(super) fn moves(&mut self, map: &Map) {
        let before = self.body.velocity;
        self.condition = Condition::Playing;
        self.body = self.body.step(self.input.keys, map);
        self.acceleration = (self.body.velocity - before) * (1.0 / TICK_RATE.step_secs());
    }

    pub(super) fn dies(&mut self, until: u64) {
        self.condition = Condition::Dead { until };
        self.body.velocity = Vec2::ZERO;
        self.acceleration = Vec2::ZERO;
        self.health = 0;
        self.pressed = None;
        self.deaths = self.deaths.saturating_add(1);
    }

    pub(super) fn add_to(&self, digest: &mut Digest) {
        let (condition, until) = match self.condition {
            Condition::Spawned => (0, 0),
            Condition::Playing => (1, 0),
            Condition::Dead { until } => (2, until),
        };
        digest.u16(self.life).u8(condition).u64(until);
        for vector in [self.body.position, self.body.velocity, self.acceleration, self.input.aim] {
            add_vector(vector, digest);
        }
        digest.u8(self.input.keys.bits()).u8(self.input.seen_ticks_ago);
        digest.u32(self.health).u32(self.ammo).u64(self.reloaded_at).u32(self.kills).u32(self.deaths);
        digest.bool(self.pressed.is_some());
        if let Some(pressed) = self.pressed {
            digest.u64(pressed.leaves_at).f64(pressed.aim.x).f64(pressed.aim.y).u32(pressed.rewind_ticks);
        }
    }
}
