//! What kinds of drivers there are.

/// What kind of driver a bot is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Style {
    /// Drives the whole width, brakes in good time, hardly errs.
    Smooth,
    /// Brakes at the last moment, turns in late, and now and then too late.
    Late,
    /// Keeps to the middle and well inside every limit.
    Careful,
    /// Has keys instead of a steering wheel, dives for the inside early, gets ragged.
    Hasty,
}

impl Style {
    /// All of them, in the order in which seats are filled.
    pub const ALL: [Self; 4] = [Self::Smooth, Self::Late, Self::Careful, Self::Hasty];

    /// Returns what it is called.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Smooth => "smooth",
            Self::Late => "late",
            Self::Careful => "careful",
            Self::Hasty => "hasty",
        }
    }

    /// Returns the numbers behind the name. Chosen for variety around what people do (a look every
    /// tenth of a second or so, four fifths of the grip by feel), not fitted to anything.
    pub(super) fn character(self) -> Character {
        match self {
            Self::Smooth => Character {
                commitment: 1.0,
                apex_shift: 0.0,
                wall_room: 0.9,
                corner_share: 0.90,
                brake_share: 0.75,
                has_wheel: true,
                look_secs: 0.07,
                sight_secs: 0.34,
                wander: 0.25,
                wander_secs: 2.5,
                pace_wander: 0.012,
                mistake_secs: 150.0,
            },
            Self::Late => Character {
                commitment: 0.95,
                apex_shift: 7.0,
                wall_room: 0.7,
                corner_share: 0.95,
                brake_share: 0.92,
                has_wheel: true,
                look_secs: 0.08,
                sight_secs: 0.30,
                wander: 0.45,
                wander_secs: 1.8,
                pace_wander: 0.022,
                mistake_secs: 50.0,
            },
            Self::Careful => Character {
                commitment: 0.35,
                apex_shift: 0.0,
                wall_room: 1.6,
                corner_share: 0.70,
                brake_share: 0.50,
                has_wheel: true,
                look_secs: 0.11,
                sight_secs: 0.42,
                wander: 0.55,
                wander_secs: 3.5,
                pace_wander: 0.03,
                mistake_secs: 110.0,
            },
            Self::Hasty => Character {
                commitment: 0.75,
                apex_shift: -6.0,
                wall_room: 1.1,
                corner_share: 0.83,
                brake_share: 0.70,
                has_wheel: false,
                look_secs: 0.10,
                sight_secs: 0.36,
                wander: 0.7,
                wander_secs: 1.2,
                pace_wander: 0.03,
                mistake_secs: 40.0,
            },
        }
    }
}

/// What makes one driver different from another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Character {
    /// How much of the way from the middle of the road to the ideal line it dares, 0 to 1.
    pub(super) commitment: f64,
    /// How much later than ideal it is at the inside of a bend, in metres; negative is earlier.
    pub(super) apex_shift: f64,
    /// Room it leaves between car and wall, in metres.
    pub(super) wall_room: f64,
    /// Share of the grip it plans to use in bends.
    pub(super) corner_share: f64,
    /// Share of the brakes it plans to use.
    pub(super) brake_share: f64,
    /// Whether it has a wheel and pedals, to be moved by any amount, or keys: fully or not at all.
    pub(super) has_wheel: bool,
    /// Between two looks, on average; each is half to one and a half times as long.
    pub(super) look_secs: f64,
    /// How far ahead it aims, in seconds of driving.
    pub(super) sight_secs: f64,
    /// Standard deviation of how far it is off its own line, in metres, and how long it stays so.
    pub(super) wander: f64,
    pub(super) wander_secs: f64,
    /// Standard deviation of its pace, as a share of the speed.
    pub(super) pace_wander: f64,
    /// Between two mistakes, on average, in seconds.
    pub(super) mistake_secs: f64,
}
