//! `fairpath`: runs experiments on dead reckoning, records matches for them, plays games under
//! delay, serves games and recorded matches over real sockets, runs and queries a lobby, impairs a
//! network, and connects DIS networks.
//!
//! Glue only: it parses the command line, opens files, calls the laboratory, a session or the
//! middleman, and prints. Exit codes: 0 done, 1 a claim (with `--strict`) or a check did not hold,
//! 2 the input or the command line is wrong.
#![forbid(unsafe_code)]

use std::fmt::Display;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

mod bzflag_lab;
mod dis;
mod fairness;
mod lab;
mod laps;
mod live;
mod log;
mod middleman;
mod motion;
mod options;
mod papers;
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
    /// Connect IEEE 1278.1 (DIS) networks, and see, record, replay and check them
    #[command(
        subcommand,
        after_help = "Example:\n  fairpath dis view\n  fairpath dis gateway --serve 0.0.0.0:7400 --origin 48.1,11.6"
    )]
    Dis(dis::Command),
    /// Run a UDP proxy that adds delay, jitter, loss and more between clients and a server
    Middleman(Box<middleman::Arguments>),
    /// Run a proxy in front of a BZFlag server: tanks are shown where they are, and fairly
    Bzflag(Box<live::bzflag::Arguments>),
    /// Run a game server
    Serve(Box<live::serve::Arguments>),
    /// Connect bots to a tank server and report how accurately they see each other
    Bots(Box<live::bots::Arguments>),
    /// Watch a tank server and record where its tanks are placed
    Record(Box<live::record::Arguments>),
    /// Serve a recorded match again, from any instant and at any speed
    Replay(Box<live::replay::Arguments>),
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
        Command::Bzflag(arguments) => arguments.execute(),
        Command::Serve(arguments) => arguments.execute(),
        Command::Bots(arguments) => arguments.execute(),
        Command::Record(arguments) => arguments.execute(),
        Command::Replay(arguments) => arguments.execute(),
        Command::Lobby(arguments) => arguments.execute(),
        Command::Servers(arguments) => arguments.execute(),
        Command::Play(command) => play::execute(command),
    };
    done.unwrap_or_else(|BadInput(line)| {
        print::note!("error: {line}");
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
    use std::path::{Path, PathBuf};

    use clap::error::ErrorKind;

    use super::*;

    /// The prefixes of commands in documents.
    const CALLS: [&str; 2] = ["cargo run --release -- ", "fairpath "];

    fn documents(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).expect("a readable folder").flatten() {
            let path = entry.path();
            if path.is_dir() {
                documents(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                found.push(path);
            }
        }
    }

    /// Returns the lines of fenced blocks, and the code spans of prose.
    fn code(text: &str) -> Vec<&str> {
        let mut is_block = false;
        let mut found = Vec::new();
        for line in text.lines() {
            if line.trim_start().starts_with("```") {
                is_block = !is_block;
            } else if is_block {
                found.push(line.trim());
            } else {
                found.extend(line.split('`').skip(1).step_by(2));
            }
        }
        found
    }

    /// Splits a command as a shell does, as far as documents need it: single quotes and comments.
    fn words(call: &str) -> Vec<String> {
        let call = call.split(" #").next().unwrap_or_default();
        let call = call.split(" | ").next().unwrap_or_default();
        let mut words = Vec::new();
        for (number, part) in call.split('\'').enumerate() {
            if number % 2 == 1 {
                words.push(part.to_owned());
            } else {
                words.extend(part.split_whitespace().map(str::to_owned));
            }
        }
        words
    }

    #[test]
    fn documents_show_only_commands_that_exist() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut pages = ["README.md", "CONTRIBUTING.md", "SECURITY.md"].map(|name| root.join(name)).to_vec();
        documents(&root.join("docs/src"), &mut pages);
        let mut shown = 0;
        for page in pages {
            let text = std::fs::read_to_string(&page).expect("a document");
            for line in code(&text) {
                let Some(call) = CALLS.iter().find_map(|call| line.strip_prefix(call)) else { continue };
                // An ellipsis stands for several commands; `fairpath = "0.2"` is a dependency.
                if call.contains('…') || call.ends_with('\\') || call.starts_with('=') {
                    continue;
                }
                let words = std::iter::once("fairpath".to_owned()).chain(words(call));
                let error =
                    Arguments::try_parse_from(words).err().map(|error| (error.kind(), error.to_string()));
                // Prose may name a command without its values; no document may invent one.
                let is_wrong = matches!(
                    error,
                    Some((
                        ErrorKind::UnknownArgument
                            | ErrorKind::InvalidSubcommand
                            | ErrorKind::ArgumentConflict,
                        _
                    ))
                );
                assert!(!is_wrong, "{} shows `{line}`: {error:?}", page.display());
                shown += 1;
            }
        }
        assert!(shown >= 20, "the documents show commands, but only {shown} were found");
    }
}
