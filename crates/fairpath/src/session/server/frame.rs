use super::{Server, ServerEvent};
use crate::forecast::Forecast;
use crate::number::EntityId;
use crate::session::value::decode;
use crate::session::{CallError, ClientId, ObjectError, ObjectHandle, Party, Value};
use crate::state::{Observation, State};
use crate::time::SharedInstant;
use crate::trigger::Trigger;
use crate::vector::Planar;

/// A server at one instant, as a game uses it in a frame.
///
/// Values are the Rust types of the [`Protocol`](crate::session::Protocol).
/// [`session`](Self::session) gives access to the session below, with plain bytes.
#[derive(Debug)]
pub struct ServerFrame<'a, V: Planar> {
    session: &'a mut Server<V>,
    now: SharedInstant,
}

impl<V: Planar> Server<V> {
    /// Returns the server at `now`, for the game.
    pub fn frame(&mut self, now: SharedInstant) -> ServerFrame<'_, V> {
        self.latest = self.latest.max(now);
        ServerFrame { session: self, now }
    }
}

impl<V: Planar> ServerFrame<'_, V> {
    /// Returns the time of the frame.
    pub fn now(&self) -> SharedInstant {
        self.now
    }

    /// Returns the session below.
    pub fn session(&mut self) -> &mut Server<V> {
        self.session
    }

    // ── objects ──

    /// Creates an object owned by the server, of the class that the protocol gives to `T`, in a
    /// `state` that is true for the instant `at`. Observations of earlier instants are ignored: of
    /// a tick in the same frame, for example.
    pub fn create<T: Value>(
        &mut self,
        value: &T,
        state: State<V>,
        at: SharedInstant,
    ) -> Result<EntityId, ObjectError> {
        let object = self.make(value, true)?;
        let observed = self.session.observe_at(object, Observation::Moved(state), at, self.now);
        if observed.is_err() {
            self.session.destroy(object)?;
        } else if let Some(known) = self.session.objects.get_mut(&object) {
            known.born_at = Some(at);
        }
        observed.map(|()| object)
    }

    /// Creates an object of a class [without motion](crate::session::Class::without_motion).
    pub fn create_motionless<T: Value>(&mut self, value: &T) -> Result<EntityId, ObjectError> {
        self.make(value, false)
    }

    fn make<T: Value>(&mut self, value: &T, has_motion: bool) -> Result<EntityId, ObjectError> {
        let (class, bytes) = self.session.protocol().creation_of(value, has_motion)?;
        self.session.create(class, &bytes, self.now)
    }

    /// Destroys an object of any owner.
    pub fn destroy(&mut self, object: EntityId) -> Result<(), ObjectError> {
        self.session.destroy(object)
    }

    /// Reports the state of an object that the server owns, true for the instant `at`: the time of
    /// the tick that computed it, or [`now`](Self::now) where every frame computes a new one. Call
    /// it with every new state.
    pub fn observe(
        &mut self,
        object: EntityId,
        state: State<V>,
        at: SharedInstant,
    ) -> Result<(), ObjectError> {
        self.session.observe_at(object, Observation::Moved(state), at, self.now)
    }

    /// Teleports an object that the server owns: receivers show it in the new state at once,
    /// without a way between.
    pub fn jump(&mut self, object: EntityId, state: State<V>, at: SharedInstant) -> Result<(), ObjectError> {
        self.session.observe_at(object, Observation::Jumped(state), at, self.now)
    }

    /// Attaches an object that the server owns to a moving parent, or detaches it. From then on its
    /// states are relative to the parent: positions and orientations in the parent's axes.
    pub fn attach(&mut self, object: EntityId, parent: Option<EntityId>) -> Result<(), ObjectError> {
        self.session.attach(object, parent)
    }

    /// Returns the parent of an object.
    pub fn parent(&self, object: EntityId) -> Option<EntityId> {
        self.session.parent(object)
    }

    /// Sets when updates of an object that the server owns are due, instead of the trigger of its
    /// class: a threshold of its own, for example. It holds until the object has another owner.
    pub fn set_trigger(&mut self, object: EntityId, trigger: Trigger) -> Result<(), ObjectError> {
        self.session.set_trigger(object, trigger)
    }

    /// Sets the forecast that chooses the motions to send for an object that the server owns;
    /// `None`: the class's motion model. See [`Forecast`].
    pub fn set_forecast(
        &mut self,
        object: EntityId,
        forecast: Option<Box<dyn Forecast<V>>>,
    ) -> Result<(), ObjectError> {
        self.session.set_forecast(object, forecast)
    }

    /// Returns where an object of any owner is now. For an object of the server it is what clients
    /// predict.
    pub fn place(&self, object: EntityId) -> Option<State<V>> {
        self.session.place(object, self.now)
    }

    /// Gives an object to a client or to the server: clients get `OwnershipChanged`, and the server
    /// does not, because its game has decided it. The new owner is not asked, and neither
    /// [`Class::claimable`](crate::session::Class::claimable) nor the limits of a client's objects
    /// count.
    ///
    /// The server can [`observe`](Self::observe) an object in the same frame in which it takes it,
    /// and so set its motion: a kick. A new owner at a client continues from its own `place`. After
    /// a [`jump`](Self::jump) wait until that client has seen it.
    pub fn give(&mut self, object: EntityId, to: Party) -> Result<(), ObjectError> {
        self.session.give(object, to, self.now)
    }

    /// Returns all objects, in the order of their ids.
    pub fn objects(&self) -> Vec<EntityId> {
        self.session.objects().collect()
    }

    /// Returns the objects that were created with a `T`, in the order of their ids.
    pub fn objects_of<T: Value>(&self) -> Vec<EntityId> {
        self.session.objects().filter(|object| self.is::<T>(*object)).collect()
    }

    /// Returns whether an object was created with a `T`.
    pub fn is<T: Value>(&self, object: EntityId) -> bool {
        let class = self.session.class(object);
        class.is_some() && class == self.session.protocol().class_id::<T>()
    }

    /// Returns the value that an object was created with.
    pub fn creation<T: Value>(&self, object: EntityId) -> Option<T> {
        if self.is::<T>(object) { decode(self.session.creation(object)?) } else { None }
    }

    /// Returns a handle of an object, which never means another object, as its id may: see
    /// [`ObjectHandle`].
    pub fn handle(&self, object: EntityId) -> Option<ObjectHandle> {
        self.session.handle(object)
    }

    /// Returns the id of a handle's object; [`ObjectError::Stale`] if it was destroyed.
    pub fn resolve(&self, handle: ObjectHandle) -> Result<EntityId, ObjectError> {
        self.session.resolve(handle)
    }

    /// Returns the owner of an object.
    pub fn owner(&self, object: EntityId) -> Option<Party> {
        self.session.owner(object)
    }

    /// Sets a state of an object: one that the protocol reserves for the server, or any state of
    /// an object that the server owns. An unchanged value is not sent.
    pub fn set<T: Value>(&mut self, object: EntityId, value: &T) -> Result<(), ObjectError> {
        let class = self.session.class(object).ok_or(ObjectError::Unknown(object))?;
        let (group, bytes) = self.session.protocol().state_of(class, value)?;
        self.session.set_state(object, group, &bytes)
    }

    /// Returns a state of an object; `None` before it was set.
    pub fn get<T: Value>(&self, object: EntityId) -> Option<T> {
        let group = self.session.protocol().group::<T>(self.session.class(object)?).ok()?;
        decode(self.session.state(object, group)?)
    }

    // ── calls ──

    /// Calls one client.
    pub fn call_client<T: Value>(&mut self, client: ClientId, value: &T) -> Result<(), CallError> {
        let (method, delivery, bytes) = self.session.protocol().call_of(value)?;
        self.session.call_client(client, method, &bytes, delivery)
    }

    /// Calls every client. Returns the clients that could not be called, because too many of their
    /// messages are unconfirmed.
    pub fn call_all<T: Value>(&mut self, value: &T) -> Result<Vec<ClientId>, CallError> {
        let (method, delivery, bytes) = self.session.protocol().call_of(value)?;
        self.session.call_clients(None, method, &bytes, delivery)
    }

    /// Calls every client but one, like [`call_all`](Self::call_all).
    pub fn call_all_but<T: Value>(
        &mut self,
        except: ClientId,
        value: &T,
    ) -> Result<Vec<ClientId>, CallError> {
        let (method, delivery, bytes) = self.session.protocol().call_of(value)?;
        self.session.call_clients(Some(except), method, &bytes, delivery)
    }

    /// Calls every client that sees an object, except its owner, like [`call_all`](Self::call_all).
    pub fn call_viewers<T: Value>(
        &mut self,
        object: EntityId,
        value: &T,
    ) -> Result<Vec<ClientId>, CallError> {
        let (method, delivery, bytes) = self.session.protocol().call_of(value)?;
        self.session.call_viewers(object, method, &bytes, delivery)
    }

    /// Calls the client that owns an object.
    pub fn call_owner<T: Value>(&mut self, object: EntityId, value: &T) -> Result<(), CallError> {
        let (method, delivery, bytes) = self.session.protocol().call_of(value)?;
        self.session.call_owner(object, method, &bytes, delivery)
    }

    // ── clients ──

    /// Returns the next event.
    pub fn poll_event(&mut self) -> Option<ServerEvent> {
        self.session.poll_event()
    }

    /// Returns all clients with a session, connected or not.
    pub fn clients(&self) -> Vec<ClientId> {
        self.session.clients().collect()
    }

    /// Ends a client's session.
    pub fn dismiss(&mut self, client: ClientId) {
        self.session.dismiss(client, self.now);
    }
}
