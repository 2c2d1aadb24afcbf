//! `fairpath serve --game …` for the games that are not dead-reckoned

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use fairpath_experiments::online::{LOOK_EVERY, bind};
use fairpath_experiments::record::write_trace;
use fairpath_games::GameChoice;
use fairpath_games::jet_car::JetCarConfig;
use fairpath_games::online::{
    HostedGame, HostedJetCar, HostedSailing, Room, SharedGame, SharedRace, SharedRoom, Table,
};
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
    /// Where to record games that several play: NAME.parquet, then NAME-2.parquet, and so on.
    pub(super) record: Option<PathBuf>,
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
        GameChoice::Race => host_shared(SharedRace::on_road_of(options.seed, LAPS), options),
        GameChoice::Tanks | GameChoice::Ethereal => {
            let fix = "choose tanks, race, jet-car, jet-car-wind, sailing or sailing-shifts";
            Err(BadInput::of("--game", game.name(), &format!("this game cannot be served yet; {fix}")))
        }
    }
}

/// The laps of a race.
const LAPS: u32 = 3;

/// Serves one game for all clients together, with bots in the seats that are left.
fn host_shared<G: SharedGame>(game: G, options: GameServerOptions<'_>) -> Result<ExitCode, BadInput> {
    let refused = || BadInput::of("--seed", &options.seed.to_string(), "give another one");
    let mut room = SharedRoom::new(Table::new(game, options.seed).ok_or_else(refused)?);
    let server = bind(options.listen, options.identity, options.clients_max)?;
    print::note!("listening on {}, fingerprint {}", server.address(), server.fingerprint());
    let (name, address, fingerprint) = (G::NAME, server.address(), server.fingerprint());
    print::note!("  fairpath play {name} --seed {} --connect {address} --pin {fingerprint}", options.seed);
    let mut presence = options.notice.map(|notice| notice.post(&server)).transpose()?;
    let (screen, mut recorded) = (StatusScreen::none(), 0);
    while !(options.is_over)() {
        presence.iter_mut().for_each(AnnouncedServer::look);
        let recording = server.with_session(|session, now| room.frame(session, now));
        if let (Some(trace), Some(out)) = (recording, &options.record) {
            recorded += 1;
            let written = write_trace(&trace, &numbered(out, recorded))?;
            screen.log(|| format!("recorded {}", written.display()));
        }
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
            "game": G::NAME,
            "games": statistics.games,
            "inputs": statistics.inputs,
            "answers": statistics.answers,
            "without_seat": statistics.without_seat,
            "refused_starts": statistics.refused_starts,
            "bad_messages": statistics.bad_messages,
        });
        print::to_stdout(&format!("{summary}\n"))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The file of the n-th game: NAME.parquet, NAME-2.parquet and so on.
fn numbered(out: &Path, number: u32) -> PathBuf {
    if number == 1 {
        return out.into();
    }
    let part = |part: Option<&std::ffi::OsStr>| part.unwrap_or_default().to_string_lossy().into_owned();
    out.with_file_name(format!("{}-{number}.{}", part(out.file_stem()), part(out.extension())))
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
