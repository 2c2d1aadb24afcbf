//! `fairpath serve --game …`

use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::Duration;

use fairpath::schedule::Broadcast;
use fairpath::session::{Server, ServerConfig};
use fairpath::vector::Vec2;
use fairpath_games::jet_car::JetCarConfig;
use fairpath_games::sailing::{SailingConfig, Trim, Wind};
use fairpath_net::{Identity, NetServer, NetServerConfig, new_epoch, unguessable_random};
use serde_json::json;

use super::{BUDGET, CLASSES};
use crate::live::lobby::{Notice, Presence};
use crate::{BadInput, print};
use fairpath_games::online::{HostedGame, HostedJetCar, HostedSailing, Room};

/// What a server of these games is asked for.
pub(crate) struct Request<'a> {
    pub(crate) listen: SocketAddr,
    pub(crate) identity: Identity,
    /// The lobby to be on the list of, if any.
    pub(crate) notice: Option<Notice>,
    pub(crate) seed: u64,
    pub(crate) clients_max: usize,
    /// Whether it is time to end.
    pub(crate) is_over: &'a dyn Fn() -> bool,
    pub(crate) prints_json: bool,
}

/// The games that there are, as the command line calls them.
pub(crate) const GAMES: &str = "tanks, jet-car, jet-car-wind, sailing or sailing-shifts";

/// How long clients have to confirm what was promised to them when it ends.
const SHUTDOWN_WITHIN: Duration = Duration::from_secs(1);
/// How often elapsed time is looked at. 2 ms: a fifth of the shortest tick, so that an answer
/// leaves when its tick is over.
pub(crate) const LOOK_EVERY: Duration = Duration::from_millis(2);

/// Hosts `game` until it is over.
pub(crate) fn serve(game: &str, request: Request<'_>) -> Result<ExitCode, BadInput> {
    let sailing = |wind| HostedSailing {
        rules: SailingConfig { wind, ..SailingConfig::default() },
        opponent: Trim::Optimal,
    };
    match game {
        "jet-car" => host(HostedJetCar { rules: JetCarConfig::default() }, request),
        "jet-car-wind" => host(HostedJetCar { rules: JetCarConfig::windy() }, request),
        "sailing" => host(sailing(SailingConfig::default().wind), request),
        "sailing-shifts" => host(sailing(Wind::west_and_south(20.0)), request),
        other => Err(BadInput::of("--game", other, &format!("choose {GAMES}"))),
    }
}

/// A server with nobody in it yet.
pub(crate) fn bind(
    listen: SocketAddr,
    identity: Identity,
    clients_max: usize,
) -> Result<NetServer<Vec2>, BadInput> {
    let session = ServerConfig { budget: BUDGET, clients_max, ..ServerConfig::new(CLASSES, new_epoch()) };
    let session = Server::<Vec2>::new(session, Box::new(Broadcast), unguessable_random());
    let mut config = NetServerConfig::new(listen, identity);
    config.budget = BUDGET;
    config.limits.per_address_max = clients_max.max(config.limits.per_address_max);
    Ok(NetServer::bind(config, session)?)
}

fn host<H: HostedGame>(game: H, request: Request<'_>) -> Result<ExitCode, BadInput> {
    let server = bind(request.listen, request.identity, request.clients_max)?;
    eprintln!("listening on {}, fingerprint {}", server.address(), server.fingerprint());
    eprintln!("  fairpath play {} --connect {} --pin {}", H::NAME, server.address(), server.fingerprint());
    let mut presence = request.notice.map(|notice| notice.post(&server)).transpose()?;
    let mut room = Room::new(game, request.seed);
    while !(request.is_over)() {
        presence.iter_mut().for_each(Presence::look);
        server.frame(|session, now| room.frame(session, now));
        std::thread::sleep(LOOK_EVERY);
    }
    drop(presence);
    let statistics = room.statistics();
    server.shutdown(SHUTDOWN_WITHIN);
    if request.prints_json {
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
