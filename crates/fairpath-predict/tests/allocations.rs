//! Goal: after the first predictions no predictor allocates. Method: count this thread's
//! allocations while players move and are predicted.

#![allow(unsafe_code, reason = "an allocator that counts cannot be written without")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;

use fairpath::random::Random;
use fairpath::vector::Vec2;
use fairpath_predict::{
    Body, Condition, Ekb, Fading, Grid, Hm, Hybrid, InputScheme, Is, Known, LapPart, LapShape, Linear, Oaekb,
    Order, Other, Predictor, Relation, Ridge, SpeedRule, Step, TICK_SECS, TangentPredictor, Tdm, TrendLine,
    TrendLinePredictor,
};

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

fn count() {
    // The counter is gone while a thread ends; its value is not needed then.
    let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
}

// SAFETY: passes every call on to the system's allocator; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promises are the system's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: as above.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[derive(Clone, Copy, Debug)]
struct Push;

impl Step for Push {
    fn step(&self, body: &Body, input: Vec2) -> Body {
        Body { position: body.position + (body.velocity + input * 9.0) * TICK_SECS, ..*body }
    }
}

/// Laps so different that every player is on the track.
fn line() -> Arc<TrendLine> {
    let lap = |radius: f64| -> Vec<Body> {
        let position = |tick: u32| Vec2::from_heading(f64::from(tick) * 0.003) * radius;
        (0..2094).map(|tick| Body { position: position(tick), ..Body::default() }).collect()
    };
    let laps = [lap(100.0), lap(2000.0)];
    let places = laps.clone().map(|lap| lap.iter().map(|body| body.position).collect::<Vec<_>>());
    let parts = laps.iter().zip(&places).map(|(known, places)| vec![LapPart { known, places }]);
    let parts: Vec<Vec<LapPart<'_>>> = parts.collect();
    Arc::new(TrendLine::from_laps(&parts, LapShape::Circuit, TrendLine::SMOOTHING).expect("laps"))
}

#[test]
fn questions_cost_no_memory() {
    let predictors: Vec<Box<dyn Predictor>> = vec![
        Box::new(Linear),
        Box::new(Tdm),
        Box::new(InputScheme { order: Order::InputPosition, game: Some(Push) }),
        Box::new(InputScheme { order: Order::InputVelocity, game: Some(Push) }),
        Box::new(InputScheme { order: Order::InputAcceleration, game: Some(Push) }),
        Box::new(Is::default()),
        Box::new(Hm::default()),
        Box::new(Ekb::default()),
        Box::new(Oaekb::default()),
        Box::new(Hybrid::<Ekb>::default()),
        Box::new(Hybrid::<Oaekb>::default()),
        Box::new(Fading::new(0.3)),
        Box::new(Ridge::default()),
        Box::new(TrendLinePredictor::new(line())),
        Box::new(TangentPredictor::new(line(), SpeedRule::Recursion)),
    ];
    let mut random = Random::from_seed(11);
    let walls = (0..1600).map(|_| random.chance(0.2)).collect();
    let grid = Grid::new(40, 40, Vec2::new(-2560.0, -2560.0), 128.0, walls).expect("sound");
    let mut place = || Vec2::new(random.between(-1500.0, 1500.0), random.between(-1500.0, 1500.0));
    let scenes: Vec<(Vec<Body>, Vec<Other>)> = (0..50)
        .map(|_| {
            let body = Body { position: place(), velocity: place() * 0.2, ..Body::default() };
            let others = [Relation::Friend, Relation::Friend, Relation::Enemy].map(|relation| {
                let body = Body { position: place(), ..body };
                Other { relation, body, ticks_ago: 0, condition: Condition::default() }
            });
            (vec![body; 70], others.to_vec())
        })
        .collect();
    for mut predictor in predictors {
        let mut positions = [Vec2::new(0.0, 0.0); 3];
        let mut ask = |scene: &(Vec<Body>, Vec<Other>)| {
            let known = Known {
                history: &scene.0,
                others: &scene.1,
                world: Some(&grid),
                inputs: &[Vec2::new(1.0, 0.0), Vec2::new(0.0, 1.0)],
                ..Known::default()
            };
            predictor.learn(2, &known);
            predictor.predict(2, &known, &[18, 126, 300], &mut positions).expect("nothing is missing");
        };
        // One scene in a battle and one outside: both of OAEKB's paths have been needed once.
        scenes[..10].iter().for_each(&mut ask);
        let before = ALLOCATIONS.get();
        scenes.iter().for_each(&mut ask);
        assert_eq!(ALLOCATIONS.get() - before, 0, "{} allocates", predictor.name());
    }
    assert!(ALLOCATIONS.get() > 0, "the counter counts");
}
