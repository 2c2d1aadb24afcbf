//! Goal: what the two ends tell each other arrives with every bit, and nothing that a stranger
//! sends does harm. Method: scenes of real runs there and back; the same bytes cut, bent and made
//! up.

use fairpath::random::Random;
use fairpath::time::{LocalInstant, Span};
use fairpath_compensate::{Epoch, Reply};
use fairpath_games::jet_car::{self, JetCarConfig, JetCarRun};
use fairpath_games::online::{WireState, read_input, read_reply, write_input, write_reply};
use fairpath_games::sailing::{self, Current, Regatta, SailingConfig, Trim, Wind};

fn reply<S>(state: S) -> Reply<S> {
    Reply {
        epoch: Epoch(u32::MAX - 3),
        tick: 77,
        state,
        acknowledged: Some(LocalInstant::from_micros(-5)),
        applied: Span::from_millis(30),
    }
}

fn there_and_back<S: WireState + PartialEq + std::fmt::Debug + Clone>(state: &S) -> Vec<u8> {
    let bytes = write_reply(&reply(state.clone()));
    assert_eq!(read_reply::<S>(&bytes), Ok(reply(state.clone())));
    bytes
}

/// Cut anywhere it is refused; bent anywhere it is refused or it is another sound state.
fn survives<S: WireState + std::fmt::Debug>(bytes: &[u8], random: &mut Random) {
    for cut in 0..bytes.len() {
        assert!(read_reply::<S>(&bytes[..cut]).is_err());
    }
    let longer: Vec<u8> = bytes.iter().copied().chain([0]).collect();
    assert!(read_reply::<S>(&longer).is_err());
    for _ in 0..500 {
        let mut bent = bytes.to_vec();
        let place = random.below(bent.len() as u64) as usize;
        bent[place] = random.bits() as u8;
        if let Ok(read) = read_reply::<S>(&bent) {
            assert_eq!(write_reply(&read).len(), bent.len());
        }
    }
}

#[test]
fn a_jet_car_scene_keeps_every_bit_and_fits_a_datagram() {
    let mut random = Random::from_seed(1);
    let mut run = JetCarRun::of_bot(JetCarConfig::windy(), 5).unwrap();
    let mut longest = 0;
    while !run.game().is_over() {
        run.step();
        let bytes = there_and_back(run.game().scene());
        longest = longest.max(bytes.len());
    }
    assert!((150..900).contains(&longest), "{longest} bytes");
    survives::<jet_car::JetCarScene>(&there_and_back(run.game().scene()), &mut random);
}

#[test]
fn a_sailing_scene_keeps_every_bit() {
    let mut random = Random::from_seed(2);
    let config =
        SailingConfig { wind: Wind::random(), current: Current::shifting(), ..SailingConfig::default() };
    let mut regatta = Regatta::of_agents(config, 5, Trim::Simple).unwrap();
    for _ in 0..2_000 {
        regatta.step();
        there_and_back(regatta.race().scene());
    }
    survives::<sailing::SailingScene>(&there_and_back(regatta.race().scene()), &mut random);
}

#[test]
fn hands_arrive_within_what_hands_can_do() {
    let stamp = LocalInstant::from_micros(i64::MIN);
    let bytes = write_input(stamp, jet_car::Input::new(0.25, -1.0));
    assert_eq!(read_input(&bytes), Ok((stamp, jet_car::Input::new(0.25, -1.0))));
    let greedy = write_input(stamp, jet_car::Input::new(1e6, 0.0));
    assert_eq!(read_input(&greedy), Ok((stamp, jet_car::Input::new(1.0, 0.0))));
    let nonsense = write_input(stamp, jet_car::Input::new(f64::NAN, 0.0));
    assert!(read_input::<jet_car::Input>(&nonsense).is_err());
    assert!(read_input::<jet_car::Input>(&[]).is_err());
}
