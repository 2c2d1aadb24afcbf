//! Goal: whatever ends a recording, what was recorded can be read, kept and replayed. Method: real
//! servers and watchers that record, killed at random instants or with a disk that takes no more.
//! The tests wait for what the programs write and say, never for a time: machines differ.
#![cfg(unix)]

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::{Duration, Instant};

use fairpath::random::Random;
use fairpath_eval::budget::Budget;
use fairpath_eval::recording::{Source, read};
use fairpath_experiments::files::open_recording;
use fairpath_experiments::segments::{STATES, closed, folder_beside, folder_of, read_table};
use fairpath_experiments::trace::TraceRow;
use fairpath_games::online::check_placed;
use fairpath_sim::trace::{FollowedRow, ReceiptRow, StateRow, VectorRow};

/// Recordings that are killed. `FAIRPATH_KILLS=50` kills fifty, as `cargo xtask test --full` does.
const KILLS: u64 = 6;
const LANES: u64 = 2;
/// A machine that stalls for longer than this fails a test: waiting any longer would hide a hang.
const PATIENCE: Duration = Duration::from_secs(120);

/// A program of ours that is killed when it is dropped.
struct Program {
    child: Child,
    stderr: BufReader<ChildStderr>,
}

impl Program {
    fn start(arguments: &[&str], out: &[&Path]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fairpath"));
        command.args(arguments).args(out);
        Self::spawn(command)
    }

    fn spawn(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let stderr = BufReader::new(child.stderr.take().expect("piped"));
        Self { child, stderr }
    }

    /// A server of some tanks, and its address and fingerprint.
    fn serve(tanks: &str, more: &[&str], out: &[&Path]) -> (Self, [String; 2]) {
        let arguments = ["serve", "--listen", "127.0.0.1:0", "--json", "--tanks", tanks];
        let mut server = Self::start(&[&arguments, more].concat(), out);
        let address = server.address();
        (server, address)
    }

    /// Reads the address and the fingerprint that a server prints.
    fn address(&mut self) -> [String; 2] {
        let line = self.line_with("listening on ");
        let words: Vec<&str> = line.split_whitespace().map(|word| word.trim_end_matches(',')).collect();
        [words[2].into(), words[4].into()]
    }

    /// Reads lines of stderr up to one that contains `words`.
    fn line_with(&mut self, words: &str) -> String {
        let mut said = String::new();
        loop {
            let before = said.len();
            assert!(self.stderr.read_line(&mut said).expect("text") > 0, "{words:?} is not in {said}");
            if said[before..].contains(words) {
                return said[before..].trim_end().into();
            }
        }
    }

    fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([name, &self.child.id().to_string()]).status();
        assert!(sent.expect("there is a kill").success(), "it runs");
    }

    /// SIGKILL: nothing of the program runs any more.
    fn kill(mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it ends");
    }

    fn type_line(&mut self, line: &str) {
        let stdin = self.child.stdin.as_mut().expect("piped");
        stdin.write_all(line.as_bytes()).and_then(|()| stdin.write_all(b"\n")).expect("it reads");
    }

    /// Waits for its end. Returns its exit code and what it printed to stdout.
    fn end(mut self) -> (Option<i32>, String) {
        std::io::copy(&mut self.stderr, &mut std::io::sink()).expect("text");
        let mut said = String::new();
        self.child.stdout.take().expect("piped").read_to_string(&mut said).expect("text");
        (self.child.wait().expect("it ends").code(), said)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let since = Instant::now();
    while !is_so() {
        assert!(since.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn rows<R: TraceRow + Clone>(out: &Path, table: &str) -> Vec<R> {
    read_table(out, table, &Budget::default()).unwrap_or_else(|error| panic!("{error}"))
}

/// Closed segments. The first has no rows.
fn segments(out: &Path) -> usize {
    closed(&folder_of(out), STATES).map_or(0, |segments| segments.len())
}

/// Computes all placed states again. Returns how many there are.
fn placed_again(out: &Path) -> u64 {
    let states: Vec<StateRow> = rows(out, STATES);
    assert!(states.windows(2).all(|pair| pair[0].t_us <= pair[1].t_us), "shared time never runs back");
    let (followed, vectors) = (rows::<FollowedRow>(out, "followed"), rows::<VectorRow>(out, "vectors"));
    let check = check_placed(&states, &followed, &vectors);
    assert_eq!((check.different, check.unknown), (0, 0), "{check:?}");
    check.equal
}

/// When a recording is killed.
#[derive(Clone, Copy, Debug)]
enum Moment {
    /// While it starts.
    Start,
    /// Between two segments, or while one is written.
    Work,
    /// While the segments are joined, after Ctrl-C.
    End,
}

/// Records, kills the recorder at a random moment, and reads what is left.
fn killed(number: u64, folder: &Path, match_at: &[String; 2]) {
    let mut random = Random::from_seed(18).fork(number);
    let mut below = |millis: u64| Duration::from_micros(random.below(1000 * millis));
    let out = folder.join(format!("killed-{number}.parquet"));
    let (is_server, moment) =
        (number.is_multiple_of(2), [Moment::Work, Moment::End, Moment::Start][(number / 2 % 3) as usize]);
    let program = if is_server {
        Program::start(&["serve", "--listen", "127.0.0.1:0", "--tanks", "2", "--out"], &[&out])
    } else {
        Program::start(&["record", "--connect", &match_at[0], "--pin", &match_at[1]], &[&out])
    };
    if matches!(moment, Moment::Work | Moment::End) {
        wait_until("a segment is closed", || segments(&out) > 1);
    }
    match moment {
        Moment::Start => std::thread::sleep(below(400)),
        Moment::Work => std::thread::sleep(below(3500)),
        Moment::End => {
            program.signal("-INT");
            std::thread::sleep(below(120));
        }
    }
    let before = segments(&out);
    program.kill();

    let what =
        format!("try {number}: {} killed at its {moment:?}", if is_server { "serve" } else { "record" });
    let is_there = folder_beside(&out).is_some() || out.exists();
    assert!(is_there || matches!(moment, Moment::Start), "{what}: nothing is left");
    if !is_there {
        return;
    }
    assert!(out.exists() || segments(&out) >= before, "{what}");
    let placed = placed_again(&out);
    assert!(placed > 0 || matches!(moment, Moment::Start), "{what}");
    if is_server && placed > 100 {
        open_recording(&out).unwrap_or_else(|error| panic!("{what}: {error}"));
    }
    // Any of them can be completed.
    if folder_beside(&out).is_some() {
        let states: Vec<StateRow> = rows(&out, STATES);
        let (code, _) = Program::start(&["lab", "join"], &[&out]).end();
        assert_eq!(code, Some(0), "{what}");
        assert_eq!((folder_beside(&out), rows::<StateRow>(&out, STATES)), (None, states), "{what}");
    }
}

#[test]
fn recordings_that_are_killed_at_random_instants_are_readable() {
    let kills = std::env::var("FAIRPATH_KILLS").map_or(KILLS, |text| text.parse().expect("a number"));
    let folder = tempfile::tempdir().expect("a folder");
    let (_server, address) = Program::serve("2", &[], &[]);
    let lane = |lane: u64| {
        (lane..kills).step_by(LANES as usize).for_each(|number| killed(number, folder.path(), &address));
    };
    std::thread::scope(|scope| {
        let lane = &lane;
        for number in 0..LANES {
            scope.spawn(move || lane(number));
        }
    });
}

/// A program whose files may have eight kilobytes each, with the signal ignored: every longer write
/// fails, as on a full disk.
fn on_a_full_disk(arguments: &[&str], out: &Path) -> Program {
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' XFSZ; ulimit -f 16; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_fairpath")]);
    command.args(arguments).arg(out);
    Program::spawn(command)
}

#[test]
fn a_full_disk_stops_the_recording_and_not_the_server() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("full.parquet");
    let arguments = ["serve", "--listen", "127.0.0.1:0", "--tanks", "8", "--json", "--out"];
    let mut server = on_a_full_disk(&arguments, &out);
    let [address, pin] = server.address();
    let line = server.line_with("the recording has stopped");
    assert!(line.contains("kept in") && line.contains("fairpath lab join"), "{line}");
    // The match goes on.
    let watcher = folder.path().join("watched.parquet");
    let watching = Program::start(&["record", "--connect", &address, "--pin", &pin], &[&watcher]);
    wait_until("the watcher sees tanks", || segments(&watcher) > 1);
    watching.signal("-INT");
    assert_eq!(watching.end().0, Some(0));
    server.signal("-INT");
    let (code, said) = server.end();
    let said: serde_json::Value = serde_json::from_str(&said).expect("JSON");
    assert_eq!((code, said["joined"].as_u64()), (Some(2), Some(1)), "{said}");
    assert!(folder_beside(&out).is_some(), "what is there is kept");
    let _: Vec<StateRow> = rows(&out, STATES);
}

#[test]
fn a_full_disk_ends_a_watcher_with_a_message() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("full.parquet");
    let (_server, [address, pin]) = Program::serve("8", &[], &[]);
    let mut watcher = on_a_full_disk(&["record", "--connect", &address, "--pin", &pin], &out);
    let line = watcher.line_with("the recording has stopped");
    assert!(line.contains("kept in") && line.contains("fairpath lab join"), "{line}");
    assert_eq!(watcher.end().0, Some(2));
    let _: Vec<StateRow> = rows(&out, STATES);
}

/// Reads what a flight recorder says it saved.
fn saved(server: &mut Program, why: &str) -> PathBuf {
    let line = server.line_with(&format!("{why}: saved "));
    let rest = line.split("saved ").nth(1).expect("a path");
    rest.split(';').next().expect("a path").into()
}

fn sorted<T: Ord>(numbers: impl Iterator<Item = T>) -> Vec<T> {
    numbers.collect::<std::collections::BTreeSet<T>>().into_iter().collect()
}

/// Saves until a receipt of each bot is known and each has placed tanks, however long the machine
/// takes for that.
fn saved_with_views_of(bots: usize, server: &mut Program) -> PathBuf {
    let since = Instant::now();
    loop {
        server.signal("-USR1");
        let path = saved(server, "asked for");
        let receivers = sorted(rows::<ReceiptRow>(&path, "receipts").iter().map(|row| row.receiver));
        let viewers = sorted(rows::<StateRow>(&path, STATES).iter().filter_map(|row| row.viewer));
        // The server is a viewer too.
        if receivers.len() == bots && viewers.len() == bots + 1 {
            return path;
        }
        assert!(since.elapsed() < PATIENCE, "receipts of {receivers:?}, places of {viewers:?}");
        std::thread::sleep(Duration::from_millis(200));
    }
}

#[test]
fn the_last_seconds_are_saved_at_a_signal_and_open_everywhere() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut server, [address, pin]) = Program::serve("2", &["--keep", "5s", "--keep-in"], &[folder.path()]);
    let bots = Program::start(&["bots", "2", "--connect", &address, "--pin", &pin], &[]);
    let path = saved_with_views_of(2, &mut server);
    let receipts: Vec<ReceiptRow> = rows(&path, "receipts");
    assert!(receipts.iter().all(|row| row.known_us >= Some(row.t_us)), "known after it was used");
    let states: Vec<StateRow> = rows(&path, STATES);
    let span = states.last().expect("states").t_us - states[0].t_us;
    assert!(span < 7_000_000, "no more than was to be kept, and a second: {span}");

    let (code, said) = Program::start(&["replay", "--check", "--json"], &[&path]).end();
    let said: serde_json::Value = serde_json::from_str(&said).expect("JSON");
    assert!(code == Some(0) && said["equal"].as_u64() > Some(0), "{said}");
    open_recording(&path).expect("the laboratory reads it");
    // As the page does when the file is dropped onto it; `lab/page` tests the rest.
    let bytes = std::fs::read(&path).expect("a file");
    read(Source { name: "flight.csv", bytes: &bytes }, None).expect("the page reads it");
    drop(bots);
    server.signal("-INT");
    assert_eq!(server.end().0, Some(0));
}

/// What goes wrong is saved unasked: here the process stands still.
#[test]
fn a_late_frame_is_saved() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut server, _) = Program::serve("2", &["--keep", "2s", "--keep-in"], &[folder.path()]);
    server.signal("-STOP");
    std::thread::sleep(Duration::from_millis(400));
    server.signal("-CONT");
    let path = saved(&mut server, "a frame was late");
    assert!(!rows::<StateRow>(&path, STATES).is_empty());
    server.signal("-INT");
    assert_eq!(server.end().0, Some(0));
}

/// A lost client is saved unasked.
#[test]
fn a_lost_client_is_saved() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut server, [address, pin]) = Program::serve("2", &["--keep", "1s", "--keep-in"], &[folder.path()]);
    let bots = Program::start(&["bots", "1", "--connect", &address, "--pin", &pin], &[]);
    saved_with_views_of(1, &mut server);
    bots.kill();
    saved(&mut server, "a client lost its connection");
    server.signal("-INT");
    assert_eq!(server.end().0, Some(0));
}

/// A watcher of a replay sees what the watcher of the match saw.
#[test]
fn a_replay_is_watched_like_the_match_and_seeks_by_command() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("match.parquet");
    let (server, _) = Program::serve("2", &["--out"], &[&out]);
    wait_until("some seconds are recorded", || segments(&out) > 2);
    server.signal("-INT");
    assert_eq!(server.end().0, Some(0));
    let vectors: Vec<VectorRow> = rows(&out, "vectors");

    let arguments = ["replay", "--listen", "127.0.0.1:0", "--repeat", "--json"];
    let mut replay = Program::start(&arguments, &[&out]);
    let [address, pin] = replay.address();
    let again = folder.path().join("again.parquet");
    let watcher = Program::start(&["record", "--connect", &address, "--pin", &pin], &[&again]);
    wait_until("the watcher sees tanks", || segments(&again) > 1);
    replay.type_line("seek 1");
    wait_until("the watcher goes on", || segments(&again) > 3);
    watcher.signal("-INT");
    assert_eq!(watcher.end().0, Some(0));
    replay.type_line("nonsense");
    replay.line_with("unknown command");
    replay.type_line("end");
    let (code, said) = replay.end();
    let said: serde_json::Value = serde_json::from_str(&said).expect("JSON");
    let epochs = said["epochs"].as_u64().expect("a number");
    assert!(code == Some(0) && epochs >= 2 && said["joined"] == 1, "{said}");

    // Every motion that the watcher followed is one of the recorded ones, to the last bit; only the
    // two tanks' first motion of an epoch may be one that began before the epoch and was cut.
    let motion = |row: &VectorRow| {
        let numbers = [row.x, row.y, row.heading, row.speed, row.turn_rate, row.vx, row.vy];
        (row.model.word(), numbers.map(f64::to_bits))
    };
    let known: std::collections::BTreeSet<_> = vectors.iter().map(motion).collect();
    let watched: Vec<VectorRow> = rows(&again, "vectors");
    let others = watched.iter().filter(|row| !known.contains(&motion(row))).count();
    assert!(watched.len() > others && others as u64 <= 2 * epochs, "{others} of {}", watched.len());
    assert!(placed_again(&again) > 0);
}
