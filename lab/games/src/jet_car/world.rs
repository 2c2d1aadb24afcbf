use fairpath::number::EntityId;
use fairpath::time::TickRate;
use fairpath::vector::{Vec2, Vector};
use fairpath_sim::Digest;

use super::config::{JetCarConfig, TICK_RATE};
use super::dice::Dice;
use super::input::Input;
use super::scene::{Event, JetCarScene};
use crate::shared::{Game, Moving, OutOfRange};

/// The whole state of a run.
///
/// [`step`](Self::step) plays on. The same rules, seed and inputs give the same bits. Between steps
/// [`scene`](Self::scene) is the state that clients are sent; [`events`](Self::events) lists what
/// happened in the last step. A run that is over does not change any more; only its ticks count on.
///
/// ```
/// use fairpath_games::jet_car::{Input, JetCar, JetCarConfig};
///
/// # fn main() -> Result<(), fairpath_games::shared::OutOfRange> {
/// let mut game = JetCar::new(JetCarConfig::default(), 7)?;
/// game.step(Input::new(1.0, 0.0), 10); // a tenth of a second to the right
/// let sent = game.scene().clone();     // what a client gets to see
///
/// // The client has pressed the left thruster meanwhile and predicts the effect itself.
/// let mut predicted = sent;
/// predicted.step(game.config(), Input::new(-1.0, 0.0), 5);
/// game.step(Input::new(-1.0, 0.0), 5);
/// assert_eq!(predicted.car, game.scene().car);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct JetCar {
    config: JetCarConfig,
    scene: JetCarScene,
    dice: Dice,
    events: Vec<Event>,
}

impl JetCar {
    pub fn new(config: JetCarConfig, seed: u64) -> Result<Self, OutOfRange> {
        config.check()?;
        Ok(Self {
            scene: JetCarScene::new(&config),
            dice: Dice::new(&config, seed),
            events: Vec::new(),
            config,
        })
    }

    pub fn step(&mut self, input: Input, ticks: u32) {
        self.events.clear();
        for _ in 0..ticks {
            if !self.is_over() {
                self.dice.throw(&self.config, &mut self.scene);
            }
            self.scene.step_noting(&self.config, input, &mut self.events);
        }
    }

    pub fn config(&self) -> &JetCarConfig {
        &self.config
    }

    pub fn scene(&self) -> &JetCarScene {
        &self.scene
    }

    pub fn events(&self) -> &[Event] {
        &self.events
    }

    pub fn is_over(&self) -> bool {
        self.scene.is_over(&self.config)
    }

    /// Returns a digest of the whole state, random generators included.
    pub fn digest(&self) -> u64 {
        let mut digest = Digest::new();
        self.scene.digest(&mut digest);
        self.dice.digest(&mut digest);
        digest.value()
    }
}

impl Game for JetCar {
    type Config = JetCarConfig;
    type Input = Input;
    type ConfigError = OutOfRange;

    const NAME: &'static str = "jet car";
    const TICK_RATE: TickRate = TICK_RATE;

    fn begin(config: &JetCarConfig, seed: u64) -> Result<Self, OutOfRange> {
        Self::new(*config, seed)
    }

    fn seats(_: &JetCarConfig) -> u32 {
        1
    }

    fn advance(&mut self, inputs: &[Input]) {
        self.step(inputs.first().copied().unwrap_or_default(), 1);
    }

    fn tick(&self) -> u64 {
        self.scene.tick
    }

    /// The car is entity 0, obstruction n is entity n.
    fn moving(&self) -> impl Iterator<Item = Moving> {
        let JetCarScene { car, obstructions, .. } = &self.scene;
        let player = Moving { id: EntityId(0), life: car.life, has_jumped: car.is_new, state: car.state() };
        let others = obstructions.iter().map(|obstruction| Moving {
            id: EntityId(obstruction.number),
            life: 0,
            has_jumped: false,
            state: obstruction.state(&self.config),
        });
        std::iter::once(player).chain(others)
    }

    fn corners(&self) -> (Vec2, Vec2) {
        (Vec2::ZERO, Vec2::new(self.config.width, self.config.height))
    }
}
