//! Small vectors, so that the library does not depend on a version of the game's maths library.
//!
//! [`Vector`] is what dead reckoning needs of a position: add, subtract, scale, measure, and an
//! orientation. [`Planar`] adds rotation about the +z axis, for cars, tanks, boats and everything
//! else with a heading. [`Vec2`] and [`Vec3`] implement both, and one build can use both.

use std::fmt::Debug;
use std::ops::{Add, AddAssign, Mul, Neg, Sub};

use crate::rotation::{Quat, wrap_angle};

/// A position, velocity or acceleration in two or three dimensions.
pub trait Vector:
    Copy
    + Debug
    + Default
    + PartialEq
    + Add<Output = Self>
    + Sub<Output = Self>
    + Neg<Output = Self>
    + Mul<f64, Output = Self>
    + AddAssign
    + Send
    + Sync
    + 'static
{
    /// The orientation of a body: an angle in the plane, a quaternion in space.
    type Orientation: Copy + Debug + Default + PartialEq + Send + Sync;
    /// The rate of turn in radians per second: about +z in the plane, about the body's axes in
    /// space.
    type Spin: Copy + Debug + Default + PartialEq + Send + Sync;

    /// The origin.
    const ZERO: Self;
    /// The number of components.
    const DIMENSIONS: usize;

    /// Returns component `axis`, counted from zero. Panics if `axis` is not below
    /// [`DIMENSIONS`](Self::DIMENSIONS).
    fn component(self, axis: usize) -> f64;
    /// Builds a vector from the component of each axis.
    fn from_components(of_axis: impl FnMut(usize) -> f64) -> Self;
    /// Returns the dot product.
    fn dot(self, other: Self) -> f64;
    /// Returns |self × other|, the area that both span, without the cancellation of |a|²|b|² −
    /// (a·b)².
    fn cross_length(self, other: Self) -> f64;

    /// Returns the orientation that faces this way; the default one for the zero vector.
    fn facing(self) -> Self::Orientation;
    /// Returns `orientation` after turning at `spin` for `secs` seconds.
    fn turned(orientation: Self::Orientation, spin: Self::Spin, secs: f64) -> Self::Orientation;
    /// Returns the shortest turn between two orientations, as the spin that completes it in one
    /// second: `turned(from, turn_between(from, to), 1.0)` is `to`.
    fn turn_between(from: Self::Orientation, to: Self::Orientation) -> Self::Spin;
    /// Returns the angle between two orientations, 0 to π.
    fn angle_between(one: Self::Orientation, other: Self::Orientation) -> f64;
    /// Returns whether every number of the orientation is finite.
    fn is_finite_orientation(orientation: Self::Orientation) -> bool;
    /// Returns whether no number of the spin exceeds `limit`, positive or negative.
    fn is_spin_within(spin: Self::Spin, limit: f64) -> bool;

    /// Returns whether every number of the spin is finite.
    fn is_finite_spin(spin: Self::Spin) -> bool {
        Self::is_spin_within(spin, f64::MAX)
    }

    /// Returns the orientation at `share` (0 to 1) of the shortest turn from `from` to `to`. On a
    /// long turn the pace may be uneven: it is cheap, and meant for states one tick apart.
    fn part_way(from: Self::Orientation, to: Self::Orientation, share: f64) -> Self::Orientation {
        Self::turned(from, Self::turn_between(from, to), share)
    }

    /// Returns the Euclidean length.
    fn length(self) -> f64 {
        self.length_squared().sqrt()
    }

    /// Returns the squared length.
    fn length_squared(self) -> f64 {
        self.dot(self)
    }

    /// Returns the Euclidean distance.
    fn distance(self, other: Self) -> f64 {
        (self - other).length()
    }

    /// Returns whether every component is finite.
    fn is_finite(self) -> bool {
        self.is_within(f64::MAX)
    }

    /// Returns whether no component exceeds ±`limit`. False if a component is NaN.
    fn is_within(self, limit: f64) -> bool {
        (0..Self::DIMENSIONS).all(|axis| self.component(axis).abs() <= limit)
    }

    /// Returns a vector of length one in the same direction; zero for the zero vector.
    fn normalize_or_zero(self) -> Self {
        let length = self.length();
        if length > 0.0 { self * (1.0 / length) } else { Self::ZERO }
    }

    /// Returns a vector in the same direction that is at most `length_max` long.
    fn clamp_length(self, length_max: f64) -> Self {
        let length = self.length();
        if length > length_max { self * (length_max / length) } else { self }
    }
}

/// A vector in a world where bodies turn about the +z axis.
///
/// In two dimensions all heights are zero.
pub trait Planar: Vector {
    /// Returns the x and y components.
    fn on_plane(self) -> Vec2;
    /// Returns the height above the xy plane.
    fn height(self) -> f64;
    /// Builds a vector from its part in the plane and its height.
    fn from_plane(plane: Vec2, height: f64) -> Self;

    /// Returns the heading of an orientation: the angle from +x towards +y, −π to π.
    fn heading(orientation: Self::Orientation) -> f64;
    /// Returns the level orientation with this heading.
    fn level(heading: f64) -> Self::Orientation;
    /// Returns the part of `spin` that turns about +z.
    fn turn_rate(spin: Self::Spin) -> f64;
    /// Returns the spin that turns about +z only.
    fn about_up(turn_rate: f64) -> Self::Spin;
    /// Converts an orientation in space. In two dimensions only the heading remains.
    fn from_quat(orientation: Quat) -> Self::Orientation;
    /// Converts to an orientation in space.
    fn to_quat(orientation: Self::Orientation) -> Quat;
    /// Converts a body rate in space. In two dimensions only the rate about +z remains.
    fn spin_from_3d(body_rate: Vec3) -> Self::Spin;
    /// Converts to a body rate in space.
    fn spin_to_3d(spin: Self::Spin) -> Vec3;

    /// Converts to a vector in space.
    fn to_3d(self) -> Vec3 {
        let plane = self.on_plane();
        Vec3::new(plane.x, plane.y, self.height())
    }

    /// Converts a vector in space. In two dimensions the height is dropped.
    fn from_3d(vector: Vec3) -> Self {
        Self::from_plane(Vec2::new(vector.x, vector.y), vector.z)
    }
}

/// A vector in the plane.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Vec2 {
    /// Along +x.
    pub x: f64,
    /// Along +y.
    pub y: f64,
}

/// A vector in space.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Vec3 {
    /// Along +x.
    pub x: f64,
    /// Along +y.
    pub y: f64,
    /// Along +z, which is up in worlds that have an up.
    pub z: f64,
}

impl Vec2 {
    /// Builds a vector from its components.
    pub const fn new(x: f64, y: f64) -> Self {
        Self { x, y }
    }

    /// Returns the unit vector at `heading` radians from +x towards +y.
    pub fn from_heading(heading: f64) -> Self {
        let (sin, cos) = libm::sincos(heading);
        Self { x: cos, y: sin }
    }

    /// Returns the angle from +x towards +y, −π to π; zero for the zero vector.
    pub fn heading(self) -> f64 {
        libm::atan2(self.y, self.x)
    }

    /// Returns the vector after a quarter turn from +x towards +y.
    pub fn perpendicular(self) -> Self {
        Self { x: -self.y, y: self.x }
    }
}

impl Vec3 {
    /// Builds a vector from its components.
    pub const fn new(x: f64, y: f64, z: f64) -> Self {
        Self { x, y, z }
    }

    /// Returns the cross product.
    pub fn cross(self, other: Self) -> Self {
        Self {
            x: self.y * other.z - self.z * other.y,
            y: self.z * other.x - self.x * other.z,
            z: self.x * other.y - self.y * other.x,
        }
    }
}

impl Vector for Vec2 {
    type Orientation = f64;
    type Spin = f64;

    const ZERO: Self = Self::new(0.0, 0.0);
    const DIMENSIONS: usize = 2;

    fn component(self, axis: usize) -> f64 {
        [self.x, self.y][axis]
    }

    fn from_components(mut of_axis: impl FnMut(usize) -> f64) -> Self {
        let x = of_axis(0);
        Self { x, y: of_axis(1) }
    }

    fn dot(self, other: Self) -> f64 {
        self.x * other.x + self.y * other.y
    }

    fn cross_length(self, other: Self) -> f64 {
        (self.x * other.y - self.y * other.x).abs()
    }

    fn facing(self) -> f64 {
        self.heading()
    }

    fn turned(heading: f64, turn_rate: f64, secs: f64) -> f64 {
        wrap_angle(heading + turn_rate * secs)
    }

    fn turn_between(from: f64, to: f64) -> f64 {
        wrap_angle(to - from)
    }

    fn angle_between(one: f64, other: f64) -> f64 {
        wrap_angle(one - other).abs()
    }

    fn is_finite_orientation(heading: f64) -> bool {
        heading.is_finite()
    }

    fn is_spin_within(turn_rate: f64, limit: f64) -> bool {
        turn_rate.abs() <= limit
    }
}

impl Vector for Vec3 {
    type Orientation = Quat;
    type Spin = Self;

    const ZERO: Self = Self::new(0.0, 0.0, 0.0);
    const DIMENSIONS: usize = 3;

    fn component(self, axis: usize) -> f64 {
        [self.x, self.y, self.z][axis]
    }

    fn from_components(mut of_axis: impl FnMut(usize) -> f64) -> Self {
        let x = of_axis(0);
        let y = of_axis(1);
        Self { x, y, z: of_axis(2) }
    }

    fn dot(self, other: Self) -> f64 {
        self.x * other.x + self.y * other.y + self.z * other.z
    }

    fn cross_length(self, other: Self) -> f64 {
        self.cross(other).length()
    }

    fn facing(self) -> Quat {
        let level = Vec2::new(self.x, self.y);
        let pitch_up = libm::atan2(self.z, level.length());
        Quat::about_z(level.heading()) * Quat::about_y(-pitch_up)
    }

    fn turned(orientation: Quat, body_rate: Self, secs: f64) -> Quat {
        orientation * Quat::from_rotation_vector(body_rate * secs)
    }

    fn turn_between(from: Quat, to: Quat) -> Self {
        (from.conjugate() * to).to_rotation_vector()
    }

    fn part_way(from: Quat, to: Quat, share: f64) -> Quat {
        // A quaternion and its negative are the same orientation: blend with the nearer one.
        let dot = from.w * to.w + from.v.dot(to.v);
        let (kept, taken) = (1.0 - share, if dot < 0.0 { -share } else { share });
        Quat { w: from.w * kept + to.w * taken, v: from.v * kept + to.v * taken }.normalized()
    }

    fn angle_between(one: Quat, other: Quat) -> f64 {
        one.angle_to(other)
    }

    fn is_finite_orientation(orientation: Quat) -> bool {
        orientation.is_finite()
    }

    fn is_spin_within(body_rate: Self, limit: f64) -> bool {
        body_rate.is_within(limit)
    }
}

impl Planar for Vec2 {
    fn on_plane(self) -> Vec2 {
        self
    }

    fn height(self) -> f64 {
        0.0
    }

    fn from_plane(plane: Vec2, _height: f64) -> Self {
        plane
    }

    fn heading(heading: f64) -> f64 {
        wrap_angle(heading)
    }

    fn level(heading: f64) -> f64 {
        wrap_angle(heading)
    }

    fn turn_rate(turn_rate: f64) -> f64 {
        turn_rate
    }

    fn about_up(turn_rate: f64) -> f64 {
        turn_rate
    }

    fn from_quat(orientation: Quat) -> f64 {
        orientation.heading()
    }

    fn to_quat(heading: f64) -> Quat {
        Quat::about_z(heading)
    }

    fn spin_from_3d(body_rate: Vec3) -> f64 {
        body_rate.z
    }

    fn spin_to_3d(turn_rate: f64) -> Vec3 {
        Vec3::new(0.0, 0.0, turn_rate)
    }
}

impl Planar for Vec3 {
    fn on_plane(self) -> Vec2 {
        Vec2::new(self.x, self.y)
    }

    fn height(self) -> f64 {
        self.z
    }

    fn from_plane(plane: Vec2, height: f64) -> Self {
        Self::new(plane.x, plane.y, height)
    }

    fn heading(orientation: Quat) -> f64 {
        orientation.heading()
    }

    fn level(heading: f64) -> Quat {
        Quat::about_z(heading)
    }

    fn turn_rate(body_rate: Self) -> f64 {
        body_rate.z
    }

    fn about_up(turn_rate: f64) -> Self {
        Self::new(0.0, 0.0, turn_rate)
    }

    fn from_quat(orientation: Quat) -> Quat {
        orientation
    }

    fn to_quat(orientation: Quat) -> Quat {
        orientation
    }

    fn spin_from_3d(body_rate: Self) -> Self {
        body_rate
    }

    fn spin_to_3d(body_rate: Self) -> Self {
        body_rate
    }
}

macro_rules! arithmetic {
    ($vector:ident { $($axis:ident),+ }) => {
        impl Add for $vector {
            type Output = Self;
            fn add(self, other: Self) -> Self {
                Self { $($axis: self.$axis + other.$axis),+ }
            }
        }

        impl Sub for $vector {
            type Output = Self;
            fn sub(self, other: Self) -> Self {
                Self { $($axis: self.$axis - other.$axis),+ }
            }
        }

        impl Neg for $vector {
            type Output = Self;
            fn neg(self) -> Self {
                Self { $($axis: -self.$axis),+ }
            }
        }

        impl Mul<f64> for $vector {
            type Output = Self;
            fn mul(self, factor: f64) -> Self {
                Self { $($axis: self.$axis * factor),+ }
            }
        }

        impl AddAssign for $vector {
            fn add_assign(&mut self, other: Self) {
                *self = *self + other;
            }
        }
    };
}

arithmetic!(Vec2 { x, y });
arithmetic!(Vec3 { x, y, z });

/// Converts between these vectors and the `f64` vectors of another library.
macro_rules! convert {
    ($feature:literal: $($ours:ident { $($axis:ident),+ } = $theirs:ty),+) => {$(
        #[cfg(feature = $feature)]
        impl From<$theirs> for $ours {
            fn from(theirs: $theirs) -> Self {
                Self { $($axis: theirs.$axis),+ }
            }
        }

        #[cfg(feature = $feature)]
        impl From<$ours> for $theirs {
            fn from(ours: $ours) -> Self {
                Self::from([$(ours.$axis),+])
            }
        }
    )+};
}

convert!("mint": Vec2 { x, y } = mint::Vector2<f64>, Vec3 { x, y, z } = mint::Vector3<f64>);
convert!("glam-030": Vec2 { x, y } = glam_030::DVec2, Vec3 { x, y, z } = glam_030::DVec3);
convert!("glam-032": Vec2 { x, y } = glam_032::DVec2, Vec3 { x, y, z } = glam_032::DVec3);
convert!("glam-033": Vec2 { x, y } = glam_033::DVec2, Vec3 { x, y, z } = glam_033::DVec3);

#[cfg(test)]
mod tests {
    /// Checks that both vectors survive the way to another library and back.
    macro_rules! round_trip {
        ($test:ident, $feature:literal, $two:ty, $three:ty) => {
            #[test]
            #[cfg(feature = $feature)]
            fn $test() {
                use super::{Vec2, Vec3};
                let (two, three) = (Vec2::new(0.1, -2.0), Vec3::new(0.1, -2.0, 3e300));
                assert_eq!(Vec2::from(<$two>::from(two)), two);
                assert_eq!(Vec3::from(<$three>::from(three)), three);
                assert_eq!(<$three>::from(three).z, 3e300);
            }
        };
    }

    round_trip!(mint_round_trips, "mint", mint::Vector2<f64>, mint::Vector3<f64>);
    round_trip!(glam_030_round_trips, "glam-030", glam_030::DVec2, glam_030::DVec3);
    round_trip!(glam_032_round_trips, "glam-032", glam_032::DVec2, glam_032::DVec3);
    round_trip!(glam_033_round_trips, "glam-033", glam_033::DVec2, glam_033::DVec3);
}
