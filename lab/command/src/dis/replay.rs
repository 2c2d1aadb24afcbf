use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use fairpath_dis::pdu::{Pdu, readdress};
use fairpath_dis::stamp::{Instants, Stamp};
use fairpath_dis::{capture, net};
use fairpath_experiments::files;

use super::{NetworkOptions, local};
use crate::live::EndCondition;
use crate::{BadInput, print};

/// Send a recording to a DIS network again
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The recording: a pcap file
    #[arg(value_name = "FILE.pcap")]
    file: PathBuf,
    /// How fast, 2 for twice as fast
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0)]
    speed: f64,
    /// Keep the time stamps of the recording, instead of writing when each PDU is sent
    #[arg(long)]
    keep_stamps: bool,
    /// Give the PDUs to another exercise [default: as recorded]
    #[arg(long)]
    exercise: Option<u8>,
    #[command(flatten)]
    network: NetworkOptions,
}

const EXAMPLES: &str = "\
Examples:
  fairpath dis replay exercise.pcap --to 127.0.0.1
  fairpath dis replay exercise.pcap --speed 2 --exercise 9

Exit code: 0 done, 2 bad input.";

impl Arguments {
    pub(crate) fn execute(self) -> Result<ExitCode, BadInput> {
        if !(self.speed > 0.0 && self.speed.is_finite()) {
            return Err(BadInput::of("--speed", &self.speed.to_string(), "give a factor above zero"));
        }
        let wrong = |error| BadInput(format!("{}: {error}", self.file.display()));
        let mut recorded = capture::Reader::new(files::stream(&self.file)?).map_err(wrong)?.peekable();
        let first_us = match recorded.peek() {
            Some(Ok(first)) => first.unix_us,
            Some(Err(error)) => return Err(wrong(*error)),
            None => return Err(BadInput(format!("{}: no UDP datagrams", self.file.display()))),
        };
        let socket = self.network.open()?;
        let (start, end) = (Instant::now(), EndCondition::new(None)?);
        let mut sent = 0u64;
        for datagram in recorded {
            let datagram = datagram.map_err(wrong)?;
            let after_us = (datagram.unix_us - first_us).max(0) as f64 / self.speed;
            let at = start + Duration::from_micros(after_us as u64);
            while Instant::now() < at && !end.is_here() {
                std::thread::sleep(
                    at.saturating_duration_since(Instant::now()).min(Duration::from_millis(50)),
                );
            }
            if end.is_here() {
                break;
            }
            socket.send(&self.renewed(&datagram.bytes))?;
            sent += 1;
        }
        print::note!("{sent} datagrams sent");
        Ok(ExitCode::SUCCESS)
    }

    /// Returns the datagram with stamps of now, and the exercise that was asked for.
    fn renewed(&self, bytes: &[u8]) -> Vec<u8> {
        let unix_us = net::unix_us();
        let instants = Instants { local: local(unix_us), unix_us };
        let mut renewed = Vec::with_capacity(bytes.len());
        for pdu in Pdu::split(bytes).flatten() {
            let stamp =
                if self.keep_stamps { pdu.stamp() } else { Stamp::of(instants, pdu.stamp().is_absolute()).0 };
            let mut one = pdu.bytes().to_vec();
            readdress(&mut one, self.exercise.unwrap_or_else(|| pdu.exercise()), stamp);
            renewed.extend(one);
        }
        // Whatever is not a PDU goes out as it is.
        if renewed.is_empty() { bytes.to_vec() } else { renewed }
    }
}
