//! Goal: scripts give linear, circular and random motion that no wall shapes. Method: drive and
//! look back.

use fairpath::random::Random;
use fairpath::vector::{Vec2, Vector};
use fairpath_games::tanks::{Match, Script, TanksConfig};

use super::assert_sound;

fn positions(script: &Script, seed: u64, ticks: u32) -> Vec<(Vec2, f64, f64)> {
    let mut game = Match::of_scripts(TanksConfig::lone_tank(), script, seed).expect("sound rules");
    let mut seen = Vec::new();
    for _ in 0..ticks {
        game.step();
        let state = game.tanks().tanks()[0].state();
        seen.push((state.position, state.signed_speed(), state.spin));
    }
    seen
}

#[test]
fn straight_is_a_line() {
    let seen = positions(&Script::STRAIGHT, 1, 60 * 300);
    let (first, last) = (seen[0].0, seen[seen.len() - 1].0);
    assert!((first.distance(last) - 25.0 * 299.983_333).abs() < 1e-3);
    assert!(seen.iter().all(|(_, speed, spin)| (*speed - 25.0).abs() < 1e-9 && *spin == 0.0));
}

#[test]
fn a_circle_comes_back() {
    // π/4 per second: eight seconds around.
    let seen = positions(&Script::CIRCLE, 1, 60 * 16);
    for tick in 0..60 * 8 {
        assert!(seen[tick].0.distance(seen[tick + 60 * 8].0) < 1e-9);
    }
    let across = seen[0].0.distance(seen[60 * 4].0);
    assert!((across - 2.0 * 25.0 / std::f64::consts::FRAC_PI_4).abs() < 1e-9);
}

#[test]
fn random_motion_stops_reverses_and_turns() {
    let script = Script::random(Random::from_seed(0));
    let seen = positions(&script, 3, 60 * 600);
    let share = |holds: &dyn Fn(f64, f64) -> bool| {
        let count = seen.iter().filter(|(_, speed, spin)| holds(*speed, *spin)).count();
        count as f64 / seen.len() as f64
    };
    assert!((0.08..0.30).contains(&share(&|speed, _| speed.abs() < 1e-9)), "stops");
    assert!((0.05..0.25).contains(&share(&|speed, _| speed < -1e-9)), "reverses");
    assert!(share(&|speed, _| speed > 24.9) > 0.25, "full speed");
    assert!(share(&|_, spin| spin.abs() > 0.7) > 0.2, "turns hard");
    let changes =
        seen.windows(2).filter(|pair| pair[0].1 != pair[1].1 && (pair[0].1 - pair[1].1).abs() > 1e-6);
    assert!((200..900).contains(&changes.count()), "about one per second");
    assert_ne!(seen, positions(&script, 4, 60 * 600), "another seed, another way");
}

#[test]
fn on_the_usual_field_scripts_turn_round_before_the_wall() {
    for script in [Script::STRAIGHT, Script::CIRCLE, Script::random(Random::from_seed(0))] {
        let bases = [Vec2::new(-300.0, 0.0), Vec2::new(300.0, 0.0)];
        let map = fairpath_games::tanks::Map::new(400.0, vec![], bases).expect("sound");
        let ground = fairpath_games::tanks::Ground::Given(map);
        let config = TanksConfig { tanks: [1, 0], ground, ..TanksConfig::default() };
        let mut game = Match::of_scripts(config, &script, 2).expect("sound rules");
        for _ in 0..60 * 120 {
            game.step();
            assert_sound(game.tanks());
            let position = game.tanks().tanks()[0].state().position;
            assert!(position.x.abs().max(position.y.abs()) < 390.0, "{script:?} met the wall");
        }
    }
}
