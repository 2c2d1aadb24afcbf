//! Objects attached to parents, as a client sees them.

use super::{Client, Role};
use crate::dr_vector::DrVector;
use crate::motion::MotionKind;
use crate::number::EntityId;
use crate::place::{Acceptance, Arrival, Replica};
use crate::session::ObjectError;
use crate::session::attach;
use crate::state::State;
use crate::time::{Now, SharedInstant, Span};
use crate::vector::Planar;

impl<V: Planar> Client<V> {
    /// Attaches an object that this client owns to a moving parent, or detaches it with `None`.
    ///
    /// From now on [`observe`](Self::observe) takes states relative to the parent, which
    /// [`State::relative_to`] computes, and the trigger measures in the parent's axes:
    /// a rider that stands on a turning ship costs heartbeats only. The parent may be owned by any
    /// peer. Its class should send the orientation ([`Class::with_attitude`]) or use a motion model
    /// that has one of its own, circular or static; a parent that faces the way it moves turns its
    /// riders about when it stops.
    ///
    /// The next observation begins a new life. Viewers see no jump. If they do not know the new
    /// parent yet, they show the object on its last course until they do.
    ///
    /// When the parent is destroyed, the object stays at its last place in the world, at rest.
    /// `observe` then returns [`ObjectError::BadParent`] until the object is attached to another
    /// parent or to none.
    ///
    /// [`Class::with_attitude`]: crate::session::Class::with_attitude
    pub fn attach(&mut self, object: EntityId, parent: Option<EntityId>) -> Result<(), ObjectError> {
        self.mine(object)?;
        if let Some(parent) = parent.filter(|parent| !self.may_carry(*parent, object)) {
            return Err(ObjectError::BadParent(parent));
        }
        if let Role::Mine(owner, _) = &mut self.mine(object)?.role {
            owner.attach(parent);
        }
        Ok(())
    }

    /// Returns the parent of an object. For an object that this client owns it is the one that
    /// observed states are relative to.
    pub fn parent(&self, object: EntityId) -> Option<EntityId> {
        match &self.objects.get(&object)?.role {
            Role::Mine(owner, _) => owner.parent(),
            Role::Theirs(replica) => replica.followed()?.parent,
        }
    }

    /// Checks that the parent of an observed object can still carry it.
    pub(super) fn check_parent(&self, object: EntityId) -> Result<(), ObjectError> {
        match self.parent(object).filter(|parent| !self.may_carry(*parent, object)) {
            Some(parent) => Err(ObjectError::BadParent(parent)),
            None => Ok(()),
        }
    }

    fn may_carry(&self, parent: EntityId, object: EntityId) -> bool {
        self.objects.contains_key(&parent) && self.attachments.may_carry(parent, object)
    }

    /// Returns the world state of an object. `show` is [`Replica::place`] or [`Replica::draw`].
    pub(super) fn in_world(
        &self,
        object: EntityId,
        now: Now,
        show: fn(&Replica<V>, Now) -> Option<State<V>>,
    ) -> Option<State<V>> {
        attach::in_world(object, |object| {
            let known = self.objects.get(&object)?;
            if let Some(coasting) = self.adrift.get(&object) {
                return Some((coasting.at(now.shared, self.horizon), None));
            }
            if let Some(resting) = self.resting.get(&object) {
                return Some((*resting, None));
            }
            match &known.role {
                Role::Mine(owner, _) => {
                    owner.exported().map(|exported| (exported.state_at(now.shared), exported.parent))
                }
                Role::Theirs(replica) => Some((show(replica, now)?, replica.followed()?.parent)),
            }
        })
    }

    /// Records the parent in a DR vector that an object follows from now on. Returns whether it is
    /// another one than before.
    pub(super) fn follow_parent(&mut self, object: EntityId, parent: Option<EntityId>) -> bool {
        self.resting.remove(&object);
        self.adrift.remove(&object);
        self.attachments.follow(object, parent)
    }

    /// Passes a DR vector to the replica of an object. A replica compares states of one parent only
    /// and would jump to another one, so its picture is carried over in world coordinates.
    pub(super) fn follow(&mut self, vector: &DrVector<V>, arrival: &Arrival) -> Acceptance {
        let (object, now) = (vector.entity, arrival.now);
        let is_apart = self.resting.contains_key(&object) || self.adrift.contains_key(&object);
        let is_carried_over = is_apart || self.attachments.parent(object) != vector.parent;
        let drawn = if is_carried_over { self.in_world(object, now, Replica::draw) } else { None };
        let placed = if is_carried_over { self.in_world(object, now, Replica::place) } else { None };
        let Some(Role::Theirs(replica)) = self.objects.get_mut(&object).map(|known| &mut known.role) else {
            return Acceptance::Stale;
        };
        let acceptance = replica.accept(vector, arrival);
        if acceptance != Acceptance::Used {
            return acceptance;
        }
        self.follow_parent(object, vector.parent);
        if let Some(state) = placed.filter(|_| self.in_world(object, now, Replica::place).is_none()) {
            self.adrift.insert(object, Coasting { state, since: now.shared });
        } else if let Some(drawn) = drawn {
            self.blend_from(object, &drawn, now);
        }
        self.land_adrift(now);
        acceptance
    }

    /// Lets the drawn path of an object continue from this world state.
    fn blend_from(&mut self, object: EntityId, drawn: &State<V>, now: Now) {
        let relative = match self.attachments.parent(object) {
            Some(parent) => match self.in_world(parent, now, Replica::draw) {
                Some(frame) => drawn.relative_to(&frame),
                None => return,
            },
            None => *drawn,
        };
        if let Some(Role::Theirs(replica)) = self.objects.get_mut(&object).map(|known| &mut known.role) {
            replica.blend_from(&relative, now);
        }
    }

    /// Attaches the objects whose parent has become known meanwhile.
    pub(super) fn land_adrift(&mut self, now: Now) {
        for object in self.adrift.keys().copied().collect::<Vec<_>>() {
            let Some(coasting) = self.adrift.remove(&object) else { continue };
            if self.in_world(object, now, Replica::place).is_some() {
                self.blend_from(object, &coasting.at(now.shared, self.horizon), now);
            } else {
                self.adrift.insert(object, coasting);
            }
        }
    }

    /// Lets the objects that a removed object carries stay where they are.
    pub(super) fn rest_children(&mut self, parent: EntityId) {
        let Some(now) = self.clock_read else { return };
        for child in self.attachments.children(parent).collect::<Vec<_>>() {
            if let Some(state) = self.in_world(child, now, Replica::place) {
                self.resting.insert(child, state.at_rest());
            }
        }
    }
}

/// The last world state of an object whose parent is not known yet. The object coasts on in the
/// world: a rider of a fast carrier that stopped dead would jump as soon as the parent is known.
#[derive(Clone, Copy, Debug)]
pub(super) struct Coasting<V: Planar> {
    state: State<V>,
    since: SharedInstant,
}

impl<V: Planar> Coasting<V> {
    /// Returns the state at `now`. It freezes after the horizon, as a replica does.
    fn at(&self, now: SharedInstant, horizon: Span) -> State<V> {
        let Self { state, since } = self;
        let secs = (now - *since).clamp(Span::ZERO, horizon).as_secs_f64();
        let coasted = State {
            orientation: V::turned(state.orientation, state.spin, secs),
            spin: state.spin,
            ..MotionKind::Linear.from_state(state).state_at(secs)
        };
        if now - *since > horizon { coasted.at_rest() } else { coasted }
    }
}
