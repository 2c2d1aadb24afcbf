//! What delay does to the jet car's bot: its mean score over some seeds, on a screen that is old by a round trip (as it
//! comes, and when it is used to that), and on one that plays on what the server has not seen yet. The experiment itself
//! is the laboratory's; this shows that the game can tell good play from bad.
//!
//! `cargo run --release -p fairpath-games --example jet_car_delay -- [SEEDS]`

use std::collections::VecDeque;

use fairpath::random::Random;
use fairpath::time::Span;
use fairpath_games::jet_car::{Bot, Input, JetCar, JetCarConfig, Scene, Skill};

const RTTS_MS: [usize; 8] = [0, 20, 40, 100, 200, 400, 800, 1600];

fn main() {
    let seeds: u64 = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(8);
    let calm = JetCarConfig::default();
    println!("parked: {:.0}", mean(seeds, |seed| parked(calm, seed)));
    println!("mean score (lives lost)     calm                                  windy");
    println!("rtt_ms         old    used to it   predicted         old    used to it   predicted");
    for rtt_ms in RTTS_MS {
        let mut line = format!("{rtt_ms:6}");
        for config in [calm, JetCarConfig::windy()] {
            for screen in [Screen::Old, Screen::OldAsEver, Screen::Predicted] {
                let runs: Vec<Scene> = (0..seeds).map(|seed| play(config, seed, rtt_ms, screen)).collect();
                let score = runs.iter().map(|run| f64::from(run.score)).sum::<f64>() / seeds as f64;
                let lost = runs.iter().map(|run| f64::from(3 - run.lives)).sum::<f64>() / seeds as f64;
                line += &format!(" {score:6.0} ({lost:3.1})");
            }
        }
        println!("{line}");
    }
}

/// What the player sees.
#[derive(Clone, Copy, PartialEq)]
enum Screen {
    /// What the server sent, half a round trip ago.
    Old,
    /// The same, and the player is used to it.
    OldAsEver,
    /// What will be when an input from now arrives, as far as that can be known.
    Predicted,
}

/// A run over a link with this round trip, half of it each way.
fn play(config: JetCarConfig, seed: u64, rtt_ms: usize, screen: Screen) -> Scene {
    let Ok(mut game) = JetCar::new(config, seed) else { unreachable!("the default rules are sound") };
    let skill = match screen {
        Screen::OldAsEver => Skill::default().used_to(Span::from_millis(rtt_ms as i64)),
        Screen::Old | Screen::Predicted => Skill::default(),
    };
    let mut bot = Bot::new(skill, Random::from_seed(seed).fork(1 << 32));
    let one_way = rtt_ms / 20;
    let mut uplink: VecDeque<Input> = vec![Input::IDLE; one_way].into();
    let mut downlink: VecDeque<Scene> = vec![game.scene().clone(); one_way].into();
    let mut unseen: VecDeque<Input> = VecDeque::new();
    let mut now = game.scene().now();
    while !game.is_over() {
        downlink.push_back(game.scene().clone());
        let Some(mut shown) = downlink.pop_front() else { unreachable!("just pushed") };
        if screen == Screen::Predicted && bot.is_looking(now) {
            for input in &unseen {
                shown.step(&config, *input, 1);
            }
        }
        let input = bot.drive(&config, now, &shown);
        uplink.push_back(input);
        unseen.push_back(input);
        if unseen.len() > 2 * one_way {
            unseen.pop_front();
        }
        now += Span::from_millis(10);
        game.step(uplink.pop_front().unwrap_or_default(), 1);
    }
    game.scene().clone()
}

fn parked(config: JetCarConfig, seed: u64) -> f64 {
    let Ok(mut game) = JetCar::new(config, seed) else { unreachable!("the default rules are sound") };
    game.step(Input::IDLE, config.ticks() as u32);
    f64::from(game.scene().score)
}

fn mean(seeds: u64, of: impl Fn(u64) -> f64) -> f64 {
    (0..seeds).map(of).sum::<f64>() / seeds as f64
}
