//! Checks that a server makes before it accepts a client's update.

use std::fmt::Debug;

use super::{ClassId, ClientId, Refusal};
use crate::dr_vector::DrVector;
use crate::number::EntityId;
use crate::time::SharedInstant;
use crate::vector::Planar;

/// The context of a client's update, before the server accepts it.
#[derive(Clone, Copy, Debug)]
pub struct Update<'a, V: Planar> {
    /// The client that sent the update.
    pub client: ClientId,
    /// The object.
    pub object: EntityId,
    /// The class of the object.
    pub class: ClassId,
    /// The DR vector that the server followed so far; `None` if this is the first.
    pub believed: Option<&'a DrVector<V>>,
    /// The current time.
    pub now: SharedInstant,
}

/// Refuses or changes clients' updates of their objects. A server asks its interceptors in the
/// order of installation; the first refusal counts.
///
/// An interceptor checks what it knows and accepts the rest, which the default methods do. A
/// changed update is what the server and all viewers see; the owner keeps its own state.
pub trait Interceptor<V: Planar>: Debug + Send {
    /// Accepts, changes or refuses an update of the object's motion. A changed update is rounded
    /// again as on the wire. The motion of an object with a parent is relative to the parent, which
    /// the server has checked. Entity, time and parent cannot be changed.
    fn check(&mut self, _: &Update<'_, V>, _: &mut DrVector<V>) -> Result<(), Refusal> {
        Ok(())
    }

    /// Accepts, changes or refuses a new value of a state group, including the initial values of a
    /// new object. A value that has become too long is refused.
    fn check_state(&mut self, _: &Update<'_, V>, _group: u8, _value: &mut Vec<u8>) -> Result<(), Refusal> {
        Ok(())
    }

    /// Accepts, changes or refuses the creation of an object and its creation bytes. After a
    /// refusal the object does not exist, and its owner gets [`Refusal::NotCreated`], whatever
    /// reason is returned here.
    fn check_creation(&mut self, _: &Update<'_, V>, _creation: &mut Vec<u8>) -> Result<(), Refusal> {
        Ok(())
    }
}

/// Refuses updates that are faster than `speed_max`: relative to the parent, if there is one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpeedCheck {
    /// The greatest speed, in units per second. Set it a little above the game's own, to allow for
    /// rounding: slightly above 25 for a tank.
    pub speed_max: f64,
}

impl<V: Planar> Interceptor<V> for SpeedCheck {
    fn check(&mut self, _: &Update<'_, V>, vector: &mut DrVector<V>) -> Result<(), Refusal> {
        let speed = vector.motion.state_at(0.0).velocity.length();
        if speed <= self.speed_max { Ok(()) } else { Err(Refusal::TooFastMotion) }
    }
}

/// Refuses updates that moved farther since the last update than `speed_max` allows: relative to
/// the parent, if there is one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TeleportCheck {
    /// The greatest speed, in units per second.
    pub speed_max: f64,
    /// Additional distance allowed, in units, for the threshold of the trigger and rounding. Too
    /// small: honest players are refused after a collision. Too large: a cheater can jump by this
    /// distance with every update.
    pub slack: f64,
    /// Whether the owner may teleport an object by starting a new life, for example to respawn.
    /// Another parent starts a new life, so `false` also refuses to attach and to detach.
    pub allows_jumps: bool,
}

impl<V: Planar> Interceptor<V> for TeleportCheck {
    fn check(&mut self, update: &Update<'_, V>, vector: &mut DrVector<V>) -> Result<(), Refusal> {
        let Some(believed) = update.believed else { return Ok(()) };
        if !vector.shares_life(believed) {
            return if self.allows_jumps { Ok(()) } else { Err(Refusal::Teleported) };
        }
        let secs = (vector.generated_at - believed.generated_at).as_secs_f64().max(0.0);
        let moved = vector.motion.position_at(0.0).distance(believed.motion.position_at(0.0));
        if moved <= self.speed_max * secs + self.slack { Ok(()) } else { Err(Refusal::Teleported) }
    }
}
