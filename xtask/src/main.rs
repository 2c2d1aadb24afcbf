//! Everything a person or CI runs in this repository: `cargo xtask` lists it.

mod book;
mod fuzz;
mod mutants;
mod steps;

use std::process::ExitCode;

use steps::{Step, cargo, run_all};

const HELP: &str = "\
cargo xtask demo [ARGS]    build the page, start a server with bots, and open the page; ARGS are those of `fairpath serve`
cargo xtask page [--out DIR]          write the page's files for any web host (default target/page)
cargo xtask page-cost      what a frame of each scene costs in headless Chromium
cargo xtask book           render the book (docs/) to target/book; installs mdbook below target/tools if it is missing
cargo xtask screenshots [--out DIR]   photograph every scene in headless Chromium (default docs/screenshots)
cargo xtask test           everything that must hold: format, lints, tests, documentation, the page in a browser
cargo xtask bench [NAME]   how fast we are, as ratios measured in one run; `thousand [N]`, `fan-out` and `growth` only by name:
                           the last two stand beside other libraries, which are fetched and built first
cargo xtask sim [ARGS]     worlds drawn from seeds, broken, healed and checked: --seeds N, --from S, --seed S;
                           --mutants [WORD] breaks the library on purpose and shows that it is noticed
cargo xtask fuzz [SECS] [TARGET]   every fuzz target, or this one, for SECS seconds each (default 60); --list names them

Example: cargo xtask demo --tanks 12
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (command, rest) = match arguments.split_first() {
        Some((command, rest)) => (command.as_str(), rest),
        None => ("--help", &[][..]),
    };
    match command {
        "demo" => run_all(demo(rest)),
        "page" => with_out(rest, "target/page", |folder| page("build", Some(folder))),
        "page-cost" => run_all(page("cost", None)),
        "screenshots" => with_out(rest, "docs/screenshots", |folder| page("photograph", Some(folder))),
        "test" => run_all(test()),
        "bench" => run_all(bench(rest)),
        "sim" if rest.first().is_some_and(|first| first == "--mutants") => mutants::hunt(&rest[1..]),
        "sim" => run_all(sim(rest)),
        "fuzz" => fuzz::run(rest),
        "book" => book::render(),
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

/// The page is built first, and then taken into the program that serves it. Both programs are built
/// as parts of one whole: alone, each would want other features of what they share, and all of that
/// would be compiled twice.
fn demo(arguments: &[String]) -> Vec<Step> {
    const FOLDER: &str = "target/page";
    let build = |program| {
        let words = [
            "build",
            "--release",
            "--package",
            "fairpath-page-tool",
            "--package",
            "fairpath-command",
            "--bin",
        ];
        cargo(words.into_iter().chain([program]))
    };
    // A race of four cars is 700 bytes, sixty times a second: the usual 32 000 would hold every third
    // back.
    let usual = [&["--page"][..], &["--open"], &["--tanks", "6"], &["--bytes-per-sec", "96000"]];
    let is_given = |name: &str| arguments.iter().any(|argument| argument.split('=').next() == Some(name));
    let usual = usual.iter().filter(|words| !is_given(words[0])).copied().flatten();
    let usual: Vec<String> = usual.map(|word| (*word).to_owned()).collect();
    let serve = steps::built("release", "fairpath").args(&["serve".to_owned()]);
    vec![
        build("fairpath-page-tool").named("what builds the page"),
        steps::built("release", "fairpath-page-tool")
            .args(&["build".to_owned(), steps::in_root(FOLDER)])
            .named("the page: library, simulator and games as WebAssembly"),
        build("fairpath")
            .env("FAIRPATH_PAGE", &steps::in_root(FOLDER))
            .named("the server, with the page in it"),
        serve.args(&usual).args(arguments).named("a server with bots; Ctrl-C ends it").that_stays(),
    ]
}

fn page(what: &str, folder: Option<&str>) -> Vec<Step> {
    let words = ["run", "--package", "fairpath-page-tool", "--", what].into_iter().chain(folder);
    vec![cargo(words).named("the page")]
}

/// For commands that take `--out DIR` and nothing else.
fn with_out(arguments: &[String], usual: &str, steps: impl FnOnce(&str) -> Vec<Step>) -> ExitCode {
    match arguments {
        [] => run_all(steps(usual)),
        [out, folder] if out == "--out" => run_all(steps(folder)),
        _ => {
            eprintln!("error: only `--out DIR` is known here, such as `--out {usual}`");
            ExitCode::from(2)
        }
    }
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
    // Built as a part of the workspace, as the tests were: alone it would want other features of what
    // they share, and all of that would be compiled again. It also fetches the target that the next
    // lints need.
    steps.push(
        cargo(["build", "--workspace", "--all-features", "--bin", "fairpath-page-tool"])
            .named("what tries the page"),
    );
    steps.push(steps::built("debug", "fairpath-page-tool").args(&["try".to_owned()]).named("the page"));
    steps.push(
        cargo([
            "clippy",
            "--package",
            "fairpath-page",
            "--target",
            "wasm32-unknown-unknown",
            "--",
            "-D",
            "warnings",
        ])
        .named("lints of the page"),
    );
    if steps::is_installed(["deny", "--version"]) {
        steps.push(cargo(["deny", "--all-features", "check", "licenses", "bans"]).named("licences"));
    }
    steps
}

fn bench(arguments: &[String]) -> Vec<Step> {
    let name = arguments.first().map(String::as_str);
    let package = match name {
        // A workspace of its own, with its own lock file.
        Some("fan-out" | "growth") => ["--manifest-path", "lab/rivals/Cargo.toml"],
        _ => ["--package", "fairpath-bench"],
    };
    let run = cargo(["run", "--release"].into_iter().chain(package).chain(["--"])).args(arguments);
    vec![run.named("benches")]
}

fn sim(arguments: &[String]) -> Vec<Step> {
    let run = cargo(["run", "--release", "--package", "fairpath-campaign", "--"]).args(arguments);
    vec![run.named("campaign")]
}
