//! Orientation in space: unit quaternions, the matrices they stand for, and angles that wrap.

use std::f64::consts::{PI, TAU};
use std::ops::Mul;

use crate::vector::{Vec3, Vector};

/// The same angle in [−π, π]. Not finite in, not finite out.
pub fn wrap_angle(angle: f64) -> f64 {
    if (-PI..=PI).contains(&angle) { angle } else { angle - TAU * (angle / TAU).round() }
}

/// A rotation in space that carries the body's axes (+x ahead, +z up) into the world's.
///
/// Unit length up to rounding; `q` and `−q` are the same rotation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quat {
    /// The scalar part, cos(angle / 2).
    pub w: f64,
    /// The vector part, axis · sin(angle / 2).
    pub v: Vec3,
}

impl Quat {
    /// No rotation: the body's axes are the world's.
    pub const IDENTITY: Self = Self { w: 1.0, v: Vec3::ZERO };

    /// A turn of `angle` about +x: roll.
    pub fn about_x(angle: f64) -> Self {
        let (sin, cos) = libm::sincos(0.5 * angle);
        Self { w: cos, v: Vec3::new(sin, 0.0, 0.0) }
    }

    /// A turn of `angle` about +y.
    pub fn about_y(angle: f64) -> Self {
        let (sin, cos) = libm::sincos(0.5 * angle);
        Self { w: cos, v: Vec3::new(0.0, sin, 0.0) }
    }

    /// A turn of `angle` about +z: heading.
    pub fn about_z(angle: f64) -> Self {
        let (sin, cos) = libm::sincos(0.5 * angle);
        Self { w: cos, v: Vec3::new(0.0, 0.0, sin) }
    }

    /// The turn about the direction of `rotation` by its length in radians: the exponential map.
    pub fn from_rotation_vector(rotation: Vec3) -> Self {
        let half = 0.5 * rotation.length();
        let (sin, cos) = libm::sincos(half);
        // sin(half)/(2·half), with its series where the quotient would be 0/0.
        let scale = if half < 1e-4 { 0.5 - half * half / 12.0 } else { 0.5 * sin / half };
        Self { w: cos, v: rotation * scale }
    }

    /// The shortest turn that is this rotation, along its axis and as long as its angle, at most π: the
    /// inverse of [`from_rotation_vector`](Self::from_rotation_vector).
    pub fn to_rotation_vector(self) -> Vec3 {
        let shortest = if self.w < 0.0 { Self { w: -self.w, v: -self.v } } else { self };
        let sin = shortest.v.length();
        // angle / sin(angle / 2), with its series where the quotient would be 0/0.
        let scale = if sin < 1e-4 { 2.0 + sin * sin / 3.0 } else { 2.0 * libm::atan2(sin, shortest.w) / sin };
        shortest.v * scale
    }

    /// The inverse rotation.
    pub fn conjugate(self) -> Self {
        Self { w: self.w, v: -self.v }
    }

    /// A vector given in body axes, in world axes.
    pub fn rotate(self, body: Vec3) -> Vec3 {
        let twice = self.v.cross(body) * 2.0;
        body + twice * self.w + self.v.cross(twice)
    }

    /// The angle of the rotation that carries one into the other, 0 to π.
    pub fn angle_to(self, other: Self) -> f64 {
        let between = self.conjugate() * other;
        2.0 * libm::atan2(between.v.length(), between.w.abs())
    }

    /// Where the body's +x axis points in the world's xy plane, from +x towards +y.
    pub fn heading(self) -> f64 {
        let ahead = self.rotate(Vec3::new(1.0, 0.0, 0.0));
        libm::atan2(ahead.y, ahead.x)
    }

    /// Length one again after many products; the identity if there is nothing left to scale.
    pub fn normalized(self) -> Self {
        let length = (self.w * self.w + self.v.length_squared()).sqrt();
        if length > 0.0 && length.is_finite() {
            Self { w: self.w / length, v: self.v * (1.0 / length) }
        } else {
            Self::IDENTITY
        }
    }

    /// Whether every component is finite.
    pub fn is_finite(self) -> bool {
        self.w.is_finite() && self.v.is_finite()
    }
}

impl Default for Quat {
    fn default() -> Self {
        Self::IDENTITY
    }
}

/// First `other`, then `self`, both about the body's own axes read left to right.
impl Mul for Quat {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        Self {
            w: self.w * other.w - self.v.dot(other.v),
            v: other.v * self.w + self.v * other.w + self.v.cross(other.v),
        }
    }
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
}
