use fairpath::time::SharedInstant;
use fairpath_sim::Digest;

use super::agent::{Agent, Trim};
use super::config::{Current, SailingConfig, Wind};
use super::input::Input;
use super::scene::SailingScene;
use super::world::Sailing;
use crate::shared::{InputLog, OutOfRange};

#[derive(Clone, Debug)]
pub enum Driver {
    /// A bot that decides from what it is shown.
    Agent(Agent),
    /// A fixed input, set by the caller between steps: a person's, for example.
    Hands(Input),
}

impl Driver {
    /// Returns the input at `now` for the shown scene and this seat.
    pub fn sail(
        &mut self,
        rules: &SailingConfig,
        now: SharedInstant,
        shown: &SailingScene,
        seat: usize,
    ) -> Input {
        match self {
            Self::Agent(agent) => agent.sail(rules, now, shown, seat),
            Self::Hands(input) => *input,
        }
    }
}

/// A race with a driver for each boat, without delay.
///
/// ```
/// use fairpath_games::sailing::{Driver, Input, Regatta, SailingConfig, Trim};
///
/// # fn main() -> Result<(), fairpath_games::shared::OutOfRange> {
/// // A person in seat 0, and an opponent that the server sails.
/// let mut regatta = Regatta::of_agents(SailingConfig::default(), 1, Trim::Optimal)?;
/// regatta.seat(0, Driver::Hands(Input::new(0.3, 0.0)));
/// while regatta.race().scene().boats[1].finished_at.is_none() {
///     regatta.step();
/// }
/// assert_eq!(regatta.race().scene().boats[0].finished_at, None, "a badly trimmed sail loses");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Regatta {
    race: Sailing,
    crews: Vec<Driver>,
    inputs: Vec<Input>,
    log: InputLog<Sailing>,
}

impl Regatta {
    /// Returns a race in which the same kind of agent sails every boat.
    pub fn of_agents(config: SailingConfig, seed: u64, trim: Trim) -> Result<Self, OutOfRange> {
        Self::new(config, seed, |_| Driver::Agent(Agent::new(trim)))
    }

    /// Returns a race whose drivers `crew` returns.
    pub fn new(
        config: SailingConfig,
        seed: u64,
        crew: impl FnMut(usize) -> Driver,
    ) -> Result<Self, OutOfRange> {
        let race = Sailing::new(config.clone(), seed)?;
        let crews: Vec<Driver> = (0..race.scene().boats.len()).map(crew).collect();
        let inputs = vec![Input::IDLE; crews.len()];
        Ok(Self { race, crews, inputs, log: InputLog::new(config, seed) })
    }

    /// Replaces the driver of a boat. Does nothing if there is no such boat.
    pub fn seat(&mut self, seat: usize, crew: Driver) {
        if let Some(taken) = self.crews.get_mut(seat) {
            *taken = crew;
        }
    }

    /// Asks every driver for its input, then plays one tick.
    pub fn step(&mut self) {
        let scene = self.race.scene();
        for (seat, (crew, input)) in self.crews.iter_mut().zip(&mut self.inputs).enumerate() {
            *input = crew.sail(self.race.config(), scene.now(), scene, seat);
        }
        self.log.record(&self.inputs);
        self.race.step(&self.inputs, 1);
    }

    pub fn race(&self) -> &Sailing {
        &self.race
    }

    pub fn inputs(&self) -> &[Input] {
        &self.inputs
    }

    /// Returns the input log, from which the race can be replayed.
    pub fn log(&self) -> &InputLog<Sailing> {
        &self.log
    }
}

/// The result of [`reference_digest`] on every platform.
pub const REFERENCE_DIGEST: u64 = 0x7567_F70A_9711_8077;

/// Sails two minutes in each of four kinds of weather, and returns one digest of all. Natively and
/// in WebAssembly it must be [`REFERENCE_DIGEST`]. The races exercise every rule and both agents.
pub fn reference_digest() -> u64 {
    const TICKS: u32 = 120 * 50;
    let weathers = [
        (Wind::west_and_south(20.0), Current::None),
        (Wind::west_and_south(5.0), Current::Drawn { knots_max: 1.0 }),
        (Wind::random(), Current::shifting()),
        (Wind::random(), Current::None),
    ];
    let mut digest = Digest::new();
    for (wind, current) in weathers {
        let config = SailingConfig { wind, current, ..SailingConfig::default() };
        let crew = |seat| Driver::Agent(Agent::new(if seat == 0 { Trim::Simple } else { Trim::Optimal }));
        let Ok(mut regatta) = Regatta::new(config, 0x5EED, crew) else {
            unreachable!("these rules are sound")
        };
        for _ in 0..TICKS {
            regatta.step();
        }
        digest.u64(regatta.race().digest());
    }
    digest.value()
}
