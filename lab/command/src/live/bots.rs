use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use fairpath::session::{Budget, Client, ClientEvent};
use fairpath::time::{Now, Span};
use fairpath::vector::{Vec2, Vector};
use fairpath::{EntityId, State};
use fairpath_experiments::fairness::{mean, spread};
use fairpath_net::{ConnectionState, NetClient, NetClientConfig, Transport, unguessable_random};
use serde_json::{Value, json};

use super::crew::{DriveChoice, lone};
use super::journal::{RecordingOptions, TraceRecorder};
use super::serve::resident_bytes;
use super::{
    FramePacer, STATISTICS_HEAD, ServerAddress, StatusScreen, SummaryOptions, TankOptions, problem_in,
    statistics_as_cells, statistics_as_json,
};
use crate::{BadInput, print};
use fairpath_games::online::{SessionAt, TankPublisher, show};

/// Connect bots to a tank server and report how accurately they see each other
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The number of bots, each with a connection of its own
    #[arg(value_name = "N", default_value_t = 4)]
    count: u32,
    #[command(flatten)]
    connecting: ServerAddress,
    /// Connect by WebTransport, as browsers do
    #[arg(long)]
    web: bool,
    /// The field follows from it; pass the server's number
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// The number of the first bot; team and temperament follow from it
    #[arg(long, value_name = "N", default_value_t = 0)]
    first: u32,
    /// How the tanks drive
    #[arg(long, value_enum, default_value_t = DriveChoice::Bot)]
    drive: DriveChoice,
    /// Watch only; drive no tanks
    #[arg(long)]
    watch: bool,
    #[command(flatten)]
    telling: TankOptions,
    #[command(flatten)]
    recording: RecordingOptions,
    #[command(flatten)]
    reporting: SummaryOptions,
}

const EXAMPLES: &str = "\
Examples:
  fairpath bots 8 --connect 127.0.0.1:7777 --pin 5f…e1
  fairpath bots 3 --trust server.pem --for 60s --json --out match.parquet

An error is the distance in units between where a bot places another bot's tank and where that tank is. Only bots of
one process are compared. A recording (--out) has the truth of all bots here, and where each of them places the
others.
Exit code: 0 done, 2 bad input, no server answered, or it had no room for every bot.";

const SAMPLE_EVERY: Duration = Duration::from_millis(50);
/// How long a bot waits at the end for what it promised.
const LEAVE_WITHIN: Duration = Duration::from_millis(500);

impl Arguments {
    pub(crate) fn execute(self) -> Result<ExitCode, BadInput> {
        let mut bots = (0..self.count).map(|index| self.bot(index)).collect::<Result<Vec<_>, _>>()?;
        let end = self.reporting.end()?;
        let mut journal = self.recording.begin("tanks-bots", self.seed)?;
        let began = Instant::now();
        let (mut pace, mut screen, mut sampled_at) = (FramePacer::new(), StatusScreen::new(), Instant::now());
        while !end.is_here() && !bots.iter().all(BotClient::is_over) {
            for bot in &mut bots {
                bot.frame()?;
                while let Some(problem) = bot.client.poll_problem() {
                    screen.log(|| format!("bot {}: {problem}", bot.number));
                }
            }
            if sampled_at.elapsed() >= SAMPLE_EVERY || journal.is_some() {
                sampled_at = Instant::now();
                sample(&mut bots, journal.as_mut());
            }
            screen.draw(|| as_screen(&bots, began));
            pace.wait();
        }
        let mut summary = as_json(&bots, began);
        if let Some(clock) = journal.as_ref().and_then(TraceRecorder::clock_as_json) {
            summary["clock"] = clock;
        }
        let last_screen = as_screen(&bots, began);
        // A server that is full answers, but gives no session.
        let strangers = bots.iter().filter(|bot| !bot.has_joined);
        let problem = strangers.clone().find_map(|bot| problem_in(bot.client.connection_state()));
        let (strangers, all) = (strangers.count(), bots.len());
        for bot in bots {
            bot.client.leave(LEAVE_WITHIN);
        }
        if strangers == all && all > 0 {
            journal.into_iter().for_each(TraceRecorder::discard);
            return Err(self.connecting.no_answer(problem));
        }
        let recorded = journal.map(TraceRecorder::finish).transpose();
        let said = if self.reporting.json { format!("{summary}\n") } else { last_screen };
        print::to_stdout(&said)?;
        recorded?.iter().for_each(|line| print::note!("{line}"));
        if strangers > 0 {
            let reason = self.connecting.no_answer(problem).0;
            return Err(BadInput(format!("{strangers} of {all} bots never joined: {reason}")));
        }
        Ok(ExitCode::SUCCESS)
    }

    fn bot(&self, index: u32) -> Result<BotClient, BadInput> {
        let number = self.first + index;
        let crew = if self.watch { None } else { Some(lone(number, self.seed, self.drive)?) };
        let session = Client::new(self.telling.client()?, unguessable_random());
        let config = NetClientConfig {
            server_name: self.connecting.name.clone(),
            transport: if self.web { Transport::WebTransport } else { Transport::Quic },
            budget: Budget::default(),
            ..NetClientConfig::new(self.connecting.trust()?)
        };
        let client = NetClient::connect(self.connecting.address()?, config, session)?;
        let errors = ErrorHistogram::default();
        Ok(BotClient { number, client, crew, has_joined: false, errors, lost: 0, refused: 0 })
    }
}

struct BotClient {
    number: u32,
    client: NetClient<Vec2>,
    crew: Option<TankPublisher>,
    /// Whether it ever had a session.
    has_joined: bool,
    errors: ErrorHistogram,
    lost: u32,
    refused: u32,
}

impl BotClient {
    fn is_over(&self) -> bool {
        matches!(self.client.connection_state(), ConnectionState::Over(_))
    }

    fn frame(&mut self) -> Result<(), BadInput> {
        let Self { client, crew, has_joined, lost, refused, .. } = self;
        client.with_session(|session, now| {
            *has_joined |= session.is_connected();
            while let Some(event) = session.poll_event() {
                match event {
                    ClientEvent::SessionLost { .. } => {
                        *lost += 1;
                        crew.iter_mut().for_each(TankPublisher::forget_session);
                    }
                    ClientEvent::Refused { .. } => *refused += 1,
                    _ => {}
                }
            }
            let (Some(crew), Some(shared)) = (crew.as_mut(), session.clock_now(now).map(|now| now.shared))
            else {
                return;
            };
            if !session.is_connected() {
                return;
            }
            crew.play(shared, |view| show(view, session, now));
            // No room at the moment, or the session is just ending: the next frame tells it.
            let _ = crew.publish(&mut SessionAt(session, now), shared);
        });
        Ok(())
    }

    fn truth(&self) -> Option<TankTruth> {
        let now = self.client.with_session(|session, now| session.clock_now(now))?;
        let (object, life, state) = self.crew.as_ref()?.truths(now.shared).next()?;
        Some(TankTruth { object, life, state, now })
    }
}

struct TankTruth {
    object: EntityId,
    life: u16,
    state: State<Vec2>,
    now: Now,
}

#[derive(Clone, Debug, Default)]
struct ErrorHistogram {
    /// How many errors there were of each size, in steps of [`ErrorHistogram::STEP`].
    histogram: BTreeMap<u32, u64>,
    count: u64,
    sum: f64,
    max: f64,
}

impl ErrorHistogram {
    /// A hundredth of a unit: a thirtieth of the usual threshold.
    const STEP: f64 = 0.01;
    /// What is farther off counts as this far in the histogram.
    const FAR: f64 = 1_000.0;

    fn note(&mut self, error: f64) {
        *self.histogram.entry((error.min(Self::FAR) / Self::STEP) as u32).or_default() += 1;
        self.count += 1;
        self.sum += error;
        self.max = self.max.max(error);
    }

    fn mean(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum / self.count as f64 }
    }

    /// The error that this share of all is below.
    fn quantile(&self, share: f64) -> f64 {
        let wanted = (share * self.count as f64) as u64;
        let mut below = 0;
        for (step, count) in &self.histogram {
            below += count;
            if below > wanted {
                return f64::from(*step) * Self::STEP;
            }
        }
        self.max
    }
}

/// Every bot looks for every other one.
fn sample(bots: &mut [BotClient], mut journal: Option<&mut TraceRecorder>) {
    let truths: Vec<_> = bots.iter().map(BotClient::truth).collect();
    if let Some(journal) = journal.as_deref_mut() {
        for (bot, truth) in bots.iter().zip(&truths) {
            let Some(TankTruth { object, life, state, now }) = truth else { continue };
            journal.truth(*now, *object, *life, state);
            bot.client.with_session(|session, local| {
                journal.clock(*now, session.clock_uncertainty(local));
                if let Some(vector) = session.followed(*object) {
                    journal.exported(*now, vector);
                }
            });
        }
    }
    for (viewer, bot) in bots.iter_mut().enumerate() {
        let others = truths.iter().enumerate().filter(|(owner, _)| *owner != viewer);
        for truth in others.filter_map(|(_, truth)| truth.as_ref()) {
            let Some((placed, now)) = bot.client.with_session(|session, now| {
                Some((session.place(truth.object, now)?, session.clock_now(now)?))
            }) else {
                continue;
            };
            // Asked a little later than the truth, and so taken back by so much.
            let since = (now.shared - truth.now.shared).as_secs_f64().clamp(-MOMENT, MOMENT);
            let then = placed.position - placed.velocity * since;
            bot.errors.note(then.distance(truth.state.position));
            if let Some(journal) = journal.as_deref_mut() {
                journal.placed(now, truth.object, bot.number, &placed);
            }
        }
    }
}

/// Sampling all bots takes less than this, unless the machine stalls or a clock is off.
const MOMENT: f64 = 0.05;

/// Mean and standard deviation of the bots' mean errors: how accurate, and how fair.
fn accuracy_and_spread(bots: &[BotClient]) -> (f64, f64) {
    let means: Vec<f64> =
        bots.iter().filter(|bot| bot.errors.count > 0).map(|bot| bot.errors.mean()).collect();
    // Of nothing both would be −0.
    if means.is_empty() { (0.0, 0.0) } else { (mean(&means), spread(&means)) }
}

fn as_screen(bots: &[BotClient], began: Instant) -> String {
    let secs = began.elapsed().as_secs_f64();
    let (mean, spread) = accuracy_and_spread(bots);
    let mut text = format!(
        "{} bots for {secs:.0} s; error {mean:.3} on average, spread {spread:.3}\n\nbot {STATISTICS_HEAD}  error mean    p95    max  clock ± ms\n",
        bots.len()
    );
    for bot in bots {
        let status = bot.client.status();
        if let Some(problem) = problem_in(status.connection_state) {
            let _ = writeln!(text, "{:>3} {problem}", bot.number);
            continue;
        }
        let clock = bot.client.with_session(|session, now| session.clock_uncertainty(now));
        let _ = writeln!(
            text,
            "{:>3} {} {:>10.3} {:>7.2} {:>6.2} {:>10}",
            bot.number,
            statistics_as_cells(&status.session, secs),
            bot.errors.mean(),
            bot.errors.quantile(0.95),
            bot.errors.max,
            clock.map_or_else(|| "–".into(), |clock| format!("{:.1}", clock.as_millis_f64())),
        );
    }
    text
}

fn as_json(bots: &[BotClient], began: Instant) -> Value {
    let (mean, spread) = accuracy_and_spread(bots);
    let bot = |bot: &BotClient| {
        let status = bot.client.status();
        let (client, clock) =
            bot.client.with_session(|session, now| (session.id(), session.clock_uncertainty(now)));
        json!({
            "bot": bot.number,
            "client": client.map(|client| client.0),
            "is_connected": status.connection_state == ConnectionState::Connected,
            "problem": problem_in(status.connection_state).map(|problem| problem.to_string()),
            "connections": status.connections,
            "sessions_lost": bot.lost,
            "refused": bot.refused,
            "clock_uncertainty_ms": clock.map(Span::as_millis_f64),
            "session": statistics_as_json(&status.session),
            "waited_max_ms": status.departures.waited_max.as_secs_f64() * 1e3,
            "error": {
                "samples": bot.errors.count,
                "mean": bot.errors.mean(),
                "p50": bot.errors.quantile(0.5),
                "p95": bot.errors.quantile(0.95),
                "max": bot.errors.max,
            },
        })
    };
    json!({
        "secs": began.elapsed().as_secs_f64(),
        "error_mean": mean,
        "error_spread": spread,
        "resident_bytes": resident_bytes(),
        "bots": bots.iter().map(bot).collect::<Vec<_>>(),
    })
}
