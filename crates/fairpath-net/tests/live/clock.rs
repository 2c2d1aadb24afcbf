//! Goal: a client knows the server's time as precisely as it states. Method: clients with wrong
//! clocks, over symmetric and asymmetric links; on one machine the true offset is known.

use std::time::{Duration, Instant};

use fairpath::time::Span;
use fairpath::vector::Vec2;
use fairpath_net::middleman::{ClientSelector, Directions};
use fairpath_net::{Clock, NetClient, NetClientConfig, Trust};
use fairpath_sim::LinkConfig;

use super::arena::{World, client_session, millis};

/// One sample of a client's clock: its error, and its stated uncertainty.
struct ClockSample {
    off: Span,
    stated: Span,
}

/// Compares shared clocks for a while, once the client is connected.
fn samples(world: &mut World, clients: &[NetClient<Vec2>], count: usize) -> Vec<ClockSample> {
    world.until("all clients are connected", |_| {
        clients.iter().all(|client| client.with_session(|session, _| session.is_connected()))
    });
    let mut samples = Vec::new();
    let started = Instant::now();
    world.until("there are enough samples", |world| {
        for client in clients {
            // If the machine stalls between two readings, they say nothing about clocks.
            let before = world.server.now();
            let believed = client.with_session(|session, now| {
                Some((session.clock_now(now)?.shared, session.clock_uncertainty(now)?))
            });
            let after = world.server.now();
            let Some((believed, stated)) = believed else { continue };
            if after - before < millis(1) {
                let off = believed - (before + (after - before).scaled(0.5));
                samples.push(ClockSample { off, stated });
            }
        }
        // Long enough for a settled clock, and enough samples.
        samples.len() >= count && started.elapsed() > Duration::from_secs(3)
    });
    samples
}

fn worst(samples: &[ClockSample]) -> Span {
    samples.iter().map(|sample| sample.off.abs()).max().unwrap_or(Span::ZERO)
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
    let samples = samples(&mut world, &clients, 300);
    let covered = samples.iter().filter(|sample| sample.off.abs() <= sample.stated).count();
    println!("covered {covered} of {}, off by {:?} at worst", samples.len(), worst(&samples));
    assert!(covered * 100 >= samples.len() * 95, "{covered} of {}", samples.len());
    assert!(samples.iter().all(|sample| sample.stated < millis(1_000)), "and it is not vacuous");
}

#[test]
fn an_asymmetric_link_shifts_the_clock_by_half_of_the_difference() {
    let mut world = World::new(LinkConfig::default());
    let set = |directions, delay| {
        world.middleman.change(ClientSelector::All, directions, |link| link.delay = delay)
    };
    set(Directions::Up, millis(20)).expect("a link");
    set(Directions::Down, millis(220)).expect("a link");
    let clients = wrong_clocks(&world, 2);
    let samples = samples(&mut world, &clients, 200);
    let mut offs: Vec<i64> = samples.iter().map(|sample| sample.off.as_micros()).collect();
    offs.sort_unstable();
    let median = Span::from_micros(offs[offs.len() / 2]);
    println!("delays of 20 and 220 ms: off by {median:?} in the median");
    // No client can know which direction took longer: the error is half of 200 ms, and the stated
    // uncertainty covers it.
    assert!((median.abs() - millis(100)).abs() < millis(30), "{median:?}");
    let covered = samples.iter().filter(|sample| sample.off.abs() <= sample.stated).count();
    assert!(covered * 100 >= samples.len() * 95, "{covered} of {}", samples.len());
}
