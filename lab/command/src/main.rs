//! `fairpath`: runs experiments on dead reckoning, records matches for them, plays games under
//! delay, serves games over real sockets, runs and queries a lobby, impairs a network, and checks
//! DIS vectors.
//!
//! Glue only: it parses the command line, opens files, calls the laboratory, a session or the
//! middleman, and prints. Exit codes: 0 done, 1 a claim (with `--strict`) or a check did not hold,
//! 2 the input or the command line is wrong.
#![forbid(unsafe_code)]

use std::fmt::Display;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

mod dis;
mod fairness;
mod lab;
mod laps;
mod live;
mod middleman;
mod motion;
mod options;
mod play;
mod prediction;
mod print;

/// Dead reckoning that is accurate, fair, predictive and playable under delay.
#[derive(Parser)]
#[command(
    name = "fairpath",
    version,
    max_term_width = 100,
    after_help = "Example:\n  fairpath lab run placement --seed 7"
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run experiments that test the papers' claims, and record motion for them
    #[command(
        subcommand,
        after_help = "Example:\n  fairpath lab list\n  fairpath lab run placement --motion match.csv.gz\n  \
            fairpath lab record tanks --seconds 300"
    )]
    Lab(lab::Command),
    /// Check IEEE 1278.1 (DIS) dead reckoning
    #[command(subcommand, after_help = "Example:\n  fairpath dis check vectors.json")]
    Dis(dis::Command),
    /// Run a UDP proxy that adds delay, jitter, loss and more between clients and a server
    Middleman(Box<middleman::Arguments>),
    /// Run a game server
    Serve(Box<live::serve::Arguments>),
    /// Connect bots to a tank server and report how accurately they see each other
    Bots(Box<live::bots::Arguments>),
    /// Watch a tank server and record where its tanks are placed
    Record(Box<live::record::Arguments>),
    /// Run a lobby, where servers and peers announce themselves and clients find them
    Lobby(Box<live::lobby::Arguments>),
    /// List the servers of a lobby, with their round trips
    Servers(Box<live::servers::Arguments>),
    /// Play a game in the terminal, with any delay
    #[command(
        subcommand,
        after_help = "Example:\n  fairpath play jet-car --lag 200\n  fairpath play sailing --wind shifts --bot"
    )]
    Play(play::Command),
}

fn main() -> ExitCode {
    let done = match Arguments::parse().command {
        Command::Lab(command) => lab::execute(command),
        Command::Dis(command) => dis::execute(command),
        Command::Middleman(arguments) => arguments.execute(),
        Command::Serve(arguments) => arguments.execute(),
        Command::Bots(arguments) => arguments.execute(),
        Command::Record(arguments) => arguments.execute(),
        Command::Lobby(arguments) => arguments.execute(),
        Command::Servers(arguments) => arguments.execute(),
        Command::Play(command) => play::execute(command),
    };
    done.unwrap_or_else(|BadInput(line)| {
        eprintln!("error: {line}");
        ExitCode::from(2)
    })
}

/// A request that cannot be carried out. The text is one line: what, where, and the fix.
struct BadInput(String);

impl BadInput {
    /// A value that an option does not take.
    fn of(option: &str, value: &str, fix: &str) -> Self {
        Self(format!("{option} {value}: {fix}"))
    }
}

impl<E: Display> From<E> for BadInput {
    fn from(error: E) -> Self {
        Self(error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The prefixes of commands in documents.
    const CALLS: [&str; 2] = ["cargo run --release -- ", "fairpath "];

    #[test]
    fn documents_show_only_commands_that_exist() {
        let documents = [
            ("README.md", include_str!("../../../README.md")),
            ("CONTRIBUTING.md", include_str!("../../../CONTRIBUTING.md")),
        ];
        let mut shown = 0;
        for (document, text) in documents {
            for line in text.lines() {
                let Some(call) = CALLS.iter().find_map(|call| line.strip_prefix(call)) else { continue };
                let words = call.split('#').next().unwrap_or_default().split_whitespace();
                let parsed = Arguments::try_parse_from(["fairpath"].into_iter().chain(words));
                assert!(
                    parsed.is_ok(),
                    "{document} shows `{line}`: {}",
                    parsed.err().map_or_else(String::new, |e| e.to_string())
                );
                shown += 1;
            }
        }
        assert!(shown >= 4, "the README shows commands, but only {shown} were found");
    }
}
