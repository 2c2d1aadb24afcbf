use std::sync::Arc;

use fairpath::State;
use fairpath::number::EntityId;
use fairpath::random::Random;
use fairpath::time::{SharedInstant, TickRate};
use fairpath::vector::Vec2;
use fairpath_games::race::{
    Bot, Car, Driver, DrivingPlan, Heat, Input, Race as World, RaceConfig, RacePredictor, RaceScene, Style,
    TICK_RATE, Track,
};

use super::{Hands, PlayedGame, Sprite, Thing, closed};

/// Four cars on a track. The player drives the first.
pub(crate) struct RaceGame {
    heat: Heat,
    bot: Bot,
}

const OWN: EntityId = EntityId(0);

impl RaceGame {
    pub(crate) fn new(seed: u64) -> Self {
        let track = Arc::new(Track::generated(seed));
        let config = RaceConfig { laps: None, ..RaceConfig::default() };
        let mut heat = Heat::of_bots(Arc::clone(&track), config, seed).expect("the default rules are valid");
        heat.seat(OWN, Driver::Hands(Input::IDLE));
        let plan = Arc::new(DrivingPlan::new(&track, &config.car, Style::ALL[0]));
        Self { heat, bot: Bot::new(plan, config.car, Random::from_seed(seed).fork(u64::MAX)) }
    }

    /// Returns the race that a screen shows.
    fn resumed(&self, shown: &RaceScene) -> World {
        shown.resume(self.heat.race().track(), *self.heat.race().config())
    }
}

impl PlayedGame for RaceGame {
    type Rules = RacePredictor;
    const TICK_RATE: TickRate = TICK_RATE;
    const THRESHOLD: f64 = 0.23;

    fn rules(&self) -> RacePredictor {
        let race = self.heat.race();
        RacePredictor { track: Arc::clone(race.track()), config: *race.config(), car: OWN }
    }

    fn idle(&self) -> Input {
        Input::IDLE
    }

    fn truth(&self) -> RaceScene {
        RaceScene::of(self.heat.race())
    }

    fn serve(&mut self, input: &Input) {
        self.heat.seat(OWN, Driver::Hands(*input));
        self.heat.step();
    }

    fn decide(&mut self, hands: Hands, now: SharedInstant, shown: &RaceScene) -> Input {
        if !hands.is_bot {
            let [throttle, brake] = [hands.ahead, -hands.ahead].map(|foot| foot.max(0.0));
            return Input { throttle, brake, steer: -hands.right };
        }
        let shown = self.resumed(shown);
        match shown.look(OWN) {
            Some(mut view) => {
                view.now = now;
                self.bot.drive(shown.track(), &view)
            }
            None => Input::IDLE,
        }
    }

    fn own(shown: &RaceScene) -> State<Vec2> {
        shown.cars[OWN.0 as usize].state()
    }

    fn others(&self, shown: &RaceScene) -> Vec<(u32, Vec2)> {
        let others = shown.cars.iter().filter(|car| car.id() != OWN);
        others.map(|car| (car.id().0, car.state().position)).collect()
    }

    fn rival(&self, scene: &RaceScene) -> Option<Thing> {
        self.things(scene, &Self::own(scene)).into_iter().find(|thing| thing.number == OWN.0 + 1)
    }

    fn things(&self, shown: &RaceScene, own: &State<Vec2>) -> Vec<Thing> {
        let thing = |car: &Car| {
            let is_own = car.id() == OWN;
            let state = if is_own { *own } else { car.state() };
            Thing {
                team: car.id().0,
                number: car.id().0,
                is_own,
                ..Thing::new(Sprite::Car, state.position, state.orientation)
            }
        };
        shown.cars.iter().map(thing).collect()
    }

    fn camera(&self, own: &State<Vec2>) -> (Vec2, f64) {
        (own.position, 160.0)
    }

    /// Laps done, place, the last lap in seconds or 0, and the speed.
    fn status(&self, shown: &RaceScene) -> [f64; 4] {
        let shown = self.resumed(shown);
        let own = &shown.cars()[OWN.0 as usize];
        let place = shown.standings().iter().position(|id| *id == OWN).map_or(0, |index| index + 1);
        let last = own.last_lap().map_or(0.0, |lap| lap.as_secs_f64());
        [own.laps_done().into(), place as f64, last, own.state().signed_speed()]
    }

    fn ground(&self) -> Vec<Vec<Vec2>> {
        let track = self.heat.race().track();
        [track.left_wall().collect(), track.right_wall().collect()].into_iter().map(closed).collect()
    }
}
