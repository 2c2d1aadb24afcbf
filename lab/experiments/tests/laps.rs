//! Goal: laps are judged by lines that never saw them, packed or not, and what cannot be judged
//! says so in one line.

use std::fs;
use std::io::Write as _;

use fairpath_eval::recording::RecordedLap;
use fairpath_experiments::experiment::{Experiment, Settings, Silent};
use fairpath_experiments::judge::Verdict;
use fairpath_experiments::laps::{Drives, LapFile, LapTrial, open_laps};
use fairpath_predict::LapShape;
use flate2::Compression;
use flate2::write::GzEncoder;

/// Laps round an ellipse of half a kilometre, each a little wider or narrower, faster on the long
/// sides.
fn laps(count: u32) -> String {
    let mut text = String::from("lap,t,x,y\n");
    for lap in 0..count {
        let size = 1.0 + 0.01 * f64::from(lap % 3);
        let mut turn: f64 = 0.0;
        for tick in 0..2000 {
            let t = f64::from(tick) / 60.0;
            let (x, y) = (110.0 * size * turn.cos(), 50.0 * size * turn.sin());
            text += &format!("{lap},{t:.4},{x:.4},{y:.4}\n");
            turn += (0.2 + 0.1 * turn.sin().abs() + 0.005 * f64::from(lap % 2)) / 60.0;
            if turn >= std::f64::consts::TAU {
                break;
            }
        }
    }
    text
}

fn file(count: u32) -> LapFile {
    let room = tempfile::tempdir().unwrap();
    let path = room.path().join("ellipse.csv.gz");
    let mut packer = GzEncoder::new(Vec::new(), Compression::default());
    packer.write_all(laps(count).as_bytes()).unwrap();
    fs::write(&path, packer.finish().unwrap()).unwrap();
    open_laps(&path).unwrap()
}

#[test]
fn no_lap_teaches_its_own_judge() {
    let drives = Drives::recorded(&file(4), None).unwrap();
    assert_eq!(drives.shape, LapShape::Circuit);
    for judged in 0..4 {
        let teachers = drives.teachers(judged);
        assert_eq!(teachers.len(), 3);
        assert!(teachers.iter().all(|lap| lap.name != drives.judged()[judged].name));
    }
    let file = file(4);
    let separate = Drives::learned_and_judged("a", LapShape::Circuit, &file.laps[..3], &file.laps[3..]);
    assert_eq!((separate.teachers(0).len(), separate.judged().len()), (3, 1));
}

#[test]
fn what_is_left_out_has_no_part_in_the_line() {
    let mut changed = file(4);
    let real = Drives::recorded(&changed, None).unwrap();
    for (_, place) in &mut changed.laps[2].samples {
        place.x *= 1.5;
    }
    let changed = Drives::recorded(&changed, None).unwrap();
    let line = |drives: &Drives, judged: usize| drives.line(&drives.teachers(judged)).unwrap();
    assert_eq!(line(&real, 2), line(&changed, 2));
    assert_ne!(line(&real, 1), line(&changed, 1));
}

#[test]
fn a_trial_has_every_number_and_judges_both_claims() {
    let trial = LapTrial { files: vec![file(3)], horizons_ms: vec![300.0, 50.0], rate_max: None };
    let outcome = trial.run(&Settings::default(), &Silent).unwrap();
    assert_eq!(outcome.rows.len(), 9 * 2);
    assert_eq!(outcome.headline.as_ref().map(|rows| rows.len()), Some(9));
    let verdicts: Vec<Verdict> = outcome.claims.iter().map(|claim| claim.judgement.verdict).collect();
    assert_eq!(verdicts, [Verdict::Held, Verdict::Held], "{:?}", outcome.claims);
    assert_eq!(outcome.figures.len(), 6);
}

#[test]
fn what_cannot_be_judged_says_so() {
    let trial = |files: Vec<LapFile>, horizons_ms: Vec<f64>| {
        let trial = LapTrial { files, horizons_ms, rate_max: None };
        trial.run(&Settings::default(), &Silent).unwrap_err().to_string()
    };
    assert_eq!(
        trial(vec![file(2)], vec![50.0]),
        "ellipse.csv.gz: only 2 usable laps; give 3 or more, with samples at most 250 ms apart"
    );
    assert_eq!(
        trial(vec![file(3)], vec![9000.0]),
        "these horizons cannot be asked for; give milliseconds from 17 to 5000, such as 50,100,300"
    );
    let mut short = file(3);
    short.laps.iter_mut().for_each(|lap: &mut RecordedLap| lap.samples.truncate(60));
    assert_eq!(
        trial(vec![short], vec![50.0]),
        "ellipse.csv.gz: the laps are too short for so much smoothing; give laps of one track, in metres"
    );
}
