use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use fairpath_net::Trust;
use fairpath_net::lobby::{Filter, Found, LobbyAddress, find};
use serde_json::{Value, json};

use super::lobby::{key_and_value, listing_as_json, listing_as_line};
use super::{address, pinned};
use crate::{BadInput, print};

/// List the servers of a lobby, with their round trips
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The address of the lobby
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:7700")]
    lobby: String,
    /// The fingerprint of the lobby's certificate, as `fairpath lobby` prints it
    #[arg(long, value_name = "FINGERPRINT", required_unless_present = "trust")]
    pin: Option<String>,
    /// A PEM file with certificates to trust, instead of --pin
    #[arg(long, value_name = "FILE", conflicts_with = "pin")]
    trust: Option<PathBuf>,
    /// The name that a certificate trusted with --trust must be valid for
    #[arg(long, value_name = "NAME", default_value = "localhost")]
    name: String,
    /// Only servers of this game
    #[arg(long, value_name = "GAME")]
    game: Option<String>,
    /// Only servers with at least this many free seats
    #[arg(long, value_name = "N", default_value_t = 0)]
    free: u32,
    /// Only servers with this attribute; may be given several times
    #[arg(long = "where", value_name = "KEY=VALUE")]
    conditions: Vec<String>,
    /// Connect to each server, and list the nearest first
    #[arg(long)]
    measure: bool,
    /// Print the list as JSON, on one line
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  fairpath servers --lobby 127.0.0.1:7700 --pin 5f…e1
  fairpath servers --pin 5f…e1 --game tanks --free 2 --where map=dunes --measure --json

Exit code: 0 done, also if the list is empty; 2 bad input, or no lobby answered.";

impl Arguments {
    pub(crate) fn execute(self) -> Result<ExitCode, BadInput> {
        let mut lobby = LobbyAddress::new(address("--lobby", &self.lobby)?, self.trust()?);
        lobby.name = self.name.clone();
        let found = find(&lobby, &self.filter()?, self.measure)
            .map_err(|error| BadInput(format!("--lobby {error}")))?;
        let said = if self.json { format!("{}\n", as_json(&found)) } else { as_text(&found) };
        print::to_stdout(&said)?;
        Ok(ExitCode::SUCCESS)
    }

    fn trust(&self) -> Result<Trust, BadInput> {
        match (&self.pin, &self.trust) {
            (Some(pin), _) => Ok(Trust::Pinned(vec![pinned("--pin", pin)?])),
            (None, Some(path)) => Ok(Trust::load(path)?),
            (None, None) => Err(BadInput("no lobby is trusted; pass --pin or --trust".into())),
        }
    }

    fn filter(&self) -> Result<Filter, BadInput> {
        let mut attributes = BTreeMap::new();
        for condition in &self.conditions {
            let (key, value) = key_and_value("--where", condition)?;
            attributes.insert(key.to_owned(), value.to_owned());
        }
        let filter = Filter { game: self.game.clone(), free_seats_min: self.free, attributes };
        filter.check().map_err(|error| BadInput(format!("--game or --where {error}")))?;
        Ok(filter)
    }
}

fn millis(round_trip: Duration) -> f64 {
    round_trip.as_secs_f64() * 1e3
}

fn as_text(found: &[Found]) -> String {
    if found.is_empty() {
        return "no servers on the list\n".into();
    }
    let mut text = String::from("  rtt ms  name                     game         players      address\n");
    for Found { listing, round_trip } in found {
        let round_trip = round_trip.map_or_else(|| "–".into(), |it| format!("{:.1}", millis(it)));
        let _ = writeln!(text, "{round_trip:>8}  {}", listing_as_line(listing));
        let _ = writeln!(text, "{:>8}  --connect {} --pin {}", "", listing.address, listing.fingerprint);
    }
    text
}

fn as_json(found: &[Found]) -> Value {
    let entry = |found: &Found| {
        let mut value = listing_as_json(&found.listing);
        value["rtt_ms"] = json!(found.round_trip.map(millis));
        value
    };
    found.iter().map(entry).collect()
}
