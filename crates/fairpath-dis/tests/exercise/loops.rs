//! Goal: nothing that came out of a session goes back into it. Method: networks that echo, and
//! gateways that share a network by mistake.

use fairpath::time::Span;
use fairpath_dis::pdu::{EntityState, Pdu};
use fairpath_dis::{DisId, Fineness, GatewayConfig};
use fairpath_sim::LinkConfig;

use super::life::tank;
use super::world::World;

fn world(gateways: usize) -> World {
    let link = LinkConfig::default().delay(Span::from_millis(20));
    let mut world = World::new(link, Fineness::Exact, vec![GatewayConfig::default(); gateways]);
    world.idle(500);
    world
}

/// Runs with networks of several gateways: what one says, all on its network hear, itself included.
fn run_networked(world: &mut World, networks: &[usize], seconds: i64, mut step: impl FnMut(&mut World, i64)) {
    let mut heard: Vec<usize> = world.heard.iter().map(Vec::len).collect();
    for tick in 0..seconds * 20 {
        step(world, tick);
        world.idle(50);
        for speaker in 0..networks.len() {
            let said: Vec<Vec<u8>> =
                world.heard[speaker][heard[speaker]..].iter().map(|it| it.bytes.clone()).collect();
            heard[speaker] += said.len();
            for bytes in said {
                for listener in 0..networks.len() {
                    if networks[listener] == networks[speaker] {
                        world.hear(listener, &bytes);
                    }
                }
            }
        }
    }
}

fn objects(world: &mut World) -> usize {
    world.session.server_frame().objects().len()
}

#[test]
fn multicast_that_comes_back_is_not_heard() {
    let mut world = world(2);
    run_networked(&mut world, &[0, 1], 12, |world, tick| {
        if tick % 20 == 0 {
            world.tell(&tank(7));
        }
    });
    let far = world.gateways[1].counters();
    assert!(far.sent >= 12, "{far:?}");
    assert_eq!((far.echoes, far.vectors), (far.sent, 0), "{far:?}");
    assert_eq!(objects(&mut world), 1);
}

#[test]
fn two_gateways_on_one_network_keep_each_entity_once_and_silent() {
    // Both hear the tank itself, and each other.
    let mut world = world(2);
    let mut told = 0;
    run_networked(&mut world, &[0, 0], 30, |world, tick| {
        if tick % 20 == 0 {
            told += 1;
            let state = tank(7);
            world.tell(&state);
            let bytes = world_bytes(&state, tick);
            world.hear(1, &bytes);
        }
    });
    assert_eq!(objects(&mut world), 1, "one object, whoever hears the tank");
    let said: u64 = world.gateways.iter().map(|gateway| gateway.counters().sent).sum();
    assert!(said <= 4, "{said} PDUs of the gateways beside {told} of the tank");
}

#[test]
fn two_gateways_that_serve_one_network_agree_on_one_speaker() {
    // The tank is on network 0; gateways 1 and 2 both serve network 1.
    let mut world = world(3);
    run_networked(&mut world, &[0, 1, 1], 60, |world, tick| {
        if tick % 20 == 0 {
            world.tell(&tank(7));
        }
    });
    assert_eq!(objects(&mut world), 1);
    let late: Vec<usize> = (1..3)
        .map(|index| world.heard[index].iter().filter(|it| it.at.as_micros() > 35_000_000).count())
        .collect();
    assert!(late.contains(&0), "one of them is silent: {late:?}");
    assert!(late.iter().sum::<usize>() >= 20, "and the other speaks: {late:?}");
    for gateway in &world.gateways[1..] {
        assert_eq!(gateway.counters().vectors, 0, "nothing goes back into the session");
    }
}

#[test]
fn a_gateway_ignores_its_own_application() {
    let mut world = world(2);
    let own = GatewayConfig::default().own;
    let state = EntityState { id: DisId { application: own, entity: 5 }, ..tank(7) };
    world.tell(&state);
    world.idle(200);
    assert_eq!((objects(&mut world), world.gateways[0].counters().filtered), (0, 1));
}

/// The same PDU with another stamp, as a second gateway would hear it.
fn world_bytes(state: &EntityState, tick: i64) -> Vec<u8> {
    let bytes = state.write(1, fairpath_dis::stamp::Stamp((tick as u32) << 8 | 1));
    assert!(Pdu::split(&bytes).next().is_some_and(|pdu| pdu.is_ok()));
    bytes
}
