//! Hostile clients on real sockets: what each costs a server and four honest players.
//!
//! Everything runs in one process. The server's thread is measured by the system; the memory is
//! that of the whole process, attacker included. Errors over real sockets are noisy:
//! `fairpath-campaign` compares them exactly in virtual time.

use std::time::{Duration, Instant};

use fairpath::schedule::Broadcast;
use fairpath::session::{Class, ClassId, Server, ServerConfig, SpeedCheck, TeleportCheck};
use fairpath::time::SharedInstant;
use fairpath::vector::{Vec2, Vector};
use fairpath::{EntityId, Observation, State, Trigger};
use fairpath_campaign::siege::Attack;
use fairpath_net::{
    Congestion, Identity, Limits, NetClient, NetServer, NetServerConfig, Trust, new_epoch, unguessable_random,
};

use crate::allocator;
use crate::fleet::{any_port, client};
use crate::measure::BenchTable;
use fairpath_bench::assault::Assault;

/// The class that the fleet's clients use.
const SHIP: ClassId = ClassId(0);
const PLAYERS: usize = 4;
const WARMS_UP: Duration = Duration::from_secs(2);
const LASTS: Duration = Duration::from_secs(6);
const FRAME: Duration = Duration::from_millis(16);
/// Ships fly at 20 units per second.
const SPEED_MAX: f64 = 40.0;

struct AttackRow {
    attack: Attack,
    error: f64,
    cpu: Option<f64>,
    outbox_bytes: usize,
    allocated: i64,
    shots: u64,
    thrown_out: u64,
}

pub(crate) fn bench() -> BenchTable {
    let rows: Vec<AttackRow> = Attack::ALL.into_iter().map(run_attack).collect();
    let in_peace = rows[0].error;
    let title = format!(
        "Hostile peers over QUIC: {PLAYERS} honest players and one hostile client, {} s each",
        LASTS.as_secs()
    );
    let head = "attack             sends  thrown out  server CPU  outbox bytes  allocated kB  others' error  of that in peace";
    rows.iter().fold(BenchTable::of_notes(&title).note(head), |table, row| table.note(row.line(in_peace)))
}

impl AttackRow {
    fn line(&self, in_peace: f64) -> String {
        let name = format!("{:?}", self.attack);
        let cpu = self.cpu.map_or_else(|| "?".to_owned(), |share| format!("{:.1} %", 100.0 * share));
        format!(
            "{name:<16} {:>7} {:>11} {cpu:>11} {:>13} {:>13} {:>14.3} {:>17.2}",
            self.shots,
            self.thrown_out,
            self.outbox_bytes,
            self.allocated / 1_000,
            self.error,
            self.error / in_peace,
        )
    }
}

fn run_attack(attack: Attack) -> AttackRow {
    let identity = Identity::local(&[]).expect("a certificate");
    let trust = trust(&identity);
    let Trust::Certificates(certificates) = &trust else { unreachable!("certificates were loaded") };
    let server = serve(identity);
    let pin = server.fingerprint();
    let mut players: Vec<Pilot> = (0..PLAYERS)
        .map(|_| Pilot { client: client(server.address(), pin, Congestion::default()), ship: None })
        .collect();
    let before = allocator::live_bytes();
    let assault = Assault::begin(attack, classes(), SHIP, server.address(), certificates);
    let mut watch = Effects::default();
    watch.play(&server, &mut players, WARMS_UP, false);
    let cpu = server_cpu();
    watch.play(&server, &mut players, LASTS, true);
    let cpu = server_cpu().zip(cpu).map(|(after, before)| (after - before) / LASTS.as_secs_f64());
    AttackRow {
        attack,
        error: watch.error / watch.looks as f64,
        cpu,
        outbox_bytes: watch.outbox_bytes,
        allocated: watch.allocated - before,
        shots: assault.shots(),
        thrown_out: server.admission_statistics().thrown_out,
    }
}

/// All clients share one address, so its limit is high. Thrown-out clients wait as usual.
fn serve(identity: Identity) -> NetServer<Vec2> {
    let teleport = TeleportCheck { speed_max: SPEED_MAX, slack: 5.0, allows_jumps: false };
    let session =
        Server::new(ServerConfig::new(classes(), new_epoch()), Box::new(Broadcast), unguessable_random())
            .with_interceptor(SpeedCheck { speed_max: SPEED_MAX })
            .with_interceptor(teleport);
    let limits = Limits { per_address_max: 256, ..Limits::default() };
    let config = NetServerConfig { limits, ..NetServerConfig::new(any_port(), identity) };
    NetServer::bind(config, session).expect("the loopback has a free port")
}

fn classes() -> [(ClassId, Class); 1] {
    [(SHIP, Class::new(Trigger::within(0.3)).at_most(4))]
}

fn trust(identity: &Identity) -> Trust {
    let path = std::env::temp_dir().join(format!("fairpath-bench-{}.pem", std::process::id()));
    identity.save_certificates(&path).expect("the temporary folder is writable");
    let trust = Trust::load(&path).expect("the certificate was just written");
    let _ = std::fs::remove_file(&path);
    trust
}

struct Pilot {
    client: NetClient<Vec2>,
    ship: Option<EntityId>,
}

#[derive(Default)]
struct Effects {
    error: f64,
    looks: u64,
    outbox_bytes: usize,
    allocated: i64,
}

impl Effects {
    fn play(&mut self, server: &NetServer<Vec2>, players: &mut [Pilot], span: Duration, is_measured: bool) {
        let started = Instant::now();
        while started.elapsed() < span {
            server.with_session(|session, _| {
                while session.poll_event().is_some() {}
                for client in session.clients().collect::<Vec<_>>() {
                    let queues = session.queues(client).expect("a listed client has a session");
                    self.outbox_bytes = self.outbox_bytes.max(queues.outbox_bytes);
                }
            });
            self.allocated = self.allocated.max(allocator::live_bytes());
            let ships: Vec<Option<EntityId>> = players.iter().map(|player| player.ship).collect();
            for (index, player) in players.iter_mut().enumerate() {
                player.fly(index);
                if is_measured {
                    self.look(player, index, &ships);
                }
            }
            std::thread::sleep(FRAME);
        }
    }

    fn look(&mut self, player: &Pilot, index: usize, ships: &[Option<EntityId>]) {
        player.client.with_session(|session, now| {
            let Some(shared) = session.clock_now(now).map(|now| now.shared) else { return };
            for (other, ship) in ships.iter().enumerate().filter(|(other, _)| *other != index) {
                if let Some(placed) = ship.and_then(|ship| session.place(ship, now)) {
                    self.error += placed.position.distance(flight(other, shared).position);
                    self.looks += 1;
                }
            }
        });
    }
}

impl Pilot {
    fn fly(&mut self, index: usize) {
        let Self { client, ship } = self;
        client.with_session(|session, now| {
            while session.poll_event().is_some() {}
            let Some(shared) = session.clock_now(now).map(|now| now.shared) else { return };
            if ship.is_none() {
                *ship = session.create(SHIP, b"", now).ok();
            }
            if let Some(ship) = *ship {
                let _ = session.observe(ship, Observation::Moved(flight(index, shared)), now);
            }
        });
    }
}

/// The ships' flight: circles of 40 units at 20 units per second.
fn flight(index: usize, now: SharedInstant) -> State<Vec2> {
    let secs = (now.as_micros() % 100_000_000) as f64 / 1e6;
    let ahead = Vec2::from_heading(0.5 * secs + index as f64);
    State::moving(ahead * 40.0, ahead.perpendicular() * 20.0)
}

/// Returns the processor seconds of the newest server thread, or `None` if they are not reported.
fn server_cpu() -> Option<f64> {
    const TICKS_PER_SEC: f64 = 100.0;
    let tasks = std::fs::read_dir("/proc/self/task").ok()?;
    let servers = tasks.filter_map(|task| {
        let task = task.ok()?.path();
        let name = std::fs::read_to_string(task.join("comm")).ok()?;
        (name.trim() == "fairpath-server").then_some(task)
    });
    let newest =
        servers.max_by_key(|task| task.file_name().and_then(|name| name.to_str()?.parse::<u32>().ok()))?;
    let statistics = std::fs::read_to_string(newest.join("stat")).ok()?;
    // After the name in parentheses, fields 12 and 13 are user and system time.
    let fields: Vec<&str> = statistics.rsplit(") ").next()?.split(' ').collect();
    let ticks = |at: usize| fields.get(at)?.parse::<f64>().ok();
    Some((ticks(11)? + ticks(12)?) / TICKS_PER_SEC)
}
