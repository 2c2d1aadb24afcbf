//! Goal: recordings open whether packed or not, with their breaks, and what cannot be opened says
//! so in one line.

use std::fs;
use std::io::Write;
use std::path::Path;

use fairpath_experiments::files::open_recording;
use flate2::Compression;
use flate2::write::GzEncoder;

fn walk() -> String {
    let rows = (0..20).map(|frame| format!("{:.2},a,1,{frame},0\n", 0.02 * f64::from(frame)));
    std::iter::once("t,entity,team,x,y\n".to_owned()).chain(rows).collect()
}

fn gzipped(text: &str) -> Vec<u8> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::default());
    packer.write_all(text.as_bytes()).unwrap();
    packer.finish().unwrap()
}

fn error_of(path: &Path) -> String {
    let line = open_recording(path).unwrap_err().to_string();
    line.strip_prefix(path.to_str().unwrap()).expect("an error starts with the file").to_owned()
}

#[test]
fn a_recording_is_unpacked_by_what_is_in_it_not_by_its_name() {
    let room = tempfile::tempdir().unwrap();
    let plain = room.path().join("plain.csv.gz");
    fs::write(&plain, walk()).unwrap();
    let packed = room.path().join("packed.csv");
    fs::write(&packed, gzipped(&walk())).unwrap();
    let (plain, packed) = (open_recording(&plain).unwrap(), open_recording(&packed).unwrap());
    assert_eq!(plain.recording, packed.recording);
    assert_eq!(packed.file, "packed.csv");
}

#[test]
fn breaks_are_found_beside_the_recording() {
    let room = tempfile::tempdir().unwrap();
    let path = room.path().join("walk.csv.gz");
    fs::write(&path, gzipped(&walk())).unwrap();
    assert_eq!(open_recording(&path).unwrap().recording.stretches.len(), 1);
    fs::write(room.path().join("walk.breaks.csv.gz"), gzipped("t,entity,reason\n0.20,a,respawn\n")).unwrap();
    assert_eq!(open_recording(&path).unwrap().recording.stretches.len(), 2);
    fs::write(room.path().join("walk.breaks.csv.gz"), gzipped("t,who\n")).unwrap();
    let error = open_recording(&path).unwrap_err().to_string();
    assert!(error.ends_with(
        "walk.breaks.csv.gz: row 1, column entity: missing: add it to the header and to every row"
    ));
}

#[test]
fn what_cannot_be_opened_says_so_in_one_line() {
    let room = tempfile::tempdir().unwrap();
    let path = room.path().join("walk.csv.gz");
    assert_eq!(error_of(&path), ": no such file; check the path");
    assert_eq!(error_of(room.path()), ": this is a directory; pass a file in it");
    let packed = gzipped(&walk());
    fs::write(&path, &packed[..packed.len() / 2]).unwrap();
    assert!(error_of(&path).starts_with(": broken gzip ("));
    fs::write(&path, "").unwrap();
    assert_eq!(error_of(&path), ": the file is empty: record some motion first");
    fs::write(&path, gzipped("")).unwrap();
    assert_eq!(error_of(&path), ": the file is empty: record some motion first");
}
