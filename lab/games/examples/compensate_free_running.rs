//! Buchheit 2004's state extrapolation and its prototype side by side, against a server that runs
//! on by its own clock: how far the car on the screen is from where the server has it when an input
//! from now arrives.
//!
//! `cargo run --release -p fairpath-games --example compensate_free_running`

use std::collections::BTreeMap;

use fairpath::random::Random;
use fairpath::time::{LocalInstant, SharedInstant, Span};
use fairpath::vector::Vector;
use fairpath_compensate::{ENTRIES_DEFAULT, Epoch, FreeRunning, HeldInput, Prototype, Reply};
use fairpath_games::jet_car::{Car, Input, JetCarConfig, JetCarScene, TICK_RATE};
use fairpath_sim::{Link, LinkConfig};

fn main() {
    println!(
        "one way ± jitter   as it arrives        prototype      extrapolated   (mean, pixels and pixels/s)"
    );
    for (delay, jitter) in [(50, 0), (50, 20), (200, 0), (200, 50)] {
        let screens = play(Span::from_millis(delay), Span::from_millis(jitter));
        print!("{delay:4} ± {jitter:3} ms   ");
        screens.iter().for_each(|(place, speed)| print!("  {place:6.2} {speed:7.2}"));
        println!();
        let [old, prototype, extrapolated] = screens;
        assert!(extrapolated.0 < old.0 / 5.0 && extrapolated.1 < prototype.1 / 2.0);
    }
}

/// Mean error of place and velocity on three screens.
fn play(one_way: Span, jitter: Span) -> [(f64, f64); 3] {
    let rules = JetCarConfig { width: 10_000.0, ..JetCarConfig::default() };
    let link = LinkConfig::default().delay(one_way).jitter_uniform(jitter);
    let dice = Random::from_seed(1);
    let mut up: Link<(LocalInstant, Input)> = Link::new(link.clone(), dice.fork(0));
    let mut down: Link<Reply<JetCarScene>> = Link::new(link, dice.fork(1));
    let mut choice = dice.fork(2);
    let mut input = Input::IDLE;

    let mut server = JetCarScene::new(&rules);
    let mut hands = HeldInput::new(Input::IDLE);
    let mut client = FreeRunning::<JetCarConfig>::new(server.clone(), TICK_RATE, ENTRIES_DEFAULT);
    let mut prototype = Prototype::<JetCarConfig>::new(server.clone(), TICK_RATE, ENTRIES_DEFAULT);

    let mut screens: [BTreeMap<SharedInstant, Car>; 3] = Default::default();
    let mut truth = BTreeMap::new();
    for tick in 0..2_000u64 {
        let now = SharedInstant::ZERO + TICK_RATE.begin(tick as i64);
        let local = LocalInstant::from_micros(now.as_micros());

        // The client.
        while let Some(arrival) = down.poll(now) {
            prototype.accept(arrival.payload.tick, arrival.payload.state.clone());
            client.accept(arrival.payload);
        }
        if tick.is_multiple_of(30) {
            // Left and right in turns: the car stays slow.
            let side = if tick.is_multiple_of(60) { 1.0 } else { -1.0 };
            input = Input::new(side * choice.between(0.5, 1.0), 0.0);
        }
        prototype.pong(local - one_way - one_way, local);
        prototype.input(local, input);
        up.send(now, 0, (client.input(local, input), input));
        let shown = [
            client.newest_state().car,
            prototype.predict(&rules, local).car,
            client.predict(&rules, local).state.car,
        ];
        for (screen, car) in screens.iter_mut().zip(shown) {
            screen.insert(now + one_way, car);
        }

        // The server: what has arrived last is what the hands do.
        truth.insert(now, server.car);
        while let Some(arrival) = up.poll(now) {
            hands.receive(arrival.payload.0, arrival.payload.1);
        }
        let (acknowledged, applied) = hands.acknowledged();
        down.send(now, 0, Reply { epoch: Epoch(1), tick, state: server.clone(), acknowledged, applied });
        server.step(&rules, *hands.play(Span::from_millis(10)), 1);
    }
    screens.map(|screen| {
        let settled = screen.range(SharedInstant::from_millis(3_000)..);
        let pairs: Vec<(Car, Car)> = settled.filter_map(|(at, car)| Some((*car, *truth.get(at)?))).collect();
        let mean = |of: fn(&(Car, Car)) -> f64| pairs.iter().map(of).sum::<f64>() / pairs.len() as f64;
        (mean(|(a, b)| a.position.distance(b.position)), mean(|(a, b)| a.velocity.distance(b.velocity)))
    })
}

#[test]
fn it_runs_as_written() {
    main();
}
