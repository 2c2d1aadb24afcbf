//! Shots: points that fly straight until they meet something or have flown far enough.

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

/// How many shots of one tank can be in the air: entity numbers stay small and reused, as the wire
/// likes them. With the default rules one shot has just landed when the next is loaded.
pub const SHOT_SLOTS: u32 = 4;

/// A shot in the air.
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

/// What ended a shot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShotEnd {
    /// It had flown as far as shots fly.
    Spent,
    /// It hit the ground's own.
    Barrier(Barrier),
    /// It destroyed this tank.
    Tank(EntityId),
}

impl Shot {
    /// The name of shot number `slot` of a tank: after all tanks, [`SHOT_SLOTS`] for each.
    pub(super) fn id_of(shooter: EntityId, slot: u32) -> EntityId {
        EntityId(TANKS_MAX + shooter.0 * SHOT_SLOTS + slot)
    }

    /// Its name in a session. Names are reused; [`life`](Self::life) tells one use from the next.
    pub fn id(&self) -> EntityId {
        self.id
    }

    /// Which shot of its name this is, counted from zero.
    pub fn life(&self) -> u16 {
        self.life
    }

    /// Who fired it.
    pub fn shooter(&self) -> EntityId {
        self.shooter
    }

    /// The shooter's team.
    pub fn team(&self) -> Team {
        self.team
    }

    /// When it left the barrel.
    pub fn fired_at(&self) -> SharedInstant {
        self.fired_at
    }

    /// Where it is and how it flies, at the end of the last tick.
    pub fn state(&self) -> State<Vec2> {
        self.state
    }

    /// Whether it was fired in the tick that just ended: its name means another shot than before.
    pub fn is_new(&self) -> bool {
        self.is_new
    }

    /// Where it is `now`: always computed from the barrel, so that a linear DR vector and the shot
    /// agree.
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

/// After which share of the tick a shot that flies from `start` to `end` hits a tank that drives
/// from `before` to `after`.
///
/// Both ends are seen from the tank as it is at that end, so a shot cannot pass between two ticks
/// of a moving tank. The tank counts as larger by the shot's radius.
pub(super) fn hits_tank(start: Vec2, end: Vec2, before: &State<Vec2>, after: &State<Vec2>) -> Option<f64> {
    let shape = shape_of(after).inflated(SHOT_RADIUS);
    // A tank moves less than a unit per tick: whoever is this far away is not hit.
    let reach = shape.reach() + 1.0 + start.distance(end);
    if start.distance(shape.centre) > reach {
        return None;
    }
    shape.first_hit_local(shape_of(before).to_local(start), shape.to_local(end))
}
