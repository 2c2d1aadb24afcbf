//! The encoding of motions and attitudes.

use std::f64::consts::{SQRT_2, TAU};

use super::bits::{Pass, unzigzag, zigzag};
use super::precision::Grid;
use super::{DecodeError, Precision};
use crate::dr_vector::{Attitude, DrVector};
use crate::motion::{Circular, Dis, Hermite, Linear, Motion, Quadratic, Static, dis};
use crate::rotation::Quat;
use crate::vector::{Planar, Vec3, Vector};

/// Number of possible shapes: three bits of model and one for an attitude.
pub(super) const SHAPES: u32 = 16;
const ATTITUDE: u32 = 8;

/// Returns a DR vector's shape, which decides its numbers: model, and whether it has an attitude.
pub(super) fn shape_of<V: Planar>(vector: &DrVector<V>) -> u32 {
    let model = match vector.motion {
        Motion::Static(_) => 0,
        Motion::Linear(_) => 1,
        Motion::Quadratic(_) => 2,
        Motion::Circular(_) => 3,
        Motion::Hermite(_) => 4,
        Motion::Dis(_) => 5,
    };
    model + if vector.attitude.is_some() { ATTITUDE } else { 0 }
}

/// Returns a motion of this shape, for a reader to fill.
pub(super) fn blank<V: Planar>(shape: u32) -> Result<(Motion<V>, Option<Attitude<V>>), DecodeError> {
    let (position, velocity) = (V::ZERO, V::ZERO);
    let motion = match shape % ATTITUDE {
        0 => Motion::Static(Static { position, orientation: V::Orientation::default() }),
        1 => Motion::Linear(Linear { position, velocity }),
        2 => Motion::Quadratic(Quadratic { position, velocity, acceleration: V::ZERO }),
        3 => Motion::Circular(Circular {
            position,
            heading: 0.0,
            speed: 0.0,
            turn_rate: 0.0,
            climb_rate: 0.0,
            climb_acceleration: 0.0,
        }),
        4 => Motion::Hermite(Hermite {
            start: position,
            start_velocity: velocity,
            end: position,
            end_velocity: velocity,
            secs: 1.0,
        }),
        5 => Motion::Dis(Dis {
            model: dis::Model::Static,
            position: Vec3::ZERO,
            velocity: Vec3::ZERO,
            acceleration: Vec3::ZERO,
            orientation: Quat::IDENTITY,
            angular_velocity: Vec3::ZERO,
        }),
        unknown => return Err(DecodeError::UnknownModel(unknown as u8)),
    };
    Ok((motion, (shape >= ATTITUDE).then(Attitude::default)))
}

/// Returns the wire's number of an IEEE 1278.1 model: the standard's number in the low four bits,
/// above it the variant of that model, in the order of [`dis::Model::ALL`].
fn dis_code(model: dis::Model) -> u8 {
    let reading = dis_readings(model.number()).position(|reading| reading == model);
    model.number() | (reading.expect("every reading is listed") as u8) << 4
}

fn dis_model(code: u8) -> Option<dis::Model> {
    dis_readings(code & 15).nth((code >> 4).into())
}

fn dis_readings(number: u8) -> impl Iterator<Item = dis::Model> {
    dis::Model::ALL.into_iter().filter(move |model| model.number() == number)
}

/// The numbers of a motion, in the order of its struct.
pub(super) fn pass_motion<P: Pass, V: Planar>(
    pass: &mut P,
    precision: &Precision,
    motion: &mut Motion<V>,
) -> Result<(), DecodeError> {
    match motion {
        Motion::Static(it) => {
            pass_position(pass, precision, &mut it.position)?;
            pass_orientation::<P, V>(pass, precision, &mut it.orientation)
        }
        Motion::Linear(it) => {
            pass_position(pass, precision, &mut it.position)?;
            pass_vector(pass, &precision.velocity, &mut it.velocity)
        }
        Motion::Quadratic(it) => {
            pass_position(pass, precision, &mut it.position)?;
            pass_vector(pass, &precision.velocity, &mut it.velocity)?;
            pass_vector(pass, &precision.acceleration, &mut it.acceleration)
        }
        Motion::Circular(it) => pass_circular(pass, precision, it),
        Motion::Hermite(it) => {
            pass_position(pass, precision, &mut it.start)?;
            pass_vector(pass, &precision.velocity, &mut it.start_velocity)?;
            pass_position(pass, precision, &mut it.end)?;
            pass_vector(pass, &precision.velocity, &mut it.end_velocity)?;
            pass_duration(pass, &precision.duration, &mut it.secs)
        }
        Motion::Dis(it) => pass_dis(pass, precision, it),
    }
}

/// An attitude: orientation, then spin.
pub(super) fn pass_attitude<P: Pass, V: Planar>(
    pass: &mut P,
    precision: &Precision,
    attitude: &mut Attitude<V>,
) -> Result<(), DecodeError> {
    pass_orientation::<P, V>(pass, precision, &mut attitude.orientation)?;
    if is_planar::<V>() {
        let turn_rate = precision.turn_rate.pass(pass, V::turn_rate(attitude.spin))?;
        attitude.spin = V::about_up(turn_rate);
    } else {
        let mut body_rate = V::spin_to_3d(attitude.spin);
        pass_vector(pass, &precision.turn_rate, &mut body_rate)?;
        attitude.spin = V::spin_from_3d(body_rate);
    }
    Ok(())
}

const fn is_planar<V: Vector>() -> bool {
    const { assert!(V::DIMENSIONS == 2 || V::DIMENSIONS == 3, "the wire knows two and three dimensions") };
    V::DIMENSIONS == 2
}

fn pass_position<P: Pass, V: Vector>(
    pass: &mut P,
    precision: &Precision,
    position: &mut V,
) -> Result<(), DecodeError> {
    pass_components(pass, position, |axis| &precision.position[axis])
}

fn pass_vector<P: Pass, V: Vector>(pass: &mut P, grid: &Grid, vector: &mut V) -> Result<(), DecodeError> {
    pass_components(pass, vector, |_| grid)
}

#[inline]
fn pass_components<'a, P: Pass, V: Vector>(
    pass: &mut P,
    vector: &mut V,
    grid_of: impl Fn(usize) -> &'a Grid,
) -> Result<(), DecodeError> {
    let mut components = [0.0; 3];
    for (axis, component) in components.iter_mut().enumerate().take(V::DIMENSIONS) {
        *component = grid_of(axis).pass(pass, vector.component(axis))?;
    }
    *vector = V::from_components(|axis| components[axis]);
    Ok(())
}

/// Heights are omitted in two dimensions.
fn pass_circular<P: Pass, V: Planar>(
    pass: &mut P,
    precision: &Precision,
    it: &mut Circular<V>,
) -> Result<(), DecodeError> {
    pass_position(pass, precision, &mut it.position)?;
    pass_angle(pass, precision, &mut it.heading)?;
    it.speed = precision.velocity.pass(pass, it.speed)?;
    it.turn_rate = precision.turn_rate.pass(pass, it.turn_rate)?;
    if is_planar::<V>() {
        (it.climb_rate, it.climb_acceleration) = (0.0, 0.0);
    } else {
        it.climb_rate = precision.velocity.pass(pass, it.climb_rate)?;
        it.climb_acceleration = precision.acceleration.pass(pass, it.climb_acceleration)?;
    }
    Ok(())
}

/// A curve lasts at least one step of the time grid.
fn pass_duration<P: Pass>(pass: &mut P, grid: &Grid, secs: &mut f64) -> Result<(), DecodeError> {
    let at_least_a_step = if *secs < grid.step() { grid.step() } else { *secs };
    *secs = grid.pass(pass, at_least_a_step)?;
    if *secs > 0.0 { Ok(()) } else { Err(DecodeError::OutOfRange) }
}

/// The standard's models are three-dimensional in every world. A zero vector takes one bit, because
/// half of the models have no acceleration or no rotation.
fn pass_dis<P: Pass>(pass: &mut P, precision: &Precision, it: &mut Dis) -> Result<(), DecodeError> {
    let code = pass.bits(dis_code(it.model).into(), 8)? as u8;
    it.model = dis_model(code).ok_or(DecodeError::UnknownModel(code))?;
    pass_position(pass, precision, &mut it.position)?;
    pass_unless_zero(pass, &precision.velocity, &mut it.velocity)?;
    pass_unless_zero(pass, &precision.acceleration, &mut it.acceleration)?;
    pass_quaternion(pass, precision, &mut it.orientation)?;
    pass_unless_zero(pass, &precision.turn_rate, &mut it.angular_velocity)
}

fn pass_unless_zero<P: Pass>(pass: &mut P, grid: &Grid, vector: &mut Vec3) -> Result<(), DecodeError> {
    let is_zero = (0..3).all(|axis| grid.rounds_to_zero(vector.component(axis)));
    if !pass.flag(!is_zero)? {
        *vector = Vec3::ZERO;
        return Ok(());
    }
    pass_vector(pass, grid, vector)?;
    if *vector == Vec3::ZERO { Err(DecodeError::NotCanonical) } else { Ok(()) }
}

fn pass_orientation<P: Pass, V: Planar>(
    pass: &mut P,
    precision: &Precision,
    orientation: &mut V::Orientation,
) -> Result<(), DecodeError> {
    if is_planar::<V>() {
        let mut heading = V::heading(*orientation);
        pass_angle(pass, precision, &mut heading)?;
        *orientation = V::level(heading);
    } else {
        let mut quaternion = V::to_quat(*orientation);
        pass_quaternion(pass, precision, &mut quaternion)?;
        *orientation = V::from_quat(quaternion);
    }
    Ok(())
}

/// A heading, as the nearest step of a full turn. Every angle has a code, so there is no escape.
fn pass_angle<P: Pass>(pass: &mut P, precision: &Precision, angle: &mut f64) -> Result<(), DecodeError> {
    if !angle.is_finite() {
        return Err(DecodeError::NonFinite);
    }
    let steps = i64::from(precision.settings().angle_steps);
    let turns = *angle / TAU;
    let nearest = ((turns - turns.round()) * steps as f64).round() as i64;
    let code = pass.below(nearest.rem_euclid(steps) as u64, steps as u64)? as i64;
    let signed = if code < steps / 2 { code } else { code - steps };
    *angle = signed as f64 * (TAU / steps as f64);
    Ok(())
}

/// An orientation in space: the index of the largest component of the unit quaternion, and the
/// other three components, which determine it. In units of 1/(m·√2), where m is half of a full
/// turn's steps, the squares of the four sum to 2m². The omitted component is strictly greater than
/// each of the three: a tie is broken by taking a unit from one of them. So an orientation has one
/// encoding, and encoding it again changes nothing.
fn pass_quaternion<P: Pass>(pass: &mut P, precision: &Precision, it: &mut Quat) -> Result<(), DecodeError> {
    if !it.is_finite() {
        return Err(DecodeError::NonFinite);
    }
    let half_turn = i64::from(precision.settings().angle_steps / 2);
    let unit = half_turn as f64 * SQRT_2;
    let square_of_left_out =
        |three: &[i64; 3]| 2 * half_turn * half_turn - three.iter().map(|k| k * k).sum::<i64>();

    let (largest, three) = smallest_three(it.normalized());
    let mut three = three.map(|component| (component * unit).round() as i64);
    while let Some(greatest) = three.iter().copied().max_by_key(|k| k.abs())
        && greatest * greatest >= square_of_left_out(&three)
    {
        let at = three.iter().position(|&k| k == greatest).expect("it is one of them");
        three[at] -= greatest.signum();
    }

    let largest = pass.bits(largest as u64, 2)? as usize;
    for k in &mut three {
        *k = unzigzag(pass.below(zigzag(*k), 2 * half_turn as u64 - 1)?);
    }
    let left_out = square_of_left_out(&three);
    if three.iter().any(|k| k * k >= left_out) {
        return Err(DecodeError::NotCanonical);
    }
    let [a, b, c] = three.map(|k| k as f64 / unit);
    let l = (left_out as f64).sqrt() / unit;
    *it = match largest {
        0 => Quat { w: l, v: Vec3::new(a, b, c) },
        1 => Quat { w: a, v: Vec3::new(l, b, c) },
        2 => Quat { w: a, v: Vec3::new(b, l, c) },
        _ => Quat { w: a, v: Vec3::new(b, c, l) },
    };
    Ok(())
}

/// Returns the index of the largest component among w, x, y, z and the other three in that order,
/// for the one of the quaternions ±q whose largest component is positive.
fn smallest_three(q: Quat) -> (usize, [f64; 3]) {
    let all = [q.w, q.v.x, q.v.y, q.v.z];
    let mut largest = 0;
    for at in 1..4 {
        if all[at].abs() > all[largest].abs() {
            largest = at;
        }
    }
    let sign = if all[largest] < 0.0 { -1.0 } else { 1.0 };
    let others = std::array::from_fn(|at| sign * all[if at < largest { at } else { at + 1 }]);
    (largest, others)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::bits::Echo;

    #[test]
    fn ties_between_components_are_spelt_one_way() {
        let precision = Precision::default();
        let half = std::f64::consts::FRAC_1_SQRT_2;
        for q in [
            Quat { w: 0.5, v: Vec3::new(0.5, -0.5, 0.5) },
            Quat { w: half, v: Vec3::new(half, 0.0, 0.0) },
            Quat { w: 0.0, v: Vec3::new(0.0, -half, half) },
            Quat { w: -1.0, v: Vec3::ZERO },
        ] {
            let mut once = q;
            pass_quaternion(&mut Echo, &precision, &mut once).expect("finite");
            let mut twice = once;
            pass_quaternion(&mut Echo, &precision, &mut twice).expect("finite");
            assert_eq!(once, twice);
            assert!(once.angle_to(q) < 5e-4, "{q:?} became {once:?}");
        }
    }

    #[test]
    fn the_models_of_the_standard_are_numbered_as_in_the_specification() {
        let codes = dis::Model::ALL.map(dis_code);
        let expected = [0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x16, 0x07, 0x08, 0x18, 0x09, 0x19, 0x29];
        assert_eq!(codes, expected);
        assert_eq!(codes.map(dis_model), dis::Model::ALL.map(Some));
        assert_eq!([0x00, 0x0A, 0x11, 0x26].map(dis_model), [None; 4]);
    }

    #[test]
    fn half_a_turn_either_way_is_the_same_heading() {
        let precision = Precision::default();
        let heading = |mut angle| {
            pass_angle(&mut Echo, &precision, &mut angle).expect("finite");
            angle
        };
        assert_eq!(heading(std::f64::consts::PI), heading(-std::f64::consts::PI));
        assert_eq!(heading(1e300), 0.0, "an angle without a fraction left");
    }
}
