//! Everything a person or CI runs in this repository: `cargo xtask` lists it.

mod mutants;
mod steps;

use std::process::ExitCode;

use steps::{Step, cargo, run_all};

const HELP: &str = "\
cargo xtask demo [ARGS]    run experiment X1, write its report and say where to open it
cargo xtask test           everything that must hold: format, lints, tests, documentation
cargo xtask bench [NAME]   how fast we are, as ratios measured in one run
cargo xtask sim [ARGS]     worlds drawn from seeds, broken, healed and checked: --seeds N, --from S, --seed S;
                           --mutants [WORD] breaks the library on purpose and shows that it is noticed
cargo xtask fuzz [SECS]    every fuzz target for SECS seconds each (default 60); needs cargo-fuzz

Example: cargo xtask demo --seed 7
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (command, rest) = match arguments.split_first() {
        Some((command, rest)) => (command.as_str(), rest),
        None => ("--help", &[][..]),
    };
    match command {
        "demo" => run_all(demo(rest)),
        "test" => run_all(test()),
        "bench" => run_all(bench(rest)),
        "sim" if rest.first().is_some_and(|first| first == "--mutants") => mutants::hunt(&rest[1..]),
        "sim" => run_all(sim(rest)),
        "fuzz" => fuzz(rest),
        "--help" | "-h" | "help" => {
            print!("{HELP}");
            ExitCode::SUCCESS
        }
        unknown => {
            eprintln!("error: there is no `cargo xtask {unknown}`\n\n{HELP}");
            ExitCode::from(2)
        }
    }
}

fn demo(arguments: &[String]) -> Vec<Step> {
    let run =
        cargo(["run", "--release", "--package", "fairpath-cli", "--", "lab", "run", "X1"]).args(arguments);
    vec![run.named("experiment X1: local and global placement")]
}

fn test() -> Vec<Step> {
    let mut steps = vec![
        cargo(["fmt", "--all", "--check"]).named("format").help("run `cargo fmt --all`"),
        cargo(["clippy", "--workspace", "--all-targets", "--all-features", "--", "-D", "warnings"])
            .named("lints"),
    ];
    if steps::is_installed(["nextest", "--version"]) {
        steps.push(cargo(["nextest", "run", "--workspace", "--all-features"]).named("tests"));
        steps.push(
            cargo(["test", "--workspace", "--all-features", "--doc"]).named("samples in the documentation"),
        );
    } else {
        steps.push(cargo(["test", "--workspace", "--all-features"]).named("tests"));
    }
    steps.push(
        cargo(["doc", "--workspace", "--all-features", "--no-deps"])
            .env("RUSTDOCFLAGS", "-D warnings")
            .named("documentation"),
    );
    if steps::is_installed(["deny", "--version"]) {
        steps.push(cargo(["deny", "--all-features", "check", "licenses", "bans"]).named("licences"));
    }
    steps
}

fn bench(arguments: &[String]) -> Vec<Step> {
    let run = cargo(["run", "--release", "--package", "fairpath-bench", "--"]).args(arguments);
    vec![run.named("benches")]
}

fn sim(arguments: &[String]) -> Vec<Step> {
    let run = cargo(["run", "--release", "--package", "fairpath-campaign", "--"]).args(arguments);
    vec![run.named("campaign")]
}

fn fuzz(arguments: &[String]) -> ExitCode {
    let seconds = match arguments.first().map(|text| text.parse::<u32>()) {
        None => 60,
        Some(Ok(seconds)) => seconds,
        Some(Err(_)) => {
            eprintln!("error: `{}` is not a number of seconds; try `cargo xtask fuzz 60`", arguments[0]);
            return ExitCode::from(2);
        }
    };
    if !steps::is_installed(["fuzz", "--version"]) {
        eprintln!("error: cargo-fuzz is not installed: `cargo install cargo-fuzz`");
        return ExitCode::from(2);
    }
    let limit = format!("-max_total_time={seconds}");
    let target = |name: &String| {
        // libFuzzer's flags are unstable; this lets a stable toolchain use them.
        cargo(["fuzz", "run", name, "--", &limit]).env("RUSTC_BOOTSTRAP", "1").named(&format!("fuzz {name}"))
    };
    run_all(steps::fuzz_targets().iter().map(target).collect())
}
