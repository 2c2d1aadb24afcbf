//! Receiving: what the session reports becomes entities, components and messages.

use bevy_ecs::prelude::*;
use bevy_transform::components::Transform;
use fairpath::EntityId;
use fairpath::session::{ClassId, ClientId, Party, Refusal};

use crate::components::{CLASSES_FROM, Creation, Motionless, Owned, Owner, Placed, Remote, ReplicatedId};
use crate::connection::{ActionRefused, ClientLeft, ConnectionStatus, RemoteClient};
use crate::end::{Event, Look, Session, drain};
use crate::observe::Track;
use crate::plugin::Fairpath;
use crate::register::{Caller, Methods, Registry, SetBy, decode};
use crate::send::{change_owner, warn_unreadable};
use crate::warnings::{Misuse, warn};

/// What happened, with what has to be read while the session is locked.
struct Report {
    event: Event,
    arrival: Option<Arrival>,
}

/// A new object.
struct Arrival {
    creation: Option<Creation>,
    look: Option<Look>,
    states: Vec<(u8, Vec<u8>)>,
}

/// Takes what has arrived.
pub(crate) fn receive(world: &mut World) {
    world.resource_scope(|world, mut fairpath: Mut<Fairpath>| {
        let Some(end) = fairpath.end.take() else { return };
        let groups = world.resource::<Registry>().components.len() as u8;
        let mut reports = Vec::new();
        let at = fairpath.frame_at.unwrap_or_else(|| end.now());
        end.with(&mut |session| {
            reports = drain(session).into_iter().map(|event| read(session, event, groups, at)).collect();
            fairpath.party = session.party();
            fairpath.is_ready = session.is_ready();
            fairpath.shared_at = session.shared_now();
        });
        for Report { event, arrival } in reports {
            apply(world, &mut fairpath, event, arrival);
        }
        while let Some(ended) = end.poll_ended() {
            if let Some(client) = fairpath.client(ended.client)
                && let Some(mut status) = world.get_mut::<ConnectionStatus>(client)
                && !status.is_connected()
            {
                *status = ConnectionStatus::Interrupted { problem: Some(ended.problem) };
            }
        }
        while let Some(problem) = end.poll_problem() {
            let goes_on = if problem.is_final() { "" } else { "; the client tries again" };
            warn(world, Misuse::Connection, format!("no connection to the server: {problem}{goes_on}"));
        }
        if let (Some(entity), Some(state)) = (fairpath.local_client, end.connection_state()) {
            let now = ConnectionStatus::of(state, fairpath.is_ready, fairpath.has_session);
            if let Some(mut status) = world.get_mut::<ConnectionStatus>(entity) {
                status.set_if_neq(now);
            }
        }
        fairpath.end = Some(end);
    });
}

fn read(session: &mut dyn Session, event: Event, groups: u8, at: i64) -> Report {
    let Event::Entered { object, .. } = &event else { return Report { event, arrival: None } };
    // Gone again: the next event says so.
    let Some(creation) = session.creation(*object).map(<[u8]>::to_vec) else {
        return Report { event, arrival: None };
    };
    let creation = decode(&creation);
    let look = session.look(*object, at);
    let states = (0..groups).filter_map(|group| Some((group, session.state(*object, group)?.to_vec())));
    let arrival = Some(Arrival { creation, look, states: states.collect() });
    Report { event, arrival }
}

fn apply(world: &mut World, fairpath: &mut Fairpath, event: Event, arrival: Option<Arrival>) {
    match event {
        Event::Joined { client, bearer } => {
            let entity = world.spawn((RemoteClient { id: client, bearer }, ConnectionStatus::Connected)).id();
            fairpath.clients.insert(client, entity);
        }
        Event::Detached(client) => {
            set_status(world, fairpath, client, ConnectionStatus::Interrupted { problem: None });
        }
        Event::ClientResumed(client) => set_status(world, fairpath, client, ConnectionStatus::Connected),
        Event::ClientLost(client) => client_left(world, fairpath, client),
        Event::Connected => fairpath.has_session = true,
        Event::Disconnected | Event::Resumed => {}
        Event::SessionLost => forget_objects(world, fairpath),
        Event::Entered { object, class, owner } => {
            if let Some(arrival) = arrival {
                enter(world, fairpath, object, class, owner, arrival);
            }
        }
        Event::Left { object } => {
            if let Some(entity) = fairpath.objects.remove(&object) {
                leave(world, entity);
            }
        }
        Event::StateChanged { object, group, bytes } => {
            if let Some(entity) = fairpath.entity(object) {
                write(world, entity, group, &bytes);
            }
        }
        Event::Called { from, object, method, bytes } => {
            let entry =
                world.get_resource::<Methods>().and_then(|methods| methods.by_number.get(&method).cloned());
            let client = if let Party::Client(client) = from { fairpath.client(client) } else { None };
            let object = object.and_then(|object| fairpath.entity(object));
            if let Some(entry) = entry
                && !(entry.deliver)(world, &bytes, Caller { from, client, object })
            {
                warn_unreadable(world, "a call");
            }
        }
        Event::OwnershipChanged { object, owner } => {
            if let Some(entity) = fairpath.entity(object) {
                change_owner(world, fairpath, entity, owner);
            }
        }
        Event::Refused { client, object, refusal } => refused(world, fairpath, client, object, refusal),
    }
}

fn set_status(world: &mut World, fairpath: &Fairpath, client: ClientId, status: ConnectionStatus) {
    if let Some(mut now) =
        fairpath.client(client).and_then(|entity| world.get_mut::<ConnectionStatus>(entity))
    {
        now.set_if_neq(status);
    }
}

fn client_left(world: &mut World, fairpath: &mut Fairpath, id: ClientId) {
    let Some(entity) = fairpath.clients.remove(&id) else { return };
    let problem = world.get::<ConnectionStatus>(entity).and_then(|status| status.problem());
    world.write_message(ClientLeft { entity, id, problem });
    if let Ok(here) = world.get_entity_mut(entity) {
        here.despawn();
    }
}

fn refused(
    world: &mut World,
    fairpath: &Fairpath,
    client: Option<ClientId>,
    object: EntityId,
    refusal: Refusal,
) {
    let entity = fairpath.entity(object);
    let client = client.and_then(|client| fairpath.client(client));
    world.write_message(ActionRefused { entity, client, refusal });
    if !fairpath.is_server && !refusal.is_innocent() {
        let text = format!("the server refused what this client did with object {}: {refusal}", object.0);
        warn(world, Misuse::Refused, text);
    }
    // An entity that the server did not accept exists here only. It would be asked for for ever.
    if !fairpath.is_server
        && refusal == Refusal::NotCreated
        && let Some(mut here) = entity.and_then(|entity| world.get_entity_mut(entity).ok())
    {
        here.remove::<crate::DeadReckoned>().remove::<Motionless>();
    }
}

fn enter(
    world: &mut World,
    fairpath: &mut Fairpath,
    object: EntityId,
    class: ClassId,
    party: Party,
    arrival: Arrival,
) {
    if class.0 < CLASSES_FROM {
        return; // An object of the game's own protocol.
    }
    let Some(creation) = arrival.creation else { return warn_unreadable(world, "an object") };
    let is_mine = Some(party) == fairpath.party;
    let client = if let Party::Client(client) = party { fairpath.client(client) } else { None };
    let mut here = world.spawn((ReplicatedId(object), Owner { party, client }));
    let entity = here.id();
    match creation.settings(class) {
        Some(settings) => {
            let mut transform = Transform::default();
            let pose = arrival.look.map(|look| {
                transform.translation = look.drawn.translation();
                transform.rotation = look.drawn.orientation();
                look.placed
            });
            here.insert((settings, transform));
            if !is_mine {
                here.insert(Placed::new(pose.unwrap_or(crate::space::Pose::REST)));
            }
        }
        None => _ = here.insert(Motionless),
    }
    if is_mine {
        here.insert(Owned);
    } else {
        here.insert(Remote);
    }
    // Before a second object could have this id, the first has left.
    if let Some(before) = fairpath.objects.insert(object, entity) {
        leave(world, before);
    }
    let set_by: Vec<SetBy> =
        world.resource::<Registry>().components.iter().map(|entry| entry.set_by).collect();
    let by_owner = creation
        .components
        .iter()
        .filter(|(group, _)| set_by.get(usize::from(*group)) == Some(&SetBy::Owner));
    for (group, bytes) in by_owner.chain(&arrival.states) {
        write(world, entity, *group, bytes);
    }
}

/// Writes a component that a peer sent.
fn write(world: &mut World, entity: Entity, group: u8, bytes: &[u8]) {
    let entry = world.resource::<Registry>().components.get(usize::from(group)).map(|entry| entry.write);
    let (Some(write), Ok(mut here)) = (entry, world.get_entity_mut(entity)) else { return };
    if !write(&mut here, bytes) {
        warn_unreadable(world, "a component");
    }
}

/// Despawns an entity of another peer. Entities that ride on it stay where they are.
fn leave(world: &mut World, entity: Entity) {
    let riders: Vec<Entity> = world.get::<Children>(entity).map(|riders| riders.to_vec()).unwrap_or_default();
    let carrier = world.get::<Transform>(entity).copied().unwrap_or_default();
    for rider in riders {
        if let Ok(mut here) = world.get_entity_mut(rider)
            && here.contains::<ReplicatedId>()
        {
            if let Some(mut transform) = here.get_mut::<Transform>() {
                *transform = carrier.mul_transform(*transform);
            }
            here.remove::<ChildOf>();
        }
    }
    if let Ok(here) = world.get_entity_mut(entity) {
        here.despawn();
    }
}

/// Despawns what other peers own, and makes own entities new: the next session has other ids.
fn forget_objects(world: &mut World, fairpath: &mut Fairpath) {
    (fairpath.has_session, fairpath.is_ready, fairpath.party) = (false, false, None);
    for entity in std::mem::take(&mut fairpath.objects).into_values() {
        let Ok(mut here) = world.get_entity_mut(entity) else { continue };
        if here.contains::<Owned>() {
            here.remove::<(ReplicatedId, Owned, Owner)>();
            if let Some(mut track) = here.get_mut::<Track>() {
                track.pending.clear();
                (track.parent, track.settings) = (None, None);
            }
        } else {
            leave(world, entity);
        }
    }
}

/// Forgets the session of an end that stops.
pub(crate) fn forget_session(world: &mut World) {
    if world.contains_resource::<Fairpath>() {
        world.resource_scope(|world, mut fairpath: Mut<Fairpath>| forget_objects(world, &mut fairpath));
    }
}
