//! Goal: no file makes a reader take more than 512 MiB or run without end. Method: files that
//! unpack to far more than they are, and a thousand mutants of an honest file of each kind, read in
//! a process that the system kills at 512 MiB.
//!
//! `FAIRPATH_BOMBS=FOLDER cargo nextest run -p fairpath-experiments bombs` also writes the bombs to
//! a folder, to throw them at another program.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use fairpath::random::Random;
use fairpath_eval::candidates::MatchSetup;
use fairpath_eval::evaluate::{Question, score};
use fairpath_experiments::dis_check;
use fairpath_experiments::files::{open_recording, open_rtt_trace, read};
use fairpath_experiments::laps::open_laps;
use fairpath_experiments::prediction::{open, open_world};
use fairpath_experiments::table::{Column, Table};
use fairpath_experiments::trace::{TraceFormat, to_files};
use fairpath_games::ethereal::{EtherealConfig, Match};
use fairpath_sim::trace::{Metadata, StateRow, Trace};
use flate2::Compression;
use flate2::write::GzEncoder;
use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;

/// The limit of memory, in KiB as `ulimit` counts.
const MEMORY_KIB_MAX: u32 = 512 << 10;
const MUTANTS: u64 = 1_000;
/// Set in the process with the limit: the folder with the files.
const INSIDE: &str = "FAIRPATH_INSIDE_THE_LIMIT";

/// Runs a test of this file again in a process with the limit. `make` writes the files before,
/// because the limit is for reading them. Inside, the folder with the files is returned.
fn inside_limit(test: &str, make: impl FnOnce(&Path)) -> Option<PathBuf> {
    if let Some(folder) = std::env::var_os(INSIDE) {
        return Some(folder.into());
    }
    let scratch = tempfile::tempdir().expect("a folder");
    let folder = std::env::var_os("FAIRPATH_BOMBS").map_or_else(|| scratch.path().into(), PathBuf::from);
    fs::create_dir_all(&folder).expect("a folder");
    make(&folder);
    let output = Command::new("sh")
        .args(["-c", "ulimit -d \"$0\" && exec \"$@\"", &MEMORY_KIB_MAX.to_string()])
        .arg(std::env::current_exe().expect("this program"))
        .args(["--exact", test, "--nocapture"])
        .env(INSIDE, &folder)
        .output()
        .expect("there is a shell");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{test}: {}\n{said}", output.status);
    assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"), "{test} ran");
    None
}

fn gzipped(bytes: &[u8]) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(bytes).expect("memory");
    packed.finish().expect("memory")
}

/// Gzip members one after the other unpack to one text.
fn repeated(first: &str, again: &str, times: usize, last: &str) -> Vec<u8> {
    [gzipped(first.as_bytes()), gzipped(again.as_bytes()).repeat(times), gzipped(last.as_bytes())].concat()
}

/// A file of 700 bytes with a dictionary of words.
fn small_parquet() -> Vec<u8> {
    let words = ["truth", "placed"].map(String::from).to_vec();
    Table::new().column("kind", Column::Text(words)).to_parquet().expect("a table")
}

/// Replaces the number after `before` by 1 500 million, as Thrift writes it: five bytes for one.
fn with_huge_number(mut file: Vec<u8>, before: &[u8]) -> Vec<u8> {
    let at = file.windows(before.len()).position(|window| window == before).expect("it is there");
    let number = at + before.len();
    file.splice(number..=number, [0x80, 0xBC, 0xC1, 0x96, 0x0B]);
    file
}

/// Says that its dictionary has 1 500 million words: some bytes for each were reserved.
fn parquet_of_many_words() -> Vec<u8> {
    // A struct in field 7; in it field 1, an i32: the number of values, here two.
    with_huge_number(small_parquet(), &[0x4C, 0x15])
}

/// The same in a trace, whose notes and columns are in order.
fn trace_of_many_words() -> Vec<u8> {
    let mut trace = Trace::new(Metadata::new("walk", 7));
    trace.states = vec![StateRow::default(); 2];
    let states = to_files(&trace, "walk", TraceFormat::Parquet).expect("a trace").pop().expect("the states");
    with_huge_number(states.bytes, &[0x4C, 0x15])
}

/// Says that its schema has 1 500 million columns: 12 GB.
fn parquet_of_many_columns() -> Vec<u8> {
    let mut file = with_huge_number(small_parquet(), b"fairpath\x15");
    let tail = file.len() - 8;
    let footer = u32::from_le_bytes(file[tail..tail + 4].try_into().expect("four bytes"));
    file[tail..tail + 4].copy_from_slice(&(footer + 4).to_le_bytes());
    file
}

/// A million rows with one word of twelve kilobytes.
fn parquet_of_long_words() -> Vec<u8> {
    let kind = Type::primitive_type_builder("kind", Physical::BYTE_ARRAY)
        .with_repetition(Repetition::REQUIRED)
        .with_logical_type(Some(LogicalType::String));
    let kind = Arc::new(kind.build().expect("a column"));
    let schema = Type::group_type_builder("fairpath").with_fields(vec![kind]).build().expect("a schema");
    let properties = Arc::new(WriterProperties::builder().build());
    let mut file = SerializedFileWriter::new(Vec::new(), Arc::new(schema), properties).expect("memory");
    let word = ByteArray::from("x".repeat(12_000).into_bytes());
    let mut group = file.next_row_group().expect("a group");
    let mut column = group.next_column().expect("memory").expect("a column");
    let words = vec![word; 1 << 14];
    for _ in 0..64 {
        column.typed::<ByteArrayType>().write_batch(&words, None, None).expect("memory");
    }
    column.close().expect("memory");
    group.close().expect("memory");
    file.into_inner().expect("memory")
}

/// Six million samples of one tank: a sixteenth of the 156 MB that once took 12 GB.
fn long_csv() -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(b"t,entity,team,x,y\n").expect("memory");
    for second in 0..60_000_u32 {
        let rows: String =
            (0..100).map(|row| format!("{second}.{row:02},1,1,{},{}\n", row % 7, second % 10)).collect();
        packed.write_all(rows.as_bytes()).expect("memory");
    }
    packed.finish().expect("memory")
}

/// Five million entities.
fn crowded_csv() -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(b"t,entity,team,x,y\n").expect("memory");
    for thousand in 0..500_u32 {
        let rows: String = (0..1000).map(|one| format!("0,{thousand}x{one},1,0,0\n")).collect();
        packed.write_all(rows.as_bytes()).expect("memory");
    }
    packed.finish().expect("memory")
}

/// Two tanks, three hundred years apart.
fn csv_with_a_pause() -> String {
    let row = |secs: f64, entity: u32| format!("{secs:.2},{entity},1,{},0\n", secs % 60.0);
    let early = (0..100).map(|tick| row(f64::from(tick) * 0.05, 1));
    let late = (0..100).map(|tick| row(9e9 + f64::from(tick) * 0.05, 2));
    std::iter::once("t,entity,team,x,y\n".to_owned()).chain(early).chain(late).collect()
}

fn xml() -> String {
    let mut game = Match::of_bots(EtherealConfig::default(), 7).expect("a match").with_recording();
    (0..120).for_each(|_| game.step());
    game.recording().expect("asked for").to_xml()
}

/// A match of a day in a few kilobytes.
fn long_xml() -> String {
    let text = xml();
    let (before, rest) = text.split_once("<Ticks>").expect("its length");
    let (_, after) = rest.split_once("</Ticks>").expect("its length");
    format!("{before}<Ticks>{}</Ticks>{after}", 24 * 3600 * 60)
}

/// What a reader says to a file, whatever kind it is.
type Read = fn(&Path) -> Result<(), String>;

fn said<T, E: std::fmt::Display>(result: Result<T, E>) -> Result<(), String> {
    result.map(drop).map_err(|error| error.to_string())
}

fn recording(path: &Path) -> Result<(), String> {
    said(open_recording(path)).and_then(|()| said(open(path, None)))
}

fn list(path: &Path) -> Result<(), String> {
    let bytes = read(path).map_err(|error| error.to_string())?;
    said(dis_check::check(&bytes, "vectors.json"))
}

fn table(path: &Path) -> Result<(), String> {
    let bytes = fs::read(path).map_err(|error| error.to_string())?;
    said(Table::from_parquet(bytes))
}

/// A name, the file, its reader, and what the reader says.
type Bomb = (&'static str, fn() -> Vec<u8>, Read, &'static str);

const BOMBS: [Bomb; 11] = [
    ("words.parquet", parquet_of_many_words, table, "claims more words"),
    ("trace-of-words.parquet", trace_of_many_words, recording, "claims more words"),
    ("columns.parquet", parquet_of_many_columns, recording, "claims more than it holds"),
    ("long-words.parquet", parquet_of_long_words, recording, "no column or note"),
    ("objects.json.gz", || repeated("[", &"{},".repeat(1 << 20), 341, "{}]"), list, "larger than 16 MiB"),
    ("values.json.gz", || repeated("[", &"[0],".repeat(1 << 20), 3, "0]"), list, "432 MiB of memory"),
    ("long.csv.gz", long_csv, recording, "432 MiB of memory"),
    ("crowded.csv.gz", crowded_csv, recording, "more than 65536 entities"),
    (
        "one-row.csv.gz",
        || repeated("t,entity,team,x,y\n", &"0".repeat(1 << 20), 1024, "\n"),
        recording,
        "a row of more than 64 KiB",
    ),
    ("long.xml", || long_xml().into_bytes(), |path| said(open(path, None)), "432 MiB of memory"),
    (
        "rtt.csv.gz",
        || repeated("t,rtt_ms\n", &"\n".repeat(1 << 20), 1024, ""),
        |path| said(open_rtt_trace(path)),
        "larger than 16 MiB",
    ),
];

#[test]
fn bombs_are_refused_in_one_line_within_512_mib() {
    let make = |folder: &Path| {
        for (name, make, ..) in BOMBS {
            fs::write(folder.join(name), make()).expect("written");
        }
    };
    let Some(folder) = inside_limit("bombs_are_refused_in_one_line_within_512_mib", make) else { return };
    for (name, _, read, expected) in BOMBS {
        let line = read(&folder.join(name)).expect_err(name);
        assert!(line.contains(expected) && !line.contains('\n'), "{name}: {line}");
    }
}

/// Scoring visits the ticks at which somebody is there, not those of three hundred years.
#[test]
fn a_pause_of_centuries_takes_no_time() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("pause.csv");
    fs::write(&path, csv_with_a_pause()).expect("written");
    let watched = open(&path, None).expect("an honest recording");
    let stage = MatchSetup::of(&watched.play);
    let question = Question::new(vec![18], stage.hit_radius(), stage.hit_radius()).expect("it moves");
    let mut predictor = fairpath_eval::candidates::all()[0].make(&stage);
    let scores = score(&watched.play, predictor.as_mut(), &question).expect("a line needs nothing");
    assert_eq!(scores.len(), 2);
    assert!(scores.iter().all(|player| player.secs > 4.0), "{scores:?}");
}

/// The honest files of each kind, with their readers.
fn honest() -> Vec<(&'static str, Vec<u8>, Read)> {
    let mut csv = String::from("t,entity,team,x,y\n");
    let mut laps = String::from("lap,t,x,y\n");
    let mut trace = Trace::new(Metadata::new("walk", 7));
    for tick in 0..60_i32 {
        let secs = f64::from(tick) * 0.05;
        csv += &format!("{secs},ann,1,{},0\n{secs},\"bo\"\"b\",2,0,{}\n", 4.0 * secs, -secs);
        laps += &format!("{},{secs},{},{}\n", tick / 30, secs.sin(), secs.cos());
        trace.states.push(StateRow {
            t_us: i64::from(tick) * 50_000,
            x: secs,
            vx: 1.0,
            ..StateRow::default()
        });
    }
    let rtt: String = (0..60).map(|row| format!("{},{}\n", f64::from(row) * 0.1, 20 + row % 7)).collect();
    let files = |format| to_files(&trace, "walk", format).expect("a trace").pop().expect("the states").bytes;
    let case = r#"{"id":"a","drm":2,"semantics":"std","primary":true,"p0":[0,0,0],"v0":[1,2,3],"a0":[0,0,0],
        "euler0":[0,0,0],"omega":[0,0,0],"dt":1.5,"expect":{"disp":[1.5,3,4.5],
        "matrix_w2b":[[1,0,0],[0,1,0],[0,0,1]]}}"#;
    vec![
        ("walk.csv", csv.clone().into_bytes(), recording),
        ("packed.csv.gz", gzipped(csv.as_bytes()), recording),
        ("trace.csv", files(TraceFormat::Csv), recording),
        ("trace.parquet", files(TraceFormat::Parquet), recording),
        ("laps.csv", laps.into_bytes(), |path| said(open_laps(path))),
        ("rtt.csv", format!("t,rtt_ms\n{rtt}").into_bytes(), |path| said(open_rtt_trace(path))),
        ("vectors.json", format!("[{case},{case}]").into_bytes(), list),
        ("match.xml", xml().into_bytes(), |path| said(open(path, None))),
        ("world.txt", b"low -5 0 cell 2.5\n####\n#..#\n####\n".to_vec(), |path| said(open_world(path))),
    ]
}

/// Changes some bytes: others, extremes, cuts, repeats, and pieces from elsewhere in the file.
fn mutated(honest: &[u8], random: &mut Random) -> Vec<u8> {
    const EXTREMES: [&[u8]; 10] =
        [b"", b"\0", b"\xFF", b"\x80\x80\x80\x80\x08", b"9999999999", b"-1", b"1e308", b"nan", b"\n", b"\""];
    let mut file = honest.to_vec();
    for _ in 0..=random.below(4) {
        let end = file.len().max(1) as u64;
        let (from, other) = (random.below(end) as usize, random.below(end) as usize);
        let (low, high) = (from.min(other).min(file.len()), from.max(other).min(file.len()));
        match random.below(6) {
            0 if !file.is_empty() => file[low] ^= 1 << random.below(8),
            1 => file.truncate(high),
            2 => drop(file.drain(low..high.min(low + 40))),
            3 => {
                let piece = file[low..high.min(low + 200)].to_vec();
                file.splice(high..high, piece);
            }
            4 => {
                let extreme = EXTREMES[random.below(EXTREMES.len() as u64) as usize];
                file.splice(low..high.min(low + extreme.len()), extreme.iter().copied());
            }
            _ => {
                for byte in file.iter_mut().skip(low).take(4) {
                    *byte = random.bits() as u8;
                }
            }
        }
    }
    file
}

#[test]
fn a_thousand_mutants_of_each_kind_are_read_or_refused_within_512_mib() {
    let test = "a_thousand_mutants_of_each_kind_are_read_or_refused_within_512_mib";
    let Some(folder) = inside_limit(test, |_| {}) else { return };
    for (number, (name, file, read)) in (0..).zip(honest()) {
        let path = folder.join(name);
        fs::write(&path, &file).expect("written");
        assert_eq!(read(&path), Ok(()), "{name}");
        let (mut random, mut refused) = (Random::from_seed(18).fork(number), 0);
        for _ in 0..MUTANTS {
            fs::write(&path, mutated(&file, &mut random)).expect("written");
            if let Err(line) = read(&path) {
                assert!(!line.is_empty() && !line.contains('\n'), "{name}: {line:?}");
                refused += 1;
            }
        }
        assert!(refused > MUTANTS / 10, "{name}: only {refused} mutants were noticed");
    }
}
