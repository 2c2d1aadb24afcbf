//! Connections: their states, and how to start and end them.

use bevy_ecs::prelude::*;
use fairpath::session::{ClientId, Party, Refusal};
use fairpath_net::{ConnectionProblem, ConnectionState, Fingerprint};

use crate::plugin::{Fairpath, Start};

/// The state of a client's connection: at a client on the entity with [`LocalClient`], at a server
/// on every entity with [`RemoteClient`].
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionStatus {
    /// There is no session yet. The client tries on by itself.
    Connecting {
        /// Attempts that failed so far.
        failed: u32,
        /// Why the last one failed. Its `Display` text is meant for players.
        problem: Option<ConnectionProblem>,
    },
    /// The session runs.
    Connected,
    /// The connection is lost, the session is not: entities go on by their last motion. The client
    /// reconnects by itself for up to a minute.
    Interrupted {
        /// Why.
        problem: Option<ConnectionProblem>,
    },
    /// The client does not try again, for this reason; with `None` because it left.
    Ended {
        /// Why.
        problem: Option<ConnectionProblem>,
    },
}

impl ConnectionStatus {
    /// Returns whether the session runs on a connection.
    pub fn is_connected(self) -> bool {
        self == Self::Connected
    }

    /// Returns why there is no connection, if that is known.
    pub fn problem(self) -> Option<ConnectionProblem> {
        match self {
            Self::Connected => None,
            Self::Connecting { problem, .. } | Self::Interrupted { problem } | Self::Ended { problem } => {
                problem
            }
        }
    }

    /// Returns the status of a client that has had a session or not.
    pub(crate) fn of(state: ConnectionState, is_ready: bool, has_session: bool) -> Self {
        match state {
            ConnectionState::Over(problem) => Self::Ended { problem },
            ConnectionState::Connected if is_ready => Self::Connected,
            ConnectionState::Connected if has_session => Self::Interrupted { problem: None },
            ConnectionState::Connected => Self::Connecting { failed: 0, problem: None },
            ConnectionState::Connecting { last, .. } if has_session => Self::Interrupted { problem: last },
            ConnectionState::Connecting { failed, last } => Self::Connecting { failed, problem: last },
        }
    }
}

/// The client of this app, as an entity with a [`ConnectionStatus`]. It exists from the first
/// attempt to connect until [`Leave`].
#[derive(Component, Clone, Copy, Debug, Default)]
#[component(immutable)]
pub struct LocalClient;

/// A client of this server, as an entity with a [`ConnectionStatus`]. It appears when the client
/// joins and despawns when its session is lost, with a [`ClientLeft`]. Despawn it to dismiss the client.
#[derive(Component, Clone, Debug)]
#[component(immutable)]
pub struct RemoteClient {
    /// The client's id.
    pub id: ClientId,
    /// What the server's `Admission` learned about the player. Empty by default.
    pub bearer: Vec<u8>,
}

/// A client's session at this server is over, and its entity despawns. Entities of the client are
/// despawned, or the server's if they have [`OutlivesOwner`](crate::OutlivesOwner).
#[derive(Message, Clone, Copy, Debug)]
pub struct ClientLeft {
    /// The entity that the client had.
    pub entity: Entity,
    /// Its id.
    pub id: ClientId,
    /// Why its last connection ended, if that is known.
    pub problem: Option<ConnectionProblem>,
}

/// An entity has a new owner.
#[derive(Message, Clone, Copy, Debug)]
pub struct OwnerChanged {
    /// The entity.
    pub entity: Entity,
    /// The new owner.
    pub owner: Party,
    /// Whether that is this app: it continues from the entity's `Transform`.
    pub is_mine: bool,
}

/// The server refused an action: a claim that came too late, for example. At both ends.
#[derive(Message, Clone, Copy, Debug)]
pub struct ActionRefused {
    /// The entity, if it exists here.
    pub entity: Option<Entity>,
    /// At the server the entity of the client.
    pub client: Option<Entity>,
    /// The reason. [`Refusal::is_innocent`] names those that honest clients cause.
    pub refusal: Refusal,
}

/// How the server of this app stands.
#[derive(Resource, Clone, Debug, Default, PartialEq, Eq)]
pub enum ServerStatus {
    /// It has not started.
    #[default]
    Stopped,
    /// Clients can connect.
    Listening {
        /// The address that clients connect to.
        address: std::net::SocketAddr,
        /// The fingerprint of the certificate, which clients pin.
        pin: Fingerprint,
    },
    /// It could not start.
    Failed(
        /// Why, for an operator.
        String,
    ),
}

/// A command that starts the server of this app: `commands.queue(Listen::on("0.0.0.0:7777"))`. The
/// result is in [`ServerStatus`].
#[derive(Clone, Debug)]
pub struct Listen(String);

impl Listen {
    /// Listens on this address. With port 0 the system chooses one.
    pub fn on(address: impl Into<String>) -> Self {
        Self(address.into())
    }
}

impl Command for Listen {
    type Out = ();

    fn apply(self, world: &mut World) {
        Fairpath::start(world, Start::Listen(self.0));
    }
}

/// A command that connects the client of this app: `commands.queue(Join::server(address, pin))`.
/// It returns at once; see [`ConnectionStatus`].
#[derive(Clone, Debug)]
pub struct Join {
    address: String,
    pin: Fingerprint,
}

impl Join {
    /// Joins the server at this address, whose certificate has this fingerprint.
    pub fn server(address: impl ToString, pin: Fingerprint) -> Self {
        Self { address: address.to_string(), pin }
    }
}

impl Join {
    pub(crate) fn into_start(self) -> Start {
        Start::Join(self.address, self.pin)
    }
}

impl Command for Join {
    type Out = ();

    fn apply(self, world: &mut World) {
        Fairpath::start(world, self.into_start());
    }
}

/// A command that ends the session of this app: a client leaves, a server stops. Remote entities
/// despawn; own ones stay, and are replicated again in the next session.
#[derive(Clone, Copy, Debug)]
pub struct Leave;

impl Command for Leave {
    type Out = ();

    fn apply(self, world: &mut World) {
        Fairpath::stop(world);
    }
}
