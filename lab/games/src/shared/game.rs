use fairpath::State;
use fairpath::number::EntityId;
use fairpath::time::TickRate;
use fairpath::vector::Vec2;

/// A deterministic game: the same rules, seed and inputs give the same bits.
pub trait Game: Clone + Sized {
    type Config: Clone + PartialEq + std::fmt::Debug;
    type Input: PlayerInput;
    /// The reason why [`begin`](Self::begin) refuses a configuration.
    type ConfigError: std::error::Error;

    const NAME: &'static str;
    const TICK_RATE: TickRate;

    fn begin(config: &Self::Config, seed: u64) -> Result<Self, Self::ConfigError>;

    fn seats(config: &Self::Config) -> u32;

    /// Plays one tick. `inputs` are by seat; a missing one counts as [`Default::default`].
    fn advance(&mut self, inputs: &[Self::Input]);

    fn tick(&self) -> u64;

    /// Returns every moving entity with its current state. Players come first.
    fn moving(&self) -> impl Iterator<Item = Moving>;

    /// Returns the lowest and the highest corner of the world.
    fn corners(&self) -> (Vec2, Vec2);

    /// Returns the title of a trace of this game. Default: [`NAME`](Self::NAME).
    fn title(_config: &Self::Config) -> String {
        Self::NAME.to_owned()
    }
}

/// One player's input for one tick. The default is hands off.
pub trait PlayerInput: Copy + Default + PartialEq + std::fmt::Debug {
    /// Returns the input clamped to what a real device can send: numbers, within range. Games apply
    /// this to every input they take in. It is idempotent.
    #[must_use]
    fn limited(self) -> Self;

    /// Returns the analog axes, as a trace row or a datagram stores them.
    fn axes(self) -> [f64; 4];

    /// Returns the buttons as bits. Default: none.
    fn buttons(self) -> u32 {
        0
    }

    /// Returns the input with these [`axes`](Self::axes) and [`buttons`](Self::buttons).
    fn from_axes(axes: [f64; 4], buttons: u32) -> Self;
}

/// One moving entity at one instant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moving {
    /// Its entity id. Players have the lowest ids.
    pub id: EntityId,
    /// Which of its lives, counted from zero.
    pub life: u16,
    /// Whether the game placed it here in this tick, so that it did not move here.
    pub has_jumped: bool,
    /// Position, velocity, acceleration, heading and turn rate.
    pub state: State<Vec2>,
}
