use fairpath::State;
use fairpath::random::Random;
use fairpath::time::{SharedInstant, TickRate};
use fairpath::vector::{Vec2, Vector};
use fairpath_games::jet_car::{Bot, Input, JetCar as Server, JetCarConfig, JetCarScene, Skill, TICK_RATE};

use super::{Hands, PlayedGame, Sprite, Thing};

/// A car with thrusters and no brakes, among falling obstructions.
pub(crate) struct JetCarGame {
    rules: JetCarConfig,
    server: Server,
    bot: Bot,
}

impl JetCarGame {
    pub(crate) fn new(seed: u64) -> Self {
        let rules = JetCarConfig::default();
        let server = Server::new(rules, seed).expect("the default rules are valid");
        let bot = Bot::new(Skill::default(), Random::from_seed(seed).fork(u64::MAX));
        Self { rules, server, bot }
    }

    /// Converts to the page's coordinates, where y points up.
    fn upright(&self, place: Vec2) -> Vec2 {
        Vec2::new(place.x, self.rules.height - place.y)
    }
}

impl PlayedGame for JetCarGame {
    type Rules = JetCarConfig;
    const TICK_RATE: TickRate = TICK_RATE;
    const INTERPOLATES: bool = false;
    const THRESHOLD: f64 = 1.8;

    fn rules(&self) -> JetCarConfig {
        self.rules
    }

    fn idle(&self) -> Input {
        Input::IDLE
    }

    fn truth(&self) -> JetCarScene {
        self.server.scene().clone()
    }

    fn serve(&mut self, input: &Input) {
        self.server.step(*input, 1);
    }

    fn decide(&mut self, hands: Hands, now: SharedInstant, shown: &JetCarScene) -> Input {
        if hands.is_bot {
            return self.bot.drive(&self.rules, now, shown);
        }
        Input::new(hands.right, -hands.ahead)
    }

    fn own(scene: &JetCarScene) -> State<Vec2> {
        scene.car.state()
    }

    fn others(&self, scene: &JetCarScene) -> Vec<(u32, Vec2)> {
        scene.obstructions.iter().map(|one| (one.number, one.position)).collect()
    }

    fn things(&self, shown: &JetCarScene, own: &State<Vec2>) -> Vec<Thing> {
        let obstruction = |one: &fairpath_games::jet_car::Obstruction| {
            let extent = one.extent(&self.rules);
            Thing {
                sizes: [extent.x, extent.y],
                team: one.pace as u32,
                number: one.number,
                ..Thing::new(Sprite::Obstruction, self.upright(one.position), 0.0)
            }
        };
        let mut things: Vec<Thing> = shown.obstructions.iter().map(obstruction).collect();
        let size = self.rules.car_size;
        things.push(Thing {
            sizes: [size, size],
            is_own: true,
            ..Thing::new(Sprite::JetCar, self.upright(own.position), 0.0)
        });
        things
    }

    fn camera(&self, _own: &State<Vec2>) -> (Vec2, f64) {
        (Vec2::new(self.rules.width, self.rules.height) * 0.5, 1.1 * self.rules.width)
    }

    /// Score, cars left, seconds left, and whether it is over.
    fn status(&self, shown: &JetCarScene) -> [f64; 4] {
        let left = f64::from(self.rules.secs) - shown.now().as_secs_f64();
        let is_over = f64::from(u8::from(shown.is_over(&self.rules)));
        [f64::from(shown.score), shown.lives.into(), left.max(0.0), is_over]
    }

    fn wind(&self, shown: &JetCarScene) -> Vec2 {
        shown.gust.map_or(Vec2::ZERO, |gust| Vec2::new(gust.push.x, -gust.push.y))
    }

    fn ground(&self) -> Vec<Vec<Vec2>> {
        let Vec2 { x, y } = Vec2::new(self.rules.width, self.rules.height);
        [0.0, x].map(|wall| vec![Vec2::new(wall, 0.0), Vec2::new(wall, y)]).to_vec()
    }
}
