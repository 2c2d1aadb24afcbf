//! `cargo xtask siege`: attacks real processes, and measures what honest players notice.
//!
//! A server and a lobby run as users run them: `fairpath serve`, `fairpath lobby`. Attackers are
//! this process, at four addresses of the loopback interface, or real clients that are killed.
//! Honest players are `fairpath bots` and `fairpath servers`, processes too. One row for each
//! attack; the first is peace.
//!
//! The campaign (`cargo xtask sim`) attacks sessions in virtual time, where nothing else moves the
//! numbers, and the live tests of `fairpath-net` assert each defence by itself.
//!
//! Not here: attacks inside a session, peers of a mesh, the page.
#![forbid(unsafe_code)]
#![allow(missing_docs, reason = "not published: names that explain themselves need no comment")]

mod attack;
mod honest;
mod program;
mod table;

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;

use crate::attack::{Attack, AttackKind};
use crate::honest::{Lookups, Players};
use crate::program::{Program, Role};
use crate::table::{Row, Table};

const EXPLANATION: &str = "\
Joins are players that connect during the attack; lookups ask the lobby for its list.
error is what four bots see of each other, in units, and its ratio to that in peace. CPU is of one core.
Players that are killed have the address of the honest ones, whose joins are not judged then: until QUIC gives
the dead up, they count among the 64 connections of one address.
Goals: 95 % of joins and lookups, at most 1.1 times the error in peace. On a busy machine the errors of
peace itself differ by more than that; the exit code judges joins, lookups and sessions.

Exit code: 0 all is well, 1 honest players were kept out or lost their sessions, 2 it could not run.";

/// Attacks a real server and a real lobby, and measures honest players meanwhile.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask siege", after_help = EXPLANATION)]
struct Arguments {
    /// How long each attack lasts, in seconds.
    #[arg(default_value_t = 10, value_parser = clap::value_parser!(u64).range(3..=3_600))]
    secs: u64,
    /// Only attacks with this word in their names.
    #[arg(long, value_name = "WORD")]
    only: Option<String>,
    /// The command `fairpath`.
    #[arg(long, value_name = "FILE", hide = true)]
    program: PathBuf,
}

fn main() -> ExitCode {
    match besiege(&Arguments::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

/// Plays all attacks and prints the table. Returns whether honest players were let in and stayed.
fn besiege(arguments: &Arguments) -> Result<bool, Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let lasting = Duration::from_secs(arguments.secs);
    let is_wanted = |kind: &AttackKind| {
        let word = arguments.only.as_deref().unwrap_or_default();
        *kind == AttackKind::Peace || kind.name().contains(word)
    };
    let mut table = Table::default();
    for kind in AttackKind::ALL.into_iter().filter(is_wanted) {
        eprintln!("   {} ...", kind.name());
        // Each attack meets a fresh server: what the last one left behind is gone.
        let server = Program::start(&arguments.program, Role::Server, folder.path())?;
        let lobby = Program::start(&arguments.program, Role::Lobby, folder.path())?;
        let attack = Attack::begin(kind, &server, &lobby)?;
        let players = Players::begin(&server, lasting)?;
        let lookups = Lookups::begin(&lobby, lasting);
        let before = (server.cpu_secs(), lobby.cpu_secs());
        let joins = honest::join_for(&server, lasting);
        let shares = |program: &Program, before: f64| (program.cpu_secs() - before) / lasting.as_secs_f64();
        let cpu = (shares(&server, before.0), shares(&lobby, before.1));
        let row = Row {
            kind,
            sent: attack.sent(),
            joins,
            lookups: lookups.end(),
            players: players.end()?,
            cpu,
            memory: (server.resident_bytes(), lobby.resident_bytes()),
        };
        drop(attack);
        table.add(row);
    }
    println!("{table}");
    Ok(table.is_well())
}
