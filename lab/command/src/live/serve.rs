use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use fairpath::place::Placement;
use fairpath::schedule::{QueueOrder, Queued, Scheduler, SchedulerChoice};
use fairpath::session::{
    Budget, ClientId, CloseReason, Refusal, Server, ServerConfig, ServerEvent, SpeedCheck, TeleportCheck,
};
use fairpath::time::{Now, SharedInstant, Span};
use fairpath::vector::Vec2;
use fairpath_experiments::fairness::LabScheduler;
use fairpath_games::GameChoice;
use fairpath_games::online::{FairnessReport, GameRooms, SessionAt, TANK, TankPublisher};
use fairpath_net::{
    Clock, EndedConnection, Identity, MetricsListener, NetServer, NetServerConfig, PeerStatus, ServerMetrics,
    Transport, new_epoch, unguessable_random,
};
use serde_json::{Value, json};

use super::crew::bots;
use super::flight::{FlightRecorder, KeepOptions};
use super::journal::{RecordingOptions, TraceRecorder};
use super::lobby::{AnnouncedServer, LobbyOptions};
use super::page::PageOptions;
use super::serve_game;
use super::{
    FramePacer, STATISTICS_HEAD, StatusScreen, SummaryOptions, TankOptions, address, statistics_as_cells,
    statistics_as_json,
};
use crate::log::LogLevel;
use crate::options::{games, order_help, scheduler_help};
use crate::{BadInput, print};

/// Run a game server
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The game: tanks or a race for all clients together, or a game for one player, with a run of
    /// its own for each client
    #[arg(long, value_name = "GAME", default_value = "tanks", value_parser = games(&SERVED))]
    game: GameChoice,
    /// The address to listen on; port 0 lets the system choose
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:7777")]
    listen: String,
    /// A PEM file with the server's certificate [default: a new one for this machine]
    #[arg(long, value_name = "FILE", requires = "key")]
    certificate: Option<PathBuf>,
    /// A PEM file with the certificate's private key
    #[arg(long, value_name = "FILE", requires = "certificate")]
    key: Option<PathBuf>,
    /// Write the certificate to this PEM file, for clients to trust
    #[arg(long, value_name = "FILE")]
    save_certificate: Option<PathBuf>,
    /// The number of tanks that the server drives itself
    #[arg(long, value_name = "N", default_value_t = 0)]
    tanks: u32,
    /// The field follows from it; clients need the same number
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// The scheduler: which receiver is sent what, and when
    #[arg(
        long,
        value_name = "NAME",
        default_value = "broadcast",
        long_help = scheduler_help("The scheduler: which receiver is sent what, and when")
    )]
    scheduler: LabScheduler,
    /// DR vectors per trigger, for schedulers that have a budget
    #[arg(long, value_name = "N", default_value_t = 1.0)]
    budget: f64,
    /// Which updates leave first where a client's bytes are short, with --scheduler broadcast
    #[arg(
        long,
        value_name = "NAME",
        default_value_t = QueueOrder::default(),
        long_help = order_help("Which updates leave first where a client's bytes are short, with --scheduler broadcast")
    )]
    order: QueueOrder,
    /// The part of the bytes that broadcast would take, from 0 to 1 [default: no such limit]
    #[arg(long, value_name = "PART")]
    share: Option<f64>,
    /// The expected number of receivers, for schedulers that need it
    #[arg(long, value_name = "N", default_value_t = 3)]
    receivers: usize,
    /// How receivers place DR vectors
    #[arg(long, value_enum, default_value_t = PlacementChoice::Global)]
    placement: PlacementChoice,
    /// The greatest number of bytes per second to each client
    #[arg(long, value_name = "N", default_value_t = Budget::default().bytes_per_sec)]
    bytes_per_sec: u32,
    /// The greatest number of clients
    #[arg(long, value_name = "N", default_value_t = 64)]
    clients_max: usize,
    /// The number of seats that one address keeps when the server is full and players from
    /// elsewhere want to join
    #[arg(long, value_name = "N", default_value_t = 8)]
    seats_kept: usize,
    /// The number of threads that serve connections. One is enough for several hundred players
    #[arg(long, value_name = "N", default_value_t = 1)]
    threads: usize,
    /// Answer Prometheus at http://HOST:PORT/metrics; for an internal network only
    #[arg(long, value_name = "HOST:PORT")]
    metrics: Option<String>,
    /// What is logged to stderr
    #[arg(long, value_enum, value_name = "LEVEL", default_value_t)]
    log: LogLevel,
    #[command(flatten)]
    telling: TankOptions,
    #[command(flatten)]
    recording: RecordingOptions,
    #[command(flatten)]
    keeping: KeepOptions,
    #[command(flatten)]
    reporting: SummaryOptions,
    #[command(flatten)]
    page: PageOptions,
    #[command(flatten)]
    announcing: LobbyOptions,
}

const SERVED: [GameChoice; 6] = [
    GameChoice::Tanks,
    GameChoice::Race,
    GameChoice::JetCar { has_wind: false },
    GameChoice::JetCar { has_wind: true },
    GameChoice::Sailing { wind_shifts: false },
    GameChoice::Sailing { wind_shifts: true },
];

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum PlacementChoice {
    /// From the moment a DR vector arrives
    Local,
    /// From its arrival less an estimated one-way time
    Hop,
    /// From its time stamp on the shared clock
    Global,
}

const EXAMPLES: &str = "\
Examples:
  fairpath serve --tanks 6
  fairpath serve --game jet-car
  fairpath serve --tanks 6 --page --open
  fairpath serve --tanks 6 --keep 60s
  fairpath serve --scheduler error-index --budget 1 --receivers 3 --for 60s --json
  fairpath serve --listen 0.0.0.0:7777 --certificate chain.pem --key key.pem
  fairpath serve --lobby 127.0.0.1:7700 --lobby-pin 5f…e1 --name 'Ann and friends'

Native clients and browsers use the same port. The server prints its fingerprint for `fairpath bots --pin` and \
`fairpath play --pin`. A recording (--out) has the truth of the server's own tanks, where the server places all \
tanks, and their DR vectors. It is written as it goes: a server that is killed leaves a recording that can be read.
With --keep the last seconds are saved when something goes wrong; `fairpath replay` and the page show them.
Exit code: 0 done, 2 bad input, or the recording stopped early.";

/// The top speed of a tank, with room for rounding. Faster updates are refused.
const SPEED_MAX: f64 = 110.0;
/// How far a tank may be from its announced path: a lost update, and the delay of the next.
const TELEPORT_SLACK: f64 = 60.0;
/// How long clients have to confirm what was promised to them when it ends.
const SHUTDOWN_WITHIN: Duration = Duration::from_secs(2);

impl Arguments {
    pub(crate) fn execute(self) -> Result<ExitCode, BadInput> {
        if self.game != GameChoice::Tanks {
            return self.execute_online();
        }
        self.log.begin();
        let mut crew = if self.tanks == 0 { None } else { Some(bots(self.tanks, self.seed)?) };
        let mut flight = self.keeping.begin(self.seed, self.telling.dispatcher().horizon)?;
        let notice = self.announcing.notice(self.game.name())?;
        let server = self.bind()?;
        let end = self.reporting.end()?;
        // Begun last: what is wrong before leaves no recording behind.
        let mut journal = self.recording.begin("tanks-server", self.seed)?;
        print::note!("listening on {}, fingerprint {}", server.address(), server.fingerprint());
        print::note!("  fairpath bots --connect {} --pin {}", server.address(), server.fingerprint());
        let mut presence = notice.map(|notice| notice.post(&server)).transpose()?;
        // Lives until the end of this function: dropping it ends the page.
        let page = self.page.serve(&json!({
            "address": server.address().to_string(),
            "fingerprint": server.fingerprint().to_string(),
            "threshold": self.telling.threshold,
            "model": self.telling.model.name(),
            "seed": self.seed,
        }))?;
        let mut guests = page.is_some().then(|| PageGames::new(self.seed));
        let mut tally = ServerTally::new(self.sight()?);
        let (mut pace, mut screen) = (FramePacer::new(), StatusScreen::new());
        while !end.is_here() {
            let recorders = Recorders { journal: journal.as_mut(), flight: flight.as_mut() };
            if let Err(error) = frame(&server, crew.as_mut(), guests.as_mut(), recorders, &mut tally) {
                flight.iter().for_each(|flight| flight.save_at_end("the server ends with an error"));
                return Err(error);
            }
            flight.iter_mut().for_each(FlightRecorder::save_if_due);
            tally.look(&server, &screen);
            presence.iter_mut().for_each(AnnouncedServer::look);
            screen.draw(|| {
                let said = [
                    journal.as_ref().and_then(TraceRecorder::problem),
                    flight.as_ref().and_then(FlightRecorder::said),
                ];
                let said: String = said.into_iter().flatten().map(|line| format!("\n{line}\n")).collect();
                tally.as_screen(&server) + &said
            });
            tally.note_tick(pace.wait());
        }
        let said = if self.reporting.json {
            format!("{}\n", tally.as_json(&server))
        } else {
            tally.as_screen(&server)
        };
        drop(presence);
        server.shutdown(SHUTDOWN_WITHIN);
        let recorded = journal.map(TraceRecorder::finish).transpose();
        print::to_stdout(&said)?;
        recorded?.iter().for_each(|line| print::note!("{line}"));
        Ok(ExitCode::SUCCESS)
    }

    /// Serves a game of `play`. It is not dead-reckoned: only the options about listening apply.
    fn execute_online(self) -> Result<ExitCode, BadInput> {
        let end = self.reporting.end()?;
        let options = serve_game::GameServerOptions {
            listen: address("--listen", &self.listen)?,
            identity: self.identity()?,
            notice: self.announcing.notice(self.game.name())?,
            seed: self.seed,
            clients_max: self.clients_max,
            is_over: &|| end.is_here(),
            prints_json: self.reporting.json,
            record: self.recording.file(),
        };
        serve_game::serve(self.game, options)
    }

    fn identity(&self) -> Result<Identity, BadInput> {
        let identity = match (&self.certificate, &self.key) {
            (Some(certificate), Some(key)) => Identity::load(certificate, key)?,
            _ => Identity::local(&[])?,
        };
        if let Some(path) = &self.save_certificate {
            identity.save_certificates(path)?;
        }
        Ok(identity)
    }

    fn budget(&self) -> Budget {
        Budget { share: self.share, ..Budget::bytes_per_sec(self.bytes_per_sec) }
    }

    fn sight(&self) -> Result<Option<Sight>, BadInput> {
        let Some(listen) = &self.metrics else { return Ok(None) };
        let listener = MetricsListener::start(address("--metrics", listen)?)
            .map_err(|error| BadInput(format!("--metrics: cannot listen on {listen}: {error}")))?;
        print::note!("  metrics at http://{}/metrics", listener.address());
        Ok(Some(Sight { metrics: ServerMetrics::new(self.budget()), listener }))
    }

    fn bind(&self) -> Result<NetServer<Vec2>, BadInput> {
        let budget = self.budget();
        let placement = match self.placement {
            PlacementChoice::Local => Placement::Local,
            PlacementChoice::Hop => Placement::Hop,
            PlacementChoice::Global => Placement::Global,
        };
        if !(self.budget.is_finite() && self.budget > 0.0) || self.receivers == 0 {
            return Err(BadInput("--budget and --receivers must be above zero; pass larger numbers".into()));
        }
        if self.share.is_some_and(|share| !(share > 0.0 && share <= 1.0)) {
            return Err(BadInput("--share must be above 0 and at most 1; pass 0.5 for half".into()));
        }
        let scheduler: Box<dyn Scheduler<Vec2>> = match self.scheduler {
            LabScheduler::Library(SchedulerChoice::Broadcast) => Box::new(Queued::by(self.order)),
            counted => counted.build(self.receivers, self.budget),
        };
        let config = ServerConfig {
            placement,
            budget,
            clients_max: self.clients_max,
            seats_kept: self.seats_kept,
            dispatcher: self.telling.dispatcher(),
            ..ServerConfig::new(self.telling.classes()?, new_epoch())
        };
        let teleport = TeleportCheck { speed_max: SPEED_MAX, slack: TELEPORT_SLACK, allows_jumps: true };
        let session = Server::new(config, scheduler, unguessable_random())
            .with_interceptor(SpeedCheck { speed_max: SPEED_MAX })
            .with_interceptor(teleport);
        let mut config = NetServerConfig::new(address("--listen", &self.listen)?, self.identity()?);
        config.budget = budget;
        config.limits.per_address_max = self.clients_max.max(config.limits.per_address_max);
        config.clock = Clock::unix();
        config.threads = self.threads;
        Ok(NetServer::bind(config, session)?)
    }
}

/// What the page's players get beside tanks: the other games, and how the ledger stands.
struct PageGames {
    hall: GameRooms,
    told_at: Option<SharedInstant>,
}

/// How often every client is sent the state of the ledger: as often as a person reads a number.
const FAIRNESS_EVERY: Span = Span::from_millis(500);

impl PageGames {
    fn new(seed: u64) -> Self {
        Self { hall: GameRooms::new(seed), told_at: None }
    }

    fn play(&mut self, session: &mut Server<Vec2>, now: SharedInstant) {
        self.hall.play(session, now);
        if self.told_at.is_none_or(|at| now - at >= FAIRNESS_EVERY) {
            self.told_at = Some(now);
            FairnessReport::send_to_all(session);
        }
    }
}

/// What watches a frame.
struct Recorders<'a> {
    journal: Option<&'a mut TraceRecorder>,
    flight: Option<&'a mut FlightRecorder>,
}

fn frame(
    server: &NetServer<Vec2>,
    crew: Option<&mut TankPublisher>,
    mut guests: Option<&mut PageGames>,
    recorders: Recorders<'_>,
    tally: &mut ServerTally,
) -> Result<(), BadInput> {
    let Recorders { journal, mut flight } = recorders;
    server.with_session(|session, now| {
        while let Some(event) = session.poll_event() {
            tally.note(&event);
            if let Some(flight) = &mut flight {
                flight.note_event(&event);
            }
            if let Some(guests) = &mut guests {
                guests.hall.handle_event(session, &event, now);
            }
        }
        if let Some(guests) = guests {
            guests.play(session, now);
        }
        let mut truths = Vec::new();
        if let Some(crew) = crew {
            crew.play(now, |_| {});
            crew.publish(&mut SessionAt(session, now), now)?;
            truths.extend(crew.truths(now));
        }
        if let Some(flight) = flight {
            flight.note(session, now, &truths);
        }
        if let Some(journal) = journal {
            // A server's clock is the shared one.
            let now = Now::synchronised(now);
            for (object, life, state) in &truths {
                journal.truth(now, *object, *life, state);
            }
            for object in session.objects().filter(|object| session.class(*object) == Some(TANK)) {
                if let Some(state) = session.place(object, now.shared) {
                    journal.placed(now, object, 0, &state);
                }
                if let Some(vector) = session.dispatcher().newest(object) {
                    journal.followed(now, Some(0), vector);
                }
            }
        }
        Ok(())
    })
}

/// What Prometheus is told.
struct Sight {
    metrics: ServerMetrics,
    listener: MetricsListener,
}

struct ServerTally {
    sight: Option<Sight>,
    observed_at: Option<Instant>,
    began: Instant,
    joined: u64,
    resumed: u64,
    /// Sessions that are over: with nothing left to say, and with something that was promised.
    ended: u64,
    lost: u64,
    refused: Vec<(Refusal, u64)>,
    closed: Vec<(CloseReason, u64)>,
    /// The last known state of every connection, closed ones too.
    seen: BTreeMap<ClientId, PeerStatus>,
    /// The newest connections that ended, and why. The newest is the last.
    gone: VecDeque<EndedConnection>,
    seen_at: Instant,
}

/// Clients that are remembered after they have gone; the oldest are forgotten first.
const SEEN_MAX: usize = 1024;
/// Clients without a connection that the screen shows below the table.
const GONE_SHOWN: usize = 8;
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// How often metrics are collected.
const OBSERVE_EVERY: Duration = Duration::from_secs(1);

impl ServerTally {
    fn new(sight: Option<Sight>) -> Self {
        let began = Instant::now();
        Self {
            sight,
            observed_at: None,
            began,
            joined: 0,
            resumed: 0,
            ended: 0,
            lost: 0,
            refused: Vec::new(),
            closed: Vec::new(),
            seen: BTreeMap::new(),
            gone: VecDeque::new(),
            seen_at: began,
        }
    }

    fn note_tick(&mut self, late: Duration) {
        self.sight.iter_mut().for_each(|sight| sight.metrics.on_tick(late));
    }

    fn look(&mut self, server: &NetServer<Vec2>, screen: &StatusScreen) {
        if let Some(sight) = &mut self.sight
            && self.observed_at.is_none_or(|at| at.elapsed() >= OBSERVE_EVERY)
        {
            self.observed_at = Some(Instant::now());
            sight.metrics.observe(server);
            sight.listener.publish(sight.metrics.to_text());
        }
        while let Some(ended) = server.poll_ended() {
            screen.log(|| format!("client {} at {}: {}", ended.client.0, ended.address, ended.problem));
            self.gone.retain(|gone| gone.client != ended.client);
            self.gone.push_back(ended);
            if self.gone.len() > SEEN_MAX {
                self.gone.pop_front();
            }
        }
        if self.seen_at.elapsed() < LOOK_EVERY {
            return;
        }
        self.seen_at = Instant::now();
        let known = server.status().into_iter().filter_map(|peer| Some((peer.client?, peer)));
        self.seen.extend(known.filter(|(_, peer)| peer.session.is_some()));
        while self.seen.len() > SEEN_MAX {
            self.seen.pop_first();
        }
    }

    fn note(&mut self, event: &ServerEvent) {
        self.sight.iter_mut().for_each(|sight| sight.metrics.on_event(event));
        match event {
            ServerEvent::Joined { .. } => self.joined += 1,
            ServerEvent::Resumed(_) => self.resumed += 1,
            ServerEvent::SessionLost { undelivered, .. } if undelivered.is_empty() => self.ended += 1,
            ServerEvent::SessionLost { .. } => self.lost += 1,
            ServerEvent::Refused { refusal, .. } => count(&mut self.refused, *refusal),
            ServerEvent::Closed { reason, .. } => count(&mut self.closed, *reason),
            _ => {}
        }
    }

    fn as_screen(&self, server: &NetServer<Vec2>) -> String {
        let secs = self.began.elapsed().as_secs_f64();
        let (objects, clients) =
            server.with_session(|session, _| (session.objects().count(), session.clients().count()));
        let mut text = format!(
            "{} for {secs:.0} s: {clients} clients, {objects} objects, {} joined, {} came back, {} lost\n\n\
            client                 {STATISTICS_HEAD}   error/s  waited ms\n",
            server.address(),
            self.joined,
            self.resumed,
            self.lost
        );
        let peers = server.status();
        for peer in &peers {
            let name = peer.client.map_or_else(|| "?".into(), |client| client.0.to_string());
            let statistics = peer.session.unwrap_or_default();
            let _ = writeln!(
                text,
                "{:<22} {} {:>9.3} {:>10.2}",
                format!("{name} {}", peer.address),
                statistics_as_cells(&statistics, secs),
                statistics.error_per_sec,
                peer.departures.waited_max.as_secs_f64() * 1e3
            );
        }
        let is_back = |gone: &&EndedConnection| peers.iter().any(|peer| peer.client == Some(gone.client));
        let mut gone = self.gone.iter().rev().filter(|gone| !is_back(gone)).take(GONE_SHOWN).peekable();
        if gone.peek().is_some() {
            text.push_str("\ngone\n");
        }
        for gone in gone {
            let _ = writeln!(text, "{:<22} {}", format!("{} {}", gone.client.0, gone.address), gone.problem);
        }
        text
    }

    fn as_json(&self, server: &NetServer<Vec2>) -> Value {
        let (connected, objects) = server.with_session(|session, _| {
            let connected: Vec<_> =
                session.clients().filter(|client| session.is_connected(*client)).collect();
            (connected, session.objects().count())
        });
        let ended = |client: &ClientId| self.gone.iter().find(|gone| gone.client == *client);
        let peer = |(client, peer): (&ClientId, &PeerStatus)| {
            let is_connected = connected.contains(client);
            peer_as_json(peer, is_connected, ended(client).filter(|_| !is_connected))
        };
        let door = server.admission_statistics();
        let counts =
            |names: Vec<(String, u64)>| names.into_iter().map(|(name, n)| (name, json!(n))).collect();
        let refused: serde_json::Map<_, _> =
            counts(self.refused.iter().map(|(refusal, n)| (refusal.to_string(), *n)).collect());
        let closed: serde_json::Map<_, _> =
            counts(self.closed.iter().map(|(reason, n)| (reason.to_string(), *n)).collect());
        json!({
            "listen": server.address().to_string(),
            "secs": self.began.elapsed().as_secs_f64(),
            "joined": self.joined,
            "resumed": self.resumed,
            "sessions_ended": self.ended,
            "sessions_lost": self.lost,
            "objects": objects,
            "refused": refused,
            "closed": closed,
            "door": { "retried": door.retried, "refused": door.refused, "failed": door.failed },
            "resident_bytes": resident_bytes(),
            "clients": self.seen.iter().map(peer).collect::<Vec<_>>(),
        })
    }
}

fn peer_as_json(peer: &PeerStatus, is_connected: bool, ended: Option<&EndedConnection>) -> Value {
    json!({
        "client": peer.client.map(|client| client.0),
        "is_connected": is_connected,
        "ended": ended.map(|ended| ended.problem.to_string()),
        "address": peer.address.to_string(),
        "transport": match peer.transport {
            Transport::Quic => "quic",
            _ => "webtransport",
        },
        "session": peer.session.as_ref().map(statistics_as_json),
        "departures": {
            "count": peer.departures.count,
            "late": peer.departures.late,
            "held_back": peer.departures.held_back,
            "waited_mean_ms": peer.departures.waited.as_secs_f64() * 1e3 / (peer.departures.count.max(1) as f64),
            "waited_max_ms": peer.departures.waited_max.as_secs_f64() * 1e3,
        },
        "quic_rtt_ms": peer.quic_round_trip.as_secs_f64() * 1e3,
        "quic_packets_lost": peer.quic_packets_lost,
        "udp_bytes_sent": peer.udp_bytes_sent,
        "udp_bytes_received": peer.udp_bytes_received,
    })
}

fn count<T: PartialEq>(counts: &mut Vec<(T, u64)>, what: T) {
    match counts.iter_mut().find(|(known, _)| *known == what) {
        Some((_, count)) => *count += 1,
        None => counts.push((what, 1)),
    }
}

/// What this process has in memory, where the system says so.
pub(super) fn resident_bytes() -> Option<u64> {
    const PAGE_BYTES: u64 = 4096;
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    Some(statm.split_whitespace().nth(1)?.parse::<u64>().ok()? * PAGE_BYTES)
}
