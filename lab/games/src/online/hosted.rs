//! The games as a server hosts them.

use std::sync::Arc;

use fairpath::State;
use fairpath::number::EntityId;
use fairpath::time::TickRate;
use fairpath::vector::Vec2;
use fairpath_compensate::Simulate;

use super::message::WireState;
use crate::jet_car::{self, JetCar, JetCarConfig};
use crate::race::{self, Driver, Heat, RaceConfig, RacePredictor, RaceScene, Track};
use crate::sailing::{self, Agent, Sailing, SailingConfig, SailingPredictor, Trim, Wind};
use crate::shared::{OutOfRange, PlayerInput};

/// A game that a server plays, as its client sees it.
pub trait ClientGame {
    /// The game's number in a [`WELCOME`](super::WELCOME) call.
    const NUMBER: u8;
    const NAME: &'static str;
    const TICK_RATE: TickRate;
    /// The prediction that a client runs.
    type Rules: Simulate<State = Self::Scene, Input = Self::Input>;
    /// The state that a client is sent.
    type Scene: WireState + Clone;
    type Input: PlayerInput;

    /// Returns the player's own entity in a scene.
    fn own(scene: &Self::Scene) -> State<Vec2>;
    /// Returns whether a decoded scene has the number of entities that this game has.
    fn is_sound(_: &Self::Scene) -> bool {
        true
    }
}

/// A game that one client plays at a server.
pub trait HostedGame: ClientGame {
    /// The full state at the server, random generators included.
    type Run;

    fn begin(&self, seed: u64) -> Result<Self::Run, OutOfRange>;
    fn step(&self, run: &mut Self::Run, input: &Self::Input);
    fn scene(run: &Self::Run) -> &Self::Scene;
    /// Returns the input before the first one arrives.
    fn idle() -> Self::Input;
}

#[derive(Clone, Copy, Debug, Default)]
pub struct HostedJetCar {
    pub rules: JetCarConfig,
}

impl ClientGame for HostedJetCar {
    const NUMBER: u8 = 1;
    const NAME: &'static str = "jet-car";
    const TICK_RATE: TickRate = jet_car::TICK_RATE;
    type Rules = JetCarConfig;
    type Scene = jet_car::JetCarScene;
    type Input = jet_car::Input;

    fn own(scene: &jet_car::JetCarScene) -> State<Vec2> {
        scene.car.state()
    }
}

impl HostedGame for HostedJetCar {
    type Run = JetCar;

    fn begin(&self, seed: u64) -> Result<JetCar, OutOfRange> {
        JetCar::new(self.rules, seed)
    }

    fn step(&self, run: &mut JetCar, input: &jet_car::Input) {
        run.step(*input, 1);
    }

    fn scene(run: &JetCar) -> &jet_car::JetCarScene {
        run.scene()
    }

    fn idle() -> jet_car::Input {
        jet_car::Input::IDLE
    }
}

/// A sailing race against one boat that the server sails.
#[derive(Clone, Debug)]
pub struct HostedSailing {
    pub rules: SailingConfig,
    /// How the opponent trims its sail.
    pub opponent: Trim,
}

pub const CLIENT_SEAT: usize = 0;
const OPPONENT: usize = 1;

impl HostedSailing {
    /// Two boats in a wind that shifts between west and south.
    pub fn shifting() -> Self {
        let wind = Wind::west_and_south(20.0);
        Self { rules: SailingConfig { boats: 2, wind, ..SailingConfig::default() }, opponent: Trim::Optimal }
    }

    /// Returns the prediction that the client runs.
    pub fn helm(&self) -> SailingPredictor {
        SailingPredictor { rules: self.rules.clone(), seat: CLIENT_SEAT }
    }
}

impl ClientGame for HostedSailing {
    const NUMBER: u8 = 2;
    const NAME: &'static str = "sailing";
    const TICK_RATE: TickRate = sailing::TICK_RATE;
    type Rules = SailingPredictor;
    type Scene = sailing::SailingScene;
    type Input = sailing::Input;

    fn own(scene: &sailing::SailingScene) -> State<Vec2> {
        scene.boats.get(CLIENT_SEAT).map(sailing::Boat::state).unwrap_or_default()
    }

    fn is_sound(scene: &sailing::SailingScene) -> bool {
        scene.boats.len() == OPPONENT + 1
    }
}

impl HostedGame for HostedSailing {
    type Run = (Sailing, Agent);

    fn begin(&self, seed: u64) -> Result<Self::Run, OutOfRange> {
        Ok((Sailing::new(self.rules.clone(), seed)?, Agent::new(self.opponent)))
    }

    fn step(&self, (race, agent): &mut Self::Run, input: &sailing::Input) {
        let scene = race.scene();
        let other = agent.sail(&self.rules, scene.now(), scene, OPPONENT);
        race.step(&[*input, other], 1);
    }

    fn scene((race, _): &Self::Run) -> &sailing::SailingScene {
        race.scene()
    }

    fn idle() -> sailing::Input {
        sailing::Input::new(0.5, 0.0)
    }
}

/// A race against three cars that the server drives, on a road that both ends generate from a seed.
#[derive(Clone, Debug)]
pub struct HostedRace {
    track: Arc<Track>,
    rules: RaceConfig,
}

impl HostedRace {
    /// Returns an endless race on the road that follows from a seed.
    pub fn on_road_of(seed: u64) -> Self {
        let rules = RaceConfig { laps: None, ..RaceConfig::default() };
        Self { track: Arc::new(Track::generated(seed)), rules }
    }

    /// Returns the prediction that the client runs.
    pub fn wheel(&self) -> RacePredictor {
        RacePredictor {
            track: Arc::clone(&self.track),
            config: self.rules,
            car: EntityId(CLIENT_SEAT as u32),
        }
    }
}

impl ClientGame for HostedRace {
    const NUMBER: u8 = 3;
    const NAME: &'static str = "race";
    const TICK_RATE: TickRate = race::TICK_RATE;
    type Rules = RacePredictor;
    type Scene = RaceScene;
    type Input = race::Input;

    fn own(cars: &RaceScene) -> State<Vec2> {
        cars.cars.get(CLIENT_SEAT).map(race::Car::state).unwrap_or_default()
    }

    fn is_sound(cars: &RaceScene) -> bool {
        cars.cars.len() == RaceConfig::default().cars as usize
    }
}

impl HostedGame for HostedRace {
    /// The race, and the scene that the client is sent.
    type Run = (Heat, RaceScene);

    fn begin(&self, seed: u64) -> Result<Self::Run, OutOfRange> {
        let mut heat = Heat::of_bots(Arc::clone(&self.track), self.rules, seed)?;
        heat.seat(EntityId(CLIENT_SEAT as u32), Driver::Hands(race::Input::IDLE));
        let cars = RaceScene::of(heat.race());
        Ok((heat, cars))
    }

    fn step(&self, (heat, cars): &mut Self::Run, input: &race::Input) {
        heat.seat(EntityId(CLIENT_SEAT as u32), Driver::Hands(*input));
        heat.step();
        *cars = RaceScene::of(heat.race());
    }

    fn scene((_, cars): &Self::Run) -> &RaceScene {
        cars
    }

    fn idle() -> race::Input {
        race::Input::IDLE
    }
}
