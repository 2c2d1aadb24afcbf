//! A network hands out what happens in the order of time, and the same again from the same seed.

use fairpath::time::{SharedInstant, Span};
use fairpath_laws::{law, proptest::prelude::*};
use fairpath_sim::{Digest, Event, Fault, LinkConfig, Network, PeerId, run_twice};

const PEERS: u32 = 4;

fn peer() -> impl Strategy<Value = PeerId> {
    (0..PEERS).prop_map(PeerId)
}

fn fault() -> impl Strategy<Value = Fault> {
    let two = (peer(), peer()).prop_filter("two different peers", |(one, other)| one != other);
    two.prop_flat_map(|(one, other)| {
        prop_oneof![
            Just(Fault::Partition(one, other)),
            Just(Fault::Repair(one, other)),
            Just(Fault::Isolate(one)),
            Just(Fault::Rejoin(one)),
            Just(Fault::Heal),
            crate::link::config().prop_map(move |config| Fault::Reconfigure(one, other, Box::new(config))),
            (-5_000i64..5_000).prop_map(move |millis| Fault::StepClock(one, Span::from_millis(millis))),
            (-300.0..300.0).prop_map(move |ppm| Fault::DriftClock(one, ppm)),
        ]
    })
}

/// Everybody greets everybody on waking, and answers a greeting once. Returns a digest of all that
/// happened.
fn chatter(seed: u64, config: &LinkConfig, faults: &[(i64, Fault)]) -> Digest {
    let mut network = Network::new(seed, PEERS);
    network.connect_all(config);
    for (millis, fault) in faults {
        network.fault_at(SharedInstant::from_millis(*millis), fault.clone());
    }
    for millis in (0..2_000).step_by(100) {
        for peer in network.peers() {
            network.wake(peer, SharedInstant::from_millis(millis), 0);
        }
    }
    let mut digest = Digest::new();
    let mut before = network.now();
    while let Some(event) = network.step_until(SharedInstant::from_millis(5_000)) {
        assert!(network.now() >= before, "time ran backwards");
        before = network.now();
        digest.i64(before.as_micros());
        match event {
            Event::Wake(wake) => {
                digest.i64(network.local_now(wake.peer).as_micros());
                for other in network.peers().filter(|other| *other != wake.peer) {
                    network.send(wake.peer, other, 100, 1u32);
                }
            }
            Event::Delivery(letter) => {
                assert!(letter.sent_at <= network.now());
                digest
                    .u32(letter.from.0)
                    .u32(letter.to.0)
                    .i64(letter.sent_at.as_micros())
                    .u32(letter.payload);
                if letter.payload > 0 {
                    network.send(letter.to, letter.from, 50, letter.payload - 1);
                }
            }
        }
    }
    assert_eq!(network.now(), SharedInstant::from_millis(5_000));
    digest
}

#[test]
fn a_run_repeats_whatever_goes_wrong() {
    let faults = prop::collection::vec((0i64..4_000, fault()), 0..6);
    law!((any::<u64>(), crate::link::config(), faults), |(seed, config, faults)| {
        run_twice(seed, |seed| chatter(seed, &config, &faults));
        Ok(())
    });
}

#[test]
fn another_seed_is_another_run() {
    let config = LinkConfig::wifi_bad();
    law!((any::<u64>(), any::<u64>()), |(one, other)| {
        prop_assume!(one != other);
        prop_assert_ne!(chatter(one, &config, &[]), chatter(other, &config, &[]));
        Ok(())
    });
}

#[test]
fn after_healing_everything_arrives() {
    let faults = prop::collection::vec((0i64..1_000, fault()), 0..6);
    law!((any::<u64>(), crate::link::config(), faults), |(seed, config, faults)| {
        // A narrow link may still drop what is too much for it: that is no fault.
        let config = LinkConfig { rate: None, ..config };
        let mut network = Network::new(seed, PEERS);
        network.connect_all(&config);
        for (millis, fault) in faults {
            if !matches!(&fault, Fault::Reconfigure(_, _, config) if config.rate.is_some()) {
                network.fault_at(SharedInstant::from_millis(millis), fault);
            }
        }
        network.fault_at(SharedInstant::from_millis(1_000), Fault::Heal);
        prop_assert!(network.step_until(SharedInstant::from_millis(1_000)).is_none());
        let mut sent = 0;
        for from in network.peers() {
            for to in network.peers().filter(|to| *to != from) {
                network.send(from, to, 100, ());
                sent += 1;
            }
        }
        let arrived = std::iter::from_fn(|| network.step()).count();
        prop_assert_eq!(arrived, sent);
        Ok(())
    });
}
