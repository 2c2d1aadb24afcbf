//! X16 over real sockets.

use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

use fairpath::motion::MotionKind;
use fairpath::number::EntityId;
use fairpath::place::Placement;
use fairpath::schedule::Broadcast;
use fairpath::session::{Class, ClassId, Client, ClientConfig, Server, ServerConfig};
use fairpath::time::Span;
use fairpath::vector::{Vec2, Vector};
use fairpath::{Observation, Trigger};
use fairpath_games::tanks::{Event, Match, ShotEnd, TICK_RATE};
use fairpath_net::middleman::Middleman;
use fairpath_net::{
    Identity, NetClient, NetClientConfig, NetServer, NetServerConfig, Trust, new_epoch, unguessable_random,
};

use super::super::DECLARATION;
use super::{END_WITHIN, any_port, cannot, middleman, real_time_note};
use crate::delay::arena::{Targets, Trial};
use crate::experiment::{CannotRun, Declaration, DeclaredExperiment, Progress, RunOption, Settings};
use crate::online::CONNECT_WITHIN;
use crate::outcome::{Claim, Column, Outcome, Rows};
use crate::{cells, judge};

pub(in crate::experiments::delay) static EXPERIMENT: DeclaredExperiment = DeclaredExperiment {
    declaration: Declaration {
        name: "aiming",
        alias: "X16",
        title: "Tank bots aim at what their screens show, over real sockets",
        source: "Banavar 2005 2.3.1",
        about: "aiming (X16) against drivers that do not dodge, in real time: the tanks are objects of a session on QUIC, a client behind a \
                middleman that delays every packet receives them, and the bots aim at where that client places them. A minute each, all at once.",
        options: &[RunOption::Seed, RunOption::Delays],
        is_repeatable: false,
        ..DECLARATION
    },
    run,
};

const DELAYS_MS: [i64; 3] = [100, 300, 800];
const SECS: u32 = 60;
const MATCHES: u64 = 2;
const TANK: ClassId = ClassId(0);

fn run(settings: &Settings, progress: &dyn Progress) -> Result<Outcome, CannotRun> {
    let delays = settings.delays_or(&DELAYS_MS);
    let mut arenas = Vec::new();
    for delay in &delays {
        for placement in [Placement::Local, Placement::Global] {
            for number in 0..MATCHES {
                arenas.push(LiveArena::new(*delay, placement, settings.seed + number)?);
            }
        }
    }
    progress.begin("live", arenas.len() as u64);
    let results: Vec<(Span, Placement, AimResult)> = scope(|threads| {
        let hands: Vec<_> = arenas
            .into_iter()
            .map(|arena| {
                threads.spawn(move || {
                    let result = (arena.delay, arena.placement, arena.fight());
                    progress.step();
                    result
                })
            })
            .collect();
        hands.into_iter().filter_map(|hand| hand.join().ok()).collect()
    });
    let mut rows = Rows::new([
        Column::number("delay_ms", "delay", "ms").decimals(0),
        Column::text("placement", "placement"),
        Column::number("shots", "shots", ""),
        Column::number("shown_off", "tanks shown off by", "units").decimals(2),
        Column::number("hit_percent", "hit rate", "%").decimals(1),
    ]);
    let mut off = Vec::new();
    for delay in &delays {
        let of = |placement: Placement| {
            let mut all = AimResult::default();
            results
                .iter()
                .filter(|(at, by, _)| (*at, *by) == (*delay, placement))
                .for_each(|(.., hits)| all.add(hits));
            all
        };
        let (local, global) = (of(Placement::Local), of(Placement::Global));
        for (name, hits) in [("local", &local), ("global", &global)] {
            let percent = 100.0 * f64::from(hits.hits) / f64::from(hits.fired);
            rows.push(cells![delay.as_millis_f64(), name, u64::from(hits.fired), hits.shown_off(), percent]);
        }
        off.push((global.shown_off(), local.shown_off()));
    }
    Ok(Outcome::new(rows)
        .claim(
            Claim::new(
                "X16.live-placed",
                "live: global placement shows tanks nearer to where they are than local, at every delay",
                judge::below_in_every(off),
            )
            .unit("× local's distance, at most"),
        )
        .note(
            "A minute has too few shots to judge hit rates by: they stand in the table, and are judged in virtual time. The bots are in the \
             server's process, and see the others as a client on the far side of the network does.",
        )
        .note(real_time_note()))
}

/// A match, a server that sends it, and a client that receives it.
struct LiveArena {
    delay: Span,
    placement: Placement,
    game: Match,
    tanks: Vec<EntityId>,
    server: NetServer<Vec2>,
    client: NetClient<Vec2>,
    /// Dropping it would cut the line.
    _middleman: Middleman,
}

/// Shots, hits, and how far tanks were shown from where they are.
#[derive(Clone, Copy, Default)]
struct AimResult {
    fired: u32,
    hits: u32,
    off: f64,
    looks: u64,
}

impl AimResult {
    fn add(&mut self, other: &Self) {
        self.fired += other.fired;
        self.hits += other.hits;
        self.off += other.off;
        self.looks += other.looks;
    }

    fn shown_off(&self) -> f64 {
        self.off / self.looks as f64
    }
}

impl LiveArena {
    fn new(delay: Span, placement: Placement, seed: u64) -> Result<Self, CannotRun> {
        let trial = Trial { targets: Targets::Drivers, ..Trial::new(delay, placement, seed) };
        let game = trial.game();
        let classes = [(TANK, Class::new(Trigger::within(0.3)).with_model(MotionKind::Circular))];
        let config = ServerConfig { placement, ..ServerConfig::new(classes.clone(), new_epoch()) };
        let session = Server::<Vec2>::new(config, Box::new(Broadcast), unguessable_random());
        let identity = Identity::local(&[]).map_err(cannot)?;
        let server = NetServer::bind(NetServerConfig::new(any_port(), identity), session).map_err(cannot)?;
        let middleman = middleman(server.address(), delay)?;
        let session = Client::<Vec2>::new(ClientConfig::new(classes), unguessable_random());
        let trust = Trust::Pinned(vec![server.fingerprint()]);
        let config = NetClientConfig { connect_within: CONNECT_WITHIN, ..NetClientConfig::new(trust) };
        let client = NetClient::connect(middleman.address(), config, session).map_err(cannot)?;
        let create = |_: &_| server.with_session(|session, now| session.create(TANK, b"", now));
        let tanks = game.tanks().tanks().iter().map(create).collect::<Result<_, _>>();
        let tanks = tanks.map_err(cannot)?;
        Ok(Self { delay, placement, game, tanks, server, client, _middleman: middleman })
    }

    /// Plays for a minute of real time, once the client sees every tank.
    fn fight(mut self) -> AimResult {
        let mut hits = AimResult::default();
        let begun = Instant::now();
        let mut sees_all = false;
        while !sees_all && begun.elapsed() < END_WITHIN {
            self.tell();
            sees_all = self
                .tanks
                .iter()
                .all(|tank| self.client.with_session(|session, now| session.place(*tank, now)).is_some());
            sleep(Duration::from_millis(20));
        }
        let begun = Instant::now();
        for tick in 1..=SECS * TICK_RATE.as_hz() {
            let due = Duration::from_micros(TICK_RATE.begin(tick.into()).as_micros().unsigned_abs());
            sleep(due.saturating_sub(begun.elapsed()));
            self.step(&mut hits);
            self.tell();
        }
        hits
    }

    fn step(&mut self, hits: &mut AimResult) {
        let Self { game, tanks, client, .. } = self;
        game.step_showing(|view| {
            client.with_session(|session, now| {
                for seen in &mut view.tanks {
                    let Some(placed) = session.place(tanks[seen.id.0 as usize], now) else { continue };
                    hits.off += placed.position.distance(seen.state.position);
                    hits.looks += 1;
                    seen.state = placed;
                }
            });
        });
        for event in game.tanks().events() {
            match event {
                Event::Fired { .. } => hits.fired += 1,
                Event::ShotEnded { end: ShotEnd::Tank(_), .. } => hits.hits += 1,
                _ => {}
            }
        }
    }

    /// Observes all tanks. An observation that is refused now follows with the next tick.
    fn tell(&self) {
        self.server.with_session(|session, now| {
            while session.poll_event().is_some() {}
            for (object, tank) in self.tanks.iter().zip(self.game.tanks().tanks()) {
                let state = tank.state();
                let observation = match tank.observation() {
                    Some(Observation::Jumped(_)) => Observation::Jumped(state),
                    _ => Observation::Moved(state),
                };
                let _ = session.observe(*object, observation, now);
            }
        });
        self.client.with_session(|session, _| while session.poll_event().is_some() {});
    }
}
