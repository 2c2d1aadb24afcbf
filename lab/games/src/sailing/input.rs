use crate::shared::{PlayerInput, axis};

/// A player's input for one tick: targets that sheet and rudder follow at their own speed, not
/// movements, so the next input fully replaces a lost one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Input {
    /// The target of the sheet: 0 fully in, 1 fully out (sail square to the boat).
    pub sheet: f64,
    /// −1 full to starboard (the boat turns right), 0 straight, 1 full to port. With
    /// [`Helm::Rate`](super::Helm::Rate) the way in which the rudder turns.
    pub rudder: f64,
    /// God mode only: turns the wind, −1 clockwise to 1 anticlockwise.
    pub wind_turn: f64,
    /// God mode only: −1 calms the wind, 1 strengthens it.
    pub wind_rise: f64,
}

impl Input {
    /// Sail hauled in, rudder straight.
    pub const IDLE: Self = Self { sheet: 0.0, rudder: 0.0, wind_turn: 0.0, wind_rise: 0.0 };

    pub const fn new(sheet: f64, rudder: f64) -> Self {
        Self { sheet, rudder, ..Self::IDLE }
    }
}

impl PlayerInput for Input {
    fn limited(self) -> Self {
        Self {
            sheet: axis(self.sheet, 0.0),
            rudder: axis(self.rudder, -1.0),
            wind_turn: axis(self.wind_turn, -1.0),
            wind_rise: axis(self.wind_rise, -1.0),
        }
    }

    fn axes(self) -> [f64; 4] {
        [self.sheet, self.rudder, self.wind_turn, self.wind_rise]
    }

    fn from_axes([sheet, rudder, wind_turn, wind_rise]: [f64; 4], _: u32) -> Self {
        Self { sheet, rudder, wind_turn, wind_rise }
    }
}
