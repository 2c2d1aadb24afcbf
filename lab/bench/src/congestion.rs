//! Congestion controllers: how long a datagram waits before it leaves, under packet loss.
//!
//! Prints times, because the promise is one: at 30 % loss a datagram waits less than a tick.

use std::time::{Duration, Instant};

use fairpath::session::Statistics;
use fairpath::time::Span;
use fairpath_net::middleman::{Middleman, MiddlemanConfig};
use fairpath_net::{Congestion, Departures};
use fairpath_sim::{LinkConfig, Loss};

use crate::fleet::{Fleet, any_port, client};
use crate::measure::BenchTable;

const RUN_FOR: Duration = Duration::from_secs(10);
/// Enough ships to fill the budget. A controller that does not delay a full budget delays nothing.
const SHIPS: usize = 64;
const LOSSES: [f64; 3] = [0.0, 0.1, 0.3];

pub(crate) fn bench() -> BenchTable {
    let mut table = BenchTable::of_notes(
        "Congestion controllers: how long datagrams wait to leave (ms), 100 ms one way, a full budget",
    )
    .note(format!(
        "{:<12} {:>6} {:>10} {:>10} {:>10} {:>8} {:>10} {:>10}",
        "", "loss", "sent/s", "mean", "max", "late", "held back", "waited"
    ));
    for congestion in [Congestion::Steady, Congestion::Cubic, Congestion::NewReno, Congestion::Bbr] {
        for loss in LOSSES {
            table = table.note(match run(congestion, loss) {
                Some((departures, statistics)) => row(congestion, loss, &departures, &statistics),
                None => {
                    format!("{:<12} {:>5.0}% {:>10}", format!("{congestion:?}"), 100.0 * loss, "timed out")
                }
            });
        }
    }
    table
        .note("late: waited longer than a tick of 60 Hz. held back: not sent at the connection's first turn. waited: share of the time in which a datagram was waiting.")
}

/// Returns how datagrams left, or `None` if so few did that the connection timed out.
fn run(congestion: Congestion, loss: f64) -> Option<(Departures, Statistics)> {
    let mut fleet = Fleet::new(SHIPS, |config| config.congestion = congestion);
    let link = LinkConfig::default().delay(Span::from_millis(100)).loss(Loss::each(loss));
    let between = MiddlemanConfig::between(any_port(), fleet.server.address()).both_ways(link);
    let middleman = Middleman::start(between).expect("a middleman starts");
    let client = client(middleman.address(), fleet.server.fingerprint(), congestion);
    while !client.with_session(|session, _| session.is_connected()) {
        fleet.frame();
    }
    let started = Instant::now();
    while started.elapsed() < RUN_FOR {
        fleet.frame();
        client.with_session(|session, _| while session.poll_event().is_some() {});
    }
    let is_the_first = client.status().connections == 1;
    let status = fleet.server.status().into_iter().next().filter(|_| is_the_first)?;
    Some((status.departures, status.session?))
}

fn row(congestion: Congestion, loss: f64, departures: &Departures, statistics: &Statistics) -> String {
    let count = departures.count.max(1) as f64;
    let mean_ms = departures.waited.as_secs_f64() * 1e3 / count;
    format!(
        "{:<12} {:>5.0}% {:>10.1} {mean_ms:>10.3} {:>10.2} {:>7.1}% {:>9.1}% {:>9.1}%",
        format!("{congestion:?}"),
        100.0 * loss,
        statistics.datagrams_sent as f64 / RUN_FOR.as_secs_f64(),
        departures.waited_max.as_secs_f64() * 1e3,
        100.0 * departures.late as f64 / count,
        100.0 * departures.held_back as f64 / count,
        100.0 * departures.waited.as_secs_f64() / RUN_FOR.as_secs_f64(),
    )
}
