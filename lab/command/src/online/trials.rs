//! The experiments over real sockets, through a middleman: few, short, and all at once, because the
//! clock is real.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

use fairpath::converge::Convergence;
use fairpath::motion::MotionKind;
use fairpath::number::EntityId;
use fairpath::place::Placement;
use fairpath::random::Random;
use fairpath::schedule::Broadcast;
use fairpath::session::{Class, ClassId, Client, ClientConfig, Server, ServerConfig};
use fairpath::time::{Now, SharedInstant, Span};
use fairpath::vector::Vec2;
use fairpath::{Observation, Trigger};
use fairpath_experiments::delay::Summary;
use fairpath_experiments::delay::arena::{Targets, Trial};
use fairpath_experiments::delay::sailing::Finish;
use fairpath_experiments::experiment::{CannotRun, Experiment, Progress, Settings};
use fairpath_experiments::outcome::{Claim, Column, Outcome, Rows};
use fairpath_experiments::{cells, judge};
use fairpath_games::jet_car::{Bot, JetCarConfig, JetCarScene, Skill};
use fairpath_games::sailing::{self, Agent, SailingConfig, SailingPredictor, Trim, Wind};
use fairpath_games::tanks::{Event, Match, ShotEnd, TICK_RATE};
use fairpath_net::middleman::{Middleman, MiddlemanConfig};
use fairpath_net::{
    Identity, NetClient, NetClientConfig, NetServer, NetServerConfig, Trust, new_epoch, unguessable_random,
};
use fairpath_sim::LinkConfig;

use super::CONNECT_WITHIN;
use super::remote::Remote;
use super::serve::{LOOK_EVERY, bind};
use crate::BadInput;
use fairpath_games::online::{CLIENT_SEAT, HostedGame, HostedJetCar, HostedSailing, Room, RoomStatistics};

/// The experiment of this id over real sockets, if there is one.
pub(crate) fn find(id: &str) -> Option<&'static dyn Experiment> {
    let all: [&'static dyn Experiment; 3] = [&LiveJetCar, &LiveSailing, &LiveTanks];
    all.into_iter().find(|experiment| experiment.id().eq_ignore_ascii_case(id))
}

/// How much longer than it should take a guest waits: for the greeting, for a slow machine, for the
/// last word.
const PATIENCE: Duration = Duration::from_secs(30);

// ── the jet car
// ─────────────────────────────────────────────────────────────────────────────────────────────

/// X13 over real sockets.
struct LiveJetCar;

const JET_CAR_RTTS_MS: [i64; 4] = [40, 200, 800, 1600];
const JET_CAR_SECS: u32 = 40;
const JET_CAR_RUNS: u64 = 3;

impl Experiment for LiveJetCar {
    fn id(&self) -> &'static str {
        "X13"
    }

    fn title(&self) -> &'static str {
        "Jet car over real sockets"
    }

    fn source(&self) -> &'static str {
        "Buchheit 2004 fig 7"
    }

    fn about(&self) -> &'static str {
        "X13 in real time: a free-running server on QUIC, bots at the far end of a middleman that holds every packet for half the round \
         trip, calm air, 40 s a run, all at once. The courses follow from the seed; what arrives when does not."
    }

    fn run(&self, settings: &Settings, progress: &dyn Progress) -> Result<Outcome, CannotRun> {
        let rules = JetCarConfig { secs: JET_CAR_SECS, ..JetCarConfig::default() };
        let plan = Plan::new(settings, &JET_CAR_RTTS_MS, JET_CAR_RUNS);
        let game = || HostedJetCar { rules };
        let played = plan.play(game, settings.seed, progress, |guest| drive(guest, rules))?;
        let mut rows = Rows::new([
            Column::number("rtt_ms", "round trip", "ms").decimals(0),
            Column::text("compensation", "compensation"),
            Column::number("score", "mean score in 40 s", "").decimals(1),
            Column::number("score_low", "95 %, from", "").decimals(1),
            Column::number("score_high", "to", "").decimals(1),
            Column::number("heard_per_s", "states heard", "/s").decimals(1),
            Column::number("runs", "runs", ""),
        ]);
        for (rtt, is_compensated, scores, heard) in &played.cells {
            let score = Summary::of(scores);
            rows.push(cells![
                rtt.as_millis_f64(),
                switch(*is_compensated),
                score.mean,
                score.interval.0,
                score.interval.1,
                *heard,
                scores.len(),
            ]);
        }
        let pairs: Vec<(Span, f64, f64)> = played.pairs();
        let far = pairs.iter().filter(|(rtt, ..)| *rtt >= Span::from_millis(200));
        let gain = far.map(|(_, off, on)| on - off).fold(f64::INFINITY, f64::min);
        Ok(Outcome::new(rows)
            .claim(
                Claim::new(
                    "X13.live",
                    "live: from 200 ms on compensated play scores more",
                    judge::above(gain, 0.0),
                )
                .unit("points more in 40 s, at least")
                .paper("on ≫ off"),
            )
            .claim(served(&played.statistics, "X13"))
            .note(note()))
    }
}

/// One run; nothing if the server never came or never ended it.
fn drive(mut guest: Guest<'_, HostedJetCar>, rules: JetCarConfig) -> Option<f64> {
    let skill = if guest.is_compensated { Skill::default() } else { Skill::default().used_to(guest.rtt) };
    let mut bot = Bot::new(skill, Random::from_seed(guest.seed).fork(1 << 32));
    let length = Duration::from_secs(rules.secs.into());
    guest
        .play(
            &rules,
            length,
            |scene, now| bot.drive(&rules, now, scene),
            |scene: &JetCarScene| scene.is_over(&rules),
        )
        .map(|scene| f64::from(scene.score))
}

// ── sailing
// ─────────────────────────────────────────────────────────────────────────────────────────────────

/// X14 over real sockets.
struct LiveSailing;

const SAILING_RTTS_MS: [i64; 4] = [50, 300, 800, 1500];
const SAILING_RUNS: u64 = 2;
/// A shorter course: the clock is real.
const COURSE_FT: f64 = 500.0;
/// Who is not there by then is counted with it.
const RACE_SECS_MAX: f64 = 150.0;

impl Experiment for LiveSailing {
    fn id(&self) -> &'static str {
        "X14"
    }

    fn title(&self) -> &'static str {
        "Sailing over real sockets"
    }

    fn source(&self) -> &'static str {
        "Buchheit 2004 fig 9"
    }

    fn about(&self) -> &'static str {
        "X14's first weather in real time: wind that shifts every 20 s, simple agents, a buoy 500 feet away, a free-running server on QUIC and a \
         middleman that holds every packet for half the round trip. All races at once."
    }

    fn run(&self, settings: &Settings, progress: &dyn Progress) -> Result<Outcome, CannotRun> {
        let rules = SailingConfig {
            wind: Wind::west_and_south(20.0),
            buoy: Vec2::new(COURSE_FT, 0.0),
            ..SailingConfig::default()
        };
        let plan = Plan::new(settings, &SAILING_RTTS_MS, SAILING_RUNS);
        let game = || HostedSailing { rules: rules.clone(), opponent: Trim::Simple };
        let played = plan.play(game, settings.seed, progress, |guest| race(guest, &rules))?;
        let mut rows = Rows::new([
            Column::number("rtt_ms", "round trip", "ms").decimals(0),
            Column::text("compensation", "compensation"),
            Column::number("loss_percent", "takes longer by", "%").decimals(1),
            Column::number("heard_per_s", "states heard", "/s").decimals(1),
            Column::number("runs", "runs", ""),
        ]);
        for (rtt, is_compensated, losses, heard) in &played.cells {
            let mean = losses.iter().sum::<f64>() / losses.len() as f64;
            rows.push(cells![rtt.as_millis_f64(), switch(*is_compensated), mean, *heard, losses.len()]);
        }
        let pairs = played.pairs();
        let farthest = pairs.iter().max_by_key(|(rtt, ..)| *rtt);
        let judgement = farthest.map_or_else(judge::not_applicable, |(_, off, on)| judge::below(*on, *off));
        Ok(Outcome::new(rows)
            .claim(
                Claim::new("X14.live", "live: at the longest round trip compensation loses less", judgement)
                    .unit("% longer, compensated")
                    .paper("effective even at very high latencies"),
            )
            .claim(served(&played.statistics, "X14"))
            .note(note()))
    }
}

fn race(mut guest: Guest<'_, HostedSailing>, rules: &SailingConfig) -> Option<f64> {
    let mut agent = Agent::new(Trim::Simple);
    let helm = SailingPredictor { rules: rules.clone(), seat: CLIENT_SEAT };
    let length = Duration::from_secs_f64(RACE_SECS_MAX);
    let is_over =
        |scene: &sailing::SailingScene| scene.is_over() || scene.now().as_secs_f64() >= RACE_SECS_MAX;
    let scene =
        guest.play(&helm, length, |scene, now| agent.sail(rules, now, scene, CLIENT_SEAT), is_over)?;
    let secs = |boat: &sailing::Boat| {
        boat.finished_at.map_or(RACE_SECS_MAX, |tick| tick as f64 * sailing::TICK_RATE.step_secs())
    };
    let [client_secs, server_secs] = [secs(&scene.boats[0]), secs(&scene.boats[1])];
    Some(100.0 * Finish { client_secs, server_secs, swings_per_minute: 0.0 }.loss())
}

// ── tanks ───────────────────────────────────────────────────────────────────────────────────────────────────

/// X16 over real sockets.
struct LiveTanks;

const TANK_DELAYS_MS: [i64; 3] = [100, 300, 800];
const TANK_SECS: u32 = 60;
const TANK_MATCHES: u64 = 2;
const TANK: ClassId = ClassId(0);

impl Experiment for LiveTanks {
    fn id(&self) -> &'static str {
        "X16"
    }

    fn title(&self) -> &'static str {
        "Tank bots aim at what their screens place, over real sockets"
    }

    fn source(&self) -> &'static str {
        "Banavar 2005 2.3.1"
    }

    fn about(&self) -> &'static str {
        "X16 against drivers who do not dodge, in real time: the tanks are objects of a session on QUIC, a client behind a middleman \
         that delays every packet hears of them, and the bots aim at where that client places them. A minute each, all at once."
    }

    fn run(&self, settings: &Settings, progress: &dyn Progress) -> Result<Outcome, CannotRun> {
        let delays = settings.delays_or(&TANK_DELAYS_MS);
        let mut arenas = Vec::new();
        for delay in &delays {
            for placement in [Placement::Local, Placement::Global] {
                for number in 0..TANK_MATCHES {
                    arenas.push(LiveArena::new(*delay, placement, settings.seed + number)?);
                }
            }
        }
        progress.begin("live", arenas.len() as u64);
        let results: Vec<(Span, Placement, Hits)> = scope(|threads| {
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
                let mut all = Hits::default();
                results
                    .iter()
                    .filter(|(at, by, _)| (*at, *by) == (*delay, placement))
                    .for_each(|(.., hits)| all.add(hits));
                all
            };
            let (local, global) = (of(Placement::Local), of(Placement::Global));
            for (name, hits) in [("local", &local), ("global", &global)] {
                let percent = 100.0 * f64::from(hits.hits) / f64::from(hits.fired);
                rows.push(cells![
                    delay.as_millis_f64(),
                    name,
                    u64::from(hits.fired),
                    hits.shown_off(),
                    percent
                ]);
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
            .note(note()))
    }
}

/// A match, a server that tells of it, and a client that sees it.
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

/// What came of it.
#[derive(Clone, Copy, Default)]
struct Hits {
    fired: u32,
    hits: u32,
    off: f64,
    looks: u64,
}

impl Hits {
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
        let identity = Identity::local(&[]).map_err(|error| cannot(error.into()))?;
        let server = NetServer::bind(NetServerConfig::new(any_port(), identity), session)
            .map_err(|error| cannot(error.into()))?;
        let middleman = middleman(server.address(), delay)?;
        let session = Client::<Vec2>::new(ClientConfig::new(classes), unguessable_random());
        let trust = Trust::Pinned(vec![server.fingerprint()]);
        let config = NetClientConfig { connect_within: CONNECT_WITHIN, ..NetClientConfig::new(trust) };
        let client =
            NetClient::connect(middleman.address(), config, session).map_err(|error| cannot(error.into()))?;
        let create = |_: &_| server.frame(|session, now| session.create(TANK, b"", now));
        let tanks = game.tanks().tanks().iter().map(create).collect::<Result<_, _>>();
        let tanks = tanks.map_err(|error| cannot(error.into()))?;
        Ok(Self { delay, placement, game, tanks, server, client, _middleman: middleman })
    }

    /// Plays for a minute of real time, once the client sees everybody.
    fn fight(mut self) -> Hits {
        let mut hits = Hits::default();
        let begun = Instant::now();
        let mut sees_all = false;
        while !sees_all && begun.elapsed() < PATIENCE {
            self.tell();
            sees_all = self
                .tanks
                .iter()
                .all(|tank| self.client.frame(|session, now| session.place(*tank, now)).is_some());
            sleep(Duration::from_millis(20));
        }
        let begun = Instant::now();
        for tick in 1..=TANK_SECS * TICK_RATE.as_hz() {
            let due = Duration::from_micros(TICK_RATE.begin(tick.into()).as_micros().unsigned_abs());
            sleep(due.saturating_sub(begun.elapsed()));
            self.step(&mut hits);
            self.tell();
        }
        hits
    }

    fn step(&mut self, hits: &mut Hits) {
        let Self { game, tanks, client, .. } = self;
        game.step_showing(|view| {
            client.frame(|session, now| {
                for seen in &mut view.tanks {
                    let Some(placed) = session.place(tanks[seen.id.0 as usize], now) else { continue };
                    hits.off += fairpath::vector::Vector::distance(placed.position, seen.state.position);
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

    /// Tells everybody where the tanks are; what cannot be told now is told with the next tick.
    fn tell(&self) {
        self.server.frame(|session, now| {
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
        self.client.frame(|session, _| while session.poll_event().is_some() {});
    }
}

// ── what both share
// ─────────────────────────────────────────────────────────────────────────────────────────

/// Which runs are made, all at once.
struct Plan {
    rtts: Vec<Span>,
    runs: u64,
}

/// One run's end of it.
struct Guest<'a, H: HostedGame> {
    remote: Remote<H>,
    rtt: Span,
    is_compensated: bool,
    seed: u64,
    heard_per_sec: &'a mut f64,
}

/// What came of it.
struct Played {
    /// Round trip, compensation, the runs' results, and states heard per second.
    cells: Vec<(Span, bool, Vec<f64>, f64)>,
    statistics: RoomStatistics,
}

impl Plan {
    fn new(settings: &Settings, usual_ms: &[i64], runs: u64) -> Self {
        let rtts = match &settings.delays {
            Some(one_way) => one_way.iter().map(|delay| *delay + *delay).collect(),
            None => usual_ms.iter().copied().map(Span::from_millis).collect(),
        };
        Self { rtts, runs }
    }

    fn play<H: HostedGame + Send>(
        &self,
        game: impl Fn() -> H,
        seed: u64,
        progress: &dyn Progress,
        run: impl Fn(Guest<'_, H>) -> Option<f64> + Sync,
    ) -> Result<Played, CannotRun>
    where
        H::Run: Send,
        H::Input: Send,
        H::Scene: Send,
        H::Rules: Send,
    {
        let identity = Identity::local(&[]).map_err(|error| cannot(error.into()))?;
        let server = bind(any_port(), identity, 64).map_err(cannot)?;
        let middlemen: Vec<Middleman> = self
            .rtts
            .iter()
            .map(|rtt| middleman(server.address(), rtt.scaled(0.5)))
            .collect::<Result<_, _>>()?;
        let first = game();
        let scene =
            first.begin(seed).map(|run| H::scene(&run).clone()).map_err(|error| cannot(error.into()))?;
        let mut room = Room::new(first, seed);
        let trust = Trust::Pinned(vec![server.fingerprint()]);
        let mut jobs = Vec::new();
        for (rtt, middleman) in self.rtts.iter().zip(&middlemen) {
            for is_compensated in [false, true] {
                for number in 0..self.runs {
                    let remote = Remote::<H>::connect(
                        middleman.address(),
                        trust.clone(),
                        scene.clone(),
                        Convergence::default(),
                    );
                    jobs.push((*rtt, is_compensated, number, remote.map_err(cannot)?));
                }
            }
        }
        progress.begin("live", jobs.len() as u64);
        let left = AtomicUsize::new(jobs.len());
        let results: Vec<(Span, bool, Option<f64>, f64)> = scope(|threads| {
            let hands: Vec<_> = jobs
                .into_iter()
                .map(|(rtt, is_compensated, number, remote)| {
                    let (left, run) = (&left, &run);
                    threads.spawn(move || {
                        let mut heard = 0.0;
                        let guest = Guest {
                            remote,
                            rtt,
                            is_compensated,
                            seed: seed + number,
                            heard_per_sec: &mut heard,
                        };
                        let result = run(guest);
                        left.fetch_sub(1, Ordering::Relaxed);
                        progress.step();
                        (rtt, is_compensated, result, heard)
                    })
                })
                .collect();
            while left.load(Ordering::Relaxed) > 0 {
                server.frame(|session, now| room.frame(session, now));
                sleep(LOOK_EVERY);
            }
            hands.into_iter().filter_map(|hand| hand.join().ok()).collect()
        });
        Ok(Played { cells: self.gather(&results), statistics: room.statistics() })
    }

    fn gather(&self, results: &[(Span, bool, Option<f64>, f64)]) -> Vec<(Span, bool, Vec<f64>, f64)> {
        let mut cells = Vec::new();
        for rtt in &self.rtts {
            for is_compensated in [false, true] {
                let of = || results.iter().filter(|result| (result.0, result.1) == (*rtt, is_compensated));
                let runs: Vec<f64> = of().filter_map(|result| result.2).collect();
                let heard = of().map(|result| result.3).sum::<f64>() / of().count() as f64;
                cells.push((*rtt, is_compensated, runs, heard));
            }
        }
        cells
    }
}

impl Played {
    /// Round trip, and the means without and with compensation.
    fn pairs(&self) -> Vec<(Span, f64, f64)> {
        let mean = |runs: &[f64]| runs.iter().sum::<f64>() / runs.len() as f64;
        self.cells.chunks(2).map(|pair| (pair[0].0, mean(&pair[0].2), mean(&pair[1].2))).collect()
    }
}

impl<H: HostedGame> Guest<'_, H> {
    /// Plays until it is over on this screen, or long after it should have been; the last scene, if
    /// it was.
    fn play(
        &mut self,
        rules: &H::Rules,
        length: Duration,
        mut act: impl FnMut(&H::Scene, SharedInstant) -> H::Input,
        is_over: impl Fn(&H::Scene) -> bool,
    ) -> Option<H::Scene> {
        let frame = Duration::from_secs_f64(H::TICK_RATE.step_secs());
        let begun = Instant::now();
        let mut clock_began = None;
        let mut last = None;
        while last.is_none() && begun.elapsed() < length + PATIENCE {
            let is_compensated = self.is_compensated;
            self.remote.frame(rules, |remote, now: Now| {
                let heard = remote.shown(rules, now, false);
                if remote.heard() > 0 && is_over(&heard) {
                    last = Some(heard);
                }
                // By the player's own clock, from its first look on.
                let since = now.shared - *clock_began.get_or_insert(now.shared);
                act(&remote.shown(rules, now, is_compensated), SharedInstant::ZERO + since)
            });
            sleep(frame);
        }
        *self.heard_per_sec = self.remote.heard() as f64 / begun.elapsed().as_secs_f64();
        last
    }
}

fn served(statistics: &RoomStatistics, id: &str) -> Claim {
    Claim::new(
        format!("{id}.live-answered"),
        "live: the server answers nearly every input with a state",
        judge::at_least(statistics.answers as f64 / statistics.inputs as f64, 0.9),
    )
    .unit("states per input")
    .remark("two inputs that arrive within one tick have one answer, and silence is answered too")
}

fn switch(is_compensated: bool) -> &'static str {
    if is_compensated { "on" } else { "off" }
}

fn note() -> &'static str {
    "Real time: the machine's own delays come on top, runs are few and short, and numbers differ from one time to the next. What is \
     judged exactly is judged in virtual time."
}

fn any_port() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 0))
}

fn middleman(server: SocketAddr, one_way: Span) -> Result<Middleman, CannotRun> {
    let link = LinkConfig::default().delay(one_way);
    let config = MiddlemanConfig::between(any_port(), server).both_ways(link);
    Middleman::start(config).map_err(|error| cannot(error.into()))
}

fn cannot(BadInput(what): BadInput) -> CannotRun {
    CannotRun { what, fix: "real sockets on this machine are needed; or run it without --live".into() }
}
