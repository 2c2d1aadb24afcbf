//! Orientation in space: unit quaternions, Euler angles and angle wrapping.

use std::f64::consts::{FRAC_PI_2, PI, TAU};
use std::ops::Mul;

use crate::vector::{Vec2, Vec3, Vector};

/// Returns the same angle in [−π, π]. The result is not finite if the argument is not.
pub fn wrap_angle(angle: f64) -> f64 {
    if (-PI..=PI).contains(&angle) { angle } else { angle - TAU * (angle / TAU).round() }
}

/// A rotation in space that carries the body's axes (+x ahead, +z up) into the world's.
///
/// Its length is one up to rounding; `q` and `−q` are the same rotation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quat {
    /// The scalar part, cos(angle / 2).
    pub w: f64,
    /// The vector part, axis · sin(angle / 2).
    pub v: Vec3,
}

impl Quat {
    /// No rotation: the body's axes are the world's axes.
    pub const IDENTITY: Self = Self { w: 1.0, v: Vec3::ZERO };

    /// Returns a turn of `angle` about +x: roll.
    pub fn about_x(angle: f64) -> Self {
        let (sin, cos) = libm::sincos(0.5 * angle);
        Self { w: cos, v: Vec3::new(sin, 0.0, 0.0) }
    }

    /// Returns a turn of `angle` about +y.
    pub fn about_y(angle: f64) -> Self {
        let (sin, cos) = libm::sincos(0.5 * angle);
        Self { w: cos, v: Vec3::new(0.0, sin, 0.0) }
    }

    /// Returns a turn of `angle` about +z: heading.
    pub fn about_z(angle: f64) -> Self {
        let (sin, cos) = libm::sincos(0.5 * angle);
        Self { w: cos, v: Vec3::new(0.0, 0.0, sin) }
    }

    /// Returns the turn about `rotation` by its length in radians: the exponential map.
    pub fn from_rotation_vector(rotation: Vec3) -> Self {
        let half = 0.5 * rotation.length();
        let (sin, cos) = libm::sincos(half);
        // sin(half)/(2·half), with its series where the quotient would be 0/0.
        let scale = if half < 1e-4 { 0.5 - half * half / 12.0 } else { 0.5 * sin / half };
        Self { w: cos, v: rotation * scale }
    }

    /// Returns the orientation after three turns about the body's own axes: ψ about z, θ about the
    /// new y, φ about the newest x.
    pub fn from_euler(angles: Euler) -> Self {
        Self::about_z(angles.psi) * Self::about_y(angles.theta) * Self::about_x(angles.phi)
    }

    /// Returns the three turns that lead to this orientation, ψ and φ in [−π, π], θ in [−π/2, π/2].
    ///
    /// At gimbal lock, θ = ±π/2, only ψ ∓ φ is defined, and φ is 0.
    /// [`from_euler`](Self::from_euler) restores this orientation up to rounding everywhere, gimbal
    /// lock included, because no step takes the arcsine of a number close to one.
    pub fn euler(self) -> Euler {
        // The products of half-angle functions in a ψ-θ-φ quaternion pair up into
        // (cos θ/2 − sin θ/2)·(cos, sin)((ψ + φ)/2) and (cos θ/2 + sin θ/2)·(cos, sin)((ψ − φ)/2).
        let sum = Vec2::new(self.w - self.v.y, self.v.z + self.v.x);
        let difference = Vec2::new(self.w + self.v.y, self.v.z - self.v.x);
        let (half_sum, half_difference) = match (sum.length(), difference.length()) {
            (locked, _) if locked < GIMBAL_LOCK => (difference.heading(), difference.heading()),
            (_, locked) if locked < GIMBAL_LOCK => (sum.heading(), sum.heading()),
            _ => (sum.heading(), difference.heading()),
        };
        Euler {
            psi: wrap_angle(half_sum + half_difference),
            theta: 2.0 * libm::atan2(difference.length(), sum.length()) - FRAC_PI_2,
            phi: wrap_angle(half_sum - half_difference),
        }
    }

    /// Returns the body's x, y and z axes in world axes: the rows of the matrix from world axes to
    /// body axes, the columns of the inverse.
    pub fn axes(self) -> [Vec3; 3] {
        [Vec3::new(1.0, 0.0, 0.0), Vec3::new(0.0, 1.0, 0.0), Vec3::new(0.0, 0.0, 1.0)]
            .map(|axis| self.rotate(axis))
    }

    /// Returns the shortest turn equal to this rotation: along its axis, as long as its angle, at
    /// most π. The inverse of [`from_rotation_vector`](Self::from_rotation_vector).
    pub fn to_rotation_vector(self) -> Vec3 {
        let shortest = if self.w < 0.0 { Self { w: -self.w, v: -self.v } } else { self };
        let sin = shortest.v.length();
        // angle / sin(angle / 2), with its series where the quotient would be 0/0.
        let scale = if sin < 1e-4 { 2.0 + sin * sin / 3.0 } else { 2.0 * libm::atan2(sin, shortest.w) / sin };
        shortest.v * scale
    }

    /// Returns the inverse rotation.
    pub fn conjugate(self) -> Self {
        Self { w: self.w, v: -self.v }
    }

    /// Converts a vector from body axes to world axes.
    pub fn rotate(self, body: Vec3) -> Vec3 {
        let twice = self.v.cross(body) * 2.0;
        body + twice * self.w + self.v.cross(twice)
    }

    /// Returns the angle of the rotation from `self` to `other`, 0 to π.
    pub fn angle_to(self, other: Self) -> f64 {
        let between = self.conjugate() * other;
        2.0 * libm::atan2(between.v.length(), between.w.abs())
    }

    /// Returns the direction of the body's +x axis in the world's xy plane, from +x towards +y.
    pub fn heading(self) -> f64 {
        let ahead = self.rotate(Vec3::new(1.0, 0.0, 0.0));
        libm::atan2(ahead.y, ahead.x)
    }

    /// Returns it scaled to length one; the identity if the length is zero or not finite.
    pub fn normalized(self) -> Self {
        let length = (self.w * self.w + self.v.length_squared()).sqrt();
        if length > 0.0 && length.is_finite() {
            Self { w: self.w / length, v: self.v * (1.0 / length) }
        } else {
            Self::IDENTITY
        }
    }

    /// Returns whether every component is finite.
    pub fn is_finite(self) -> bool {
        self.w.is_finite() && self.v.is_finite()
    }
}

impl Default for Quat {
    fn default() -> Self {
        Self::IDENTITY
    }
}

/// Composes two rotations: `other` first, then `self`; left to right, about the body's own axes.
impl Mul for Quat {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        Self {
            w: self.w * other.w - self.v.dot(other.v),
            v: other.v * self.w + self.v * other.w + self.v.cross(other.v),
        }
    }
}

/// Length of a half-angle pair below which ψ and φ have no meaning of their own: straight up or
/// down. A few roundings of a unit quaternion. Below it they are noise.
const GIMBAL_LOCK: f64 = 1e-15;

/// An orientation as three successive turns in radians: the form that IEEE 1278.1 sends.
///
/// The letters are the standard's. They are not called heading, pitch and roll because the
/// standard's z axis points down: there a positive θ raises the nose, with +z up it lowers it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Euler {
    /// ψ, the first turn, about z.
    pub psi: f64,
    /// θ, the second turn, about the y axis that the first one left.
    pub theta: f64,
    /// φ, the third turn, about the x axis that the second one left.
    pub phi: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quarter_turn_left_faces_plus_y() {
        let left = Quat::about_z(0.5 * PI);
        assert!(left.rotate(Vec3::new(1.0, 0.0, 0.0)).distance(Vec3::new(0.0, 1.0, 0.0)) < 1e-15);
        assert!((left.heading() - 0.5 * PI).abs() < 1e-15);
    }

    #[test]
    fn angles_wrap_to_half_a_turn() {
        assert!((wrap_angle(3.0 * PI + 0.1) - (0.1 - PI)).abs() < 1e-12);
        assert_eq!(wrap_angle(1.0), 1.0);
        assert!(wrap_angle(f64::NAN).is_nan());
    }

    #[test]
    fn a_rotation_vector_comes_back_the_shortest_way() {
        for angle in [0.0, 1e-9, 1e-4, 0.5, 2.0, 3.1] {
            let turn = Vec3::new(0.6, 0.0, -0.8) * angle;
            let back = Quat::from_rotation_vector(turn).to_rotation_vector();
            assert!(back.distance(turn) < 1e-14, "{angle}");
        }
        let long_way = Quat::about_z(1.5 * PI).to_rotation_vector();
        assert!(long_way.distance(Vec3::new(0.0, 0.0, -0.5 * PI)) < 1e-14);
    }

    #[test]
    fn facing_a_direction_points_the_nose_there() {
        let direction = Vec3::new(1.0, -2.0, 0.5);
        let nose = direction.facing().rotate(Vec3::new(direction.length(), 0.0, 0.0));
        assert!(nose.distance(direction) < 1e-14);
    }

    #[test]
    fn euler_angles_make_the_matrix_of_the_standard() {
        let (psi, theta, phi) = (0.3, -0.7, 2.1);
        let [ahead, _, down] = Quat::from_euler(Euler { psi, theta, phi }).axes();
        let level = libm::cos(theta);
        let nose = Vec3::new(level * libm::cos(psi), level * libm::sin(psi), -libm::sin(theta));
        assert!(ahead.distance(nose) < 1e-15);
        assert!((down.z - libm::cos(phi) * level).abs() < 1e-15);
    }

    #[test]
    fn euler_angles_come_back_except_at_gimbal_lock() {
        for theta in [-1.57, -1.2, 0.0, 0.4, 1.57] {
            let angles = Euler { psi: 2.9, theta, phi: -2.8 };
            let back = Quat::from_euler(angles).euler();
            assert!((back.psi - angles.psi).abs() < 1e-11, "{back:?}");
            assert!((back.theta - angles.theta).abs() < 1e-14, "{back:?}");
            assert!((back.phi - angles.phi).abs() < 1e-11, "{back:?}");
        }
    }

    #[test]
    fn at_gimbal_lock_the_orientation_comes_back_though_the_angles_do_not() {
        for theta in [-FRAC_PI_2, FRAC_PI_2, FRAC_PI_2 - 1e-9, FRAC_PI_2 - 1e-15] {
            let locked = Quat::from_euler(Euler { psi: 1.1, theta, phi: -0.4 });
            assert!(Quat::from_euler(locked.euler()).angle_to(locked) < 4e-15);
        }
        assert_eq!(Quat::about_y(FRAC_PI_2).euler(), Euler { psi: 0.0, theta: FRAC_PI_2, phi: 0.0 });
    }
}
