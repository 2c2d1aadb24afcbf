use std::sync::Arc;

use fairpath::number::EntityId;
use fairpath::random::Random;
use fairpath::time::SharedInstant;

use super::bot::{Bot, DrivingPlan, Style};
use super::config::{Course, RaceConfig};
use super::input::Input;
use super::track::{Preset, Track};
use super::view::View;
use super::world::Race;
use crate::shared::{InputLog, OutOfRange};

#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "at most sixteen of them, and the usual one is the large one")]
pub enum Driver {
    /// A bot that decides from its [`View`].
    Bot(Bot),
    /// A fixed input, set by the caller between steps: a person's, for example.
    Hands(Input),
}

impl Driver {
    fn is_looking(&self, now: SharedInstant) -> bool {
        matches!(self, Self::Bot(bot) if bot.is_looking(now))
    }

    fn drive(&mut self, track: &Track, view: &View) -> Input {
        match self {
            Self::Bot(bot) => bot.drive(track, view),
            Self::Hands(input) => *input,
        }
    }

    fn held(&self, now: SharedInstant) -> Input {
        match self {
            Self::Bot(bot) => bot.held(now),
            Self::Hands(input) => *input,
        }
    }
}

/// A race with a driver for each car.
///
/// ```
/// use std::sync::Arc;
///
/// use fairpath::number::EntityId;
/// use fairpath_games::race::{Driver, Heat, Input, Preset, RaceConfig, Track};
///
/// # fn main() -> Result<(), fairpath_games::shared::OutOfRange> {
/// // A person takes over car 0: full throttle, a little to the left.
/// let track = Arc::new(Track::preset(Preset::Oval));
/// let mut heat = Heat::of_bots(track, RaceConfig::default(), 1)?;
/// heat.seat(EntityId(0), Driver::Hands(Input { throttle: 1.0, brake: 0.0, steer: 0.1 }));
/// for _ in 0..60 {
///     heat.step();
/// }
/// assert!(heat.race().cars()[0].state().signed_speed() > 7.0);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Heat {
    race: Race,
    drivers: Vec<Driver>,
    inputs: Vec<Input>,
    log: Option<InputLog<Race>>,
}

impl Heat {
    /// Returns a race of bots. They take the styles in turn, from the front of the grid.
    pub fn of_bots(track: Arc<Track>, config: RaceConfig, seed: u64) -> Result<Self, OutOfRange> {
        let plans = Style::ALL.map(|style| Arc::new(DrivingPlan::new(&track, &config.car, style)));
        let dice = Random::from_seed(seed);
        Self::new(track, config, |id| {
            let plan = Arc::clone(&plans[id.0 as usize % plans.len()]);
            Driver::Bot(Bot::new(plan, config.car, dice.fork(id.0.into())))
        })
    }

    /// Returns a race whose drivers `driver` returns.
    pub fn new(
        track: Arc<Track>,
        config: RaceConfig,
        driver: impl FnMut(EntityId) -> Driver,
    ) -> Result<Self, OutOfRange> {
        let race = Race::new(track, config)?;
        let drivers: Vec<Driver> = race.cars().iter().map(super::Car::id).map(driver).collect();
        let inputs = vec![Input::IDLE; drivers.len()];
        Ok(Self { race, drivers, inputs, log: None })
    }

    /// Starts an input log. Only a log started at tick zero replays the race.
    #[must_use]
    pub fn with_log(mut self) -> Self {
        let course = Course { track: Arc::clone(self.race.track()), config: *self.race.config() };
        // A race draws no random numbers, so it has no seed; bots have seeds of their own.
        self.log = Some(InputLog::new(course, 0));
        self
    }

    /// Replaces the driver of a car. Does nothing if there is no such car.
    pub fn seat(&mut self, car: EntityId, driver: Driver) {
        if let Some(taken) = self.drivers.get_mut(car.0 as usize) {
            *taken = driver;
        }
    }

    /// Asks every driver for its input, then plays one tick.
    pub fn step(&mut self) {
        self.step_showing(|_| ());
    }

    /// Plays one tick like [`step`](Self::step), but `screen` may first change what a looking bot
    /// is shown: for example, other cars where dead reckoning places them.
    pub fn step_showing(&mut self, mut screen: impl FnMut(&mut View)) {
        let now = self.race.now();
        for ((id, driver), input) in (0..).map(EntityId).zip(&mut self.drivers).zip(&mut self.inputs) {
            let view = driver.is_looking(now).then(|| self.race.look(id)).flatten();
            *input = match view {
                Some(mut view) => {
                    screen(&mut view);
                    driver.drive(self.race.track(), &view)
                }
                None => driver.held(now),
            };
        }
        if let Some(log) = &mut self.log {
            log.record(&self.inputs);
        }
        self.race.step(&self.inputs);
    }

    pub fn race(&self) -> &Race {
        &self.race
    }

    pub fn drivers(&self) -> &[Driver] {
        &self.drivers
    }

    /// Returns the inputs of the last tick, in the order of cars.
    pub fn inputs(&self) -> &[Input] {
        &self.inputs
    }

    /// Returns the input log, if [`with_log`](Self::with_log) started one.
    pub fn log(&self) -> Option<&InputLog<Race>> {
        self.log.as_ref()
    }
}

/// The result of [`reference_digest`] on every platform.
pub const REFERENCE_DIGEST: u64 = 0x2113_F0DC_642D_E558;

/// Drives a minute on a generated track and a minute on the stage, with every rule and style.
/// Returns one digest of both, [`REFERENCE_DIGEST`] natively and in WebAssembly.
pub fn reference_digest() -> u64 {
    const TICKS: u32 = 60 * 60;
    let tracks = [Track::generated(0x5EED), Track::preset(Preset::Ridge)];
    let mut digest = fairpath_sim::Digest::new();
    for track in tracks {
        let Ok(mut heat) = Heat::of_bots(Arc::new(track), RaceConfig::default(), 0x7A9C) else {
            unreachable!("the default rules are sound")
        };
        for _ in 0..TICKS {
            heat.step();
        }
        digest.u64(heat.race().digest());
    }
    digest.value()
}
