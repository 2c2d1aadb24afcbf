//! Goal: the same seed and inputs give the same bits. Method: play twice, replay logs, through a
//! trace and back, pin a golden digest.

use fairpath::random::Random;
use fairpath_games::jet_car::{Input, JetCar, JetCarConfig, JetCarRun, REFERENCE_DIGEST, reference_digest};
use fairpath_games::shared::{InputLog, NotReplayable};
use fairpath_laws::{law, proptest::prelude::*};

use super::{game, random_input};

/// Compared with the same runs in WebAssembly. If a rule or the bot was changed on purpose, so may
/// this be.
#[test]
fn the_reference_runs_are_pinned() {
    assert_eq!(reference_digest(), REFERENCE_DIGEST, "now {:#018X}", reference_digest());
}

#[test]
fn two_runs_of_one_seed_agree_and_others_do_not() {
    let play = |seed: u64| {
        let mut run = JetCarRun::of_bot(JetCarConfig::windy(), seed).expect("sound rules");
        for _ in 0..2_000 {
            run.step();
        }
        run.game().digest()
    };
    assert_eq!(play(11), play(11));
    assert_ne!(play(11), play(12));
}

#[test]
fn a_log_replays_to_the_same_bits_even_through_a_trace() {
    let mut run = JetCarRun::of_bot(JetCarConfig::windy(), 3).expect("sound rules");
    for _ in 0..3_000 {
        run.step();
    }
    let log = run.log();
    assert_eq!(log.replay().expect("sound rules").finish().digest(), run.game().digest());

    let trace = log.to_trace().expect("sound rules");
    assert_eq!(trace.metadata.title, "jet car");
    let read = InputLog::from_trace(JetCarConfig::windy(), &trace).expect("recorded from the start");
    assert_eq!(&read, log);

    let mut late = trace;
    late.states.retain(|state| state.t_us > 0);
    let refused = InputLog::<JetCar>::from_trace(JetCarConfig::windy(), &late);
    assert_eq!(refused, Err(NotReplayable::BeginsLate { t_us: 10_000 }));
}

#[test]
fn any_hands_replay() {
    law!((any::<u64>(), 1u32..800), |(seed, ticks)| {
        let config = JetCarConfig::windy();
        let mut played = game(config, seed);
        let mut log = InputLog::<JetCar>::new(config, seed);
        let mut random = Random::from_seed(seed);
        let mut held = Input::IDLE;
        for _ in 0..ticks {
            let input = random_input(&mut random, &mut held);
            log.record(&[input]);
            played.step(input, 1);
        }
        prop_assert_eq!(log.replay().expect("sound rules").finish(), played);
        Ok(())
    });
}

#[test]
fn wind_does_not_change_what_comes_down() {
    let (mut calm, mut windy) = (game(JetCarConfig::default(), 5), game(JetCarConfig::windy(), 5));
    let mut appeared = [Vec::new(), Vec::new()];
    for _ in 0..1_000 {
        for (game, appeared) in [&mut calm, &mut windy].into_iter().zip(&mut appeared) {
            game.step(Input::IDLE, 1);
            for obstruction in &game.scene().obstructions {
                if appeared.iter().all(|(number, _)| *number != obstruction.number) {
                    appeared.push((obstruction.number, obstruction.position));
                }
            }
        }
    }
    assert!(appeared[0].len() > 10);
    assert_eq!(appeared[0], appeared[1]);
}
