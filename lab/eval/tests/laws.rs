//! Laws that hold for any bytes.

use fairpath::time::TickRate;
use fairpath::vector::{Vec3, Vector};
use fairpath_eval::recording::{GAP_MAX, Recording, Source, read};
use fairpath_laws::law;
use fairpath_laws::proptest::prelude::*;

/// What every recording promises, however strange its file was.
fn assert_sound(recording: &Recording) -> Result<(), TestCaseError> {
    prop_assert!(!recording.stretches.is_empty());
    for stretch in &recording.stretches {
        prop_assert!(stretch.entity < recording.entities.len());
        prop_assert!(stretch.samples().len() >= 2);
        for pair in stretch.samples().windows(2) {
            prop_assert!(pair[0].at < pair[1].at && pair[1].at - pair[0].at <= GAP_MAX);
        }
        for sample in stretch.samples() {
            let state = stretch.state_at::<Vec3>(sample.at);
            prop_assert_eq!(state, Some(sample.state()), "a sample is met exactly");
        }
        for (_, state) in stretch.ticks::<Vec3>(TickRate::hz(60)).take(100) {
            prop_assert!(state.is_finite());
        }
    }
    Ok(())
}

fn read_anything(bytes: &[u8], breaks: Option<&[u8]>) -> Result<(), TestCaseError> {
    let breaks = breaks.map(|bytes| Source { name: "any.breaks.csv", bytes });
    match read(Source { name: "any.csv", bytes }, breaks) {
        Ok(recording) => assert_sound(&recording),
        Err(error) => {
            let line = error.to_string();
            prop_assert!(!line.chars().any(char::is_control), "one line: {:?}", line);
            Ok(())
        }
    }
}

#[test]
fn any_bytes_are_read_or_refused() {
    law!((prop::collection::vec(any::<u8>(), 0..300), any::<bool>()), |(bytes, as_breaks)| {
        read_anything(&bytes, as_breaks.then_some(&bytes))
    });
}

/// Small files that are almost valid: right headers, plausible and implausible fields.
fn nearly_a_file() -> impl Strategy<Value = String> {
    let header = prop_oneof![
        Just("t,entity,team,x,y"),
        Just("t_ms,player,team,x,y,z,vx,vy,vz,azimuth,angvel,life,forced"),
        Just("t,entity,reason"),
    ];
    let field = prop_oneof![
        8 => (-50i32..50).prop_map(|n| n.to_string()),
        2 => (-9e8..9e8f64).prop_map(|x| x.to_string()),
        1 => prop_oneof![Just("nan"), Just("-inf"), Just("1e999"), Just(""), Just("\""), Just("ball"), Just("\"a\"\"b\"")]
            .prop_map(String::from),
    ];
    (header, prop::collection::vec(prop::collection::vec(field, 13), 0..20)).prop_map(|(header, rows)| {
        let width = header.split(',').count();
        let lines = rows.iter().map(|row| row[..width].join(","));
        std::iter::once(header.to_owned()).chain(lines).collect::<Vec<_>>().join("\n")
    })
}

#[test]
fn nearly_right_files_are_read_or_refused() {
    law!((nearly_a_file(), nearly_a_file()), |(file, breaks)| {
        read_anything(file.as_bytes(), Some(breaks.as_bytes()))
    });
}

#[test]
fn a_good_file_with_some_bytes_changed_is_read_or_refused() {
    let mut team = String::from("t,entity,team,x,y\n");
    let mut trace = String::from("t_us,entity,life,kind,viewer,x,y,z,vx,vy,vz,qw,qx,qy,qz,break\n");
    for frame in 0..12 {
        team += &format!("{:.3},a,1,{frame},0.5\n", 0.033 * f64::from(frame));
        trace += &format!("{},7,0,truth,,{frame}.5,-3,0,30,0.25,0,0.8,0,0,0.6,0\n", 33_000 * frame);
    }
    let change = (any::<prop::sample::Index>(), any::<u8>());
    law!((prop::sample::select(vec![team, trace]), prop::collection::vec(change, 0..6)), |(
        good,
        changes,
    )| {
        let mut bytes = good.into_bytes();
        for (place, byte) in changes {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        read_anything(&bytes, None)
    });
}

#[test]
fn straight_motion_is_read_back_wherever_it_is_sampled() {
    let case = (-300.0..300.0, -300.0..300.0, -30.0..30.0, -30.0..30.0, 10i64..90, 0.0..1.0);
    law!(case, |(x, y, vx, vy, every_ms, part): (f64, f64, f64, f64, i64, f64)| {
        let rows: String = (0..8)
            .map(|sample| {
                let t = (sample * every_ms) as f64 * 1e-3;
                format!("{t},a,1,{},{}\n", x + vx * t, y + vy * t)
            })
            .collect();
        let file = format!("t,entity,team,x,y\n{rows}");
        let recording = read(Source { name: "line.csv", bytes: file.as_bytes() }, None).unwrap();
        let stretch = &recording.stretches[0];
        let at = stretch.begin() + stretch.duration().scaled(part);
        let state = stretch.state_at::<Vec3>(at).unwrap();
        let t = at.as_secs_f64();
        prop_assert!(state.position.distance(Vec3::new(x + vx * t, y + vy * t, 0.0)) < 1e-9);
        prop_assert!(state.velocity.distance(Vec3::new(vx, vy, 0.0)) < 1e-9);
        Ok(())
    });
}
