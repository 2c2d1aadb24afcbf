//! The laws of the race: it replays to the bit, cars stay on the road and within what tyres can do,
//! laps are counted right, and every bot completes them in its own style.

#[path = "race/cars.rs"]
mod cars;
#[path = "race/determinism.rs"]
mod determinism;
#[path = "race/drivers.rs"]
mod drivers;
#[path = "race/files.rs"]
mod files;
#[path = "race/laps.rs"]
mod laps;
#[path = "race/lines.rs"]
mod lines;
#[path = "race/tracks.rs"]
mod tracks;

use std::sync::Arc;

use fairpath::random::Random;
use fairpath::vector::Vec2;
use fairpath_games::race::{Heat, Input, Preset, Race, RaceConfig, Shape, Track};

/// Every preset, and as many generated tracks.
fn tracks(generated: u64) -> impl Iterator<Item = Arc<Track>> {
    let presets = Preset::ALL.into_iter().map(Track::preset);
    presets.chain((0..generated).map(Track::generated)).map(Arc::new)
}

fn bots(track: &Arc<Track>, seed: u64) -> Heat {
    Heat::of_bots(Arc::clone(track), RaceConfig::default(), seed).expect("sound rules")
}

/// Random inputs that are each kept for a while.
fn random_inputs(cars: usize, random: &mut Random, held: &mut Vec<Input>) {
    held.resize(cars, Input::IDLE);
    for input in held {
        if random.chance(0.03) {
            *input = Input {
                throttle: random.between(-1.0, 2.0),
                brake: random.between(-2.0, 1.5),
                steer: random.between(-1.5, 1.5),
            };
        }
    }
}

/// The road as a picture: everything between the walls. Knows nothing of places and projections,
/// because a checker stands outside.
struct Picture {
    edges: Vec<(Vec2, Vec2)>,
}

impl Picture {
    fn of(track: &Track) -> Self {
        let left: Vec<Vec2> = track.left_wall().collect();
        let right: Vec<Vec2> = track.right_wall().collect();
        let outlines = match track.shape() {
            Shape::Circuit => vec![left, right],
            Shape::Stage => vec![left.into_iter().chain(right.into_iter().rev()).collect()],
        };
        Self { edges: outlines.iter().flat_map(|outline| closed(outline)).collect() }
    }

    /// Whether a ray from here crosses the walls an odd number of times.
    fn contains(&self, point: Vec2) -> bool {
        let crossings = self.edges.iter().filter(|(from, to)| {
            (from.y > point.y) != (to.y > point.y) && {
                let at = from.x + (to.x - from.x) * (point.y - from.y) / (to.y - from.y);
                at > point.x
            }
        });
        crossings.count() % 2 == 1
    }

    /// Whether somewhere a wall crosses a wall.
    fn crosses_itself(&self) -> bool {
        let side = |from: Vec2, to: Vec2, point: Vec2| {
            (to.x - from.x) * (point.y - from.y) - (to.y - from.y) * (point.x - from.x)
        };
        let crosses = |one: &(Vec2, Vec2), other: &(Vec2, Vec2)| {
            side(one.0, one.1, other.0) * side(one.0, one.1, other.1) < 0.0
                && side(other.0, other.1, one.0) * side(other.0, other.1, one.1) < 0.0
        };
        (0..self.edges.len())
            .any(|number| self.edges[..number].iter().any(|other| crosses(&self.edges[number], other)))
    }
}

fn closed(outline: &[Vec2]) -> impl Iterator<Item = (Vec2, Vec2)> {
    outline.iter().copied().zip(outline.iter().copied().cycle().skip(1))
}

/// What no driver can do anything against.
fn assert_sound(race: &Race, picture: &Picture) {
    for car in race.cars() {
        let state = car.state();
        assert!(state.is_finite(), "{:?} has {state:?}", car.id());
        assert!(picture.contains(state.position), "{:?} is off the road at {:?}", car.id(), state.position);
        let limited = race.track().limited(car.place(), fairpath_games::race::CAR_RADIUS);
        let beyond = (limited.offset - car.place().offset).abs();
        assert!(beyond < 1e-9, "{:?} is {beyond} m inside a wall", car.id());
    }
}
