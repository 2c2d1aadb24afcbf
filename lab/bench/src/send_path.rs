//! The cost of a session without a network: a server that tells tanks to clients in memory. Only
//! calls of the server count, per tank, client and tick.

use std::collections::VecDeque;
use std::time::Duration;

use fairpath::number::EntityId;
use fairpath::random::Random;
use fairpath::schedule::{Broadcast, ErrorIndex, ErrorIndexConfig, Scheduler};
use fairpath::session::{
    Class, ClassId, Client, ClientConfig, ConnectionId, Protocol, Server, ServerConfig, Token,
};
use fairpath::time::{LocalInstant, SharedInstant, Span};
use fairpath::vector::{Vec2, Vec3};
use fairpath::wire::{Precision, PrecisionSettings};
use fairpath::{MotionKind, Observation, Trigger};
use fairpath_bench::TankPaths;

use crate::measure::{BenchTable, Stopwatch};

const TANK: ClassId = ClassId(0);
const TANKS: usize = 64;
/// The error at which a tank's DR vector is cut, as in the fan-out bench.
const THRESHOLD: f64 = 0.3;
const TICKS_PER_SEC: usize = 30;
/// Clients and links are looked at this often between two ticks of the server.
const LOOKS_PER_TICK: usize = 8;
const DELAY: Span = Span::from_millis(20);
const DATAGRAM_BYTES_MAX: usize = 1_150;
/// Ticks until every client has a clock, knows all tanks, and receipts flow.
const WARM_UP_TICKS: usize = 150;
/// Rounds of a measurement; the best counts. Each lasts as long as three heartbeats.
const ROUNDS: usize = 5;
const ROUND_TICKS: usize = 90;

/// Builds the scheduler for so many clients.
type BuildScheduler = fn(usize) -> Box<dyn Scheduler<Vec2>>;

struct Scene {
    name: &'static str,
    clients: usize,
    /// The share of lost datagrams.
    loss: f64,
    /// Whether other work displaces the server's memory from the caches between two parts.
    is_cold: bool,
    scheduler: BuildScheduler,
}

const SCENES: [Scene; 7] = [
    Scene::new("broadcast, 64 clients", 64, broadcast),
    Scene::new("broadcast, 64 clients", 64, broadcast).cold(),
    Scene::new("broadcast, 16 clients", 16, broadcast),
    Scene::new("broadcast, 64 clients, 5 % loss", 64, broadcast).losing(0.05),
    Scene::new("error-index, budget for a third of 64 clients", 64, a_third),
    Scene::new("error-index, budget for a third of 64 clients", 64, a_third).cold(),
    Scene::new("error-index, budget for a third, 5 % loss", 64, a_third).losing(0.05),
];

/// Memory that is touched between two parts of a cold scene: twice what a core's own caches hold.
const COLD_KIB: usize = 2048;

impl Scene {
    const fn new(name: &'static str, clients: usize, scheduler: BuildScheduler) -> Self {
        Self { name, clients, loss: 0.0, is_cold: false, scheduler }
    }

    const fn losing(self, loss: f64) -> Self {
        Self { loss, ..self }
    }

    const fn cold(self) -> Self {
        Self { is_cold: true, ..self }
    }
}

pub(crate) fn bench() -> BenchTable {
    let lasting = (WARM_UP_TICKS + (ROUNDS + 1) * ROUND_TICKS) as f64 / TICKS_PER_SEC as f64;
    let paths = TankPaths::record(TANKS, Duration::from_secs_f64(lasting), 7);
    let mut table = BenchTable::of_notes("A server without a network, in ns per tank, client and tick")
        .note(format!("best of {ROUNDS} rounds of {ROUND_TICKS} ticks at {TICKS_PER_SEC} Hz; {TANKS} tanks"))
        .note(format!(
            "{:<52} {:>7} {:>8} {:>7} {:>9} {:>14} {:>11}",
            "", "all", "observe", "fill", "receipts", "DR vectors", "bytes"
        ));
    // One scene by its place in the list, for a profiler.
    let only = std::env::var("SEND_PATH_SCENE").ok().and_then(|place| place.parse().ok());
    for (place, scene) in SCENES.iter().enumerate() {
        if only.is_none_or(|only: usize| only == place) {
            table = table.note(row(scene, &measure(&paths, scene)));
        }
    }
    table
        .note("DR vectors and bytes: per client and tick, in the best round")
        .note(format!("cold: {COLD_KIB} KiB of other memory are touched before each part"))
}

fn broadcast(_: usize) -> Box<dyn Scheduler<Vec2>> {
    Box::new(Broadcast)
}

fn a_third(clients: usize) -> Box<dyn Scheduler<Vec2>> {
    Box::new(ErrorIndex::new(ErrorIndexConfig::new(clients as f64 / 3.0)))
}

/// Seconds per tank, client and tick for each part, and what was sent per client and tick.
#[derive(Clone, Copy, Debug)]
struct Cost {
    parts: [f64; 3],
    vectors: f64,
    bytes: f64,
}

impl Cost {
    fn all(&self) -> f64 {
        self.parts.iter().sum()
    }
}

fn row(scene: &Scene, cost: &Cost) -> String {
    let name = format!("{}{}", scene.name, if scene.is_cold { ", cold" } else { "" });
    let [observe, fill, receipts] = cost.parts.map(|secs| secs * 1e9);
    format!(
        "{name:<52} {:>7.1} {observe:>8.1} {fill:>7.1} {receipts:>9.1} {:>14.2} {:>11.1}",
        cost.all() * 1e9,
        cost.vectors,
        cost.bytes
    )
}

fn measure(paths: &TankPaths, scene: &Scene) -> Cost {
    let clients = scene.clients;
    let mut world = World::new(paths, scene);
    let own_cost = Stopwatch::own_cost();
    (0..WARM_UP_TICKS).for_each(|_| world.tick(&mut Watches::default()));
    let rounds = (0..ROUNDS).map(|_| {
        let mut watches = Watches::default();
        let before = world.sent();
        measured_round(&mut world, &mut watches);
        let (vectors, bytes) = world.sent();
        let per_tick = (ROUND_TICKS * clients) as f64;
        let parts = [&watches.observe, &watches.fill, &watches.receipts];
        Cost {
            parts: parts.map(|watch| watch.elapsed(own_cost).as_secs_f64() / per_tick / TANKS as f64),
            vectors: (vectors - before.0) as f64 / per_tick,
            bytes: (bytes - before.1) as f64 / per_tick,
        }
    });
    rounds.min_by(|one, other| one.all().total_cmp(&other.all())).expect("there are rounds")
}

/// A function of its own, so that a profiler can leave out the warm-up.
#[inline(never)]
fn measured_round(world: &mut World<'_>, watches: &mut Watches) {
    (0..ROUND_TICKS).for_each(|_| world.tick(watches));
}

#[derive(Default)]
struct Watches {
    observe: Stopwatch,
    fill: Stopwatch,
    receipts: Stopwatch,
}

/// A server and its clients. Everything that one end sends reaches the other after [`DELAY`];
/// datagrams may be lost.
struct World<'a> {
    paths: &'a TankPaths,
    server: Server<Vec2>,
    tanks: Vec<EntityId>,
    clients: Vec<(ConnectionId, Client<Vec2>)>,
    /// Under way, in the order of arrival.
    down: VecDeque<Packet>,
    up: VecDeque<Packet>,
    loss: f64,
    random: Random,
    tick: usize,
    evictor: Evictor,
}

/// Reads and writes memory between two measured parts, as other work on the machine does between
/// two ticks: what a server keeps is in no cache of its core then.
#[derive(Default)]
struct Evictor(Vec<u64>);

impl Evictor {
    fn of_kib(kib: usize) -> Self {
        Self(vec![1; kib * 1024 / size_of::<u64>()])
    }

    fn evict(&mut self) {
        for word in self.0.iter_mut().step_by(8) {
            *word = word.wrapping_mul(3);
        }
        std::hint::black_box(&self.0);
    }
}

struct Packet {
    arrives_at: SharedInstant,
    client: usize,
    bytes: Vec<u8>,
    is_datagram: bool,
}

impl<'a> World<'a> {
    fn new(paths: &'a TankPaths, scene: &Scene) -> Self {
        let Scene { clients, loss, .. } = *scene;
        let scheduler = (scene.scheduler)(clients);
        let random = Random::from_seed(11);
        let now = SharedInstant::ZERO;
        let config = ServerConfig { clients_max: clients, ..ServerConfig::new(protocol(), 1) };
        let mut server = Server::new(config, scheduler, random.fork(1));
        let create =
            |tank: usize| server.create(TANK, &(tank as u16).to_le_bytes(), now).expect("there is room");
        let tanks = (0..TANKS).map(create).collect();
        let connect = |client: usize| {
            let id = server.handle_connected(Token([client as u8; 16]), now).expect("there are seats");
            let config = ClientConfig::new(protocol());
            let mut client = Client::new(config, random.fork(100 + client as u64));
            client.handle_connected(LocalInstant::ZERO);
            (id, client)
        };
        let clients = (0..clients).map(connect).collect();
        let (down, up) = (VecDeque::new(), VecDeque::new());
        let evictor = Evictor::of_kib(if scene.is_cold { COLD_KIB } else { 0 });
        Self { paths, server, tanks, clients, down, up, loss, random: random.fork(2), tick: 0, evictor }
    }

    /// DR vectors and bytes of all datagrams and streams so far.
    fn sent(&self) -> (u64, u64) {
        let statistics = self.server.clients().filter_map(|client| self.server.statistics(client));
        statistics.fold((0, 0), |(vectors, bytes), it| (vectors + it.vectors_sent, bytes + it.bytes_sent))
    }

    fn tick(&mut self, watches: &mut Watches) {
        let now = instant(self.tick, 0);
        let observations = self.observations();
        self.evictor.evict();
        watches.observe.time(|| observe(&mut self.server, &observations, now));
        let sent = watches.fill.time(|| fill(&mut self.server, &self.clients, now));
        self.down.extend(sent.into_iter().filter(|it| !it.is_datagram || !self.random.chance(self.loss)));
        while self.server.poll_event().is_some() {}
        for look in 0..LOOKS_PER_TICK {
            self.look(instant(self.tick, look), watches);
        }
        self.tick += 1;
    }

    fn observations(&self) -> Vec<(EntityId, Observation<Vec2>)> {
        let at = |tick: usize| Duration::from_secs_f64(tick as f64 / TICKS_PER_SEC as f64);
        let (before, now) = (at(self.tick.saturating_sub(1)), at(self.tick));
        let tanks = self.tanks.iter().enumerate();
        tanks.map(|(tank, object)| (*object, self.paths.observe(tank, before, now))).collect()
    }

    /// Delivers what has arrived, and lets the clients answer.
    fn look(&mut self, now: SharedInstant, watches: &mut Watches) {
        let local = LocalInstant::ZERO + now.since_zero();
        while let Some(packet) = self.down.pop_front_if(|packet| packet.arrives_at <= now) {
            let client = &mut self.clients[packet.client].1;
            if packet.is_datagram {
                client.handle_datagram(&packet.bytes, local);
            } else {
                client.handle_stream(&packet.bytes, local);
            }
        }
        let arrived = self.up.iter().take_while(|packet| packet.arrives_at <= now).count();
        let arrived: Vec<Packet> = self.up.drain(..arrived).collect();
        if !arrived.is_empty() {
            self.evictor.evict();
        }
        watches.receipts.time(|| hear(&mut self.server, &self.clients, &arrived, now));
        for (place, (_, client)) in self.clients.iter_mut().enumerate() {
            while client.poll_event().is_some() {}
            let packet =
                |bytes, is_datagram| Packet { arrives_at: now + DELAY, client: place, bytes, is_datagram };
            while let Some(bytes) = client.poll_stream(local) {
                self.up.push_back(packet(bytes, false));
            }
            while let Some(bytes) = client.poll_datagram(local, DATAGRAM_BYTES_MAX) {
                if !self.random.chance(self.loss) {
                    self.up.push_back(packet(bytes, true));
                }
            }
        }
    }
}

/// The server learns where all tanks are.
#[inline(never)]
fn observe(server: &mut Server<Vec2>, observations: &[(EntityId, Observation<Vec2>)], now: SharedInstant) {
    for (tank, observation) in observations {
        server.observe(*tank, *observation, now).expect("it is the server's own");
    }
}

/// The server fills all datagrams of a tick, as a driver does that sends at ticks.
#[inline(never)]
fn fill(
    server: &mut Server<Vec2>,
    clients: &[(ConnectionId, Client<Vec2>)],
    now: SharedInstant,
) -> Vec<Packet> {
    server.handle_timeout(now);
    let mut sent = Vec::with_capacity(2 * clients.len());
    for (client, (id, _)) in clients.iter().enumerate() {
        let mut send = |bytes, is_datagram| {
            sent.push(Packet { arrives_at: now + DELAY, client, bytes, is_datagram });
        };
        while let Some(bytes) = server.poll_stream(*id, now) {
            send(bytes, false);
        }
        while let Some(bytes) = server.poll_datagram(*id, now, DATAGRAM_BYTES_MAX) {
            send(bytes, true);
        }
    }
    sent
}

/// The server handles the clients' receipts, and all else that arrived.
#[inline(never)]
fn hear(
    server: &mut Server<Vec2>,
    clients: &[(ConnectionId, Client<Vec2>)],
    arrived: &[Packet],
    now: SharedInstant,
) {
    for packet in arrived {
        let (id, _) = clients[packet.client];
        if packet.is_datagram {
            server.handle_datagram(id, &packet.bytes, now);
        } else {
            server.handle_stream(id, &packet.bytes, now);
        }
    }
}

fn instant(tick: usize, look: usize) -> SharedInstant {
    let looks = (tick * LOOKS_PER_TICK + look) as f64;
    SharedInstant::from_secs_f64(looks / (TICKS_PER_SEC * LOOKS_PER_TICK) as f64)
}

fn protocol() -> Protocol<Vec2> {
    let class = Class::new(Trigger::within(THRESHOLD)).with_model(MotionKind::Circular);
    Protocol::from([(TANK, class)]).with_precision(precision())
}

/// A precision far below the threshold, as in the fan-out bench.
fn precision() -> Precision {
    let corner = TankPaths::reach(TANKS);
    let settings = PrecisionSettings {
        position_step: 0.05,
        world_min: Vec3::new(-corner, -corner, 0.0),
        world_max: Vec3::new(corner, corner, 1.0),
        velocity_step: 0.05,
        velocity_limit: 25.6,
        angle_steps: 2048,
        turn_rate_step: 0.005,
        turn_rate_limit: 0.8,
        ..PrecisionSettings::default()
    };
    Precision::new(settings).expect("valid precision settings")
}
