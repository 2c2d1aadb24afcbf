//! Commands about owners, and teleports.

use bevy_ecs::prelude::*;
use bevy_ecs::world::EntityWorldMut;
use bevy_transform::components::Transform;

use crate::observe::Track;
use crate::send::Outbox;

/// What a game asks for about the owner of an entity.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Request {
    Claim,
    Release,
    Give(Entity),
}

/// Commands about the owner of an entity, and teleports.
///
/// ```
/// # use bevy_ecs::prelude::*; use bevy_transform::components::Transform;
/// use bevy_fairpath::prelude::*;
///
/// fn board(mut commands: Commands, car: Single<Entity, (With<Remote>, Without<RemoteClient>)>) {
///     commands.entity(*car).claim();
/// }
/// # let _ = IntoSystem::into_system(board);
/// ```
pub trait OwnershipCommandsExt {
    /// Asks for the entity. A client gets it if it is [`Claimable`](crate::Claimable), and learns
    /// it by an [`OwnerChanged`](crate::OwnerChanged) or an
    /// [`ActionRefused`](crate::ActionRefused). The server takes it at once.
    fn claim(&mut self) -> &mut Self;

    /// Returns an entity that this app owns to the server.
    fn release(&mut self) -> &mut Self;

    /// Gives an entity to a client: an entity with [`RemoteClient`](crate::RemoteClient). At the
    /// server, which asks nobody.
    fn give_to(&mut self, client: Entity) -> &mut Self;

    /// Moves an entity that this app owns without a way between: a respawn. Other peers show it
    /// there at once.
    fn teleport(&mut self, to: Transform) -> &mut Self;
}

impl OwnershipCommandsExt for EntityCommands<'_> {
    fn claim(&mut self) -> &mut Self {
        self.queue(|entity: EntityWorldMut| ask(entity, Request::Claim))
    }

    fn release(&mut self) -> &mut Self {
        self.queue(|entity: EntityWorldMut| ask(entity, Request::Release))
    }

    fn give_to(&mut self, client: Entity) -> &mut Self {
        self.queue(move |entity: EntityWorldMut| ask(entity, Request::Give(client)))
    }

    fn teleport(&mut self, to: Transform) -> &mut Self {
        self.queue(move |mut entity: EntityWorldMut| {
            entity.insert(to);
            if let Some(mut track) = entity.get_mut::<Track>() {
                (track.jumps, track.shown) = (true, None);
            }
        })
    }
}

fn ask(entity: EntityWorldMut, request: Request) {
    let id = entity.id();
    if let Some(mut outbox) = entity.into_world_mut().get_resource_mut::<Outbox>() {
        outbox.requests.push((id, request));
    }
}
