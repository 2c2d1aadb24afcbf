//! `fairpath lobby`, and the options of `serve` that announce it to a lobby.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use fairpath_net::lobby::{
    Announcement, Listing, LobbyAddress, LobbyConfig, LobbyPresence, LobbyRefusal, LobbyServer,
};
use fairpath_net::{Identity, NetServer, Trust};
use serde_json::{Value, json};

use super::{StatusScreen, SummaryOptions, address, pinned};
use crate::{BadInput, print};

/// Run a lobby, where servers and peers announce themselves and clients find them
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The address to listen on; port 0 lets the system choose
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:7700")]
    listen: String,
    /// A PEM file with the lobby's certificate [default: a new one for this machine]
    #[arg(long, value_name = "FILE", requires = "key")]
    certificate: Option<PathBuf>,
    /// A PEM file with the certificate's private key
    #[arg(long, value_name = "FILE", requires = "certificate")]
    key: Option<PathBuf>,
    /// The greatest number of entries on the list
    #[arg(long, value_name = "N", default_value_t = 4096)]
    entries_max: usize,
    /// The greatest number of entries from one address
    #[arg(long, value_name = "N", default_value_t = 32)]
    entries_per_address_max: usize,
    /// The greatest number of relayed pairs of peers that cannot reach each other; 0 turns relays
    /// off
    #[arg(long, value_name = "N", default_value_t = 64)]
    relays_max: usize,
    #[command(flatten)]
    reporting: SummaryOptions,
}

const EXAMPLES: &str = "\
Examples:
  fairpath lobby
  fairpath serve --lobby 127.0.0.1:7700 --lobby-pin 5f…e1 --name 'Ann and friends'
  fairpath servers --lobby 127.0.0.1:7700 --pin 5f…e1 --where map=dunes --measure

The lobby prints its fingerprint for `serve --lobby-pin` and `servers --pin`. Addresses on the list are the
ones that the lobby saw, and certificates the ones that a server proved to have.
Exit code: 0 done, 2 bad input.";

/// How often the lobby checks whether to end, and redraws its screen.
const LOOK_EVERY: Duration = Duration::from_millis(50);

impl Arguments {
    pub(crate) fn execute(self) -> Result<ExitCode, BadInput> {
        let identity = match (&self.certificate, &self.key) {
            (Some(certificate), Some(key)) => Identity::load(certificate, key)?,
            _ => Identity::local(&[])?,
        };
        let mut config = LobbyConfig::new(address("--listen", &self.listen)?, identity);
        config.lobby_limits.entries_max = self.entries_max;
        config.lobby_limits.entries_per_address_max = self.entries_per_address_max;
        config.lobby_limits.relays_max = self.relays_max;
        config.limits.per_address_max = config.limits.per_address_max.max(2 * self.entries_per_address_max);
        let end = self.reporting.end()?;
        let lobby = LobbyServer::bind(config)?;
        print::note!("listening on {}, fingerprint {}", lobby.address(), lobby.fingerprint());
        print::note!("  fairpath servers --lobby {} --pin {}", lobby.address(), lobby.fingerprint());
        let mut screen = StatusScreen::new();
        while !end.is_here() {
            screen.draw(|| as_screen(&lobby));
            std::thread::sleep(LOOK_EVERY);
        }
        let said = if self.reporting.json { format!("{}\n", as_json(&lobby)) } else { as_screen(&lobby) };
        print::to_stdout(&said)?;
        Ok(ExitCode::SUCCESS)
    }
}

fn as_screen(lobby: &LobbyServer) -> String {
    let statistics = lobby.statistics();
    let mut text = format!(
        "{}: {} on the list, {} connections, {} lists, {} introductions, {} relayed, {} refused\n\n",
        lobby.address(),
        statistics.entries,
        statistics.connections,
        statistics.lists,
        statistics.introductions,
        statistics.relays,
        statistics.refused
    );
    for listing in lobby.entries() {
        let _ = writeln!(text, "{}", listing_as_line(&listing));
    }
    text
}

pub(super) fn listing_as_line(listing: &Listing) -> String {
    let Announcement { game, name, players, seats, attributes, .. } = &listing.announcement;
    let attributes: Vec<String> = attributes.iter().map(|(key, value)| format!("{key}={value}")).collect();
    format!(
        "{name:<24} {game:<12} {players:>4} of {seats:<4} {:<22} {}",
        listing.address,
        attributes.join(" ")
    )
    .trim_end()
    .to_owned()
}

pub(super) fn listing_as_json(listing: &Listing) -> Value {
    let announcement = &listing.announcement;
    json!({
        "entry": listing.entry.0,
        "name": announcement.name,
        "game": announcement.game,
        "address": listing.address.to_string(),
        "fingerprint": listing.fingerprint.to_string(),
        "protocol": announcement.protocol,
        "players": announcement.players,
        "seats": announcement.seats,
        "wants_introductions": announcement.wants_introductions,
        "attributes": announcement.attributes,
    })
}

fn as_json(lobby: &LobbyServer) -> Value {
    let statistics = lobby.statistics();
    let door = statistics.admission;
    json!({
        "listen": lobby.address().to_string(),
        "entries": lobby.entries().iter().map(listing_as_json).collect::<Vec<_>>(),
        "connections": statistics.connections,
        "lists": statistics.lists,
        "introductions": statistics.introductions,
        "relays": statistics.relays,
        "refused": statistics.refused,
        "closed": statistics.closed,
        "door": { "retried": door.retried, "refused": door.refused, "failed": door.failed },
    })
}

/// How a server announces itself to a lobby.
#[derive(Args, Clone, Debug)]
pub(super) struct LobbyOptions {
    /// Announce the server to this lobby
    #[arg(long, value_name = "HOST:PORT", requires = "lobby_pin")]
    lobby: Option<String>,
    /// The fingerprint of the lobby's certificate, as `fairpath lobby` prints it
    #[arg(long, value_name = "FINGERPRINT", requires = "lobby")]
    lobby_pin: Option<String>,
    /// The server's name on the list
    #[arg(long, value_name = "NAME", requires = "lobby", default_value = "a server")]
    name: String,
    /// An attribute that players can search for; may be given several times
    #[arg(long = "attribute", value_name = "KEY=VALUE", requires = "lobby")]
    attributes: Vec<String>,
}

#[derive(Clone, Debug)]
pub(crate) struct LobbyAnnouncement {
    lobby: LobbyAddress,
    announcement: Announcement,
}

impl LobbyOptions {
    pub(super) fn notice(&self, game: &str) -> Result<Option<LobbyAnnouncement>, BadInput> {
        let (Some(lobby), Some(pin)) = (&self.lobby, &self.lobby_pin) else { return Ok(None) };
        let trust = Trust::Pinned(vec![pinned("--lobby-pin", pin)?]);
        let mut announcement = Announcement::new(game, &self.name);
        for attribute in &self.attributes {
            let (key, value) = key_and_value("--attribute", attribute)?;
            announcement = announcement.with_attribute(key, value);
        }
        announcement.check().map_err(|error| BadInput(format!("--name or --attribute {error}")))?;
        Ok(Some(LobbyAnnouncement {
            lobby: LobbyAddress::new(address("--lobby", lobby)?, trust),
            announcement,
        }))
    }
}

impl LobbyAnnouncement {
    pub(crate) fn post<V: fairpath::vector::Planar>(
        self,
        server: &NetServer<V>,
    ) -> Result<AnnouncedServer, BadInput> {
        let at = self.lobby.address.to_string();
        let attendance = server.announce(self.lobby, self.announcement)?;
        Ok(AnnouncedServer { at, attendance, is_told: false, refusal: None })
    }
}

/// A server on a list, or on its way there. Dropping it takes the server off.
pub(crate) struct AnnouncedServer {
    at: String,
    attendance: LobbyPresence,
    is_told: bool,
    refusal: Option<LobbyRefusal>,
}

impl AnnouncedServer {
    /// Prints once that the server is on the list, and every reason for a refusal.
    pub(crate) fn look(&mut self) {
        if let Some((entry, seen)) = self.attendance.announced()
            && !std::mem::replace(&mut self.is_told, true)
        {
            print::note!("entry {} on the list of {}, which sees this server at {seen}", entry.0, self.at);
        }
        let refusal = self.attendance.refusal();
        if let Some(refused) = refusal.filter(|_| self.refusal != refusal) {
            print::note!("the lobby at {} refused this server: {refused}", self.at);
            self.refusal = refusal;
        }
    }
}

/// The parts before and after the first `=`.
pub(super) fn key_and_value<'a>(option: &str, text: &'a str) -> Result<(&'a str, &'a str), BadInput> {
    let parts = text.split_once('=').filter(|(key, value)| !key.is_empty() && !value.is_empty());
    parts.ok_or_else(|| BadInput::of(option, text, "give KEY=VALUE such as map=dunes"))
}
