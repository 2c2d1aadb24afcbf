//! What delay does to the jet car's bot: its mean score over some seeds, on a screen that is old by
//! a round trip (as it comes, and when it is used to that), and on one that plays on what the
//! server has not seen yet. The experiment itself is the laboratory's (X13); this shows in a few
//! lines how the two ends are put together.
//!
//! `cargo run --release -p fairpath-games --example jet_car_delay -- [SEEDS]`

use fairpath::converge::Convergence;
use fairpath::random::Random;
use fairpath::time::{SharedInstant, Span};
use fairpath_games::jet_car::{Bot, Input, JetCar, JetCarConfig, JetCarScene, Skill, TICK_RATE};
use fairpath_games::online::{ClientDisplay, Extrapolated, Loopback, Uncompensated};
use fairpath_sim::LinkConfig;

const RTTS_MS: [i64; 8] = [0, 20, 40, 100, 200, 400, 800, 1600];

fn main() {
    let seeds: u64 = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(8);
    println!("mean score (cars lost)      calm                                  windy");
    println!("rtt_ms         old    used to it   predicted         old    used to it   predicted");
    for rtt in RTTS_MS.map(Span::from_millis) {
        let mut line = format!("{:6}", rtt.as_millis_f64());
        for rules in [JetCarConfig::default(), JetCarConfig::windy()] {
            let (fresh, used_to) = (Skill::default(), Skill::default().used_to(rtt));
            let heard = || Uncompensated::new(JetCarScene::new(&rules), TICK_RATE);
            let extrapolated = || {
                let own = |scene: &JetCarScene| scene.car.state();
                Extrapolated::new(JetCarScene::new(&rules), TICK_RATE, Convergence::default(), own)
            };
            line += &mean(seeds, |seed| play(rules, seed, rtt, fresh, heard()));
            line += &mean(seeds, |seed| play(rules, seed, rtt, used_to, heard()));
            line += &mean(seeds, |seed| play(rules, seed, rtt, fresh, extrapolated()));
        }
        println!("{line}");
    }
}

/// A run over a link with this round trip, half of it each way.
fn play<S: ClientDisplay<JetCarConfig>>(
    rules: JetCarConfig,
    seed: u64,
    rtt: Span,
    skill: Skill,
    screen: S,
) -> JetCarScene {
    let Ok(mut game) = JetCar::new(rules, seed) else { unreachable!("the default rules are sound") };
    let dice = Random::from_seed(seed);
    let mut bot = Bot::new(skill, dice.fork(1 << 32));
    let link = LinkConfig::default().delay(rtt.scaled(0.5));
    let mut way = Loopback::new(&link, &dice, TICK_RATE, Input::IDLE, screen);
    for tick in 0.. {
        if game.is_over() {
            break;
        }
        way.frame(&rules, SharedInstant::ZERO + TICK_RATE.begin(tick), |screen, now| {
            if bot.is_looking(now.shared) {
                bot.drive(&rules, now.shared, &screen.show(&rules, now))
            } else {
                bot.held(now.shared)
            }
        });
        way.tick(SharedInstant::ZERO + TICK_RATE.begin(tick + 1), |input| {
            game.step(*input, 1);
            game.scene().clone()
        });
    }
    game.scene().clone()
}

fn mean(seeds: u64, run: impl Fn(u64) -> JetCarScene) -> String {
    let runs: Vec<JetCarScene> = (0..seeds).map(run).collect();
    let of = |part: fn(&JetCarScene) -> f64| runs.iter().map(part).sum::<f64>() / seeds as f64;
    format!(" {:6.0} ({:3.1})", of(|run| f64::from(run.score)), of(|run| f64::from(3 - run.lives)))
}
