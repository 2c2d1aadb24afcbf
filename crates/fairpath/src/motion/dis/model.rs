/// One of the nine models, with a choice of reading for the ambiguous ones.
///
/// Existing programs disagree about models 6, 8 and 9. The default readings are those that most
/// programs share. The other readings exist because a simulation must first agree with its peers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Model {
    /// 1: does not move.
    Static,
    /// 2: keeps its velocity in world axes and its orientation.
    Fpw,
    /// 3: keeps its velocity in world axes; the body turns.
    Rpw,
    /// 4: keeps its acceleration in world axes; the body turns.
    Rvw,
    /// 5: keeps its acceleration in world axes and its orientation.
    Fvw,
    /// 6: keeps its velocity in body axes and its orientation.
    Fpb(FpbReading),
    /// 7: keeps its velocity in body axes, and the body turns: circles and screws.
    Rpb,
    /// 8: keeps its acceleration in body axes, and the body turns.
    Rvb(AccelerationReading),
    /// 9: keeps its acceleration in body axes and its orientation.
    Fvb(FvbReading),
}

/// Of which velocity the acceleration is the slope, in a model with turning body axes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AccelerationReading {
    /// Of the velocity in the world, as an accelerometer measures it, given along the body's axes
    /// at the start. The velocity's components then change by a0 − ω × v0 per second.
    #[default]
    Inertial,
    /// Of the velocity's components in body axes: they change by a0 per second.
    BodyRate,
}

/// How model 6 treats an angular velocity that the sender filled in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FpbReading {
    /// Ignores it, because the body does not turn: the path is a line.
    #[default]
    OmegaIgnored,
    /// Follows the standard's formula as printed: the path bends with ω, the orientation stays.
    Literal,
}

/// How model 9 treats an angular velocity that the sender filled in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FvbReading {
    /// Ignores it, because the body does not turn: the path is a parabola.
    #[default]
    OmegaIgnored,
    /// Follows the standard's formula as printed: the path bends with ω, the orientation stays.
    Literal(AccelerationReading),
}

impl Model {
    /// Every model in every reading, ordered by number, the default reading first.
    pub const ALL: [Self; 13] = [
        Self::Static,
        Self::Fpw,
        Self::Rpw,
        Self::Rvw,
        Self::Fvw,
        Self::Fpb(FpbReading::OmegaIgnored),
        Self::Fpb(FpbReading::Literal),
        Self::Rpb,
        Self::Rvb(AccelerationReading::Inertial),
        Self::Rvb(AccelerationReading::BodyRate),
        Self::Fvb(FvbReading::OmegaIgnored),
        Self::Fvb(FvbReading::Literal(AccelerationReading::Inertial)),
        Self::Fvb(FvbReading::Literal(AccelerationReading::BodyRate)),
    ];

    /// Returns the model with this number in the standard, 1 to 9, in its default reading.
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|model| model.number() == number)
    }

    /// Returns the model's number in the standard, 1 to 9.
    pub fn number(self) -> u8 {
        match self {
            Self::Static => 1,
            Self::Fpw => 2,
            Self::Rpw => 3,
            Self::Rvw => 4,
            Self::Fvw => 5,
            Self::Fpb(_) => 6,
            Self::Rpb => 7,
            Self::Rvb(_) => 8,
            Self::Fvb(_) => 9,
        }
    }

    /// Returns the model's name in the standard.
    pub fn name(self) -> &'static str {
        match self {
            Self::Static => "Static",
            Self::Fpw => "FPW",
            Self::Rpw => "RPW",
            Self::Rvw => "RVW",
            Self::Fvw => "FVW",
            Self::Fpb(_) => "FPB",
            Self::Rpb => "RPB",
            Self::Rvb(_) => "RVB",
            Self::Fvb(_) => "FVB",
        }
    }

    /// Returns whether velocity and acceleration are in body axes instead of world axes.
    pub fn is_body(self) -> bool {
        matches!(self, Self::Fpb(_) | Self::Rpb | Self::Rvb(_) | Self::Fvb(_))
    }

    /// Returns whether the model uses its velocity.
    pub fn moves(self) -> bool {
        self != Self::Static
    }

    /// Returns whether the model uses its acceleration: the V in the name.
    pub fn accelerates(self) -> bool {
        matches!(self, Self::Rvw | Self::Fvw | Self::Rvb(_) | Self::Fvb(_))
    }

    /// Returns whether the body turns with the angular velocity: the R in the name.
    pub fn orientation_turns(self) -> bool {
        matches!(self, Self::Rpw | Self::Rvw | Self::Rpb | Self::Rvb(_))
    }

    /// Returns whether the axes of velocity and acceleration turn with the angular velocity.
    pub fn axes_turn(self) -> bool {
        matches!(
            self,
            Self::Fpb(FpbReading::Literal) | Self::Rpb | Self::Rvb(_) | Self::Fvb(FvbReading::Literal(_))
        )
    }

    /// Returns of which velocity the acceleration is the slope. Only matters if the axes turn.
    pub fn acceleration_reading(self) -> AccelerationReading {
        match self {
            Self::Rvb(reading) | Self::Fvb(FvbReading::Literal(reading)) => reading,
            _ => AccelerationReading::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_lead_to_the_default_readings_and_back() {
        for number in 1..=9 {
            assert_eq!(Model::from_number(number).map(Model::number), Some(number));
        }
        assert_eq!(Model::from_number(6), Some(Model::Fpb(FpbReading::default())));
        assert_eq!(Model::from_number(8), Some(Model::Rvb(AccelerationReading::default())));
        assert_eq!(Model::from_number(9), Some(Model::Fvb(FvbReading::default())));
        assert_eq!(Model::from_number(0), None);
        assert_eq!(Model::from_number(10), None);
    }

    #[test]
    fn names_spell_what_a_model_does() {
        for model in &Model::ALL[1..] {
            let letters = model.name().as_bytes();
            assert_eq!(model.orientation_turns(), letters[0] == b'R', "{model:?}");
            assert_eq!(model.accelerates(), letters[1] == b'V', "{model:?}");
            assert_eq!(model.is_body(), letters[2] == b'B', "{model:?}");
        }
    }
}
