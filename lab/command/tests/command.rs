//! Goal: the command does what its help says, and wrong input is one line on stderr and exit code
//! 2. Method: run the real program in an empty directory, with every experiment.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// A directory of its own to run the command in.
struct Room(TempDir);

impl Room {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path().join(name);
        fs::write(&path, text).unwrap();
        path
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fairpath"));
        command.args(arguments).current_dir(self.path());
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Runs what must be refused: code 2, nothing on stdout, nothing written, one line on stderr,
    /// which is returned.
    fn refused(&self, arguments: &[&str]) -> String {
        let before = self.names();
        let output = self.run(arguments);
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {stderr}");
        assert_eq!(text(&output.stdout), "", "{arguments:?}");
        assert_eq!(self.names(), before, "{arguments:?} left something behind");
        let line = stderr.strip_suffix('\n').unwrap_or(&stderr);
        assert!(!line.contains('\n') && line.starts_with("error: "), "{arguments:?}: {stderr}");
        line.to_owned()
    }

    /// Runs a command line that does not parse: code 2, nothing on stdout, nothing written. Returns
    /// what stands on stderr.
    fn rejected(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {stderr}");
        assert!(output.stdout.is_empty() && stderr.starts_with("error: "), "{arguments:?}: {stderr}");
        stderr
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.path()).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// The names and aliases of all experiments.
fn all_experiments() -> Vec<(String, String)> {
    let listed = text(&Room::new().run(&["lab", "list"]).stdout);
    assert!(listed.lines().all(|line| line.chars().count() <= 100), "{listed}");
    let lines = listed.lines().filter_map(|line| line.strip_prefix("  "));
    let words = lines.map(|line| line.split_whitespace().map(str::to_owned));
    words.map(|mut words| (words.next().unwrap(), words.next().unwrap())).collect()
}

/// The names of the experiments that take recorded motion.
fn experiments() -> Vec<String> {
    let names = all_experiments().into_iter().map(|(name, _)| name);
    names.filter(|name| !PLAYED.contains(&name.as_str())).collect()
}

const PLAYED: [&str; 7] =
    ["live-objects", "jet-car", "sailing", "aiming", "hidden-delay", "asteroids-budget", "loss"];

fn first_experiment() -> String {
    experiments().remove(0)
}

/// Two who walk about for half a minute at 60 Hz, stopping and turning.
fn walk() -> String {
    let mut csv = String::from("t,entity,team,x,y\n");
    let mut places = [(0.0, 0.0), (40.0, 10.0)];
    for frame in 0..1800 {
        let t = f64::from(frame) / 60.0;
        for (who, place) in places.iter_mut().enumerate() {
            let heading =
                if (t as u32 + who as u32).is_multiple_of(3) { 0.8 * t } else { 2.4 * (t / 3.0).floor() };
            let speed = if (t as u32).is_multiple_of(7) { 0.0 } else { 6.0 };
            place.0 += speed / 60.0 * heading.cos();
            place.1 += speed / 60.0 * heading.sin();
            csv += &format!("{t:.4},{who},{},{:.4},{:.4}\n", who + 1, place.0, place.1);
        }
    }
    csv
}

/// The page's report opens with these results; they must stay what the command prints.
#[test]
fn the_results_that_come_with_the_page_are_those_of_lab_run() {
    let room = Room::new();
    let output = room.run(&["lab", "run", "placement", "--out", "out"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("../page/page/results/placement");
    for entry in fs::read_dir(&shipped).unwrap() {
        let name = entry.unwrap().file_name();
        let [kept, made] =
            [&shipped, &room.path().join("out")].map(|folder| fs::read(folder.join(&name)).unwrap());
        let digest = |bytes: &[u8]| fairpath_sim::Digest::new().bytes(bytes).to_string();
        assert_eq!(
            digest(&kept),
            digest(&made),
            "{}: copy the file that `lab run placement` writes",
            name.display()
        );
    }
}

#[test]
fn every_experiment_on_a_recording_prints_tables_and_writes_its_report() {
    for id in experiments() {
        let room = Room::new();
        room.file("walk.csv", &walk());
        let output = room.run(&["lab", "run", &id.to_uppercase(), "--motion", "walk.csv"]);
        let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(0), "{stderr}");
        assert_eq!(stderr, "", "no progress without a terminal");
        let report = Path::new("fairpath-out").join(&id).join("report.html");
        assert!(stdout.starts_with(&format!("{id} (")), "{stdout}");
        assert!(stdout.contains("held") || stdout.contains("n/a"), "{stdout}");
        assert!(stdout.contains(&format!("report: {}", report.display())), "{stdout}");
        let html = fs::read_to_string(room.path().join(report)).unwrap();
        let repeat = format!("fairpath lab run {id} --seed 1 --motion walk.csv");
        assert!(html.contains(&repeat), "the report says how to repeat it");
    }
}

#[test]
fn json_is_all_there_is_on_stdout_and_equals_the_file() {
    let room = Room::new();
    room.file("walk.csv", &walk());
    let id = first_experiment();
    let output =
        room.run(&["lab", "run", &id, "--motion", "walk.csv", "--seed", "7", "--json", "--out", "there/in"]);
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((json["name"].as_str(), json["seed"].as_u64()), (Some(id.as_str()), Some(7)));
    assert!(json["rows"].is_array() && json["claims"].is_array());
    assert_eq!(json["motion"]["stretches"], 2);
    assert_eq!(fs::read(room.path().join("there/in/results.json")).unwrap(), output.stdout);
    assert_eq!(room.names(), ["there", "walk.csv"]);
}

#[test]
fn a_recorded_match_is_motion_for_experiments() {
    let recorded = [(&[][..], "fairpath-out/tanks.parquet"), (&["--out", "here.csv"][..], "here.csv")];
    for (arguments, file) in recorded {
        let room = Room::new();
        let record = ["lab", "record", "tanks", "--seconds", "20", "--players", "4", "--boxes", "6"];
        let output = room.run(&[&record, arguments].concat());
        let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
        assert_eq!((output.status.code(), stderr.as_str()), (Some(0), ""), "no progress without a terminal");
        assert!(stdout.starts_with("tanks: 2 against 2 on up to 6 boxes, seed 1: 20 s, "), "{stdout}");
        let next = stdout.lines().last().unwrap().strip_prefix("next: fairpath ").unwrap();
        assert_eq!(next, format!("lab run placement --motion {file}"));
        // The experiments on fairness need longer stretches than bots live in 20 s.
        let output = room.run(&["lab", "run", "X1", "--motion", file, "--json"]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let json: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!((&json["motion"]["entities"], &json["motion"]["unit"]), (&4.into(), &"units".into()));
    }
}

#[test]
fn what_cannot_be_recorded_is_one_line() {
    let room = Room::new();
    room.file("taken", "a file");
    assert!(room.rejected(&["lab", "record", "chess"]).contains("tanks, ethereal, race, jet-car"));
    let cases: [(&[&str], &str); 5] = [
        (&["race", "--seconds", "0"], "nothing to record; pass --seconds and --players of 1 or more"),
        (
            &["tanks", "--out", "tanks.xlsx"],
            "tanks.xlsx: the name of a recording ends in .parquet or .csv; rename it with --out",
        ),
        (&["tanks", "--players", "100"], "tanks must be between 0 and 64; pass fewer --players"),
        (&["tanks", "--seconds", "0"], "nothing to record; pass --seconds and --players of 1 or more"),
        (
            &["tanks", "--seconds", "9999"],
            "too long to be read again; with so many players record at most 1916 seconds",
        ),
    ];
    for (arguments, expected) in cases {
        let line = room.refused(&[&["lab", "record"], arguments].concat());
        assert_eq!(line, format!("error: {expected}"));
    }
    for out in ["taken/tanks.csv", "taken/deeper/tanks.parquet"] {
        let line = room.refused(&["lab", "record", "tanks", "--out", out]);
        assert!(line.starts_with("error: cannot write to taken") && line.ends_with("with --out"), "{line}");
    }
}

#[test]
fn a_broken_recorded_match_is_one_line() {
    let room = Room::new();
    for name in ["tanks.parquet", "tanks.csv"] {
        room.run(&["lab", "record", "tanks", "--seconds", "1", "--out", name]);
        let bytes = fs::read(room.path().join(name)).unwrap();
        fs::write(room.path().join(name), &bytes[..bytes.len() / 2]).unwrap();
    }
    let id = first_experiment();
    let parquet = room.refused(&["lab", "run", &id, "--motion", "tanks.parquet"]);
    assert!(parquet.starts_with("error: tanks.parquet: not a table fairpath can read: "), "{parquet}");
    let csv = room.refused(&["lab", "run", &id, "--motion", "tanks.csv"]);
    assert!(csv.starts_with("error: tanks.csv: row ") && csv.contains("where the header has 16"), "{csv}");
}

#[test]
fn strict_fails_exactly_when_a_claim_does_not_hold() {
    for id in experiments() {
        let room = Room::new();
        room.file("walk.csv", &walk());
        let output = room.run(&["lab", "run", &id, "--motion", "walk.csv", "--json", "--strict"]);
        let json: Value = serde_json::from_slice(&output.stdout).unwrap();
        let refuted = json["claims"].as_array().unwrap().iter().any(|claim| claim["held"] == false);
        assert_eq!(output.status.code(), Some(i32::from(refuted)), "{id}");
    }
}

#[test]
fn an_unknown_experiment_lists_the_known_ones() {
    let error = Room::new().rejected(&["lab", "run", "X99"]);
    assert!(all_experiments().iter().all(|(name, _)| error.contains(name)), "{error}");
}

#[test]
fn an_alias_names_the_same_experiment() {
    let room = Room::new();
    let run =
        |name: &str| text(&room.run(&["lab", "run", name, "--tanks", "1", "--seed", "3", "--json"]).stdout);
    let by_name = run("chance-alone");
    assert!(by_name.contains("\"experiment\": \"X5\",\n  \"name\": \"chance-alone\""), "{by_name}");
    assert_eq!(run("x5"), by_name);
}

#[test]
fn an_option_that_an_experiment_does_not_take_names_those_that_do() {
    let room = Room::new();
    room.file("laps.csv", &laps());
    let cases: [(&[&str], &str); 5] = [
        (
            &["placement", "--laps", "laps.csv"],
            "placement does not take --laps; leave it out, or run one of trend-line",
        ),
        (
            &["X1", "--seconds", "20"],
            "placement does not take --seconds; leave it out, or run one of live-objects",
        ),
        (
            &["X6", "--live"],
            "deterministic-budget does not take --live; leave it out, or run one of jet-car, sailing, aiming",
        ),
        (
            &["X13", "--tanks", "3"],
            "jet-car does not take --tanks; leave it out, or run one of scheduling-discard,",
        ),
        (&["all", "--live"], "--live takes one experiment at a time; run one of jet-car, sailing, aiming"),
    ];
    for (arguments, expected) in cases {
        let line = room.refused(&[&["lab", "run"], arguments].concat());
        assert!(line.starts_with(&format!("error: {expected}")), "{line}");
    }
}

#[test]
fn a_bad_recording_is_one_line_with_file_and_row() {
    let cases = [
        ("", "bad.csv: the file is empty: "),
        ("t,entity,team,x,y\n", "bad.csv: there is a header but no motion below it: "),
        ("a,b,c\n1,2,3\n", "bad.csv: row 1: unknown header `a,b,c`: "),
        ("t,entity,team,x\n0,1,1,0\n", "bad.csv: row 1, column y: missing: "),
        ("t,entity,team,x,y\n0,1,1,0,0\n0.1,1,1,0\n", "bad.csv: row 3: 4 fields where the header has 5: "),
        ("t,entity,team,x,y\n0,1,1,NaN,0\n", "bad.csv: row 2, column x: `NaN` is not finite: "),
        ("t,entity,team,x,y\n0,1,1,east,0\n", "bad.csv: row 2, column x: `east` is not a number: "),
        (
            "t,entity,team,x,y\n1,1,1,0,0\n0,1,1,0,0\n",
            "bad.csv: row 3: entity 1 goes back in time by 1000 ms: ",
        ),
        ("t,entity,team,x,y\n0,1,1,0,0\n9,1,1,0,0\n", "bad.csv: no usable stretch: "),
    ];
    let id = first_experiment();
    for (csv, expected) in cases {
        let room = Room::new();
        room.file("bad.csv", csv);
        let line = room.refused(&["lab", "run", &id, "--motion", "bad.csv"]);
        assert!(line.starts_with(&format!("error: {expected}")), "{line}");
    }
}

#[test]
fn files_and_places_that_do_not_work_are_refused() {
    let room = Room::new();
    let id = first_experiment();
    let missing = room.refused(&["lab", "run", &id, "--motion", "nowhere.csv"]);
    assert_eq!(missing, "error: nowhere.csv: no such file; check the path");
    let directory = room.refused(&["lab", "run", &id, "--motion", "."]);
    assert_eq!(directory, "error: .: this is a directory; pass a file in it");
    room.file("taken", "a file");
    let taken = room.refused(&["lab", "run", &id, "--out", "taken"]);
    assert!(taken.starts_with("error: cannot write to taken (") && taken.ends_with("with --out"), "{taken}");
    let no_vectors = room.refused(&["dis", "check", "nowhere.json"]);
    assert_eq!(no_vectors, "error: nowhere.json: no such file; check the path");
    room.file("broken.json", "[{");
    let broken = room.refused(&["dis", "check", "broken.json"]);
    assert!(broken.starts_with("error: broken.json: "), "{broken}");
}

#[test]
fn dis_vectors_that_hold_are_code_0_and_others_code_1() {
    // Model 2 moves at a fixed velocity: 3 m along x after 1.5 s at 2 m/s.
    let vectors = |metres: f64| {
        format!(
            r#"[{{"id": "ahead", "drm": 2, "semantics": "std", "primary": true, "p0": [0, 0, 0], "v0": [2, 0, 0],
            "a0": [0, 0, 0], "euler0": [0, 0, 0], "omega": [0, 0, 0], "dt": 1.5, "expect":
            {{"disp": [{metres}, 0, 0], "matrix_w2b": [[1, 0, 0], [0, 1, 0], [0, 0, 1]]}}}}]"#
        )
    };
    let room = Room::new();
    for (metres, code) in [(3.0, 0), (3.001, 1)] {
        room.file("vectors.json", &vectors(metres));
        let output = room.run(&["dis", "check", "vectors.json", "--json"]);
        assert_eq!(output.status.code(), Some(code), "{}", text(&output.stderr));
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(report["primary"]["passed"], 1 - code);
    }
}

#[test]
fn a_recording_of_a_dis_network_is_checked() {
    let recording =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../crates/fairpath-dis/tests/captures/opendis.pcap");
    let output = Room::new().run(&["dis", "check", recording]);
    let table = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{table}");
    for (marking, note) in [("CIRCLE", "beyond twice its threshold"), ("NO CLOCK", "stamps stand still")] {
        let row = table.lines().find(|line| line.contains(marking)).unwrap_or_default();
        assert!(row.ends_with(note), "{table}");
    }
    let straight = table.lines().find(|line| line.contains("STRAIGHT")).unwrap_or_default();
    assert!(straight.trim_end().ends_with("absolute"), "nothing to note: {table}");
}

#[test]
fn nonsense_on_the_command_line_is_code_2() {
    let id = first_experiment();
    let cases: [&[&str]; 8] = [
        &["lab", "record"],
        &["lab", "run", &id, "--delays", "100,-5"],
        &["lab", "run", &id, "--delays", ""],
        &["lab", "run", &id, "--delays", "NaN"],
        &["lab", "run", &id, "--jitter", "1e9"],
        &["lab", "run", &id, "--seed", "one"],
        &["lab", "run"],
        &["sail"],
    ];
    for arguments in cases {
        let room = Room::new();
        let output = room.run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(!output.stderr.is_empty() && output.stdout.is_empty(), "{arguments:?}");
        assert_eq!(room.names(), Vec::<String>::new());
    }
}

#[test]
fn all_experiments_run_into_folders_of_their_own_with_an_index() {
    let room = Room::new();
    room.file("walk.csv", &walk());
    let output = room.run(&["lab", "run", "all", "--motion", "walk.csv", "--json", "--out", "everything"]);
    assert_eq!(text(&output.stderr), "");
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    let (passed_over, ran): (Vec<&Value>, Vec<&Value>) =
        json.as_array().unwrap().iter().partition(|each| each["passed_over"].is_string());
    let ids = |of: Vec<&Value>| of.iter().map(|each| each["name"].as_str().unwrap().to_owned()).collect();
    let (passed_over, ran): (Vec<String>, Vec<String>) = (ids(passed_over), ids(ran));
    assert_eq!(passed_over, PLAYED, "each says why");
    let sorted = |mut names: Vec<String>| {
        names.sort();
        names
    };
    assert_eq!(sorted(ran.clone()), sorted(experiments()));
    let index = fs::read_to_string(room.path().join("everything/index.html")).unwrap();
    for id in ran {
        assert!(index.contains(&format!("href=\"{id}/report.html\"")), "{id}");
        assert!(room.path().join("everything").join(&id).join("report.html").is_file(), "{id}");
    }
    assert!(index.contains("fairpath lab run all --seed 1 --motion walk.csv"));
}

#[test]
fn fairness_has_a_row_for_every_scheduler_asked_for() {
    let room = Room::new();
    room.file("walk.csv", &walk());
    room.file("home.csv", "t,rtt_ms\n0,40\n1,44\n2,\n3,41\n");
    room.file("moon.csv", "t,rtt_ms\n0,2600\n");
    let play = |more: &[&str]| {
        let usual =
            ["lab", "fairness", "--motion", "walk.csv", "--json", "--schedulers", "broadcast,error-index:2"];
        let output = room.run(&[&usual, more].concat());
        assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), String::new()), "{more:?}");
        serde_json::from_slice::<Value>(&output.stdout).unwrap()
    };
    for more in [
        &[][..],
        &["--receivers", "5:20-400", "--budget", "2.5", "--model", "circular", "--seeds", "2"],
        &["--jitter", "100", "--normal", "--threshold", "1", "--seed", "9"],
        &["--budget", "0"],
        &["--budget", "1000"],
        &["--rtt", "home.csv,moon.csv"],
        &["--receivers", "8:20-400", "--drawn"],
        &["--flat"],
        &["--half", "odd"],
    ] {
        let json = play(more);
        let rows = json["rows"].as_array().unwrap();
        let names: Vec<&str> = rows.iter().map(|row| row["scheduler"].as_str().unwrap()).collect();
        assert_eq!(names, ["broadcast", "error-index:2"], "{more:?}");
        for key in [
            "mean",
            "spread",
            "jain",
            "worst",
            "dr_vectors",
            "bytes",
            "spread_ratio",
            "mean_ratio",
            "estimate_error",
            "estimated_share",
            "settled_error_max",
            "unsettled_copies",
        ] {
            assert!(rows.iter().all(|row| row[key].is_number()), "{more:?}: {key}");
        }
        let again = json["command"].as_str().unwrap();
        assert!(more.iter().all(|word| again.contains(word)), "{again} repeats {more:?}");
    }
    assert!(room.path().join("fairpath-out/fairness/report.html").is_file());
}

#[test]
fn whatever_is_wrong_with_fairness_is_one_line() {
    let room = Room::new();
    room.file("short.csv", "t,entity,team,x,y\n0,1,1,0,0\n0.02,1,1,0,0\n0.04,1,1,0,0\n");
    room.file("broken.csv", "t,rtt_ms\n0,fast\n");
    let cases: &[(&[&str], &str)] = &[
        (&["--receivers", "fast"], "--receivers fast: give delays in ms such as 800,500,200, or 32:20-400"),
        (&["--receivers", ""], "--receivers : give delays in ms"),
        (&["--receivers", "800,-5"], "--receivers 800,-5: give delays in ms"),
        (&["--receivers", "0:20-400"], "--receivers 0:20-400: give 1 to 1024 receivers"),
        (&["--receivers", "99999999:20-400"], "--receivers 99999999:20-400: give 1 to 1024 receivers"),
        (&["--receivers", "3:400-20"], "--receivers 3:400-20: give delays in ms"),
        (&["--drawn"], "--drawn 800,500,200: give --receivers a range to draw from, such as 32:20-400"),
        (&["--flat"], "--flat needs a recording; pass --motion FILE"),
        (&["--half", "odd"], "--half needs a recording; pass --motion FILE"),
        (&["--jitter", "-1"], "--jitter -1: give milliseconds from 0 to 60000"),
        (&["--jitter", "NaN"], "--jitter NaN: give milliseconds"),
        (&["--budget", "-1"], "--budget -1: give DR vectors per trigger, 0 or more"),
        (&["--budget", "inf"], "--budget inf: give DR vectors per trigger"),
        (&["--threshold", "0"], "--threshold 0: give a length above 0"),
        (&["--seeds", "0"], "--seeds 0: give a whole number from 1 to 1000"),
        (&["--rtt", "nowhere.csv"], "nowhere.csv: no such file; check the path"),
        (&["--rtt", "broken.csv"], "broken.csv: row 2, column rtt_ms: not a number that fits; pass a table"),
        (&["--motion", "short.csv"], "short.csv has no clean stretch of 25 s; record for longer"),
    ];
    for (arguments, expected) in cases {
        let line = room.refused(&[&["lab", "fairness"], *arguments].concat());
        assert!(line.starts_with(&format!("error: {expected}")), "{arguments:?}: {line}");
    }
    let values: [(&[&str], &str); 5] = [
        (&["--half", "third"], "possible values: odd, even"),
        (
            &["--schedulers", "nobody"],
            "no scheduler is called \"nobody\"; choose one of broadcast, every-nth,",
        ),
        (&["--schedulers", "error-index:x"], "no scheduler is called \"error-index:x\""),
        (&["--schedulers", "broadcast:2"], "no scheduler is called \"broadcast:2\""),
        (&["--model", "cubic"], "possible values: linear, circular"),
    ];
    for (arguments, expected) in values {
        let error = room.rejected(&[&["lab", "fairness"], arguments].concat());
        assert!(error.contains(expected), "{arguments:?}: {error}");
    }
}

#[test]
fn laps_are_predicted_by_each_other() {
    let room = Room::new();
    room.file("laps.csv", &laps());
    let output = room.run(&["lab", "laps", "--trace", "laps.csv", "--horizons", "50,1000", "--json"]);
    assert_eq!(text(&output.stderr), "");
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["command"], "fairpath lab laps --trace laps.csv --horizons 50,1000");
    // Nine predictors at two horizons.
    assert_eq!(json["rows"].as_array().unwrap().len(), 2 * 9);
    assert!(room.path().join("fairpath-out/laps/report.html").is_file());
}

#[test]
fn whatever_is_wrong_with_laps_is_one_line() {
    let room = Room::new();
    room.file("laps.csv", &laps());
    room.file("walk.csv", "t,entity,team,x,y\n0,1,1,0,0\n");
    let cases: [(&[&str], &str); 4] = [
        (&["lab", "laps", "--trace", "walk.csv"], "walk.csv: row 1, column lap: missing"),
        (&["lab", "laps", "--trace", "none.csv"], "none.csv: no such file"),
        (&["lab", "laps", "--trace", "laps.csv", "--horizons", "soon"], "--horizons soon: give milliseconds"),
        (&["lab", "laps", "--trace", "laps.csv", "--rate", "0"], "--rate 0: give samples a second"),
    ];
    for (arguments, begins) in cases {
        let line = room.refused(arguments);
        assert!(line.contains(begins), "{line}");
    }
}

/// Three laps round an ellipse.
fn laps() -> String {
    let mut csv = String::from("lap,t,x,y\n");
    for lap in 0..3 {
        let size = 1.0 + 0.01 * f64::from(lap);
        for frame in 0..1200 {
            let turn = f64::from(frame) / 1200.0 * std::f64::consts::TAU;
            let (x, y) = (110.0 * size * turn.cos(), 50.0 * size * turn.sin());
            csv += &format!("{lap},{:.4},{x:.4},{y:.4}\n", f64::from(frame) / 60.0);
        }
    }
    csv
}

#[test]
fn every_command_has_help_with_an_example() {
    let commands: [&[&str]; 16] = [
        &[],
        &["lab"],
        &["lab", "run"],
        &["lab", "fairness"],
        &["lab", "record"],
        &["lab", "list"],
        &["lab", "claims"],
        &["lab", "teach"],
        &["play", "race"],
        &["dis"],
        &["dis", "gateway"],
        &["dis", "view"],
        &["dis", "record"],
        &["dis", "replay"],
        &["dis", "check"],
        &["middleman"],
    ];
    for command in commands {
        for flag in ["--help", "-h"] {
            let output = Room::new().run(&[command, &[flag]].concat());
            let help = text(&output.stdout);
            assert_eq!(output.status.code(), Some(0), "{command:?}");
            assert!(help.contains("Example") && help.contains("\n  fairpath "), "{command:?} {flag}: {help}");
            let widest = help.lines().map(|line| line.chars().count()).max();
            assert!(widest <= Some(100), "{command:?} {flag}: {help}");
        }
    }
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let room = Room::new();
    room.file("walk.csv", &walk());
    let id = first_experiment();
    let mut child = room
        .command(&["lab", "run", &id, "--motion", "walk.csv", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), String::new()));
}

#[test]
fn play_says_that_it_needs_a_terminal() {
    for game in ["jet-car", "sailing", "race"] {
        let line = Room::new().refused(&["play", game]);
        assert!(line.contains("needs a terminal"), "{line}");
    }
}

/// Two teams of two that go straight, with a corner each, at 60 Hz.
fn a_small_match() -> String {
    let mut text = String::from("t,entity,team,x,y\n");
    for frame in 0..480 {
        let t = f64::from(frame) / 60.0;
        for player in 0..4 {
            let (way, corner) = (5.0 * t, 15.0 + 5.0 * f64::from(player));
            let (x, y) = (way.min(corner), (way - corner).max(0.0));
            text += &format!("{t:.6},{player},{},{x},{}\n", 1 + player % 2, y + f64::from(player));
        }
    }
    text
}

#[test]
fn predictors_are_scored_on_a_recording() {
    let room = Room::new();
    room.file("match.csv", &a_small_match());
    let output = room.run(&[
        "lab",
        "eval",
        "--trace",
        "match.csv",
        "--predictors",
        "tdm,oaekb",
        "--horizons",
        "500,100",
        "--picture",
        "--json",
    ]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    let rows = json["rows"].as_array().unwrap();
    let named: Vec<_> =
        rows.iter().map(|row| (row["predictor"].as_str().unwrap(), row["horizon_ms"].as_f64())).collect();
    assert_eq!(
        named,
        [
            ("line", Some(100.0)),
            ("line", Some(500.0)),
            ("tdm", Some(100.0)),
            ("tdm", Some(500.0)),
            ("oaekb", None)
        ],
        "the line plays along, horizons ascend, and who lacks something has one row"
    );
    assert_eq!(rows[4]["remark"], "n/a: needs to know the walls");
    assert!(rows[1]["mean"].as_f64() > rows[0]["mean"].as_f64());
    assert_eq!(rows[1]["ratio_to_line"], 1.0);
    let out = room.path().join("fairpath-out/eval");
    for file in
        ["report.html", "eval-1-error.svg", "eval-1-hits.svg", "eval-1-packets.svg", "eval-1-picture-tdm.svg"]
    {
        assert!(out.join(file).is_file(), "{file} is missing");
    }
    room.file(
        "world.txt",
        "low -5 -5 cell 5\n........\n........\n........\n........\n........\n........\n........\n",
    );
    let known = room.run(&[
        "lab",
        "eval",
        "--trace",
        "match.csv",
        "--predictors",
        "oaekb",
        "--world",
        "world.txt",
        "--json",
    ]);
    let json: Value = serde_json::from_slice(&known.stdout).unwrap();
    assert_eq!(
        json["rows"].as_array().unwrap().len(),
        14,
        "with walls it has seven horizons, as the line has"
    );
}

#[test]
fn the_adaptive_predictor_is_held_against_all_others() {
    let room = Room::new();
    room.file("match.csv", &a_small_match());
    let eval = ["lab", "eval", "--trace", "match.csv", "match.csv", "--claims"];
    let output = room.run(&[&eval[..], &["--json"]].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["command"], "fairpath lab eval --trace match.csv match.csv --claims");
    let rows = json["rows"].as_array().unwrap();
    assert_eq!(
        rows.len(),
        2 * (2 * 9 + 1),
        "seven horizons, hits and packets in both modes, and live packets"
    );
    for row in rows.iter().filter(|row| row["ratio"].is_number()) {
        let numbers = [&row["ours"], &row["best"], &row["ratio"]].map(|number| number.as_f64().unwrap());
        assert!((numbers[0] / numbers[1] - numbers[2]).abs() < 1e-9, "{row}");
        let is_live = row["mode"] == "live";
        assert_eq!(row["within"] == "yes", numbers[2] <= if is_live { 0.8 } else { 1.02 }, "{row}");
    }
    let claims = json["claims"].as_array().unwrap();
    assert_eq!(claims.len(), 7);
    let worst = rows.iter().filter(|row| row["mode"] == "mean" && row["measure"] == "mean error");
    let worst = worst.map(|row| row["ratio"].as_f64().unwrap()).fold(0.0, f64::max);
    assert_eq!(claims[0]["measured"].as_f64(), Some(worst), "a claim is as good as its worst row");
    assert!(room.path().join("fairpath-out/claims/ap-mean.svg").is_file());
    assert_eq!(
        room.run(&[&eval[..], &["--picture"]].concat()).status.code(),
        Some(2),
        "pictures are another question"
    );
}

#[test]
fn numbers_are_chosen_without_the_recording_they_are_judged_on() {
    let room = Room::new();
    room.file("match.csv", &a_small_match());
    room.file("again.csv", &a_small_match());
    let output = room.run(&["lab", "tune", "--trace", "match.csv", "again.csv", "--json"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    let rows = json["rows"].as_array().unwrap();
    let left_out: Vec<&str> = rows.iter().map(|row| row["left_out"].as_str().unwrap()).collect();
    assert_eq!(left_out, ["match.csv", "again.csv", "nothing"]);
    // The two are the same match, so whichever is left out, the other one says the same.
    let chosen = |row: &Value| {
        let mut row = row.as_object().unwrap().clone();
        row.remove("left_out");
        row
    };
    assert_eq!(chosen(&rows[0]).len(), 9);
    assert_eq!(chosen(&rows[0]), chosen(&rows[1]));
    assert_eq!(json["claims"].as_array().unwrap().len(), 6);
    assert!(room.refused(&["lab", "tune", "--trace", "match.csv"]).contains("give two or more"));
}

#[test]
fn packets_are_counted_beside_the_fewest_there_could_be() {
    let room = Room::new();
    room.file("match.csv", &a_small_match());
    let output =
        room.run(&["lab", "packets", "--trace", "match.csv", "match.csv", "--threshold", "0.5", "--json"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packets = |model: &str| {
        let rows = json["rows"].as_array().unwrap();
        rows.iter().find(|row| row["model"] == model).unwrap()["packets"].clone()
    };
    assert_eq!(packets("optimum, free start"), 8, "two legs for each of four");
    assert_eq!(packets("optimum, pinned start"), 8);
    assert_eq!(packets("line"), 8);
    assert_eq!(packets("ekb"), Value::Null);
}

#[test]
fn what_cannot_be_scored_is_refused_in_one_line() {
    let room = Room::new();
    room.file("match.csv", &a_small_match());
    room.file("still.csv", "t,entity,team,x,y\n0,a,1,0,0\n0.05,a,1,0,0\n0.1,a,1,0,0\n0.15,a,1,0,0\n");
    room.file("bad.xml", "<Session><Oops/>");
    room.file("bad-world.txt", "nothing");
    let with =
        |rest: &[&'static str]| room.refused(&[&["lab", "eval", "--trace", "match.csv"], rest].concat());
    let wizard = ["lab", "eval", "--trace", "match.csv", "--predictors", "line,wizard"];
    assert!(room.rejected(&wizard).contains("hybrid-oaekb"), "the right names are listed");
    assert!(with(&["--horizons", "300,9000"]).contains("5000"));
    assert!(with(&["--horizons", "1"]).contains("17"));
    assert!(with(&["--hit-radius", "-1"]).contains("above 0"));
    assert!(with(&["--threshold", "none"]).contains("above 0"));
    assert!(with(&["--world", "bad-world.txt"]).contains("low -40 -20 cell 2.5"));
    assert!(room.refused(&["lab", "eval", "--trace", "still.csv"]).contains("no player moves"));
    assert!(room.refused(&["lab", "eval", "--trace", "bad.xml"]).contains("bad.xml"));
    assert!(room.refused(&["lab", "packets", "--trace", "none.csv"]).contains("no such file"));
}

#[test]
fn a_bzflag_proxy_refuses_bad_input_and_runs_without_players() {
    let room = Room::new();
    let to = ["bzflag", "--to", "127.0.0.1:5155"];
    let with = |more: &[&'static str]| [&to[..], more].concat();
    assert!(room.refused(&["bzflag", "--to", "nowhere"]).contains("--to nowhere: give HOST:PORT"));
    assert!(room.refused(&with(&["--listen", "127.0.0.1:5155"])).contains("the proxy's own address"));
    assert!(room.refused(&with(&["--budget", "0"])).contains("--budget 0"));
    assert!(room.refused(&with(&["--record", "match.txt"])).contains(".parquet or .csv"));
    assert!(room.refused(&with(&["--scheduler", "every-nth"])).contains("every-nth:3"));
    assert!(room.rejected(&with(&["--scheduler", "nobody"])).contains("error-index"));
    let ran = room.run(&with(&["--listen", "127.0.0.1:0", "--for", "1s", "--json", "--record", "match.csv"]));
    let json: Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!(json["players"], Value::Array(Vec::new()));
    assert!(room.names().contains(&"match.csv".to_owned()));
}
