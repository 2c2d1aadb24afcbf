//! One end of a session without its number of dimensions: what the systems talk to.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;

use bevy_transform::components::Transform;
use fairpath::session::message::Target;
use fairpath::session::{
    CallError, ClassId, ClientEvent, ClientFrame, ClientId, Delivery, ObjectError, Party, Refusal,
    ServerEvent, ServerFrame, Statistics,
};
use fairpath::{EntityId, LocalInstant, Observation, SharedInstant, Trigger};
use fairpath_net::{ConnectionProblem, ConnectionState, EndedConnection, Fingerprint, NetClient, NetServer};

use crate::space::{Dimensions, Pose};

/// Microseconds on the end's own clock: at a server that is the shared clock.
pub(crate) type Micros = i64;

/// A server or a client.
pub(crate) trait End: Send + Sync {
    fn now(&self) -> Micros;
    /// Locks the session. What it produced is sent afterwards.
    fn with(&self, turn: &mut dyn FnMut(&mut dyn Session));
    /// The address of a server, and what clients pin.
    fn listening(&self) -> Option<(SocketAddr, Fingerprint)>;
    /// The state of a client's connection.
    fn connection_state(&self) -> Option<ConnectionState>;
    fn poll_problem(&self) -> Option<ConnectionProblem>;
    /// The next connection of a server's client that ended.
    fn poll_ended(&self) -> Option<EndedConnection>;
    fn link_statistics(&self) -> Vec<LinkReading>;
}

/// The counters of one link.
pub(crate) struct LinkReading {
    pub(crate) client: Option<ClientId>,
    pub(crate) session: Statistics,
    pub(crate) udp_bytes_sent: u64,
    pub(crate) udp_bytes_received: u64,
}

/// A session at one instant.
pub(crate) trait Session {
    fn poll_event(&mut self) -> Option<Event>;
    /// Whether objects can be created.
    fn is_ready(&self) -> bool;
    /// Which peer this is, once it has a session.
    fn party(&self) -> Option<Party>;
    fn shared_now(&mut self) -> Option<SharedInstant>;
    fn create(
        &mut self,
        class: ClassId,
        creation: &[u8],
        pose: Option<&Pose>,
        at: Micros,
    ) -> Result<EntityId, ObjectError>;
    fn destroy(&mut self, object: EntityId) -> Result<(), ObjectError>;
    fn observe(
        &mut self,
        object: EntityId,
        pose: &Pose,
        has_jumped: bool,
        at: Micros,
    ) -> Result<(), ObjectError>;
    fn set_trigger(&mut self, object: EntityId, trigger: Trigger) -> Result<(), ObjectError>;
    /// Where an object is in the world, and where to draw it.
    fn look(&mut self, object: EntityId, at: Micros) -> Option<Look>;
    /// Puts a pose into a transform.
    fn write(&self, pose: &Pose, transform: &mut Transform);
    /// `child` in the axes of `parent`.
    fn relative(&self, child: &Pose, parent: &Pose) -> Pose;
    fn attach(&mut self, object: EntityId, parent: Option<EntityId>) -> Result<(), ObjectError>;
    fn parent(&self, object: EntityId) -> Option<EntityId>;
    fn creation(&mut self, object: EntityId) -> Option<&[u8]>;
    fn set_state(&mut self, object: EntityId, group: u8, bytes: &[u8]) -> Result<(), ObjectError>;
    fn state(&mut self, object: EntityId, group: u8) -> Option<&[u8]>;
    fn claim(&mut self, object: EntityId) -> Result<(), ObjectError>;
    fn release(&mut self, object: EntityId) -> Result<(), ObjectError>;
    fn give(&mut self, object: EntityId, to: Party) -> Result<(), ObjectError>;
    fn call(
        &mut self,
        to: CallTarget,
        method: u32,
        bytes: &[u8],
        delivery: Delivery,
    ) -> Result<(), CallError>;
    /// Ends a client's session, at the server.
    fn dismiss(&mut self, client: ClientId);
}

/// Where an object is, twice.
#[derive(Clone, Copy)]
pub(crate) struct Look {
    pub(crate) placed: Pose,
    pub(crate) drawn: Pose,
}

/// Which peers a call is for, by the session's ids.
#[derive(Clone, Copy, Debug)]
pub(crate) enum CallTarget {
    Server,
    Client(ClientId),
    All,
    AllBut(ClientId),
    Viewers(EntityId),
    Owner(EntityId),
}

/// What a session reports, at either end.
#[derive(Debug)]
pub(crate) enum Event {
    Joined { client: ClientId, bearer: Vec<u8> },
    Detached(ClientId),
    ClientResumed(ClientId),
    ClientLost(ClientId),
    Connected,
    Disconnected,
    Resumed,
    SessionLost,
    Entered { object: EntityId, class: ClassId, owner: Party },
    Left { object: EntityId },
    StateChanged { object: EntityId, group: u8, bytes: Vec<u8> },
    Called { from: Party, object: Option<EntityId>, method: u32, bytes: Vec<u8> },
    OwnershipChanged { object: EntityId, owner: Party },
    Refused { client: Option<ClientId>, object: EntityId, refusal: Refusal },
}

pub(crate) struct ServerEnd<V: Dimensions>(pub(crate) Arc<NetServer<V>>);
pub(crate) struct ClientEnd<V: Dimensions>(pub(crate) Arc<NetClient<V>>);

impl<V: Dimensions> End for ServerEnd<V> {
    fn now(&self) -> Micros {
        self.0.now().as_micros()
    }

    fn with(&self, turn: &mut dyn FnMut(&mut dyn Session)) {
        self.0.frame(|frame| turn(&mut ServerSession { frame }));
    }

    fn listening(&self) -> Option<(SocketAddr, Fingerprint)> {
        Some((self.0.address(), self.0.fingerprint()))
    }

    fn connection_state(&self) -> Option<ConnectionState> {
        None
    }

    fn poll_problem(&self) -> Option<ConnectionProblem> {
        None
    }

    fn poll_ended(&self) -> Option<EndedConnection> {
        self.0.poll_ended()
    }

    fn link_statistics(&self) -> Vec<LinkReading> {
        let reading = |peer: fairpath_net::PeerStatus| {
            Some(LinkReading {
                client: peer.client,
                session: peer.session?,
                udp_bytes_sent: peer.udp_bytes_sent,
                udp_bytes_received: peer.udp_bytes_received,
            })
        };
        self.0.status().into_iter().filter_map(reading).collect()
    }
}

impl<V: Dimensions> End for ClientEnd<V> {
    fn now(&self) -> Micros {
        self.0.now().as_micros()
    }

    fn with(&self, turn: &mut dyn FnMut(&mut dyn Session)) {
        self.0.frame(|frame| turn(&mut ClientSession { frame }));
    }

    fn listening(&self) -> Option<(SocketAddr, Fingerprint)> {
        None
    }

    fn connection_state(&self) -> Option<ConnectionState> {
        Some(self.0.connection_state())
    }

    fn poll_problem(&self) -> Option<ConnectionProblem> {
        self.0.poll_problem()
    }

    fn poll_ended(&self) -> Option<EndedConnection> {
        None
    }

    fn link_statistics(&self) -> Vec<LinkReading> {
        let status = self.0.status();
        vec![LinkReading {
            client: None,
            session: status.session,
            udp_bytes_sent: status.udp_bytes_sent,
            udp_bytes_received: status.udp_bytes_received,
        }]
    }
}

struct ServerSession<'a, 'b, V: Dimensions> {
    frame: &'a mut ServerFrame<'b, V>,
}

struct ClientSession<'a, 'b, V: Dimensions> {
    frame: &'a mut ClientFrame<'b, V>,
}

fn observation<V: Dimensions>(pose: &Pose, has_jumped: bool) -> Observation<V> {
    let state = V::to_state(pose);
    if has_jumped { Observation::Jumped(state) } else { Observation::Moved(state) }
}

fn relative<V: Dimensions>(child: &Pose, parent: &Pose) -> Pose {
    V::to_pose(&V::to_state(child).relative_to(&V::to_state(parent)))
}

impl<V: Dimensions> Session for ServerSession<'_, '_, V> {
    fn poll_event(&mut self) -> Option<Event> {
        loop {
            return Some(match self.frame.poll_event()? {
                ServerEvent::Joined { client, bearer } => Event::Joined { client, bearer },
                ServerEvent::Detached(client) => Event::Detached(client),
                ServerEvent::Resumed(client) => Event::ClientResumed(client),
                ServerEvent::SessionLost { client, .. } => Event::ClientLost(client),
                ServerEvent::Created { object, class, by, .. } => {
                    Event::Entered { object, class, owner: Party::Client(by) }
                }
                ServerEvent::Destroyed { object, .. } => Event::Left { object },
                ServerEvent::StateChanged { object, group, value } => {
                    Event::StateChanged { object, group, bytes: value.bytes().to_vec() }
                }
                ServerEvent::Called { from, target, method, call } => Event::Called {
                    from: Party::Client(from),
                    object: target.object(),
                    method,
                    bytes: call.bytes().to_vec(),
                },
                ServerEvent::OwnershipChanged { object, owner } => Event::OwnershipChanged { object, owner },
                ServerEvent::Refused { client, object, refusal } => {
                    Event::Refused { client: Some(client), object, refusal }
                }
                _ => continue,
            });
        }
    }

    fn is_ready(&self) -> bool {
        true
    }

    fn party(&self) -> Option<Party> {
        Some(Party::Server)
    }

    fn shared_now(&mut self) -> Option<SharedInstant> {
        Some(self.frame.now())
    }

    fn create(
        &mut self,
        class: ClassId,
        creation: &[u8],
        pose: Option<&Pose>,
        at: Micros,
    ) -> Result<EntityId, ObjectError> {
        let now = self.frame.now();
        let object = self.frame.session().create(class, creation, now)?;
        if let Some(pose) = pose
            && let Err(error) = self.observe(object, pose, false, at)
        {
            self.frame.destroy(object)?;
            return Err(error);
        }
        Ok(object)
    }

    fn destroy(&mut self, object: EntityId) -> Result<(), ObjectError> {
        self.frame.destroy(object)
    }

    fn observe(
        &mut self,
        object: EntityId,
        pose: &Pose,
        has_jumped: bool,
        at: Micros,
    ) -> Result<(), ObjectError> {
        let now = self.frame.now();
        let at = SharedInstant::from_micros(at);
        self.frame.session().observe_at(object, observation(pose, has_jumped), at, now)
    }

    fn set_trigger(&mut self, object: EntityId, trigger: Trigger) -> Result<(), ObjectError> {
        self.frame.set_trigger(object, trigger)
    }

    fn look(&mut self, object: EntityId, at: Micros) -> Option<Look> {
        let placed = self.frame.session().place(object, SharedInstant::from_micros(at))?;
        let placed = V::to_pose(&placed);
        Some(Look { placed, drawn: placed })
    }

    fn write(&self, pose: &Pose, transform: &mut Transform) {
        V::write(pose, transform);
    }

    fn relative(&self, child: &Pose, parent: &Pose) -> Pose {
        relative::<V>(child, parent)
    }

    fn attach(&mut self, object: EntityId, parent: Option<EntityId>) -> Result<(), ObjectError> {
        self.frame.attach(object, parent)
    }

    fn parent(&self, object: EntityId) -> Option<EntityId> {
        self.frame.parent(object)
    }

    fn creation(&mut self, object: EntityId) -> Option<&[u8]> {
        self.frame.session().creation(object)
    }

    fn set_state(&mut self, object: EntityId, group: u8, bytes: &[u8]) -> Result<(), ObjectError> {
        self.frame.session().set_state(object, group, bytes)
    }

    fn state(&mut self, object: EntityId, group: u8) -> Option<&[u8]> {
        self.frame.session().state(object, group)
    }

    fn claim(&mut self, object: EntityId) -> Result<(), ObjectError> {
        self.give(object, Party::Server)
    }

    fn release(&mut self, object: EntityId) -> Result<(), ObjectError> {
        self.give(object, Party::Server)
    }

    fn give(&mut self, object: EntityId, to: Party) -> Result<(), ObjectError> {
        self.frame.give(object, to)
    }

    fn call(
        &mut self,
        to: CallTarget,
        method: u32,
        bytes: &[u8],
        delivery: Delivery,
    ) -> Result<(), CallError> {
        let session = self.frame.session();
        match to {
            CallTarget::Server => Err(CallError::NoSession),
            CallTarget::Client(client) => session.call_client(client, method, bytes, delivery),
            CallTarget::All => session.call_clients(None, method, bytes, delivery).map(|_| ()),
            CallTarget::AllBut(client) => {
                session.call_clients(Some(client), method, bytes, delivery).map(|_| ())
            }
            CallTarget::Viewers(object) => session.call_viewers(object, method, bytes, delivery).map(|_| ()),
            CallTarget::Owner(object) => session.call_owner(object, method, bytes, delivery),
        }
    }

    fn dismiss(&mut self, client: ClientId) {
        self.frame.dismiss(client);
    }
}

impl<V: Dimensions> Session for ClientSession<'_, '_, V> {
    fn poll_event(&mut self) -> Option<Event> {
        loop {
            return Some(match self.frame.poll_event()? {
                ClientEvent::Connected(_) => Event::Connected,
                ClientEvent::Disconnected(_) => Event::Disconnected,
                ClientEvent::Resumed => Event::Resumed,
                ClientEvent::SessionLost { .. } => Event::SessionLost,
                ClientEvent::ObjectEntered { object, class, owner, .. } => {
                    Event::Entered { object, class, owner }
                }
                ClientEvent::ObjectLeft { object, .. } => Event::Left { object },
                ClientEvent::StateChanged { object, group, value } => {
                    Event::StateChanged { object, group, bytes: value.bytes().to_vec() }
                }
                ClientEvent::Called { from, target, method, call } => {
                    let object = if target == Target::Connection { None } else { target.object() };
                    Event::Called { from, object, method, bytes: call.bytes().to_vec() }
                }
                ClientEvent::OwnershipChanged { object, owner } => Event::OwnershipChanged { object, owner },
                ClientEvent::Refused { object, refusal } => Event::Refused { client: None, object, refusal },
                _ => continue,
            });
        }
    }

    fn is_ready(&self) -> bool {
        self.frame.is_connected()
    }

    fn party(&self) -> Option<Party> {
        self.frame.id().map(Party::Client)
    }

    fn shared_now(&mut self) -> Option<SharedInstant> {
        self.frame.shared_now()
    }

    fn create(
        &mut self,
        class: ClassId,
        creation: &[u8],
        pose: Option<&Pose>,
        at: Micros,
    ) -> Result<EntityId, ObjectError> {
        let (now, at) = (self.frame.now(), LocalInstant::from_micros(at));
        self.frame.session().create_at(class, creation, pose.map(V::to_state), at, now)
    }

    fn destroy(&mut self, object: EntityId) -> Result<(), ObjectError> {
        self.frame.destroy(object)
    }

    fn observe(
        &mut self,
        object: EntityId,
        pose: &Pose,
        has_jumped: bool,
        at: Micros,
    ) -> Result<(), ObjectError> {
        let (now, at) = (self.frame.now(), LocalInstant::from_micros(at));
        self.frame.session().observe_at(object, observation(pose, has_jumped), at, now)
    }

    fn set_trigger(&mut self, object: EntityId, trigger: Trigger) -> Result<(), ObjectError> {
        self.frame.set_trigger(object, trigger)
    }

    fn look(&mut self, object: EntityId, at: Micros) -> Option<Look> {
        let (session, at) = (self.frame.session(), LocalInstant::from_micros(at));
        let (placed, drawn) = (session.place(object, at)?, session.draw(object, at)?);
        Some(Look { placed: V::to_pose(&placed), drawn: V::to_pose(&drawn) })
    }

    fn write(&self, pose: &Pose, transform: &mut Transform) {
        V::write(pose, transform);
    }

    fn relative(&self, child: &Pose, parent: &Pose) -> Pose {
        relative::<V>(child, parent)
    }

    fn attach(&mut self, object: EntityId, parent: Option<EntityId>) -> Result<(), ObjectError> {
        self.frame.attach(object, parent)
    }

    fn parent(&self, object: EntityId) -> Option<EntityId> {
        self.frame.parent(object)
    }

    fn creation(&mut self, object: EntityId) -> Option<&[u8]> {
        self.frame.session().creation(object)
    }

    fn set_state(&mut self, object: EntityId, group: u8, bytes: &[u8]) -> Result<(), ObjectError> {
        self.frame.session().set_state(object, group, bytes)
    }

    fn state(&mut self, object: EntityId, group: u8) -> Option<&[u8]> {
        self.frame.session().state(object, group)
    }

    fn claim(&mut self, object: EntityId) -> Result<(), ObjectError> {
        self.frame.claim(object)
    }

    fn release(&mut self, object: EntityId) -> Result<(), ObjectError> {
        self.frame.release(object)
    }

    fn give(&mut self, object: EntityId, to: Party) -> Result<(), ObjectError> {
        if to == Party::Server { self.release(object) } else { Err(ObjectError::NotOwner(object)) }
    }

    fn call(
        &mut self,
        to: CallTarget,
        method: u32,
        bytes: &[u8],
        delivery: Delivery,
    ) -> Result<(), CallError> {
        let session = self.frame.session();
        match to {
            CallTarget::Server => session.call_server(method, bytes, delivery),
            CallTarget::Viewers(object) => session.call_viewers(object, method, bytes, delivery),
            CallTarget::Owner(object) => session.call_owner(object, method, bytes, delivery),
            CallTarget::Client(_) | CallTarget::All | CallTarget::AllBut(_) => Err(CallError::NoSession),
        }
    }

    fn dismiss(&mut self, _: ClientId) {}
}

/// The events of a frame.
pub(crate) fn drain(session: &mut dyn Session) -> VecDeque<Event> {
    std::iter::from_fn(|| session.poll_event()).collect()
}
