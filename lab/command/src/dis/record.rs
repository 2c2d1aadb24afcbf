use std::fs::File;
use std::io::BufWriter;
use std::net::SocketAddrV4;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use fairpath_dis::capture::{Recorded, Writer};

use super::NetworkOptions;
use crate::live::SummaryOptions;
use crate::{BadInput, print};

/// Record a DIS network to a file that Wireshark opens
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The file to write
    #[arg(value_name = "FILE.pcap")]
    out: PathBuf,
    #[command(flatten)]
    network: NetworkOptions,
    #[command(flatten)]
    reporting: SummaryOptions,
}

const EXAMPLES: &str = "\
Examples:
  fairpath dis record exercise.pcap --for 60s
  fairpath dis record exercise.pcap --to 239.1.2.3 --port 3000

The file is written every second: a recording that is cut off can be read up to there.
Exit code: 0 done, 2 bad input.";

impl Arguments {
    pub(crate) fn execute(self) -> Result<ExitCode, BadInput> {
        let socket = self.network.open()?;
        let file = File::create(&self.out)
            .map_err(|error| BadInput(format!("cannot create {}: {error}", self.out.display())))?;
        let mut writer = Writer::new(BufWriter::new(file))?;
        let to = SocketAddrV4::new(*socket.destination().ip(), socket.port()?);
        let end = self.reporting.end()?;
        let (mut count, mut flushed_at) = (0u64, std::time::Instant::now());
        while !end.is_here() {
            if let Some(it) = socket.receive(Duration::from_millis(50)) {
                writer.write(&Recorded { unix_us: it.unix_us, from: it.from, to, bytes: it.bytes })?;
                count += 1;
            }
            if flushed_at.elapsed() > Duration::from_secs(1) {
                flushed_at = std::time::Instant::now();
                writer.flush()?;
            }
        }
        writer.flush()?;
        let out = self.out.display();
        if self.reporting.json {
            print::to_stdout(&format!(
                "{}\n",
                serde_json::json!({"datagrams": count, "out": out.to_string()})
            ))?;
        }
        print::note!("{count} datagrams in {out}");
        Ok(ExitCode::SUCCESS)
    }
}
