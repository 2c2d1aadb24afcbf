//! Goal: a recording becomes exactly its clean stretches, and a bad one becomes one line that says
//! where and how to fix it. Method: tiny files written out in the test.

use fairpath::State;
use fairpath::number::EntityId;
use fairpath::time::{SharedInstant, TickRate};
use fairpath::vector::{Vec2, Vec3, Vector};
use fairpath_eval::recording::{Format, LengthUnit, Recording, Source, Velocity, from_trace, read};
use fairpath_sim::trace::{Metadata, StateKind, StateRow};

const BZFLAG: &str = "t_ms,player,team,status,order,x,y,z,vx,vy,vz,azimuth,angvel,life,forced,t_arr_ms\n";

/// One row of a tank that drives along +x at 20 units/s.
fn tank(t_ms: f64, life: u32, forced: u32) -> String {
    let x = 0.02 * t_ms;
    format!("{t_ms},3,2,1,77,{x:.3},5,0,20,0,0,6.28,-0.5,{life},{forced},{t_ms}\n")
}

fn bzflag(rows: &[String]) -> Recording {
    parse(&(BZFLAG.to_owned() + &rows.concat()), None).unwrap()
}

fn parse(text: &str, breaks: Option<&str>) -> Result<Recording, String> {
    let breaks = breaks.map(|text| Source { name: "walk.breaks.csv", bytes: text.as_bytes() });
    read(Source { name: "walk.csv", bytes: text.as_bytes() }, breaks).map_err(|error| error.to_string())
}

fn ms(millis: i64) -> SharedInstant {
    SharedInstant::from_millis(millis)
}

fn spans(recording: &Recording) -> Vec<(i64, i64)> {
    recording
        .stretches
        .iter()
        .map(|stretch| (stretch.begin().as_micros() / 1000, stretch.end().as_micros() / 1000))
        .collect()
}

#[test]
fn a_tank_is_cut_at_gaps_and_lives_and_forced_rows_are_no_motion() {
    let recording = bzflag(&[
        tank(-20.0, 1, 0),
        tank(0.0, 1, 0),
        tank(3.0, 1, 1),   // forced: a send, not motion
        tank(100.0, 1, 0), // 100 ms after its predecessor: still one motion
        tank(200.1, 1, 0), // more than 100 ms: a cut
        tank(220.0, 1, 0),
        tank(220.0, 1, 0), // the same instant again: skipped
        tank(240.0, 2, 0), // another life: a cut
        tank(260.0, 2, 0),
        tank(400.0, 2, 0), // alone: too short to be a stretch
    ]);
    assert_eq!(recording.format, Format::Bzflag);
    assert_eq!(recording.entities[0].name, "3");
    assert_eq!(spans(&recording), [(-20, 100), (200, 220), (240, 260)]);
    assert_eq!(recording.stretches[2].life, 2);
    assert_eq!(recording.stretches[2].team, 2);
    assert!((recording.secs() - 0.1599).abs() < 1e-9);
}

#[test]
fn a_recorded_velocity_and_heading_are_kept_and_interpolated_the_short_way_round() {
    let text = BZFLAG.to_owned()
        + "0,a,1,1,0, 0,0,0, 10,0,0, 3.1,0.5,1,0,0\n"
        + "100,a,1,1,0, 1,0,0, 10,0,2, -3.1,0.7,1,0,0\n";
    let stretch = parse(&text, None).unwrap().stretches.remove(0);
    assert_eq!(stretch.velocity, Velocity::Recorded);
    let half_way = stretch.state_at::<Vec3>(ms(50)).unwrap();
    assert!(half_way.position.distance(Vec3::new(0.5, 0.0, -0.025)) < 1e-12, "{:?}", half_way.position);
    assert!(half_way.velocity.distance(Vec3::new(10.0, 0.0, 1.0)) < 1e-12);
    assert!((half_way.spin.z - 0.6).abs() < 1e-12);
    let heading = stretch.state_at::<Vec2>(ms(50)).unwrap().orientation;
    assert!((heading.abs() - std::f64::consts::PI).abs() < 1e-9, "heading {heading} went the long way round");
}

#[test]
fn a_team_recording_estimates_velocity_from_the_past_only() {
    // Walks at 3 m/s, turns at 100 ms and walks back: no sample before the turn may depend on it.
    let rows: String = (0..=12)
        .map(|frame| {
            let t = 0.02 * f64::from(frame);
            let x = if t <= 0.1 { 3.0 * t } else { 0.6 - 3.0 * t };
            format!("{t:.2},ann,1,{x:.3},0\n")
        })
        .collect();
    let recording = parse(&format!("t,entity,team,x,y\n{rows}"), None).unwrap();
    let stretch = &recording.stretches[0];
    assert_eq!(stretch.velocity, Velocity::Estimated);
    assert_eq!(stretch.begin(), ms(20), "the first sample has no past to estimate from");
    for sample in stretch.samples() {
        let expected = match sample.at.as_micros() / 1000 {
            ..=100 => 3.0,
            120 => 0.0, // 40 ms back lies 20 ms before the turn: both directions cancel
            _ => -3.0,
        };
        assert!((sample.velocity.x - expected).abs() < 1e-9, "{sample:?}");
    }
    let half_way = stretch.state_at::<Vec2>(ms(30)).unwrap();
    assert!((half_way.position.x - 0.09).abs() < 1e-9);
}

#[test]
fn breaks_cut_before_the_sample_they_name_and_only_for_their_entity() {
    let mut rows = String::from("t,entity,team,x,y\n");
    for frame in 0..10 {
        let t = 0.02 * f64::from(frame);
        rows += &format!("{t:.2},7,1,{t},0\n{t:.2},ball,0,{t},1\n");
    }
    let breaks = "t,entity,reason\n0.10,7,respawn\n0.04,nobody,gap\n";
    let recording = parse(&rows, Some(breaks)).unwrap();
    // Each run loses its first sample to the velocity estimate.
    assert_eq!(spans(&recording), [(20, 80), (120, 180), (20, 180)]);
    assert_eq!(recording.players().count(), 2, "the ball is not a player");
    assert!(!recording.entities[1].is_player);
}

#[test]
fn a_trace_is_cut_at_lives_and_breaks_and_only_its_truth_is_motion() {
    // Turns left by 0.02 rad in every 20 ms.
    let row = |t_ms: i64, life: u16, is_break: bool| StateRow {
        life,
        is_break,
        ..StateRow::new(
            ms(t_ms),
            EntityId(3),
            StateKind::Truth,
            &State::<Vec2>::default().with_heading(3.1 + 1e-3 * t_ms as f64, 1.0),
        )
    };
    let placed = StateRow { kind: StateKind::Placed, viewer: Some(1), x: 9.0, ..row(30, 0, false) };
    let shot = |t_ms: i64| StateRow { entity: 64, qw: 0.0, qx: 0.0, qz: 0.0, ..row(t_ms, 0, false) };
    let states = [
        row(0, 0, true),
        row(20, 0, false),
        placed,
        row(40, 0, false),
        row(60, 0, true), // a jump within a life
        row(80, 0, false),
        row(100, 1, false), // another life
        row(120, 1, false),
        shot(20),
        shot(40),
    ];
    let metadata = Metadata { players: Some(64), length_unit: LengthUnit::Pixels, ..Metadata::default() };
    let recording = from_trace("walk", &metadata, &states).unwrap();
    assert_eq!(spans(&recording), [(0, 40), (60, 80), (100, 120), (20, 40)]);
    assert_eq!((recording.format, recording.unit), (Format::Trace, LengthUnit::Pixels));
    assert_eq!(recording.players().count(), 3, "64 is a shot");
    let turn_rates = |stretch: usize| {
        let samples = recording.stretches[stretch].samples().iter();
        samples
            .map(|sample| sample.facing.map(|facing| (1e6 * facing.turn_rate).round() * 1e-6))
            .collect::<Vec<_>>()
    };
    assert_eq!(turn_rates(0), [Some(0.0), Some(1.0), Some(1.0)], "from the past only, across ±π too");
    assert_eq!(turn_rates(3), [None, None], "no orientation was recorded");

    let text = parse(&StateRow::to_csv(&states).unwrap(), None).unwrap();
    assert_eq!(text.unit, LengthUnit::Metres, "the states alone do not say");
    assert_eq!(text.described_by(&metadata), recording);
}

#[test]
fn ticks_fall_together_for_everyone_and_stay_inside() {
    let mut rows = String::from("t,entity,team,x,y\n");
    for frame in 0..40 {
        let t = -0.31 + 0.03 * f64::from(frame);
        rows += &format!("{t:.4},a,1,{t},0\n{:.4},b,2,{t},0\n", t + 0.007);
    }
    let recording = parse(&rows, None).unwrap();
    for stretch in &recording.stretches {
        let ticks: Vec<_> = stretch.ticks::<Vec2>(TickRate::hz(60)).collect();
        assert!(ticks.len() > 60);
        assert!(ticks[0].0 >= stretch.begin() && ticks[ticks.len() - 1].0 <= stretch.end());
        assert!(ticks.iter().any(|(at, _)| *at == SharedInstant::ZERO), "zero is a tick of every entity");
        assert!((ticks[0].0 - stretch.begin()).as_micros() < 16_667, "no tick is left out at the start");
    }
}

#[test]
fn columns_are_found_by_name_in_any_order_with_windows_line_ends_and_a_byte_order_mark() {
    let text = "\u{FEFF}y,x,team,entity,mood,t\r\n0,1,1,\"Ann, the 1st\",glad,0\r\n\r\n0,2,1,\"Ann, the 1st\",sad,0.02\r\n0,3,1,\"Ann, the 1st\",glad,0.04\r\n";
    let recording = parse(text, None).unwrap();
    assert_eq!(recording.entities[0].name, "Ann, the 1st");
    assert_eq!(recording.stretches[0].samples()[0].position, Vec3::new(2.0, 0.0, 0.0));
}

#[test]
fn every_kind_of_bad_file_is_one_line_with_file_row_column_and_fix() {
    let cases: &[(&str, &str)] = &[
        ("", "walk.csv: the file is empty: record some motion first"),
        (" \n \n", "walk.csv: the file is empty: record some motion first"),
        (
            "lap,t,x,y\n",
            "walk.csv: row 1: unknown header `lap,t,x,y`: the first line must be `t,entity,team,x,y`, BZFlag's `t_ms,player,…` or a trace's `t_us,entity,life,kind,…`",
        ),
        ("t,entity,team,x,y\n", "walk.csv: there is a header but no motion below it: record some first"),
        (
            "t,entity,team,x\n0,1,1,0\n",
            "walk.csv: row 1, column y: missing: add it to the header and to every row",
        ),
        (
            "t_ms,player,team,x,y,z,vx,vy,azimuth,angvel,life,forced\n",
            "walk.csv: row 1, column vz: missing: add it to the header and to every row",
        ),
        ("t,entity,team,x,y,x\n", "walk.csv: row 1, column x: is in the header twice: keep one"),
        (
            "t,entity,team,x,y\n0,1,1,0,0\n0.1,1,1,0\n",
            "walk.csv: row 3: 4 fields where the header has 5: complete or remove the row",
        ),
        (
            "t,entity,team,x,y\n0,1,1,0,zero\n",
            "walk.csv: row 2, column y: `zero` is not a number: write one such as -12.5",
        ),
        (
            "t,entity,team,x,y\n0,1,1,NaN,0\n",
            "walk.csv: row 2, column x: `NaN` is not finite: remove the row, the motion is then cut there if the gap is long",
        ),
        (
            "t,entity,team,x,y\n0,1,1,0,-inf\n",
            "walk.csv: row 2, column y: `-inf` is not finite: remove the row, the motion is then cut there if the gap is long",
        ),
        (
            "t,entity,team,x,y\n0,1,red,0,0\n",
            "walk.csv: row 2, column team: `red` is not a whole number: write 0, 1, 2, …",
        ),
        (
            "t,entity,team,x,y\n0,,1,0,0\n",
            "walk.csv: row 2, column entity: empty: give the entity a number or a name",
        ),
        (
            "t,entity,team,x,y\n0,1,1,1e300,0\n",
            "walk.csv: row 2, column x: 1e300 is beyond ±1e9: use the world's own units, from an origin in it",
        ),
        (
            "t,entity,team,x,y\n1e18,1,1,0,0\n",
            "walk.csv: row 2, column t: 1e18 is beyond ±1e10 s: check the unit of time",
        ),
        (
            "t,entity,team,x,y\n0,\"1,1,0,0\n",
            "walk.csv: row 2: a quoted field does not end on its line: close the quote",
        ),
        (
            "t,entity,team,x,y\n0.5,ann,1,0,0\n0.25,ann,1,0,0\n",
            "walk.csv: row 3: entity ann goes back in time by 250 ms: sort its rows by time",
        ),
        (
            "t,entity,team,x,y\n0,1,1,0,0\n5,1,1,0,0\n9,1,1,0,0\n",
            "walk.csv: no usable stretch: an entity needs samples at most 100 ms apart, without a break between them",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(parse(text, None).unwrap_err(), *expected);
    }
    let good = "t,entity,team,x,y\n0,1,1,0,0\n0.02,1,1,0,0\n0.04,1,1,0,0\n";
    assert_eq!(
        parse(good, Some("t,entity,reason\nsoon,1,gap\n")).unwrap_err(),
        "walk.breaks.csv: row 2, column t: `soon` is not a number: write one such as -12.5"
    );
}

#[test]
fn bytes_that_are_no_text_name_the_row_and_other_peoples_text_stays_on_one_line() {
    let error =
        read(Source { name: "photo.csv", bytes: b"t,entity,team,x,y\n0,1,\xFF\n" }, None).unwrap_err();
    assert_eq!(error.to_string(), "photo.csv: row 2: not UTF-8 text: give a CSV file, plain or gzipped");
    let long = format!("a\u{1b}[31m{}\n", "b".repeat(1_000_000));
    let shown = parse(&long, None).unwrap_err();
    assert!(shown.len() < 400 && !shown.contains('\u{1b}'), "{shown}");
}
