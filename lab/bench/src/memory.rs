//! Memory of a server: per idle client, and per pair of entity and receiver.
//!
//! The clients are another process, so that only the server's memory is counted here.

use std::io::Read;
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

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
    let clients = Clients::start(&fleet);
    clients.wait_for(&mut fleet, CLIENTS);
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
fn idle_clients() -> (f64, String) {
    let mut fleet = Fleet::new(0, |_| {});
    let empty = settled(&mut fleet);
    let clients = Clients::start(&fleet);
    clients.wait_for(&mut fleet, CLIENTS);
    let idle = settled(&mut fleet);
    let resident = resident();
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

/// Clients that only receive, in a separate process that ends when its stdin is closed.
struct Clients(Child);

impl Clients {
    fn start(fleet: &Fleet) -> Self {
        let program = std::env::current_exe().expect("the path of this program is known");
        let arguments = [
            AS_CLIENTS.to_owned(),
            fleet.server.address().to_string(),
            fleet.server.fingerprint().to_string(),
        ];
        let child = Command::new(program).args(arguments).stdin(Stdio::piped()).spawn();
        Self(child.expect("this program starts a second time"))
    }

    fn wait_for(&self, fleet: &mut Fleet, count: usize) {
        while fleet.server.frame(|session, _| session.clients().count()) < count {
            fleet.frame();
        }
    }
}

impl Drop for Clients {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

fn clients_gone(fleet: &mut Fleet) {
    while fleet.server.frame(|session, _| session.clients().count()) > 0 {
        fleet.frame();
    }
}

/// Runs the other process: connects clients, and receives until stdin is closed.
pub(crate) fn run_clients(arguments: &[String]) {
    let address: SocketAddr = arguments[0].parse().expect("an address");
    let pin: Fingerprint = arguments[1].parse().expect("a fingerprint");
    let clients: Vec<_> = (0..CLIENTS).map(|_| client(address, pin, Congestion::Steady)).collect();
    let (sender, ended) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        let _ = sender.send(());
    });
    while ended.try_recv().is_err() {
        for client in &clients {
            client.frame(|session, _| while session.poll_event().is_some() {});
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn resident() -> String {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm.split_whitespace().nth(1).and_then(|pages| pages.parse::<u64>().ok());
    pages.map_or_else(|| "unknown".into(), |pages| (pages * 4096).to_string())
}
