//! Goal: the same seed and inputs give the same bits. Method: drive twice, replay logs, pin a
//! golden digest.

use std::sync::Arc;

use fairpath::random::Random;
use fairpath_games::race::{Course, Preset, REFERENCE_DIGEST, Race, RaceConfig, Track, reference_digest};
use fairpath_games::shared::InputLog;
use fairpath_laws::{law, proptest::prelude::*};

use super::{bots, random_inputs, tracks};

/// Compared with the same minutes in WebAssembly. If a rule or a driver was changed on purpose, so
/// may this be.
#[test]
fn the_reference_minutes_are_pinned() {
    assert_eq!(reference_digest(), REFERENCE_DIGEST, "now {:#018X}", reference_digest());
}

#[test]
fn two_heats_of_one_seed_agree_in_every_tick() {
    for track in tracks(1) {
        let (mut one, mut other) = (bots(&track, 11), bots(&track, 11));
        let mut another_seed = bots(&track, 12);
        for _ in 0..900 {
            one.step();
            other.step();
            another_seed.step();
            assert_eq!(one.race().digest(), other.race().digest());
        }
        assert_ne!(one.race().digest(), another_seed.race().digest());
    }
}

#[test]
fn a_log_replays_to_the_same_bits() {
    let track = Arc::new(Track::generated(3));
    let mut heat = bots(&track, 3).with_log();
    for _ in 0..3_000 {
        heat.step();
    }
    let log = heat.log().expect("asked for");
    assert_eq!(&log.replay().expect("sound rules").finish(), heat.race());

    // And from its parts, as read from a file.
    let changes = log.changes().to_vec();
    let read = InputLog::<Race>::from_changes(log.config().clone(), log.seed(), log.ticks(), changes);
    assert_eq!(&read, log);
    assert_eq!(read.replay().expect("sound rules").finish().digest(), heat.race().digest());
}

#[test]
fn a_clone_goes_the_same_way() {
    let mut heat = bots(&Arc::new(Track::preset(Preset::Bean)), 8);
    for _ in 0..300 {
        heat.step();
    }
    let mut copy = heat.clone();
    for _ in 0..300 {
        heat.step();
        copy.step();
    }
    assert_eq!(heat.race(), copy.race());
}

#[test]
fn any_hands_replay() {
    let track = Arc::new(Track::preset(Preset::Harbour));
    law!((any::<u64>(), 1u32..400), |(seed, ticks)| {
        let mut race = Race::new(Arc::clone(&track), RaceConfig::default()).expect("sound rules");
        let course = Course { track: Arc::clone(&track), config: RaceConfig::default() };
        let mut log = InputLog::<Race>::new(course, 0);
        let mut random = Random::from_seed(seed);
        let mut inputs = Vec::new();
        for _ in 0..ticks {
            random_inputs(4, &mut random, &mut inputs);
            log.record(&inputs);
            race.step(&inputs);
        }
        prop_assert_eq!(log.replay().expect("sound rules").finish(), race);
        Ok(())
    });
}
