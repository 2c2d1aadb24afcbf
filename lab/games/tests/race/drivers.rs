//! Goal: every bot completes every track in its own style. Method: heats on many roads, and
//! measured lines.

use std::sync::Arc;

use fairpath::number::EntityId;
use fairpath::random::Random;
use fairpath::vector::Vector;
use fairpath_games::race::{
    CAR_RADIUS, CarModel, Driver, DrivingPlan, Heat, Input, Lap, LapDice, Preset, RaceConfig, RaceEvent,
    Shape, Style, Track, record_laps,
};

use super::{bots, random_inputs, tracks};

#[test]
fn everybody_finishes_everywhere() {
    for (seed, track) in (100..).zip(tracks(16)) {
        let mut heat = bots(&track, seed);
        let laps = if track.shape() == Shape::Stage { 1.0 } else { 3.0 };
        // Ten metres per second on average is slower than any of them means to be.
        let patience = (60.0 * (20.0 + laps * track.length() / 10.0)) as u64;
        let mut standing = [0u32; 4];
        while !heat.race().is_over() {
            heat.step();
            let progress: Vec<_> =
                heat.race().cars().iter().map(|car| heat.race().distance(car.id())).collect();
            assert!(heat.race().tick() < patience, "{}: {progress:?}", track.name());
            for (car, standing) in heat.race().cars().iter().zip(&mut standing) {
                let is_standing = car.is_racing() && car.state().velocity.length() < 0.5;
                *standing = if is_standing { *standing + 1 } else { 0 };
                assert!(*standing < 60 * 5, "{}: {:?} stands for 5 s", track.name(), car.id());
            }
        }
    }
}

#[test]
fn a_full_grid_gets_round_too() {
    for track in [Track::preset(Preset::Harbour), Track::preset(Preset::Ridge), Track::generated(77)] {
        let config = RaceConfig { cars: 16, laps: Some(2), ..RaceConfig::default() };
        let mut heat = Heat::of_bots(Arc::new(track), config, 5).expect("sound rules");
        while !heat.race().is_over() {
            heat.step();
            let track = heat.race().track();
            assert!(heat.race().tick() < 60 * 400, "{}: {:?} are in", track.name(), heat.race().finishers());
        }
    }
}

/// However a car was left, a bot that takes over gets it going: across the road, backwards, nose in
/// the wall.
#[test]
fn a_bot_gets_going_from_anywhere() {
    for (seed, track) in (0u64..).zip(tracks(8)) {
        for style in Style::ALL {
            let config = RaceConfig { cars: 1, laps: None, ..RaceConfig::default() };
            let mut heat =
                Heat::new(Arc::clone(&track), config, |_| Driver::Hands(Input::IDLE)).expect("sound rules");
            let mut random = Random::from_seed(seed);
            let mut hands = Vec::new();
            for _ in 0..60 * 12 {
                random_inputs(1, &mut random, &mut hands);
                heat.seat(EntityId(0), Driver::Hands(hands[0]));
                heat.step();
            }
            let plan = Arc::new(DrivingPlan::new(&track, &config.car, style));
            let bot = fairpath_games::race::Bot::new(plan, config.car, random);
            heat.seat(EntityId(0), Driver::Bot(bot));
            let distance = |heat: &Heat| heat.race().distance(EntityId(0)).expect("car 0");
            let wanted = distance(&heat) + 300.0;
            let begun = heat.race().tick();
            while distance(&heat) < wanted {
                heat.step();
                assert!(
                    heat.race().tick() - begun < 60 * 60,
                    "{}: {style:?} at {}",
                    track.name(),
                    distance(&heat)
                );
            }
        }
    }
}

/// Where a driver is at the same forty points of the road, lap by lap.
fn offsets(track: &Track, lap: &Lap) -> Vec<f64> {
    let mut at = vec![f64::NAN; 40];
    for sample in &lap.samples {
        let place = track.find(sample.position);
        let number = (place.along / track.length() * 40.0) as usize;
        at[number.min(39)] = place.offset;
    }
    at
}

fn mean(numbers: impl Iterator<Item = f64> + Clone) -> f64 {
    numbers.clone().sum::<f64>() / numbers.count() as f64
}

#[test]
fn drivers_differ_in_line_and_pace_and_from_lap_to_lap() {
    for track in [Arc::new(Track::preset(Preset::Bean)), Arc::new(Track::generated(2))] {
        let config = RaceConfig { cars_bump: false, ..RaceConfig::default() };
        let laps = record_laps(&track, config, 10, LapDice::Learning(9)).expect("sound rules");
        let of = |style: Style| -> Vec<&Lap> {
            laps.iter().filter(|lap| lap.style == Some(style) && lap.number > 1).collect()
        };
        let lap_secs = Style::ALL.map(|style| mean(of(style).iter().map(|lap| lap.time.as_secs_f64())));
        let [smooth, late, careful, hasty] = lap_secs;
        assert!(smooth < late && late < careful, "{lap_secs:?}");
        assert!(hasty > 1.1 * smooth, "{lap_secs:?}");

        let lines = Style::ALL.map(|style| {
            let each: Vec<Vec<f64>> = of(style).iter().map(|lap| offsets(&track, lap)).collect();
            let line: Vec<f64> = (0..40)
                .map(|point| mean(each.iter().map(|lap| lap[point]).filter(|offset| offset.is_finite())))
                .collect();
            let spread = mean(each.iter().flat_map(|lap| {
                lap.iter()
                    .zip(&line)
                    .map(|(offset, line)| (offset - line).abs())
                    .filter(|off| off.is_finite())
            }));
            (line, spread)
        });
        for (one, (line, spread)) in lines.iter().enumerate() {
            assert!(
                (0.05..3.0).contains(spread),
                "{:?} is never or always elsewhere: {spread}",
                Style::ALL[one]
            );
            for (other, (other_line, _)) in lines.iter().enumerate().skip(one + 1) {
                let apart = mean(line.iter().zip(other_line).map(|(one, other)| (one - other).abs()));
                assert!(apart > 0.3, "{:?} and {:?} are {apart} m apart", Style::ALL[one], Style::ALL[other]);
            }
        }
        let [(_, smooth), _, _, (_, hasty)] = &lines;
        assert!(hasty > smooth, "ragged is not smooth: {smooth} and {hasty}");
    }
}

#[test]
fn mistakes_are_made_and_survived() {
    let track = Arc::new(Track::generated(5));
    let config = RaceConfig { laps: None, cars_bump: false, ..RaceConfig::default() };
    let mut heat = Heat::of_bots(track, config, 1).expect("sound rules");
    let mut crashes = [0; 4];
    for _ in 0..60 * 60 * 10 {
        heat.step();
        for event in heat.race().events() {
            if let RaceEvent::HitWall { car, speed } = *event {
                crashes[car.0 as usize] += u32::from(speed > 3.0);
            }
        }
    }
    let [smooth, _, careful, hasty] = crashes;
    assert!(crashes.iter().sum::<u32>() > 3, "bots make no mistakes: {crashes:?}");
    assert!(hasty > smooth && hasty > careful, "{crashes:?}");
    assert!(crashes.iter().all(|crashes| *crashes < 100), "bots crash too often: {crashes:?}");
    let laps: Vec<u32> = heat.race().cars().iter().map(fairpath_games::race::Car::laps_done).collect();
    assert!(laps.iter().all(|laps| *laps >= 10), "{laps:?} laps in ten minutes");
}

#[test]
fn plans_keep_to_the_road_and_to_the_tyres() {
    let car = CarModel::default();
    for track in tracks(8) {
        for style in Style::ALL {
            let plan = DrivingPlan::new(&track, &car, style);
            assert_eq!(plan.style(), style);
            for place in plan.places() {
                let limited = track.limited(place, CAR_RADIUS);
                assert!((limited.offset - place.offset).abs() < 1e-9, "{style:?} plans to hit a wall");
                let speed = plan.speed_at(place.along);
                assert!((3.0..=car.top_speed).contains(&speed), "{style:?} plans {speed} m/s");
                // Braking from here to ten metres on takes no more than the brakes and the air.
                let next = plan.speed_at(place.along + 10.0);
                let slowing = (speed * speed - next * next) / 20.0;
                let is_over = track.shape() == Shape::Stage && place.along + 10.0 > track.length();
                let possible = car.braking + car.drag_at(speed);
                assert!(is_over || slowing < 1.3 * possible, "{style:?} plans {slowing} m/s²");
            }
        }
    }
}

/// A bot avoids a car where it is shown, not where it is.
#[test]
fn drivers_believe_their_screens() {
    let track = Arc::new(Track::preset(Preset::Oval));
    let run = |ghost_ahead: bool| {
        let mut heat = bots(&track, 6);
        for _ in 0..600 {
            heat.step_showing(|view| {
                for other in &mut view.others {
                    let place = track.find(view.own.position);
                    if ghost_ahead {
                        other.state.position = track.position_at(place.along + 8.0);
                    }
                }
            });
        }
        heat.race().digest()
    };
    assert_ne!(run(false), run(true));
}
