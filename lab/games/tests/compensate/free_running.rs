//! Goal: against a server that free-runs, what is predicted for when an input arrives is what the
//! server has then, within a stated tolerance, and exactly if nothing jitters. Method: the jet car
//! over links, every prediction kept and compared.
//!
//! The tolerance. With jitter J (and a tick Δ at either end) the server plays at t what the hands
//! did at t − D − e with |e| ≤ ε = J + 2Δ. So a change of thrust comes early or late by ε, and
//! turning full thrust a around changes the velocity by 2a·ε; over the replayed stretch of W
//! seconds that is 2a·ε·W of place. The replay itself is too long or short by ε, at the speed v of
//! the car. Stated: 2a·ε for the velocity, v·ε + 2a·ε·W for the place, along the diagonal of both
//! axes.

use std::collections::BTreeMap;

use fairpath::random::Random;
use fairpath::time::{LocalInstant, SharedInstant, Span};
use fairpath::vector::Vector;
use fairpath_compensate::{ENTRIES_DEFAULT, Epoch, FreeRunning, HeldInput, Prototype, Reply};
use fairpath_games::jet_car::{Input, JetCarConfig, JetCarScene, TICK_RATE};
use fairpath_sim::{Link, LinkConfig};

const TICK: Span = Span::from_millis(10);
/// How long the hands keep a choice.
const HELD_TICKS: u64 = 30;

/// What was predicted, by the instant it was predicted for, and what the server had then.
struct Run {
    predicted: BTreeMap<SharedInstant, JetCarScene>,
    prototype: BTreeMap<SharedInstant, JetCarScene>,
    truth: BTreeMap<SharedInstant, JetCarScene>,
    replayed_max: u64,
}

/// Twenty seconds in the middle of a wide field: no walls, or one touch of them would be a
/// difference for good.
fn run(one_way: Span, jitter: Span, seed: u64) -> Run {
    let rules = JetCarConfig { width: 10_000.0, height: 10_000.0, ..JetCarConfig::default() };
    let config = LinkConfig::default().delay(one_way).jitter_uniform(jitter);
    let dice = Random::from_seed(seed);
    let mut up: Link<(LocalInstant, Input)> = Link::new(config.clone(), dice.fork(0));
    let mut down: Link<Reply<JetCarScene>> = Link::new(config, dice.fork(1));
    let mut choice = dice.fork(2);
    let mut server = JetCarScene::new(&rules);
    let mut seat = HeldInput::new(Input::IDLE);
    let mut client = FreeRunning::<JetCarConfig>::new(server.clone(), TICK_RATE, ENTRIES_DEFAULT);
    let mut first = Prototype::<JetCarConfig>::new(server.clone(), TICK_RATE, ENTRIES_DEFAULT);
    let mut input = Input::IDLE;
    let mut run = Run {
        predicted: BTreeMap::new(),
        prototype: BTreeMap::new(),
        truth: BTreeMap::new(),
        replayed_max: 0,
    };
    for tick in 0..2_000u64 {
        let now = SharedInstant::ZERO + TICK_RATE.begin(tick as i64);
        let local = LocalInstant::from_secs_f64(100.0) + (now - SharedInstant::ZERO);
        // What arrived, then the hands, then what they will have led to.
        while let Some(arrival) = down.poll(now) {
            first.accept(arrival.payload.tick, arrival.payload.state.clone());
            client.accept(arrival.payload);
        }
        if tick.is_multiple_of(2 * HELD_TICKS) {
            input = Input::new(choice.between(-1.0, 1.0), choice.between(-1.0, 1.0));
        } else if tick.is_multiple_of(HELD_TICKS) {
            // And back, so that the car stays slow and away from the walls.
            input = Input::new(-input.right, -input.down);
        }
        first.pong(local - one_way - one_way, local);
        first.input(local, input);
        up.send(now, 0, (client.input(local, input), input));
        let predicted = client.predict(&rules, local);
        run.replayed_max = run.replayed_max.max(predicted.ticks);
        run.predicted.insert(now + one_way, predicted.state);
        run.prototype.insert(now + one_way, first.predict(&rules, local));
        // The server plays what has arrived until the next tick, and answers.
        run.truth.insert(now, server.clone());
        while let Some(arrival) = up.poll(now) {
            let (stamp, input) = arrival.payload;
            seat.receive(stamp, input);
        }
        let (acknowledged, applied) = seat.acknowledged();
        down.send(now, 0, Reply { epoch: Epoch(1), tick, state: server.clone(), acknowledged, applied });
        server.step(&rules, *seat.play(TICK), 1);
    }
    run
}

impl Run {
    /// How far off places and velocities were, at worst and on average, once the first answers were
    /// there.
    fn errors(&self, predicted: &BTreeMap<SharedInstant, JetCarScene>) -> [Vec<f64>; 2] {
        let settled = predicted.range(SharedInstant::from_millis(4_000)..);
        let both = settled.filter_map(|(at, predicted)| Some((predicted.car, self.truth.get(at)?.car)));
        let (places, speeds) = both
            .map(|(guess, car)| {
                (guess.position.distance(car.position), guess.velocity.distance(car.velocity))
            })
            .unzip();
        [places, speeds]
    }

    fn speed_max(&self) -> f64 {
        self.truth.values().map(|scene| scene.car.velocity.length()).fold(0.0, f64::max)
    }
}

fn worst(errors: &[f64]) -> f64 {
    errors.iter().copied().fold(0.0, f64::max)
}

fn mean(errors: &[f64]) -> f64 {
    errors.iter().sum::<f64>() / errors.len() as f64
}

#[test]
fn without_jitter_it_is_the_servers_state_to_the_bit() {
    for one_way in [0, 10, 100, 400] {
        let run = run(Span::from_millis(one_way), Span::ZERO, 5);
        let [places, speeds] = run.errors(&run.predicted);
        assert!(places.len() > 1_000);
        assert_eq!((worst(&places), worst(&speeds)), (0.0, 0.0), "{one_way} ms");
    }
}

#[test]
fn with_jitter_it_is_within_the_stated_tolerance() {
    for (one_way, jitter) in [(50, 10), (100, 40), (200, 100), (400, 20)] {
        for seed in 0..4 {
            let run = run(Span::from_millis(one_way), Span::from_millis(jitter), seed);
            let [places, speeds] = run.errors(&run.predicted);
            let slack = (jitter as f64 + 20.0) * 1e-3;
            let window = run.replayed_max as f64 * TICK_RATE.step_secs();
            let full = JetCarConfig::default().acceleration() * std::f64::consts::SQRT_2;
            let speed_tolerance = 2.0 * full * slack;
            let tolerance = run.speed_max() * slack + speed_tolerance * window;
            println!(
                "one way {one_way} ± {jitter} ms: off by {:.2} on average, {:.1} at worst, tolerance {tolerance:.0}",
                mean(&places),
                worst(&places)
            );
            assert!(worst(&speeds) <= speed_tolerance, "{} of {speed_tolerance}", worst(&speeds));
            assert!(worst(&places) <= tolerance, "{} of {tolerance}", worst(&places));
            assert!(worst(&places) > 0.0, "it cannot be exact");
        }
    }
}

/// Buchheit 2004's first variant, for comparison: its place is nearly right, its velocity lacks a
/// round trip of thrust.
#[test]
fn the_prototype_is_worse_in_velocity() {
    let run = run(Span::from_millis(200), Span::ZERO, 1);
    let [_, speeds] = run.errors(&run.prototype);
    let [_, exact] = run.errors(&run.predicted);
    assert_eq!(worst(&exact), 0.0);
    assert!(mean(&speeds) > 10.0, "{}", mean(&speeds));
    let [places, _] = run.errors(&run.prototype);
    assert!(
        worst(&places) < 1.0,
        "nothing is in the way, so the sum of offsets is right: {}",
        worst(&places)
    );
}
