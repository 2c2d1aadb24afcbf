//! Checks that a server makes before it accepts a client's update.

use std::fmt::Debug;

use super::{ClassId, ClientId, Refusal, ScopeObject};
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

/// A client's request to own an object, before the server grants it.
#[derive(Clone, Copy, Debug)]
pub struct ClaimRequest<'a, V: Planar> {
    /// The client that wants to own the object.
    pub client: ClientId,
    /// The object, with its present owner and where the server places it now.
    pub object: ScopeObject<'a, V>,
    /// The objects that the client owns already, in the order of their ids.
    pub own: &'a [ScopeObject<'a, V>],
    /// The current time.
    pub now: SharedInstant,
}

impl<V: Planar> ClaimRequest<'_, V> {
    /// Returns the distance between the claimed object and the nearest of the client's own objects;
    /// `None` if the object or all of the client's have no position.
    pub fn distance(&self) -> Option<f64> {
        let claimed = self.object.state?.position;
        let own = self.own.iter().filter_map(|own| Some(own.state?.position.distance(claimed)));
        own.min_by(f64::total_cmp)
    }
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

    /// Accepts or refuses a claim. Default: accepted, also if another client owns the object. The
    /// server asks last: the claimer sees the object, its class is
    /// [`claimable`](super::Class::claimable), no change of owner is on the way to the claimer, and
    /// the claimer may own one more. The claimer gets the refusal, such as [`Refusal::Vetoed`], and
    /// the owner keeps the object.
    ///
    /// The server sees the claimer's objects as late as their updates arrive: allow for what they
    /// move in that time. Example: a runner of 8 u/s and a delay of 150 ms add 1.2 units.
    ///
    /// ```
    /// use fairpath::Vec2;
    /// use fairpath::session::{ClaimRequest, Interceptor, Party, Refusal};
    ///
    /// /// A vehicle stays with its driver, and only a player beside it gets in.
    /// #[derive(Debug)]
    /// struct Doors;
    ///
    /// impl Interceptor<Vec2> for Doors {
    ///     fn check_claim(&mut self, claim: &ClaimRequest<'_, Vec2>) -> Result<(), Refusal> {
    ///         let is_free = claim.object.owner == Party::Server;
    ///         let is_near = claim.distance().is_some_and(|distance| distance <= 3.0);
    ///         if is_free && is_near { Ok(()) } else { Err(Refusal::Vetoed) }
    ///     }
    /// }
    /// ```
    fn check_claim(&mut self, _: &ClaimRequest<'_, V>) -> Result<(), Refusal> {
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
