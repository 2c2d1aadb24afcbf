//! Objects attached to parents, as the server sees them.

use super::Server;
use super::object::{Object, Role};
use crate::dr_vector::DrVector;
use crate::motion::MotionKind;
use crate::number::EntityId;
use crate::place::Arrival;
use crate::session::id_map::IdMap;
use crate::session::{ClientId, ObjectError, Refusal, attach};
use crate::state::State;
use crate::time::{Now, SharedInstant};
use crate::trigger::TriggerReason;
use crate::vector::Planar;

impl<V: Planar> Server<V> {
    /// Attaches an object that the server owns to a moving parent, or detaches it with `None`: see
    /// [`Client::attach`](crate::session::Client::attach).
    ///
    /// A client that sees the object is also shown the parent, whatever the scope decides.
    pub fn attach(&mut self, object: EntityId, parent: Option<EntityId>) -> Result<(), ObjectError> {
        if let Some(parent) = parent.filter(|parent| !self.may_carry(*parent, object)) {
            return Err(ObjectError::BadParent(parent));
        }
        let known = self.objects.get_mut(&object).ok_or(ObjectError::Unknown(object))?;
        let Role::Mine(owner) = &mut known.role else { return Err(ObjectError::NotOwner(object)) };
        owner.attach(parent);
        Ok(())
    }

    /// Returns the parent of an object. For an object that the server owns it is the one that
    /// observed states are relative to.
    pub fn parent(&self, object: EntityId) -> Option<EntityId> {
        let known = self.objects.get(&object)?;
        if let Role::Mine(owner) = &known.role { owner.parent() } else { known.carried_by() }
    }

    /// Checks that the parent of an observed object can still carry it.
    pub(super) fn check_parent(&self, object: EntityId) -> Result<(), ObjectError> {
        match self.parent(object).filter(|parent| !self.may_carry(*parent, object)) {
            Some(parent) => Err(ObjectError::BadParent(parent)),
            None => Ok(()),
        }
    }

    /// Checks the parent in a client's DR vector. A client that attached its object to a hidden one
    /// would be shown that, so it must see it already.
    pub(super) fn check_parent_of(&self, client: ClientId, vector: &DrVector<V>) -> Result<(), Refusal> {
        match vector.parent {
            Some(parent) if !self.sees(client, parent) || !self.may_carry(parent, vector.entity) => {
                Err(Refusal::BadParent)
            }
            _ => Ok(()),
        }
    }

    fn may_carry(&self, parent: EntityId, object: EntityId) -> bool {
        self.objects.contains_key(&parent) && self.attachments.may_carry(parent, object)
    }

    /// Records the parent in a DR vector of an object, and shows the parent to the viewers.
    pub(super) fn follow_parent(&mut self, vector: &DrVector<V>, now: SharedInstant) {
        if !self.attachments.follow(vector.entity, vector.parent) {
            return;
        }
        let Some(parent) = vector.parent else { return };
        for client in self.members.keys().copied().collect::<Vec<_>>() {
            if self.sees(client, vector.entity) {
                self.enter(client, parent, now);
            }
        }
    }

    /// Puts the objects that a removed object carries to rest where they are in the world: each
    /// gets a DR vector of the server's, which starts a new life. Their owners observe again after
    /// they have attached them to another parent or to none.
    pub(super) fn settle_children(&mut self, parent: EntityId) {
        let now = self.latest;
        for child in self.attachments.children(parent).collect::<Vec<_>>() {
            let state = in_world(&self.objects, child, now);
            let newest = self.dispatcher.newest(child).copied();
            match state.zip(newest) {
                Some((state, newest)) => self.settle(&state, &newest, now),
                None => drop(self.attachments.follow(child, None)),
            }
        }
    }

    fn settle(&mut self, state: &State<V>, newest: &DrVector<V>, now: SharedInstant) {
        let precision = *self.config.protocol.precision();
        let generated_at = precision.on_time_grid(now).max(newest.generated_at + precision.time_step());
        let vector = precision.as_decoded(&DrVector {
            life: newest.life.next(),
            generation: newest.generation.next(),
            generated_at,
            motion: MotionKind::Static.from_state(state),
            attitude: None,
            parent: None,
            ..*newest
        });
        match self.objects.get_mut(&vector.entity).map(|known| &mut known.role) {
            Some(Role::Mine(owner)) => owner.overrule(vector),
            Some(Role::Theirs(replica)) => {
                replica.accept(&vector, &Arrival::at(Now::synchronised(now)));
            }
            None => return,
        }
        self.relay.on_sent(vector.entity, vector.generated_at);
        self.spread_motion(&vector, TriggerReason::Jumped, now);
    }
}

/// Returns the world state of an object.
pub(super) fn in_world<V: Planar>(
    objects: &IdMap<EntityId, Object<V>>,
    object: EntityId,
    now: SharedInstant,
) -> Option<State<V>> {
    attach::in_world(object, |object| {
        let known = objects.get(&object)?;
        Some((known.place(now)?, known.carried_by()))
    })
}
