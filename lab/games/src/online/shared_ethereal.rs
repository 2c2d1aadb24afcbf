//! Ethereal and sailing as games that clients play together.

use std::sync::Arc;

use fairpath::State;
use fairpath::number::EntityId;
use fairpath::random::Random;
use fairpath::time::TickRate;
use fairpath::vector::Vec2;
use fairpath_compensate::Simulate;

use super::hosted::ClientGame;
use super::message::{BadMessage, Reader, WireState, Writer};
use super::table::{Phase, Seated, SharedGame, Standing, TableScene};
use crate::ethereal::{self, Body, Bot, Ethereal, EtherealConfig, Ground, ItemKind, Map, Match, Temperament};
use crate::sailing::{self, Agent, Regatta, Sailing, SailingConfig, SailingPredictor, SailingScene, Trim};
use crate::shared::{Recorder, Team};

/// Two teams of Ethereal on its fixed map, until one has the points. The server judges every shot.
#[derive(Clone, Debug)]
pub struct SharedEthereal {
    rules: EtherealConfig,
    map: Arc<Map>,
}

/// What a client is shown of a match of Ethereal.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EtherealScene {
    pub tick: u64,
    pub players: Vec<ScenePlayer>,
    /// The items on the ground, and whether each restores health; the others restore ammunition.
    pub items: Vec<(Vec2, bool)>,
    /// Of red and blue.
    pub points: [u32; 2],
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ScenePlayer {
    pub is_blue: bool,
    pub is_alive: bool,
    pub position: Vec2,
    pub velocity: Vec2,
    /// Where it aims.
    pub aim: Vec2,
    pub health: u32,
    pub ammo: u32,
    pub kills: u32,
    pub deaths: u32,
}

impl SharedEthereal {
    /// Returns a match to so many points; `None` if there must be more.
    pub fn to_points(points: u32) -> Option<Self> {
        let rules =
            EtherealConfig { ground: Ground::Crossing, score_limit: points, ..EtherealConfig::default() };
        let map = Arc::new(Ethereal::new(rules.clone(), 0).ok()?.map().clone());
        Some(Self { rules, map })
    }

    pub fn config(&self) -> &EtherealConfig {
        &self.rules
    }

    /// Returns the prediction that a client runs: its own player, by the game's own step.
    pub fn legs(&self) -> SharedEtherealPredictor {
        SharedEtherealPredictor { map: Arc::clone(&self.map) }
    }
}

impl SharedGame for SharedEthereal {
    const NUMBER: u8 = 6;
    const NAME: &'static str = "ethereal";
    type Game = Ethereal;
    type Run = (Match, u64);
    type Scene = EtherealScene;

    fn begin(&self, seed: u64) -> Option<Self::Run> {
        Some((Match::of_bots(self.rules.clone(), seed).ok()?, seed))
    }

    fn seat(&self, (game, _): &mut Self::Run, seat: u32, driver: Seated<ethereal::Input>) {
        let driver = match driver {
            Seated::Hands(input) => ethereal::Driver::Hands(input),
            Seated::Bot { seed } => {
                let temperament = Temperament::ALL[seat as usize % Temperament::ALL.len()];
                let dice = Random::from_seed(seed);
                ethereal::Driver::bot(Bot::new(temperament, dice.fork(1 << 32), dice.fork(seat.into())))
            }
        };
        game.seat(EntityId(seat), driver);
    }

    fn step(&self, (game, _): &mut Self::Run) {
        game.step();
    }

    fn game<'a>(&self, (game, _): &'a Self::Run) -> &'a Ethereal {
        game.ethereal()
    }

    fn inputs<'a>(&self, (game, _): &'a Self::Run) -> &'a [ethereal::Input] {
        game.inputs()
    }

    fn recorder(&self, (game, seed): &Self::Run) -> Recorder<Ethereal> {
        Recorder::new(game.ethereal(), self.rules.clone(), *seed)
    }

    fn scene(&self, (game, _): &Self::Run) -> EtherealScene {
        let world = game.ethereal();
        let player = |player: &ethereal::Player| ScenePlayer {
            is_blue: player.team() == Team::Blue,
            is_alive: player.is_alive(),
            position: player.body().position,
            velocity: player.body().velocity,
            aim: player.input().aim,
            health: player.health(),
            ammo: player.ammo(),
            kills: player.kills(),
            deaths: player.deaths(),
        };
        let items = world.items().iter().filter(|item| item.is_there(world.tick()));
        EtherealScene {
            tick: world.tick(),
            players: world.players().iter().map(player).collect(),
            items: items.map(|item| (item.position(), item.kind() == ItemKind::Health)).collect(),
            points: [Team::Red, Team::Blue].map(|team| world.points(team)),
        }
    }

    fn is_over(&self, run: &Self::Run, _: &[u32]) -> bool {
        self.winner(run).is_some()
    }

    fn standings(&self, (game, _): &Self::Run) -> Vec<Standing> {
        let players = game.ethereal().players().iter();
        let mut all: Vec<Standing> =
            players.map(|player| Standing { seat: player.id().0, score: player.kills() as i32 }).collect();
        all.sort_by_key(|standing| (-standing.score, standing.seat));
        all
    }

    fn winner(&self, (game, _): &Self::Run) -> Option<u32> {
        let has_won = |team: &Team| game.ethereal().rounds_won(*team) > 0;
        [Team::Red, Team::Blue].iter().position(has_won).map(|team| team as u32)
    }
}

/// A client's prediction of its own player; the others are shown as they were.
#[derive(Clone, Debug)]
pub struct SharedEtherealPredictor {
    map: Arc<Map>,
}

impl SharedEtherealPredictor {
    /// Returns the scene that a client shows before the first state arrives.
    pub fn waiting(&self) -> TableScene<EtherealScene> {
        TableScene::before_the_first(EtherealScene::default())
    }
}

impl Simulate for SharedEtherealPredictor {
    type State = TableScene<EtherealScene>;
    type Input = ethereal::Input;

    fn step(&self, scene: &mut Self::State, input: &ethereal::Input, ticks: u32) {
        let TableScene { phase, seat, game, .. } = scene;
        let Some(player) = game.players.get_mut(*seat as usize) else { return };
        if *phase != Phase::Playing || !player.is_alive {
            return;
        }
        let mut body = Body { position: player.position, velocity: player.velocity };
        for _ in 0..ticks {
            body = body.step(input.keys, &self.map);
        }
        (player.position, player.velocity, player.aim) = (body.position, body.velocity, input.aim);
        game.tick += u64::from(ticks);
    }
}

impl ClientGame for SharedEthereal {
    const NUMBER: u8 = <Self as SharedGame>::NUMBER;
    const NAME: &'static str = <Self as SharedGame>::NAME;
    const TICK_RATE: TickRate = ethereal::TICK_RATE;
    type Rules = SharedEtherealPredictor;
    type Scene = TableScene<EtherealScene>;
    type Input = ethereal::Input;

    fn own(scene: &Self::Scene) -> State<Vec2> {
        let own = |player: &ScenePlayer| State::moving(player.position, player.velocity);
        scene.game.players.get(scene.seat as usize).map(own).unwrap_or_default()
    }

    fn is_sound(scene: &Self::Scene) -> bool {
        (scene.seat as usize) < scene.game.players.len()
    }
}

impl WireState for EtherealScene {
    fn write(&self, out: &mut Writer) {
        out.u64(self.tick).u8(self.players.len() as u8);
        for player in &self.players {
            out.u8(u8::from(player.is_blue) | u8::from(player.is_alive) << 1);
            out.vector(player.position).vector(player.velocity).vector(player.aim);
            for count in [player.health, player.ammo, player.kills, player.deaths] {
                out.u32(count);
            }
        }
        out.u8(self.items.len() as u8);
        for (position, is_health) in &self.items {
            out.vector(*position).u8((*is_health).into());
        }
        for points in self.points {
            out.u32(points);
        }
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, BadMessage> {
        let (tick, count) = (from.u64()?, from.u8()?);
        if u32::from(count) > ethereal::PLAYERS_MAX {
            return Err(BadMessage::Unknown(count));
        }
        let player = |from: &mut Reader<'_>| -> Result<ScenePlayer, BadMessage> {
            let flags = from.u8()?;
            if flags > 3 {
                return Err(BadMessage::Unknown(flags));
            }
            Ok(ScenePlayer {
                is_blue: flags & 1 != 0,
                is_alive: flags & 2 != 0,
                position: from.vector()?,
                velocity: from.vector()?,
                aim: from.vector()?,
                health: from.u32()?,
                ammo: from.u32()?,
                kills: from.u32()?,
                deaths: from.u32()?,
            })
        };
        let players = (0..count).map(|_| player(from)).collect::<Result<_, _>>()?;
        let count = from.u8()?;
        let items = (0..count).map(|_| Ok((from.vector()?, from.flag()?))).collect::<Result<_, _>>()?;
        let points = [from.u32()?, from.u32()?];
        Ok(Self { tick: tick.min(1 << 40), players, items, points })
    }
}

/// A regatta to the buoy for several boats, in any wind and current.
#[derive(Clone, Debug)]
pub struct SharedSailing {
    pub rules: SailingConfig,
    /// How bots trim their sails.
    pub trim: Trim,
}

impl SharedSailing {
    /// Returns the prediction that a client runs.
    pub fn helm(&self) -> SharedSailingPredictor {
        SharedSailingPredictor { rules: self.rules.clone() }
    }
}

impl SharedGame for SharedSailing {
    const NUMBER: u8 = 7;
    const NAME: &'static str = "sailing";
    type Game = Sailing;
    type Run = (Regatta, u64);
    type Scene = SailingScene;

    fn begin(&self, seed: u64) -> Option<Self::Run> {
        Some((Regatta::of_agents(self.rules.clone(), seed, self.trim).ok()?, seed))
    }

    fn seat(&self, (regatta, _): &mut Self::Run, seat: u32, driver: Seated<sailing::Input>) {
        let driver = match driver {
            Seated::Hands(input) => sailing::Driver::Hands(input),
            Seated::Bot { .. } => sailing::Driver::Agent(Agent::new(self.trim)),
        };
        regatta.seat(seat as usize, driver);
    }

    fn step(&self, (regatta, _): &mut Self::Run) {
        regatta.step();
    }

    fn game<'a>(&self, (regatta, _): &'a Self::Run) -> &'a Sailing {
        regatta.race()
    }

    fn inputs<'a>(&self, (regatta, _): &'a Self::Run) -> &'a [sailing::Input] {
        regatta.inputs()
    }

    fn recorder(&self, (regatta, seed): &Self::Run) -> Recorder<Sailing> {
        Recorder::new(regatta.race(), self.rules.clone(), *seed)
    }

    fn scene(&self, (regatta, _): &Self::Run) -> SailingScene {
        regatta.race().scene().clone()
    }

    /// Ends when the clients' boats are home, and at least one boat is.
    fn is_over(&self, run: &Self::Run, seats: &[u32]) -> bool {
        let boats = &run.0.race().scene().boats;
        let is_home = |seat: &u32| boats.get(*seat as usize).is_none_or(|boat| boat.finished_at.is_some());
        run.0.race().is_over() || self.winner(run).is_some() && seats.iter().all(is_home)
    }

    /// Boats that are home, the first one first, then the others by their way to the buoy. The
    /// score is 1 for a boat that is home.
    fn standings(&self, (regatta, _): &Self::Run) -> Vec<Standing> {
        use fairpath::vector::Vector;
        let boats = &regatta.race().scene().boats;
        let mut order: Vec<usize> = (0..boats.len()).collect();
        let way = |seat: &usize| boats[*seat].position.distance(self.rules.buoy);
        order.sort_by(|one, other| {
            let home = |seat: &usize| boats[*seat].finished_at.unwrap_or(u64::MAX);
            home(one).cmp(&home(other)).then(way(one).total_cmp(&way(other)))
        });
        let score = |seat: usize| i32::from(boats[seat].finished_at.is_some());
        order.into_iter().map(|seat| Standing { seat: seat as u32, score: score(seat) }).collect()
    }

    fn winner(&self, run: &Self::Run) -> Option<u32> {
        self.standings(run).first().filter(|first| first.score > 0).map(|first| first.seat)
    }
}

/// A client's prediction of a regatta. Before the start nothing moves.
#[derive(Clone, Debug)]
pub struct SharedSailingPredictor {
    rules: SailingConfig,
}

impl Simulate for SharedSailingPredictor {
    type State = TableScene<SailingScene>;
    type Input = sailing::Input;

    fn step(&self, scene: &mut Self::State, input: &sailing::Input, ticks: u32) {
        if scene.phase == Phase::Playing {
            let helm = SailingPredictor { rules: self.rules.clone(), seat: scene.seat as usize };
            helm.step(&mut scene.game, input, ticks);
        }
    }
}

impl ClientGame for SharedSailing {
    const NUMBER: u8 = <Self as SharedGame>::NUMBER;
    const NAME: &'static str = <Self as SharedGame>::NAME;
    const TICK_RATE: TickRate = sailing::TICK_RATE;
    type Rules = SharedSailingPredictor;
    type Scene = TableScene<SailingScene>;
    type Input = sailing::Input;

    fn own(scene: &Self::Scene) -> State<Vec2> {
        scene.game.boats.get(scene.seat as usize).map(sailing::Boat::state).unwrap_or_default()
    }

    fn is_sound(scene: &Self::Scene) -> bool {
        (scene.seat as usize) < scene.game.boats.len()
    }
}
