//! Goal: recorded laps are what was driven, from line to line, and learning never sees what judges.
//! Method: record, measure, read back.

use std::collections::BTreeSet;
use std::sync::Arc;

use fairpath::time::Span;
use fairpath::vector::Vector;
use fairpath_games::race::{
    Heat, Lap, LapDice, LapRecorder, Preset, RaceConfig, Shape, Style, Track, laps_to_csv, record_laps,
};

use super::tracks;

fn recorded(track: &Arc<Track>, laps: u32, dice: LapDice) -> Vec<Lap> {
    record_laps(track, RaceConfig::default(), laps, dice).expect("sound rules")
}

#[test]
fn everybody_is_recorded_for_every_lap() {
    for track in tracks(3) {
        let laps = recorded(&track, 7, LapDice::Learning(1));
        for style in Style::ALL {
            assert_eq!(laps.iter().filter(|lap| lap.style == Some(style)).count(), 7, "{}", track.name());
        }
        assert!(laps.is_sorted_by_key(|lap| lap.style));
    }
}

#[test]
fn a_lap_goes_from_line_to_line_and_lasts_as_long_as_it_says() {
    for track in tracks(3) {
        for lap in recorded(&track, 2, LapDice::Learning(2)) {
            let (first, last) = (lap.samples.first().expect("samples"), lap.samples.last().expect("samples"));
            let line = track.start_line();
            let finish = line + track.lap_length();
            // One tick at full speed is about a metre.
            assert!((0.0..1.2).contains(&track.way(line, track.find(first.position).along)));
            assert!((0.0..1.2).contains(&track.way(track.find(last.position).along, finish)));
            let tick = Span::from_micros(16_667);
            assert!(first.at >= Span::ZERO && first.at <= tick);
            assert!(last.at <= lap.time && lap.time - last.at <= tick);
            for pair in lap.samples.windows(2) {
                let step = pair[1].at - pair[0].at;
                assert!((16_666..=16_667).contains(&step.as_micros()), "a sample every tick, not {step:?}");
                assert!(pair[0].position.distance(pair[1].position) < 4.0);
            }
        }
    }
}

#[test]
fn learning_and_judging_share_no_lap() {
    let track = Arc::new(Track::preset(Preset::Bean));
    let learning = recorded(&track, 6, LapDice::Learning(3));
    assert_eq!(learning, recorded(&track, 6, LapDice::Learning(3)), "one seed, the same laps");
    let judging = recorded(&track, 6, LapDice::Judging(3));
    let bits = |laps: &[Lap]| -> BTreeSet<u64> {
        laps.iter().flat_map(|lap| &lap.samples).map(|sample| sample.position.x.to_bits()).collect()
    };
    // All begin from the same grid, and even so hardly any sample is shared.
    let shared = bits(&learning).intersection(&bits(&judging)).count();
    assert!(shared < bits(&learning).len() / 50, "{shared} samples are shared");
    let times = |laps: &[Lap]| -> BTreeSet<Span> { laps.iter().map(|lap| lap.time).collect() };
    assert!(times(&learning).is_disjoint(&times(&judging)), "no lap is the same");
}

#[test]
fn a_recorder_keeps_whole_laps_only() {
    let track = Arc::new(Track::preset(Preset::Oval));
    let mut heat = Heat::of_bots(track, RaceConfig::default(), 2).expect("sound rules");
    let mut recorder = LapRecorder::new();
    for _ in 0..60 * 100 {
        heat.step();
        recorder.observe(heat.race());
    }
    let done: u32 = heat.race().cars().iter().map(fairpath_games::race::Car::laps_done).sum();
    assert_eq!(recorder.laps().len() as u32, done);
    for lap in recorder.laps() {
        assert!((1..=3).contains(&lap.number));
        assert_eq!(lap.style, None, "the race does not know its drivers");
    }
}

#[test]
fn a_table_of_laps_reads_back_bit_for_bit() {
    let track = Arc::new(Track::preset(Preset::Ridge));
    assert_eq!(track.shape(), Shape::Stage);
    let laps = recorded(&track, 1, LapDice::Judging(4));
    let text = laps_to_csv(&laps);
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("lap,t,x,y"));
    for (number, lap) in (1u32..).zip(&laps) {
        for sample in &lap.samples {
            let cells: Vec<&str> = lines.next().expect("a line per sample").split(',').collect();
            let [lap, secs, x, y] = cells[..] else { panic!("{cells:?}") };
            assert_eq!(lap.parse(), Ok(number));
            assert_eq!(secs.parse(), Ok(sample.at.as_secs_f64()));
            assert_eq!((x.parse(), y.parse()), (Ok(sample.position.x), Ok(sample.position.y)));
        }
    }
    assert_eq!(lines.next(), None);
    assert_eq!(laps_to_csv(&[]), "lap,t,x,y\n");
}
