//! Goal: the ladder of examples runs as written. Method: run it.

use std::process::Command;

#[test]
fn the_ladder_of_examples_runs_as_written() {
    for example in ["00_hello", "01_ships_through_bad_weather"] {
        let run = Command::new(env!("CARGO"))
            .args(["run", "--quiet", "--package", "fairpath-net", "--example", example])
            .output()
            .expect("cargo is there");
        let text = String::from_utf8_lossy(&run.stdout);
        assert!(run.status.success(), "{example}: {}", String::from_utf8_lossy(&run.stderr));
        assert!(text.lines().count() >= 4, "{example} says what happens: {text}");
    }
}
