//! The laws of the jet car: it replays to the bit, a client with the scene predicts it to the bit,
//! whatever the hands do stays bounded, and the bot plays like a person: well on a fresh screen,
//! badly on an old one.

#[path = "jet_car/bot.rs"]
mod bot;
#[path = "jet_car/determinism.rs"]
mod determinism;
#[path = "jet_car/prediction.rs"]
mod prediction;
#[path = "jet_car/rules.rs"]
mod rules;

use fairpath::random::Random;
use fairpath_games::jet_car::{Input, JetCar, JetCarConfig};

fn game(config: JetCarConfig, seed: u64) -> JetCar {
    JetCar::new(config, seed).expect("sound rules")
}

/// Random inputs, some of them out of range, that are each kept for a while.
fn random_input(random: &mut Random, held: &mut Input) -> Input {
    if random.chance(0.05) {
        *held = match random.below(8) {
            0 => Input::new(f64::NAN, f64::INFINITY),
            1 => Input::IDLE,
            _ => Input::new(random.between(-1.5, 1.5), random.between(-1.5, 1.5)),
        };
    }
    *held
}
