//! The two games as a server hosts them.

use fairpath::State;
use fairpath::compensate::Simulate;
use fairpath::time::TickRate;
use fairpath::vector::Vec2;
use fairpath_games::jet_car::{self, JetCar, JetCarConfig};
use fairpath_games::online::Portable;
use fairpath_games::sailing::{self, Agent, Helm, Sailing, SailingConfig, Trim};
use fairpath_games::shared::{Hands, OutOfRange};

/// A game that one guest plays with a server.
pub(crate) trait Hosted {
    /// What tells the games apart in a greeting.
    const NUMBER: u8;
    /// As people call it.
    const NAME: &'static str;
    const TICK_RATE: TickRate;
    /// What a client needs to play on.
    type Rules: Simulate<State = Self::Scene, Input = Self::Input>;
    type Scene: Portable + Clone;
    type Input: Hands;
    type Run;

    fn begin(&self, seed: u64) -> Result<Self::Run, OutOfRange>;
    fn step(&self, run: &mut Self::Run, input: &Self::Input);
    fn scene(run: &Self::Run) -> &Self::Scene;
    /// What the hands do before they are heard of.
    fn idle() -> Self::Input;
    /// The player's own part of a scene.
    fn own(scene: &Self::Scene) -> State<Vec2>;
    /// Whether a scene that came over a network has what this game's has.
    fn is_sound(_: &Self::Scene) -> bool {
        true
    }
}

/// A run of the jet car.
pub(crate) struct HostedJetCar {
    pub(crate) rules: JetCarConfig,
}

impl Hosted for HostedJetCar {
    const NUMBER: u8 = 1;
    const NAME: &'static str = "jet-car";
    const TICK_RATE: TickRate = jet_car::TICK_RATE;
    type Rules = JetCarConfig;
    type Scene = jet_car::Scene;
    type Input = jet_car::Input;
    type Run = JetCar;

    fn begin(&self, seed: u64) -> Result<JetCar, OutOfRange> {
        JetCar::new(self.rules, seed)
    }

    fn step(&self, run: &mut JetCar, input: &jet_car::Input) {
        run.step(*input, 1);
    }

    fn scene(run: &JetCar) -> &jet_car::Scene {
        run.scene()
    }

    fn idle() -> jet_car::Input {
        jet_car::Input::IDLE
    }

    fn own(scene: &jet_car::Scene) -> State<Vec2> {
        scene.car.state()
    }
}

/// A race against somebody whom the server sails.
pub(crate) struct HostedSailing {
    pub(crate) rules: SailingConfig,
    pub(crate) opponent: Trim,
}

/// The guest's seat, and the opponent's.
pub(crate) const GUEST: usize = 0;
const OPPONENT: usize = 1;

impl Hosted for HostedSailing {
    const NUMBER: u8 = 2;
    const NAME: &'static str = "sailing";
    const TICK_RATE: TickRate = sailing::TICK_RATE;
    type Rules = Helm;
    type Scene = sailing::Scene;
    type Input = sailing::Input;
    type Run = (Sailing, Agent);

    fn begin(&self, seed: u64) -> Result<Self::Run, OutOfRange> {
        Ok((Sailing::new(self.rules.clone(), seed)?, Agent::new(self.opponent)))
    }

    fn step(&self, (race, agent): &mut Self::Run, input: &sailing::Input) {
        let scene = race.scene();
        let other = agent.sail(&self.rules, scene.now(), scene, OPPONENT);
        race.step(&[*input, other], 1);
    }

    fn scene((race, _): &Self::Run) -> &sailing::Scene {
        race.scene()
    }

    fn idle() -> sailing::Input {
        sailing::Input::new(0.5, 0.0)
    }

    fn own(scene: &sailing::Scene) -> State<Vec2> {
        scene.boats.get(GUEST).map(sailing::Boat::state).unwrap_or_default()
    }

    fn is_sound(scene: &sailing::Scene) -> bool {
        scene.boats.len() == OPPONENT + 1
    }
}
