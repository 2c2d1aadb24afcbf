//! Goal: laps are read as they were driven, and a bad file becomes a one-line error; predictors on
//! laps see nothing newer than the tick of the prediction. Method: tiny files, and laps whose
//! future is changed.

use std::sync::Arc;

use fairpath::time::SharedInstant;
use fairpath::vector::Vec2;
use fairpath_eval::laps::{Contender, TimedLap, errors, known_at, shape_of};
use fairpath_eval::recording::{RecordedLap, Source, read_laps};
use fairpath_games::race::{LapDice, Preset, RaceConfig, Track, laps_to_csv, record_laps};
use fairpath_predict::{LapShape, TrendLine};

fn read(text: &str) -> Result<Vec<RecordedLap>, String> {
    read_laps(Source { name: "laps.csv", bytes: text.as_bytes() }).map_err(|error| error.to_string())
}

#[test]
fn laps_come_out_in_order_with_their_own_clocks() {
    let laps = read("y,lap,t,x,fuel\n0,out,0,1,9\n0,out,0.5,2,9\n5,7,0,3,8\n0,out,0.5,99,9\n6,7,0.25,4,8\n")
        .unwrap();
    let at = SharedInstant::from_millis;
    let lap = |name: &str, samples: Vec<(SharedInstant, Vec2)>| RecordedLap { name: name.into(), samples };
    assert_eq!(
        laps,
        [
            lap("out", vec![(at(0), Vec2::new(1.0, 0.0)), (at(500), Vec2::new(2.0, 0.0))]),
            lap("7", vec![(at(0), Vec2::new(3.0, 5.0)), (at(250), Vec2::new(4.0, 6.0))]),
        ]
    );
}

#[test]
fn whatever_is_wrong_is_one_line_that_says_where() {
    let cases = [
        ("", "laps.csv: the file is empty: record some motion first"),
        ("lap,t,x,y\n", "laps.csv: there is a header but no motion below it: record some first"),
        ("t,x,y\n0,0,0\n", "laps.csv: row 1, column lap: missing: add it to the header and to every row"),
        (
            "lap,t,x,y\n1,0,0\n",
            "laps.csv: row 2: 3 fields where the header has 4: complete or remove the row",
        ),
        (
            "lap,t,x,y\n1,0,far,0\n",
            "laps.csv: row 2, column x: `far` is not a number: write one such as -12.5",
        ),
        ("lap,t,x,y\n,0,0,0\n", "laps.csv: row 2, column lap: empty: give the entity a number or a name"),
        (
            "lap,t,x,y\n1,1,0,0\n2,0,0,0\n1,0.5,0,0\n",
            "laps.csv: row 4: entity 1 goes back in time by 500 ms: sort its rows by time",
        ),
    ];
    for (text, line) in cases {
        assert_eq!(read(text), Err(line.to_owned()));
    }
    assert!(read("lap,t,x,y\n1,0,NaN,0\n").unwrap_err().contains("row 2, column x: `NaN` is not finite"));
}

/// Two laps of each driver of our own race, through a file.
fn race(dice: LapDice) -> Vec<RecordedLap> {
    let track = Arc::new(Track::preset(Preset::Oval));
    let laps = record_laps(&track, RaceConfig::default(), 1, dice).unwrap();
    read(&laps_to_csv(&laps)).unwrap()
}

fn timed(laps: &[RecordedLap]) -> Vec<TimedLap> {
    laps.iter().map(|lap| TimedLap::new(lap, None)).collect()
}

#[test]
fn a_race_comes_back_to_where_it_began() {
    let laps = race(LapDice::Learning(4));
    assert_eq!((laps.len(), shape_of(&laps)), (4, LapShape::Circuit));
    let halves: Vec<RecordedLap> = laps
        .iter()
        .map(|lap| RecordedLap { samples: lap.samples[..lap.samples.len() / 2].to_vec(), ..lap.clone() })
        .collect();
    assert_eq!(shape_of(&halves), LapShape::Stage);
}

#[test]
fn nobody_sees_what_comes_after_the_tick() {
    let (laps, judged) = (timed(&race(LapDice::Learning(4))), &race(LapDice::Judging(4))[0]);
    let teachers: Vec<&TimedLap> = laps.iter().collect();
    let parts: Vec<_> = laps.iter().map(TimedLap::parts).collect();
    let line = Arc::new(TrendLine::from_laps(&parts, LapShape::Circuit, TrendLine::SMOOTHING).unwrap());
    let changed_from = judged.samples.len() / 2;
    let mut changed = judged.clone();
    for (_, place) in &mut changed.samples[changed_from..] {
        *place = Vec2::new(place.y - 40.0, place.x);
    }
    let (real, changed) = (TimedLap::new(judged, None), TimedLap::new(&changed, None));
    let last = real.runs[0].known.iter().zip(&changed.runs[0].known).take_while(|(a, b)| a == b).count();
    assert!(last.abs_diff(changed_from) < 4, "{last} {changed_from}");
    for contender in Contender::ALL {
        let mut answers = [&real, &changed].map(|lap| {
            let mut predictor = contender.taught(&line, &teachers);
            let mut answer = [Vec2::default(); 2];
            for tick in 0..last {
                let known = known_at(&lap.runs[0], tick);
                predictor.learn(0, &known);
                predictor.predict(0, &known, &[6, 120], &mut answer).unwrap();
            }
            answer
        });
        assert_eq!(answers[0], answers[1], "{}", contender.name());
        answers[0][0].x += 1.0;
        assert_ne!(answers[0], answers[1]);
    }
}

#[test]
fn every_tick_with_an_answer_is_scored() {
    let laps = timed(&race(LapDice::Learning(4)));
    let parts: Vec<_> = laps[1..].iter().map(TimedLap::parts).collect();
    let line = Arc::new(TrendLine::from_laps(&parts, LapShape::Circuit, TrendLine::SMOOTHING).unwrap());
    let ticks = laps[0].ticks();
    let errors = errors(&mut *Contender::TrendLine.taught(&line, &[]), &laps[0], &[3, 60]).unwrap();
    assert_eq!([errors[0].len(), errors[1].len()], [ticks - 15 - 3, ticks - 15 - 60]);
    assert!(errors.iter().flatten().all(|error| error.is_finite()));
}
