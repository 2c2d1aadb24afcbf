//! Goal: laps are counted and timed right, at the line and around it. Method: cross it forwards and
//! backwards.

use std::sync::Arc;

use fairpath::number::EntityId;
use fairpath::time::Span;
use fairpath_games::race::{
    Bot, Condition, Driver, DrivingPlan, Heat, Input, Preset, Race, RaceConfig, RaceEvent, Style, Track,
};

use super::{bots, tracks};

const FULL: Input = Input { throttle: 1.0, brake: 0.0, steer: 0.0 };
const BACK: Input = Input { throttle: -1.0, brake: 0.0, steer: 0.0 };
const ME: EntityId = EntityId(0);

fn alone(track: &Arc<Track>) -> Race {
    let config = RaceConfig { cars: 1, laps: None, ..RaceConfig::default() };
    Race::new(Arc::clone(track), config).expect("sound rules")
}

/// Drives until the car has come this far or that far, and counts the lines it crossed.
fn drive_to(race: &mut Race, input: Input, reached: impl Fn(f64) -> bool) -> usize {
    let mut crossed = 0;
    for _ in 0..60 * 30 {
        race.step(&[input]);
        let is_line =
            |event: &&RaceEvent| matches!(event, RaceEvent::Started { .. } | RaceEvent::LapDone { .. });
        crossed += race.events().iter().filter(is_line).count();
        if reached(race.distance(ME).expect("car 0")) {
            return crossed;
        }
    }
    panic!("never got there: {:?}", race.distance(ME));
}

#[test]
fn the_start_line_counts_once_however_often_it_is_crossed() {
    for preset in Preset::ALL {
        let mut race = alone(&Arc::new(Track::preset(preset)));
        assert!(race.distance(ME).expect("car 0") < 0.0, "the grid is behind the line");
        assert_eq!(drive_to(&mut race, FULL, |distance| distance > 4.0), 1);
        let began_at = race.cars()[0].lap_began_at();
        assert_eq!(drive_to(&mut race, BACK, |distance| distance < -4.0), 0);
        assert_eq!(drive_to(&mut race, FULL, |distance| distance > 4.0), 0);
        assert_eq!(race.cars()[0].lap_began_at(), began_at);
        assert_eq!(race.cars()[0].laps_done(), 0);
    }
}

#[test]
fn backing_over_the_line_after_a_lap_is_no_second_lap() {
    let track = Arc::new(Track::preset(Preset::Oval));
    let config = RaceConfig { cars: 1, laps: None, ..RaceConfig::default() };
    let mut heat = Heat::of_bots(Arc::clone(&track), config, 4).expect("sound rules");
    let driver = heat.drivers()[0].clone();
    let run = |heat: &mut Heat, until: &dyn Fn(&Race) -> bool| {
        let ticks = (0..60 * 240).take_while(|_| {
            heat.step();
            !until(heat.race())
        });
        assert!(ticks.count() < 60 * 240, "never got there");
    };
    run(&mut heat, &|race| race.cars()[0].laps_done() == 1);
    let lap = track.lap_length();
    heat.seat(ME, Driver::Hands(Input { brake: 1.0, ..Input::IDLE }));
    run(&mut heat, &|race| race.cars()[0].state().signed_speed() < 0.1);
    heat.seat(ME, Driver::Hands(BACK));
    run(&mut heat, &|race| race.distance(ME).is_some_and(|distance| distance < lap - 3.0));
    heat.seat(ME, driver);
    run(&mut heat, &|race| race.distance(ME).is_some_and(|distance| distance > lap + 30.0));
    assert_eq!(heat.race().cars()[0].laps_done(), 1, "the same line again");
    run(&mut heat, &|race| race.cars()[0].laps_done() == 2);
    let distance = heat.race().distance(ME).expect("car 0");
    assert!((2.0 * lap..2.0 * lap + 2.0).contains(&distance), "lap two ends after two laps, at {distance}");
}

/// The way round is measured here by adding up steps, and laps by the farthest point reached.
#[test]
fn laps_are_whole_rounds() {
    for (seed, track) in (0..).zip(tracks(4)) {
        let config = RaceConfig { laps: None, ..RaceConfig::default() };
        let mut heat = Heat::of_bots(Arc::clone(&track), config, seed).expect("sound rules");
        let places = |heat: &Heat| -> Vec<f64> {
            heat.race().cars().iter().map(|car| track.find(car.motion().position).along).collect()
        };
        let mut before = places(&heat);
        let mut travelled: Vec<f64> =
            heat.race().cars().iter().map(|car| start_of(&track, car.place())).collect();
        let mut farthest = travelled.clone();
        for _ in 0..60 * 100 {
            heat.step();
            for (number, along) in places(&heat).into_iter().enumerate() {
                travelled[number] += track.way(before[number], along);
                before[number] = along;
                farthest[number] = farthest[number].max(travelled[number]);
                let car = &heat.race().cars()[number];
                if !car.is_racing() {
                    continue;
                }
                let distance = heat.race().distance(car.id()).expect("it is there");
                assert!((travelled[number] - distance).abs() < 1e-3, "{} or {distance}", travelled[number]);
                let laps = (farthest[number] / track.lap_length()).floor().max(0.0) as u32;
                assert_eq!(car.laps_done(), laps, "at {distance} of {}", track.lap_length());
            }
        }
        let laps: u32 = heat.race().cars().iter().map(fairpath_games::race::Car::laps_done).sum();
        assert!(laps >= 4, "{} laps on {}", laps, track.name());
    }
}

/// On the grid of a circuit one is just before the end of the round before.
fn start_of(track: &Track, place: fairpath_games::race::Place) -> f64 {
    track.way(track.start_line(), place.along)
}

#[test]
fn times_add_up_and_the_first_over_the_line_wins() {
    for (seed, track) in (20..).zip(tracks(2)) {
        let mut heat = bots(&track, seed);
        let mut began = [None; 4];
        let mut sums = [Span::ZERO; 4];
        let mut finished = Vec::new();
        while !heat.race().is_over() && heat.race().tick() < 60 * 600 {
            heat.step();
            for event in heat.race().events() {
                match *event {
                    RaceEvent::Started { car, at } => began[car.0 as usize] = Some(at),
                    RaceEvent::LapDone { car, time, at, .. } => {
                        sums[car.0 as usize] += time;
                        assert!(at <= heat.race().now() && heat.race().now() - at <= Span::from_millis(17));
                    }
                    RaceEvent::Finished { car, rank } => {
                        finished.push(car);
                        assert_eq!(rank as usize, finished.len());
                    }
                    _ => {}
                }
            }
        }
        assert!(heat.race().is_over(), "every car finishes on {}", track.name());
        assert_eq!(heat.race().finishers(), finished);
        assert_eq!(heat.race().standings(), finished);
        assert_eq!(heat.race().winner(), Some(finished[0]));
        let finish_of = |car: &EntityId| match heat.race().cars()[car.0 as usize].condition() {
            Condition::Finished { at } => at,
            other => panic!("{car:?} is {other:?}"),
        };
        assert!(finished.is_sorted_by_key(finish_of), "in the order of the line");
        for car in &finished {
            let number = car.0 as usize;
            assert_eq!(began[number].expect("it started") + sums[number], finish_of(car));
        }
    }
}

#[test]
fn a_stage_is_one_run_whatever_the_rules_ask_for() {
    let track = Arc::new(Track::preset(Preset::Ridge));
    let config = RaceConfig { cars: 1, laps: Some(7), ..RaceConfig::default() };
    let plan = Arc::new(DrivingPlan::new(&track, &config.car, Style::Smooth));
    let dice = fairpath::random::Random::from_seed(1);
    let bot = |_| Driver::Bot(Bot::new(Arc::clone(&plan), config.car, dice.clone()));
    let mut heat = Heat::new(Arc::clone(&track), config, bot).expect("sound rules");
    while !heat.race().is_over() {
        heat.step();
        assert!(heat.race().tick() < 60 * 200, "it takes a minute");
    }
    assert_eq!(heat.race().cars()[0].laps_done(), 1);
    // A car that has finished stays.
    let place = heat.race().cars()[0].place();
    heat.step();
    assert_eq!(heat.race().cars()[0].place(), place);
    assert!(place.along < track.length());
}
