//! Goal: ships are drawn almost as near to the truth as they are placed, and do not jump. Method:
//! seeded pilots that use the whole range of an asteroids ship, seen over a good and a bad link at
//! three frame rates, drawn with each way of smoothing.
//!
//! A *jump* is the part of what a ship moves on the screen between two frames that the true ship
//! did not move: |Δdrawn − Δtruth|. Some of it is not the smoothing's: the truth leaves the path
//! that receivers follow until a DR vector tells them. The row "truth alone" is that part.
//!
//! To see the tables: `cargo test -p fairpath-sim --test scenarios drawing -- --nocapture`

use fairpath::converge::{Algorithm, Convergence};
use fairpath::motion::MotionKind;
use fairpath::place::{Arrival, Placement, Replica};
use fairpath::random::Random;
use fairpath::schedule::{Broadcast, DispatcherConfig};
use fairpath::time::{Now, TickRate};
use fairpath::{DrVector, EntityId, Observation, Owner, ReceiverId, SharedInstant, Span, State};
use fairpath::{Trigger, Vec2, Vector};
use fairpath_sim::star::{Spoke, Star, Watch};
use fairpath_sim::{LinkConfig, Loss};

const TICKS: TickRate = TickRate::hz(60);
const FLIGHT_SECS: i64 = 40;
const FLIGHTS: u64 = 12;
const NEAR: &str = "1 ms";
const FRAMES_PER_SEC: [u32; 3] = [10, 60, 144];
const SPEED_MAX: f64 = 60.0;
const THRUST: f64 = 80.0;

#[test]
fn drawn_ships_stay_near_the_truth_and_do_not_jump() {
    let repro = fairpath_sim::repro!(1);
    let good = LinkConfig::default().delay(Span::from_millis(1));
    let bad = LinkConfig::default().delay(Span::from_millis(150)).jitter_uniform(Span::from_millis(30));
    for (name, link) in [(NEAR, good), ("150 ± 30 ms, 5 % lost", bad.loss(Loss::each(0.05)))] {
        for model in [MotionKind::Linear, MotionKind::Circular, MotionKind::Quadratic] {
            let flights: Vec<Flight> =
                (0..FLIGHTS).map(|flight| Flight::new(repro.seed() + flight, model, &link)).collect();
            let see = |smoothing| FRAMES_PER_SEC.map(|rate| measure(&flights, smoothing, rate));
            let snap = see(Convergence::default().with_algorithm(Algorithm::Snap));
            let jumps = snap.map(|seen| format!("{:.2}", seen.jump)).join(" ");
            println!("\n{model:?}, {name}, at 10, 60 and 144 frames a second.");
            println!("Placed p95 {:.2}, jump of snap p99 {jumps}:\n", snap[2].placed);
            println!("| smoothing | drawn ÷ placed | jump ÷ jump of snap | beyond {SPEED_MAX} u/s |");
            println!("| --- | --- | --- | --- |");
            println!("| truth alone | | {} | |", each(&snap, |seen| seen.unforeseen / seen.jump));
            row("snap", &snap, &snap);
            for millis in if model == MotionKind::Linear { &[200, 100, 75][..] } else { &[200] } {
                for algorithm in &Algorithm::ALL[1..] {
                    let blend = Span::from_millis(*millis);
                    let smoothing = Convergence { algorithm: *algorithm, blend, ..Convergence::default() };
                    row(&format!("{algorithm:?}, {millis} ms"), &see(smoothing), &snap);
                }
            }
            let smooth = see(Convergence::smooth());
            row("`Convergence::smooth`", &smooth, &snap);
            for seen in &smooth {
                assert!(seen.drawn <= 1.25 * seen.placed, "{model:?}, {name}: {seen:?}");
            }
            assert!(smooth[1].jump <= 0.5 * snap[1].jump, "{model:?}, {name}: {smooth:?}");
            assert!(smooth[2].jump <= 0.24 * snap[2].jump, "{model:?}, {name}: {smooth:?}");
            if name == NEAR {
                // Why there is no such bound for longer frames: the truth alone jumps that much.
                assert!(snap[0].unforeseen > snap[0].jump && snap[1].unforeseen > 0.35 * snap[1].jump);
            }
        }
    }
}

fn row(name: &str, seen: &[Seen; 3], snap: &[Seen; 3]) {
    let jump: Vec<Seen> =
        seen.iter().zip(snap).map(|(seen, snap)| Seen { jump: seen.jump / snap.jump, ..*seen }).collect();
    let drawn = each(seen, |seen| seen.drawn / seen.placed);
    println!("| {name} | {drawn} | {} | {} |", each(&jump, |seen| seen.jump), each(seen, |seen| seen.beyond));
}

fn each(seen: &[Seen], number: fn(&Seen) -> f64) -> String {
    seen.iter().map(|seen| format!("{:.2}", number(seen))).collect::<Vec<_>>().join(" ")
}

/// What a screen shows, in units: two errors (p95) and what happens between two frames (p99).
#[derive(Clone, Copy, Debug)]
struct Seen {
    placed: f64,
    drawn: f64,
    jump: f64,
    /// What the truth moves away from the followed path: the jump if no correction were shown.
    unforeseen: f64,
    /// What is drawn beyond the greatest distance that a ship can fly.
    beyond: f64,
}

fn measure(flights: &[Flight], smoothing: Convergence, frames_per_sec: u32) -> Seen {
    // A little slower than it says, so that frames drift through all phases of the ticks.
    let frame_secs = 1.0037 / f64::from(frames_per_sec);
    let [mut placed, mut drawn, mut jump, mut unforeseen, mut beyond] = [const { Vec::new() }; 5];
    for flight in flights {
        let mut replica = Replica::new(Placement::Global).with_convergence(smoothing);
        let mut arrivals = flight.arrivals.iter().peekable();
        let mut last = None;
        for now in (10..).map(|frame| SharedInstant::from_secs_f64(f64::from(frame) * frame_secs)) {
            let mut corrected = Vec2::ZERO;
            while let Some((at, vector)) = arrivals.next_if(|(at, _)| *at <= now) {
                let at = Now::synchronised(*at);
                let before = replica.position(at);
                replica.accept(vector, &Arrival::at(at));
                corrected += before.zip(replica.position(at)).map_or(Vec2::ZERO, |(a, b)| b - a);
            }
            let Some(truth) = flight.truth_at(now) else { break };
            let Some(place) = replica.position(Now::synchronised(now)) else { continue };
            let draw = replica.draw(Now::synchronised(now)).map_or(place, |state| state.position);
            placed.push(place.distance(truth));
            drawn.push(draw.distance(truth));
            if let Some((last_truth, last_place, last_draw)) = last.replace((truth, place, draw)) {
                jump.push((draw - last_draw).distance(truth - last_truth));
                unforeseen.push((place - corrected - last_place).distance(truth - last_truth));
                beyond.push((draw.distance(last_draw) - SPEED_MAX * frame_secs).max(0.0));
            }
        }
    }
    let quantile = |mut numbers: Vec<f64>, part: f64| {
        numbers.sort_by(f64::total_cmp);
        numbers[(part * numbers.len() as f64) as usize]
    };
    let (placed, drawn) = (quantile(placed, 0.95), quantile(drawn, 0.95));
    let [jump, unforeseen, beyond] = [jump, unforeseen, beyond].map(|numbers| quantile(numbers, 0.99));
    Seen { placed, drawn, jump, unforeseen, beyond }
}

/// One ship for [`FLIGHT_SECS`], and the DR vectors that a receiver hears of it.
struct Flight {
    /// At every tick.
    truth: Vec<State<Vec2>>,
    arrivals: Vec<(SharedInstant, DrVector<Vec2>)>,
}

impl Flight {
    fn new(seed: u64, model: MotionKind, link: &LinkConfig) -> Self {
        let (ship, receiver, random) = (EntityId(1), ReceiverId(0), Random::from_seed(seed));
        let (begin, truth) = (SharedInstant::ZERO, fly(random.fork(0)));
        let mut owner = Owner::new(ship, Trigger::within(0.2)).with_model(model);
        let star = Star::new(DispatcherConfig::default(), Box::new(Broadcast), random.fork(1), begin);
        let mut star = star.watched_by(Arrivals(Vec::new()));
        star.join(receiver, Spoke::new(link.clone(), random.fork(2)), begin);
        for (tick, state) in truth.iter().enumerate() {
            let now = begin + TICKS.begin(tick as i64);
            star.run_until(now);
            if let Some(export) = owner.observe(Observation::Moved(*state), now).expect("finite numbers") {
                star.export(&export, now);
            }
            star.send_due(now);
        }
        Self { truth, arrivals: star.watch.0 }
    }

    /// Returns the position at any instant: thrust is constant within a tick.
    fn truth_at(&self, now: SharedInstant) -> Option<Vec2> {
        let tick = TICKS.running_at(now.since_zero());
        let [from, to] = self.truth.get(tick as usize..)?.first_chunk()?;
        let secs = (now.since_zero() - TICKS.begin(tick)).as_secs_f64();
        let gained = (to.velocity - from.velocity) * (0.5 * secs / TICKS.step_secs());
        Some(from.position + (from.velocity + gained) * secs)
    }
}

/// Turns left, right or not at all, thrusts or coasts, for a fraction of a second each.
fn fly(mut random: Random) -> Vec<State<Vec2>> {
    let (mut heading, mut turn_rate, mut thrust) = (0.0, 0.0, 0.0);
    let (mut turns_until, mut thrusts_until) = (0.0, 0.0);
    let (mut state, step_secs) = (State::moving(Vec2::ZERO, Vec2::ZERO), TICKS.step_secs());
    (0..FLIGHT_SECS * i64::from(TICKS.as_hz()))
        .map(|tick| {
            let secs = TICKS.begin(tick).as_secs_f64();
            if secs >= turns_until {
                turn_rate = [-4.0, 0.0, 4.0][random.below(3) as usize];
                turns_until = secs + random.between(0.2, 1.0);
            }
            if secs >= thrusts_until {
                thrust = THRUST - thrust;
                thrusts_until =
                    secs + if thrust > 0.0 { random.between(0.3, 1.5) } else { random.between(0.1, 0.8) };
            }
            heading += turn_rate * step_secs;
            let wanted = state.velocity + Vec2::from_heading(heading) * (thrust * step_secs);
            let velocity = wanted * (SPEED_MAX / wanted.length().max(SPEED_MAX));
            let acceleration = (velocity - state.velocity) * (1.0 / step_secs);
            let position = state.position + (state.velocity + velocity) * (0.5 * step_secs);
            let turn_rate = velocity.perpendicular().dot(acceleration) / velocity.dot(velocity).max(100.0);
            state = State::moving(position, velocity).with_acceleration(acceleration);
            state.spin = turn_rate;
            state
        })
        .collect()
}

struct Arrivals(Vec<(SharedInstant, DrVector<Vec2>)>);

impl Watch<Vec2> for Arrivals {
    fn on_arrival(&mut self, _: ReceiverId, vector: &DrVector<Vec2>, at: SharedInstant) {
        self.0.push((at, *vector));
    }
}
