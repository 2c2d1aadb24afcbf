//! Memory of a server: per idle client, and per pair of entity and receiver.
//!
//! The clients are another process, so that only the server's memory is counted here.

use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use fairpath_bench::{Helper, machine, until_stdin_ends};
use fairpath_net::{Congestion, Fingerprint};

use crate::allocator;
use crate::fleet::{Fleet, client};
use crate::measure::BenchTable;

const CLIENTS: usize = 32;
const ENTITIES: usize = 64;
/// Wait before the memory is read: longer than the history of a ledger.
const SETTLE: Duration = Duration::from_secs(8);
/// Argument that starts this program as the clients.
pub(crate) const AS_CLIENTS: &str = "--as-idle-clients";

pub(crate) fn bench() -> BenchTable {
    let (per_client, resident_idle) = idle_clients();
    let mut fleet = Fleet::new(0, |_| {});
    let empty = settled(&mut fleet);
    fleet.launch(ENTITIES);
    let unseen = sailed_and_settled(&mut fleet);
    let clients = connect_clients(&mut fleet);
    let seen = sailed_and_settled(&mut fleet);
    drop(clients);
    clients_gone(&mut fleet);
    let unseen_again = settled(&mut fleet);
    let (entities, pairs) = (ENTITIES as f64, (CLIENTS * ENTITIES) as f64);
    let secs = SETTLE.as_secs();
    let rows = [
        ("an idle client: session, QUIC and TLS".to_owned(), per_client),
        (format!("an entity that turned for {secs} s, without receivers"), (unseen - empty) / entities),
        (format!("its history of {secs} s more"), (unseen_again - unseen) / entities),
        (
            "an entity and one receiver, everything confirmed".to_owned(),
            (seen - unseen_again - per_client * CLIENTS as f64) / pairs,
        ),
    ];
    let table = BenchTable::of_notes(&format!(
        "Memory of a server: {CLIENTS} clients, {ENTITIES} entities (allocated bytes)"
    ));
    let table =
        rows.iter().fold(table, |table, (name, bytes)| table.note(format!("{name:<58} {bytes:>12.0}")));
    table.note(format!(
        "{:<58} {resident_idle:>12}",
        "resident memory with idle clients, as the system reports it"
    ))
}

/// Returns the bytes per idle client, and the resident memory that the system reports.
fn idle_clients() -> (f64, u64) {
    let mut fleet = Fleet::new(0, |_| {});
    let empty = settled(&mut fleet);
    let clients = connect_clients(&mut fleet);
    let idle = settled(&mut fleet);
    let resident = machine::resident_bytes();
    drop(clients);
    clients_gone(&mut fleet);
    ((idle - empty) / CLIENTS as f64, resident)
}

/// Moves all ships for a while, then stops them, and returns the bytes that stay allocated.
fn sailed_and_settled(fleet: &mut Fleet) -> f64 {
    fleet.is_sailing = true;
    settled(fleet);
    fleet.is_sailing = false;
    settled(fleet)
}

/// Runs for a while and returns the bytes that are allocated then.
fn settled(fleet: &mut Fleet) -> f64 {
    let started = Instant::now();
    while started.elapsed() < SETTLE {
        fleet.frame();
    }
    allocator::live_bytes() as f64
}

/// Starts clients that only receive, in a separate process, and waits until they are connected.
fn connect_clients(fleet: &mut Fleet) -> Helper {
    let (address, pin) = (fleet.server.address().to_string(), fleet.server.fingerprint().to_string());
    let helper = Helper::start([AS_CLIENTS, &address, &pin]);
    while fleet.server.with_session(|session, _| session.clients().count()) < CLIENTS {
        fleet.frame();
    }
    helper
}

fn clients_gone(fleet: &mut Fleet) {
    while fleet.server.with_session(|session, _| session.clients().count()) > 0 {
        fleet.frame();
    }
}

/// Runs the other process: connects clients, and receives until stdin is closed.
pub(crate) fn run_clients(arguments: &[String]) {
    let address: SocketAddr = arguments[0].parse().expect("an address");
    let pin: Fingerprint = arguments[1].parse().expect("a fingerprint");
    let clients: Vec<_> = (0..CLIENTS).map(|_| client(address, pin, Congestion::Steady)).collect();
    let has_ended = until_stdin_ends();
    while !has_ended.load(Ordering::Relaxed) {
        for client in &clients {
            client.with_session(|session, _| while session.poll_event().is_some() {});
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}
