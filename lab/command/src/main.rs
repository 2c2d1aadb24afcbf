//! `fairpath`: run experiments on dead reckoning, record matches for them, play under delay, serve
//! tanks to bots over real sockets, run a lobby and ask it, make a network worse, and check DIS
//! vectors.
//!
//! Glue only: it reads the command line, opens files, asks the laboratory, a session or the
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
#[command(name = "fairpath", version, after_help = "Example:\n  fairpath lab run X1 --seed 7")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run the experiments that judge the papers' claims, and record motion for them
    #[command(
        subcommand,
        after_help = "Example:\n  fairpath lab list\n  fairpath lab run X1 --motion match.csv.gz\n  \
            fairpath lab record tanks --seconds 300"
    )]
    Lab(lab::Command),
    /// Check IEEE 1278.1 dead reckoning
    #[command(subcommand, after_help = "Example:\n  fairpath dis check vectors.json")]
    Dis(dis::Command),
    /// Make the network between a client and a server worse: a UDP proxy with delay, jitter, loss
    /// and more
    Middleman(Box<middleman::Arguments>),
    /// Run a server: tanks for bots, browsers and `record`, or a game for `play --connect`
    Serve(Box<live::serve::Arguments>),
    /// Let bots play on a tank server, each over a connection of its own, and say what they see
    Bots(Box<live::bots::Arguments>),
    /// Watch a tank server, and write down where its tanks are seen
    Record(Box<live::record::Arguments>),
    /// Run a lobby: servers and peers say that they are there, others find them and are introduced
    Lobby(Box<live::lobby::Arguments>),
    /// Ask a lobby which servers there are, and how far away they are
    Servers(Box<live::servers::Arguments>),
    /// Play a game in the terminal, with as much delay as you like
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

/// What was asked for cannot be done: one line that says what, where, and how to fix it.
struct BadInput(String);

impl BadInput {
    /// The value of an option is wrong.
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

    /// What documents show after these is given to the program.
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
