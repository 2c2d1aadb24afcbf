//! Goal: a recorded network can be replayed, stalls and losses included.
//! Method: a made-up recording of good pings, a stall, a lost ping; packets every 10 ms.

use fairpath::random::Random;
use fairpath::time::SharedInstant;
use fairpath_sim::{Link, LinkConfig, LossCause, RttTrace};

const RECORDING: &[u8] = b"t,rtt_ms\n0.0,40\n0.1,40\n0.2,1000\n0.3,40\n0.4,\n0.5,40\n";

fn at(millis: i64) -> SharedInstant {
    SharedInstant::from_millis(millis)
}

/// Payloads and arrival times of a packet every 10 ms, numbered by their send time in ms.
fn arrivals(keep_order: bool) -> (Vec<(i64, i64)>, u64) {
    let recording = RttTrace::from_csv(RECORDING).expect("it is well formed");
    let mut link =
        Link::new(LinkConfig::default().rtt_trace(recording).keep_order(keep_order), Random::from_seed(1));
    for millis in (0..600).step_by(10) {
        link.send(at(millis), 100, millis);
    }
    let mut seen = Vec::new();
    while let Some(arrival) = link.poll(at(10_000)) {
        seen.push((arrival.payload, arrival.at.as_micros() / 1_000));
    }
    (seen, link.model().statistics().lost.trace)
}

#[test]
fn a_stall_is_overtaken_unless_order_is_kept() {
    let (freely, _) = arrivals(false);
    assert_eq!(freely.last(), Some(&(290, 790)), "the stalled ones come last, 500 ms late");

    let (in_order, _) = arrivals(true);
    assert!(in_order.is_sorted(), "nobody overtakes");
    let bunched = in_order.iter().filter(|(_, arrived)| *arrived == 790).count();
    assert_eq!(bunched, 1 + 10 + 10, "those behind the last stalled one arrive together with it");
}

#[test]
fn packets_are_lost_while_pings_were() {
    let (seen, lost) = arrivals(true);
    assert_eq!(lost, 10, "a tenth of a second: {:?}", LossCause::Trace);
    assert!(seen.iter().all(|(sent, _)| !(400..500).contains(sent)));
}
