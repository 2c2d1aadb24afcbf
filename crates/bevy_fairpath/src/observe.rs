//! Observing: what the game has moved, and for which instant it is true.

use bevy_ecs::change_detection::Tick;
use bevy_ecs::prelude::*;
use bevy_ecs::system::SystemChangeTick;
use bevy_math::{DQuat, DVec3};
use bevy_time::{Fixed, Time, Virtual};
use bevy_transform::components::Transform;
use fairpath::EntityId;

use crate::components::{Acceleration, DeadReckoned, Model, MovedIn, Remote, ReplicatedId, Spin, Velocity};
use crate::end::Micros;
use crate::plugin::Fairpath;
use crate::space::Pose;
use crate::warnings::{FairpathWarnings, Misuse};

/// The change ticks at which the running tick and the frame began.
#[derive(Resource, Default)]
pub(crate) struct FrameMarks {
    tick_began: Option<Tick>,
    frame_began: Option<Tick>,
    ticks_in_frame: u32,
}

/// What the plugin knows of the motion of an entity that this app owns.
#[derive(Component, Debug, Default)]
pub(crate) struct Track {
    /// Where the game moves the entity, once that is known.
    moved_in: MovedIn,
    last: Option<Sample>,
    /// The change of the velocity by the last sample, per second.
    acceleration: Option<DVec3>,
    /// The next observation is a jump.
    pub(crate) jumps: bool,
    /// Observations in a row of a motion that does not go where the body faces.
    sideways: u32,
    /// What was observed and not sent.
    pub(crate) pending: Vec<Observed>,
    /// The parent that the session knows.
    pub(crate) parent: Option<EntityId>,
    /// The settings that the session knows.
    pub(crate) settings: Option<DeadReckoned>,
    /// The simulated transform, and the one that is drawn in its place between two ticks.
    pub(crate) shown: Option<(Transform, Transform)>,
}

#[derive(Clone, Copy, Debug)]
struct Sample {
    pose: Pose,
    at: Micros,
    parent: Option<Entity>,
}

/// A state with the instant for which it is true.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Observed {
    pub(crate) pose: Pose,
    pub(crate) at: Micros,
    pub(crate) has_jumped: bool,
}

/// Without a tick for so long an entity of the fixed loop stands still: the game is paused. 250 ms,
/// as long as Bevy lets a frame be.
const PAUSED_AFTER_US: Micros = 250_000;

/// Samples nearer than this give no velocity. 0.5 ms: half the time step of the wire.
const APART_MIN_US: Micros = 500;

/// Slower bodies stand: the direction of their movement is noise.
const SIDEWAYS_SPEED_MIN: f64 = 1.0;

/// So many observations in a row are no drift in a bend: half a second at 60 Hz.
const SIDEWAYS_MIN: u32 = 30;

pub(crate) fn mark_tick(ticks: SystemChangeTick, mut marks: ResMut<FrameMarks>) {
    marks.tick_began = Some(ticks.this_run());
    marks.ticks_in_frame += 1;
}

pub(crate) fn mark_frame(ticks: SystemChangeTick, mut marks: ResMut<FrameMarks>) {
    marks.frame_began = Some(ticks.this_run());
}

/// What is read of an entity.
type Moving<'a> = (
    Entity,
    &'a DeadReckoned,
    Ref<'a, Transform>,
    Option<&'a Velocity>,
    Option<&'a Spin>,
    Option<&'a Acceleration>,
    Option<&'a ChildOf>,
    Has<ReplicatedId>,
    &'a mut Track,
);

/// Observes entities that were moved in the tick that ends, for the instant of the tick.
pub(crate) fn observe_tick(
    fairpath: Res<Fairpath>,
    (fixed, running): (Res<Time<Fixed>>, Res<Time<Virtual>>),
    (ticks, marks): (SystemChangeTick, Res<FrameMarks>),
    mut warnings: ResMut<FairpathWarnings>,
    mut moving: Query<Moving<'_>, Without<Remote>>,
) {
    let (Some(frame_at), Some(began)) = (fairpath.frame_at, marks.tick_began) else { return };
    let at = frame_at - overstep(&fixed, &running);
    for mut item in &mut moving {
        let (settings, transform) = (item.1, &item.2);
        let has_moved = transform.last_changed().is_newer_than(began, ticks.this_run());
        let is_here = match settings.moved_in {
            MovedIn::Detect => has_moved || item.8.moved_in == MovedIn::FixedUpdate,
            chosen => chosen == MovedIn::FixedUpdate,
        };
        if is_here {
            item.8.moved_in = MovedIn::FixedUpdate;
            observe(item, at, &mut warnings);
        }
    }
}

/// Observes entities that are moved once a frame, for the instant of the frame.
pub(crate) fn observe_frame(
    fairpath: Res<Fairpath>,
    (ticks, mut marks): (SystemChangeTick, ResMut<FrameMarks>),
    mut warnings: ResMut<FairpathWarnings>,
    mut moving: Query<Moving<'_>, Without<Remote>>,
) {
    let has_ticked = std::mem::take(&mut marks.ticks_in_frame) > 0;
    let (Some(at), Some(began)) = (fairpath.frame_at, marks.frame_began) else { return };
    for mut item in &mut moving {
        let (settings, transform) = (item.1, &item.2);
        let has_moved = transform.last_changed().is_newer_than(began, ticks.this_run());
        let (track, is_paused) = (&item.8, item.8.last.is_none_or(|last| at - last.at > PAUSED_AFTER_US));
        let is_here = match (settings.moved_in, track.moved_in) {
            (MovedIn::Update, _) | (MovedIn::Detect, MovedIn::Update) => true,
            // An entity that is not moved at all is observed in every frame: it rests.
            (MovedIn::Detect, MovedIn::Detect) => true,
            (MovedIn::FixedUpdate, _) | (MovedIn::Detect, MovedIn::FixedUpdate) => is_paused,
        };
        if !is_here {
            continue;
        }
        // In the frame in which an entity appears, the fixed loop has not had its turn.
        let was_known = track.last.is_some();
        if has_moved && was_known && (is_paused || has_ticked) && settings.moved_in != MovedIn::FixedUpdate {
            item.8.moved_in = MovedIn::Update;
        }
        observe(item, at, &mut warnings);
    }
}

/// Returns how long before the instant of the frame the running tick ends, in real time.
pub(crate) fn overstep(fixed: &Time<Fixed>, running: &Time<Virtual>) -> Micros {
    let speed = running.effective_speed_f64();
    let secs = fixed.overstep().as_secs_f64() / if speed > 0.0 { speed } else { 1.0 };
    (secs * 1e6).round() as Micros
}

fn observe(
    item: <Moving<'_> as bevy_ecs::query::QueryData>::Item<'_, '_>,
    at: Micros,
    warnings: &mut FairpathWarnings,
) {
    let (entity, settings, transform, velocity, spin, acceleration, parent, is_known, mut track) = item;
    let seen =
        Seen { velocity, spin, acceleration, parent: parent.map(ChildOf::parent), model: settings.model };
    let observed = track.take(&transform, seen, at);
    if !observed.pose.is_finite() {
        track.forget();
        warnings.once(Misuse::NotFinite, entity.to_bits(), || {
            format!(
                "{entity} is not sent: its Transform, Velocity, Spin or Acceleration has a number that is not \
                 finite ({transform:?})"
            )
        });
        return;
    }
    if settings.model == Model::Circular && track.goes_sideways(&observed.pose) {
        warnings.once(Misuse::Setting, entity.to_bits(), || {
            format!(
                "{entity} has Model::Circular and moves sideways: such a motion goes along +x of its Transform in the \
                 plane, -z in space. Turn it, draw a sprite that faces another way as its child, or choose \
                 another model"
            )
        });
    }
    if !is_known {
        track.pending.clear();
    }
    track.pending.push(observed);
}

/// What the game says about a motion.
struct Seen<'a> {
    velocity: Option<&'a Velocity>,
    spin: Option<&'a Spin>,
    acceleration: Option<&'a Acceleration>,
    parent: Option<Entity>,
    model: Model,
}

impl Track {
    /// Forgets past samples: what follows is not their continuation.
    pub(crate) fn forget(&mut self) {
        (self.last, self.acceleration) = (None, None);
    }

    /// Returns whether the motion has not gone where the body faces for a while.
    fn goes_sideways(&mut self, pose: &Pose) -> bool {
        let (along_x, along_z) = (pose.rotation * DVec3::X, pose.rotation * DVec3::NEG_Z);
        let speed = pose.velocity.length();
        // In the plane a body faces +x, in space -z: it moves along neither.
        let along = pose.velocity.dot(along_x).abs().max(pose.velocity.dot(along_z).abs());
        let is_sideways = speed > SIDEWAYS_SPEED_MIN && along < 0.5 * speed;
        self.sideways = if is_sideways { self.sideways.saturating_add(1) } else { 0 };
        self.sideways >= SIDEWAYS_MIN
    }

    /// The velocity at the last sample.
    pub(crate) fn last_pose(&self) -> Option<&Pose> {
        self.last.as_ref().map(|last| &last.pose)
    }

    pub(crate) fn is_moved_in_ticks(&self) -> bool {
        self.moved_in == MovedIn::FixedUpdate
    }

    /// Completes a transform to a state: what the game does not say is estimated.
    fn take(&mut self, transform: &Transform, seen: Seen<'_>, at: Micros) -> Observed {
        let has_jumped = std::mem::take(&mut self.jumps);
        if has_jumped || self.last.is_some_and(|last| last.parent != seen.parent) {
            self.forget();
        }
        let mut pose = Pose::at(transform);
        let last = self.last.filter(|last| at > last.at);
        let apart = last.filter(|last| at - last.at >= APART_MIN_US);
        let secs = apart.map_or(0.0, |last| (at - last.at) as f64 * 1e-6);
        let said = |vector: bevy_math::Vec3| vector.as_dvec3();
        pose.velocity = match (seen.velocity, apart) {
            (Some(velocity), _) => said(velocity.0),
            (None, Some(last)) => (pose.position - last.pose.position) / secs,
            (None, None) => last.map_or(DVec3::ZERO, |last| last.pose.velocity),
        };
        pose.spin = match (seen.spin, apart) {
            (Some(spin), _) => said(spin.0),
            (None, Some(last)) => turn_between(last.pose.rotation, pose.rotation) / secs,
            (None, None) => last.map_or(DVec3::ZERO, |last| last.pose.spin),
        };
        if let Some(last) = apart {
            let change = (pose.velocity - last.pose.velocity) / secs;
            let steady =
                self.acceleration.replace(change).map_or(DVec3::ZERO, |before| minmod(before, change));
            pose.acceleration = steady;
        }
        if let Some(acceleration) = seen.acceleration {
            pose.acceleration = said(acceleration.0);
        } else if seen.model != Model::Quadratic {
            pose.acceleration = DVec3::ZERO;
        }
        self.last = Some(Sample { pose, at, parent: seen.parent });
        Observed { pose, at, has_jumped }
    }
}

/// The turn that leads from one rotation to another, about the axes of the world.
fn turn_between(from: DQuat, to: DQuat) -> DVec3 {
    let turn = to * from.inverse();
    let shortest = if turn.w < 0.0 { -turn } else { turn };
    shortest.to_scaled_axis()
}

/// The smaller of two numbers of the same sign, for each axis, or zero: a collision changes the
/// velocity once, and is no acceleration.
fn minmod(one: DVec3, other: DVec3) -> DVec3 {
    let pick = |one: f64, other: f64| {
        if one * other <= 0.0 {
            0.0
        } else if one.abs() < other.abs() {
            one
        } else {
            other
        }
    };
    DVec3::new(pick(one.x, other.x), pick(one.y, other.y), pick(one.z, other.z))
}

#[cfg(test)]
mod tests {
    use bevy_math::Quat;

    use super::*;

    fn estimate(model: Model, positions: &[f32]) -> Pose {
        let mut track = Track::default();
        let mut pose = Pose::REST;
        for (step, x) in positions.iter().enumerate() {
            let transform =
                Transform::from_xyz(*x, 0.0, 0.0).with_rotation(Quat::from_rotation_z(0.01 * step as f32));
            let seen = Seen { velocity: None, spin: None, acceleration: None, parent: None, model };
            pose = track.take(&transform, seen, 10_000 * step as Micros).pose;
        }
        pose
    }

    #[test]
    fn velocity_and_turn_are_the_slopes_of_the_transform() {
        let pose = estimate(Model::Linear, &[0.0, 0.1, 0.2]);
        assert!((pose.velocity - DVec3::new(10.0, 0.0, 0.0)).length() < 1e-4, "{pose:?}");
        assert!((pose.spin.z - 1.0).abs() < 1e-4, "{pose:?}");
        assert_eq!(pose.acceleration, DVec3::ZERO, "only a quadratic model uses it");
    }

    #[test]
    fn a_bump_is_no_acceleration_and_a_fall_is() {
        let bump = estimate(Model::Quadratic, &[0.0, 0.0, 0.0, 1.0]);
        assert_eq!(bump.acceleration, DVec3::ZERO);
        let fall: Vec<f32> = (0..8).map(|step| 0.0005 * (step * step) as f32).collect();
        let fall = estimate(Model::Quadratic, &fall);
        assert!((fall.acceleration.x - 10.0).abs() < 0.1, "{fall:?}");
    }

    #[test]
    fn a_jump_and_a_new_parent_begin_anew() {
        let mut track = Track::default();
        let seen =
            |parent| Seen { velocity: None, spin: None, acceleration: None, parent, model: Model::Linear };
        track.take(&Transform::from_xyz(0.0, 0.0, 0.0), seen(None), 0);
        track.jumps = true;
        let jump = track.take(&Transform::from_xyz(500.0, 0.0, 0.0), seen(None), 10_000);
        assert!(jump.has_jumped && jump.pose.velocity == DVec3::ZERO);
        let boarded =
            track.take(&Transform::from_xyz(1.0, 0.0, 0.0), seen(Some(Entity::PLACEHOLDER)), 20_000);
        assert_eq!(boarded.pose.velocity, DVec3::ZERO);
    }
}
