use std::io::{BufRead, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use clap::Args;
use fairpath::schedule::Broadcast;
use fairpath::session::{Server, ServerConfig, ServerEvent};
use fairpath::time::{SharedInstant, Span};
use fairpath::vector::Vec2;
use fairpath_eval::budget::Budget;
use fairpath_experiments::segments::{self, STATES};
use fairpath_games::online::{PlacedCheck, PlacedChecker, ReplayPublisher, SPEEDS, Sights};
use fairpath_net::{Clock, Identity, NetServer, NetServerConfig, new_epoch, unguessable_random};
use fairpath_sim::trace::{FollowedRow, StateRow, VectorRow};
use serde_json::json;

use super::page::PageOptions;
use super::{FramePacer, StatusScreen, SummaryOptions, TankOptions, address};
use crate::{BadInput, print};

/// Serve a recorded match again
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// A recording of `record`, `serve --out`, `bots --out` or `serve --keep`: NAME.parquet or
    /// NAME.csv
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The address to listen on; port 0 lets the system choose
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:7777")]
    listen: String,
    /// Begin at this second of the recording
    #[arg(long, value_name = "S", default_value_t = 0.0)]
    from: f64,
    /// How fast time passes: 0.5 is slow motion
    #[arg(long, value_name = "X", default_value_t = 1.0)]
    speed: f64,
    /// Begin again at the end
    #[arg(long)]
    repeat: bool,
    /// Serve nothing; compute every placed state again from the DR vectors and compare all bits
    #[arg(long)]
    check: bool,
    #[command(flatten)]
    telling: TankOptions,
    #[command(flatten)]
    reporting: SummaryOptions,
    #[command(flatten)]
    page: PageOptions,
}

const EXAMPLES: &str = "\
Examples:
  fairpath replay seen.parquet
  fairpath replay fairpath-flight/flight-1766000000000.csv --speed 0.25 --from 40
  fairpath replay match.parquet --page --open
  fairpath replay match.parquet --check

Clients connect as to `fairpath serve`. While it runs, it reads commands from stdin, one a line: `seek 12.5`, \
`speed 0.5`, `pause`, `play`, `end`. Every seek begins a new epoch with new objects: shared time never runs back. \
At speed 1 clients place every tank as the recorded viewers did, bit for bit.
--check takes matches with global placement, the default of `serve`. Give it --as-in-the-papers if they had it.
Exit code: 0 done, 1 a placed state differs (with --check), 2 bad input.";

/// How long clients have to confirm what was promised to them when it ends.
const SHUTDOWN_WITHIN: Duration = Duration::from_secs(1);

impl Arguments {
    pub(crate) fn execute(self) -> Result<ExitCode, BadInput> {
        if self.check {
            return self.compare();
        }
        if !SPEEDS.contains(&self.speed) {
            return Err(BadInput::of("--speed", &self.speed.to_string(), "give 0.01 to 100"));
        }
        if !(self.from.is_finite() && self.from >= 0.0) {
            return Err(BadInput::of("--from", &self.from.to_string(), "give seconds from the beginning"));
        }
        let mut publisher = self.open()?;
        let server = self.bind()?;
        let end = self.reporting.end()?;
        print::note!("listening on {}, fingerprint {}", server.address(), server.fingerprint());
        print::note!(
            "  fairpath record again.parquet --connect {} --pin {}",
            server.address(),
            server.fingerprint()
        );
        // Lives until the end of this function: dropping it ends the page.
        let _page = self.page.serve(&json!({
            "address": server.address().to_string(),
            "fingerprint": server.fingerprint().to_string(),
            "threshold": self.telling.threshold,
            "model": self.telling.model.name(),
            "seed": 1,
        }))?;
        let commands = read_commands();
        let (mut pace, mut screen, mut joined, mut is_ended) =
            (FramePacer::new(), StatusScreen::new(), 0_u64, false);
        while !end.is_here() && !is_ended {
            let asked: Vec<String> = commands.try_iter().collect();
            let shown = server.with_session(|session, now| {
                while let Some(event) = session.poll_event() {
                    joined += u64::from(matches!(event, ServerEvent::Joined { .. }));
                }
                for line in &asked {
                    is_ended |= obey(line, &mut publisher, now);
                }
                publisher.play(session, now)?;
                if publisher.is_over(now) {
                    is_ended |= !self.repeat;
                    publisher.seek(publisher.recorded().span().0);
                }
                Ok::<_, BadInput>(publisher.recorded_at(now))
            })?;
            screen.draw(|| {
                let (_, last) = publisher.recorded().span();
                format!("{:.1} of {:.1} s, {joined} joined\n", shown.as_secs_f64(), last.as_secs_f64())
            });
            pace.wait();
        }
        server.shutdown(SHUTDOWN_WITHIN);
        if self.reporting.json {
            let vectors = publisher.recorded().len();
            let summary = json!({ "vectors": vectors, "epochs": publisher.epochs(), "joined": joined });
            print::to_stdout(&format!("{summary}\n"))?;
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Reads when tanks were there and how they moved. States are not kept.
    fn open(&self) -> Result<ReplayPublisher, BadInput> {
        let budget = Budget::default();
        let mut sights = Sights::default();
        segments::read_batches(&self.file, STATES, &budget, |states: &[StateRow]| {
            let before = sights.memory_bytes();
            sights.see(states);
            budget.hold(sights.memory_bytes() - before)
        })?;
        let vectors = self.vectors(&budget)?;
        let mut publisher = ReplayPublisher::new(sights.with_vectors(vectors));
        publisher.set_speed(self.speed, SharedInstant::ZERO);
        publisher.seek(publisher.recorded().span().0 + Span::from_secs_f64(self.from.clamp(0.0, 1e6)));
        Ok(publisher)
    }

    fn vectors(&self, budget: &Budget) -> Result<Vec<VectorRow>, BadInput> {
        let vectors = segments::read_table::<VectorRow>(&self.file, "vectors", budget)?;
        if vectors.is_empty() {
            return Err(BadInput(format!(
                "{}: there are no DR vectors beside it; record the match with `fairpath record`, `serve --out` or \
                 `serve --keep`",
                self.file.display()
            )));
        }
        Ok(vectors)
    }

    fn bind(&self) -> Result<NetServer<Vec2>, BadInput> {
        let config = ServerConfig::new(self.telling.classes()?, new_epoch());
        let session = Server::new(config, Box::new(Broadcast), unguessable_random());
        let identity = Identity::local(&[])?;
        let mut config = NetServerConfig::new(address("--listen", &self.listen)?, identity);
        config.clock = Clock::unix();
        Ok(NetServer::bind(config, session)?)
    }

    fn compare(&self) -> Result<ExitCode, BadInput> {
        let budget = Budget::default();
        let vectors = self.vectors(&budget)?;
        let followed = segments::read_table::<FollowedRow>(&self.file, "followed", &budget)?;
        let horizon = self.telling.dispatcher().horizon;
        let mut checker = PlacedChecker::new(&followed, &vectors).with_horizon(horizon);
        segments::read_batches(&self.file, STATES, &budget, |states: &[StateRow]| {
            checker.see(states);
            Ok(())
        })?;
        let check = checker.check();
        if check == PlacedCheck::default() {
            return Err(BadInput(format!(
                "{}: nothing to compare: it has no placed states",
                self.file.display()
            )));
        }
        let said = if self.reporting.json {
            json!({ "equal": check.equal, "different": check.different, "unknown": check.unknown })
                .to_string()
        } else {
            format!(
                "{} placed states are equal to the last bit, {} differ, {} follow a DR vector from before the recording",
                check.equal, check.different, check.unknown
            )
        };
        print::to_stdout(&format!("{said}\n"))?;
        Ok(if check.different == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

/// The lines of stdin, as they come. A closed stdin has none.
fn read_commands() -> Receiver<String> {
    let (lines, commands) = channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if lines.send(line).is_err() {
                return;
            }
        }
    });
    commands
}

/// Does what a line asks for. Returns whether it is to end.
fn obey(line: &str, publisher: &mut ReplayPublisher, now: SharedInstant) -> bool {
    let begin = publisher.recorded().span().0;
    let words: Vec<&str> = line.split_whitespace().collect();
    let number = |text: &str| text.parse::<f64>().ok().filter(|number| number.is_finite());
    match words[..] {
        [] => {}
        ["end"] => return true,
        ["pause"] => publisher.set_paused(true, now),
        ["play"] => publisher.set_paused(false, now),
        ["seek", secs] if number(secs).is_some() => {
            let secs = number(secs).unwrap_or_default().clamp(0.0, 1e6);
            publisher.seek(begin + Span::from_secs_f64(secs));
        }
        ["speed", speed] if number(speed).is_some_and(|speed| SPEEDS.contains(&speed)) => {
            publisher.set_speed(number(speed).unwrap_or(1.0), now);
        }
        _ => {
            // A closed stderr is no error.
            let _ = writeln!(
                std::io::stderr(),
                "unknown command {line:?}; type seek SECONDS, speed 0.01 to 100, pause, play or end"
            );
        }
    }
    false
}
