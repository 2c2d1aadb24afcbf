//! Shots: points that fly straight until they hit an obstacle or reach their range.

use fairpath::State;
use fairpath::motion::Linear;
use fairpath::number::EntityId;
use fairpath::time::SharedInstant;
use fairpath::vector::{Vec2, Vector};
use fairpath_sim::Digest;

use super::config::{SHOT_RADIUS, TANKS_MAX};
use super::map::Barrier;
use super::tank::shape_of;
use crate::shared::{Team, add_state, add_vector};

/// The most shots of one tank in the air. Shot ids are reused, so they stay small on the wire. With
/// the default rules one shot ends just when the next is loaded.
pub const SHOT_SLOTS: u32 = 4;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shot {
    pub(super) id: EntityId,
    pub(super) life: u16,
    pub(super) shooter: EntityId,
    pub(super) team: Team,
    pub(super) motion: Linear<Vec2>,
    pub(super) fired_at: SharedInstant,
    pub(super) ends_at: SharedInstant,
    pub(super) state: State<Vec2>,
    pub(super) is_new: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShotEnd {
    /// It reached its range.
    Spent,
    Barrier(Barrier),
    /// It destroyed this tank.
    Tank(EntityId),
}

impl Shot {
    /// Returns the entity id of a tank's shot in `slot`: after all tanks, [`SHOT_SLOTS`] for each.
    pub(super) fn id_of(shooter: EntityId, slot: u32) -> EntityId {
        EntityId(TANKS_MAX + shooter.0 * SHOT_SLOTS + slot)
    }

    /// Returns its entity id. Ids are reused; [`life`](Self::life) tells one use from the next.
    pub fn id(&self) -> EntityId {
        self.id
    }

    /// Returns which use of its id this is, counted from zero.
    pub fn life(&self) -> u16 {
        self.life
    }

    pub fn shooter(&self) -> EntityId {
        self.shooter
    }

    pub fn team(&self) -> Team {
        self.team
    }

    pub fn fired_at(&self) -> SharedInstant {
        self.fired_at
    }

    /// Returns position and motion at the end of the last tick.
    pub fn state(&self) -> State<Vec2> {
        self.state
    }

    /// Returns whether it was fired in the tick that just ended.
    pub fn is_new(&self) -> bool {
        self.is_new
    }

    /// Returns the position at `now` from the muzzle, so that a linear DR vector agrees.
    pub(super) fn position_at(&self, now: SharedInstant) -> Vec2 {
        self.motion.position + self.motion.velocity * (now - self.fired_at).as_secs_f64()
    }

    pub(super) fn add_to(&self, digest: &mut Digest) {
        digest.u32(self.id.0).u16(self.life).u32(self.shooter.0).u8(self.team as u8);
        add_vector(self.motion.position, digest);
        add_vector(self.motion.velocity, digest);
        digest.i64(self.fired_at.as_micros()).i64(self.ends_at.as_micros());
        add_state(&self.state, digest);
        digest.bool(self.is_new);
    }
}

/// Returns the share of the tick after which a shot that flies from `start` to `end` hits a tank
/// that drives from `before` to `after`.
///
/// Both end points are taken relative to the tank's pose at that end, so a shot cannot pass a
/// moving tank between two ticks. The tank counts as larger by the shot's radius.
pub(super) fn hits_tank(start: Vec2, end: Vec2, before: &State<Vec2>, after: &State<Vec2>) -> Option<f64> {
    let shape = shape_of(after).inflated(SHOT_RADIUS);
    // A tank moves less than a unit per tick, so a tank this far away is not hit.
    let reach = shape.reach() + 1.0 + start.distance(end);
    if start.distance(shape.centre) > reach {
        return None;
    }
    shape.first_hit_local(shape_of(before).to_local(start), shape.to_local(end))
}
