use std::f64::consts::FRAC_1_SQRT_2;
use std::ops::BitOr;

use fairpath::vector::{Vec2, Vector};

use crate::shared::PlayerInput;

/// A player's input for one tick, from a person or a bot.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Input {
    /// The keys and the mouse button held down.
    pub keys: Keys,
    /// Where the mouse cursor is, in the world.
    pub aim: Vec2,
    /// How many ticks old the other players are on this player's client. A shot is judged at those
    /// positions, as far back as [the rules](super::EtherealConfig::rewind_ticks_max) allow.
    pub seen_ticks_ago: u8,
}

impl Input {
    pub const IDLE: Self = Self { keys: Keys::NONE, aim: Vec2::ZERO, seen_ticks_ago: 0 };

    pub const fn new(keys: Keys, aim: Vec2) -> Self {
        Self { keys, aim, seen_ticks_ago: 0 }
    }
}

impl PlayerInput for Input {
    /// Keeps known keys only, and the cursor within reach on a grid of hundredths of a pixel.
    fn limited(self) -> Self {
        /// Larger than any map.
        const REACH: f64 = 1e6;
        let on_grid = |axis: f64| {
            let within = if axis.is_nan() { 0.0 } else { axis.clamp(-REACH, REACH) };
            // Adding zero turns −0 into 0: XML text stores only one of them.
            (within * 100.0).round() / 100.0 + 0.0
        };
        Self {
            keys: Keys::from_bits(self.keys.bits()),
            aim: Vec2::new(on_grid(self.aim.x), on_grid(self.aim.y)),
            seen_ticks_ago: self.seen_ticks_ago,
        }
    }

    fn axes(self) -> [f64; 4] {
        [self.aim.x, self.aim.y, self.seen_ticks_ago.into(), 0.0]
    }

    fn buttons(self) -> u32 {
        self.keys.bits().into()
    }

    fn from_axes([x, y, seen_ticks_ago, _]: [f64; 4], buttons: u32) -> Self {
        let keys = Keys::from_bits(buttons as u8);
        Self { keys, aim: Vec2::new(x, y), seen_ticks_ago: seen_ticks_ago as u8 }
    }
}

/// Keys held down, one bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Keys(u8);

impl Keys {
    pub const NONE: Self = Self(0);
    /// Towards −y, up the screen.
    pub const UP: Self = Self(1);
    /// Towards +y.
    pub const DOWN: Self = Self(2);
    /// Towards −x.
    pub const LEFT: Self = Self(4);
    /// Towards +x.
    pub const RIGHT: Self = Self(8);
    /// The mouse button: fires whenever a shot is loaded.
    pub const FIRE: Self = Self(16);

    const ALL: u8 = 31;

    /// The eight directions, in steps of 45° from +x towards +y.
    pub const WAYS: [Self; 8] =
        [Self(8), Self(8 | 2), Self(2), Self(2 | 4), Self(4), Self(4 | 1), Self(1), Self(1 | 8)];

    /// Returns the keys of these bits. Unknown bits are dropped.
    pub const fn from_bits(bits: u8) -> Self {
        Self(bits & Self::ALL)
    }

    /// Returns one bit per key: up 1, down 2, left 4, right 8, fire 16.
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// Returns whether all of `keys` are down.
    pub const fn has(self, keys: Self) -> bool {
        self.0 & keys.0 == keys.0
    }

    /// Returns the keys without [`FIRE`](Self::FIRE).
    #[must_use]
    pub const fn without_fire(self) -> Self {
        Self(self.0 & !Self::FIRE.0)
    }

    /// Returns the direction that the keys push: of unit length, or zero where they cancel out.
    pub fn direction(self) -> Vec2 {
        let axis = |minus: Self, plus: Self| f64::from(i8::from(self.has(plus)) - i8::from(self.has(minus)));
        let way = Vec2::new(axis(Self::LEFT, Self::RIGHT), axis(Self::UP, Self::DOWN));
        if way.x != 0.0 && way.y != 0.0 { way * FRAC_1_SQRT_2 } else { way }
    }
}

impl BitOr for Keys {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::FRAC_PI_4;

    #[test]
    fn the_eight_ways_go_round_in_order() {
        for (number, way) in (0..).zip(Keys::WAYS) {
            let expected = Vec2::from_heading(FRAC_PI_4 * f64::from(number));
            assert!(way.direction().distance(expected) < 1e-12, "way {number}");
        }
        assert_eq!((Keys::LEFT | Keys::RIGHT).direction(), Vec2::ZERO, "opposite keys cancel");
    }

    #[test]
    fn whatever_comes_in_is_a_mouse_and_a_keyboard() {
        let wild = Input { keys: Keys(255), aim: Vec2::new(f64::NAN, -1e300), seen_ticks_ago: 255 };
        let tame = wild.limited();
        assert_eq!(tame.keys.bits(), 31);
        assert_eq!(tame.aim, Vec2::new(0.0, -1e6));
        assert_eq!(Input::new(Keys::NONE, Vec2::new(-1827.084, 1147.516)).limited().aim.x, -1827.08);
        assert_eq!(tame.limited(), tame, "once is enough");
    }
}
