//! Race and tanks as games that clients play together.

use std::sync::Arc;

use fairpath::number::EntityId;
use fairpath::random::Random;
use fairpath::time::{SharedInstant, Span, TickRate};
use fairpath::vector::Vec2;
use fairpath::{State, rotation};
use fairpath_compensate::Simulate;

use super::hosted::ClientGame;
use super::message::{BadMessage, Reader, WireState, Writer};
use super::table::{Phase, Seated, SharedGame, Standing, TableScene};
use crate::race::{
    self, Bot, Course, DrivingPlan, Heat, Race, RaceConfig, RacePredictor, RaceScene, Style, Track,
};
use crate::shared::{Recorder, Team};
use crate::tanks::{self, FlagPlace, Match, Tanks, TanksConfig, Temperament};

/// A race to the finish, on a road that both ends generate from a seed.
#[derive(Clone, Debug)]
pub struct SharedRace {
    track: Arc<Track>,
    rules: RaceConfig,
}

/// How long the others may go on after the winner: a slow lap. Then the result stands as it is.
const AFTER_THE_WINNER: Span = Span::from_secs(60);

impl SharedRace {
    /// Returns a race of so many laps on the road that follows from a seed.
    pub fn on_road_of(seed: u64, laps: u32) -> Self {
        let rules = RaceConfig { laps: Some(laps), ..RaceConfig::default() };
        Self { track: Arc::new(Track::generated(seed)), rules }
    }

    pub fn track(&self) -> &Arc<Track> {
        &self.track
    }

    /// Returns what a recording needs beside its inputs to be replayed.
    pub fn course(&self) -> Course {
        Course { track: Arc::clone(&self.track), config: self.rules }
    }

    /// Returns the prediction that a client runs.
    pub fn wheel(&self) -> SharedRacePredictor {
        SharedRacePredictor { track: Arc::clone(&self.track), rules: self.rules }
    }

    fn bot(&self, seat: u32, seed: u64) -> race::Driver {
        let style = Style::ALL[seat as usize % Style::ALL.len()];
        let plan = Arc::new(DrivingPlan::new(&self.track, &self.rules.car, style));
        race::Driver::Bot(Bot::new(plan, self.rules.car, Random::from_seed(seed).fork(seat.into())))
    }
}

impl SharedGame for SharedRace {
    const NUMBER: u8 = 4;
    const NAME: &'static str = "race";
    type Game = Race;
    type Run = Heat;
    type Scene = RaceScene;

    fn begin(&self, seed: u64) -> Option<Heat> {
        Heat::of_bots(Arc::clone(&self.track), self.rules, seed).ok()
    }

    fn seat(&self, run: &mut Heat, seat: u32, driver: Seated<race::Input>) {
        let driver = match driver {
            Seated::Hands(input) => race::Driver::Hands(input),
            Seated::Bot { seed } => self.bot(seat, seed),
        };
        run.seat(EntityId(seat), driver);
    }

    fn step(&self, run: &mut Heat) {
        run.step();
    }

    fn game<'a>(&self, run: &'a Heat) -> &'a Race {
        run.race()
    }

    fn inputs<'a>(&self, run: &'a Heat) -> &'a [race::Input] {
        run.inputs()
    }

    fn recorder(&self, run: &Heat) -> Recorder<Race> {
        // A race draws no random numbers, so it has no seed; its bots' inputs are recorded.
        Recorder::new(run.race(), self.course(), 0)
    }

    fn scene(&self, run: &Heat) -> RaceScene {
        RaceScene::of(run.race())
    }

    fn is_over(&self, run: &Heat, seats: &[u32]) -> bool {
        let race = run.race();
        let is_racing = |seat: &u32| race.car(EntityId(*seat)).is_some_and(race::Car::is_racing);
        let winner = race.winner().and_then(|winner| race.car(winner));
        let waited = winner.is_some_and(|car| match car.condition() {
            race::Condition::Finished { at } => race.now() - at > AFTER_THE_WINNER,
            race::Condition::OnGrid | race::Condition::Racing => false,
        });
        race.is_over() || waited || winner.is_some() && !seats.iter().any(is_racing)
    }

    fn standings(&self, run: &Heat) -> Vec<Standing> {
        let laps = |id: EntityId| run.race().car(id).map_or(0, |car| car.laps_done() as i32);
        let order = run.race().standings();
        order.into_iter().map(|id| Standing { seat: id.0, score: laps(id) }).collect()
    }

    fn winner(&self, run: &Heat) -> Option<u32> {
        run.race().winner().map(|id| id.0)
    }
}

/// A client's prediction of a race that it plays with others. Before the start nothing moves.
#[derive(Clone, Debug)]
pub struct SharedRacePredictor {
    track: Arc<Track>,
    rules: RaceConfig,
}

impl SharedRacePredictor {
    /// Returns the scene that a client shows before the first state arrives.
    pub fn waiting(&self) -> TableScene<RaceScene> {
        TableScene::before_the_first(RaceScene::default())
    }
}

impl Simulate for SharedRacePredictor {
    type State = TableScene<RaceScene>;
    type Input = race::Input;

    fn step(&self, scene: &mut Self::State, input: &race::Input, ticks: u32) {
        if scene.phase != Phase::Playing || scene.game.cars.is_empty() {
            return;
        }
        let car = EntityId(scene.seat);
        let predictor = RacePredictor { track: Arc::clone(&self.track), config: self.rules, car };
        predictor.step(&mut scene.game, input, ticks);
    }
}

impl ClientGame for SharedRace {
    const NUMBER: u8 = <Self as SharedGame>::NUMBER;
    const NAME: &'static str = <Self as SharedGame>::NAME;
    const TICK_RATE: TickRate = race::TICK_RATE;
    type Rules = SharedRacePredictor;
    type Scene = TableScene<RaceScene>;
    type Input = race::Input;

    fn own(scene: &Self::Scene) -> State<Vec2> {
        scene.game.cars.get(scene.seat as usize).map(race::Car::state).unwrap_or_default()
    }

    fn is_sound(scene: &Self::Scene) -> bool {
        scene.game.cars.len() == RaceConfig::default().cars as usize
            && (scene.seat as usize) < scene.game.cars.len()
    }
}

/// Two teams of tanks, until one has the score, or time is up. The server judges every hit.
#[derive(Clone, Debug)]
pub struct SharedTanks {
    pub rules: TanksConfig,
    /// A team wins with so many captured flags.
    pub captures: u32,
    /// Or with the higher score when so much time is up.
    pub time: Span,
}

impl Default for SharedTanks {
    /// Four against four for five minutes, or until three flags are captured.
    fn default() -> Self {
        let rules = TanksConfig { tanks: [4, 4], ..TanksConfig::default() };
        Self { rules, captures: 3, time: Span::from_secs(300) }
    }
}

/// What a client is shown of a match of tanks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TanksScene {
    pub tick: u64,
    pub tanks: Vec<SceneTank>,
    /// Position and velocity of every shot.
    pub shots: Vec<(Vec2, Vec2)>,
    /// Of red and blue: where the flag is, and the tank that carries it.
    pub flags: [(Vec2, Option<u32>); 2],
    /// Of red and blue: captured flags and kills.
    pub scores: [(u32, u32); 2],
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SceneTank {
    pub is_blue: bool,
    pub is_alive: bool,
    pub position: Vec2,
    pub heading: f64,
    pub velocity: Vec2,
    pub turn_rate: f64,
    pub kills: u32,
    pub deaths: u32,
}

impl SharedTanks {
    /// Returns the prediction that a client runs: its own tank, without obstacles.
    pub fn tracks(&self) -> SharedTanksPredictor {
        SharedTanksPredictor { rules: self.rules.clone() }
    }

    fn score(tanks: &Tanks, team: Team) -> (u32, u32) {
        let score = tanks.score(team);
        (score.captures, score.kills)
    }
}

impl SharedGame for SharedTanks {
    const NUMBER: u8 = 5;
    const NAME: &'static str = "tanks";
    type Game = Tanks;
    type Run = Match;
    type Scene = TanksScene;

    fn begin(&self, seed: u64) -> Option<Match> {
        Match::of_bots(self.rules.clone(), seed).ok()
    }

    fn seat(&self, run: &mut Match, seat: u32, driver: Seated<tanks::Input>) {
        let driver = match driver {
            Seated::Hands(input) => tanks::Driver::Hands(input),
            Seated::Bot { seed } => {
                let temperament = Temperament::ALL[seat as usize % Temperament::ALL.len()];
                tanks::Driver::Bot(tanks::Bot::new(temperament, Random::from_seed(seed).fork(seat.into())))
            }
        };
        run.seat(EntityId(seat), driver);
    }

    fn step(&self, run: &mut Match) {
        run.step();
    }

    fn game<'a>(&self, run: &'a Match) -> &'a Tanks {
        run.tanks()
    }

    fn inputs<'a>(&self, run: &'a Match) -> &'a [tanks::Input] {
        run.inputs()
    }

    fn recorder(&self, run: &Match) -> Recorder<Tanks> {
        run.recorder()
    }

    fn scene(&self, run: &Match) -> TanksScene {
        let world = run.tanks();
        let tank = |tank: &tanks::Tank| {
            let state = tank.state();
            SceneTank {
                is_blue: tank.team() == Team::Blue,
                is_alive: tank.is_alive(),
                position: state.position,
                heading: state.orientation,
                velocity: state.velocity,
                turn_rate: state.spin,
                kills: tank.kills(),
                deaths: tank.deaths(),
            }
        };
        let flag = |team| {
            let flag = world.flag(team);
            let carrier = match flag.place() {
                FlagPlace::Carried(by) => Some(by.0),
                FlagPlace::Home | FlagPlace::Dropped { .. } => None,
            };
            (flag.position(), carrier)
        };
        TanksScene {
            tick: world.tick(),
            tanks: world.tanks().iter().map(tank).collect(),
            shots: world.shots().iter().map(|shot| (shot.state().position, shot.state().velocity)).collect(),
            flags: [flag(Team::Red), flag(Team::Blue)],
            scores: [Team::Red, Team::Blue].map(|team| Self::score(world, team)),
        }
    }

    fn is_over(&self, run: &Match, _: &[u32]) -> bool {
        let world = run.tanks();
        let has_won = [Team::Red, Team::Blue].iter().any(|team| world.score(*team).captures >= self.captures);
        has_won || world.now() - SharedInstant::ZERO >= self.time
    }

    fn standings(&self, run: &Match) -> Vec<Standing> {
        let tanks = run.tanks().tanks().iter();
        let mut all: Vec<Standing> =
            tanks.map(|tank| Standing { seat: tank.id().0, score: tank.kills() as i32 }).collect();
        all.sort_by_key(|standing| (-standing.score, standing.seat));
        all
    }

    fn winner(&self, run: &Match) -> Option<u32> {
        let [red, blue] = [Team::Red, Team::Blue].map(|team| Self::score(run.tanks(), team));
        if !self.is_over(run, &[]) || red == blue {
            return None;
        }
        Some(u32::from(blue > red))
    }
}

/// A client's prediction of its own tank: as the game drives it where nothing is in the way. The
/// server's next state corrects what walls and hits change; all other tanks are shown as they were.
#[derive(Clone, Debug)]
pub struct SharedTanksPredictor {
    rules: TanksConfig,
}

impl SharedTanksPredictor {
    /// Returns the scene that a client shows before the first state arrives.
    pub fn waiting(&self) -> TableScene<TanksScene> {
        TableScene::before_the_first(TanksScene::default())
    }
}

impl Simulate for SharedTanksPredictor {
    type State = TableScene<TanksScene>;
    type Input = tanks::Input;

    fn step(&self, scene: &mut Self::State, input: &tanks::Input, ticks: u32) {
        let TableScene { phase, seat, game, .. } = scene;
        let Some(tank) = game.tanks.get_mut(*seat as usize) else { return };
        if *phase != Phase::Playing || !tank.is_alive {
            return;
        }
        let top = if input.throttle < 0.0 { self.rules.reverse_speed_max } else { self.rules.speed_max };
        tank.turn_rate = input.turn * self.rules.turn_rate_max;
        for _ in 0..ticks {
            let secs = tanks::TICK_RATE.step_secs();
            // The chord of the arc that a tick is.
            let middle = tank.heading + 0.5 * tank.turn_rate * secs;
            tank.position += Vec2::from_heading(middle) * (input.throttle * top * secs);
            tank.heading = rotation::wrap_angle(tank.heading + tank.turn_rate * secs);
        }
        tank.velocity = Vec2::from_heading(tank.heading) * (input.throttle * top);
        game.tick += u64::from(ticks);
    }
}

impl ClientGame for SharedTanks {
    const NUMBER: u8 = <Self as SharedGame>::NUMBER;
    const NAME: &'static str = <Self as SharedGame>::NAME;
    const TICK_RATE: TickRate = tanks::TICK_RATE;
    type Rules = SharedTanksPredictor;
    type Scene = TableScene<TanksScene>;
    type Input = tanks::Input;

    fn own(scene: &Self::Scene) -> State<Vec2> {
        let own = |tank: &SceneTank| {
            State::moving(tank.position, tank.velocity).with_heading(tank.heading, tank.turn_rate)
        };
        scene.game.tanks.get(scene.seat as usize).map(own).unwrap_or_default()
    }

    fn is_sound(scene: &Self::Scene) -> bool {
        (scene.seat as usize) < scene.game.tanks.len()
    }
}

impl WireState for TanksScene {
    fn write(&self, out: &mut Writer) {
        out.u64(self.tick).u8(self.tanks.len() as u8);
        for tank in &self.tanks {
            out.u8(u8::from(tank.is_blue) | u8::from(tank.is_alive) << 1);
            out.vector(tank.position).f64(tank.heading).vector(tank.velocity).f64(tank.turn_rate);
            out.u32(tank.kills).u32(tank.deaths);
        }
        out.u8(self.shots.len() as u8);
        for (position, velocity) in &self.shots {
            out.vector(*position).vector(*velocity);
        }
        for (position, carrier) in self.flags {
            out.vector(position).option(carrier, |out, carrier| {
                out.u32(carrier);
            });
        }
        for (captures, kills) in self.scores {
            out.u32(captures).u32(kills);
        }
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, BadMessage> {
        let (tick, count) = (from.u64()?, from.u8()?);
        if u32::from(count) > tanks::TANKS_MAX {
            return Err(BadMessage::Unknown(count));
        }
        let tank = |from: &mut Reader<'_>| -> Result<SceneTank, BadMessage> {
            let flags = from.u8()?;
            if flags > 3 {
                return Err(BadMessage::Unknown(flags));
            }
            Ok(SceneTank {
                is_blue: flags & 1 != 0,
                is_alive: flags & 2 != 0,
                position: from.vector()?,
                heading: from.f64()?,
                velocity: from.vector()?,
                turn_rate: from.f64()?,
                kills: from.u32()?,
                deaths: from.u32()?,
            })
        };
        let tanks = (0..count).map(|_| tank(from)).collect::<Result<_, _>>()?;
        let count = from.u8()?;
        let shots = (0..count).map(|_| Ok((from.vector()?, from.vector()?))).collect::<Result<_, _>>()?;
        let mut flag = || Ok((from.vector()?, from.option(Reader::u32)?));
        let flags = [flag()?, flag()?];
        let mut score = || Ok((from.u32()?, from.u32()?));
        let scores = [score()?, score()?];
        Ok(Self { tick: tick.min(1 << 40), tanks, shots, flags, scores })
    }
}
