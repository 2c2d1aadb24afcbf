//! `fairpath record`

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use fairpath::session::{Client, ClientConfig};
use fairpath_net::{NetClient, NetClientConfig, Reach, unguessable_random};

use super::journal::Recording;
use super::{Connecting, Pace, Reporting, Screen, TANK, Telling};
use crate::{BadInput, print};

/// Watch a tank server, and write down where its tanks are seen
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// NAME.parquet or NAME.csv
    #[arg(value_name = "FILE")]
    out: PathBuf,
    /// Which instant is zero in the recording, in microseconds since 1970 [default: its first]
    #[arg(long, value_name = "MICROS")]
    zero: Option<i64>,
    #[command(flatten)]
    connecting: Connecting,
    #[command(flatten)]
    telling: Telling,
    #[command(flatten)]
    reporting: Reporting,
}

const EXAMPLES: &str = "\
Examples:
  fairpath record seen.parquet --pin 5f…e1 --for 60s

A watcher knows only what it is told: all its states are `placed`. For the truth beside it record where the tanks are driven, with
`fairpath serve --out` or `fairpath bots --out`.
Exit code: 0 done, 2 bad input.";

impl Arguments {
    pub(crate) fn execute(self) -> Result<ExitCode, BadInput> {
        let recording = Recording { out: Some(self.out.clone()), zero: self.zero };
        let mut journal = recording.begin("tanks-seen", 0)?.ok_or_else(|| BadInput("name a file".into()))?;
        let session = Client::new(ClientConfig::new(self.telling.classes()?), unguessable_random());
        let config = NetClientConfig {
            server_name: self.connecting.name.clone(),
            ..NetClientConfig::new(self.connecting.trust()?)
        };
        let client: NetClient<fairpath::vector::Vec2> =
            NetClient::connect(self.connecting.address()?, config, session)?;
        let end = self.reporting.end()?;
        let (mut pace, mut screen, mut count) = (Pace::new(), Screen::new(), 0u64);
        while !end.is_here() && !matches!(client.reach(), Reach::Over(_)) {
            client.frame(|session, now| {
                while session.poll_event().is_some() {}
                let (Some(shared), Some(id)) = (session.clock_now(now).map(|now| now.shared), session.id())
                else {
                    return;
                };
                let tanks: Vec<_> =
                    session.objects().filter(|object| session.class(*object) == Some(TANK)).collect();
                for object in tanks {
                    if let Some(state) = session.place(object, now) {
                        journal.placed(shared, object, id.0, &state);
                        count += 1;
                    }
                }
            });
            screen.draw(|| format!("{count} states seen\n"));
            pace.wait();
        }
        drop(client);
        let written = journal.finish()?;
        if self.reporting.json {
            let out = self.out.display().to_string();
            print::to_stdout(&format!("{}\n", serde_json::json!({ "states": count, "out": out })))?;
        }
        eprintln!("{written}");
        Ok(ExitCode::SUCCESS)
    }
}
