//! How fast a well-trimmed boat sails at every angle to a wind of 20 knots, and how long the agents
//! take to the buoy.
//!
//! `cargo run --release -p fairpath-games --example sailing_polar`

use fairpath::vector::Vec2;
use fairpath_games::sailing::{
    Boat, BoatModel, Current, Input, KNOT, Regatta, SailingConfig, TICK_RATE, Trim, Wind, blowing_from,
    from_south,
};

fn main() {
    println!("true wind angle  speed (ft/s)  speed (kn)");
    for degrees in (0..=180).step_by(15) {
        let speed = settled_speed(f64::from(degrees).to_radians(), 20.0);
        println!("{degrees:15} {speed:13.2} {:11.2}", speed / KNOT);
    }
    println!("\nseconds to the buoy            simple  optimal");
    let steady = SailingConfig::default();
    let across = SailingConfig { wind: Wind::Constant(from_south(20.0)), ..SailingConfig::default() };
    let slow_shifts = SailingConfig { wind: Wind::west_and_south(20.0), ..SailingConfig::default() };
    let quick_shifts = SailingConfig { wind: Wind::west_and_south(5.0), ..SailingConfig::default() };
    let current = SailingConfig { current: Current::Constant(from_south(1.0)), ..SailingConfig::default() };
    let random = SailingConfig { wind: Wind::random(), ..SailingConfig::default() };
    let weathers = [
        ("from W", steady),
        ("from S", across),
        ("W and S every 20 s", slow_shifts),
        ("W and S every 5 s", quick_shifts),
        ("from W, current from S", current),
        ("random, seed 1", random),
    ];
    for (name, config) in weathers {
        let [simple, optimal] = [Trim::Simple, Trim::Optimal].map(|trim| secs(&config, trim));
        println!("{name:30} {simple:6.2} {optimal:8.2}");
    }
}

/// After two minutes of best trim at this angle between heading and where the wind comes from.
fn settled_speed(angle: f64, knots: f64) -> f64 {
    let model = BoatModel::default();
    let wind = blowing_from(angle, knots);
    let still = Vec2::new(0.0, 0.0);
    let mut boat = Boat::at_rest(still, 0.0);
    for _ in 0..120 * TICK_RATE.as_hz() {
        let sheet = 0.5 * boat.wind_angle(wind, still) / std::f64::consts::FRAC_PI_2;
        boat = model.sail(&boat, Some(Input::new(sheet, 0.0)), wind, still, TICK_RATE.step_secs());
    }
    boat.speed
}

fn secs(config: &SailingConfig, trim: Trim) -> f64 {
    let Ok(mut regatta) = Regatta::of_agents(config.clone(), 1, trim) else {
        unreachable!("these rules are sound")
    };
    while !regatta.race().is_over() && regatta.race().scene().tick < 60_000 {
        regatta.step();
    }
    regatta.race().scene().tick as f64 * TICK_RATE.step_secs()
}
