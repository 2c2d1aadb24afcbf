/// The kind of a bot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Temperament {
    /// Seeks enemies and shoots first.
    Hunter,
    /// Goes for the flag.
    Runner,
    /// Stays near its own base.
    Guardian,
    /// Drives about and shoots at enemies that turn up.
    Rambler,
}

impl Temperament {
    /// All temperaments, in the order in which a team's tanks get them.
    pub const ALL: [Self; 4] = [Self::Hunter, Self::Runner, Self::Guardian, Self::Rambler];

    /// Returns the parameters of this temperament. They are chosen for variety around human values
    /// (0.2 to 0.3 s to react, about ten looks a second), not fitted to data.
    pub(super) fn character(self) -> Character {
        match self {
            Self::Hunter => Character {
                has_mouse: true,
                look_secs: 0.09,
                reaction_secs: 0.20,
                mind_secs: 8.0,
                alertness: 0.5,
                boldness_per_sec: 1.5,
                fighting_distance: 300.0,
                aim_error_rad: 0.02,
                errands: Errands { wander: 0.15, hunt: 0.65, fetch: 0.15, guard: 0.05 },
            },
            Self::Runner => Character {
                has_mouse: true,
                look_secs: 0.11,
                reaction_secs: 0.24,
                mind_secs: 20.0,
                alertness: 0.6,
                boldness_per_sec: 0.1,
                fighting_distance: 180.0,
                aim_error_rad: 0.04,
                errands: Errands { wander: 0.05, hunt: 0.05, fetch: 0.85, guard: 0.05 },
            },
            Self::Guardian => Character {
                has_mouse: false,
                look_secs: 0.12,
                reaction_secs: 0.26,
                mind_secs: 6.0,
                alertness: 0.4,
                boldness_per_sec: 0.8,
                fighting_distance: 260.0,
                aim_error_rad: 0.03,
                errands: Errands { wander: 0.10, hunt: 0.20, fetch: 0.05, guard: 0.65 },
            },
            Self::Rambler => Character {
                has_mouse: false,
                look_secs: 0.15,
                reaction_secs: 0.30,
                mind_secs: 4.0,
                alertness: 0.3,
                boldness_per_sec: 0.4,
                fighting_distance: 220.0,
                aim_error_rad: 0.05,
                errands: Errands { wander: 0.60, hunt: 0.20, fetch: 0.15, guard: 0.05 },
            },
        }
    }
}

/// The parameters that differ between temperaments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Character {
    /// Whether it steers with a mouse (by any amount) or with keys (fully or not at all).
    pub(super) has_mouse: bool,
    /// The mean time between two looks; each is 0.5 to 1.5 times as long.
    pub(super) look_secs: f64,
    /// The time from seeing a shot to dodging it.
    pub(super) reaction_secs: f64,
    /// The mean time between two changes of errand.
    pub(super) mind_secs: f64,
    /// The chance per look to notice a shot that would hit.
    pub(super) alertness: f64,
    /// The rate at which a foe in sight makes it leave its errand, per second.
    pub(super) boldness_per_sec: f64,
    /// The largest distance to a foe that it fights, in units.
    pub(super) fighting_distance: f64,
    /// The standard deviation of its aim.
    pub(super) aim_error_rad: f64,
    pub(super) errands: Errands,
}

/// The weights with which errands are chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Errands {
    pub(super) wander: f64,
    pub(super) hunt: f64,
    pub(super) fetch: f64,
    pub(super) guard: f64,
}
