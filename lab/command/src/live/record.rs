use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use fairpath::session::Client;
use fairpath_net::{ConnectionState, NetClient, NetClientConfig, unguessable_random};
use serde_json::json;

use super::journal::{TimestampOptions, TraceRecorder};
use super::{
    FramePacer, ServerAddress, StatusScreen, SummaryOptions, TANK, TankOptions, problem_in,
    statistics_as_json,
};
use crate::{BadInput, print};

/// Watch a tank server and record where its tanks are placed
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The file to write: NAME.parquet or NAME.csv
    #[arg(value_name = "FILE")]
    out: PathBuf,
    #[command(flatten)]
    stamping: TimestampOptions,
    #[command(flatten)]
    connecting: ServerAddress,
    #[command(flatten)]
    telling: TankOptions,
    #[command(flatten)]
    reporting: SummaryOptions,
}

const EXAMPLES: &str = "\
Examples:
  fairpath record seen.parquet --pin 5f…e1 --for 60s

A watcher knows only what it receives: all its states are `placed`. To record the truth too, use `fairpath serve \
--out` or `fairpath bots --out`.
A recording is written as it goes: if the program is killed, every command reads NAME.parquet up to the last \
seconds, and `fairpath lab join NAME.parquet` completes it. If the disk is full, the recording stops and what is \
there is kept.
Exit code: 0 done, 2 bad input, no server answered or had room, or the recording stopped early.";

impl Arguments {
    pub(crate) fn execute(self) -> Result<ExitCode, BadInput> {
        let session = Client::new(self.telling.client()?, unguessable_random());
        let config = NetClientConfig {
            server_name: self.connecting.name.clone(),
            ..NetClientConfig::new(self.connecting.trust()?)
        };
        let client: NetClient<fairpath::vector::Vec2> =
            NetClient::connect(self.connecting.address()?, config, session)?;
        let end = self.reporting.end()?;
        // Begun last: what is wrong before leaves no recording behind.
        let mut journal = TraceRecorder::begin(&self.out, &self.stamping, "tanks-seen", 0)?;
        let (mut pace, mut screen, mut count, mut known_as) =
            (FramePacer::new(), StatusScreen::new(), 0u64, None);
        let is_over = || matches!(client.connection_state(), ConnectionState::Over(_));
        while !end.is_here() && !is_over() && !journal.has_stopped() {
            client.with_session(|session, now| {
                while session.poll_event().is_some() {}
                let (Some(both), Some(id)) = (session.clock_now(now), session.id()) else { return };
                if session.is_connected() && known_as.replace(id) != Some(id) {
                    print::note!("connected as client {}", id.0);
                }
                journal.clock(both, session.clock_uncertainty(now));
                let tanks: Vec<_> =
                    session.objects().filter(|object| session.class(*object) == Some(TANK)).collect();
                for object in tanks {
                    if let Some(state) = session.place(object, now) {
                        journal.placed(both, object, id.0, &state);
                        count += 1;
                    }
                    if let Some(vector) = session.followed(object) {
                        journal.followed(both, Some(id.0), vector);
                    }
                }
            });
            while let Some(problem) = client.poll_problem() {
                screen.log(|| problem.to_string());
            }
            screen.draw(|| format!("{count} states seen\n"));
            pace.wait();
        }
        let summary = json!({
            "states": count,
            "out": self.out.display().to_string(),
            "client": client.with_session(|session, _| session.id()).map(|id| id.0),
            "clock": journal.clock_as_json(),
            "session": statistics_as_json(&client.status().session),
        });
        let status = client.status();
        drop(client);
        // A server that is full answers, but gives no session.
        if known_as.is_none() {
            journal.discard();
            return Err(self.connecting.no_answer(problem_in(status.connection_state)));
        }
        let written = journal.finish()?;
        if self.reporting.json {
            print::to_stdout(&format!("{summary}\n"))?;
        }
        print::note!("{written}");
        Ok(ExitCode::SUCCESS)
    }
}
