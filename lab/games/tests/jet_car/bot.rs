//! Goal: the bot plays like Buchheit 2004's player. Method: whole runs over simple links of whole
//! ticks, over seeds.

use std::collections::VecDeque;

use fairpath::random::Random;
use fairpath::time::Span;
use fairpath_games::jet_car::{Bot, Input, JetCarConfig, JetCarScene, Skill};

use super::game;

const SEEDS: std::ops::Range<u64> = 100..108;

/// How a run ends with this round trip: the bot sees what the server was half of it ago, and is
/// obeyed the other half later.
fn play(config: JetCarConfig, skill: Skill, seed: u64, rtt_ms: usize) -> JetCarScene {
    let mut server = game(config, seed);
    let mut bot = Bot::new(skill, Random::from_seed(seed).fork(1 << 32));
    let mut up = VecDeque::from(vec![Input::IDLE; rtt_ms / 20]);
    let mut down = VecDeque::from(vec![server.scene().clone(); rtt_ms / 20]);
    while !server.is_over() {
        down.push_back(server.scene().clone());
        let shown = down.pop_front().expect("just pushed");
        up.push_back(bot.drive(&config, server.scene().now(), &shown));
        server.step(up.pop_front().expect("just pushed"), 1);
    }
    server.scene().clone()
}

fn mean_score(config: JetCarConfig, skill: Skill, rtt_ms: usize) -> f64 {
    let total: i32 = SEEDS.map(|seed| play(config, skill, seed, rtt_ms).score).sum();
    f64::from(total) / SEEDS.count() as f64
}

#[test]
fn it_scores_what_an_experienced_player_did_and_less_the_later_it_sees() {
    let calm = JetCarConfig::default();
    let skill = Skill::default();
    let [fresh, late, later] = [0, 200, 400].map(|rtt_ms| mean_score(calm, skill, rtt_ms));
    assert!((80.0..130.0).contains(&fresh), "Buchheit 2004's player had about 100, the bot has {fresh}");
    assert!(late < fresh - 50.0, "200 ms: {late} of {fresh}");
    assert!(later < late - 50.0, "400 ms: {later} of {late}");
}

#[test]
fn wind_makes_it_worse() {
    let skill = Skill::default();
    let calm = mean_score(JetCarConfig::default(), skill, 100);
    let windy = mean_score(JetCarConfig::windy(), skill, 100);
    assert!(windy < calm, "{windy} in wind, {calm} without");
}

/// Buchheit 2004: with wind and no compensation, 800 ms could not even be measured.
#[test]
fn with_wind_a_late_screen_costs_all_the_cars_and_without_it_a_careful_player_lives() {
    let skill = Skill::default().used_to(Span::from_millis(800));
    let lives_left = |config| SEEDS.map(|seed| play(config, skill, seed, 800).lives).sum::<u32>();
    let (calm, windy) = (lives_left(JetCarConfig::default()), lives_left(JetCarConfig::windy()));
    assert!(calm >= SEEDS.count() as u32, "{calm} cars left");
    assert!(windy * 3 < calm, "{windy} cars left in wind, {calm} without");
}

#[test]
fn it_decides_a_few_times_a_second_and_its_hands_follow_later() {
    let config = JetCarConfig::default();
    let mut server = game(config, 2);
    let mut bot = Bot::new(Skill::default(), Random::from_seed(2));
    let (mut looks, mut first_move) = (0, None);
    for tick in 0..1_000 {
        let now = server.scene().now();
        looks += u32::from(bot.is_looking(now));
        let input = bot.drive(&config, now, server.scene());
        if input != Input::IDLE && first_move.is_none() {
            first_move = Some(tick);
        }
        server.step(input, 1);
    }
    assert!((60..120).contains(&looks), "{looks} looks in ten seconds");
    assert!(first_move.is_some_and(|tick| tick >= 20), "the hands moved at tick {first_move:?}");
}
