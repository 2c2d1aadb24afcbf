use fairpath::State;
use fairpath::number::EntityId;
use fairpath::random::Random;
use fairpath::time::{SharedInstant, TickRate};
use fairpath::vector::Vec2;
use fairpath_compensate::Simulate;
use fairpath_games::tanks::{
    Bot, Driver, Input, Map, Match, TICK_RATE, Tanks as World, TanksConfig, Team, Temperament,
};

use super::{Hands, PlayedGame, Sprite, Thing, closed};

/// Three tanks against three. The player drives one of them.
pub(super) struct TanksGame {
    game: Match,
    bot: Bot,
}

/// The rules for compensation: other tanks keep their last input; the own is known exactly.
pub(super) struct Rules;

const OWN: EntityId = EntityId(0);

impl Simulate for Rules {
    type State = World;
    type Input = Input;

    fn step(&self, world: &mut World, input: &Input, ticks: u32) {
        let mut inputs: Vec<Input> = world.tanks().iter().map(|tank| tank.input()).collect();
        // No other tank is assumed to fire: a shot that was not fired would be hard to take back.
        inputs.iter_mut().for_each(|input| input.fire = false);
        inputs[OWN.0 as usize] = *input;
        (0..ticks).for_each(|_| world.step(&inputs));
    }
}

impl TanksGame {
    pub(super) fn new(seed: u64) -> Self {
        let config = TanksConfig { tanks: [3, 3], ..TanksConfig::default() };
        let mut game = Match::of_bots(config, seed).expect("the default rules are valid");
        game.seat(OWN, Driver::Hands(Input::IDLE));
        Self { game, bot: Bot::new(Temperament::Hunter, Random::from_seed(seed).fork(u64::MAX)) }
    }
}

impl PlayedGame for TanksGame {
    type Rules = Rules;
    const TICK_RATE: TickRate = TICK_RATE;

    fn rules(&self) -> Rules {
        Rules
    }

    fn idle(&self) -> Input {
        Input::IDLE
    }

    fn truth(&self) -> World {
        self.game.tanks().clone()
    }

    fn serve(&mut self, input: &Input) {
        self.game.seat(OWN, Driver::Hands(*input));
        self.game.step();
    }

    fn decide(&mut self, hands: Hands, now: SharedInstant, shown: &World) -> Input {
        if !hands.is_bot {
            return Input { throttle: hands.ahead, turn: -hands.right, fire: hands.fires };
        }
        match shown.look(OWN) {
            // The bot sees the screen, but it has its own clock.
            Some(mut view) => {
                view.now = now;
                self.bot.drive(shown.map(), &view)
            }
            None => Input::IDLE,
        }
    }

    fn own(world: &World) -> State<Vec2> {
        world.tanks()[OWN.0 as usize].state()
    }

    fn others(&self, world: &World) -> Vec<(u32, Vec2)> {
        let others = world.tanks().iter().filter(|tank| tank.id() != OWN && tank.is_alive());
        others.map(|tank| (tank.id().0, tank.state().position)).collect()
    }

    fn things(&self, shown: &World, own: &State<Vec2>) -> Vec<Thing> {
        let mut things: Vec<Thing> = Vec::new();
        for team in Team::BOTH {
            let flag = Thing::new(Sprite::Flag, shown.flag(team).position(), 0.0);
            things.push(Thing { team: team.index() as u32, ..flag });
        }
        for tank in shown.tanks().iter().filter(|tank| tank.is_alive()) {
            let is_own = tank.id() == OWN;
            let state = if is_own { *own } else { tank.state() };
            let (team, drawn) = (tank.team(), Thing::new(Sprite::Tank, state.position, state.orientation));
            things.push(Thing { team: team.index() as u32, is_own, ..drawn });
        }
        for shot in shown.shots() {
            let team = shot.team().index() as u32;
            things.push(Thing { team, ..Thing::new(Sprite::Shot, shot.state().position, 0.0) });
        }
        things
    }

    fn camera(&self, own: &State<Vec2>) -> (Vec2, f64) {
        (own.position, 150.0)
    }

    /// Tanks destroyed, times destroyed, captures of the own team and of the other.
    fn status(&self, shown: &World) -> [f64; 4] {
        let own = &shown.tanks()[OWN.0 as usize];
        let captures = Team::BOTH.map(|team| f64::from(shown.score(team).captures));
        [own.kills().into(), own.deaths().into(), captures[0], captures[1]]
    }

    fn ground(&self) -> Vec<Vec<Vec2>> {
        field(self.game.tanks().map())
    }
}

/// Returns the walls and boxes of a field, as closed lines.
pub(crate) fn field(map: &Map) -> Vec<Vec<Vec2>> {
    let half = map.half_side();
    let corner = |x: f64, y: f64| Vec2::new(x * half, y * half);
    let walls = vec![corner(-1.0, -1.0), corner(1.0, -1.0), corner(1.0, 1.0), corner(-1.0, 1.0)];
    let boxes = map.boxes().iter().map(|one| one.corners().to_vec());
    std::iter::once(walls).chain(boxes).map(closed).collect()
}
