//! One tank: what it is, and how it moves within a tick.

use fairpath::motion::{Circular, Motion};
use fairpath::number::EntityId;
use fairpath::time::SharedInstant;
use fairpath::vector::Vec2;
use fairpath::{Observation, State};
use fairpath_sim::Digest;

use super::config::{TANK_LENGTH, TANK_WIDTH, TanksConfig};
use super::contact::Surroundings;
use super::geometry::Rectangle;
use super::input::Input;
use crate::shared::{Team, add_state};

#[derive(Clone, Debug, PartialEq)]
pub struct Tank {
    pub(super) id: EntityId,
    pub(super) team: Team,
    pub(super) life: u16,
    pub(super) state: State<Vec2>,
    pub(super) input: Input,
    /// Speed along the heading after the last tick, to which acceleration limits apply.
    pub(super) speed: f64,
    pub(super) condition: Condition,
    pub(super) reloaded_at: SharedInstant,
    pub(super) kills: u32,
    pub(super) deaths: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// The game placed it in the tick that just ended: a new life begins.
    Spawned,
    /// It drives.
    Driving,
    /// It is destroyed, does not collide, and respawns at that instant or soon after.
    Wrecked { until: SharedInstant },
}

impl Tank {
    /// Returns a wreck that is due to be put on the field.
    pub(super) fn waiting(id: EntityId, team: Team) -> Self {
        Self {
            id,
            team,
            life: 0,
            state: State::default(),
            input: Input::IDLE,
            speed: 0.0,
            condition: Condition::Wrecked { until: SharedInstant::ZERO },
            reloaded_at: SharedInstant::ZERO,
            kills: 0,
            deaths: 0,
        }
    }

    /// Returns its entity id; tanks are numbered from zero.
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

    /// Returns position and motion at the end of the last tick. A wreck stays where it was hit.
    ///
    /// Velocity, turn rate and acceleration follow from the last input. While the tank drives
    /// freely they are its circular motion, and as long as the input does not change, a circular DR
    /// vector of this state follows the tank exactly. A sliding tank has the velocity of the slide.
    pub fn state(&self) -> State<Vec2> {
        self.state
    }

    /// Returns the state as an observation for its owner's session; `None` for a wreck.
    pub fn observation(&self) -> Option<Observation<Vec2>> {
        match self.condition {
            Condition::Spawned => Some(Observation::Jumped(self.state)),
            Condition::Driving => Some(Observation::Moved(self.state)),
            Condition::Wrecked { .. } => None,
        }
    }

    pub fn condition(&self) -> Condition {
        self.condition
    }

    /// Returns whether it is on the field.
    pub fn is_alive(&self) -> bool {
        !matches!(self.condition, Condition::Wrecked { .. })
    }

    /// Returns its driver's input in the last tick.
    pub fn input(&self) -> Input {
        self.input
    }

    pub fn reloaded_at(&self) -> SharedInstant {
        self.reloaded_at
    }

    pub fn kills(&self) -> u32 {
        self.kills
    }

    pub fn deaths(&self) -> u32 {
        self.deaths
    }

    pub fn shape(&self) -> Rectangle {
        shape_of(&self.state)
    }

    /// Moves the tank for one tick: as its input asks, as far as its surroundings allow.
    pub(super) fn drive(&mut self, config: &TanksConfig, surroundings: &Surroundings<'_>, secs: f64) {
        let wished = self.wished_motion(config, secs);
        self.state = surroundings.allow(&self.state, &wished, config.speed_max, secs);
        self.speed = self.state.signed_speed();
        self.condition = Condition::Driving;
    }

    /// Returns the circular motion that the input asks for, within speed and acceleration limits.
    fn wished_motion(&self, config: &TanksConfig, secs: f64) -> Circular<Vec2> {
        let speed_max = if self.input.throttle < 0.0 { config.reverse_speed_max } else { config.speed_max };
        let speed = self.input.throttle * speed_max;
        let turn_rate = self.input.turn * config.turn_rate_max;
        Circular {
            position: self.state.position,
            heading: self.state.orientation,
            speed: towards(self.speed, speed, config.acceleration_max * secs),
            turn_rate: towards(self.state.spin, turn_rate, config.turn_acceleration_max * secs),
            climb_rate: 0.0,
            climb_acceleration: 0.0,
        }
    }

    pub(super) fn add_to(&self, digest: &mut Digest) {
        digest.u32(self.id.0).u8(self.team as u8).u16(self.life);
        add_state(&self.state, digest);
        digest.f64(self.speed).f64(self.input.throttle).f64(self.input.turn).bool(self.input.fire);
        match self.condition {
            Condition::Spawned => digest.u8(0),
            Condition::Driving => digest.u8(1),
            Condition::Wrecked { until } => digest.u8(2).i64(until.as_micros()),
        };
        digest.i64(self.reloaded_at.as_micros()).u32(self.kills).u32(self.deaths);
    }
}

/// Returns the rectangle of a tank in `state`.
pub(super) fn shape_of(state: &State<Vec2>) -> Rectangle {
    Rectangle::new(state.position, state.orientation, TANK_LENGTH, TANK_WIDTH)
}

/// Returns the state after `secs` of `motion`.
pub(super) fn led_by(motion: &Circular<Vec2>, secs: f64) -> State<Vec2> {
    Motion::Circular(*motion).state_at(secs)
}

pub(super) fn at_rest(position: Vec2, heading: f64) -> State<Vec2> {
    State { position, ..State::default() }.with_heading(heading, 0.0)
}

/// Moves `from` towards `wish` by at most `change_max`.
fn towards(from: f64, wish: f64, change_max: f64) -> f64 {
    // An infinite limit must give the wish itself, not the wish as rounded by a sum.
    if (wish - from).abs() <= change_max { wish } else { from + change_max * (wish - from).signum() }
}
