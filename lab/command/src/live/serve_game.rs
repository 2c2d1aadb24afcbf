//! `fairpath serve --game …` for the games that are not dead-reckoned

use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::Duration;

use fairpath_experiments::online::{LOOK_EVERY, bind};
use fairpath_games::GameChoice;
use fairpath_games::jet_car::JetCarConfig;
use fairpath_games::online::{HostedGame, HostedJetCar, HostedSailing, Room};
use fairpath_games::sailing::{SailingConfig, Trim, Wind};
use fairpath_net::Identity;
use serde_json::json;

use super::StatusScreen;
use super::lobby::{AnnouncedServer, LobbyAnnouncement};
use crate::{BadInput, print};

pub(super) struct GameServerOptions<'a> {
    pub(super) listen: SocketAddr,
    pub(super) identity: Identity,
    /// The lobby to announce the server to, if any.
    pub(super) notice: Option<LobbyAnnouncement>,
    pub(super) seed: u64,
    pub(super) clients_max: usize,
    pub(super) is_over: &'a dyn Fn() -> bool,
    pub(super) prints_json: bool,
}

/// How long clients have to acknowledge reliable messages when the server ends.
const SHUTDOWN_WITHIN: Duration = Duration::from_secs(1);
pub(super) fn serve(game: GameChoice, options: GameServerOptions<'_>) -> Result<ExitCode, BadInput> {
    let sailing = |wind| HostedSailing {
        rules: SailingConfig { wind, ..SailingConfig::default() },
        opponent: Trim::Optimal,
    };
    match game {
        GameChoice::JetCar { has_wind: false } => {
            host(HostedJetCar { rules: JetCarConfig::default() }, options)
        }
        GameChoice::JetCar { has_wind: true } => host(HostedJetCar { rules: JetCarConfig::windy() }, options),
        GameChoice::Sailing { wind_shifts: false } => host(sailing(SailingConfig::default().wind), options),
        GameChoice::Sailing { wind_shifts: true } => host(sailing(Wind::west_and_south(20.0)), options),
        GameChoice::Tanks | GameChoice::Ethereal | GameChoice::Race => {
            let fix = "choose tanks, jet-car, jet-car-wind, sailing or sailing-shifts";
            Err(BadInput::of("--game", game.name(), &format!("this game cannot be served yet; {fix}")))
        }
    }
}

fn host<H: HostedGame>(game: H, options: GameServerOptions<'_>) -> Result<ExitCode, BadInput> {
    let server = bind(options.listen, options.identity, options.clients_max)?;
    print::note!("listening on {}, fingerprint {}", server.address(), server.fingerprint());
    print::note!("  fairpath play {} --connect {} --pin {}", H::NAME, server.address(), server.fingerprint());
    let mut presence = options.notice.map(|notice| notice.post(&server)).transpose()?;
    let (mut room, screen) = (Room::new(game, options.seed), StatusScreen::none());
    while !(options.is_over)() {
        presence.iter_mut().for_each(AnnouncedServer::look);
        server.with_session(|session, now| room.frame(session, now));
        while let Some(ended) = server.poll_ended() {
            screen.log(|| format!("client {} at {}: {}", ended.client.0, ended.address, ended.problem));
        }
        std::thread::sleep(LOOK_EVERY);
    }
    drop(presence);
    let statistics = room.statistics();
    server.shutdown(SHUTDOWN_WITHIN);
    if options.prints_json {
        let summary = json!({
            "game": H::NAME,
            "runs": statistics.runs,
            "seats_freed": statistics.freed,
            "inputs": statistics.inputs,
            "answers": statistics.answers,
            "bad_messages": statistics.bad_messages,
        });
        print::to_stdout(&format!("{summary}\n"))?;
    }
    Ok(ExitCode::SUCCESS)
}
