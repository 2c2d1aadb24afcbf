//! Goal: both agents get to the buoy in sensible time, and the one that knows is not slower than
//! the one that tries. Method: whole races in every kind of weather, over seeds.

use fairpath_games::sailing::{
    Agent, Current, Driver, Event, Input, Regatta, SailingConfig, TICK_RATE, Trim, Wind, blowing_from,
    from_south, from_west,
};
use fairpath_laws::{law, proptest::prelude::*};

use super::in_wind;

/// How long the two agents take to the buoy, in seconds; an agent that needs more than ten minutes
/// never will be.
fn secs(config: SailingConfig, seed: u64, trims: [Trim; 2]) -> [Option<f64>; 2] {
    let mut regatta =
        Regatta::new(config, seed, |seat| Driver::Agent(Agent::new(trims[seat]))).expect("sound rules");
    for _ in 0..600 * TICK_RATE.as_hz() {
        if regatta.race().is_over() {
            break;
        }
        regatta.step();
    }
    let boats = &regatta.race().scene().boats;
    [0, 1].map(|seat| boats[seat].finished_at.map(|tick| tick as f64 * TICK_RATE.step_secs()))
}

const BOTH: [Trim; 2] = [Trim::Simple, Trim::Optimal];

#[test]
fn everybody_is_at_the_buoy_in_one_to_three_minutes() {
    let weathers = [
        (Wind::Constant(from_west(20.0)), Current::None),
        (Wind::Constant(from_south(20.0)), Current::None),
        (Wind::west_and_south(20.0), Current::None),
        (Wind::west_and_south(5.0), Current::None),
        (Wind::Constant(from_west(20.0)), Current::Constant(from_south(1.0))),
        (Wind::random(), Current::shifting()),
    ];
    for (wind, current) in weathers {
        for seed in 0..4 {
            let config = SailingConfig { current, ..in_wind(wind.clone()) };
            for secs in secs(config, seed, BOTH) {
                let secs = secs.unwrap_or(f64::INFINITY);
                let in_time = (60.0..if wind == Wind::random() { 300.0 } else { 180.0 }).contains(&secs);
                assert!(in_time, "{wind:?}, {current:?}, seed {seed}: {secs} s");
            }
        }
    }
}

#[test]
fn in_a_steady_wind_the_optimal_one_is_never_slower() {
    // From anywhere but too near to where the buoy is.
    law!((any::<u64>(), 0.8..5.4, 8.0..30.0), |(seed, from, knots)| {
        let [simple, optimal] = secs(in_wind(Wind::Constant(blowing_from(from, knots))), seed, BOTH);
        let optimal = optimal.expect("there is wind");
        prop_assert!(simple.is_none_or(|simple| optimal <= simple), "{optimal} s against {simple:?}");
        Ok(())
    });
}

#[test]
fn equal_agents_sail_equal_races() {
    for trim in BOTH {
        let [one, other] = secs(in_wind(Wind::west_and_south(20.0)), 1, [trim; 2]);
        assert!(one.is_some() && one == other, "{one:?} and {other:?}");
    }
}

#[test]
fn a_person_can_take_over_and_lose() {
    let mut regatta = Regatta::of_agents(SailingConfig::default(), 1, Trim::Optimal).expect("sound rules");
    regatta.seat(0, Driver::Hands(Input::new(0.2, 0.0)));
    regatta.seat(7, Driver::Hands(Input::IDLE));
    let mut finished = Vec::new();
    while finished.is_empty() {
        regatta.step();
        finished.extend(
            regatta.race().events().iter().filter(|event| matches!(event, Event::Finished { .. })).copied(),
        );
    }
    assert_eq!(finished, [Event::Finished { seat: 1 }]);
}
