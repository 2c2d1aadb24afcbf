//! Goal: the same seed and inputs give the same bits. Method: play twice, replay logs, pin a golden
//! digest.

use fairpath::random::Random;
use fairpath_games::shared::InputLog;
use fairpath_games::tanks::{Match, REFERENCE_DIGEST, Tanks, TanksConfig, Team, reference_match};
use fairpath_laws::{law, proptest::prelude::*};

use super::{bots, random_inputs};

/// Compared with the same match in WebAssembly. If a rule or a bot was changed on purpose, so may
/// this be.
#[test]
fn the_reference_match_is_pinned() {
    let game = reference_match();
    for team in Team::BOTH {
        let score = game.tanks().score(team);
        assert!(score.captures > 0 && score.kills > 0, "it should show everything: {team:?} has {score:?}");
    }
    let digest = game.tanks().digest();
    assert_eq!(digest, REFERENCE_DIGEST, "now {digest:#018X}");
}

#[test]
fn two_runs_of_one_seed_agree_in_every_tick() {
    let (mut one, mut other) = (bots(11), bots(11));
    for _ in 0..1_200 {
        one.step();
        other.step();
        assert_eq!(one.tanks().digest(), other.tanks().digest());
    }
    let mut another_seed = bots(12);
    another_seed.step();
    assert_ne!(one.tanks().digest(), another_seed.tanks().digest());
}

#[test]
fn a_log_replays_to_the_same_bits() {
    let mut game = bots(3).with_log();
    for _ in 0..1_800 {
        game.step();
    }
    let log = game.log().expect("asked for");
    assert_eq!(log.replay().expect("sound rules").finish().digest(), game.tanks().digest());

    // And from its parts, as read from a file.
    let read = InputLog::<Tanks>::from_changes(
        log.config().clone(),
        log.seed(),
        log.ticks(),
        log.changes().to_vec(),
    );
    assert_eq!(&read, log);
    assert_eq!(read.replay().expect("sound rules").finish().digest(), game.tanks().digest());
}

#[test]
fn a_clone_goes_the_same_way() {
    let mut game = bots(8);
    for _ in 0..200 {
        game.step();
    }
    let mut copy: Match = game.clone();
    for _ in 0..200 {
        game.step();
        copy.step();
    }
    assert_eq!(game.tanks().digest(), copy.tanks().digest());
}

#[test]
fn any_hands_replay() {
    law!((any::<u64>(), 1u32..200), |(seed, ticks)| {
        let config = TanksConfig { tanks: [2, 2], ..TanksConfig::default() };
        let mut tanks = Tanks::new(config.clone(), seed).expect("sound rules");
        let mut log = InputLog::<Tanks>::new(config, seed);
        let mut random = Random::from_seed(seed);
        let mut inputs = Vec::new();
        for _ in 0..ticks {
            random_inputs(4, &mut random, &mut inputs);
            log.record(&inputs);
            tanks.step(&inputs);
        }
        prop_assert_eq!(log.replay().expect("sound rules").finish().digest(), tanks.digest());
        Ok(())
    });
}
