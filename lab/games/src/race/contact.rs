//! Collisions of a car with walls and other cars.
//!
//! A wall removes the speed into it and a share of the speed along it: the car slides on, slower.
//! Two cars push each other apart and exchange momentum. Walls are applied last, so a car is always
//! on the track.

use fairpath::rotation::wrap_angle;
use fairpath::vector::{Vec2, Vector};

use super::car::{CAR_RADIUS, CarModel, CarMotion};
use super::track::{Place, Track};

/// The speed lost along a wall per speed into it.
const SCRAPE: f64 = 0.35;
/// The share of the speed into a wall that bounces back.
const WALL_BOUNCE: f64 = 0.1;
/// How far a hit turns the car along the wall, in rad per m/s into it: the front hits first.
const NOSE_TURN: f64 = 0.03;
/// The share of the closing speed that bounces back between cars.
const CAR_BOUNCE: f64 = 0.3;
/// Cars farther apart along the track do not collide, in metres: one of them is on a bridge.
const MEETING: f64 = 8.0;
const _: () = assert!(MEETING > 2.0 * CAR_RADIUS + super::TOP_SPEED_LIMIT / 30.0);

/// Puts a car near `near` back between the walls. Returns its place, and its speed into a wall.
pub(super) fn hold_on_road(track: &Track, car: &mut CarMotion, near: f64) -> (Place, Option<f64>) {
    let place = track.project(car.position, near);
    let room = if place.offset >= 0.0 { track.left_at(place.along) } else { track.right_at(place.along) };
    let beyond = place.offset.abs() - (room - CAR_RADIUS);
    if beyond <= 0.0 {
        return (place, None);
    }
    // Move straight towards the nearest point of the centre line, which stays the nearest.
    let outward = (car.position - track.position_at(place.along)).normalize_or_zero();
    car.position += outward * -beyond;
    let held = Place { offset: place.offset - beyond * place.offset.signum(), ..place };
    let impact = car.velocity.dot(outward);
    if impact <= 0.0 {
        return (held, None);
    }
    let along_wall = car.velocity - outward * impact;
    let kept = (1.0 - SCRAPE * impact / along_wall.length().max(1e-9)).max(0.0);
    car.velocity = along_wall * kept - outward * (WALL_BOUNCE * impact);
    turn_nose(car, along_wall, impact);
    (held, Some(impact))
}

/// Turns the car towards the direction in which it slides.
fn turn_nose(car: &mut CarMotion, along_wall: Vec2, impact: f64) {
    if along_wall.length() > 0.0 {
        let turn = wrap_angle(along_wall.heading() - car.heading);
        // A car that hits the wall with its tail keeps its direction.
        if turn.abs() < std::f64::consts::FRAC_PI_2 {
            let most = NOSE_TURN * impact;
            car.heading = wrap_angle(car.heading + turn.clamp(-most, most));
        }
    }
}

/// Pushes two overlapping cars apart. Returns their closing speed if they collided.
pub(super) fn push_apart(
    track: &Track,
    model: &CarModel,
    one: (&mut CarMotion, f64),
    other: (&mut CarMotion, f64),
) -> Option<f64> {
    let ((one, one_along), (other, other_along)) = (one, other);
    let between = other.position - one.position;
    let overlap = 2.0 * CAR_RADIUS - between.length();
    if overlap <= 0.0 || track.way(one_along, other_along).abs() > MEETING {
        return None;
    }
    // Two cars at the same point have no axis between them: separate them along the track.
    let axis = if between.length() > 0.0 { between.normalize_or_zero() } else { track.tangent_at(one_along) };
    one.position += axis * (-0.5 * overlap);
    other.position += axis * (0.5 * overlap);
    let closing = (one.velocity - other.velocity).dot(axis);
    if closing <= 0.0 {
        return None;
    }
    let push = axis * (0.5 * (1.0 + CAR_BOUNCE) * closing);
    one.velocity = (one.velocity - push).clamp_length(model.top_speed);
    other.velocity = (other.velocity + push).clamp_length(model.top_speed);
    Some(closing)
}
