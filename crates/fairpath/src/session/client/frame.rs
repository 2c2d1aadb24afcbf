use super::{Client, ClientEvent};
use crate::forecast::Forecast;
use crate::number::EntityId;
use crate::session::value::decode;
use crate::session::{CallError, ClientId, ObjectError, ObjectHandle, Party, Value};
use crate::state::{Observation, State};
use crate::time::{LocalInstant, SharedInstant, Span};
use crate::trigger::Trigger;
use crate::vector::Planar;

/// A client at one instant, as a game uses it in a frame.
///
/// Values are the Rust types of the [`Protocol`](crate::session::Protocol).
/// [`session`](Self::session) gives access to the session below, with plain bytes.
#[derive(Debug)]
pub struct ClientFrame<'a, V: Planar> {
    session: &'a mut Client<V>,
    now: LocalInstant,
}

impl<V: Planar> Client<V> {
    /// Returns the client at `now`, for the game.
    pub fn frame(&mut self, now: LocalInstant) -> ClientFrame<'_, V> {
        self.latest = self.latest.max(now);
        ClientFrame { session: self, now }
    }
}

impl<V: Planar> ClientFrame<'_, V> {
    /// Returns the time of the frame, on this client's own clock.
    pub fn now(&self) -> LocalInstant {
        self.now
    }

    /// Returns the time of the frame on the clock that all peers of the session share, for a
    /// countdown or a timetable; `None` before the first session. States are observed at
    /// [`now`](Self::now), not at this.
    pub fn shared_now(&mut self) -> Option<SharedInstant> {
        Some(self.session.clock_now(self.now)?.shared)
    }

    /// Returns the session below.
    pub fn session(&mut self) -> &mut Client<V> {
        self.session
    }

    /// Returns whether there is a connection, and the clock is ready: its uncertainty is at most
    /// [`ready_within`](crate::clock::ClockConfig::ready_within), by default 20 ms, or it has taken
    /// four samples since the greeting. Before that nothing can be created.
    /// [`clock_uncertainty`](Self::clock_uncertainty) tells how good the clock is.
    pub fn is_connected(&self) -> bool {
        self.session.is_connected()
    }

    /// Returns by how much the shared clock may be wrong at most; `None` before the first exchange.
    /// A game that needs a better clock than [`is_connected`](Self::is_connected) promises, such as
    /// a race with a common start, waits until this is small enough. With a round trip of 200 ms it
    /// stays near 100 ms, because no exchange can tell which direction took longer.
    pub fn clock_uncertainty(&self) -> Option<Span> {
        self.session.clock_uncertainty(self.now)
    }

    /// Returns this client's id, while it has a session.
    pub fn id(&self) -> Option<ClientId> {
        self.session.id()
    }

    // ── objects ──

    /// Creates an object owned by this client, of the class that the protocol gives to `T`, in a
    /// `state` that is true for the instant `at`. Observations of earlier instants are ignored: of
    /// a tick in the same frame, for example.
    pub fn create<T: Value>(
        &mut self,
        value: &T,
        state: State<V>,
        at: LocalInstant,
    ) -> Result<EntityId, ObjectError> {
        self.make(value, Some(state), at)
    }

    /// Creates an object of a class [without motion](crate::session::Class::without_motion).
    pub fn create_motionless<T: Value>(&mut self, value: &T) -> Result<EntityId, ObjectError> {
        self.make(value, None, self.now)
    }

    fn make<T: Value>(
        &mut self,
        value: &T,
        state: Option<State<V>>,
        at: LocalInstant,
    ) -> Result<EntityId, ObjectError> {
        let (class, bytes) = self.session.protocol().creation_of(value, state.is_some())?;
        self.session.create_at(class, &bytes, state, at, self.now)
    }

    /// Destroys an object that this client owns.
    pub fn destroy(&mut self, object: EntityId) -> Result<(), ObjectError> {
        self.session.destroy(object)
    }

    /// Reports the state of an object that this client owns, true for the instant `at`: the time
    /// of the tick that computed it, or [`now`](Self::now) where every frame computes a new one.
    /// Call it with every new state.
    pub fn observe(
        &mut self,
        object: EntityId,
        state: State<V>,
        at: LocalInstant,
    ) -> Result<(), ObjectError> {
        self.session.observe_at(object, Observation::Moved(state), at, self.now)
    }

    /// Teleports an object that this client owns: receivers show it in the new state at once,
    /// without a way between.
    pub fn jump(&mut self, object: EntityId, state: State<V>, at: LocalInstant) -> Result<(), ObjectError> {
        self.session.observe_at(object, Observation::Jumped(state), at, self.now)
    }

    /// Returns the state in which to draw an object now: where it is, with smoothed corrections.
    /// For an object that this client owns it is what the other peers predict: draw the game's own
    /// state instead.
    pub fn draw(&mut self, object: EntityId) -> Option<State<V>> {
        self.session.draw(object, self.now)
    }

    /// Attaches an object that this client owns to a moving parent, or detaches it. From then on
    /// its states are relative to the parent: positions and orientations in the parent's axes.
    pub fn attach(&mut self, object: EntityId, parent: Option<EntityId>) -> Result<(), ObjectError> {
        self.session.attach(object, parent)
    }

    /// Returns the parent of an object.
    pub fn parent(&self, object: EntityId) -> Option<EntityId> {
        self.session.parent(object)
    }

    /// Sets when updates of an object that this client owns are due, instead of the trigger of its
    /// class: a threshold of its own, for example. It holds until the object has another owner.
    pub fn set_trigger(&mut self, object: EntityId, trigger: Trigger) -> Result<(), ObjectError> {
        self.session.set_trigger(object, trigger)
    }

    /// Sets the forecast that chooses the motions to send for an object that this client owns;
    /// `None`: the class's motion model. See [`Forecast`].
    pub fn set_forecast(
        &mut self,
        object: EntityId,
        forecast: Option<Box<dyn Forecast<V>>>,
    ) -> Result<(), ObjectError> {
        self.session.set_forecast(object, forecast)
    }

    /// Returns where an object is now, without smoothing: for hits and other decisions.
    pub fn place(&mut self, object: EntityId) -> Option<State<V>> {
        self.session.place(object, self.now)
    }

    /// Asks the server for ownership of an object whose class is
    /// [`claimable`](crate::session::Class::claimable), also of another client's. The answer is the
    /// event `OwnershipChanged` or `Refused`; until then the object is not this client's.
    pub fn claim(&mut self, object: EntityId) -> Result<(), ObjectError> {
        self.session.claim(object)
    }

    /// Returns an object to the server. The answer is the event `OwnershipChanged`. Do not observe
    /// the object any more: `is_mine` and `observe` still succeed until the answer, but what is
    /// observed after the release reaches the server too late and is refused with `NotOwner`.
    pub fn release(&mut self, object: EntityId) -> Result<(), ObjectError> {
        self.session.release(object)
    }

    /// Returns all visible objects, in the order of their ids.
    pub fn objects(&self) -> Vec<EntityId> {
        self.session.objects().collect()
    }

    /// Returns the visible objects that were created with a `T`, in the order of their ids.
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

    /// Returns a handle of a visible object, which never means another object, as its id may: see
    /// [`ObjectHandle`].
    pub fn handle(&self, object: EntityId) -> Option<ObjectHandle> {
        self.session.handle(object)
    }

    /// Returns the id of a handle's object; [`ObjectError::Stale`] if it has left or its session is lost.
    pub fn resolve(&self, handle: ObjectHandle) -> Result<EntityId, ObjectError> {
        self.session.resolve(handle)
    }

    /// Returns the owner of an object.
    pub fn owner(&self, object: EntityId) -> Option<Party> {
        self.session.owner(object)
    }

    /// Returns whether this client owns an object.
    pub fn is_mine(&self, object: EntityId) -> bool {
        self.id().is_some_and(|client| self.owner(object) == Some(Party::Client(client)))
    }

    /// Sets a state of an object that this client owns. An unchanged value is not sent.
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

    /// Calls the server.
    pub fn call_server<T: Value>(&mut self, value: &T) -> Result<(), CallError> {
        let (method, delivery, bytes) = self.session.protocol().call_of(value)?;
        self.session.call_server(method, &bytes, delivery)
    }

    /// Calls the owner of an object.
    pub fn call_owner<T: Value>(&mut self, object: EntityId, value: &T) -> Result<(), CallError> {
        let (method, delivery, bytes) = self.session.protocol().call_of(value)?;
        self.session.call_owner(object, method, &bytes, delivery)
    }

    /// Calls every client that sees an object owned by this client.
    pub fn call_viewers<T: Value>(&mut self, object: EntityId, value: &T) -> Result<(), CallError> {
        let (method, delivery, bytes) = self.session.protocol().call_of(value)?;
        self.session.call_viewers(object, method, &bytes, delivery)
    }

    /// Returns the next event.
    pub fn poll_event(&mut self) -> Option<ClientEvent> {
        self.session.poll_event()
    }
}
