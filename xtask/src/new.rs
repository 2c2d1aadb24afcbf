//! `cargo xtask new NAME`: copies the game of `lab/template` into a folder of its own.

use std::env::current_dir;
use std::fmt::Write;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::full::{CheckResult, all_of};
use crate::steps::{cargo, in_root, root};
use crate::wrong;

/// The name of the package in `lab/template`, which the copies do not have.
const TEMPLATE: &str = "fairpath-template";
const FILES: [&str; 5] =
    ["README.md", "src/lib.rs", "src/bin/server.rs", "src/bin/client.rs", "tests/game.rs"];
/// The crates of the repository that a game depends on; the last only in its tests.
const CRATES: [&str; 3] = ["fairpath", "fairpath-net", "fairpath-sim"];
/// A server stores its certificate in a folder with the name of the game, which has this limit.
const NAME_LEN_MAX: usize = 64;

/// Runs the command with its arguments.
pub(crate) fn run(arguments: &[String]) -> ExitCode {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (name, folder) = match words[..] {
        [name] if !name.starts_with('-') => (name, None),
        [name, "--path", folder] | ["--path", folder, name] => (name, Some(folder)),
        _ => return wrong("`cargo xtask new` takes `NAME [--path DIR]`, such as `new asteroids`"),
    };
    if let Err(why) = check_name(name) {
        return wrong(&format!("cannot name a game {name:?}: {why}"));
    }
    let beside = || root().parent().unwrap_or(&root()).join(name);
    let folder = folder.map_or_else(beside, |folder| current_dir().unwrap_or_default().join(folder));
    match write_game(name, &folder) {
        Ok(()) => {
            print!("{}", next_steps(&folder));
            ExitCode::SUCCESS
        }
        Err(error) => wrong(&format!("cannot write {}: {error}", folder.display())),
    }
}

/// Checks that cargo accepts a package of this name, and that it hides no crate that it uses.
fn check_name(name: &str) -> Result<(), String> {
    const TAKEN: [&str; 9] =
        ["alloc", "core", "proc_macro", "serde", "std", "test", "tokio", "server", "client"];
    const KEYWORDS: &str = " abstract as async await become box break const continue crate do dyn else enum \
        extern false final fn for gen if impl in let loop macro match mod move mut override priv pub ref \
        return self static struct super trait true try type typeof unsafe unsized use virtual where while \
        yield ";
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_".contains(&byte);
    if !name.starts_with(|first: char| first.is_ascii_lowercase()) || !name.bytes().all(is_plain) {
        return Err("use lower-case letters, digits, `-` and `_`, with a letter first".into());
    }
    if name.len() > NAME_LEN_MAX {
        return Err(format!("use at most {NAME_LEN_MAX} characters"));
    }
    if KEYWORDS.contains(&format!(" {name} ")) {
        return Err("it is a keyword of Rust; choose another name".into());
    }
    if TAKEN.contains(&name) || name.starts_with("fairpath") {
        return Err("a crate or program of this name is part of every game; choose another name".into());
    }
    Ok(())
}

/// Writes a copy of the template that depends on this clone.
fn write_game(name: &str, folder: &Path) -> io::Result<()> {
    if fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some()) || folder.is_file() {
        let why = "it exists already; choose another name, or another folder with --path";
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, why));
    }
    let (package, library) = (TEMPLATE, TEMPLATE.replace('-', "_"));
    for file in FILES {
        let text = fs::read_to_string(root().join("lab/template").join(file))?;
        let text = text.replace(package, name).replace(&library, &name.replace('-', "_"));
        let path = folder.join(file);
        fs::create_dir_all(path.parent().expect("below the folder"))?;
        fs::write(path, text)?;
    }
    fs::write(folder.join("Cargo.toml"), manifest(name))?;
    fs::write(folder.join(".gitignore"), "/target\n")?;
    // The versions that this repository is tested with. Cargo drops what the game does not use.
    fs::copy(root().join("Cargo.lock"), folder.join("Cargo.lock"))?;
    Ok(())
}

fn manifest(name: &str) -> String {
    let dependency = |name: &str| {
        let path: PathBuf = root().join("crates").join(name);
        format!("{name} = {{ path = {:?} }}\n", path.display().to_string())
    };
    let [core, net, sim] = CRATES.map(dependency);
    let mut text = format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n");
    text += "publish = false\n\n";
    let _ = write!(text, "[dependencies]\n{core}{net}");
    text += "serde = { version = \"1\", features = [\"derive\"] }\n";
    text += "tokio = { version = \"1\", default-features = false, features = [\"rt\", \"signal\"] }\n\n";
    let _ = write!(text, "[dev-dependencies]\n{sim}\n");
    text += "# Encryption and simulations are slow without optimisation.\n";
    text += "[profile.dev]\nopt-level = 1\ndebug = \"line-tables-only\"\n\n";
    text += "# Not a member of a workspace around it. Remove this line to make it one.\n[workspace]\n";
    text
}

fn next_steps(folder: &Path) -> String {
    format!(
        "wrote {folder}\n\n\
         cd {folder}\n\
         cargo test                # two clients over a bad network, in virtual time\n\
         cargo run --bin server    # Ctrl-C ends it\n\
         cargo run --bin client    # in another terminal\n",
        folder = folder.display()
    )
}

/// Writes a game below `target`, builds it and runs its tests, with the lock file and the target
/// folder of the workspace.
pub(crate) fn check() -> CheckResult {
    let folder = root().join("target/new-game");
    let removed = if folder.exists() { fs::remove_dir_all(&folder) } else { Ok(()) };
    if let Err(error) = removed.and_then(|()| write_game("new-game", &folder)) {
        return CheckResult::Failed(format!("cannot write {}: {error}", folder.display()));
    }
    let manifest = folder.join("Cargo.toml").display().to_string();
    let target = std::env::var("CARGO_TARGET_DIR").unwrap_or_else(|_| in_root("target"));
    let test = cargo(["test", "--offline", "--manifest-path", &manifest]).env("CARGO_TARGET_DIR", &target);
    all_of(vec![test.named("a new game, built and tested outside the workspace")])
}
