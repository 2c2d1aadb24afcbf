//! `cargo xtask test --full`: what takes long, or needs a program that may be missing.
//!
//! Every check runs, also after one has failed. A table at the end lists each as passed, failed or
//! skipped with the reason. On CI (`CI=true`) a skipped check is a failure.

use std::process::ExitCode;
use std::time::Instant;

use crate::package;
use crate::steps::{self, TaskStep, cargo};

/// How a check ended.
pub(crate) enum CheckResult {
    Passed,
    Failed(String),
    /// The check could not run here, for this reason.
    Skipped(String),
}

/// A check with the name that the table shows.
struct Check {
    name: &'static str,
    run: fn() -> CheckResult,
}

const CHECKS: &[Check] = &[
    Check { name: "cargo xtask test", run: || all_of(crate::test()) },
    Check { name: "packaged crates, built outside the workspace", run: package::check },
    Check { name: "a game from `cargo xtask new`", run: crate::new::check },
    Check { name: "each feature of fairpath-net alone", run: features_alone },
    Check { name: "the Bevy plugin: all examples, samples, rustdoc", run: crate::bevy::check },
    Check { name: "DIS PDUs beside npm's open-dis", run: crate::peers::open_dis },
    Check { name: "fifty recordings, killed", run: kill_recordings },
    Check { name: "campaign, 2000 seeds", run: || all_of(crate::sim(&words(["--seeds", "2000"]))) },
    Check { name: "the book, rendered by mdBook", run: || all_of(crate::book::steps()) },
    Check { name: "cargo check for Windows", run: || check_for("x86_64-pc-windows-gnu") },
    Check { name: "cargo check for macOS", run: || check_for("aarch64-apple-darwin") },
];

/// Runs the checks whose names contain all words, and prints the table.
pub(crate) fn run(words: &[String]) -> ExitCode {
    let is_ci = std::env::var("CI").is_ok_and(|value| value == "true");
    let mut rows = Vec::new();
    let mut is_sound = true;
    let is_meant = |check: &&Check| words.iter().all(|word| check.name.contains(word.as_str()));
    for check in CHECKS.iter().filter(is_meant) {
        let started = Instant::now();
        let (sound, result) = match (check.run)() {
            CheckResult::Passed => (true, "passed".to_owned()),
            CheckResult::Failed(why) => (false, format!("FAILED: {why}")),
            CheckResult::Skipped(why) => (!is_ci, format!("skipped: {why}")),
        };
        is_sound &= sound;
        rows.push(format!("{:<46} {:>6.0} s  {result}", check.name, started.elapsed().as_secs_f64()));
    }
    if rows.is_empty() {
        eprintln!("error: no check of `cargo xtask test --full` contains {:?}", words.join(" "));
        return ExitCode::from(2);
    }
    println!("\n{}", rows.join("\n"));
    if is_sound { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs steps in order, up to the first that fails.
pub(crate) fn all_of(steps: Vec<TaskStep>) -> CheckResult {
    match steps::run(steps) {
        Ok(()) => CheckResult::Passed,
        Err(failure) => CheckResult::Failed(failure.to_string()),
    }
}

/// A game depends on `fairpath-net` with the features it needs and no others: each must build
/// alone, without warnings.
fn features_alone() -> CheckResult {
    const FEATURES: [&str; 5] = ["", "web", "lobby", "peer", "middleman"];
    let check = |feature: &&str| {
        let words = ["clippy", "--package", "fairpath-net", "--no-default-features", "--features", feature];
        cargo(words.into_iter().chain(["--", "-D", "warnings"]))
            .named(&format!("fairpath-net with feature {feature:?} alone"))
    };
    all_of(FEATURES.iter().map(check).collect())
}

/// Kills fifty recordings at random instants; the ordinary tests kill six.
fn kill_recordings() -> CheckResult {
    let test = "recordings_that_are_killed_at_random_instants_are_readable";
    let kill = cargo(["test", "--package", "fairpath-command", "--test", "crash", test]);
    all_of(vec![kill.env("FAIRPATH_KILLS", "50").named("fifty recordings, killed")])
}

/// Compiles the published crates for another system, without linking. `fairpath-net` needs a C
/// compiler for that system, because `ring` brings assembly.
fn check_for(target: &str) -> CheckResult {
    if !steps::succeeds("rustup", &["target", "add", target]) {
        return CheckResult::Skipped(format!("`rustup target add {target}` failed"));
    }
    let pure = ["fairpath", "fairpath-predict", "fairpath-compensate", "fairpath-sim"];
    let packages = pure.iter().flat_map(|name| ["--package", name]);
    let check = cargo(["check", "--target", target].into_iter().chain(packages));
    let result = all_of(vec![check.named(&format!("the sans-IO crates for {target}"))]);
    let CheckResult::Passed = result else { return result };
    if !has_c_compiler(target) {
        return CheckResult::Skipped(format!(
            "the sans-IO crates compile; fairpath-net needs a C compiler for {target}"
        ));
    }
    let check = cargo(["check", "--target", target, "--package", "fairpath-net", "--all-features"]);
    all_of(vec![check.named(&format!("fairpath-net for {target}"))])
}

/// Returns whether C code can be compiled for the target. Installs Debian's MinGW for Windows where
/// that is allowed.
fn has_c_compiler(target: &str) -> bool {
    let mingw = || steps::succeeds("x86_64-w64-mingw32-gcc", &["--version"]);
    let install = "apt-get update -q && apt-get install -y -q --no-install-recommends gcc-mingw-w64-x86-64";
    match target {
        "x86_64-pc-windows-gnu" => mingw() || (steps::succeeds("sh", &["-c", install]) && mingw()),
        _ => cfg!(target_os = "macos"),
    }
}

fn words<const N: usize>(words: [&str; N]) -> [String; N] {
    words.map(str::to_owned)
}
