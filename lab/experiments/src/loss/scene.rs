use std::time::Duration;

use fairpath::number::EntityId;
use fairpath::random::Random;
use fairpath::schedule::Broadcast;
use fairpath::session::{
    Class, ClassId, Client, ClientConfig, LossProtection, Protocol, Server, ServerConfig, Statistics,
};
use fairpath::time::{SharedInstant, Span, TickRate};
use fairpath::vector::{Vec2, Vec3};
use fairpath::wire::{Precision, PrecisionSettings};
use fairpath_games::tanks::TankPaths;
use fairpath_sim::{LinkConfig, Loss, PeerId, SessionWorld};

use super::raw_loop;
use super::score::{ErrorSamples, LossScore, since_zero};

/// One game: a server with tanks, and receivers behind links that lose datagrams.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LossScene {
    pub pattern: LossPattern,
    /// One way, of every receiver.
    pub delay: Span,
    /// The error at which a DR vector is cut.
    pub threshold: f64,
    /// What the server does about loss.
    pub protection: LossProtection,
    /// How long is measured, after a warm-up.
    pub length: Span,
    pub seed: u64,
}

/// Which datagrams are lost, in both directions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LossPattern {
    /// Each with this probability.
    Independent(f64),
    /// This share, in runs of so many datagrams on average.
    Bursts(f64, f64),
    /// All that are sent during outages, which take this share of the time and last so many
    /// milliseconds on average. A sender of more datagrams does not get through sooner.
    Outages(f64, f64),
}

/// A field of a match.
pub const TANKS: usize = 64;
pub(super) const RECEIVERS: usize = 8;
/// A state of the raw loop: two bytes of number, position and velocity as four `f32`.
pub(super) const STATE_BYTES: usize = 18;
/// The game ticks 30 times a second, and receivers look 60 times.
pub(super) const GAME_RATE: TickRate = TickRate::hz(30);
pub(super) const SAMPLE_RATE: TickRate = TickRate::hz(60);
/// The world ticks so often that a datagram leaves within 2 ms of when it is due.
const WORLD_RATE: TickRate = TickRate::hz(480);
/// Until sessions have begun and losses are known.
pub(super) const WARM_UP: Span = Span::from_secs(6);
/// What sealing adds to a datagram (PROTOCOL.md).
const SEAL_BYTES: u64 = 19;
const TANK: ClassId = ClassId(0);

impl LossScene {
    /// Plays real sessions.
    pub fn play(&self, paths: &TankPaths) -> LossScore {
        let mut world = self.world();
        world.connect_all();
        let tanks: Vec<EntityId> = (0..TANKS)
            .map(|tank| world.server.create(TANK, &(tank as u16).to_le_bytes(), world.now()).expect("room"))
            .collect();
        let begin = SharedInstant::ZERO + WARM_UP;
        let warm_up = begin - world.now();
        let mut samples = ErrorSamples::new(paths);
        let mut game = Game { tick: 0, last: Duration::ZERO, look: [0; RECEIVERS] };
        world.run_for(warm_up, |world, now| game.tick(world, &tanks, paths, now));
        let before = Traffic::of(&mut world);
        world.run_for(self.length, |world, now| {
            game.tick(world, &tanks, paths, now);
            game.sample(world, &tanks, paths, now, &mut samples);
        });
        let after = Traffic::of(&mut world);
        let (rms, p99) = samples.summary();
        let ticks = self.length.as_secs_f64() * f64::from(GAME_RATE.as_hz());
        let each = |bytes: u64| bytes as f64 / (ticks * (TANKS * RECEIVERS) as f64);
        LossScore {
            rms,
            p99,
            bytes: each(after.down - before.down),
            bytes_back: each(after.up - before.up),
            repeats: (after.repeated - before.repeated) as f64
                / (after.vectors - before.vectors).max(1) as f64,
        }
    }

    /// Plays a loop that sends every state over the same links.
    pub fn play_raw(&self, paths: &TankPaths) -> LossScore {
        raw_loop::play(self, paths)
    }

    /// Records the motion that all games show.
    pub fn paths(seed: u64, length: Span) -> TankPaths {
        let secs = (WARM_UP + length).as_secs_f64() + 1.0;
        TankPaths::record(TANKS, Duration::from_secs_f64(secs), seed)
    }

    fn world(&self) -> SessionWorld<Vec2> {
        let game = protocol(self.threshold);
        let random = Random::from_seed(self.seed);
        let config = ServerConfig {
            clients_max: RECEIVERS,
            loss_protection: self.protection,
            ..ServerConfig::new(game.clone(), 1)
        };
        let server = Server::new(config, Box::new(Broadcast), random.fork(1));
        let client = |index| Client::new(ClientConfig::new(game.clone()), random.fork(100 + index));
        let clients = (0..RECEIVERS as u64).map(client).collect();
        let mut world =
            SessionWorld::new(self.seed, self.link(0), server, clients).with_tick_rate(WORLD_RATE);
        for receiver in 0..RECEIVERS {
            world.network.connect(PeerId(0), PeerId(receiver as u32 + 1), self.link(receiver));
        }
        world
    }

    pub(super) fn link(&self, receiver: usize) -> LinkConfig {
        let link = LinkConfig::default().delay(self.delay);
        match self.pattern {
            LossPattern::Independent(ratio) => link.loss(Loss::each(ratio)),
            LossPattern::Bursts(ratio, mean) => link.loss(Loss::bursts(ratio, mean)),
            LossPattern::Outages(share, mean_ms) => self.outages(share, mean_ms, receiver, link),
        }
    }

    /// Draws outages, the same for everything that is sent to this receiver.
    fn outages(&self, share: f64, mean_ms: f64, receiver: usize, mut link: LinkConfig) -> LinkConfig {
        let mut random = Random::from_seed(self.seed).fork(1_000 + receiver as u64);
        let mut lasts = |mean_ms: f64| Span::from_secs_f64(mean_ms / 1e3 * random.exponential());
        let end = SharedInstant::ZERO + WARM_UP + self.length;
        let mut at = SharedInstant::ZERO + Span::from_secs(3);
        while at < end && share > 0.0 {
            let begin = at + lasts(mean_ms * (1.0 - share) / share);
            at = begin + lasts(mean_ms);
            link = link.partition(begin..at);
        }
        link
    }
}

/// When a receiver looks for the n-th time. Receivers look at different times of a tick.
pub(super) fn sample_at(receiver: usize, nth: i64) -> SharedInstant {
    let part = SAMPLE_RATE.begin(1).scaled(receiver as f64 / RECEIVERS as f64);
    SharedInstant::ZERO + SAMPLE_RATE.begin(nth + 1) + part
}

fn protocol(threshold: f64) -> Protocol<Vec2> {
    let class = Class::within(threshold).circular();
    Protocol::new("loss", 1).raw_class(TANK, class).with_precision(precision())
}

/// Far below the thresholds, in a world that has room for the tanks.
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

/// The clockwork of the game and of the looks at screens.
struct Game {
    tick: i64,
    last: Duration,
    look: [i64; RECEIVERS],
}

impl Game {
    fn tick(
        &mut self,
        world: &mut SessionWorld<Vec2>,
        tanks: &[EntityId],
        paths: &TankPaths,
        now: SharedInstant,
    ) {
        if now < SharedInstant::ZERO + GAME_RATE.begin(self.tick + 1) {
            return;
        }
        while now >= SharedInstant::ZERO + GAME_RATE.begin(self.tick + 1) {
            self.tick += 1;
        }
        let at = since_zero(now);
        for (tank, object) in tanks.iter().enumerate() {
            world.server.observe(*object, paths.observe(tank, self.last, at), now).expect("its own");
        }
        self.last = at;
    }

    fn sample(
        &mut self,
        world: &mut SessionWorld<Vec2>,
        tanks: &[EntityId],
        paths: &TankPaths,
        now: SharedInstant,
        samples: &mut ErrorSamples,
    ) {
        for receiver in 0..RECEIVERS {
            if now < sample_at(receiver, self.look[receiver]) {
                continue;
            }
            while now >= sample_at(receiver, self.look[receiver]) {
                self.look[receiver] += 1;
            }
            let (client, local) = world.client_now(receiver);
            for (tank, object) in tanks.iter().enumerate() {
                if let Some(shown) = client.place(*object, local) {
                    samples.add(paths, tank, now, shown.position);
                }
            }
        }
    }
}

/// What was sent so far, with what sealing adds.
#[derive(Clone, Copy, Debug, Default)]
struct Traffic {
    down: u64,
    up: u64,
    vectors: u64,
    repeated: u64,
}

impl Traffic {
    fn of(world: &mut SessionWorld<Vec2>) -> Self {
        let bytes = |it: &Statistics| it.bytes_sent + SEAL_BYTES * it.datagrams_sent;
        let mut traffic = Self::default();
        for client in world.server.clients().collect::<Vec<_>>() {
            let statistics = world.server.statistics(client).expect("a session");
            traffic.down += bytes(&statistics);
            traffic.vectors += statistics.vectors_sent;
            traffic.repeated += statistics.vectors_repeated;
        }
        for receiver in 0..RECEIVERS {
            traffic.up += bytes(&world.client(receiver).statistics());
        }
        traffic
    }
}
