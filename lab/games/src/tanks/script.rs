//! Scripted drivers for experiments: a line, a circle, and random motion with stops.
//!
//! Scripts are meant for an [open field](super::Map::open), where they never meet a wall. On a
//! smaller field they turn round before a wall, so they never slide along it.

use fairpath::State;
use fairpath::random::Random;
use fairpath::rotation::wrap_angle;
use fairpath::time::{SharedInstant, Span};
use fairpath::vector::{Vec2, Vector};

use super::input::Input;
use super::map::Map;

/// A driver that ignores other tanks.
#[derive(Clone, Debug, PartialEq)]
pub enum Script {
    /// Straight ahead, at a throttle of −1 to 1.
    Straight { throttle: f64 },
    /// On a circle; turn −1 is right, 1 left. At full throttle and turn its radius is 31.8 units.
    Circle { throttle: f64, turn: f64 },
    /// Random speeds and turns that change at random times, with stops.
    Random(RandomScript),
}

#[derive(Clone, Debug, PartialEq)]
pub struct RandomScript {
    random: Random,
    held: Input,
    change_at: SharedInstant,
}

/// The mean time between two changes, in seconds. At 1 s, most spans of the longest delay in the
/// experiments (0.8 s) contain no change, and some contain a few.
const KEPT_SECS_MEAN: f64 = 1.0;
/// The chance that a choice is to stop.
const STOP_CHANCE: f64 = 1.0 / 6.0;
/// The chance that a choice is to reverse.
const REVERSE_CHANCE: f64 = 1.0 / 8.0;
/// The distance from a wall at which scripts turn round: a full-speed circle is 64 units wide.
const TURN_ROUND_WITHIN: f64 = 80.0;

impl Script {
    pub const STRAIGHT: Self = Self::Straight { throttle: 1.0 };
    /// The tightest circle at full speed, to the left.
    pub const CIRCLE: Self = Self::Circle { throttle: 1.0, turn: 1.0 };

    pub fn random(random: Random) -> Self {
        Self::Random(RandomScript { random, held: Input::IDLE, change_at: SharedInstant::ZERO })
    }

    /// Returns the script with another random generator. Scripts without one are unchanged.
    #[must_use]
    pub fn with_dice(self, random: Random) -> Self {
        match self {
            Self::Random(script) => Self::Random(RandomScript { random, ..script }),
            fixed => fixed,
        }
    }

    /// Returns the input at `now` for a tank in state `own` on `map`.
    pub fn drive(&mut self, map: &Map, now: SharedInstant, own: &State<Vec2>) -> Input {
        let wish = match self {
            Self::Straight { throttle } => Input::drive(*throttle, 0.0),
            Self::Circle { throttle, turn } => Input::drive(*throttle, *turn),
            Self::Random(script) => script.drive(now),
        };
        if is_leaving(map, own, wish) { turned_round(own, wish) } else { wish }
    }
}

impl RandomScript {
    fn drive(&mut self, now: SharedInstant) -> Input {
        if self.change_at <= now {
            self.held = self.choose();
            self.change_at = now + Span::from_secs_f64(KEPT_SECS_MEAN * self.random.exponential());
        }
        self.held
    }

    fn choose(&mut self) -> Input {
        let dice = self.random.unit();
        let throttle = if dice < STOP_CHANCE {
            0.0
        } else if dice < STOP_CHANCE + REVERSE_CHANCE {
            -1.0
        } else {
            // Mostly full throttle, as players drive.
            (2.0 * self.random.unit()).clamp(0.3, 1.0)
        };
        let turn = (2.0 * self.random.normal()).clamp(-1.0, 1.0);
        let is_straight = self.random.chance(1.0 / 3.0);
        Input::drive(throttle, if is_straight { 0.0 } else { turn })
    }
}

/// Returns whether the tank is near a wall and moves towards it.
fn is_leaving(map: &Map, own: &State<Vec2>, wish: Input) -> bool {
    let limit = map.half_side() - TURN_ROUND_WITHIN;
    let way = Vec2::from_heading(own.orientation) * wish.throttle;
    let leaves = |position: f64, way: f64| position.abs() > limit && position * way > 0.0;
    leaves(own.position.x, way.x) || leaves(own.position.y, way.y)
}

/// Returns the same speed with a full turn towards the centre of the field.
fn turned_round(own: &State<Vec2>, wish: Input) -> Input {
    let home = (Vec2::ZERO - own.position * wish.throttle.signum()).heading();
    let to_the_left = wrap_angle(home - own.orientation) >= 0.0;
    Input::drive(wish.throttle, if to_the_left { 1.0 } else { -1.0 })
}
