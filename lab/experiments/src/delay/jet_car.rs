//! One run of the jet car on a screen of some kind.

use fairpath::State;
use fairpath::converge::{Algorithm, Convergence};
use fairpath::random::Random;
use fairpath::time::{Now, SharedInstant, Span};
use fairpath::vector::{Vec2, Vector};
use fairpath_compensate::Simulate;
use fairpath_games::jet_car::{Bot, Input, JetCar, JetCarConfig, JetCarScene, Skill, TICK_RATE};
use fairpath_games::online::{ClientDisplay, Extrapolated, Loopback, Prototyped, Uncompensated};

use super::{Smoothness, curve_name, half_each_way};

#[derive(Clone, Debug)]
pub struct Trial {
    pub rules: JetCarConfig,
    pub rtt: Span,
    /// By how much the round trip varies, to either side.
    pub jitter: Span,
    pub sight: Sight,
    pub seed: u64,
}

/// What the bot looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sight {
    /// What arrives; the bot is not used to that, and steers as if it were the present.
    Old,
    /// The same, and the bot has learnt to steer as gently as that delay needs.
    UsedTo,
    /// Buchheit 2004's first variant: a round trip ahead, the hands as an offset of the place.
    Prototype,
    /// The server's scene played on with the bot's own inputs, as it is simulated.
    Simulated,
    /// The same as it is drawn: the own car's corrections bent along this curve.
    Drawn(Algorithm),
    /// As [`Simulated`](Self::Simulated), and server and screen thrust against gusts while they
    /// blow: Buchheit 2004's contingency, fired where the event is.
    Guarded,
}

#[derive(Clone, Debug)]
pub struct TrialResult {
    pub score: f64,
    pub cars_lost: f64,
    /// Whether the last car was lost before the time was up.
    pub is_lost: bool,
    /// Of [`Sight::Drawn`]: what the eye notices, in pixels.
    pub smoothness: Smoothness,
}

/// More than this many pixels in a frame are seen as a jump: a tenth of the car.
pub const JUMP_PX: f64 = 3.6;
/// Larger corrections are shown as a jump: less than from a wall to where the next car begins.
const SNAP_BEYOND_PX: f64 = 150.0;

impl Sight {
    pub fn name(self) -> &'static str {
        match self {
            Self::Old => "off, not used to it",
            Self::UsedTo => "off, used to it",
            Self::Prototype => "on, prototype",
            Self::Simulated => "on",
            Self::Drawn(algorithm) => curve_name(algorithm),
            Self::Guarded => "on, contingency",
        }
    }
}

impl Trial {
    pub fn run(&self) -> TrialResult {
        let start = JetCarScene::new(&self.rules);
        let skill = match self.sight {
            Sight::UsedTo => Skill::default().used_to(self.rtt),
            _ => Skill::default(),
        };
        match self.sight {
            Sight::Old | Sight::UsedTo => {
                self.play(&self.rules, skill, Uncompensated::new(start, TICK_RATE), as_it_is)
            }
            Sight::Prototype => self.play(&self.rules, skill, Prototyped::new(start, TICK_RATE), as_it_is),
            Sight::Simulated => {
                let screen = Extrapolated::new(start, TICK_RATE, Convergence::default(), own_car);
                self.play(&self.rules, skill, screen, as_it_is)
            }
            Sight::Guarded => {
                let screen = Extrapolated::new(start, TICK_RATE, Convergence::default(), own_car);
                self.play(&Guarded(self.rules), skill, screen, as_it_is)
            }
            Sight::Drawn(algorithm) => {
                let convergence =
                    Convergence { algorithm, snap_beyond: SNAP_BEYOND_PX, ..Convergence::default() };
                let screen = Extrapolated::new(start, TICK_RATE, convergence, own_car);
                self.play(&self.rules, skill, screen, draw)
            }
        }
    }

    fn play<G: Simulate<State = JetCarScene, Input = Input>, S: ClientDisplay<G>>(
        &self,
        rules: &G,
        skill: Skill,
        screen: S,
        mut look: impl FnMut(&S, Now, &mut Smoothness, &mut Option<u16>, JetCarScene) -> JetCarScene,
    ) -> TrialResult {
        let dice = Random::from_seed(self.seed);
        let mut game = JetCar::new(self.rules, self.seed).expect("the usual rules are sound");
        let mut bot = Bot::new(skill, dice.fork(1 << 32));
        let link = half_each_way(self.rtt, self.jitter);
        let mut way = Loopback::<G, S>::new(&link, &dice.fork(1 << 33), TICK_RATE, Input::IDLE, screen);
        // The player's frames and the server's ticks are not in step.
        let phase = TICK_RATE.begin(1).scaled(dice.fork(1 << 34).unit());
        let watches = matches!(self.sight, Sight::Drawn(_));
        let mut smoothness = Smoothness::new(JUMP_PX);
        let mut life = None;
        for tick in 0.. {
            if game.is_over() {
                break;
            }
            let frame_at = SharedInstant::ZERO + TICK_RATE.begin(tick) + phase;
            way.frame(rules, frame_at, |screen, now| {
                if watches || bot.is_looking(now.shared) {
                    let scene = look(screen, now, &mut smoothness, &mut life, screen.show(rules, now));
                    bot.drive(&self.rules, now.shared, &scene)
                } else {
                    bot.held(now.shared)
                }
            });
            way.tick(SharedInstant::ZERO + TICK_RATE.begin(tick + 1), |input| {
                let is_guarded = self.sight == Sight::Guarded;
                game.step(
                    if is_guarded { against_wind(&self.rules, game.scene(), *input) } else { *input },
                    1,
                );
                game.scene().clone()
            });
        }
        let scene = game.scene();
        TrialResult {
            score: f64::from(scene.score),
            cars_lost: f64::from(self.rules.lives - scene.lives),
            is_lost: scene.lives == 0,
            smoothness,
        }
    }
}

/// Rules under which a gust is answered where it blows.
struct Guarded(JetCarConfig);

impl Simulate for Guarded {
    type State = JetCarScene;
    type Input = Input;

    fn step(&self, scene: &mut JetCarScene, input: &Input, ticks: u32) {
        for _ in 0..ticks {
            let input = against_wind(&self.0, scene, *input);
            scene.step(&self.0, input, 1);
        }
    }
}

/// What the hands do, and against the wind what the thrusters can do beyond that.
fn against_wind(rules: &JetCarConfig, scene: &JetCarScene, input: Input) -> Input {
    let Some(gust) = scene.gust else { return input };
    let per_tick = (rules.thrust / 10.0).max(f64::MIN_POSITIVE);
    Input::new(input.right - gust.push.x / per_tick, input.down - gust.push.y / per_tick)
}

fn as_it_is<S>(_: &S, _: Now, _: &mut Smoothness, _: &mut Option<u16>, scene: JetCarScene) -> JetCarScene {
    scene
}

fn own_car(scene: &JetCarScene) -> State<Vec2> {
    scene.car.state()
}

/// The scene with the own car where it is drawn.
fn draw(
    screen: &Extrapolated<JetCarConfig>,
    now: Now,
    smoothness: &mut Smoothness,
    life: &mut Option<u16>,
    mut scene: JetCarScene,
) -> JetCarScene {
    let simulated = scene.car.state();
    let drawn = screen.drawn(now, &scene);
    if life.replace(scene.car.life) != Some(scene.car.life) {
        smoothness.cut();
    }
    smoothness.note(&drawn, &simulated, TICK_RATE.step_secs());
    scene.car.position = drawn.position;
    scene.car.velocity = drawn.velocity;
    debug_assert!(scene.car.position.distance(simulated.position) <= 2.0 * SNAP_BEYOND_PX);
    scene
}
