//! Goal: the examples run as written. Method: run them.

use std::path::PathBuf;
use std::process::Command;

/// The path of a built example. Builds it if this test runs alone.
fn program(example: &str) -> PathBuf {
    let test = std::env::current_exe().expect("this test is a program");
    let folder = test.parent().and_then(|deps| deps.parent()).expect("in a target folder");
    let program = folder.join("examples").join(format!("{example}{}", std::env::consts::EXE_SUFFIX));
    if !program.exists() {
        let built = Command::new(env!("CARGO"))
            .args(["build", "-p", "fairpath-net", "--all-features", "--example", example])
            .status();
        assert!(built.expect("cargo is there").success(), "{example} builds");
    }
    program
}

#[test]
fn the_examples_run_as_written() {
    for example in [
        "00_hello",
        "01_ships_through_bad_weather",
        "02_peer_to_peer",
        "03_relay",
        "04_asteroids",
        "05_server_decides",
    ] {
        let run = Command::new(program(example)).output().expect("it starts");
        let text = String::from_utf8_lossy(&run.stdout);
        assert!(run.status.success(), "{example}: {}", String::from_utf8_lossy(&run.stderr));
        assert!(text.lines().count() >= 4, "{example} prints what happens: {text}");
    }
}
