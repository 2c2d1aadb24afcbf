//! The laws of the tank game: it replays to the bit, no tank is ever inside anything or faster than
//! allowed, shots and flags keep their rules, and bots drive like players.

#[path = "tanks/bots.rs"]
mod bots;
#[path = "tanks/determinism.rs"]
mod determinism;
#[path = "tanks/driving.rs"]
mod driving;
#[path = "tanks/flags.rs"]
mod flags;
#[path = "tanks/recording.rs"]
mod recording;
#[path = "tanks/scripts.rs"]
mod scripts;
#[path = "tanks/shooting.rs"]
mod shooting;

use fairpath::State;
use fairpath::random::Random;
use fairpath::vector::{Vec2, Vector};
use fairpath_games::tanks::{
    Ground, Input, Map, Match, Rectangle, TANK_LENGTH, TANK_WIDTH, Tanks, TanksConfig,
};

/// A match with these many tanks on an empty field of the usual size.
fn empty_field(tanks: [u32; 2], seed: u64) -> Tanks {
    let bases = [Vec2::new(-340.0, 0.0), Vec2::new(340.0, 0.0)];
    on_map(Map::new(400.0, vec![], bases).expect("an empty field"), tanks, seed)
}

fn on_map(map: Map, tanks: [u32; 2], seed: u64) -> Tanks {
    let config = TanksConfig { tanks, ground: Ground::Given(map), ..TanksConfig::default() };
    Tanks::new(config, seed).expect("sound rules")
}

fn bots(seed: u64) -> Match {
    Match::of_bots(TanksConfig::default(), seed).expect("sound rules")
}

fn shape(state: &State<Vec2>) -> Rectangle {
    Rectangle::new(state.position, state.orientation, TANK_LENGTH, TANK_WIDTH)
}

/// What no driver can do anything against. Written here, not taken from the game: a checker stands
/// outside.
fn assert_sound(tanks: &Tanks) {
    let alive: Vec<_> = tanks.tanks().iter().filter(|tank| tank.is_alive()).collect();
    for (number, tank) in alive.iter().enumerate() {
        let state = tank.state();
        assert!(state.is_finite(), "tank {number} has {state:?}");
        let body = shape(&state);
        for corner in body.corners() {
            let outermost = corner.x.abs().max(corner.y.abs());
            assert!(
                outermost <= tanks.map().half_side() + 1e-9,
                "tank {number} leaves the field: {corner:?}"
            );
        }
        for each in tanks.map().boxes() {
            assert!(!body.overlaps(each), "tank {number} is inside a box at {:?}", state.position);
        }
        for other in &alive[number + 1..] {
            assert!(!body.overlaps(&shape(&other.state())), "tanks {number} and {:?} overlap", other.id());
        }
        let config = tanks.config();
        assert!(state.velocity.length() <= config.speed_max * (1.0 + 1e-9), "too fast: {state:?}");
        assert!(state.spin.abs() <= config.turn_rate_max * (1.0 + 1e-9), "turns too fast: {state:?}");
    }
}

/// Random inputs that are each kept for a while.
fn random_inputs(tanks: usize, random: &mut Random, held: &mut Vec<Input>) {
    held.resize(tanks, Input::IDLE);
    for input in held {
        if random.chance(0.05) {
            *input = Input {
                throttle: random.between(-1.5, 1.5),
                turn: random.between(-1.5, 1.5),
                fire: random.chance(0.5),
            };
        }
    }
}
