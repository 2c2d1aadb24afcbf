//! Goal: a recorded match is the match that was played, in either format, and a file that is not
//! one is refused in one line. Method: record small matches into an empty directory, open and
//! replay what was written, and break it.

#[path = "common/names.rs"]
mod names;

use std::fs;
use std::path::{Path, PathBuf};

use fairpath_eval::recording::{Format, LengthUnit, Recording};
use fairpath_experiments::experiment::Silent;
use fairpath_experiments::files::open_recording;
use fairpath_experiments::record::{TanksMatch, Written};
use fairpath_experiments::table::Table;
use fairpath_experiments::trace::{TraceRow, read_states};
use fairpath_games::shared::{InputLog, state_rows};
use fairpath_games::tanks::{Ground, TANKS_MAX, Tanks, TanksConfig};
use fairpath_laws::law;
use fairpath_laws::proptest::prelude::*;
use fairpath_sim::trace::{InputRow, Metadata, StateRow, Trace};
use names::names_in;
use tempfile::TempDir;

const MATCH: TanksMatch = TanksMatch { seed: 7, secs: 25, players: 5, boxes: 6 };
const FILES: [&str; 2] = ["tanks.parquet", "tanks.csv"];

fn record(name: &str) -> (TempDir, PathBuf, Written) {
    let room = tempfile::tempdir().unwrap();
    let path = room.path().join("new/folder").join(name);
    let written = MATCH.record(&path, &Silent).unwrap();
    (room, path, written)
}

/// Everything the files of a recording hold.
fn read_back(path: &Path) -> Trace {
    let bytes = |ending: &str| fs::read(path.with_extension(ending)).unwrap();
    if path.extension().unwrap() == "parquet" {
        let (metadata, states) = read_states(bytes("parquet")).unwrap();
        let inputs = Table::from_parquet(bytes("inputs.parquet")).unwrap();
        Trace { metadata, states, inputs: InputRow::from_table(&inputs).unwrap(), ..Trace::default() }
    } else {
        Trace {
            metadata: Metadata::from_csv(&bytes("metadata.csv")).unwrap(),
            states: StateRow::from_csv(&bytes("csv")).unwrap(),
            inputs: InputRow::from_csv(&bytes("inputs.csv")).unwrap(),
            ..Trace::default()
        }
    }
}

/// Who was where, when, and how fast, to the bit.
type Place = (u32, i64, [u64; 6]);

fn places_of(states: &[StateRow]) -> Vec<Place> {
    let place = |row: &StateRow| {
        let numbers = [row.x, row.y, row.z, row.vx, row.vy, row.vz];
        (row.entity, row.t_us, numbers.map(f64::to_bits))
    };
    let mut places: Vec<Place> = states.iter().map(place).collect();
    places.sort_unstable();
    places
}

fn places_in(recording: &Recording) -> Vec<Place> {
    let mut places = Vec::new();
    for stretch in &recording.stretches {
        let entity: u32 = recording.entities[stretch.entity].name.parse().unwrap();
        for sample in stretch.samples() {
            let (p, v) = (sample.position, sample.velocity);
            let numbers = [p.x, p.y, p.z, v.x, v.y, v.z];
            places.push((entity, sample.at.as_micros(), numbers.map(f64::to_bits)));
        }
    }
    places.sort_unstable();
    places
}

#[test]
fn what_was_written_is_what_was_played() {
    for name in FILES {
        let (_room, path, written) = record(name);
        assert_eq!(read_back(&path), written.trace);
        let recording = open_recording(&path).unwrap().recording;
        let places = places_of(&written.trace.states);
        // A shot that hits at once is seen once: too short for a stretch.
        let kept = places_in(&recording);
        assert!(
            kept.len() + 10 > places.len() && kept.iter().all(|place| places.binary_search(place).is_ok())
        );
        assert_eq!((recording.format, recording.unit), (Format::Trace, LengthUnit::GameUnits));
        assert!(recording.is_flat());
    }
}

#[test]
fn both_formats_are_one_recording_and_come_from_the_seed_alone() {
    let [parquet, csv] = FILES.map(|name| {
        let (_room, path, written) = record(name);
        (open_recording(&path).unwrap().recording, written.trace.digest())
    });
    assert_eq!(parquet, csv);
}

#[test]
fn the_files_replay_to_the_states_they_hold() {
    for name in FILES {
        let (_room, path, _) = record(name);
        let trace = read_back(&path);
        let ground = Ground::Generated { boxes: MATCH.boxes };
        let config = TanksConfig { tanks: [3, 2], ground, ..TanksConfig::default() };
        let log = InputLog::<Tanks>::from_trace(config, &trace).unwrap();
        let mut replay = log.replay().unwrap();
        let mut states: Vec<StateRow> = state_rows(replay.game()).collect();
        while replay.step() {
            states.extend(state_rows(replay.game()));
        }
        // As text, where −0 is not 0.
        assert_eq!(StateRow::to_csv(&states).unwrap(), StateRow::to_csv(&trace.states).unwrap());
    }
}

#[test]
fn lives_cut_and_shots_are_no_players() {
    let (_room, path, written) = record("tanks.parquet");
    let recording = open_recording(&path).unwrap().recording;
    let players: Vec<&str> = { recording.entities.iter() }
        .filter(|entity| entity.is_player)
        .map(|entity| entity.name.as_str())
        .collect();
    assert_eq!(players, ["0", "1", "2", "3", "4"]);
    assert!(recording.entities.len() > 5, "somebody fired");
    let lives = written.trace.states.iter().filter(|row| row.entity < TANKS_MAX && row.is_break).count();
    assert!(lives > 5, "somebody was hit");
    assert_eq!(recording.players().count(), lives, "one stretch per life, cut where it began");
}

#[test]
fn headings_and_turn_rates_are_those_of_the_tanks() {
    let (_room, path, _) = record("tanks.parquet");
    let recording = open_recording(&path).unwrap().recording;
    let turn_rate_max = TanksConfig::default().turn_rate_max;
    for sample in recording.players().flat_map(|stretch| stretch.samples()) {
        let turn_rate = sample.facing.unwrap().turn_rate;
        assert!(turn_rate.abs() <= turn_rate_max * (1.0 + 1e-9), "{sample:?}");
    }
    let turning = recording.players().flat_map(|stretch| stretch.samples());
    assert!({ turning }.any(|sample| sample.facing.unwrap().turn_rate > 0.99 * turn_rate_max));
}

#[test]
fn states_as_text_are_a_recording_by_themselves() {
    let (_room, path, _) = record("tanks.csv");
    fs::remove_file(path.with_extension("metadata.csv")).unwrap();
    let recording = open_recording(&path).unwrap().recording;
    assert_eq!(recording.unit, LengthUnit::Metres, "nobody says otherwise");
    assert!(recording.entities.iter().all(|entity| entity.is_player));
    fs::write(path.with_extension("breaks.csv"), "t,entity,reason\n1.0,0,jump\n").unwrap();
    let cut = open_recording(&path).unwrap().recording;
    assert_eq!(cut.stretches.len(), recording.stretches.len() + 1);
}

#[test]
fn only_the_match_is_left_behind_and_another_recording_replaces_it_whole() {
    let (_room, path, _) = record("tanks.csv");
    let folder = path.parent().unwrap();
    assert_eq!(names_in(folder), ["tanks.csv", "tanks.inputs.csv", "tanks.metadata.csv"]);
    let before = fs::read(&path).unwrap();
    TanksMatch { seed: 8, secs: 1, ..MATCH }.record(&path, &Silent).unwrap();
    assert_eq!(names_in(folder), ["tanks.csv", "tanks.inputs.csv", "tanks.metadata.csv"]);
    assert_ne!(fs::read(&path).unwrap(), before);
    assert_eq!(read_back(&path).metadata.seed, 8);
}

#[test]
fn what_cannot_be_recorded_is_refused_before_the_first_tick() {
    let room = tempfile::tempdir().unwrap();
    let refused = |game: TanksMatch, name: &str| {
        let line = game.record(&room.path().join(name), &Silent).unwrap_err().to_string();
        assert_eq!(names_in(room.path()), Vec::<String>::new());
        line.rsplit('/').next().unwrap().to_owned()
    };
    for name in ["tanks.xlsx", "tanks", ".csv"] {
        assert_eq!(
            refused(MATCH, name),
            format!("{name}: the name of a recording ends in .parquet or .csv; rename it with --out")
        );
    }
    let cases = [
        (TanksMatch { players: 65, ..MATCH }, "tanks must be between 0 and 64; pass fewer --players"),
        (TanksMatch { boxes: 129, ..MATCH }, "too many boxes; pass --boxes of 128 or fewer"),
        (
            TanksMatch { secs: 100_000, ..MATCH },
            "too long to be read again; with so many players record at most 3833 seconds",
        ),
        (TanksMatch { players: 0, ..MATCH }, "nothing to record; pass --seconds and --players of 1 or more"),
    ];
    for (game, line) in cases {
        assert_eq!(refused(game, "tanks.csv"), line);
    }
    fs::create_dir(room.path().join("tanks.csv")).unwrap();
    let in_the_way = MATCH.record(&room.path().join("tanks.csv"), &Silent).unwrap_err().to_string();
    assert!(
        in_the_way.ends_with("tanks.csv: this is a directory; name a file in it with --out"),
        "{in_the_way}"
    );
}

fn error_of(path: &Path) -> String {
    let line = open_recording(path).unwrap_err().to_string();
    assert!(!line.contains(char::is_control), "one line: {line:?}");
    line.strip_prefix(path.parent().unwrap().to_str().unwrap())
        .expect("an error starts with the file")
        .to_owned()
}

#[test]
fn broken_text_names_row_and_column() {
    let room = tempfile::tempdir().unwrap();
    let path = room.path().join("bad.csv");
    let header = StateRow::COLUMNS.join(",");
    let row = |kind: &str, x: &str, is_break: &str| {
        format!("{header}\n0,1,0,{kind},,{x},0,0,0,0,0,1,0,0,0,{is_break}\n")
    };
    let cases = [
        (
            row("ghost", "0", "0"),
            "row 2, column kind: `ghost` is no kind of state: write truth, exported, placed or drawn",
        ),
        (
            row("truth", "NaN", "0"),
            "row 2, column x: `NaN` is not finite: remove the row, the motion is then cut there if the gap is long",
        ),
        (row("truth", "east", "0"), "row 2, column x: `east` is not a number: write one such as -12.5"),
        (
            row("truth", "1e300", "0"),
            "row 2, column x: 1e300 is beyond ±1e9: use the world's own units, from an origin in it",
        ),
        (row("truth", "0", "yes"), "row 2, column break: `yes` is not a whole number: write 0, 1, 2, …"),
        (row("placed", "0", "0"), "there is a header but no motion below it: record some first"),
        (header.replace("qw,", ""), "row 1, column qw: missing: add it to the header and to every row"),
        (
            InputRow::to_csv(&[]).unwrap(),
            "row 1: unknown header `t_us,player,entity,sequence,buttons,axis_0,axis_1,axis_2,axis_3`: the first line must \
             be `t,entity,team,x,y`, BZFlag's `t_ms,player,…` or a trace's `t_us,entity,life,kind,…`",
        ),
    ];
    for (text, expected) in cases {
        fs::write(&path, text).unwrap();
        assert_eq!(error_of(&path), format!("/bad.csv: {expected}"));
    }
}

#[test]
fn broken_metadata_is_named() {
    let (_room, path, _) = record("tanks.csv");
    let text = fs::read_to_string(path.with_extension("metadata.csv")).unwrap();
    fs::write(path.with_extension("metadata.csv"), text.replace(",60,", ",often,")).unwrap();
    assert_eq!(
        error_of(&path),
        "/tanks.metadata.csv: row 2, column tick_rate_hz: not a number that fits; record it again, or remove this file"
    );
}

#[test]
fn other_and_broken_parquet_is_refused() {
    let (_room, path, _) = record("tanks.parquet");
    let inputs = error_of(&path.with_extension("inputs.parquet"));
    assert_eq!(
        inputs,
        "/tanks.inputs.parquet: no column or note life of the kind a trace has; pass the states of a trace, or record it \
         again"
    );
    let bytes = fs::read(&path).unwrap();
    for end in [4, 100, bytes.len() / 2, bytes.len() - 1] {
        fs::write(&path, &bytes[..end]).unwrap();
        let line = error_of(&path);
        assert!(line.starts_with("/tanks.parquet: not a table fairpath can read: "), "{line}");
    }
}

#[test]
fn parquet_that_holds_nonsense_names_row_and_column() {
    let room = tempfile::tempdir().unwrap();
    let path = room.path().join("odd.parquet");
    let good = StateRow { qw: 1.0, ..StateRow::default() };
    let odd = StateRow { t_us: 16_666, vy: f64::NAN, ..good };
    let table = StateRow::to_table(&[good, odd], &Metadata::default()).unwrap();
    fs::write(&path, table.to_parquet().unwrap()).unwrap();
    assert_eq!(
        error_of(&path),
        "/odd.parquet: row 2, column vy: `NaN` is not finite: remove the row, the motion is then cut there if the gap is \
         long"
    );
}

#[test]
fn parquet_with_some_bytes_changed_is_read_or_refused() {
    let trace = TanksMatch { secs: 1, ..MATCH }.play(&Silent).unwrap();
    let good = StateRow::to_table(&trace.states, &trace.metadata).unwrap().to_parquet().unwrap();
    let change = (any::<prop::sample::Index>(), any::<u8>());
    law!((prop::collection::vec(change, 1..6), any::<bool>()), |(changes, only_the_footer)| {
        let mut bytes = good.clone();
        let from = if only_the_footer { good.len() * 9 / 10 } else { 0 };
        for (place, byte) in changes {
            let place = from + place.index(bytes.len() - from);
            bytes[place] = byte;
        }
        if let Err(error) = read_states(bytes) {
            let line = error.to_string();
            prop_assert!(!line.contains(char::is_control), "one line: {:?}", line);
        }
        Ok(())
    });
}

/// Every game of bots is recorded, its recording is read as any other, and its inputs replay to the
/// bit; a predictor is scored on it.
#[test]
fn every_game_is_recorded_replayed_and_evaluated() {
    use fairpath_eval::candidates::{self, MatchSetup};
    use fairpath_eval::evaluate::{Question, Summary, score};
    use fairpath_eval::play::Play;
    use fairpath_experiments::record::BotsMatch;
    use fairpath_games::GameChoice;
    use fairpath_games::race::{Course, Race, RaceConfig, Track};
    use fairpath_games::shared::InputLog;

    for game in GameChoice::ALL {
        let recorded = BotsMatch { game, seed: 5, secs: 20 };
        let trace = recorded.play().unwrap();
        assert_eq!(trace.states, recorded.play().unwrap().states, "{game}: the same again");
        let recording =
            fairpath_eval::recording::from_trace(game.name(), &trace.metadata, &trace.states).unwrap();
        let play = Play::from_recording(&recording);
        let setup = MatchSetup::of(&play);
        assert!(setup.top_speed > 0.0, "{game}: something moves");
        let question = Question::new(vec![18], setup.hit_radius(), setup.hit_radius()).unwrap();
        let summary = Summary::of(&score(&play, &mut *candidates::all()[0].make(&setup), &question).unwrap());
        assert!(summary.horizons[0].predictions > 100, "{game}");
    }
    let trace = BotsMatch { game: GameChoice::Race, seed: 5, secs: 20 }.play().unwrap();
    let config = RaceConfig { laps: None, ..RaceConfig::default() };
    let course = Course { track: std::sync::Arc::new(Track::generated(5)), config };
    let log = InputLog::<Race>::from_trace(course, &trace).unwrap();
    let replayed = log.to_trace().unwrap();
    assert_eq!(replayed.states, trace.states);
}
