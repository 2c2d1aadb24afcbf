//! Goal: wind and current are those asked for. Method: watch them for some minutes, over seeds.

use std::f64::consts::PI;

use fairpath::rotation::wrap_angle;
use fairpath::vector::{Vec2, Vector};
use fairpath_games::sailing::{
    Current, Event, Input, KNOT, SailingConfig, TICK_RATE, Wind, from_south, from_west,
};
use fairpath_laws::{law, proptest::prelude::*};

use super::{in_wind, race};

fn after(config: SailingConfig, seed: u64, secs: u32) -> (Vec2, Vec2) {
    let mut sea = race(config, seed);
    sea.step(&[], secs * TICK_RATE.as_hz());
    (sea.scene().wind, sea.scene().current)
}

#[test]
fn the_pattern_goes_from_west_to_south_and_back() {
    let wind_after = |secs| after(in_wind(Wind::west_and_south(20.0)), 1, secs).0;
    for (secs, expected) in
        [(0, from_west(20.0)), (19, from_west(20.0)), (21, from_south(20.0)), (41, from_west(20.0))]
    {
        assert_eq!(wind_after(secs), expected, "after {secs} s");
    }
    assert_eq!(after(in_wind(Wind::Pattern(Vec::new())), 1, 5).0, Vec2::ZERO, "no pattern, no wind");
    let steady = SailingConfig { current: Current::Constant(from_south(1.0)), ..SailingConfig::default() };
    assert_eq!(after(steady, 1, 60), (from_west(20.0), from_south(1.0)));
}

#[test]
fn random_weather_stays_within_what_was_asked_for() {
    law!(any::<u64>(), |seed| {
        let config = SailingConfig { current: Current::shifting(), ..in_wind(Wind::random()) };
        let mut sea = race(config, seed);
        let mut shifts = 0;
        for _ in 0..60 {
            sea.step(&[], TICK_RATE.as_hz());
            shifts += sea.events().iter().filter(|event| **event == Event::WindShifted).count();
            let knots = sea.scene().wind.length() / KNOT;
            let from = wrap_angle((-sea.scene().wind).heading() + 0.75 * PI).abs();
            prop_assert!(
                (10.0 - 1e-9..25.0).contains(&knots) && from <= 0.375 * PI + 1e-9,
                "{knots} kn, {from}"
            );
            prop_assert!(sea.scene().current.length() <= 2.0 * KNOT + 1e-9);
        }
        prop_assert!((2..=12).contains(&shifts), "{shifts} shifts in a minute");
        Ok(())
    });
}

#[test]
fn a_drawn_current_is_another_in_every_race_and_the_same_throughout() {
    let config = SailingConfig { current: Current::Drawn { knots_max: 2.0 }, ..SailingConfig::default() };
    let (_, early) = after(config.clone(), 1, 1);
    assert_eq!(after(config.clone(), 1, 100).1, early);
    assert_ne!(after(config, 2, 1).1, early);
}

#[test]
fn gods_turn_and_raise_the_wind_and_others_do_not() {
    let hands = Input { wind_turn: 1.0, wind_rise: 1.0, ..Input::IDLE };
    let wind_of = |wind: Wind, inputs: &[Input]| {
        let mut sea = race(in_wind(wind), 1);
        sea.step(inputs, TICK_RATE.as_hz());
        sea.scene().wind
    };
    let turned = wind_of(Wind::God(from_west(20.0)), &[hands, Input::IDLE]);
    assert!((turned.length() / KNOT - 24.0).abs() < 1e-6, "{} kn", turned.length() / KNOT);
    assert!((turned.heading() - PI / 4.0).abs() < 1e-6, "{} rad", turned.heading());
    assert_eq!(
        wind_of(Wind::God(from_west(20.0)), &[Input::IDLE, hands]),
        from_west(20.0),
        "only seat 0 is god"
    );
    assert_eq!(wind_of(Wind::Constant(from_west(20.0)), &[hands, hands]), from_west(20.0));
}
