//! Goal: whatever ends a recording, what was recorded can be read. Method: real servers that record,
//! killed at random instants, or with a disk that takes no more.
#![cfg(unix)]

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use fairpath::random::Random;
use fairpath_eval::budget::Budget;
use fairpath_experiments::files::open_recording;
use fairpath_experiments::segments::{STATES, folder_beside, read_table};
use fairpath_games::online::check_placed;
use fairpath_sim::trace::{FollowedRow, StateRow, VectorRow};

const TRIES: u64 = 50;
const AT_ONCE: u64 = 5;

fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_fairpath"))
}

/// Starts a server that records two tanks, and waits until it listens.
fn start(mut command: Command, out: &Path) -> (Child, BufReader<std::process::ChildStderr>) {
    let mut server = command
        .args(["serve", "--listen", "127.0.0.1:0", "--tanks", "2", "--out"])
        .arg(out)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut stderr = BufReader::new(server.stderr.take().expect("piped"));
    let mut line = String::new();
    while !line.starts_with("listening") {
        line.clear();
        assert!(stderr.read_line(&mut line).expect("text") > 0, "it listens");
    }
    (server, stderr)
}

fn rows<R: fairpath_experiments::trace::TraceRow + Clone>(out: &Path, table: &str) -> Vec<R> {
    read_table(out, table, &Budget::default()).unwrap_or_else(|error| panic!("{error}"))
}

/// Kills a recording after a random time. Returns how many states it left.
fn killed(number: u64, folder: &Path) -> usize {
    let out = folder.join(format!("killed-{number}.parquet"));
    let mut random = Random::from_seed(18).fork(number);
    let (mut server, _stderr) = start(program(), &out);
    std::thread::sleep(Duration::from_millis(random.below(4_500)));
    // SIGKILL: nothing of the program runs any more.
    server.kill().expect("it runs");
    server.wait().expect("it ends");
    assert!(folder_beside(&out).is_some(), "try {number}");
    let states: Vec<StateRow> = rows(&out, STATES);
    let placed =
        check_placed(&states, &rows::<FollowedRow>(&out, "followed"), &rows::<VectorRow>(&out, "vectors"));
    assert_eq!((placed.different, placed.unknown), (0, 0), "try {number}: {placed:?}");
    assert!(states.windows(2).all(|pair| pair[0].t_us <= pair[1].t_us), "try {number}");
    if states.len() > 100 {
        open_recording(&out).unwrap_or_else(|error| panic!("try {number}: {error}"));
    }
    states.len()
}

#[test]
fn fifty_recordings_that_were_killed_at_random_instants_are_readable() {
    let folder = tempfile::tempdir().expect("a folder");
    let lane = |lane: u64| {
        (lane..TRIES).step_by(AT_ONCE as usize).map(|number| killed(number, folder.path())).collect()
    };
    let left: Vec<usize> = std::thread::scope(|scope| {
        let lane = &lane;
        let lanes: Vec<_> =
            (0..AT_ONCE).map(|number| scope.spawn(move || -> Vec<usize> { lane(number) })).collect();
        lanes.into_iter().flat_map(|lane| lane.join().expect("readable")).collect()
    });
    assert_eq!(left.len() as u64, TRIES);
    assert!(left.iter().filter(|states| **states > 0).count() as u64 > TRIES / 2, "{left:?}");
    // Any of them can be completed.
    let longest = (0..TRIES).max_by_key(|number| {
        rows::<StateRow>(&folder.path().join(format!("killed-{number}.parquet")), STATES).len()
    });
    let out = folder.path().join(format!("killed-{}.parquet", longest.expect("fifty")));
    let before: Vec<StateRow> = rows(&out, STATES);
    assert!(program().args(["lab", "join"]).arg(&out).status().expect("it starts").success());
    assert_eq!((folder_beside(&out), rows::<StateRow>(&out, STATES)), (None, before));
}

/// `ulimit -f` with the signal ignored: every write beyond some kilobytes fails, as on a full disk.
#[test]
fn a_full_disk_stops_the_recording_and_not_the_server() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("full.parquet");
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' XFSZ; ulimit -f 16; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_fairpath")]);
    command.args(["serve", "--listen", "127.0.0.1:0", "--tanks", "8", "--for", "9s", "--out"]).arg(&out);
    let output = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let output = output.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    let line = said.lines().find(|line| line.contains("the recording has stopped")).expect("it says so");
    assert!(line.contains("kept in") && line.contains("fairpath lab join"), "{line}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("for 9 s"), "it served to its end");
    let kept: Vec<StateRow> = rows(&out, STATES);
    assert!(folder_beside(&out).is_some());
    assert!(kept.windows(2).all(|pair| pair[0].t_us <= pair[1].t_us));
}

/// What goes wrong is saved: here a signal asks for it.
#[test]
fn the_last_seconds_are_saved_at_a_signal_and_can_be_replayed_bit_for_bit() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut server = program()
        .args(["serve", "--listen", "127.0.0.1:0", "--tanks", "3", "--keep", "5s", "--keep-in"])
        .arg(folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut stderr = BufReader::new(server.stderr.take().expect("piped"));
    let mut line = String::new();
    stderr.read_line(&mut line).expect("a greeting");
    let words: Vec<String> =
        line.split_whitespace().map(|word| word.trim_end_matches(',').to_owned()).collect();
    let (address, pin) = (&words[2], &words[4]);
    let bots = program()
        .args(["bots", "2", "--for", "3s", "--connect", address, "--pin", pin])
        .output()
        .expect("it starts");
    assert!(bots.status.success());
    let signal = |name: &str| {
        let sent = Command::new("kill").args([name, &server.id().to_string()]).status();
        assert!(sent.expect("there is a kill").success());
    };
    signal("-USR1");
    let path = loop {
        line.clear();
        assert!(stderr.read_line(&mut line).expect("text") > 0, "it saves");
        if line.contains("asked for: saved ") {
            let rest = line.split("saved ").nth(1).expect("a path");
            break Path::new(rest.split(';').next().expect("a path")).to_owned();
        }
    };
    signal("-INT");
    let mut rest = String::new();
    stderr.read_to_string(&mut rest).expect("text");
    assert!(server.wait().expect("it ends").success());

    let states: Vec<StateRow> = rows(&path, STATES);
    let viewers = |states: &[StateRow]| {
        let mut viewers: Vec<_> = states.iter().filter_map(|row| row.viewer).collect();
        viewers.sort_unstable();
        viewers.dedup();
        viewers.len()
    };
    assert!(viewers(&states) >= 3, "the server and both bots: {}", viewers(&states));
    let receipts: Vec<fairpath_sim::trace::ReceiptRow> = rows(&path, "receipts");
    assert!(
        receipts.len() > 10 && receipts.iter().all(|row| row.known_us >= Some(row.t_us)),
        "{}",
        receipts.len()
    );
    let span = states.last().expect("states").t_us - states[0].t_us;
    assert!(span < 7_000_000, "no more than was to be kept, and a second: {span}");
    let check = program().args(["replay", "--check", "--json"]).arg(&path).output().expect("it starts");
    let said: serde_json::Value = serde_json::from_slice(&check.stdout).expect("JSON");
    assert!(check.status.success() && said["equal"].as_u64() > Some(500), "{said}");
    open_recording(&path).expect("the laboratory reads it");
}

/// A watcher of a replay sees what the watcher of the match saw.
#[test]
fn a_replay_is_watched_like_the_match_and_seeks_by_command() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("match.parquet");
    let (mut server, mut stderr) = start(program(), &out);
    std::thread::sleep(Duration::from_secs(5));
    assert!(
        Command::new("kill").args(["-INT", &server.id().to_string()]).status().expect("a kill").success()
    );
    std::io::copy(&mut stderr, &mut std::io::sink()).expect("text");
    assert!(server.wait().expect("it ends").success());
    let vectors: Vec<VectorRow> = rows(&out, "vectors");

    let mut replay = program()
        .args(["replay", "--listen", "127.0.0.1:0", "--repeat", "--json"])
        .arg(&out)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut stderr = BufReader::new(replay.stderr.take().expect("piped"));
    let mut line = String::new();
    stderr.read_line(&mut line).expect("a greeting");
    std::thread::spawn(move || std::io::copy(&mut stderr, &mut std::io::sink()));
    let words: Vec<String> =
        line.split_whitespace().map(|word| word.trim_end_matches(',').to_owned()).collect();
    let again = folder.path().join("again.parquet");
    let mut watcher = program()
        .args(["record", "--for", "6s", "--connect", &words[2], "--pin", &words[4]])
        .arg(&again)
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    std::thread::sleep(Duration::from_secs(2));
    let mut stdin = replay.stdin.take().expect("piped");
    std::io::Write::write_all(&mut stdin, b"seek 1\n").expect("it reads");
    assert!(watcher.wait().expect("it ends").success());
    std::io::Write::write_all(&mut stdin, b"nonsense\nend\n").expect("it reads");
    let mut said = String::new();
    replay.stdout.take().expect("piped").read_to_string(&mut said).expect("text");
    assert!(replay.wait().expect("it ends").success());
    let said: serde_json::Value = serde_json::from_str(&said).expect("JSON");
    assert!(said["epochs"].as_u64() >= Some(2) && said["joined"] == 1, "{said}");

    // Every motion that the watcher followed is one of the recorded ones, to the last bit.
    let motion = |row: &VectorRow| {
        let numbers = [row.x, row.y, row.heading, row.speed, row.turn_rate, row.vx, row.vy];
        (row.model.word(), numbers.map(f64::to_bits))
    };
    let known: std::collections::BTreeSet<_> = vectors.iter().map(motion).collect();
    let watched: Vec<VectorRow> = rows(&again, "vectors");
    let same = watched.iter().filter(|row| known.contains(&motion(row))).count();
    assert!(watched.len() > 4 && same == watched.len(), "{same} of {}", watched.len());
    let states: Vec<StateRow> = rows(&again, STATES);
    let check = check_placed(&states, &rows::<FollowedRow>(&again, "followed"), &watched);
    assert_eq!(check.different, 0, "{check:?}");
    assert!(check.equal > 100, "{check:?}");
    assert!(states.windows(2).all(|pair| pair[0].t_us <= pair[1].t_us), "shared time never runs back");
}
