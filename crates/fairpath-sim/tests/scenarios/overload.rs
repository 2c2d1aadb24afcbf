//! Goal: a narrow uplink behaves like one: fine below its rate, full above it, honest about the
//! difference. Method: send at half and at twice the rate of one megabit, read the link's
//! statistics.

use fairpath::time::{SharedInstant, Span};
use fairpath_sim::{Event, Fault, LinkConfig, LinkStatistics, Network, PeerId};

const HOME: PeerId = PeerId(0);
const SERVER: PeerId = PeerId(1);
const MEGABIT: u64 = 125_000;
const QUEUE: u64 = 32_000;
const PACKET: u32 = 1_250;

/// Ten seconds of equal packets, `per_second` of them.
fn after_sending(per_second: i64, faults: &[(i64, Fault)]) -> LinkStatistics {
    let mut network = Network::new(1, 2);
    network.connect(HOME, SERVER, LinkConfig::default().delay(Span::from_millis(10)).rate(MEGABIT, QUEUE));
    for (millis, fault) in faults {
        network.fault_at(SharedInstant::from_millis(*millis), fault.clone());
    }
    for packet in 0..10 * per_second {
        network.wake(HOME, SharedInstant::from_micros(packet * 1_000_000 / per_second), 0);
    }
    while let Some(event) = network.step() {
        if let Event::Wake(_) = event {
            network.send(HOME, SERVER, PACKET, ());
        }
    }
    network.link(HOME, SERVER).statistics().clone()
}

#[test]
fn half_the_rate_passes_without_waiting() {
    let seen = after_sending(50, &[]);
    assert_eq!(seen.lost.total(), 0);
    // 1250 bytes last 10 ms at one megabit.
    assert_eq!(seen.delays.max(), Some(Span::from_millis(10 + 10)));
}

#[test]
fn twice_the_rate_loses_half_and_waits_for_a_full_queue() {
    let seen = after_sending(200, &[]);
    assert_eq!(seen.lost.total(), seen.lost.queue_full);
    assert!((seen.loss_ratio() - 0.5).abs() < 0.02, "{}", seen.loss_ratio());
    let full = Span::from_millis(256 + 10);
    let max = seen.delays.max().unwrap();
    assert!(max <= full && max > full - Span::from_millis(11), "{max:?}");
    assert!(seen.delays.p50().unwrap() > Span::from_millis(240), "{:?}", seen.delays.p50());
}

#[test]
fn a_faster_rate_serves_those_who_come_after() {
    let faster = LinkConfig::default().delay(Span::from_millis(10)).rate(4 * MEGABIT, QUEUE);
    let change = Fault::Reconfigure(HOME, SERVER, Box::new(faster));
    let seen = after_sending(200, &[(5_000, change)]);
    assert!((seen.loss_ratio() - 0.25).abs() < 0.02, "lossy in its first half only: {}", seen.loss_ratio());
    assert_eq!(seen.reordered, 0, "what waits is not overtaken by what comes after");
}
