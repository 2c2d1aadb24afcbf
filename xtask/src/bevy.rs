//! The plugin for Bevy, in `crates/bevy_fairpath`: a workspace of its own, so that Bevy is not built
//! with the rest. It shares the folder of what is built, and with it the common dependencies.

use crate::full::{CheckResult, all_of};
use crate::steps::{TaskStep, Unnamed, cargo, target};

const MANIFEST: &str = "crates/bevy_fairpath/Cargo.toml";

/// What every `cargo xtask test` runs: format, lints, and the tests that are quick, with one example
/// over a bad network among them.
pub(crate) fn steps() -> Vec<TaskStep> {
    let tests = ["--lib", "--test", "live", "--", "--skip", "asteroids", "--skip", "ladder"];
    vec![
        run("fmt", ["--check"]).named("format of the Bevy plugin").help(FORMAT),
        run("clippy", ["--all-features", "--all-targets", "--", "-D", "warnings"])
            .named("lints of the Bevy plugin"),
        run("test", ["--all-features"].into_iter().chain(tests)).named("tests of the Bevy plugin"),
    ]
}

const FORMAT: &str = "run `cargo fmt --manifest-path crates/bevy_fairpath/Cargo.toml`";

/// The rest: all examples over a bad network, samples and documentation.
pub(crate) fn check() -> CheckResult {
    let tests = run("test", ["--all-features", "--test", "live", "asteroids"]);
    let ladder = run("test", ["--all-features", "--test", "live", "ladder"]);
    let docs = run("doc", ["--all-features", "--no-deps"]).env("RUSTDOCFLAGS", "-D warnings");
    all_of(vec![
        tests.named("asteroids in Bevy"),
        ladder.named("further examples in Bevy"),
        run("test", ["--all-features", "--doc"]).named("documentation samples of the Bevy plugin"),
        docs.named("documentation of the Bevy plugin"),
        run("test", ["--test", "documents"]).named("samples of the book's page about Bevy"),
    ])
}

fn run<'a>(command: &'a str, arguments: impl IntoIterator<Item = &'a str>) -> Unnamed {
    let words = [command, "--manifest-path", MANIFEST].into_iter().chain(arguments);
    cargo(words).env("CARGO_TARGET_DIR", &target().display().to_string())
}
