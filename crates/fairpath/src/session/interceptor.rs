//! What a server checks before it believes a client.

use std::fmt::Debug;

use super::{ClassId, ClientId, Refusal};
use crate::dr_vector::DrVector;
use crate::number::EntityId;
use crate::time::SharedInstant;
use crate::vector::Planar;

/// An update of a client's object, before the server believes it.
#[derive(Clone, Copy, Debug)]
pub struct Update<'a, V: Planar> {
    /// Whose word it is.
    pub client: ClientId,
    /// About which object.
    pub object: EntityId,
    /// What it is.
    pub class: ClassId,
    /// What the server believed of it until now; nothing if this is the first.
    pub believed: Option<&'a DrVector<V>>,
    /// When it is.
    pub now: SharedInstant,
}

/// May refuse or change what clients say of their objects. Asked in the order they were installed;
/// the first refusal counts.
///
/// Each looks at what it knows about and passes the rest. What is changed is what the server and
/// all others believe; the owner itself goes on believing what it said.
pub trait Interceptor<V: Planar>: Debug + Send {
    /// Passes an update of its motion, changes it, or refuses it. What is changed is rounded again
    /// as the wire does.
    fn check(&mut self, _: &Update<'_, V>, _: &mut DrVector<V>) -> Result<(), Refusal> {
        Ok(())
    }

    /// Passes a new value of a state group, changes it, or refuses it; also those that an object is
    /// created with. One that has become too long for a group is refused.
    fn check_state(&mut self, _: &Update<'_, V>, _group: u8, _value: &mut Vec<u8>) -> Result<(), Refusal> {
        Ok(())
    }

    /// Passes the creation of an object, changes what it is created with, or refuses it: then there
    /// is no such object, and its owner is told [`Refusal::NotCreated`], whatever the reason
    /// here.
    fn check_creation(&mut self, _: &Update<'_, V>, _creation: &mut Vec<u8>) -> Result<(), Refusal> {
        Ok(())
    }
}

/// Refuses what is faster than it can be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpeedCheck {
    /// The greatest speed, in units per second. A little above the game's own, for rounding: 25 and
    /// a bit for a tank.
    pub speed_max: f64,
}

impl<V: Planar> Interceptor<V> for SpeedCheck {
    fn check(&mut self, _: &Update<'_, V>, vector: &mut DrVector<V>) -> Result<(), Refusal> {
        let speed = vector.motion.state_at(0.0).velocity.length();
        if speed <= self.speed_max { Ok(()) } else { Err(Refusal::TooFastMotion) }
    }
}

/// Refuses what is farther away than it can have come since the last update.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TeleportCheck {
    /// The greatest speed, in units per second.
    pub speed_max: f64,
    /// What is allowed beyond that, in units: the threshold of the trigger and rounding. Too little
    /// refuses honest players after a collision; too much lets a cheat hop by this with every
    /// update.
    pub slack: f64,
    /// Whether an object may be put elsewhere by saying that it jumped: respawns that the owner
    /// decides.
    pub allows_jumps: bool,
}

impl<V: Planar> Interceptor<V> for TeleportCheck {
    fn check(&mut self, update: &Update<'_, V>, vector: &mut DrVector<V>) -> Result<(), Refusal> {
        let Some(believed) = update.believed else { return Ok(()) };
        if vector.life != believed.life {
            return if self.allows_jumps { Ok(()) } else { Err(Refusal::Teleported) };
        }
        let secs = (vector.generated_at - believed.generated_at).as_secs_f64().max(0.0);
        let moved = vector.motion.position_at(0.0).distance(believed.motion.position_at(0.0));
        if moved <= self.speed_max * secs + self.slack { Ok(()) } else { Err(Refusal::Teleported) }
    }
}
