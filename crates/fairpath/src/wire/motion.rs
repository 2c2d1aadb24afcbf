//! What a motion and an attitude look like in bits.

use std::f64::consts::{SQRT_2, TAU};

use super::bits::{Pass, unzigzag, zigzag};
use super::precision::Grid;
use super::{DecodeError, Precision};
use crate::dr_vector::{Attitude, DrVector};
use crate::motion::{Circular, Dis, Hermite, Linear, Motion, Quadratic, Static, dis};
use crate::rotation::Quat;
use crate::vector::{Planar, Vec3, Vector};

/// How many shapes there could be: three bits of model and one for an attitude.
pub(super) const SHAPES: u32 = 16;
const ATTITUDE: u32 = 8;

/// Which numbers a DR vector consists of: its model, and whether it has an attitude.
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

/// Something of this shape, for a reader to fill.
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

/// The models of IEEE 1278.1, by the number that the wire gives them: the standard's in the low four bits,
/// the reading of the ambiguous ones above.
fn dis_code(model: dis::Model) -> u8 {
    match model {
        dis::Model::Static => 1,
    }
}

fn dis_model(code: u8) -> Option<dis::Model> {
    match code {
        1 => Some(dis::Model::Static),
        _ => None,
    }
}

/// The numbers of a motion, in the order in which its struct lists them.
pub(super) fn pass_motion<P: Pass, V: Planar>(
    pass: &mut P,
    precision: &Precision,
    motion: &Motion<V>,
) -> Result<Motion<V>, DecodeError> {
    let Precision { position, velocity, acceleration, turn_rate, duration, .. } = precision;
    Ok(match motion {
        Motion::Static(it) => Motion::Static(Static {
            position: pass_vector(pass, position, it.position)?,
            orientation: pass_orientation::<P, V>(pass, precision, it.orientation)?,
        }),
        Motion::Linear(it) => Motion::Linear(Linear {
            position: pass_vector(pass, position, it.position)?,
            velocity: pass_vector(pass, &[*velocity; 3], it.velocity)?,
        }),
        Motion::Quadratic(it) => Motion::Quadratic(Quadratic {
            position: pass_vector(pass, position, it.position)?,
            velocity: pass_vector(pass, &[*velocity; 3], it.velocity)?,
            acceleration: pass_vector(pass, &[*acceleration; 3], it.acceleration)?,
        }),
        Motion::Circular(it) => Motion::Circular(Circular {
            position: pass_vector(pass, position, it.position)?,
            heading: pass_angle(pass, precision, it.heading)?,
            speed: velocity.pass(pass, it.speed)?,
            turn_rate: turn_rate.pass(pass, it.turn_rate)?,
            climb_rate: pass_vertical::<P, V>(pass, velocity, it.climb_rate)?,
            climb_acceleration: pass_vertical::<P, V>(pass, acceleration, it.climb_acceleration)?,
        }),
        Motion::Hermite(it) => Motion::Hermite(Hermite {
            start: pass_vector(pass, position, it.start)?,
            start_velocity: pass_vector(pass, &[*velocity; 3], it.start_velocity)?,
            end: pass_vector(pass, position, it.end)?,
            end_velocity: pass_vector(pass, &[*velocity; 3], it.end_velocity)?,
            secs: pass_duration(pass, duration, it.secs)?,
        }),
        Motion::Dis(it) => Motion::Dis(pass_dis(pass, precision, it)?),
    })
}

/// An attitude: orientation, then spin.
pub(super) fn pass_attitude<P: Pass, V: Planar>(
    pass: &mut P,
    precision: &Precision,
    attitude: &Attitude<V>,
) -> Result<Attitude<V>, DecodeError> {
    let orientation = pass_orientation::<P, V>(pass, precision, attitude.orientation)?;
    let spin = if is_planar::<V>() {
        V::about_up(precision.turn_rate.pass(pass, V::turn_rate(attitude.spin))?)
    } else {
        let body_rate = V::spin_to_3d(attitude.spin);
        V::spin_from_3d(pass_vector(pass, &[precision.turn_rate; 3], body_rate)?)
    };
    Ok(Attitude { orientation, spin })
}

const fn is_planar<V: Vector>() -> bool {
    const { assert!(V::DIMENSIONS == 2 || V::DIMENSIONS == 3, "the wire knows two and three dimensions") };
    V::DIMENSIONS == 2
}

fn pass_vector<P: Pass, V: Vector>(pass: &mut P, grids: &[Grid; 3], vector: V) -> Result<V, DecodeError> {
    let mut components = [0.0; 3];
    for axis in 0..V::DIMENSIONS {
        components[axis] = grids[axis].pass(pass, vector.component(axis))?;
    }
    Ok(V::from_components(|axis| components[axis]))
}

/// Something that only exists above a plane: nothing in two dimensions.
fn pass_vertical<P: Pass, V: Vector>(pass: &mut P, grid: &Grid, value: f64) -> Result<f64, DecodeError> {
    if is_planar::<V>() { Ok(0.0) } else { grid.pass(pass, value) }
}

/// A curve lasts at least one step of the time grid.
fn pass_duration<P: Pass>(pass: &mut P, grid: &Grid, secs: f64) -> Result<f64, DecodeError> {
    let at_least_a_step = if secs < grid.step() { grid.step() } else { secs };
    let secs = grid.pass(pass, at_least_a_step)?;
    if secs > 0.0 { Ok(secs) } else { Err(DecodeError::OutOfRange) }
}

/// The standard's models are three-dimensional wherever they are used. What is zero takes one bit, since
/// half of the models do without an acceleration or a rotation.
fn pass_dis<P: Pass>(pass: &mut P, precision: &Precision, it: &Dis) -> Result<Dis, DecodeError> {
    let code = pass.bits(dis_code(it.model).into(), 8)? as u8;
    Ok(Dis {
        model: dis_model(code).ok_or(DecodeError::UnknownModel(code))?,
        position: pass_vector(pass, &precision.position, it.position)?,
        velocity: pass_unless_zero(pass, &precision.velocity, it.velocity)?,
        acceleration: pass_unless_zero(pass, &precision.acceleration, it.acceleration)?,
        orientation: pass_quaternion(pass, precision, it.orientation)?,
        angular_velocity: pass_unless_zero(pass, &precision.turn_rate, it.angular_velocity)?,
    })
}

fn pass_unless_zero<P: Pass>(pass: &mut P, grid: &Grid, vector: Vec3) -> Result<Vec3, DecodeError> {
    let rounds_to_zero = (0..3).all(|axis| grid.steps(vector.component(axis)) == 0.0);
    if !pass.flag(!rounds_to_zero)? {
        return Ok(Vec3::ZERO);
    }
    let vector = pass_vector(pass, &[*grid; 3], vector)?;
    if vector == Vec3::ZERO { Err(DecodeError::NotCanonical) } else { Ok(vector) }
}

fn pass_orientation<P: Pass, V: Planar>(
    pass: &mut P,
    precision: &Precision,
    orientation: V::Orientation,
) -> Result<V::Orientation, DecodeError> {
    if is_planar::<V>() {
        Ok(V::level(pass_angle(pass, precision, V::heading(orientation))?))
    } else {
        Ok(V::from_quat(pass_quaternion(pass, precision, V::to_quat(orientation))?))
    }
}

/// A heading: which of the turn's steps is nearest. Every angle has a code, so there is no escape.
fn pass_angle<P: Pass>(pass: &mut P, precision: &Precision, angle: f64) -> Result<f64, DecodeError> {
    if !angle.is_finite() {
        return Err(DecodeError::NonFinite);
    }
    let steps = i64::from(precision.settings().angle_steps);
    let turns = angle / TAU;
    let nearest = ((turns - turns.round()) * steps as f64).round() as i64;
    let code = pass.below(nearest.rem_euclid(steps) as u64, steps as u64)? as i64;
    let signed = if code < steps / 2 { code } else { code - steps };
    Ok(signed as f64 * (TAU / steps as f64))
}

/// An orientation in space: which component of the unit quaternion is the largest, and the other three,
/// from which it follows.
///
/// In units of 1/(m·√2), where m is half of a full turn's steps, the squares of the four sum to 2m². The one
/// left out is greater than each of the three, strictly: a tie is broken by taking a unit from one of them.
/// So the same orientation is always spelt the same way, and decoding what was encoded changes nothing.
fn pass_quaternion<P: Pass>(pass: &mut P, precision: &Precision, it: Quat) -> Result<Quat, DecodeError> {
    if !it.is_finite() {
        return Err(DecodeError::NonFinite);
    }
    let half_turn = i64::from(precision.settings().angle_steps / 2);
    let unit = half_turn as f64 * SQRT_2;
    let square_of_left_out =
        |three: &[i64; 3]| 2 * half_turn * half_turn - three.iter().map(|k| k * k).sum::<i64>();

    let (largest, three) = smallest_three(it.normalized());
    let mut three = three.map(|component| (component * unit).round() as i64);
    while let Some(tied) = three.iter_mut().max_by_key(|k| k.abs()).map(|k| *k)
        && tied * tied >= square_of_left_out(&three)
    {
        let at = three.iter().position(|&k| k == tied).expect("it is one of them");
        three[at] -= tied.signum();
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
    Ok(match largest {
        0 => Quat { w: l, v: Vec3::new(a, b, c) },
        1 => Quat { w: a, v: Vec3::new(l, b, c) },
        2 => Quat { w: a, v: Vec3::new(b, l, c) },
        _ => Quat { w: a, v: Vec3::new(b, c, l) },
    })
}

/// Where among w, x, y, z the largest component is, and the other three in that order, for the one of the
/// two quaternions ±q in which the largest is positive.
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
            let once = pass_quaternion(&mut Echo, &precision, q).expect("finite");
            let twice = pass_quaternion(&mut Echo, &precision, once).expect("finite");
            assert_eq!(once, twice);
            assert!(once.angle_to(q) < 5e-4, "{q:?} became {once:?}");
        }
    }

    #[test]
    fn half_a_turn_either_way_is_the_same_heading() {
        let precision = Precision::default();
        let heading = |angle| pass_angle(&mut Echo, &precision, angle).expect("finite");
        assert_eq!(heading(std::f64::consts::PI), heading(-std::f64::consts::PI));
        assert_eq!(heading(1e300), 0.0, "an angle without a fraction left");
    }
}
