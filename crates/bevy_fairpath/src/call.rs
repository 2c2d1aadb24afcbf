//! Calls between peers, as messages of Bevy.

use std::any::TypeId;

use bevy_ecs::prelude::*;
use fairpath::session::{Party, Value};

use crate::components::ReplicatedId;
use crate::connection::RemoteClient;
use crate::end::CallTarget;
use crate::register::Methods;
use crate::send::Outbox;
use crate::warnings::{FairpathWarnings, Misuse};

/// A call to other peers: write it with a `MessageWriter<Call<T>>`. It leaves at the end of the
/// frame, with the delivery of [`add_call`](crate::ReplicateAppExt::add_call).
///
/// ```
/// # use bevy_ecs::prelude::*;
/// use bevy_fairpath::prelude::*;
/// # #[derive(serde::Serialize, serde::Deserialize)]
/// # struct Chat(String);
///
/// fn greet(mut calls: MessageWriter<Call<Chat>>) {
///     calls.write(Call::to_server(Chat("hello".into())));
/// }
/// ```
#[derive(Message, Clone, Debug)]
pub struct Call<T: Send + Sync + 'static> {
    /// The peers to call.
    pub to: CallTo,
    /// The argument.
    pub value: T,
}

/// Which peers a [`Call`] is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallTo {
    /// The server. From a client.
    Server,
    /// The client of this entity, which has [`RemoteClient`]. From the server.
    Client(Entity),
    /// Every client. From the server.
    All,
    /// Every client but the one of this entity. From the server.
    AllBut(Entity),
    /// Every client that sees this entity, except its owner. From the server, or from the owner.
    Viewers(Entity),
    /// The owner of this entity.
    Owner(Entity),
}

impl<T: Send + Sync> Call<T> {
    /// Returns a call to the server.
    pub fn to_server(value: T) -> Self {
        Self { to: CallTo::Server, value }
    }

    /// Returns a call to the client of this entity, which has [`RemoteClient`].
    pub fn to_client(client: Entity, value: T) -> Self {
        Self { to: CallTo::Client(client), value }
    }

    /// Returns a call to every client.
    pub fn to_all(value: T) -> Self {
        Self { to: CallTo::All, value }
    }

    /// Returns a call to every client but one.
    pub fn to_all_but(client: Entity, value: T) -> Self {
        Self { to: CallTo::AllBut(client), value }
    }

    /// Returns a call to every client that sees this entity, except its owner.
    pub fn to_viewers(entity: Entity, value: T) -> Self {
        Self { to: CallTo::Viewers(entity), value }
    }

    /// Returns a call to the owner of this entity.
    pub fn to_owner(entity: Entity, value: T) -> Self {
        Self { to: CallTo::Owner(entity), value }
    }
}

/// A call that arrived: read it with a `MessageReader<Called<T>>`.
#[derive(Message, Clone, Debug)]
pub struct Called<T: Send + Sync + 'static> {
    /// The caller.
    pub from: Party,
    /// At the server the entity of the calling client.
    pub client: Option<Entity>,
    /// The entity that the call is about: of its owner or its viewers. `None` also if it has not
    /// arrived here yet.
    pub object: Option<Entity>,
    /// The argument.
    pub value: T,
}

/// Encodes the calls of a type that the game has written.
pub(crate) fn collect_calls<T: Value + Send + Sync>(
    mut calls: MessageReader<Call<T>>,
    methods: Option<Res<Methods>>,
    clients: Query<&RemoteClient>,
    objects: Query<&ReplicatedId>,
    mut outbox: ResMut<Outbox>,
    mut warnings: ResMut<FairpathWarnings>,
) {
    for Call { to, value } in calls.read() {
        let client = |entity: &Entity| clients.get(*entity).ok().map(|client| client.id);
        let object = |entity: &Entity| objects.get(*entity).ok().map(|object| object.0);
        let target = match to {
            CallTo::Server => Some(CallTarget::Server),
            CallTo::All => Some(CallTarget::All),
            CallTo::Client(entity) => client(entity).map(CallTarget::Client),
            CallTo::AllBut(entity) => client(entity).map(CallTarget::AllBut),
            CallTo::Viewers(entity) => object(entity).map(CallTarget::Viewers),
            CallTo::Owner(entity) => object(entity).map(CallTarget::Owner),
        };
        let method = methods.as_ref().and_then(|methods| methods.by_type.get(&TypeId::of::<T>()));
        let name = std::any::type_name::<T>();
        let (Some(target), Some((method, delivery))) = (target, method) else {
            warnings.once_each(
                Misuse::Call,
                format!(
                    "a call {name} to {to:?} was not sent: the entity is neither a client nor replicated, or the \
                     session has not started"
                ),
            );
            continue;
        };
        match postcard::to_allocvec(value) {
            Ok(bytes) => outbox.calls.push((target, *method, *delivery, bytes, name)),
            Err(error) => {
                warnings.once_each(Misuse::Call, format!("a call {name} was not sent: {error}"));
            }
        }
    }
}
