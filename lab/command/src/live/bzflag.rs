//! `fairpath bzflag`: a proxy in front of a BZFlag server.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use fairpath::State;
use fairpath::number::EntityId;
use fairpath::schedule::SchedulerChoice;
use fairpath::time::{SharedInstant, Span};
use fairpath::vector::{Planar as _, Vec3};
use fairpath_bzflag::driver::{DriverConfig, RunningProxy};
use fairpath_bzflag::update::PlayerUpdate;
use fairpath_bzflag::{ClientId, PlayerStatus, ProxyConfig, Record};
use fairpath_experiments::files::{check_writable, write_together};
use fairpath_experiments::trace::{TraceFormat, to_files};
use fairpath_sim::trace::{LengthUnit, Metadata, StateKind, StateRow, Trace};
use serde_json::{Value, json};

use super::{StatusScreen, SummaryOptions, address};
use crate::{BadInput, print};

/// Run a proxy in front of a BZFlag server: tanks are shown where they are, and fairly
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The address that players connect to, TCP and UDP; port 0 lets the system choose
    #[arg(long, value_name = "HOST:PORT", default_value = "0.0.0.0:5154")]
    listen: String,
    /// The address of bzfs
    #[arg(long, value_name = "HOST:PORT")]
    to: String,
    /// Which players are sent an update: broadcast, every-nth:3, error-index, …
    #[arg(long, value_name = "NAME[:PARAMETER]", default_value = "broadcast")]
    scheduler: SchedulerChoice,
    /// Copies per update, over all players, for schedulers with a budget
    #[arg(long, value_name = "COPIES", default_value_t = 1.0, allow_hyphen_values = true)]
    budget: f64,
    /// Pass states on as they were told, late by both delays, as without a proxy
    #[arg(long)]
    as_told: bool,
    /// Let bzfs see the players' own addresses, where the system allows it
    #[arg(long)]
    transparent: bool,
    /// The greatest number of connections; others are closed
    #[arg(long, value_name = "N", default_value_t = 256)]
    clients_max: usize,
    /// Record what players tell and are sent to NAME.parquet or NAME.csv
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Random choices of schedulers follow from it
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    reporting: SummaryOptions,
}

const EXAMPLES: &str = "\
Examples:
  bzfs -p 5155 -i 127.0.0.1 … &
  fairpath bzflag --to 127.0.0.1:5155
  fairpath bzflag --to 127.0.0.1:5155 --scheduler error-index --budget 2
  fairpath bzflag --to 127.0.0.1:5155 --record match.parquet --for 600s

Players connect to the proxy's port as to any BZFlag server. The screen shows each player's round trip, and how far
from their newest update tanks are on that player's screen.
Exit code: 0 done, 2 bad input.";

impl Arguments {
    pub(crate) fn execute(self) -> Result<ExitCode, BadInput> {
        if !(self.budget.is_finite() && self.budget > 0.0) {
            return Err(BadInput::of("--budget", &self.budget.to_string(), "give a number above 0"));
        }
        if let SchedulerChoice::EveryNth { n: None }
        | SchedulerChoice::FixedProbability { probability: None } = self.scheduler
        {
            let (name, fix) =
                (self.scheduler.to_string(), "give a parameter: every-nth:3, fixed-probability:0.33");
            return Err(BadInput::of("--scheduler", &name, fix));
        }
        let (listen, server) = (address("--listen", &self.listen)?, address("--to", &self.to)?);
        if listen == server {
            return Err(BadInput::of("--to", &self.to, "this is the proxy's own address; give the server's"));
        }
        let recording =
            self.record.as_deref().map(|path| MatchRecording::begin(path, self.seed)).transpose()?;
        let end = self.reporting.end()?;
        let config = DriverConfig {
            is_transparent: self.transparent,
            clients_max: self.clients_max,
            proxy: ProxyConfig {
                restates: !self.as_told,
                scheduler: self.scheduler,
                budget: self.budget,
                records: recording.is_some(),
                seed: self.seed,
                ..ProxyConfig::default()
            },
            ..DriverConfig::between(listen, server)
        };
        let proxy = RunningProxy::start(config).map_err(|error| {
            BadInput::of("--listen", &self.listen, &format!("{error}; choose another port"))
        })?;
        print::note!("listening on {}, passing on to {server}; Ctrl-C ends", proxy.address());
        self.watch(&proxy, recording, || end.is_here())
    }

    /// Shows the players until the end, then writes recording and summary.
    fn watch(
        &self,
        proxy: &RunningProxy,
        mut recording: Option<MatchRecording>,
        is_over: impl Fn() -> bool,
    ) -> Result<ExitCode, BadInput> {
        let (began, mut screen) = (Instant::now(), StatusScreen::new());
        let mut seen = BTreeMap::new();
        while !is_over() {
            std::thread::sleep(Duration::from_millis(50));
            seen.extend(proxy.players());
            for problem in proxy.drain_problems() {
                screen.log(|| problem.to_string());
            }
            if let Some(recording) = &mut recording {
                proxy.drain_records().iter().for_each(|record| recording.add(record));
            }
            screen.draw(|| as_table(&proxy.players(), began.elapsed()));
        }
        if let Some(recording) = recording {
            print::note!("{}", recording.finish()?);
        }
        let text = if self.reporting.json {
            format!("{}\n", as_json(&seen, began.elapsed()))
        } else {
            as_table(&seen.into_iter().collect::<Vec<_>>(), began.elapsed())
        };
        print::to_stdout(&text)?;
        Ok(ExitCode::SUCCESS)
    }
}

fn as_table(players: &[(ClientId, PlayerStatus)], lasting: Duration) -> String {
    let mut text = format!(
        "{:<20} {:>7} {:>7} {:>11} {:>9} {:>9} {:>6} {:>6} {:>7}\n",
        "player", "rtt ms", "lost", "error units", "offered/s", "sent/s", "shots", "kills", "deaths"
    );
    let secs = lasting.as_secs_f64().max(1e-9);
    for (_, player) in players {
        let cell = |number: Option<f64>| number.map_or_else(|| "–".into(), |number| format!("{number:.2}"));
        let (answered, lost) = player.pings;
        let _ = writeln!(
            text,
            "{:<20} {:>7} {:>6.1}% {:>11} {:>9.1} {:>9.1} {:>6} {:>6} {:>7}",
            player.callsign.chars().take(20).collect::<String>(),
            cell(player.round_trip.map(Span::as_millis_f64)),
            100.0 * lost as f64 / ((answered + lost).max(1) as f64),
            cell(player.error),
            player.updates_offered as f64 / secs,
            player.updates_sent as f64 / secs,
            player.shots,
            player.kills,
            player.deaths
        );
    }
    if players.is_empty() {
        text += "no player is connected\n";
    }
    text
}

fn as_json(players: &BTreeMap<ClientId, PlayerStatus>, lasting: Duration) -> Value {
    let players = players.values().map(|player| {
        json!({
            "player": player.player,
            "callsign": player.callsign,
            "rtt_ms": player.round_trip.map(Span::as_millis_f64),
            "pings_answered": player.pings.0,
            "pings_lost": player.pings.1,
            "error": player.error,
            "updates_offered": player.updates_offered,
            "updates_sent": player.updates_sent,
            "shots": player.shots,
            "kills": player.kills,
            "deaths": player.deaths,
            "udp": player.uses_datagrams,
        })
    });
    json!({ "secs": lasting.as_secs_f64(), "players": players.collect::<Vec<_>>() })
}

/// A trace of what players told (`exported`) and were sent (`placed`).
struct MatchRecording {
    out: PathBuf,
    format: TraceFormat,
    name: String,
    trace: Trace,
    /// The life in which each tank was last told, or sent to each receiver.
    lives: BTreeMap<(u8, Option<u8>), (u16, i64)>,
}

/// States that a recording holds; later ones are dropped. 20 minutes with 40 players.
const ROWS_MAX: usize = 4_000_000;
/// Half the side of BZFlag's default world.
const HALF_SIDE: f64 = 400.0;

impl MatchRecording {
    fn begin(out: &Path, seed: u64) -> Result<Self, BadInput> {
        let shown = out.display().to_string();
        let format = TraceFormat::of(out)
            .ok_or_else(|| BadInput::of("--record", &shown, "a recording ends in .parquet or .csv"))?;
        let name = out.file_stem().and_then(|stem| stem.to_str());
        let name = name.ok_or_else(|| BadInput::of("--record", &shown, "name a file"))?.to_owned();
        check_writable(folder_of(out))?;
        let corner = Vec3::new(HALF_SIDE, HALF_SIDE, 0.0);
        let metadata = Metadata {
            length_unit: LengthUnit::GameUnits,
            ..Metadata::new("bzflag", seed).with_world(corner * -1.0, corner)
        };
        Ok(Self { out: out.into(), format, name, trace: Trace::new(metadata), lives: BTreeMap::new() })
    }

    fn add(&mut self, record: &Record) {
        match record {
            Record::Told { at, life, update } => self.push(*at, None, *life, update),
            Record::Sent { at, receiver, life, update } => self.push(*at, Some(*receiver), *life, update),
        }
    }

    fn push(&mut self, at: SharedInstant, viewer: Option<u8>, life: u16, update: &PlayerUpdate) {
        if self.trace.states.len() >= ROWS_MAX {
            return;
        }
        let before = self.lives.insert((update.player, viewer), (life, at.as_micros()));
        if before.is_some_and(|(_, before)| before >= at.as_micros()) {
            // A shorter round trip was measured since: two copies are expected at one instant.
            return;
        }
        let state = State {
            position: update.position,
            velocity: update.velocity,
            orientation: Vec3::level(update.azimuth),
            spin: Vec3::about_up(update.turn_rate),
            ..State::default()
        };
        let kind = if viewer.is_some() { StateKind::Placed } else { StateKind::Exported };
        self.trace.states.push(StateRow {
            life,
            viewer: viewer.map(u32::from),
            is_break: before.is_none_or(|(before, _)| before != life),
            ..StateRow::new(at, EntityId(update.player.into()), kind, &state)
        });
    }

    fn finish(mut self) -> Result<String, BadInput> {
        self.trace.states.sort_by_key(|row| row.t_us);
        let files = to_files(&self.trace, &self.name, self.format)?;
        write_together(folder_of(&self.out), &files)?;
        let is_full = self.trace.states.len() >= ROWS_MAX;
        let cut = if is_full { "; it was full before the end" } else { "" };
        Ok(format!("recorded {} states in {}{cut}", self.trace.states.len(), self.out.display()))
    }
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."))
}
