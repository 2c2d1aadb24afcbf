//! How many DR vectors the adaptive forecast saves at the owner. Prints a table: ships and tanks
//! with seeded pilots, and the bots of the tank game.
//!
//! `cargo run --release -p fairpath-games --example forecast`

use fairpath::motion::MotionKind;
use fairpath::random::Random;
use fairpath::rotation::wrap_angle;
use fairpath::time::{SharedInstant, TickRate};
use fairpath::vector::{Vec2, Vector};
use fairpath::{EntityId, Observation, Owner, State, Trigger};
use fairpath_games::tanks::{Match, TanksConfig};
use fairpath_predict::AdaptiveForecast;

const RATE: TickRate = TickRate::hz(60);
const TICKS: usize = 60 * 300;
/// The first minute is for learning and is not counted.
const LEARNING: usize = 60 * 60;
const THRESHOLD: f64 = 0.2;

type Path = Vec<Observation<Vec2>>;

fn main() {
    let pilots: [(&str, Vec<Path>); 4] = [
        ("ship, random keys", (0..4).map(|seed| ship(seed, false)).collect()),
        ("ship, flies to goals", (0..4).map(|seed| ship(seed, true)).collect()),
        ("tank, random keys", (0..4).map(tank).collect()),
        ("tank, bots of the game", bots(11)),
    ];
    println!("| pilot | model | DR vectors | RMS error | forecast, same threshold | forecast, same error |");
    println!("| --- | --- | --- | --- | --- | --- |");
    for (name, paths) in pilots {
        for kind in [MotionKind::Linear, MotionKind::Quadratic, MotionKind::Circular] {
            let plain = run(&paths, kind, THRESHOLD, false);
            let same_threshold = run(&paths, kind, THRESHOLD, true);
            let same_error = at_error(&paths, kind, plain.error);
            println!(
                "| {name} | {kind:?} | {} | {:.3} | {:.2} | {:.2} |",
                plain.vectors,
                plain.error,
                same_threshold.vectors as f64 / plain.vectors as f64,
                same_error.vectors as f64 / plain.vectors as f64,
            );
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Outcome {
    vectors: usize,
    error: f64,
}

fn run(paths: &[Path], kind: MotionKind, threshold: f64, foresees: bool) -> Outcome {
    let (mut vectors, mut squares, mut ticks) = (0, 0.0, 0.0);
    for path in paths {
        let mut owner = Owner::new(EntityId(1), Trigger::within(threshold)).with_model(kind).anticipating();
        if foresees {
            owner.set_forecast(Some(Box::new(AdaptiveForecast::new(60.0, threshold, kind))));
        }
        for (tick, observation) in path.iter().enumerate() {
            let at = SharedInstant::ZERO + RATE.begin(tick as i64);
            let export = owner.observe(*observation, at).expect("finite and in order");
            if tick >= LEARNING {
                let exported = owner.exported().expect("born").position_at(at);
                vectors += usize::from(export.is_some());
                squares += (exported - observation.state().position).length_squared();
                ticks += 1.0;
            }
        }
    }
    Outcome { vectors, error: libm::sqrt(squares / ticks) }
}

/// Runs the forecast with the threshold at which its error is `error`.
fn at_error(paths: &[Path], kind: MotionKind, error: f64) -> Outcome {
    let (mut low, mut high) = (0.25 * THRESHOLD, 4.0 * THRESHOLD);
    for _ in 0..6 {
        let middle = 0.5 * (low + high);
        *(if run(paths, kind, middle, true).error < error { &mut low } else { &mut high }) = middle;
    }
    run(paths, kind, 0.5 * (low + high), true)
}

/// A ship that turns at 3 rad/s, thrusts at 60 u/s² and is braked by half its speed per second.
fn ship(seed: u64, has_goals: bool) -> Path {
    let (mut random, step) = (Random::from_seed(seed), RATE.step_secs());
    let (mut position, mut velocity, mut heading) = (Vec2::ZERO, Vec2::new(20.0, 0.0), 0.0);
    let (mut goal, mut turn_rate, mut thrusts) = (Vec2::ZERO, 0.0, false);
    let pilot = |_| {
        if has_goals {
            if position.distance(goal) < 15.0 {
                goal = Vec2::new(random.between(-150.0, 150.0), random.between(-150.0, 150.0));
            }
            let wanted = (goal - position) * (40.0 / position.distance(goal)) - velocity;
            let turn = wrap_angle(wanted.heading() - heading);
            turn_rate = (turn / step).clamp(-3.0, 3.0);
            thrusts = turn.abs() < 0.5 && wanted.length() > 5.0;
        } else {
            if random.chance(step / 0.4) {
                turn_rate = one_of(&mut random, [-3.0, 0.0, 0.0, 3.0]);
            }
            thrusts ^= random.chance(step / 0.5);
        }
        heading += turn_rate * step;
        let thrust = if thrusts { 60.0 } else { 0.0 };
        let acceleration = Vec2::from_heading(heading) * thrust - velocity * 0.5;
        velocity += acceleration * step;
        position += velocity * step;
        let sideways = velocity.x * acceleration.y - velocity.y * acceleration.x;
        let state = State::moving(position, velocity)
            .with_acceleration(acceleration)
            .with_heading(velocity.heading(), sideways / velocity.length_squared().max(1.0));
        Observation::Moved(state)
    };
    (0..TICKS).map(pilot).collect()
}

/// A tank of 25 u/s and 0.785 rad/s that takes half a second to reach either.
fn tank(seed: u64) -> Path {
    let (mut random, step) = (Random::from_seed(seed), RATE.step_secs());
    let (mut position, mut heading, mut speed, mut turn_rate) = (Vec2::ZERO, 0.0, 0.0f64, 0.0f64);
    let (mut wanted_speed, mut wanted_turn_rate) = (25.0, 0.0);
    let pilot = |_| {
        if random.chance(step / 1.5) {
            wanted_speed = one_of(&mut random, [25.0, 25.0, 0.0, -12.0]);
        }
        if random.chance(step / 0.7) {
            wanted_turn_rate = one_of(&mut random, [-0.785, 0.0, 0.0, 0.785]);
        }
        speed += (wanted_speed - speed).clamp(-50.0 * step, 50.0 * step);
        turn_rate += (wanted_turn_rate - turn_rate).clamp(-1.6 * step, 1.6 * step);
        heading = wrap_angle(heading + turn_rate * step);
        let velocity = Vec2::from_heading(heading) * speed;
        position += velocity * step;
        Observation::Moved(State::moving(position, velocity).with_heading(heading, turn_rate))
    };
    (0..TICKS).map(pilot).collect()
}

/// The tanks of a match of eight bots.
fn bots(seed: u64) -> Vec<Path> {
    let config = TanksConfig { tanks: [4, 4], ..TanksConfig::default() };
    let mut game = Match::of_bots(config, seed).expect("the default rules are valid");
    let mut paths: Vec<Path> = vec![Vec::new(); 8];
    for _ in 0..TICKS {
        for (tank, path) in game.tanks().tanks().iter().zip(&mut paths) {
            let stands = State::moving(tank.state().position, Vec2::ZERO);
            path.push(tank.observation().unwrap_or(Observation::Moved(stands)));
        }
        game.step();
    }
    paths
}

fn one_of(random: &mut Random, values: [f64; 4]) -> f64 {
    values[random.below(4) as usize]
}
