//! What kinds of players there are.

/// What kind of player a bot is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Temperament {
    /// Goes where the others are, comes close, and hardly ever runs.
    Raider,
    /// Stays with a friend and does as the friend does.
    Companion,
    /// Fights from afar, and is gone before it gets dangerous.
    Skirmisher,
    /// Knows where things lie, and likes to be full of them.
    Forager,
}

impl Temperament {
    /// All of them, in the order in which a team's seats are filled.
    pub const ALL: [Self; 4] = [Self::Raider, Self::Companion, Self::Skirmisher, Self::Forager];

    /// Returns the numbers behind the name. Chosen for variety around what people do (some 0.2 s to
    /// react, a look every tenth of a second or so). One thing was brought near a measurement,
    /// how restless all of them are: a straight line goes wrong here about as fast as it did
    /// with Shi 2014's players (`examples/ethereal_statistics`).
    pub(super) fn character(self) -> Character {
        match self {
            Self::Raider => Character {
                look_ticks: 5.5,
                reaction_ticks: 11,
                mind_secs: 5.0,
                engage_within: 700.0,
                keeps_distance: 210.0,
                nerve: 0.20,
                odds: 2.0,
                care: 0.35,
                sociability: 0.7,
                trigger: 0.9,
                aim_error_rad: 0.16,
                errands: Errands { rally: 0.35, join: 0.20, hunt: 0.35, fetch: 0.10 },
            },
            Self::Companion => Character {
                look_ticks: 6.5,
                reaction_ticks: 13,
                mind_secs: 4.0,
                engage_within: 560.0,
                keeps_distance: 300.0,
                nerve: 0.40,
                odds: 1.0,
                care: 0.45,
                sociability: 0.9,
                trigger: 0.85,
                aim_error_rad: 0.18,
                errands: Errands { rally: 0.10, join: 0.80, hunt: 0.05, fetch: 0.05 },
            },
            Self::Skirmisher => Character {
                look_ticks: 5.5,
                reaction_ticks: 12,
                mind_secs: 3.5,
                engage_within: 720.0,
                keeps_distance: 440.0,
                nerve: 0.50,
                odds: 0.0,
                care: 0.6,
                sociability: 0.75,
                trigger: 0.9,
                aim_error_rad: 0.11,
                errands: Errands { rally: 0.30, join: 0.35, hunt: 0.25, fetch: 0.10 },
            },
            Self::Forager => Character {
                look_ticks: 7.0,
                reaction_ticks: 15,
                mind_secs: 5.0,
                engage_within: 520.0,
                keeps_distance: 330.0,
                nerve: 0.45,
                odds: 0.0,
                care: 0.95,
                sociability: 0.65,
                trigger: 0.8,
                aim_error_rad: 0.17,
                errands: Errands { rally: 0.15, join: 0.35, hunt: 0.05, fetch: 0.45 },
            },
        }
    }
}

/// What makes one player different from another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Character {
    /// Between two looks, on average; each is half to one and a half times as long.
    pub(super) look_ticks: f64,
    /// How long an enemy is in sight before it is noticed.
    pub(super) reaction_ticks: u64,
    /// Between two changes of mind, on average.
    pub(super) mind_secs: f64,
    /// How near an enemy must be to be more interesting than anything else, in pixels.
    pub(super) engage_within: f64,
    /// How far from its enemy it likes to fight, in pixels.
    pub(super) keeps_distance: f64,
    /// Below which share of its health it runs.
    pub(super) nerve: f64,
    /// How many more they may be before it runs.
    pub(super) odds: f64,
    /// How likely it is to look after itself when it lacks something.
    pub(super) care: f64,
    /// How likely it is to look for friends when it finds itself alone.
    pub(super) sociability: f64,
    /// How likely it is to shoot when it could.
    pub(super) trigger: f64,
    /// Standard deviation of the aim.
    pub(super) aim_error_rad: f64,
    /// What it likes to do while nothing happens.
    pub(super) errands: Errands,
}

/// How often each errand is chosen, as weights.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Errands {
    pub(super) rally: f64,
    pub(super) join: f64,
    pub(super) hunt: f64,
    pub(super) fetch: f64,
}
