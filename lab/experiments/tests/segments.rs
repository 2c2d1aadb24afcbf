//! Goal: a recording that is written in segments is the same as one that is written at once, and
//! one that is interrupted anywhere is read up to its last closed segment. Method: folders as a
//! process leaves them.

use std::fs;
use std::path::{Path, PathBuf};

use fairpath_eval::budget::Budget;
use fairpath_experiments::files::open_recording;
use fairpath_experiments::segments::{
    STATES, SegmentError, SegmentRecorder, folder_beside, folder_of, join, read_table,
};
use fairpath_experiments::table::Table;
use fairpath_experiments::trace::{metadata_of, read_states};
use fairpath_sim::trace::{FollowedRow, Metadata, ModelKind, StateRow, Trace, VectorRow};

/// Half a second of two tanks, from `tick` on.
fn part(tick: i64) -> Trace {
    let mut trace = Trace::default();
    for step in 0..30 {
        let t_us = (tick + step) * 16_667;
        for entity in 0..2 {
            let x = t_us as f64 * 1e-5 + f64::from(entity);
            trace.states.push(StateRow { t_us, entity, x, vx: 10.0, qw: 1.0, ..StateRow::default() });
        }
        if step % 10 == 0 {
            let row = VectorRow {
                t_us,
                generated_us: t_us - 7,
                model: ModelKind::Circular,
                ..VectorRow::default()
            };
            trace.vectors.push(row);
            trace.followed.push(FollowedRow {
                t_us,
                viewer: Some(3),
                generated_us: t_us - 7,
                ..FollowedRow::default()
            });
        }
    }
    trace
}

fn metadata() -> Metadata {
    Metadata { players: Some(2), ..Metadata::new("tanks-seen", 7) }
}

fn recorder(out: &Path, parts: i64) -> SegmentRecorder {
    let recorder = SegmentRecorder::begin(out, &metadata()).expect("a place to write");
    (0..parts).for_each(|number| recorder.put_last(part(30 * number)));
    recorder
}

fn states(parts: i64) -> Vec<StateRow> {
    (0..parts).flat_map(|number| part(30 * number).states).collect()
}

fn scratch() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("seen.parquet");
    (folder, out)
}

fn rows<R: fairpath_experiments::trace::TraceRow + Clone>(out: &Path, table: &str) -> Vec<R> {
    read_table(out, table, &Budget::default()).expect("readable")
}

#[test]
fn joined_segments_are_the_recording() {
    for name in ["seen.parquet", "seen.csv"] {
        let folder = tempfile::tempdir().expect("a folder");
        let out = folder.path().join(name);
        let written = recorder(&out, 5).finish().expect("room");
        assert_eq!((written.segments, written.states), (5, 300));
        assert_eq!(rows::<StateRow>(&out, STATES), states(5), "{name}");
        assert_eq!(rows::<VectorRow>(&out, "vectors").len(), 15, "{name}");
        assert_eq!(rows::<FollowedRow>(&out, "followed").len(), 15, "{name}");
        assert!(rows::<VectorRow>(&out, "sends").is_empty(), "{name}");
        let left: Vec<_> =
            fs::read_dir(folder.path()).expect("a folder").flatten().map(|entry| entry.path()).collect();
        assert!(left.iter().all(|path| path.is_file()), "no segments are left: {left:?}");
        assert_eq!(open_recording(&out).expect("a recording").recording.entities.len(), 2, "{name}");
    }
}

#[test]
fn an_interrupted_recording_is_read_up_to_its_last_closed_segment() {
    let (_keep, out) = scratch();
    drop(recorder(&out, 3));
    let segments = folder_of(&out);
    // As a process leaves them that is killed while it writes: a file that is not whole, and a
    // segment whose states are still missing.
    fs::write(segments.join(".000004.vectors.parquet.partial"), b"PAR1").expect("written");
    fs::copy(segments.join("000003.vectors.parquet"), segments.join("000004.vectors.parquet"))
        .expect("copied");
    assert_eq!(rows::<StateRow>(&out, STATES), states(3));
    assert_eq!(rows::<VectorRow>(&out, "vectors").len(), 9);
    let whole = open_recording(&out).expect("a recording").recording;
    assert_eq!(whole, open_recording(&segments).expect("by its folder").recording);
    assert!((whole.secs() - 2.0 * 89.0 * 0.016_667).abs() < 1e-9);
    assert_eq!(join(&out).expect("room").states, 180);
    assert_eq!(folder_beside(&out), None);
    let (about, joined) = read_states(fs::read(&out).expect("written")).expect("a trace");
    assert_eq!((about, joined), (metadata(), states(3)));
    assert_eq!(whole, open_recording(&out).expect("joined").recording);
}

#[test]
fn a_recording_can_be_read_before_its_first_row() {
    let (_keep, out) = scratch();
    let recorder = SegmentRecorder::begin(&out, &metadata()).expect("a place to write");
    assert!(rows::<StateRow>(&out, STATES).is_empty());
    let first = fs::read(folder_of(&out).join("000000.states.parquet")).expect("it is there");
    assert_eq!(metadata_of(&Table::from_parquet(first).expect("a table")).expect("notes"), metadata());
    let error = open_recording(&out).expect_err("nothing moves").to_string();
    assert!(error.contains("record some"), "{error}");
    recorder.discard();
    assert_eq!(folder_beside(&out), None);
}

#[test]
fn segments_of_an_interrupted_recording_are_never_overwritten() {
    let (_keep, out) = scratch();
    fs::write(&out, b"an older recording").expect("written");
    drop(recorder(&out, 2));
    assert_eq!(rows::<StateRow>(&out, STATES).len(), 120, "newer than the file of that name");
    let error = SegmentRecorder::begin(&out, &metadata()).expect_err("they are in the way");
    assert!(matches!(error, SegmentError::Interrupted { .. }));
    assert!(error.to_string().contains("fairpath lab join"), "{error}");
    assert_eq!(rows::<StateRow>(&out, STATES).len(), 120);
}

/// The disk is full, or gone: the segment that fails is told once, and those before it stay.
#[test]
fn what_cannot_be_written_stops_the_recording_and_keeps_what_is_there() {
    let (_keep, out) = scratch();
    let recorder = recorder(&out, 2);
    // A folder where the next file should be.
    fs::create_dir(folder_of(&out).join("000003.followed.parquet")).expect("a folder");
    recorder.put_last(part(60));
    recorder.put_last(part(90));
    let error = recorder.finish().expect_err("it could not be written");
    assert!(matches!(error, SegmentError::Write { .. }), "{error}");
    let line = error.to_string();
    assert!(line.contains("has stopped") && line.contains("kept in") && !line.contains('\n'), "{line}");
    assert_eq!(rows::<StateRow>(&out, STATES), states(2));
}

#[test]
fn a_table_that_cannot_be_read_is_one_line_with_the_row_of_the_file() {
    let (_keep, out) = scratch();
    let read = |out: &Path| read_table::<StateRow>(out, STATES, &Budget::default()).expect_err("refused");
    let missing = read(&out);
    assert!(missing.ends_with("seen.parquet: no such file; check the path"), "{missing}");
    let text = out.with_extension("csv");
    let row = "0,7,0,truth,,0,0,0,4,0,0,1,0,0,0,0\n";
    let header = "t_us,entity,life,kind,viewer,x,y,z,vx,vy,vz,qw,qx,qy,qz,break\n";
    fs::write(&text, format!("{header}{}{}", row.repeat(9_000), row.replace("truth", "true")))
        .expect("written");
    let broken = read(&text);
    assert!(broken.contains("seen.csv: row 9002, column kind: ") && !broken.contains('\n'), "{broken}");
    fs::write(&out, b"# A page of the book\n").expect("written");
    let other = read(&out);
    assert!(other.contains("; pass a recording") && !other.contains('\n'), "{other}");
}
