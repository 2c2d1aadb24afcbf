use crate::shared::{PlayerInput, axis};

/// A driver's input for one tick, from a person, a bot or a script.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Input {
    /// −1 full reverse, 0 stop, 1 full ahead.
    pub throttle: f64,
    /// −1 full right (clockwise), 0 straight, 1 full left.
    pub turn: f64,
    /// Whether to fire as soon as a shot is loaded.
    pub fire: bool,
}

/// The bit of [`InputRow::buttons`](fairpath_sim::trace::InputRow::buttons) that fires.
pub const FIRE_BUTTON: u32 = 1;

impl Input {
    pub const IDLE: Self = Self { throttle: 0.0, turn: 0.0, fire: false };

    /// Drives without firing.
    pub const fn drive(throttle: f64, turn: f64) -> Self {
        Self { throttle, turn, fire: false }
    }

    #[must_use]
    pub const fn firing(self, fire: bool) -> Self {
        Self { fire, ..self }
    }
}

impl PlayerInput for Input {
    fn limited(self) -> Self {
        Self { throttle: axis(self.throttle, -1.0), turn: axis(self.turn, -1.0), fire: self.fire }
    }

    fn axes(self) -> [f64; 4] {
        [self.throttle, self.turn, 0.0, 0.0]
    }

    fn buttons(self) -> u32 {
        if self.fire { FIRE_BUTTON } else { 0 }
    }

    fn from_axes([throttle, turn, ..]: [f64; 4], buttons: u32) -> Self {
        Self { throttle, turn, fire: buttons & FIRE_BUTTON != 0 }
    }
}
