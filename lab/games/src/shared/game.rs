//! What a game must say about itself to be logged, replayed and recorded.

use fairpath::State;
use fairpath::number::EntityId;
use fairpath::time::TickRate;
use fairpath::vector::Vec2;

/// A world that is stepped by its players' hands: the same rules, seed and hands give the same
/// bits.
pub trait Game: Clone + Sized {
    /// The rules.
    type Config: Clone + PartialEq + std::fmt::Debug;
    /// What a player's hands do.
    type Input: Hands;
    /// Why a run cannot begin.
    type ConfigError: std::error::Error;

    /// The game's name, as a trace is titled.
    const NAME: &'static str;
    /// How many ticks make a second.
    const TICK_RATE: TickRate;

    /// A run about to begin.
    fn begin(config: &Self::Config, seed: u64) -> Result<Self, Self::ConfigError>;

    /// How many players such a run has.
    fn seats(config: &Self::Config) -> u32;

    /// Plays one tick. `inputs` are in the order of seats; whoever has none takes the hands off.
    fn advance(&mut self, inputs: &[Self::Input]);

    /// How many ticks have been played.
    fn tick(&self) -> u64;

    /// Everything that moves, where it is now.
    fn moving(&self) -> impl Iterator<Item = Moving>;

    /// The lowest and the highest corner of the world, where it has any.
    fn corners(&self) -> (Vec2, Vec2);
}

/// What a player's hands do during one tick.
pub trait Hands: Copy + Default + PartialEq + std::fmt::Debug {
    /// The same as real hands could have done it: within range, and numbers. Every input passes
    /// through here on its way in; passing twice changes nothing.
    #[must_use]
    fn limited(self) -> Self;

    /// As the axes of a trace or a packet.
    fn axes(self) -> [f64; 4];

    /// From the axes again.
    fn from_axes(axes: [f64; 4]) -> Self;
}

/// Something that moves, at one instant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moving {
    /// Its name in a session; players come first.
    pub id: EntityId,
    /// Which of its lives, counted from zero.
    pub life: u16,
    /// Whether it was put here and did not get here by itself.
    pub has_jumped: bool,
    /// Where it is, and how it moves.
    pub state: State<Vec2>,
}
