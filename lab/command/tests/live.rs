//! Goal: `serve`, `bots` and `record` do what their help says, as a stranger would use them.
//! Method: the real programs, over real sockets; nothing is said about how fast they are.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use fairpath_experiments::trace::read_states;
use fairpath_sim::trace::StateKind;
use serde_json::Value;

fn program(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fairpath"));
    command.args(arguments);
    command
}

/// A server at work.
struct Serving {
    program: Child,
    address: String,
    pin: String,
}

impl Serving {
    fn start(arguments: &[&str]) -> Self {
        Self::start_and_read(arguments, true)
    }

    /// Starts a server whose stderr is closed after its greeting.
    fn start_unread(arguments: &[&str]) -> Self {
        Self::start_and_read(arguments, false)
    }

    fn start_and_read(arguments: &[&str], is_read: bool) -> Self {
        let mut program = program(&["serve", "--listen", "127.0.0.1:0", "--json"])
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        let mut stderr = BufReader::new(program.stderr.take().expect("piped"));
        let mut greeting = String::new();
        stderr.read_line(&mut greeting).expect("a greeting");
        if is_read {
            std::thread::spawn(move || std::io::copy(&mut stderr, &mut std::io::sink()));
        }
        let words: Vec<&str> = greeting.split_whitespace().collect();
        let ["listening", "on", address, "fingerprint", pin] = words[..] else { panic!("{greeting}") };
        Self { program, address: address.trim_end_matches(',').into(), pin: pin.into() }
    }

    /// Runs a client of this server to its end.
    fn try_visit(&self, command: &[&str]) -> Output {
        let connecting = ["--connect", &self.address, "--pin", &self.pin];
        program(command).args(connecting).output().expect("it starts")
    }

    /// The same, and it must succeed.
    fn visit(&self, command: &[&str]) -> Output {
        let output = self.try_visit(command);
        assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
        output
    }

    /// As Ctrl-C does; the summary.
    fn interrupt(mut self) -> Value {
        let killed = Command::new("kill").args(["-INT", &self.program.id().to_string()]).status();
        assert!(killed.expect("there is a kill").success());
        let mut text = String::new();
        self.program.stdout.take().expect("piped").read_to_string(&mut text).expect("text");
        assert!(self.program.wait().expect("it ends").success());
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("no number: {value}"))
}

fn path_text(path: &Path) -> &str {
    path.to_str().expect("a plain path")
}

#[test]
fn bots_play_on_a_server_and_all_say_what_they_saw() {
    let folder = tempfile::tempdir().expect("a folder");
    let recording = folder.path().join("bots.parquet");
    let seen = folder.path().join("seen.parquet");
    let server = Serving::start(&["--tanks", "2"]);
    let bots = server.visit(&["bots", "3", "--for", "4s", "--json", "--out", path_text(&recording)]);
    let bots: Value = serde_json::from_slice(&bots.stdout).expect("one line of JSON");
    let watched = server.visit(&["record", path_text(&seen), "--for", "3s", "--json"]);
    let watched: Value = serde_json::from_slice(&watched.stdout).expect("one line of JSON");
    let summary = server.interrupt();

    let rows = bots["bots"].as_array().expect("bots");
    assert_eq!(rows.len(), 3);
    for bot in rows {
        assert!(number(&bot["error"]["samples"]) > 0.0, "everybody saw others: {bot}");
        assert!(number(&bot["session"]["vectors_received"]) > 0.0, "{bot}");
        assert_eq!(bot["refused"], 0, "{bot}");
        assert_eq!(bot["sessions_lost"], 0, "{bot}");
    }
    assert!(number(&watched["states"]) > 0.0);
    assert_eq!(summary["joined"], 4);
    assert_eq!(summary["clients"].as_array().map(Vec::len), Some(4), "{summary}");
    assert!(number(&summary["clients"][0]["session"]["rtt_ms"]) > 0.0, "{summary}");
    let left = "the connection was closed: the session has ended";
    assert_eq!(summary["clients"][0]["ended"], left, "{summary}");
    assert!(number(&summary["door"]["retried"]) >= 4.0, "everybody proved an address: {summary}");
    assert!(number(&summary["objects"]) >= 2.0, "the server's own tanks are still there: {summary}");

    let (metadata, states) = read_states(std::fs::read(&recording).expect("written")).expect("a trace");
    assert_eq!(metadata.title, "tanks-bots");
    let of_kind = |kind| states.iter().filter(|row| row.kind == kind).count();
    assert!(of_kind(StateKind::Truth) > 0 && of_kind(StateKind::Placed) > of_kind(StateKind::Truth));
    let (_, states) = read_states(std::fs::read(&seen).expect("written")).expect("a trace");
    assert!(states.iter().all(|row| row.kind == StateKind::Placed && row.viewer.is_some()));
}

#[test]
fn a_certificate_of_ones_own_is_trusted_and_browsers_come_on_the_same_port() {
    let folder = tempfile::tempdir().expect("a folder");
    let certificate = folder.path().join("server.pem");
    let server =
        Serving::start(&["--save-certificate", path_text(&certificate), "--scheduler", "error-index"]);
    let bots = program(&["bots", "2", "--web", "--for", "3s", "--json"])
        .args(["--connect", &server.address, "--trust", path_text(&certificate), "--name", "127.0.0.1"])
        .output()
        .expect("it starts");
    assert!(bots.status.success(), "{}", String::from_utf8_lossy(&bots.stderr));
    let summary = server.interrupt();
    assert_eq!(summary["joined"], 2, "{summary}");
    assert_eq!(summary["clients"][0]["transport"], "webtransport", "{summary}");
}

#[test]
fn a_full_server_and_a_closed_stderr_are_told_honestly() {
    let folder = tempfile::tempdir().expect("a folder");
    let seen = folder.path().join("seen.parquet");
    // Each client that comes and goes is a line on stderr, which nothing reads.
    let mut server = Serving::start_unread(&["--clients-max", "1", "--threads", "2"]);
    let all = server.try_visit(&["bots", "2", "--for", "3s", "--json"]);
    let said = String::from_utf8_lossy(&all.stderr);
    assert_eq!(all.status.code(), Some(2), "{said}");
    assert!(said.contains("1 of 2 bots never joined"), "{said}");
    let staying = program(&["bots", "1", "--for", "60s", "--json"])
        .args(["--connect", &server.address, "--pin", &server.pin])
        .stdout(Stdio::null())
        .spawn();
    let mut staying = staying.expect("it starts");
    // The seat of the bot that left may be kept for it; either way there is no second one.
    std::thread::sleep(std::time::Duration::from_secs(2));
    let watched = server.try_visit(&["record", path_text(&seen), "--for", "2s"]);
    assert_eq!(watched.status.code(), Some(2), "{}", String::from_utf8_lossy(&watched.stderr));
    assert!(!seen.exists(), "nothing was seen");
    staying.kill().expect("it runs");
    staying.wait().expect("it ends");
    assert!(server.program.try_wait().expect("a status").is_none(), "the server goes on");
    server.interrupt();
}

/// A lobby at work.
struct Lobby {
    program: Child,
    address: String,
    pin: String,
}

impl Lobby {
    fn start() -> Self {
        let mut program = program(&["lobby", "--listen", "127.0.0.1:0", "--json"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        let mut stderr = BufReader::new(program.stderr.take().expect("piped"));
        let mut greeting = String::new();
        stderr.read_line(&mut greeting).expect("a greeting");
        std::thread::spawn(move || std::io::copy(&mut stderr, &mut std::io::sink()));
        let words: Vec<&str> = greeting.split_whitespace().collect();
        let ["listening", "on", address, "fingerprint", pin] = words[..] else { panic!("{greeting}") };
        Self { program, address: address.trim_end_matches(',').into(), pin: pin.into() }
    }

    /// Asks until it is answered: a machine may stall for longer than a person would wait.
    fn servers(&self, arguments: &[&str]) -> Vec<Value> {
        let asked = || {
            program(&["servers", "--lobby", &self.address, "--pin", &self.pin, "--json"])
                .args(arguments)
                .output()
                .expect("it starts")
        };
        let is_answered = |output: &Output| {
            !String::from_utf8_lossy(&output.stderr).contains("cannot reach a trusted lobby")
        };
        let output = (0..10).map(|_| asked()).find(is_answered).expect("an answer");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let list: Value = serde_json::from_slice(&output.stdout).expect("one line of JSON");
        list.as_array().expect("a list").clone()
    }
}

impl Drop for Lobby {
    fn drop(&mut self) {
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}

#[test]
fn servers_are_on_the_list_of_a_lobby_and_are_found_there() {
    let lobby = Lobby::start();
    assert!(lobby.servers(&[]).is_empty(), "nobody is there yet");
    let announced = ["--lobby", &lobby.address, "--lobby-pin", &lobby.pin, "--attribute", "map=dunes"];
    let tanks = Serving::start(&[&announced[..], &["--name", "Ann and friends"]].concat());
    let boats = Serving::start(&[&announced[..], &["--game", "sailing", "--name", "regatta"]].concat());
    // A server is on the list soon after it has started.
    loop {
        let list = lobby.servers(&["--measure"]);
        if list.len() == 2 && list.iter().all(|entry| entry["rtt_ms"].as_f64().is_some_and(|it| it > 0.0)) {
            break;
        }
    }
    let found = lobby.servers(&["--game", "tanks", "--where", "map=dunes", "--free", "1"]);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(
        (&found[0]["name"], &found[0]["players"], &found[0]["seats"]),
        (&Value::from("Ann and friends"), &Value::from(0), &Value::from(64))
    );
    assert_eq!(found[0]["address"], tanks.address.as_str(), "as the lobby sees it");
    assert_eq!(found[0]["fingerprint"], tanks.pin.as_str(), "as it was proven");
    assert!(lobby.servers(&["--where", "map=ice"]).is_empty());
    boats.interrupt();
    while lobby.servers(&[]).len() != 1 {}
    tanks.interrupt();
}

/// What X9 says where a machine has no time for it.
const TOO_BUSY: &str = "a receiver did not see the tank for long enough";

#[test]
fn x9_is_played_by_processes_and_written_down() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("x9");
    let output = program(&["lab", "run", "x9", "--seconds", "16", "--delays", "150,100", "--json"])
        .args(["--out", path_text(&out)])
        .output()
        .expect("it starts");
    let said = String::from_utf8_lossy(&output.stderr);
    if said.contains(TOO_BUSY) {
        assert_eq!(output.status.code(), Some(2), "{said}");
        return;
    }
    assert!(output.status.success(), "{said}");
    let results: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let rows = results["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 8 * 2, "eight cases, two receivers: {results}");
    for row in rows {
        assert!(number(&row["error_mean"]) > 0.0 && number(&row["secs"]) > 0.0, "{row}");
        assert!(number(&row["clock_stated_ms"]) >= 100.0, "half a round trip at least: {row}");
    }
    assert_eq!(results["claims"].as_array().map(Vec::len), Some(8));
    assert!(out.join("report.html").is_file() && out.join("x9-accuracy.svg").is_file());
}

#[cfg(target_os = "linux")]
#[test]
fn x9_leaves_nobody_behind_when_it_is_interrupted() {
    let folder = tempfile::tempdir().expect("a folder");
    let children = || {
        let processes = std::fs::read_dir("/proc").expect("processes").flatten();
        let lines = processes.filter_map(|process| std::fs::read(process.path().join("cmdline")).ok());
        let mark = path_text(folder.path()).as_bytes();
        lines.filter(|line| line.windows(mark.len()).any(|part| part == mark)).count()
    };
    let mut playing = program(&["lab", "run", "X9", "--out", path_text(&folder.path().join("x9"))])
        .env("TMPDIR", folder.path())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    // Itself, and the first receivers.
    while children() < 3 {
        assert!(playing.try_wait().expect("it can be asked").is_none(), "it ended by itself");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let killed = Command::new("kill").args(["-INT", &playing.id().to_string()]).status();
    assert!(killed.expect("there is a kill").success());
    let output = playing.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), said.lines().count()), (Some(2), 1), "{said}");
    assert!(said.contains("interrupted"), "{said}");
    assert_eq!(children(), 0);
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 0, "and nothing is left");
}

#[test]
fn what_is_wrong_is_said_in_one_line() {
    let nobody = "0".repeat(64);
    let lobby = ["serve", "--lobby", "127.0.0.1:9", "--lobby-pin", &nobody];
    let unnamed = [&lobby[..], &["--name", ""]].concat();
    let unequal = [&lobby[..], &["--attribute", "dunes"]].concat();
    let cases: [(&[&str], &str); 22] = [
        (&["replay", "nowhere.parquet"], "nowhere.parquet: no such file; check the path"),
        (&["replay", "Cargo.toml"], "Cargo.toml: a recording ends in .parquet or .csv"),
        (&["replay", "nowhere.parquet", "--speed", "0"], "--speed 0: give 0.01 to 100"),
        (&["replay", "nowhere.parquet", "--from", "nan"], "--from NaN: give seconds"),
        (&["replay", "nowhere.parquet", "--check"], "nowhere.parquet: no such file; check the path"),
        (&["lab", "join", "nowhere.parquet"], "there is no FILE.segments beside it"),
        (&["serve", "--keep", "0s"], "--keep 0s: give 1s to 600s"),
        (&unnamed, "--name or --attribute"),
        (&unequal, "--attribute dunes: give KEY=VALUE"),
        (&["serve", "--lobby", "nowhere", "--lobby-pin", &nobody], "--lobby nowhere"),
        (&["serve", "--lobby", "127.0.0.1:9", "--lobby-pin", "12"], "--lobby-pin 12"),
        (&["servers", "--lobby", "127.0.0.1:9", "--pin", &nobody], "cannot reach a trusted lobby"),
        (&["servers", "--pin", &nobody, "--where", "map"], "--where map: give KEY=VALUE"),
        (&["lobby", "--listen", "nowhere"], "--listen nowhere"),
        (
            &["bots", "1", "--connect", "127.0.0.1:9", "--pin", &nobody, "--for", "1s"],
            "no trusted server answered",
        ),
        (&["lab", "run", "X9", "--motion", "walk.csv"], "walk.csv"),
        (&["lab", "run", "X9", "--delays", "300"], "give from 2 to 8 --delays"),
        (&["lab", "run", "X1", "--seconds", "20"], "placement does not take --seconds"),
        (&["serve", "--listen", "nowhere"], "--listen nowhere"),
        (&["serve", "--out", "match.txt"], "--out match.txt"),
        (&["bots", "--pin", "12"], "--pin 12"),
        (&["record", "seen.parquet", "--trust", "no-such-file.pem"], "no-such-file.pem"),
    ];
    for (arguments, complaint) in cases {
        let output = program(arguments).output().expect("it starts");
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {text}");
        assert!(text.contains(complaint) && text.lines().count() == 1, "{arguments:?}: {text}");
    }
}

#[test]
fn a_value_that_is_not_in_a_list_names_the_list() {
    let cases: [(&[&str], &str); 5] = [
        (&["bots", "--pin", "12", "--drive", "fast"], "possible values: bot, straight, circle, random"),
        (&["record", "seen.csv", "--pin", "12", "--stamp", "atomic"], "possible values: shared, machine"),
        (&["serve", "--scheduler", "best"], "no scheduler is called \"best\"; choose one of broadcast,"),
        (&["serve", "--placement", "near"], "possible values: local, hop, global"),
        (
            &["serve", "--game", "chess"],
            "possible values: tanks, race, jet-car, jet-car-wind, sailing, sailing-shifts",
        ),
    ];
    for (arguments, expected) in cases {
        let output = program(arguments).output().expect("it starts");
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && text.contains(expected), "{arguments:?}: {text}");
    }
}
