//! The laws of Ethereal: it replays to the bit, from memory and from XML; no player is ever in a
//! wall, too fast or healthier than healthy; shots are judged when they should be; and bots play
//! like players, each in its own way.

#[path = "ethereal/bots.rs"]
mod bots;
#[path = "ethereal/determinism.rs"]
mod determinism;
#[path = "ethereal/movement.rs"]
mod movement;
#[path = "ethereal/predict.rs"]
mod predict;
#[path = "ethereal/recording.rs"]
mod recording;
#[path = "ethereal/rules.rs"]
mod rules;
#[path = "ethereal/shooting.rs"]
mod shooting;

use fairpath::random::Random;
use fairpath::vector::{Vec2, Vector};
use fairpath_games::ethereal::{
    Ethereal, EtherealConfig, Ground, Input, Keys, Map, Match, PLAYER_RADIUS, TOP_SPEED,
};

fn bots(seed: u64) -> Match {
    Match::of_bots(EtherealConfig::default(), seed).expect("sound rules")
}

/// A match on a map of these rows.
fn on_map(rows: &[&str], players: [u32; 2]) -> Ethereal {
    let ground = Ground::Given(Map::from_rows(rows.iter().copied()).expect("a sound map"));
    let config = EtherealConfig { players, ground, ..EtherealConfig::default() };
    Ethereal::new(config, 1).expect("sound rules")
}

/// What no player can do anything against. Written here, not taken from the game: a checker stands
/// outside.
fn assert_sound(ethereal: &Ethereal) {
    let bounds = ethereal.map().bounds();
    for frame in ethereal.frames() {
        let (place, name) = (frame.position, frame.id);
        assert!(place.is_finite() && frame.velocity.is_finite(), "{name:?} has {frame:?}");
        assert!(frame.velocity.length() <= TOP_SPEED * (1.0 + 1e-12), "{name:?} is too fast: {frame:?}");
        assert!(frame.health <= ethereal.config().health_max, "{name:?} is too healthy");
        assert!(frame.ammo <= ethereal.config().ammo_max, "{name:?} carries too much");
        assert_eq!(frame.is_alive, frame.health > 0, "{name:?} is alive while it has health");
        let corner = Vec2::new(PLAYER_RADIUS, PLAYER_RADIUS);
        let (low, high) = (place - corner, place + corner);
        assert!(
            low.x >= bounds.low.x
                && low.y >= bounds.low.y
                && high.x <= bounds.high.x
                && high.y <= bounds.high.y,
            "{name:?} is out of bounds at {place:?}"
        );
        for wall in ethereal.map().walls() {
            let is_apart =
                high.x <= wall.low.x || low.x >= wall.high.x || high.y <= wall.low.y || low.y >= wall.high.y;
            assert!(is_apart, "{name:?} is in a wall at {place:?}");
        }
    }
}

/// Random inputs that are each kept for a while.
fn random_inputs(ethereal: &Ethereal, random: &mut Random, held: &mut Vec<Input>) {
    held.resize(ethereal.players().len(), Input::IDLE);
    for input in held {
        if random.chance(0.05) {
            input.keys = Keys::from_bits(random.bits() as u8);
            input.aim = Vec2::new(random.between(-3e3, 3e3), random.between(-2e3, 2e3));
            input.seen_ticks_ago = random.below(40) as u8;
        }
    }
}
