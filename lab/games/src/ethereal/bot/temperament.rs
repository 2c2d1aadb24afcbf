/// The kind of a bot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Temperament {
    /// Seeks enemies, comes close, and rarely retreats.
    Raider,
    /// Stays with a friend and does what the friend does.
    Companion,
    /// Fights from a distance and retreats early.
    Skirmisher,
    /// Knows where items lie and keeps its health and ammunition full.
    Forager,
}

impl Temperament {
    /// All temperaments, in the order in which a team's players get them.
    pub const ALL: [Self; 4] = [Self::Raider, Self::Companion, Self::Skirmisher, Self::Forager];

    /// Returns the parameters of this temperament. They are chosen for variety around human values
    /// (about 0.2 s to react, about ten looks a second). Only one property is fitted to a
    /// measurement, how often the bots change direction: a constant-velocity prediction goes wrong
    /// here about as fast as with Shi 2014's players (`examples/ethereal_statistics`).
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

/// The parameters that differ between temperaments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Character {
    /// The mean time between two looks; each is 0.5 to 1.5 times as long.
    pub(super) look_ticks: f64,
    /// How long an enemy is in sight before the bot notices it.
    pub(super) reaction_ticks: u64,
    /// The mean time between two changes of errand.
    pub(super) mind_secs: f64,
    /// The distance at which an enemy takes precedence over the errand, in pixels.
    pub(super) engage_within: f64,
    /// The distance to an enemy that it prefers in a fight, in pixels.
    pub(super) keeps_distance: f64,
    /// The share of its health below which it retreats.
    pub(super) nerve: f64,
    /// By how many the enemies may outnumber its side before it retreats.
    pub(super) odds: f64,
    /// The chance to fetch an item that it needs.
    pub(super) care: f64,
    /// The chance to join a friend when it is alone.
    pub(super) sociability: f64,
    /// The chance to fire when it could.
    pub(super) trigger: f64,
    /// The standard deviation of its aim.
    pub(super) aim_error_rad: f64,
    pub(super) errands: Errands,
}

/// The weights with which errands are chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Errands {
    pub(super) rally: f64,
    pub(super) join: f64,
    pub(super) hunt: f64,
    pub(super) fetch: f64,
}
