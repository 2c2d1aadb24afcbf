use fairpath::State;
use fairpath::number::EntityId;
use fairpath::rotation::wrap_angle;
use fairpath::time::{SharedInstant, TickRate};
use fairpath::vector::{Vec2, Vector};
use fairpath_compensate::Simulate;
use fairpath_games::tanks::{
    Driver, Ground, Input, Map, Match, Rectangle, Script, TANK_LENGTH, TICK_RATE, Tanks as World, TanksConfig,
};

use super::wire::Reach;
use super::{Hands, PlayedGame, Sprite, Thing, closed};

/// Two tanks: the player's, and a rival that drives at random and does not shoot. Tanks fire a beam
/// that arrives at once, so that only lag decides whether a shot hits.
pub(super) struct TanksGame {
    game: Match,
}

/// The rules for prediction: the other tank keeps its last input; the own is known exactly.
pub(super) struct Rules;

const OWN: EntityId = EntityId(0);
const RIVAL: EntityId = EntityId(1);
/// Half the side of the field. The rival turns round 80 units before a wall, and so stays near the
/// middle.
const HALF_SIDE: f64 = 125.0;
/// How far a beam reaches, and how near to a tank's centre it must pass.
const BEAM_LENGTH: f64 = 120.0;
const HIT_RADIUS: f64 = 0.5 * TANK_LENGTH;
/// The bot keeps this distance from the rival.
const FIGHT_AT: f64 = 38.0;

impl Simulate for Rules {
    type State = World;
    type Input = Input;

    fn step(&self, world: &mut World, input: &Input, ticks: u32) {
        let mut inputs: Vec<Input> = world.tanks().iter().map(|tank| tank.input()).collect();
        inputs[OWN.0 as usize] = input.firing(false);
        (0..ticks).for_each(|_| world.step(&inputs));
    }
}

impl TanksGame {
    pub(super) fn new(seed: u64) -> Self {
        let wall = |x: f64, y: f64, heading: f64| Rectangle::new(Vec2::new(x, y), heading, 22.0, 5.0);
        let boxes =
            vec![wall(0.0, 34.0, 0.0), wall(0.0, -34.0, 0.0), wall(-24.0, 0.0, 1.1), wall(26.0, 6.0, -0.7)];
        let bases = [Vec2::new(-80.0, 0.0), Vec2::new(80.0, 0.0)];
        let map = Map::new(HALF_SIDE, boxes, bases).expect("the map is sound");
        let config = TanksConfig { tanks: [1, 1], ground: Ground::Given(map), ..TanksConfig::default() };
        let game = Match::new(config, seed, |_, tank, random| match tank {
            OWN => Driver::Hands(Input::IDLE),
            _ => Driver::Script(Script::random(random)),
        });
        Self { game: game.expect("the default rules are valid") }
    }

    fn map(&self) -> &Map {
        self.game.tanks().map()
    }
}

impl PlayedGame for TanksGame {
    type Rules = Rules;
    const TICK_RATE: TickRate = TICK_RATE;
    const PREDICTS_OTHERS: bool = false;

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
        self.game.seat(OWN, Driver::Hands(input.firing(false)));
        self.game.step();
    }

    fn decide(&mut self, hands: Hands, _: SharedInstant, _: &World) -> Input {
        Input { throttle: hands.ahead, turn: -hands.right, fire: hands.fires }
    }

    /// Turns towards the rival on the screen, keeps its distance, and fires when it is in line.
    fn aim(&self, own: &State<Vec2>, others: &[(u32, Vec2)]) -> Option<Input> {
        let (_, rival) = others.first()?;
        let way = *rival - own.position;
        let off = wrap_angle(way.heading() - own.orientation);
        let gap = way.length();
        let throttle = if off.abs() > 0.8 { 0.4 } else { ((gap - FIGHT_AT) / 12.0).clamp(-0.6, 1.0) };
        let is_in_line = self.reach(own, others).is_hit;
        Some(Input { throttle, turn: (4.0 * off).clamp(-1.0, 1.0), fire: is_in_line })
    }

    fn fires(input: &Input) -> bool {
        input.fire
    }

    fn reach(&self, own: &State<Vec2>, others: &[(u32, Vec2)]) -> Reach {
        let ahead = Vec2::from_heading(own.orientation);
        let end = own.position + ahead * BEAM_LENGTH;
        let free = self.map().first_hit(own.position, end).map_or(1.0, |(share, _)| share) * BEAM_LENGTH;
        let meets = |(_, place): &(u32, Vec2)| {
            let way = *place - own.position;
            let along = way.dot(ahead);
            let beside = (way - ahead * along).length();
            (along > 0.0 && along <= free && beside <= HIT_RADIUS).then_some(along)
        };
        let hit = others.iter().filter_map(meets).reduce(f64::min);
        Reach { length: hit.unwrap_or(free), is_hit: hit.is_some() }
    }

    fn own(world: &World) -> State<Vec2> {
        world.tanks()[OWN.0 as usize].state()
    }

    fn others(&self, world: &World) -> Vec<(u32, Vec2)> {
        let others = world.tanks().iter().filter(|tank| tank.id() != OWN);
        others.map(|tank| (tank.id().0, tank.state().position)).collect()
    }

    fn rival(&self, world: &World) -> Option<Thing> {
        self.things(world, &Self::own(world)).into_iter().find(|thing| thing.number == RIVAL.0)
    }

    fn things(&self, shown: &World, own: &State<Vec2>) -> Vec<Thing> {
        let tank = |tank: &fairpath_games::tanks::Tank| {
            let is_own = tank.id() == OWN;
            let state = if is_own { *own } else { tank.state() };
            let drawn = Thing::new(Sprite::Tank, state.position, state.orientation);
            Thing { team: tank.team().index() as u32, number: tank.id().0, is_own, ..drawn }
        };
        shown.tanks().iter().map(tank).collect()
    }

    fn camera(&self, own: &State<Vec2>) -> (Vec2, f64) {
        (own.position, 80.0)
    }

    /// Nothing but shots counts here; the scene adds them.
    fn status(&self, _: &World) -> [f64; 4] {
        [0.0; 4]
    }

    fn ground(&self) -> Vec<Vec<Vec2>> {
        field(self.map())
    }
}

/// Returns the walls and boxes of a field, as closed lines: first the outline.
pub(crate) fn field(map: &Map) -> Vec<Vec<Vec2>> {
    let half = map.half_side();
    let corner = |x: f64, y: f64| Vec2::new(x * half, y * half);
    let walls = vec![corner(-1.0, -1.0), corner(1.0, -1.0), corner(1.0, 1.0), corner(-1.0, 1.0)];
    let boxes = map.boxes().iter().map(|one| one.corners().to_vec());
    std::iter::once(walls).chain(boxes).map(closed).collect()
}
