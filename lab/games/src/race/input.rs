use crate::shared::{PlayerInput, axis};

/// A driver's input for one tick, from a person or a bot.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Input {
    /// 0 off, 1 full; negative is the reverse gear.
    pub throttle: f64,
    /// 0 off, 1 full.
    pub brake: f64,
    /// −1 full right, 0 straight, 1 full left. The wheels follow at the car's steering rate.
    pub steer: f64,
}

impl Input {
    pub const IDLE: Self = Self { throttle: 0.0, brake: 0.0, steer: 0.0 };
}

impl PlayerInput for Input {
    fn limited(self) -> Self {
        Self {
            throttle: axis(self.throttle, -1.0),
            brake: axis(self.brake, 0.0),
            steer: axis(self.steer, -1.0),
        }
    }

    fn axes(self) -> [f64; 4] {
        [self.throttle, self.brake, self.steer, 0.0]
    }

    fn from_axes([throttle, brake, steer, _]: [f64; 4], _: u32) -> Self {
        Self { throttle, brake, steer }
    }
}
