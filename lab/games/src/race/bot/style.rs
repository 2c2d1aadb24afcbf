/// The driving style of a bot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Style {
    /// Uses the whole width, brakes in time, rarely errs.
    Smooth,
    /// Brakes at the last moment and turns in late, sometimes too late.
    Late,
    /// Keeps to the middle of the track and far from every limit.
    Careful,
    /// Steers with keys, turns in early, drives unevenly.
    Hasty,
}

impl Style {
    /// All styles, in the order in which cars get them.
    pub const ALL: [Self; 4] = [Self::Smooth, Self::Late, Self::Careful, Self::Hasty];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Smooth => "smooth",
            Self::Late => "late",
            Self::Careful => "careful",
            Self::Hasty => "hasty",
        }
    }

    /// Returns the parameters of this style. They are chosen for variety around human values (about
    /// ten looks a second, four fifths of the grip), not fitted to data.
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

/// The parameters that differ between styles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Character {
    /// The share of the way from the track's middle to the ideal line that it uses, 0 to 1.
    pub(super) commitment: f64,
    /// How many metres after the ideal line it reaches a bend's inside; negative is earlier.
    pub(super) apex_shift: f64,
    /// The distance that it keeps from walls, in metres.
    pub(super) wall_room: f64,
    /// The share of the grip that it plans to use in bends.
    pub(super) corner_share: f64,
    /// The share of the brakes that it plans to use.
    pub(super) brake_share: f64,
    /// Whether it has a wheel and pedals (any amount) or keys (fully or not at all).
    pub(super) has_wheel: bool,
    /// The mean time between two looks; each is 0.5 to 1.5 times as long.
    pub(super) look_secs: f64,
    /// How far ahead it aims, in seconds of driving.
    pub(super) sight_secs: f64,
    /// The standard deviation of the distance from its line, in metres; correlation in seconds.
    pub(super) wander: f64,
    pub(super) wander_secs: f64,
    /// The standard deviation of its speed, as a share.
    pub(super) pace_wander: f64,
    /// The mean time between two mistakes, in seconds.
    pub(super) mistake_secs: f64,
}
