//! Laws of predictors: EKB is what Shi 2014 wrote and keeps its limits, no answer is NaN, scenes
//! can be shifted, turned, mirrored and scaled, and two ends of a network place alike.

#[path = "laws/baselines.rs"]
mod baselines;
#[path = "laws/ekb.rs"]
mod ekb;
#[path = "laws/forecast.rs"]
mod forecast;
#[path = "laws/live.rs"]
mod live;
#[path = "laws/scenes.rs"]
mod scenes;
#[path = "laws/trend_line.rs"]
mod trend_line;
#[path = "laws/walls.rs"]
mod walls;

use fairpath::vector::{Vec2, Vector};
use fairpath_laws::number;
use fairpath_laws::proptest::prelude::*;
use fairpath_predict::{
    Body, Condition, Ekb, Fading, Gain, Grid, Hm, Hybrid, InputScheme, Is, Item, Known, Linear, Missing,
    Oaekb, Order, Other, Predictor, Relation, Ridge, Step, TICK_SECS, Tdm,
};

fn vec2(limit: f64) -> impl Strategy<Value = Vec2> {
    (number(limit), number(limit)).prop_map(|(x, y)| Vec2::new(x, y))
}

/// The delays of Shi 2014, in ticks.
const HORIZONS: [u32; 7] = [18, 36, 54, 72, 90, 108, 126];

/// A player and the players around it.
#[derive(Clone, Debug)]
struct Scene {
    history: Vec<Body>,
    condition: Condition,
    others: Vec<Other>,
    world: Option<Grid>,
    inputs: Vec<Vec2>,
}

impl Scene {
    /// A player at the origin with this velocity, alone.
    fn alone(velocity: Vec2) -> Self {
        Self {
            history: vec![Body { velocity, ..Body::default() }],
            condition: Condition::default(),
            others: vec![],
            world: None,
            inputs: vec![],
        }
    }

    fn with(mut self, relation: Relation, position: Vec2, velocity: Vec2) -> Self {
        let body = Body { position, velocity, ..Body::default() };
        self.others.push(Other { relation, body, ticks_ago: 0, condition: Condition::default() });
        self
    }

    fn known(&self) -> Known<'_> {
        Known {
            history: &self.history,
            condition: self.condition,
            others: &self.others,
            world: self.world.as_ref(),
            inputs: &self.inputs,
            ..Known::default()
        }
    }

    fn newest(&self) -> Body {
        self.known().newest()
    }

    /// Returns the scene with every vector mapped: places by `place`, directions by `direction`.
    fn mapped(&self, place: impl Fn(Vec2) -> Vec2, direction: impl Fn(Vec2) -> Vec2) -> Self {
        let body = |body: &Body| Body {
            position: place(body.position),
            velocity: direction(body.velocity),
            acceleration: direction(body.acceleration),
        };
        Self {
            history: self.history.iter().map(body).collect(),
            others: self.others.iter().map(|other| Other { body: body(&other.body), ..*other }).collect(),
            inputs: self.inputs.iter().map(|input| direction(*input)).collect(),
            ..self.clone()
        }
    }
}

fn predict(predictor: &mut dyn Predictor, scene: &Scene, ticks: &[u32]) -> Result<Vec<Vec2>, Missing> {
    let mut positions = vec![Vec2::ZERO; ticks.len()];
    predictor.predict(0, &scene.known(), ticks, &mut positions)?;
    Ok(positions)
}

/// Returns every tick of three seconds, with the start in front.
fn path(predictor: &mut dyn Predictor, scene: &Scene) -> Vec<Vec2> {
    let ticks: Vec<u32> = (1..=180).collect();
    let mut path = vec![scene.newest().position];
    path.extend(predict(predictor, scene, &ticks).expect("nothing is missing"));
    path
}

/// A game in which a player glides where it pushes.
#[derive(Clone, Copy, Debug)]
struct Glide;

impl Step for Glide {
    fn step(&self, body: &Body, input: Vec2) -> Body {
        let velocity = body.velocity + (input * 300.0 - body.velocity) * 0.1;
        Body { position: body.position + velocity * TICK_SECS, velocity, acceleration: body.acceleration }
    }
}

fn all_predictors() -> Vec<Box<dyn Predictor>> {
    vec![
        Box::new(Linear),
        Box::new(Tdm),
        Box::new(InputScheme::<Glide> { order: Order::Velocity, game: None }),
        Box::new(InputScheme::<Glide> { order: Order::Acceleration, game: None }),
        Box::new(InputScheme { order: Order::InputPosition, game: Some(Glide) }),
        Box::new(InputScheme { order: Order::InputVelocity, game: Some(Glide) }),
        Box::new(InputScheme { order: Order::InputAcceleration, game: Some(Glide) }),
        Box::new(Is::default()),
        Box::new(Hm::default()),
        Box::new(Ekb::default()),
        Box::new(Oaekb::default()),
        Box::new(Hybrid::<Ekb>::default()),
        Box::new(Hybrid::<Oaekb>::default()),
        Box::new(Fading::new(0.3)),
        Box::new(Fading::new(1.0)),
        Box::new(Ridge::default()),
    ]
}

fn condition() -> impl Strategy<Value = Condition> {
    let share = || prop_oneof![4 => 0.0..=1.0, 1 => Just(0.0), 1 => Just(1.0)];
    (share(), share()).prop_map(|(health, ammo)| Condition { health, ammo })
}

fn other(place: f64, speed: f64) -> impl Strategy<Value = Other> {
    let relation = prop_oneof![Just(Relation::Friend), Just(Relation::Enemy)];
    (relation, vec2(place), vec2(speed), 0u32..200, condition()).prop_map(
        |(relation, position, velocity, ticks_ago, condition)| {
            let body = Body { position, velocity, ..Body::default() };
            Other { relation, body, ticks_ago, condition }
        },
    )
}

/// Up to eight others, within sight or a little beyond, as fast as Ethereal allows; a history that
/// turns now and then.
fn scene() -> impl Strategy<Value = Scene> {
    scene_of(1_500.0, 250.0)
}

fn scene_of(place: f64, speed: f64) -> impl Strategy<Value = Scene> {
    let history = prop::collection::vec((vec2(speed), 1usize..60), 1..4);
    let others = prop::collection::vec(other(place, speed), 0..9);
    let inputs = prop::collection::vec(vec2(1.0), 1..4);
    (vec2(place), history, vec2(speed), condition(), others, inputs).prop_map(
        |(start, courses, acceleration, condition, others, inputs)| {
            let mut position = start;
            let courses =
                courses.into_iter().flat_map(|(velocity, ticks)| std::iter::repeat_n(velocity, ticks));
            let history = courses.map(|velocity| {
                position += velocity * TICK_SECS;
                Body { position, velocity, acceleration }
            });
            Scene { history: history.collect(), condition, others, world: None, inputs }
        },
    )
}
