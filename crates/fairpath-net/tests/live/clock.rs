//! Goal: a client knows the server's time as well as it says. Method: clients whose clocks show
//! something else altogether, through links of equal and of unequal ways; on one machine the true
//! offset is known.

use std::time::{Duration, Instant};

use fairpath::time::Span;
use fairpath::vector::Vec2;
use fairpath_net::middleman::{ClientSelector, Directions};
use fairpath_net::{Clock, NetClient, NetClientConfig, Trust};
use fairpath_sim::LinkConfig;

use super::arena::{World, client_session, millis};

/// One look at a client's clock: how far it is off, and how far it says it may be.
struct Look {
    off: Span,
    stated: Span,
}

/// Compares shared clocks for a while, once the client is connected.
fn looks(world: &mut World, clients: &[NetClient<Vec2>], count: usize) -> Vec<Look> {
    world.until("everybody is connected", |_| {
        clients.iter().all(|client| client.frame(|session, _| session.is_connected()))
    });
    let mut looks = Vec::new();
    let started = Instant::now();
    world.until("enough was looked at", |world| {
        for client in clients {
            // The machine may stall between two readings; then they say nothing about clocks.
            let before = world.server.now();
            let believed = client.frame(|session, now| {
                Some((session.clock_now(now)?.shared, session.clock_uncertainty(now)?))
            });
            let after = world.server.now();
            let Some((believed, stated)) = believed else { continue };
            if after - before < millis(1) {
                let off = believed - (before + (after - before).scaled(0.5));
                looks.push(Look { off, stated });
            }
        }
        // Long enough for the settled clock too, and enough looks.
        looks.len() >= count && started.elapsed() > Duration::from_secs(3)
    });
    looks
}

fn worst(looks: &[Look]) -> Span {
    looks.iter().map(|look| look.off.abs()).max().unwrap_or(Span::ZERO)
}

fn wrong_clocks(world: &World, count: i64) -> Vec<NetClient<Vec2>> {
    let connect = |number: i64| {
        let trust = Trust::Pinned(vec![world.server.fingerprint()]);
        let clock = Clock::showing(number * 1_000_000_000);
        let config = NetClientConfig { clock, ..NetClientConfig::new(trust) };
        NetClient::connect(world.middleman.address(), config, client_session()).expect("a socket")
    };
    (1..=count).map(connect).collect()
}

#[test]
fn the_stated_uncertainty_covers_the_truth_on_symmetric_links() {
    let link = LinkConfig::default().delay(millis(40)).jitter_uniform(millis(15));
    let mut world = World::new(link);
    let clients = wrong_clocks(&world, 3);
    let looks = looks(&mut world, &clients, 300);
    let covered = looks.iter().filter(|look| look.off.abs() <= look.stated).count();
    println!("covered {covered} of {}, off by {:?} at worst", looks.len(), worst(&looks));
    assert!(covered * 100 >= looks.len() * 95, "{covered} of {}", looks.len());
    assert!(looks.iter().all(|look| look.stated < millis(1_000)), "and it says something");
}

#[test]
fn unequal_ways_put_the_clock_off_by_half_of_what_they_differ() {
    let mut world = World::new(LinkConfig::default());
    let set = |ways, delay| world.middleman.change(ClientSelector::All, ways, |link| link.delay = delay);
    set(Directions::Up, millis(20)).expect("a link");
    set(Directions::Down, millis(220)).expect("a link");
    let clients = wrong_clocks(&world, 2);
    let looks = looks(&mut world, &clients, 200);
    let mut offs: Vec<i64> = looks.iter().map(|look| look.off.as_micros()).collect();
    offs.sort_unstable();
    let median = Span::from_micros(offs[offs.len() / 2]);
    println!("ways of 20 and 220 ms: off by {median:?} in the median");
    // Nobody can know which way took longer: half of 200 ms, and the stated uncertainty has room for
    // it.
    assert!((median.abs() - millis(100)).abs() < millis(30), "{median:?}");
    let covered = looks.iter().filter(|look| look.off.abs() <= look.stated).count();
    assert!(covered * 100 >= looks.len() * 95, "{covered} of {}", looks.len());
}
