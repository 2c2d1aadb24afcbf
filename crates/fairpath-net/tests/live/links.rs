//! Goal: whatever a link does to packets, all clients end with the right state, and no reliable
//! call is lost or repeated. Method: fly and call through a bad link, come to rest, compare.

use std::time::Duration;

use fairpath::session::ClientEvent;
use fairpath_net::Transport;
use fairpath_sim::{LinkConfig, Loss};

use super::arena::{World, millis};

/// Three clients fly and call for a while through this link.
fn fly_through(link: LinkConfig, transport: Transport) -> World {
    let mut world = World::new(link);
    for _ in 0..3 {
        world.join_by(transport);
    }
    world.until("all clients have a ship", |world| world.pilots.iter().all(|pilot| pilot.ship.is_some()));
    world.pilots.iter_mut().for_each(|pilot| pilot.calls = true);
    world.until("forty calls were made", |world| world.pilots.iter().all(|pilot| pilot.called >= 40));
    // Flying, because ships at rest send little; a fast machine makes forty calls in no time.
    world.until("sixty datagrams have left for every client", |world| {
        world.server.status().iter().all(|peer| peer.departures.count >= 60)
    });
    world.settle();
    world.assert_promises_kept();
    world
}

#[test]
fn a_good_link() {
    fly_through(LinkConfig::default(), Transport::Quic);
}

#[test]
fn a_browser_and_its_bad_link() {
    let link = LinkConfig::default().delay(millis(20)).loss(Loss::each(0.1)).duplicate_ratio(0.1);
    let world = fly_through(link, Transport::WebTransport);
    assert!(world.server.status().iter().all(|peer| peer.transport == Transport::WebTransport));
}

#[test]
fn thirty_percent_loss() {
    let link = LinkConfig::default().delay(millis(30)).loss(Loss::each(0.3));
    let world = fly_through(link, Transport::Quic);
    let lost = |event: &ClientEvent| matches!(event, ClientEvent::SessionLost { .. });
    assert!(!world.pilots.iter().any(|pilot| pilot.was_told(lost)), "no client lost a session");
    // The congestion window never closes: a datagram leaves in the connection's next turn.
    // A few may meet a full socket.
    for peer in world.server.status() {
        let departures = peer.departures;
        assert!(departures.held_back * 20 <= departures.count, "{departures:?}");
    }
}

#[test]
fn reordering_and_duplication() {
    let link = LinkConfig::default().delay(millis(20)).reorder(0.3, millis(60)).duplicate_ratio(0.3);
    let world = fly_through(link, Transport::Quic);
    let repeated = |which: usize| world.pilots[which].client.status().session.datagrams_repeated;
    // QUIC drops copies of its packets. A datagram that a session sees twice would be a fault of
    // the transport.
    assert_eq!((0..3).map(repeated).sum::<u64>(), 0);
}

#[test]
fn a_slow_link_with_jitter_and_a_narrow_bottleneck() {
    let link = LinkConfig::default().delay(millis(150)).jitter_uniform(millis(40)).rate(50_000, 20_000);
    let mut world = fly_through(link, Transport::Quic);
    world.play_for(Duration::from_millis(200));
    assert!(world.is_settled(), "and it stays so");
}
