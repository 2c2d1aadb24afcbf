//! Bevy's transforms as states of sessions, in two and three dimensions.

use bevy_math::{DQuat, DVec3, Quat, Vec3};
use bevy_transform::components::Transform;
use fairpath::rotation::Quat as Rotation;
use fairpath::{Planar, State, Vec2, Vec3 as Vector3};

use crate::register::CallFns;

/// Position, orientation and motion in Bevy's axes.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(unnameable_types, reason = "only the sealed trait of `Dimensions` mentions it")]
pub struct Pose {
    pub(crate) position: DVec3,
    pub(crate) rotation: DQuat,
    pub(crate) velocity: DVec3,
    pub(crate) acceleration: DVec3,
    /// Radians per second about the axes of the world, or of the parent.
    pub(crate) spin: DVec3,
}

impl Pose {
    pub(crate) const REST: Self = Self {
        position: DVec3::ZERO,
        rotation: DQuat::IDENTITY,
        velocity: DVec3::ZERO,
        acceleration: DVec3::ZERO,
        spin: DVec3::ZERO,
    };

    /// Returns a resting body at this transform.
    pub(crate) fn at(transform: &Transform) -> Self {
        let rotation = transform.rotation.as_dquat().normalize();
        Self { position: transform.translation.as_dvec3(), rotation, ..Self::REST }
    }

    pub(crate) fn is_finite(&self) -> bool {
        let vectors = [self.position, self.velocity, self.acceleration, self.spin];
        self.rotation.is_finite() && vectors.iter().all(|vector| vector.is_finite())
    }

    pub(crate) fn translation(&self) -> Vec3 {
        self.position.as_vec3()
    }

    pub(crate) fn orientation(&self) -> Quat {
        self.rotation.as_quat()
    }
}

/// The number of dimensions of a world: [`Vec2`] or [`Vec3`](fairpath::Vec3).
///
/// In two dimensions x and y of a `Transform` and the rotation about z are sent; its z, the layer,
/// stays as each end has it. In three dimensions worlds have y up and bodies face −z, as in Bevy.
pub trait Dimensions: Planar + sealed::Space {}

impl Dimensions for Vec2 {}
impl Dimensions for Vector3 {}

pub(crate) mod sealed {
    use super::{CallFns, Planar, Pose, State, Transform, Vec2, Vector3};

    #[allow(unnameable_types, reason = "it seals `Dimensions`")]
    pub trait Space: Planar {
        fn to_state(pose: &Pose) -> State<Self>;
        fn to_pose(state: &State<Self>) -> Pose;
        fn call_fns(two: &CallFns<Vec2>, three: &CallFns<Vector3>) -> CallFns<Self>;
        /// Puts a drawn or placed pose into a transform. Scale and, in the plane, z stay.
        fn write(pose: &Pose, transform: &mut Transform);
    }
}

use sealed::Space;

impl Space for Vec2 {
    fn to_state(pose: &Pose) -> State<Self> {
        let flat = |vector: DVec3| Self::new(vector.x, vector.y);
        let ahead = pose.rotation * DVec3::X;
        State {
            position: flat(pose.position),
            velocity: flat(pose.velocity),
            acceleration: flat(pose.acceleration),
            orientation: flat(ahead).heading(),
            spin: pose.spin.z,
        }
    }

    fn to_pose(state: &State<Self>) -> Pose {
        let deep = |vector: Self| DVec3::new(vector.x, vector.y, 0.0);
        Pose {
            position: deep(state.position),
            rotation: DQuat::from_rotation_z(state.orientation),
            velocity: deep(state.velocity),
            acceleration: deep(state.acceleration),
            spin: DVec3::new(0.0, 0.0, state.spin),
        }
    }

    fn call_fns(two: &CallFns<Vec2>, _: &CallFns<Vector3>) -> CallFns<Self> {
        *two
    }

    fn write(pose: &Pose, transform: &mut Transform) {
        let position = pose.position.as_vec3();
        transform.translation = Vec3::new(position.x, position.y, transform.translation.z);
        transform.rotation = pose.orientation();
    }
}

/// Bevy's axes (x right, y up, −z ahead) as the session's (x ahead, y left, z up): a rotation, so
/// distances and turns stay what they are.
fn to_session(vector: DVec3) -> Vector3 {
    Vector3::new(-vector.z, -vector.x, vector.y)
}

fn from_session(vector: Vector3) -> DVec3 {
    DVec3::new(-vector.y, vector.z, -vector.x)
}

impl Space for Vector3 {
    fn to_state(pose: &Pose) -> State<Self> {
        let rotation = pose.rotation;
        let turn = to_session(DVec3::new(rotation.x, rotation.y, rotation.z));
        State {
            position: to_session(pose.position),
            velocity: to_session(pose.velocity),
            acceleration: to_session(pose.acceleration),
            orientation: Rotation { w: rotation.w, v: turn },
            spin: to_session(rotation.inverse() * pose.spin),
        }
    }

    fn to_pose(state: &State<Self>) -> Pose {
        let turn = from_session(state.orientation.v);
        let rotation = DQuat::from_xyzw(turn.x, turn.y, turn.z, state.orientation.w).normalize();
        Pose {
            position: from_session(state.position),
            rotation,
            velocity: from_session(state.velocity),
            acceleration: from_session(state.acceleration),
            spin: rotation * from_session(state.spin),
        }
    }

    fn call_fns(_: &CallFns<Vec2>, three: &CallFns<Vector3>) -> CallFns<Self> {
        *three
    }

    fn write(pose: &Pose, transform: &mut Transform) {
        transform.translation = pose.translation();
        transform.rotation = pose.orientation();
    }
}

#[cfg(test)]
mod tests {
    use fairpath::Vector;

    use super::*;

    fn pose(rotation: DQuat) -> Pose {
        Pose {
            position: DVec3::new(1.0, 2.0, 3.0),
            rotation,
            velocity: DVec3::new(-4.0, 5.0, 6.0),
            acceleration: DVec3::new(0.5, 0.25, -1.0),
            spin: DVec3::new(0.1, 0.2, 0.3),
        }
    }

    #[test]
    fn a_pose_in_space_comes_back() {
        let rotation = DQuat::from_rotation_y(0.7) * DQuat::from_rotation_x(-0.3);
        let there = pose(rotation);
        let back = Vector3::to_pose(&Vector3::to_state(&there));
        assert!((back.position - there.position).length() < 1e-12);
        assert!((back.velocity - there.velocity).length() < 1e-12);
        assert!((back.spin - there.spin).length() < 1e-12, "{:?}", back.spin);
        assert!(back.rotation.angle_between(there.rotation) < 1e-6);
    }

    #[test]
    fn ahead_in_bevy_is_ahead_in_the_session() {
        let yaw = DQuat::from_rotation_y(0.5);
        let state = Vector3::to_state(&Pose { velocity: yaw * DVec3::NEG_Z, ..pose(yaw) });
        let facing = state.velocity.facing();
        assert!(facing.angle_to(state.orientation) < 1e-6, "a body that flies ahead faces its course");
        assert!((facing.heading() - 0.5).abs() < 1e-9, "a turn to the left is positive in both");
    }

    #[test]
    fn the_turn_of_a_session_is_the_turn_of_bevy() {
        // A quarter of a second at the observed spin leads to the same orientation in both.
        let there = pose(DQuat::from_rotation_x(0.4));
        let state = Vector3::to_state(&there);
        let turned = Vector3::turned(state.orientation, state.spin, 0.25);
        let later = DQuat::from_scaled_axis(there.spin * 0.25) * there.rotation;
        let as_pose = Vector3::to_pose(&State { orientation: turned, ..state });
        assert!(as_pose.rotation.angle_between(later) < 1e-6);
    }

    #[test]
    fn a_plane_keeps_its_layer() {
        let mut transform = Transform::from_xyz(0.0, 0.0, 7.0);
        let state = Vec2::to_state(&pose(DQuat::from_rotation_z(1.2)));
        assert!((state.orientation - 1.2).abs() < 1e-12);
        Vec2::write(&Vec2::to_pose(&state), &mut transform);
        assert_eq!(transform.translation, Vec3::new(1.0, 2.0, 7.0));
    }
}
