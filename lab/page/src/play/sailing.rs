use fairpath::State;
use fairpath::time::{SharedInstant, TickRate};
use fairpath::vector::{Vec2, Vector};
use fairpath_games::sailing::{
    Agent, Input, Sailing as Server, SailingConfig, SailingPredictor, SailingScene, TICK_RATE, Trim, Wind,
};

use super::{Hands, PlayedGame, Sprite, Thing};

/// The player's boat, and an opponent that sails optimally.
pub(crate) struct SailingGame {
    rules: SailingConfig,
    server: Server,
    rival: Agent,
    bot: Agent,
    sheet: f64,
}

const OWN: usize = 0;
/// Speed at which the player lets the sheet out: all of it in two seconds.
const SHEET_PER_TICK: f64 = 0.01;

impl SailingGame {
    pub(crate) fn new(seed: u64) -> Self {
        let rules = SailingConfig { boats: 2, wind: Wind::west_and_south(20.0), ..SailingConfig::default() };
        let server = Server::new(rules.clone(), seed).expect("the default rules are valid");
        Self { rules, server, rival: Agent::new(Trim::Optimal), bot: Agent::new(Trim::Optimal), sheet: 0.5 }
    }
}

impl PlayedGame for SailingGame {
    type Rules = SailingPredictor;
    const TICK_RATE: TickRate = TICK_RATE;
    const THRESHOLD: f64 = 1.2;

    fn rules(&self) -> SailingPredictor {
        SailingPredictor { rules: self.rules.clone(), seat: OWN }
    }

    fn idle(&self) -> Input {
        Input::new(self.sheet, 0.0)
    }

    fn truth(&self) -> SailingScene {
        self.server.scene().clone()
    }

    fn serve(&mut self, input: &Input) {
        let scene = self.server.scene();
        let rival = self.rival.sail(&self.rules, scene.now(), scene, OWN + 1);
        self.server.step(&[*input, rival], 1);
    }

    fn decide(&mut self, hands: Hands, now: SharedInstant, shown: &SailingScene) -> Input {
        if hands.is_bot {
            return self.bot.sail(&self.rules, now, shown, OWN);
        }
        self.sheet = (self.sheet + hands.ahead * SHEET_PER_TICK).clamp(0.0, 1.0);
        Input::new(self.sheet, -hands.right)
    }

    fn own(scene: &SailingScene) -> State<Vec2> {
        scene.boats[OWN].state()
    }

    fn others(&self, scene: &SailingScene) -> Vec<(u32, Vec2)> {
        (0..).zip(&scene.boats).skip(OWN + 1).map(|(number, boat)| (number, boat.position)).collect()
    }

    fn rival(&self, scene: &SailingScene) -> Option<Thing> {
        let is_rival = |thing: &Thing| thing.kind as u8 == Sprite::Boat as u8 && !thing.is_own;
        self.things(scene, &Self::own(scene)).into_iter().find(is_rival)
    }

    fn things(&self, shown: &SailingScene, own: &State<Vec2>) -> Vec<Thing> {
        let buoy =
            Thing { sizes: [self.rules.buoy_radius; 2], ..Thing::new(Sprite::Buoy, self.rules.buoy, 0.0) };
        let boat = |(seat, boat): (usize, &fairpath_games::sailing::Boat)| {
            let is_own = seat == OWN;
            let (position, heading) =
                if is_own { (own.position, own.orientation) } else { (boat.position, boat.heading) };
            Thing {
                sizes: [boat.sail, f64::from(u8::from(boat.is_tight))],
                team: seat as u32,
                number: seat as u32,
                is_own,
                ..Thing::new(Sprite::Boat, position, heading)
            }
        };
        // The own boat comes last, so that it is drawn on top.
        std::iter::once(buoy).chain(shown.boats.iter().enumerate().rev().map(boat)).collect()
    }

    fn camera(&self, own: &State<Vec2>) -> (Vec2, f64) {
        (own.position, 260.0)
    }

    /// Seconds, feet to the buoy, the opponent's, and how far the sheet is out.
    fn status(&self, shown: &SailingScene) -> [f64; 4] {
        let left = |seat: usize| shown.boats[seat].position.distance(self.rules.buoy);
        [
            shown.now().as_secs_f64(),
            left(OWN),
            left(OWN + 1),
            shown.boats[OWN].sheet / std::f64::consts::FRAC_PI_2,
        ]
    }

    fn wind(&self, shown: &SailingScene) -> Vec2 {
        shown.wind
    }
}
