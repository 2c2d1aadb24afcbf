//! Goal: clients of a server that answers nothing for seconds come back without a storm. Method:
//! the middleman delays first packets until the attempts that sent them are given up. Then the
//! server answers each of them with a Retry.

use std::time::Duration;

use fairpath_net::ConnectionState;
use fairpath_net::middleman::{ClientSelector, Directions};
use fairpath_sim::LinkConfig;

use super::arena::{Pilot, World, millis, until};

const CLIENTS: usize = 16;
/// First packets of an attempt that takes five seconds, and as many more for a stall.
const FIRST_PACKETS: u64 = 8;

#[test]
fn late_answers_to_given_up_attempts_cause_no_storm() {
    let mut world = World::new(LinkConfig::default());
    let set_delay = |world: &World, span| {
        let edit = |link: &mut LinkConfig| link.delay = span;
        world.middleman.change(ClientSelector::All, Directions::Up, edit).expect("a valid link");
    };
    // An attempt is given up after five seconds, and QUIC answers packets for three more.
    set_delay(&world, millis(6_000));
    for _ in 0..CLIENTS {
        world.join();
    }
    let has_failed = |state| matches!(state, ConnectionState::Connecting { failed: 1.., .. });
    until("every client has given up once", || {
        world.pilots.iter().all(|pilot| has_failed(pilot.client.connection_state()))
    });
    set_delay(&world, millis(0));
    world.until("all clients have a ship", |world| world.pilots.iter().all(|pilot| pilot.ship.is_some()));
    until("the delayed packets have arrived", || {
        world.middleman.statistics().clients.iter().all(|client| client.up.waiting < 3)
    });
    std::thread::sleep(Duration::from_secs(1));
    let admission = world.server.admission_statistics();
    let failed = |pilot: &Pilot| std::iter::from_fn(|| pilot.client.poll_problem()).count() as u64;
    let attempts = world.pilots.iter().map(|pilot| failed(pilot) + 1).sum::<u64>();
    assert!(admission.retried >= attempts, "each attempt was asked for proof: {admission:?}");
    assert!(
        admission.retried <= attempts * FIRST_PACKETS,
        "{attempts} attempts of {CLIENTS} clients: {admission:?}"
    );
    world.settle();
    world.assert_promises_kept();
}
