//! The tasks of this repository. `cargo xtask` lists them.

mod bevy;
mod book;
mod full;
mod fuzz;
mod mutants;
mod new;
mod package;
mod peers;
mod steps;

use std::process::ExitCode;

use steps::{TaskStep, cargo, run_all};

const HELP: &str = "\
cargo xtask demo [ARGS]     build the page, start a server with bots and open the page in a browser;
                            ARGS go to `fairpath serve`
cargo xtask test [--full [WORD]]      run everything that must hold: format, lints, tests, documentation, the
                            page in a browser; --full adds packaging, other systems, the book and the
                            campaign, or runs only the checks whose name contains WORD
cargo xtask new NAME [--path DIR]     write a small game with a server, a client and a test that depends on
                            this clone, into DIR (default: a folder NAME beside the clone)
cargo xtask page [--out DIR]          write the page as files for any web host (default target/page)
cargo xtask page-cost       measure what a frame of each scene costs in headless Chromium
cargo xtask screenshots [--out DIR]   photograph every scene in headless Chromium (default docs/src/images)
cargo xtask tour [--out DIR]          record the README's moving picture (default docs/src/images)
cargo xtask book            render the book in docs/ to target/book; installs mdbook below target/tools
                            if it is missing
cargo xtask bench [NAME]    measure speed as ratios in one run; `thousand [N]`, `dis`, `fan-out` and `growth`
                            run only by name: the last two fetch and build other libraries first
cargo xtask sim [ARGS]      run worlds drawn from seeds, with faults, and check them: --seeds N, --from S,
                            --seed S, or --minutes N of fresh seeds; --worlds plays worlds of many servers
                            instead; --mutants [WORD] breaks the library on purpose to test the checks
cargo xtask siege [SECS] [--only WORD]      attack a real server and lobby for SECS seconds each way
                            (default 10), and print what honest players notice
cargo xtask fuzz [SECS] [TARGET]      run every fuzz target, or TARGET, for SECS seconds each (default 60);
                            --list prints the targets

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
        "new" => new::run(rest),
        "page" => with_out(rest, "target/page", |folder| page("build", Some(folder))),
        "page-cost" => run_all(page("cost", None)),
        "screenshots" => with_out(rest, "docs/src/images", |folder| page("photograph", Some(folder))),
        "tour" => with_out(rest, "docs/src/images", |folder| page("tour", Some(folder))),
        "test" if rest.is_empty() => run_all(test()),
        "test" if rest[0] == "--full" => full::run(&rest[1..]),
        "test" => wrong(&format!("`cargo xtask test` takes only `--full [WORD]`, not `{}`", rest.join(" "))),
        "bench" => run_all(bench(rest)),
        "sim" if rest.first().is_some_and(|first| first == "--mutants") => mutants::hunt(&rest[1..]),
        "sim" => run_all(sim(rest)),
        "siege" => run_all(siege(rest)),
        "fuzz" => fuzz::run(rest),
        "book" => run_all(book::steps()),
        "--help" | "-h" | "help" => {
            print!("{HELP}");
            ExitCode::SUCCESS
        }
        unknown => wrong(&format!("there is no `cargo xtask {unknown}`\n\n{HELP}")),
    }
}

/// Reports a command line that cannot be understood.
fn wrong(what: &str) -> ExitCode {
    eprintln!("error: {what}");
    ExitCode::from(2)
}

/// Builds the page first and then the server, which contains the page. Both programs are built with
/// the same package list: with different lists cargo would select different features for their
/// common dependencies and compile those twice.
fn demo(arguments: &[String]) -> Vec<TaskStep> {
    // `cargo xtask demo -- --tanks 12` is a habit from `cargo run`.
    let arguments = arguments.strip_prefix(&["--".to_owned()][..]).unwrap_or(arguments);
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
    // A race of four cars takes 700 bytes sixty times a second. The default of 32 000 bytes per
    // second would hold every third state back.
    let usual = [&["--page"][..], &["--open"], &["--tanks", "6"], &["--bytes-per-sec", "96000"]];
    let is_given = |name: &str| arguments.iter().any(|argument| argument.split('=').next() == Some(name));
    let usual = usual.iter().filter(|words| !is_given(words[0])).copied().flatten();
    let usual: Vec<String> = usual.map(|word| (*word).to_owned()).collect();
    let serve = steps::built("release", "fairpath").args(&["serve".to_owned()]);
    vec![
        build("fairpath-page-tool").named("the page builder"),
        steps::built("release", "fairpath-page-tool")
            .args(&["build".to_owned(), steps::in_root(FOLDER)])
            .named("the page, as WebAssembly"),
        build("fairpath")
            .env("FAIRPATH_PAGE", &steps::in_root(FOLDER))
            .named("the server, which contains the page"),
        serve.args(&usual).args(arguments).named("a server with bots; Ctrl-C ends it").that_stays(),
    ]
}

fn page(what: &str, folder: Option<&str>) -> Vec<TaskStep> {
    let words = ["run", "--package", "fairpath-page-tool", "--", what].into_iter().chain(folder);
    vec![cargo(words).named("the page")]
}

/// Installs Debian's BZFlag server where that is allowed. Without it the test of
/// `lab/bzflag/tests/real_server.rs` says that it is missing, and fails under `CI=true`.
fn install_bzfs() {
    let install =
        "apt-get update --quiet && apt-get install --yes --quiet --no-install-recommends bzflag-server";
    let is_there = std::path::Path::new("/usr/games/bzfs").exists() || steps::succeeds("bzfs", &["-version"]);
    if !is_there && !steps::succeeds("sh", &["-c", install]) {
        eprintln!("BZFlag's server cannot be installed; its test is skipped");
    }
}

/// Runs a command that takes `--out DIR` and nothing else.
fn with_out(arguments: &[String], usual: &str, steps: impl FnOnce(&str) -> Vec<TaskStep>) -> ExitCode {
    match arguments {
        [] => run_all(steps(usual)),
        [out, folder] if out == "--out" => run_all(steps(folder)),
        _ => wrong(&format!("this command takes only `--out DIR`, such as `--out {usual}`")),
    }
}

fn test() -> Vec<TaskStep> {
    install_bzfs();
    let mut steps = vec![
        cargo(["fmt", "--all", "--check"]).named("format").help("run `cargo fmt --all`"),
        cargo(["clippy", "--workspace", "--all-targets", "--all-features", "--", "-D", "warnings"])
            .named("lints"),
    ];
    if steps::is_installed(["nextest", "--version"]) {
        let tests = cargo(["nextest", "run", "--workspace", "--all-features"]);
        steps.push(peers::with_opendis(tests).named("tests"));
        steps.push(cargo(["test", "--workspace", "--all-features", "--doc"]).named("documentation samples"));
    } else {
        let tests = cargo(["test", "--workspace", "--all-features"]);
        steps.push(peers::with_opendis(tests).named("tests"));
    }
    steps.push(
        cargo(["doc", "--workspace", "--all-features", "--no-deps"])
            .env("RUSTDOCFLAGS", "-D warnings")
            .named("documentation"),
    );
    // Built with the whole workspace, as the tests were: alone it would select other features for
    // common dependencies and compile those again. The program also fetches the WebAssembly target
    // that the next lints need.
    steps.push(
        cargo(["build", "--workspace", "--all-features", "--bin", "fairpath-page-tool"])
            .named("the page's test program"),
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
        .named("lints of the page for WebAssembly"),
    );
    steps.extend(bevy::steps());
    if steps::is_installed(["deny", "--version"]) {
        steps.push(cargo(["deny", "--all-features", "check", "licenses", "bans"]).named("licences"));
    }
    steps
}

fn siege(arguments: &[String]) -> Vec<TaskStep> {
    let build = ["build", "--release", "--package", "fairpath-command", "--package", "fairpath-siege"];
    let fairpath = steps::target().join("release/fairpath").with_extension(std::env::consts::EXE_EXTENSION);
    let words = ["--program".to_owned(), fairpath.display().to_string()];
    let besiege = steps::built("release", "fairpath-siege").args(&words).args(arguments);
    vec![cargo(build).named("the programs"), besiege.named("a siege").that_stays()]
}

fn bench(arguments: &[String]) -> Vec<TaskStep> {
    let name = arguments.first().map(String::as_str);
    if name == Some("dis") {
        let run = cargo(["run", "--release", "--package", "fairpath-dis", "--example", "load"]);
        return vec![run.named("the DIS gateway: bytes and processor time")];
    }
    let package = match name {
        // A workspace of its own, with its own lock file.
        Some("fan-out" | "growth") => ["--manifest-path", "lab/rivals/Cargo.toml"],
        _ => ["--package", "fairpath-bench"],
    };
    let run = cargo(["run", "--release"].into_iter().chain(package).chain(["--"])).args(arguments);
    vec![run.named("benches")]
}

fn sim(arguments: &[String]) -> Vec<TaskStep> {
    let run = cargo(["run", "--release", "--package", "fairpath-campaign", "--"]).args(arguments);
    vec![run.named("campaign")]
}
