//! Runs the fuzz targets: with cargo-fuzz where it is installed, by hand where it is not.
//!
//! By hand means the same flags without the address sanitizer, which needs an unstable toolchain.
//! The core forbids unsafe code, so the sanitizer would find little.

use std::process::{Command, ExitCode};

use crate::steps::{self, TaskStep, cargo, in_root, program, run_all};

/// Compiler flags that count the code an input reaches.
const COVERAGE: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares --cfg fuzzing -Cdebug-assertions -Coverflow-checks";

/// The longest input: one and a half datagrams, for sequences of them. A file or a request may be
/// as long as the longest request that the page's server reads.
fn bytes_max(name: &str) -> &'static str {
    if name.starts_with("read_") { "-max_len=8192" } else { "-max_len=2000" }
}

/// `cargo xtask fuzz [SECS] [TARGET]`, or `--list`.
pub(crate) fn run(arguments: &[String]) -> ExitCode {
    let all = steps::fuzz_targets();
    if arguments.first().is_some_and(|first| first == "--list") {
        all.iter().for_each(|name| println!("{name}"));
        return ExitCode::SUCCESS;
    }
    let seconds = match arguments.first().map(|text| text.parse::<u32>()) {
        None => 60,
        Some(Ok(seconds)) => seconds,
        Some(Err(_)) => {
            eprintln!("error: `{}` is not a number of seconds; try `cargo xtask fuzz 60`", arguments[0]);
            return ExitCode::from(2);
        }
    };
    let wanted = arguments.get(1);
    let targets: Vec<&String> =
        all.iter().filter(|name| wanted.is_none_or(|wanted| wanted == *name)).collect();
    if targets.is_empty() {
        eprintln!(
            "error: there is no fuzz target {:?}; choose one of {}",
            wanted.map_or("", |name| name),
            all.join(", ")
        );
        return ExitCode::from(2);
    }
    let limit = format!("-max_total_time={seconds}");
    if steps::is_installed(["fuzz", "--version"]) {
        return run_all(targets.into_iter().map(|name| with_cargo_fuzz(name, &limit)).collect());
    }
    let Some(host) = host() else {
        eprintln!("error: `rustc -vV` does not name the host; run `cargo install cargo-fuzz` and try again");
        return ExitCode::from(2);
    };
    let mut steps = vec![build(&host)];
    steps.extend(targets.into_iter().map(|name| by_hand(name, &limit, &host)));
    run_all(steps)
}

fn with_cargo_fuzz(name: &str, limit: &str) -> TaskStep {
    // libFuzzer's flags are unstable; this lets a stable toolchain use them.
    let run = cargo(["fuzz", "run", name, "--", limit, bytes_max(name)]).env("RUSTC_BOOTSTRAP", "1");
    run.named(&format!("fuzz {name}"))
}

/// Builds all targets. With an explicit target, cargo does not pass the flags to build scripts,
/// which could not be linked with them.
fn build(host: &str) -> TaskStep {
    let build = cargo(["build", "--release", "--manifest-path", "lab/fuzz/Cargo.toml", "--target", host]);
    build.env("RUSTFLAGS", COVERAGE).named("fuzz targets, without cargo-fuzz")
}

fn by_hand(name: &str, limit: &str, host: &str) -> TaskStep {
    let binary = in_root(&format!("lab/fuzz/target/{host}/release/{name}"));
    let (corpus, found) =
        (in_root(&format!("lab/fuzz/corpus/{name}")), in_root(&format!("lab/fuzz/artifacts/{name}")));
    for folder in [&corpus, &found] {
        // If it cannot be made, libFuzzer says so.
        let _ = std::fs::create_dir_all(folder);
    }
    let found = format!("-artifact_prefix={found}/");
    program(&binary, [limit, bytes_max(name), &found, &corpus]).named(&format!("fuzz {name}"))
}

/// Returns the target triple of this machine.
fn host() -> Option<String> {
    let said =
        Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into())).arg("-vV").output().ok()?;
    let said = String::from_utf8(said.stdout).ok()?;
    said.lines().find_map(|line| line.strip_prefix("host: ")).map(str::to_owned)
}
