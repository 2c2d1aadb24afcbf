use fairpath::number::EntityId;
use fairpath::time::TickRate;
use fairpath::vector::Vec2;
use fairpath_sim::Digest;

use super::config::{SailingConfig, TICK_RATE};
use super::input::Input;
use super::scene::{Event, SailingScene};
use super::weather::Weather;
use crate::shared::{Game, Moving, OutOfRange};

/// The whole state of a race.
///
/// [`step`](Self::step) plays on. The same rules, seed and inputs give the same bits. Between steps
/// [`scene`](Self::scene) is the state that clients are sent;
/// [`events`](Self::events) lists what happened in the last step.
///
/// ```
/// use fairpath_games::sailing::{Input, Sailing, SailingConfig};
///
/// # fn main() -> Result<(), fairpath_games::shared::OutOfRange> {
/// let mut race = Sailing::new(SailingConfig::default(), 7)?;
/// race.step(&[Input::new(1.0, 0.0), Input::new(0.5, 0.0)], 500); // ten seconds before the wind
/// let [own, other] = race.scene().boats[..] else { unreachable!("two boats by default") };
/// assert!(own.speed > other.speed, "a sail square to the wind catches more of it");
///
/// // A client that turned its rudder in the meantime sees at once what that does.
/// let turn = Input::new(1.0, 0.5);
/// let mut predicted = race.scene().clone();
/// predicted.step(race.config(), |seat| (seat == 0).then_some(turn), 25);
/// race.step(&[turn, Input::new(0.7, 0.0)], 25);
/// assert_eq!(predicted.boats[0], race.scene().boats[0]);
/// assert_ne!(predicted.boats[1], race.scene().boats[1], "what the other did it cannot know");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Sailing {
    config: SailingConfig,
    scene: SailingScene,
    weather: Weather,
    events: Vec<Event>,
}

impl Sailing {
    pub fn new(config: SailingConfig, seed: u64) -> Result<Self, OutOfRange> {
        config.check()?;
        let mut scene = SailingScene::new(&config);
        let mut weather = Weather::new(seed);
        // Wind and current are set before the first tick, so that the first scene shows them.
        weather.pass_over(&config, &mut scene, &mut Vec::new());
        Ok(Self { config, scene, weather, events: Vec::new() })
    }

    /// Plays `ticks` ticks. `inputs` are by seat; without one, sheet and rudder do not move.
    pub fn step(&mut self, inputs: &[Input], ticks: u32) {
        self.events.clear();
        for _ in 0..ticks {
            self.weather.pass_over(&self.config, &mut self.scene, &mut self.events);
            self.scene.step_noting(&self.config, |seat| inputs.get(seat).copied(), &mut self.events);
        }
    }

    pub fn config(&self) -> &SailingConfig {
        &self.config
    }

    pub fn scene(&self) -> &SailingScene {
        &self.scene
    }

    pub fn events(&self) -> &[Event] {
        &self.events
    }

    pub fn is_over(&self) -> bool {
        self.scene.is_over()
    }

    /// Returns a digest of the whole state, weather included.
    pub fn digest(&self) -> u64 {
        let mut digest = Digest::new();
        self.scene.digest(&mut digest);
        self.weather.digest(&mut digest);
        digest.value()
    }
}

impl Game for Sailing {
    type Config = SailingConfig;
    type Input = Input;
    type ConfigError = OutOfRange;

    const NAME: &'static str = "sailing";
    const TICK_RATE: TickRate = TICK_RATE;

    fn begin(config: &SailingConfig, seed: u64) -> Result<Self, OutOfRange> {
        Self::new(config.clone(), seed)
    }

    fn seats(config: &SailingConfig) -> u32 {
        config.boats
    }

    fn advance(&mut self, inputs: &[Input]) {
        self.step(inputs, 1);
    }

    fn tick(&self) -> u64 {
        self.scene.tick
    }

    fn moving(&self) -> impl Iterator<Item = Moving> {
        let has_jumped = self.scene.tick == 0;
        (0..).map(EntityId).zip(&self.scene.boats).map(move |(id, boat)| Moving {
            id,
            life: 0,
            has_jumped,
            state: boat.state(),
        })
    }

    /// Returns the corners of the rectangle from start to buoy: the sea has no bounds.
    fn corners(&self) -> (Vec2, Vec2) {
        let buoy = self.config.buoy;
        (Vec2::new(buoy.x.min(0.0), buoy.y.min(0.0)), Vec2::new(buoy.x.max(0.0), buoy.y.max(0.0)))
    }
}
