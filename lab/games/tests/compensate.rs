//! Playing under delay, with `fairpath_compensate` on the jet car and on sailing over simulated
//! links: what is first predicted is what the server will have, and nothing that goes wrong freezes
//! the screen or runs away with it.

#[path = "compensate/examples.rs"]
mod examples;
#[path = "compensate/first_prediction.rs"]
mod first_prediction;
#[path = "compensate/free_running.rs"]
mod free_running;
#[path = "compensate/robustness.rs"]
mod robustness;
#[path = "compensate/session.rs"]
mod session;
#[path = "compensate/trailing.rs"]
mod trailing;

use fairpath::random::Random;
use fairpath::vector::Vec2;
use fairpath_games::jet_car::{self, JetCar, JetCarConfig};
use fairpath_games::sailing::{self, Sailing, SailingConfig, SailingPredictor};

/// A field with things on it, and no dice to come.
fn jet_car(seed: u64) -> (JetCarConfig, jet_car::JetCarScene) {
    let rules = JetCarConfig::default();
    let mut game = JetCar::new(rules, seed).expect("sound rules");
    game.step(jet_car::Input::IDLE, 300);
    (rules, game.scene().clone())
}

/// A boat under sail in a steady wind.
fn sailing() -> (SailingPredictor, sailing::SailingScene) {
    let rules = SailingConfig { boats: 1, buoy: Vec2::new(1e5, 0.0), ..SailingConfig::default() };
    let mut game = Sailing::new(rules.clone(), 1).expect("sound rules");
    game.step(&[sailing::Input::new(0.7, 0.0)], 200);
    (SailingPredictor { rules, seat: 0 }, game.scene().clone())
}

/// Thrusters, another choice about five times a second.
fn thrust(random: &mut Random, held: &mut jet_car::Input) -> jet_car::Input {
    if random.chance(0.05) {
        *held = jet_car::Input::new(random.between(-1.0, 1.0), random.between(-1.0, 1.0));
    }
    *held
}

/// Sheet and rudder, another choice about five times a second.
fn steer(random: &mut Random, held: &mut sailing::Input) -> sailing::Input {
    if random.chance(0.1) {
        *held = sailing::Input::new(random.unit(), random.between(-1.0, 1.0));
    }
    *held
}
