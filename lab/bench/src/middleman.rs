//! The middleman: how late packets leave at 1000 per second, beside other ways to wait.
//!
//! Prints times, because the promise is one: within 2 ms of the delay, on an idle machine.

use std::net::{SocketAddr, UdpSocket};
use std::sync::{Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use fairpath::time::Span;
use fairpath_net::middleman::{Middleman, MiddlemanConfig};
use fairpath_sim::{DelayStatistics, LinkConfig};

use crate::measure::BenchTable;

/// Rounds. The one with the smallest 99th percentile counts, because noise only adds time.
const ROUNDS: usize = 5;
const PACKETS: u32 = 1_000;
const GAP: Duration = Duration::from_millis(1);
const PACKET_BYTES: usize = 200;
const DELAY: Duration = Duration::from_millis(50);
const GOAL: Span = Span::from_millis(2);
/// Waits per way of waiting, from 1 to 4 ms.
const WAITS: u64 = 500;

pub(crate) fn bench() -> BenchTable {
    let constant = LinkConfig::default().delay(Span::from_micros(DELAY.as_micros() as i64));
    let jittery = constant.clone().jitter_uniform(Span::from_millis(20));
    let (late, seen) = best_round(&constant);
    let (late_with_jitter, _) = best_round(&jittery);
    let within = if late.p99() <= Some(GOAL) { "held" } else { "not held" };
    BenchTable::of_notes(&format!(
        "Middleman: lateness of packets at 1000 per second (µs, best of {ROUNDS} rounds)"
    ))
    .note(format!("{:<58} {:>8} {:>8} {:>8} {:>8}", "", "median", "p95", "p99", "max"))
    .note(row("50 ms configured: sent − received − configured", &late))
    .note(row("the same from outside: client to server − configured", &seen))
    .note(row("50 ± 20 ms configured: sent − received − configured", &late_with_jitter))
    .note(format!("goal on an idle machine: 99 of 100 within {} ms: {within}", GOAL.as_millis_f64()))
    .note("lateness of one wait of 1 to 4 ms:")
    .note(row("  a condition variable (the middleman's way)", &waits(by_condition_variable())))
    .note(row("  tokio's timer", &waits(by_tokio())))
    .note(row("  receiving with a timeout", &waits(by_receive_timeout())))
}

fn best_round(link: &LinkConfig) -> (DelayStatistics, DelayStatistics) {
    let rounds = (0..ROUNDS).map(|_| pass_packets(link.clone()));
    rounds.min_by_key(|(late, _)| late.p99()).expect("there are rounds")
}

/// Sends packets through a middleman. Returns how late they left and how late they arrived.
fn pass_packets(link: LinkConfig) -> (DelayStatistics, DelayStatistics) {
    let any_port = SocketAddr::from(([127, 0, 0, 1], 0));
    let server = UdpSocket::bind(any_port).expect("the loopback has a free port");
    let to = server.local_addr().expect("a bound socket has an address");
    let middleman =
        Middleman::start(MiddlemanConfig::between(any_port, to).both_ways(link)).expect("a middleman starts");
    let client = UdpSocket::bind(any_port).expect("the loopback has a free port");
    let started = Instant::now();
    let seen = thread::scope(|scope| {
        let seeing = scope.spawn(|| see(&server, started));
        for number in 0..PACKETS {
            thread::sleep((started + GAP * number).saturating_duration_since(Instant::now()));
            let mut packet = [0; PACKET_BYTES];
            packet[..8].copy_from_slice(&(started.elapsed().as_nanos() as u64).to_le_bytes());
            client.send_to(&packet, middleman.address()).expect("the loopback takes packets");
        }
        seeing.join().expect("the server does not panic")
    });
    let up = middleman.stop().clients.remove(0).up;
    assert_eq!(up.link.lost.total(), 0, "these links lose nothing");
    (up.late, seen)
}

/// Runs a server that reads the send time from each packet, until none arrives for a second.
fn see(server: &UdpSocket, started: Instant) -> DelayStatistics {
    server.set_read_timeout(Some(Duration::from_secs(1))).expect("sockets have timeouts");
    let mut packet = [0; PACKET_BYTES];
    let mut late = DelayStatistics::default();
    while server.recv(&mut packet).is_ok() {
        let sent = Duration::from_nanos(u64::from_le_bytes(packet[..8].try_into().expect("eight bytes")));
        late.add(span(started.elapsed().saturating_sub(sent + DELAY)));
    }
    late
}

fn waits(mut wait: impl FnMut(Duration)) -> DelayStatistics {
    let mut late = DelayStatistics::default();
    for index in 0..WAITS {
        let length = Duration::from_micros(1_000 + index * 7_919 % 3_000);
        let due = Instant::now() + length;
        wait(length);
        late.add(span(Instant::now().saturating_duration_since(due)));
    }
    late
}

fn by_condition_variable() -> impl FnMut(Duration) {
    let (lock, never) = (Mutex::new(()), Condvar::new());
    move |length| {
        let guard = lock.lock().expect("no other thread holds the lock");
        drop(never.wait_timeout(guard, length).expect("no other thread holds the lock"));
    }
}

fn by_tokio() -> impl FnMut(Duration) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("tokio starts");
    move |length| runtime.block_on(async { tokio::time::sleep(length).await })
}

fn by_receive_timeout() -> impl FnMut(Duration) {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("the loopback has a free port");
    move |length| {
        socket.set_read_timeout(Some(length)).expect("sockets have timeouts");
        let _ = socket.recv(&mut [0; 1]);
    }
}

fn span(duration: Duration) -> Span {
    Span::from_micros(duration.as_micros() as i64)
}

/// Formats the quantiles of a lateness, in microseconds.
pub(crate) fn row(name: &str, late: &DelayStatistics) -> String {
    let cell = |delay: Option<Span>| delay.map_or(-1, Span::as_micros);
    let [median, p95, p99, max] = [late.p50(), late.p95(), late.p99(), late.max()].map(cell);
    format!("{name:<58} {median:>8} {p95:>8} {p99:>8} {max:>8}")
}
