//! Small vectors of our own, so that no user's maths library is pinned to ours.
//!
//! [`Vector`] is what dead reckoning needs of a position: add, subtract, scale, measure, and a way
//! of facing. [`Planar`] adds what turns about the +z axis: cars, tanks, boats, anything with a
//! heading. [`Vec2`] and [`Vec3`] are both, and both live in one build.

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
    /// Which way something faces: an angle in the plane, a quaternion in space.
    type Orientation: Copy + Debug + Default + PartialEq + Send + Sync;
    /// How fast it turns: radians per second, about +z in the plane, about the body's axes in
    /// space.
    type Spin: Copy + Debug + Default + PartialEq + Send + Sync;

    /// The origin.
    const ZERO: Self;
    /// How many components there are.
    const DIMENSIONS: usize;

    /// Component `axis`, counted from zero. Panics beyond [`DIMENSIONS`](Self::DIMENSIONS).
    fn component(self, axis: usize) -> f64;
    /// Builds a vector axis by axis.
    fn from_components(of_axis: impl FnMut(usize) -> f64) -> Self;
    /// The sum of products.
    fn dot(self, other: Self) -> f64;
    /// |self × other|: the area they span, without the cancellation of |a|²|b|² − (a·b)².
    fn cross_length(self, other: Self) -> f64;

    /// The orientation that faces along this direction; the default one for the zero vector.
    fn facing(self) -> Self::Orientation;
    /// `orientation` after turning at `spin` for `secs`.
    fn turned(orientation: Self::Orientation, spin: Self::Spin, secs: f64) -> Self::Orientation;
    /// The shortest turn from one orientation to another, as the spin that makes it in one second:
    /// `turned(from, turn_between(from, to), 1.0)` is `to`.
    fn turn_between(from: Self::Orientation, to: Self::Orientation) -> Self::Spin;
    /// The angle between two orientations, 0 to π.
    fn angle_between(one: Self::Orientation, other: Self::Orientation) -> f64;
    /// Whether every number in it is finite.
    fn is_finite_orientation(orientation: Self::Orientation) -> bool;
    /// Whether no number in it is greater than this, positive or negative.
    fn is_spin_within(spin: Self::Spin, limit: f64) -> bool;

    /// Whether every number in it is finite.
    fn is_finite_spin(spin: Self::Spin) -> bool {
        Self::is_spin_within(spin, f64::MAX)
    }

    /// What lies `share` of the way (0 to 1) along the shortest turn between two orientations.
    /// Where that turn is long, the pace along it need not be even: it is for states a tick
    /// apart, and cheap.
    fn part_way(from: Self::Orientation, to: Self::Orientation, share: f64) -> Self::Orientation {
        Self::turned(from, Self::turn_between(from, to), share)
    }

    /// Euclidean length.
    fn length(self) -> f64 {
        self.length_squared().sqrt()
    }

    /// Squared length.
    fn length_squared(self) -> f64 {
        self.dot(self)
    }

    /// Euclidean distance.
    fn distance(self, other: Self) -> f64 {
        (self - other).length()
    }

    /// Whether every component is finite.
    fn is_finite(self) -> bool {
        self.is_within(f64::MAX)
    }

    /// Whether no component is greater than this, positive or negative. What is not a number is.
    fn is_within(self, limit: f64) -> bool {
        (0..Self::DIMENSIONS).all(|axis| self.component(axis).abs() <= limit)
    }

    /// Same direction, length one; zero stays zero.
    fn normalize_or_zero(self) -> Self {
        let length = self.length();
        if length > 0.0 { self * (1.0 / length) } else { Self::ZERO }
    }

    /// Same direction, no longer than `length_max`.
    fn clamp_length(self, length_max: f64) -> Self {
        let length = self.length();
        if length > length_max { self * (length_max / length) } else { self }
    }
}

/// A vector in a world where things turn about the +z axis.
///
/// In two dimensions there is nothing above the plane: heights are zero and stay zero.
pub trait Planar: Vector {
    /// The x and y part.
    fn on_plane(self) -> Vec2;
    /// How far above the plane.
    fn height(self) -> f64;
    /// Puts a plane part and a height together.
    fn from_plane(plane: Vec2, height: f64) -> Self;

    /// The angle from +x towards +y that this orientation faces, −π to π.
    fn heading(orientation: Self::Orientation) -> f64;
    /// The level orientation that faces `heading`.
    fn level(heading: f64) -> Self::Orientation;
    /// The part of `spin` that turns about +z.
    fn turn_rate(spin: Self::Spin) -> f64;
    /// Turning about +z alone.
    fn about_up(turn_rate: f64) -> Self::Spin;
    /// An orientation in space, as far as this world can show it.
    fn from_quat(orientation: Quat) -> Self::Orientation;
    /// This orientation in space.
    fn to_quat(orientation: Self::Orientation) -> Quat;
    /// A body rate in space, as far as this world can show it.
    fn spin_from_3d(body_rate: Vec3) -> Self::Spin;
    /// This spin as a body rate in space.
    fn spin_to_3d(spin: Self::Spin) -> Vec3;

    /// This vector in space.
    fn to_3d(self) -> Vec3 {
        let plane = self.on_plane();
        Vec3::new(plane.x, plane.y, self.height())
    }

    /// A vector in space, as far as this world can show it.
    fn from_3d(vector: Vec3) -> Self {
        Self::from_plane(Vec2::new(vector.x, vector.y), vector.z)
    }
}

/// Two components.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Vec2 {
    /// Along +x.
    pub x: f64,
    /// Along +y.
    pub y: f64,
}

/// Three components.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Vec3 {
    /// Along +x.
    pub x: f64,
    /// Along +y.
    pub y: f64,
    /// Along +z, which is up where there is an up.
    pub z: f64,
}

impl Vec2 {
    /// A vector from its components.
    pub const fn new(x: f64, y: f64) -> Self {
        Self { x, y }
    }

    /// The unit vector at `heading` radians from +x towards +y.
    pub fn from_heading(heading: f64) -> Self {
        let (sin, cos) = libm::sincos(heading);
        Self { x: cos, y: sin }
    }

    /// The angle from +x towards +y, −π to π; zero for the zero vector.
    pub fn heading(self) -> f64 {
        libm::atan2(self.y, self.x)
    }

    /// A quarter turn from +x towards +y.
    pub fn perpendicular(self) -> Self {
        Self { x: -self.y, y: self.x }
    }
}

impl Vec3 {
    /// A vector from its components.
    pub const fn new(x: f64, y: f64, z: f64) -> Self {
        Self { x, y, z }
    }

    /// The vector product.
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
        // A quaternion and its opposite are one orientation: blend with the nearer.
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

        #[cfg(feature = "mint")]
        const _: () = {
            arithmetic!(@mint $vector { $($axis),+ });
        };

        #[cfg(feature = "glam")]
        const _: () = {
            arithmetic!(@glam $vector { $($axis),+ });
        };
    };
    (@mint Vec2 $axes:tt) => { arithmetic!(@convert mint::Vector2<f64>, Vec2 $axes); };
    (@mint Vec3 $axes:tt) => { arithmetic!(@convert mint::Vector3<f64>, Vec3 $axes); };
    (@glam Vec2 $axes:tt) => { arithmetic!(@convert glam::DVec2, Vec2 $axes); };
    (@glam Vec3 $axes:tt) => { arithmetic!(@convert glam::DVec3, Vec3 $axes); };
    (@convert $theirs:ty, $ours:ident { $($axis:ident),+ }) => {
        impl From<$theirs> for $ours {
            fn from(theirs: $theirs) -> Self {
                Self { $($axis: theirs.$axis),+ }
            }
        }

        impl From<$ours> for $theirs {
            fn from(ours: $ours) -> Self {
                <[f64; $ours::DIMENSIONS]>::into([$(ours.$axis),+])
            }
        }
    };
}

arithmetic!(Vec2 { x, y });
arithmetic!(Vec3 { x, y, z });
