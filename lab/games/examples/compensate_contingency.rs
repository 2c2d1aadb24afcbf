//! Buchheit 2004's open idea: an input that waits at the server for its event. A gust throws the
//! jet car towards a wall; 800 ms of round trip are too long to answer it, but an order left at the
//! server ("if I drift faster than this, thrust against it") is carried out in the same tick.
//!
//! `cargo run --release -p fairpath-games --example compensate_contingency`

use fairpath::vector::Vec2;
use fairpath_compensate::{Contingencies, Contingency};
use fairpath_games::jet_car::{Gust, Input, JetCarConfig, JetCarScene};

fn main() {
    let [alone, ordered] = [false, true].map(lives_after_a_gust);
    println!("lives left after a gust: {alone} without, {ordered} with an order at the server");
    assert!(ordered > alone);
}

fn lives_after_a_gust(has_order: bool) -> u32 {
    let rules = JetCarConfig::default();
    let mut scene = JetCarScene::new(&rules);
    let mut orders = Contingencies::new();
    if has_order {
        // As fast to the right as no player would fly: full thrust to the left for half a second.
        let brake = Contingency {
            number: 1,
            condition: 150.0,
            input: Input::new(-1.0, 0.0),
            ticks: 48,
            expires: 1_000,
        };
        let Ok(()) = orders.hold(brake) else { unreachable!("it is the only one") };
    }
    scene.gust = Some(Gust { push: Vec2::new(5.0, 0.0), ticks_left: 40 });
    for tick in 0..160 {
        let drift = scene.car.velocity.x;
        let input = orders.play(tick, Input::IDLE, |limit| drift > *limit);
        scene.step(&rules, input, 1);
    }
    scene.lives
}

#[test]
fn it_runs_as_written() {
    main();
}
