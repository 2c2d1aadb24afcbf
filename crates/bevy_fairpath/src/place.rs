//! Placing: where remote entities are, and what is drawn.

use bevy_ecs::prelude::*;
use bevy_time::{Fixed, Time, Virtual};
use bevy_transform::components::Transform;

use crate::authority::Predicted;
use crate::components::{Owned, Placed, Remote, ReplicatedId, Spin, Velocity};
use crate::observe::{Track, overstep};
use crate::plugin::Fairpath;

/// What is written of a remote entity.
type Moved<'a> = (
    Entity,
    &'a ReplicatedId,
    Option<&'a ChildOf>,
    &'a mut Transform,
    &'a mut Placed,
    Option<&'a mut Velocity>,
    Option<&'a mut Spin>,
    Has<Predicted>,
);

/// Moves remote entities to where they are at the instant of the frame.
pub(crate) fn place(
    mut commands: Commands,
    fairpath: Res<Fairpath>,
    ids: Query<&ReplicatedId>,
    mut remote: Query<Moved<'_>, With<Remote>>,
) {
    let (Some(end), Some(at)) = (&fairpath.end, fairpath.frame_at) else { return };
    end.with(&mut |session| {
        for (entity, id, child_of, mut transform, mut placed, velocity, spin, is_predicted) in &mut remote {
            let Some(look) = session.look(id.0, at) else { continue };
            placed.set_if_neq(Placed::new(look.placed));
            if is_predicted {
                continue;
            }
            let parent = session.parent(id.0).and_then(|parent| Some((parent, fairpath.entity(parent)?)));
            let mut drawn = look.drawn;
            if let Some((parent, _)) = parent
                && let Some(carrier) = session.look(parent, at)
            {
                drawn = session.relative(&drawn, &carrier.drawn);
            }
            let mut moved = *transform;
            session.write(&drawn, &mut moved);
            transform.set_if_neq(moved);
            if let Some(mut velocity) = velocity {
                velocity.set_if_neq(Velocity(drawn.velocity.as_vec3()));
            }
            if let Some(mut spin) = spin {
                spin.set_if_neq(Spin(drawn.spin.as_vec3()));
            }
            follow_parent(&mut commands, entity, child_of, parent.map(|(_, entity)| entity), &ids);
        }
    });
}

/// Makes a rider the child of what carries it. Other parents, a scene for example, are the game's.
fn follow_parent(
    commands: &mut Commands,
    rider: Entity,
    now: Option<&ChildOf>,
    parent: Option<Entity>,
    ids: &Query<&ReplicatedId>,
) {
    let now = now.map(ChildOf::parent);
    if let Some(parent) = parent
        && now != Some(parent)
    {
        commands.entity(rider).try_insert(ChildOf(parent));
    } else if parent.is_none() && now.is_some_and(|now| ids.contains(now)) {
        commands.entity(rider).try_remove::<ChildOf>();
    }
}

/// Moves [`Placed`] to the instant of the tick that begins.
pub(crate) fn place_at_tick(
    fixed: Res<Time<Fixed>>,
    running: Res<Time<Virtual>>,
    mut remote: Query<&mut Placed>,
) {
    let secs = overstep(&fixed, &running) as f64 * -1e-6;
    remote.iter_mut().for_each(|mut placed| *placed = placed.after(secs));
}

/// Moves [`Placed`] back to the instant of the frame.
pub(crate) fn place_at_frame(mut remote: Query<&mut Placed>) {
    remote.iter_mut().for_each(|mut placed| {
        let at_frame = placed.at_frame();
        placed.set_if_neq(at_frame);
    });
}

/// Draws own entities of the fixed loop at the instant of the frame: by their motion since the last
/// tick. Without it they judder by up to a tick's way.
pub(crate) fn draw_between_ticks(
    (fixed, running): (Option<Res<Time<Fixed>>>, Option<Res<Time<Virtual>>>),
    mut own: Query<(&mut Transform, &mut Track), With<Owned>>,
) {
    let (Some(fixed), Some(running)) = (fixed, running) else { return };
    let secs = overstep(&fixed, &running) as f64 * 1e-6;
    for (mut transform, mut track) in own.iter_mut().filter(|(_, track)| track.is_moved_in_ticks()) {
        let Some(pose) = track.last_pose().filter(|pose| pose.is_finite()) else { continue };
        let simulated = *transform;
        let mut drawn = simulated;
        drawn.translation += (pose.velocity * secs).as_vec3();
        drawn.rotate(bevy_math::Quat::from_scaled_axis((pose.spin * secs).as_vec3()));
        transform.set_if_neq(drawn);
        track.shown = Some((simulated, drawn));
    }
}

/// Gives the fixed loop the simulated transforms back. What the game has changed since stays.
pub(crate) fn restore_simulated(mut own: Query<(&mut Transform, &mut Track)>) {
    for (mut transform, mut track) in &mut own {
        if let Some((simulated, drawn)) = track.shown.take()
            && *transform == drawn
        {
            transform.set_if_neq(simulated);
        }
    }
}
