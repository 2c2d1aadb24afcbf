//! The laws of sailing: it replays to the bit, a client with the scene predicts its own boat to the
//! bit, port and starboard are alike, nothing outruns what its wind allows, and agents get to the
//! buoy, the knowing one first.

#[path = "sailing/agents.rs"]
mod agents;
#[path = "sailing/boats.rs"]
mod boats;
#[path = "sailing/determinism.rs"]
mod determinism;
#[path = "sailing/weather.rs"]
mod weather;

use fairpath::random::Random;
use fairpath_games::sailing::{Input, Sailing, SailingConfig, Wind};

fn race(config: SailingConfig, seed: u64) -> Sailing {
    Sailing::new(config, seed).expect("sound rules")
}

fn in_wind(wind: Wind) -> SailingConfig {
    SailingConfig { wind, ..SailingConfig::default() }
}

/// Random inputs, some of them out of range, that are each kept for
/// a while.
fn random_input(random: &mut Random, held: &mut Input) -> Input {
    if random.chance(0.03) {
        *held = match random.below(8) {
            0 => Input { sheet: f64::NAN, rudder: f64::NEG_INFINITY, wind_turn: f64::NAN, wind_rise: 9.0 },
            1 => Input::IDLE,
            _ => Input {
                sheet: random.between(-0.2, 1.2),
                rudder: random.between(-1.2, 1.2),
                wind_turn: random.between(-1.2, 1.2),
                wind_rise: random.between(-1.2, 1.2),
            },
        };
    }
    *held
}
