use fairpath::vector::Vec2;

use crate::shared::{PlayerInput, axis};

/// A player's input for one tick, from a person or a bot.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Input {
    /// −1 full thrust to the left, 1 to the right.
    pub right: f64,
    /// −1 full thrust ahead (up the screen), 1 back.
    pub down: f64,
}

impl Input {
    pub const IDLE: Self = Self { right: 0.0, down: 0.0 };

    pub const fn new(right: f64, down: f64) -> Self {
        Self { right, down }
    }

    pub(super) fn stick(self) -> Vec2 {
        Vec2::new(self.right, self.down)
    }
}

impl PlayerInput for Input {
    fn limited(self) -> Self {
        Self { right: axis(self.right, -1.0), down: axis(self.down, -1.0) }
    }

    fn axes(self) -> [f64; 4] {
        [self.right, self.down, 0.0, 0.0]
    }

    fn from_axes([right, down, ..]: [f64; 4], _: u32) -> Self {
        Self { right, down }
    }
}
