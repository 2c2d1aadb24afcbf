use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use fairpath::number::EntityId;
use fairpath::random::Random;
use fairpath::schedule::{QueueOrder, Queued, Scheduler, SchedulerChoice};
use fairpath::session::{Budget, Client, ClientConfig, Server, ServerConfig};
use fairpath::time::{SharedInstant, Span};
use fairpath::vector::{Vec2, Vector};
use fairpath::{Observation, State};
use fairpath_games::asteroids::{BULLET, Pilot, SHIP, classes};
use fairpath_sim::{DatagramRoute, LinkConfig, Loss, PeerId, SessionWorld, Tap};

use super::copies::{CountingScheduler, SharedCounts};
use super::score::{BudgetScore, Samples};
use super::{CopyCounts, CopyReason};

/// One game of asteroids. Every client sees every object.
#[derive(Clone, Debug)]
pub struct BudgetScene {
    pub players: usize,
    /// The part of packets that is lost, each way.
    pub loss: f64,
    pub has_bullets: bool,
    pub scheduler: SceneScheduler,
    pub opening: Opening,
    /// How long is measured, after the opening.
    pub length: Span,
    pub seed: u64,
}

/// What happens before the measurement begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    /// All play for 8 s, until clocks and delays are known.
    Settled,
    /// All have just connected to a new server.
    Fresh,
    /// All but the last play for 8 s. Then the last one, and farthest, joins.
    Joiner,
}

/// A scheduler with its budget.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SceneScheduler {
    /// DR vectors per trigger and receiver, as in the papers: 1 is enough for all.
    Counted { choice: SchedulerChoice, share: f64 },
    /// Bytes per second and client, as in a live server.
    Bytes { order: QueueOrder, budget: Budget },
}

const WARM_UP: Span = Span::from_secs(8);
/// One-way delays of the nearest and the farthest client, in milliseconds.
const DELAYS_MS: [f64; 2] = [20.0, 400.0];
/// The world ticks 60 times a second; every third tick is measured.
const TICK_SECS: f64 = 1.0 / 60.0;
const SAMPLE_EVERY: u64 = 3;
const PLENTY: Budget = Budget { bytes_per_sec: 10_000_000, burst_bytes: 1_000_000, share: None };

impl SceneScheduler {
    /// More bytes than are ever needed.
    pub const BROADCAST: Self = Self::Counted { choice: SchedulerChoice::Broadcast, share: 1.0 };

    fn build(self, receivers: usize) -> Box<dyn Scheduler<Vec2>> {
        match self {
            Self::Counted { choice, share } => choice.build(receivers, share * receivers as f64),
            Self::Bytes { order, .. } => Box::new(Queued::by(order)),
        }
    }

    fn byte_budget(self) -> Budget {
        match self {
            Self::Counted { .. } => PLENTY,
            Self::Bytes { budget, .. } => budget,
        }
    }
}

impl BudgetScene {
    pub fn play(&self) -> BudgetScore {
        let counts = SharedCounts::default();
        let datagram_bytes = Arc::new(AtomicU64::new(0));
        let mut world = self.world(counts.clone()).with_tap(ByteTap(datagram_bytes.clone()));
        let last = self.players - 1;
        if self.opening == Opening::Joiner {
            world.absent(last);
        }
        world.connect_all();
        let mut game = Game::new(self);
        if self.opening != Opening::Fresh {
            world.run_for(WARM_UP, |world, now| game.tick(world, now));
        }
        if self.opening == Opening::Joiner {
            world.arrive(last);
        }
        let stream_and_all = bytes_sent(&world);
        counts.take();
        datagram_bytes.store(0, Ordering::Relaxed);
        game.samples = Some([Samples::new(self.players), Samples::new(self.players)]);
        world.run_for(self.length, |world, now| game.tick(world, now));
        let secs = self.length.as_secs_f64();
        let per_client = |bytes: u64| bytes as f64 / secs / self.players as f64;
        let [ships, bullets] = game.samples.take().expect("they were begun").map(Samples::score);
        BudgetScore {
            ships,
            bullets,
            bytes_per_sec: per_client(bytes_sent(&world) - stream_and_all),
            datagram_bytes_per_sec: per_client(datagram_bytes.load(Ordering::Relaxed)),
            copies: counts.take().by_class(&game.ships),
            secs,
        }
    }

    fn world(&self, counts: SharedCounts) -> SessionWorld<Vec2> {
        let scheduler = CountingScheduler::new(self.scheduler.build(self.players - 1), counts);
        let config = ServerConfig {
            budget: self.scheduler.byte_budget(),
            clients_max: self.players,
            ..ServerConfig::new(classes(), 1)
        };
        let random = Random::from_seed(self.seed);
        let server = Server::new(config, Box::new(scheduler), random.fork(1));
        let client = |index| Client::new(ClientConfig::new(classes()), random.fork(100 + index));
        let clients = (0..self.players as u64).map(client).collect();
        let mut world = SessionWorld::new(self.seed, self.link(0), server, clients);
        for index in 0..self.players {
            world.network.connect(PeerId(0), PeerId(index as u32 + 1), self.link(index));
        }
        world
    }

    /// Delays grow from client to client by the same factor.
    fn link(&self, index: usize) -> LinkConfig {
        let [near, far] = DELAYS_MS;
        let part = index as f64 / (self.players - 1) as f64;
        let delay = Span::from_secs_f64(near * (far / near).powf(part) / 1000.0);
        LinkConfig::default().delay(delay).loss(Loss::each(self.loss))
    }
}

fn bytes_sent(world: &SessionWorld<Vec2>) -> u64 {
    let statistics = world.server.clients().filter_map(|client| world.server.statistics(client));
    statistics.map(|statistics| statistics.bytes_sent).sum()
}

/// The truth of a game, and what is measured in it.
struct Game {
    pilots: Vec<Pilot>,
    ships: Vec<EntityId>,
    bullets: Vec<Bullet>,
    has_bullets: bool,
    ticks: u64,
    /// Of ships and bullets, once the measurement has begun.
    samples: Option<[Samples; 2]>,
}

struct Bullet {
    object: EntityId,
    owner: usize,
    from: State<Vec2>,
    born_at: SharedInstant,
    ends_at: SharedInstant,
}

impl Bullet {
    fn position(&self, now: SharedInstant) -> Vec2 {
        self.from.position + self.from.velocity * (now - self.born_at).as_secs_f64()
    }
}

impl Game {
    fn new(scene: &BudgetScene) -> Self {
        let seeds = Random::from_seed(scene.seed).fork(2);
        let pilots = (0..scene.players as u64).map(|index| Pilot::new(seeds.fork(index).unit().to_bits()));
        Self {
            pilots: pilots.collect(),
            ships: Vec::new(),
            bullets: Vec::new(),
            has_bullets: scene.has_bullets,
            ticks: 0,
            samples: None,
        }
    }

    fn tick(&mut self, world: &mut SessionWorld<Vec2>, now: SharedInstant) {
        self.ticks += 1;
        for owner in 0..self.pilots.len() {
            if owner <= self.ships.len() {
                self.play(owner, world, now);
            }
        }
        self.bullets.retain(|bullet| now < bullet.ends_at);
        if self.ticks.is_multiple_of(SAMPLE_EVERY) {
            self.sample(world, now);
        }
    }

    fn play(&mut self, owner: usize, world: &mut SessionWorld<Vec2>, now: SharedInstant) {
        let shot = self.pilots[owner].step(TICK_SECS).filter(|_| self.has_bullets);
        let ship = self.pilots[owner].ship;
        let (client, local) = world.client_now(owner);
        if self.ships.len() == owner {
            // The last player may not have joined yet.
            let Ok(object) = client.create_at(SHIP, b"", Some(ship), local, local) else { return };
            self.ships.push(object);
        }
        client.observe(self.ships[owner], Observation::Moved(ship), local).expect("its own");
        if let Some(shot) = shot {
            // A client may be out of ids for a moment, or create too fast: then no bullet is fired.
            if let Ok(object) = client.create_at(BULLET, b"", Some(shot.state), local, local) {
                let ends_at = now + shot.life;
                self.bullets.push(Bullet { object, owner, from: shot.state, born_at: now, ends_at });
            }
        }
        for bullet in self.bullets.iter().filter(|bullet| bullet.owner == owner && now >= bullet.ends_at) {
            client.destroy(bullet.object).expect("its own");
        }
    }

    fn sample(&mut self, world: &mut SessionWorld<Vec2>, now: SharedInstant) {
        let Some([ships, bullets]) = &mut self.samples else { return };
        for receiver in 0..self.ships.len() {
            let (client, local) = world.client_now(receiver);
            let mut error =
                |object: EntityId, truth: Vec2| Some(client.place(object, local)?.position.distance(truth));
            for owner in (0..self.ships.len()).filter(|owner| *owner != receiver) {
                ships.add(receiver, error(self.ships[owner], self.pilots[owner].ship.position));
            }
            for bullet in self.bullets.iter().filter(|bullet| bullet.owner != receiver) {
                bullets.add(receiver, error(bullet.object, bullet.position(now)));
            }
        }
    }
}

impl CopyCounts {
    /// Splits the counts into those of ships and of bullets.
    fn by_class(&self, ships: &[EntityId]) -> [Self; 2] {
        [true, false].map(|is_ship| self.only(|object| ships.contains(&object) == is_ship))
    }
}

impl BudgetScore {
    /// Returns the copies about ships and bullets for one reason, per second and client.
    pub fn copies_per_sec(&self, reason: CopyReason) -> [f64; 2] {
        let receivers = self.ships.receivers() as f64;
        self.copies.each_ref().map(|copies| copies.of(reason) as f64 / self.secs / receivers)
    }
}

/// Counts the bytes of the server's datagrams.
#[derive(Debug)]
struct ByteTap(Arc<AtomicU64>);

impl Tap<Vec2> for ByteTap {
    fn on_sends(&mut self, way: DatagramRoute, _: SharedInstant, datagram: &mut Vec<u8>) {
        if !way.is_up {
            self.0.fetch_add(datagram.len() as u64, Ordering::Relaxed);
        }
    }
}
