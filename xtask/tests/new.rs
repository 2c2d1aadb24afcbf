//! Goal: `cargo xtask new` writes a game that cargo accepts, or says why it cannot. Method: write
//! games into a temporary folder. `cargo xtask test --full` also builds one.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs `cargo xtask new` in the temporary folder. Returns the exit code and all output.
fn new(arguments: &[&str]) -> (i32, String) {
    let mut xtask = Command::new(env!("CARGO_BIN_EXE_xtask"));
    let output = xtask.arg("new").args(arguments).current_dir(env!("CARGO_TARGET_TMPDIR")).output();
    let output = output.expect("xtask runs");
    let text = [output.stdout, output.stderr].concat();
    (output.status.code().expect("an exit code"), String::from_utf8(text).expect("text"))
}

/// Returns a folder that does not exist yet.
fn fresh_folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    if folder.exists() {
        std::fs::remove_dir_all(&folder).expect("removable");
    }
    folder
}

/// Returns the name of this machine's platform. A machine on which only these tests were built has
/// no crates of other platforms.
fn host() -> String {
    let rustc = Command::new("rustc").arg("-vV").output().expect("rustc runs");
    let version = String::from_utf8(rustc.stdout).expect("text");
    version.lines().find_map(|line| line.strip_prefix("host: ")).expect("a platform").to_owned()
}

#[test]
fn a_new_game_is_a_package_with_server_client_and_test() {
    let folder = fresh_folder("space-race");
    let (code, said) = new(&["space-race", "--path", "space-race"]);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("cargo run --bin server"), "{said}");
    for file in ["README.md", "src/lib.rs", "src/bin/client.rs", "src/bin/server.rs", "tests/game.rs"] {
        let text = std::fs::read_to_string(folder.join(file)).expect("written");
        assert!(!text.contains("template"), "{file} still has the template's name");
    }
    let cargo = Command::new(env!("CARGO"))
        .args(["metadata", "--offline", "--format-version", "1", "--filter-platform", &host()])
        .arg("--manifest-path")
        .arg(folder.join("Cargo.toml"))
        .output()
        .expect("cargo runs");
    assert!(cargo.status.success(), "{}", String::from_utf8_lossy(&cargo.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&cargo.stdout).expect("JSON");
    let packages = metadata["packages"].as_array().expect("packages");
    let game = packages.iter().find(|package| package["name"] == "space-race").expect("the game");
    let targets = game["targets"].as_array().expect("targets").iter();
    let mut targets: Vec<&str> = targets.filter_map(|target| target["name"].as_str()).collect();
    targets.sort_unstable();
    assert_eq!(targets, ["client", "game", "server", "space_race"]);

    let (code, said) = new(&["other", "--path", "space-race"]);
    assert_eq!(code, 2);
    assert!(said.contains("it exists already; choose another name, or another folder with --path"), "{said}");
}

#[test]
fn names_that_cargo_or_the_game_cannot_use_are_refused_with_a_reason() {
    let long = "x".repeat(65);
    let cases = [
        ("Asteroids", "use lower-case letters, digits, `-` and `_`, with a letter first"),
        ("2fast", "with a letter first"),
        ("space race", "with a letter first"),
        ("../escape", "with a letter first"),
        (&long, "use at most 64 characters"),
        ("loop", "it is a keyword of Rust"),
        ("tokio", "part of every game; choose another name"),
        ("fairpath-net", "part of every game; choose another name"),
    ];
    for (name, why) in cases {
        let folder = fresh_folder("refused");
        let (code, said) = new(&[name, "--path", "refused"]);
        assert_eq!(code, 2, "{name}: {said}");
        assert!(said.contains(why), "{name}: {said}");
        assert!(!folder.exists(), "{name}: nothing is written");
    }
    for arguments in [&[][..], &["--path"], &["a", "b"], &["a", "--path"]] {
        let (code, said) = new(arguments);
        assert_eq!(code, 2, "{arguments:?}");
        assert!(said.contains("takes `NAME [--path DIR]`"), "{said}");
    }
}
