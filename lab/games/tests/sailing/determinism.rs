//! Goal: the same seed and inputs give the same bits, on the server and in a client's prediction.
//! Method: sail twice, replay logs, through a trace and back, play the scene beside the race, pin a
//! golden digest.

use fairpath::random::Random;
use fairpath_games::sailing::{
    Current, Input, REFERENCE_DIGEST, Regatta, Sailing, SailingConfig, Trim, Wind, from_west,
    reference_digest,
};
use fairpath_games::shared::InputLog;
use fairpath_laws::{law, proptest::prelude::*};

use super::{in_wind, race, random_input};

fn stormy() -> SailingConfig {
    SailingConfig { current: Current::shifting(), ..in_wind(Wind::random()) }
}

/// Compared with the same races in WebAssembly. If a rule or an agent was changed on purpose, so
/// may this be.
#[test]
fn the_reference_races_are_pinned() {
    assert_eq!(reference_digest(), REFERENCE_DIGEST, "now {:#018X}", reference_digest());
}

#[test]
fn two_races_of_one_seed_agree_and_others_do_not() {
    let sail = |seed: u64| {
        let mut regatta = Regatta::of_agents(stormy(), seed, Trim::Simple).expect("sound rules");
        for _ in 0..1_500 {
            regatta.step();
        }
        regatta.race().digest()
    };
    assert_eq!(sail(11), sail(11));
    assert_ne!(sail(11), sail(12));
}

#[test]
fn a_log_replays_to_the_same_bits_even_through_a_trace() {
    let mut regatta = Regatta::of_agents(stormy(), 3, Trim::Simple).expect("sound rules");
    for _ in 0..2_000 {
        regatta.step();
    }
    let log = regatta.log();
    assert_eq!(log.replay().expect("sound rules").finish().digest(), regatta.race().digest());
    let trace = log.to_trace().expect("sound rules");
    let read = InputLog::<Sailing>::from_trace(stormy(), &trace).expect("recorded from the start");
    assert_eq!(&read, log);
}

#[test]
fn any_hands_replay_even_gods() {
    law!((any::<u64>(), 1u32..400), |(seed, ticks)| {
        let config = in_wind(Wind::God(from_west(10.0)));
        let mut sailed = race(config.clone(), seed);
        let mut log = InputLog::<Sailing>::new(config, seed);
        let mut random = Random::from_seed(seed);
        let mut held = [Input::IDLE; 2];
        for _ in 0..ticks {
            let inputs = held.each_mut().map(|held| random_input(&mut random, held));
            log.record(&inputs);
            sailed.step(&inputs, 1);
        }
        prop_assert_eq!(log.replay().expect("sound rules").finish(), sailed);
        Ok(())
    });
}

#[test]
fn the_own_boat_is_known_to_the_bit_while_the_wind_holds() {
    let compared = std::cell::Cell::new(0);
    let winds = [Wind::random(), Wind::God(from_west(15.0))];
    law!((any::<u64>(), 0u32..500, 1u32..100, 0..winds.len()), |(seed, from, ticks, wind)| {
        let config = SailingConfig { current: Current::shifting(), ..in_wind(winds[wind].clone()) };
        let is_god = wind == 1;
        let mut server = race(config.clone(), seed);
        let mut random = Random::from_seed(seed);
        let mut held = [Input::IDLE; 2];
        for _ in 0..from {
            let inputs = held.each_mut().map(|held| random_input(&mut random, held));
            server.step(&inputs, 1);
        }
        let mut client = server.scene().clone();
        for _ in 0..ticks {
            let inputs = held.each_mut().map(|held| random_input(&mut random, held));
            server.step(&inputs, 1);
            client.step(&config, |seat| (seat == 0).then_some(inputs[0]), 1);
            let holds = server.scene().current == client.current;
            if !holds || (!is_god && server.scene().wind != client.wind) {
                return Ok(());
            }
            prop_assert_eq!(client.wind, server.scene().wind);
            prop_assert_eq!(client.boats[0], server.scene().boats[0]);
            compared.set(compared.get() + 1);
        }
        Ok(())
    });
    assert!(compared.get() > 1_000, "only {} ticks were compared", compared.get());
}
