//! Goal: entities, components, calls, owners and parents are the same at every end, whatever
//! happens to the connection.
//! Method: small apps over real sockets, with a good link; every wait has a deadline.

use bevy_app::{App, FixedUpdate, Update};
use bevy_ecs::prelude::*;
use bevy_fairpath::fairpath::session::Refusal;
use bevy_fairpath::prelude::*;
use bevy_fairpath::{FairpathServer, LinkConditioner};
use bevy_math::{Quat, Vec3};
use bevy_time::{Time, TimePlugin};
use bevy_transform::components::Transform;
use fairpath_net::middleman::{ClientSelector, Directions, LinkConfig};
use serde::{Deserialize, Serialize};

use crate::common::{Errors, Stage, Truth, Witness, entities, get, server_plugin, status};

#[derive(Component, Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Kind(String);
#[derive(Component, Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Fuel(u32);
#[derive(Component, Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Health(u8);
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Say(u32);

fn shared(app: &mut App) {
    app.add_plugins(TimePlugin);
    app.replicate::<Kind>().replicate::<Fuel>().replicate_from_server::<Health>();
    app.add_call::<Say>(Delivery::ReliableOrdered);
    app.init_resource::<Log>().add_systems(Update, log);
}

/// What was heard, refused and changed.
#[derive(Resource, Default)]
struct Log {
    said: Vec<(u32, Party, Option<Entity>)>,
    refused: Vec<Refusal>,
    owners: Vec<(Entity, bool)>,
    left: usize,
}

fn log(
    mut log: ResMut<Log>,
    mut calls: MessageReader<Called<Say>>,
    mut refused: MessageReader<ActionRefused>,
    mut owners: MessageReader<OwnerChanged>,
    mut left: MessageReader<ClientLeft>,
) {
    log.said.extend(calls.read().map(|call| (call.value.0, call.from, call.object)));
    log.refused.extend(refused.read().map(|refused| refused.refusal));
    log.owners.extend(owners.read().map(|changed| (changed.entity, changed.is_mine)));
    log.left += left.read().count();
}

fn game() -> Protocol<Vec2> {
    Protocol::new("bevy-session", 1)
}

fn stage(clients: usize) -> Stage {
    let link = LinkConfig::default().delay(bevy_fairpath::fairpath::Span::from_millis(5));
    let mut stage = Stage::new(link, |app| _ = app.add_plugins((shared, server_plugin(game()))));
    for _ in 0..clients {
        stage.join(|app| _ = app.add_plugins((shared, FairpathClientPlugin::new(game()))));
    }
    stage.until_connected();
    stage
}

fn kind(name: &str) -> Kind {
    Kind(name.into())
}

/// The entity of this kind, in an app.
fn find(app: &mut App, name: &str) -> Option<Entity> {
    let world = app.world_mut();
    let mut kinds = world.query::<(Entity, &Kind)>();
    kinds.iter(world).find(|(_, kind)| kind.0 == name).map(|(entity, _)| entity)
}

fn log_of(app: &App) -> &Log {
    app.world().resource::<Log>()
}

#[test]
fn what_the_server_spawns_changes_and_despawns_is_seen() {
    let mut stage = stage(1);
    let buoy = stage.server.world_mut().spawn((
        kind("buoy"),
        Fuel(3),
        Health(90),
        Transform::from_xyz(5.0, 6.0, 7.0),
        DeadReckoned::default(),
    ));
    let buoy = buoy.id();
    let team = stage.server.world_mut().spawn((kind("team"), Motionless)).id();
    stage.until("both appear", |stage| {
        find(stage.client(0), "buoy").is_some() && find(stage.client(0), "team").is_some()
    });
    let client = stage.client(0);
    let (there, board) = (find(client, "buoy").unwrap(), find(client, "team").unwrap());
    assert_eq!((get(client, there), get(client, there)), (Some(Fuel(3)), Some(Health(90))));
    assert_eq!(get::<Transform>(client, there).unwrap().translation, Vec3::new(5.0, 6.0, 0.0));
    let is_remote = client.world().entity(there).contains::<Remote>();
    assert!(is_remote && !client.world().entity(there).contains::<Owned>());
    assert!(get::<Transform>(client, board).is_none(), "no position");
    let id = get::<ReplicatedId>(client, there).unwrap();
    assert_eq!(get::<ReplicatedId>(&stage.server, buoy), Some(id), "the same at every peer");

    stage.server.world_mut().entity_mut(buoy).insert(Fuel(2)).remove::<Health>();
    stage.server.world_mut().entity_mut(team).insert(Health(1));
    stage.until("components change, go and come", |stage| {
        let client = stage.client(0);
        get(client, there) == Some(Fuel(2))
            && get::<Health>(client, there).is_none()
            && get(client, board) == Some(Health(1))
    });
    stage.server.world_mut().despawn(buoy);
    stage.until("it is gone", |stage| stage.client(0).world().get_entity(there).is_err());
    assert!(find(stage.client(0), "team").is_some());
    stage.server.world_mut().entity_mut(team).remove::<Motionless>();
    stage.until("it is not replicated any more", |stage| find(stage.client(0), "team").is_none());
    assert!(find(&mut stage.server, "team").is_some());
}

#[test]
fn what_a_client_spawns_is_seen_and_the_server_sets_its_part() {
    let mut stage = stage(2);
    let ship = stage.client(0).world_mut().spawn((
        kind("ship"),
        Fuel(9),
        // Not the client's to say.
        Health(255),
        Transform::default(),
        DeadReckoned::within(0.5),
    ));
    let ship = ship.id();
    stage.until("all see it", |stage| {
        find(&mut stage.server, "ship").is_some() && find(stage.client(1), "ship").is_some()
    });
    let at_server = find(&mut stage.server, "ship").unwrap();
    let seen = find(stage.client(1), "ship").unwrap();
    assert_eq!(get::<Health>(&stage.server, at_server), None);
    assert_eq!(get::<Health>(stage.client(1), seen), None);
    assert_eq!(get(stage.client(1), seen), Some(Fuel(9)));
    let owner = get::<Owner>(&stage.server, at_server).unwrap();
    assert!(owner.client.is_some_and(|client| stage.server.world().get::<RemoteClient>(client).is_some()));
    assert!(stage.clients[0].world().entity(ship).contains::<Owned>());

    stage.server.world_mut().entity_mut(at_server).insert(Health(50));
    stage.client(0).world_mut().entity_mut(ship).insert(Fuel(8));
    stage.until("both parts arrive", |stage| {
        get(stage.client(1), seen) == Some(Health(50))
            && get(stage.client(1), seen) == Some(Fuel(8))
            && get(stage.client(0), ship) == Some(Health(50))
    });
    stage.client(0).world_mut().despawn(ship);
    stage.until("all lose it", |stage| {
        find(&mut stage.server, "ship").is_none() && find(stage.client(1), "ship").is_none()
    });
}

#[test]
fn calls_reach_whom_they_are_for() {
    let mut stage = stage(2);
    let ship = (kind("ship"), Transform::default(), DeadReckoned::default());
    let ship = stage.client(0).world_mut().spawn(ship).id();
    stage.until("all see it", |stage| {
        find(&mut stage.server, "ship").is_some() && find(stage.client(1), "ship").is_some()
    });
    let at_server = find(&mut stage.server, "ship").unwrap();
    let first = get::<Owner>(&stage.server, at_server).unwrap().client.unwrap();
    stage.client(0).world_mut().write_message(Call::to_server(Say(1)));
    stage.client(0).world_mut().write_message(Call::to_viewers(ship, Say(2)));
    stage.server.world_mut().write_message(Call::to_all(Say(3)));
    stage.server.world_mut().write_message(Call::to_client(first, Say(4)));
    stage.server.world_mut().write_message(Call::to_all_but(first, Say(5)));
    stage.server.world_mut().write_message(Call::to_owner(at_server, Say(6)));
    let seen = find(stage.client(1), "ship").unwrap();
    stage.client(1).world_mut().write_message(Call::to_owner(seen, Say(7)));
    stage.until("every call arrives", |stage| {
        let said = |app: &App| log_of(app).said.len();
        (said(&stage.server), said(&stage.clients[0]), said(&stage.clients[1])) == (2, 4, 3)
    });
    let values = |app: &App| {
        let mut values: Vec<u32> = log_of(app).said.iter().map(|said| said.0).collect();
        values.sort_unstable();
        values
    };
    assert_eq!(values(&stage.clients[0]), [3, 4, 6, 7]);
    assert_eq!(values(&stage.clients[1]), [2, 3, 5]);
    assert_eq!(values(&stage.server), [1, 2], "the server hears what it carries to viewers");
    let about = log_of(&stage.clients[1]).said.iter().find(|said| said.0 == 2).unwrap();
    assert_eq!(about.2, Some(seen), "the entity as this app knows it");
}

#[test]
fn owners_change_by_gift_claim_and_release() {
    let mut stage = stage(2);
    let car = (kind("car"), Transform::default(), DeadReckoned::default());
    let car = stage.server.world_mut().spawn(car).id();
    stage.until("both see it", |stage| {
        find(stage.client(0), "car").is_some() && find(stage.client(1), "car").is_some()
    });
    let seen = [find(stage.client(0), "car").unwrap(), find(stage.client(1), "car").unwrap()];
    let owns = |stage: &mut Stage, index: usize| {
        stage.clients[index].world().entity(seen[index]).contains::<Owned>()
    };

    // Not claimable: refused. Then it is.
    stage.client(0).world_mut().commands().entity(seen[0]).claim();
    stage.until("the claim is refused", |stage| !log_of(&stage.clients[0]).refused.is_empty());
    assert_eq!(log_of(&stage.clients[0]).refused, [Refusal::NotClaimable]);
    stage.server.world_mut().entity_mut(car).insert(Claimable);
    stage.run_for(0.1);
    stage.client(0).world_mut().commands().entity(seen[0]).claim();
    stage.until("the first client owns it", |stage| owns(stage, 0));
    stage.until("the server knows", |stage| stage.server.world().entity(car).contains::<Remote>());

    // The owner moves it, the others see that.
    stage.client(0).world_mut().get_mut::<Transform>(seen[0]).unwrap().translation.x = 4.0;
    stage.until("the second sees the move", |stage| {
        get::<Transform>(&stage.clients[1], seen[1]).unwrap().translation.distance(Vec3::X * 4.0) < 0.2
    });

    stage.client(0).world_mut().commands().entity(seen[0]).release();
    stage.until("the server owns it", |stage| stage.server.world().entity(car).contains::<Owned>());
    assert!(!owns(&mut stage, 0));
    let clients = entities::<With<RemoteClient>>(&mut stage.server);
    let of = |stage: &Stage, index: usize| {
        let party = stage.clients[index].world().resource::<Fairpath>().party();
        let id = |entity| Party::Client(stage.server.world().get::<RemoteClient>(entity).unwrap().id);
        clients.iter().copied().find(|client| Some(id(*client)) == party).unwrap()
    };
    let second = of(&stage, 1);
    stage.server.world_mut().commands().entity(car).give_to(second);
    stage.until("the second client owns it", |stage| owns(stage, 1));
    let log = log_of(&stage.clients[1]);
    assert_eq!(log.owners.last(), Some(&(seen[1], true)));
    stage.server.world_mut().commands().entity(car).claim();
    stage.until("the server took it back", |stage| {
        stage.server.world().entity(car).contains::<Owned>() && !owns(stage, 1)
    });
}

#[test]
fn a_rider_stays_on_its_platform() {
    let mut stage = stage(1);
    let world = stage.server.world_mut();
    let raft = (kind("raft"), Transform::default(), DeadReckoned::within(0.1).model(Model::Circular));
    let raft = world.spawn(raft).id();
    let sailor = (kind("sailor"), Transform::from_xyz(3.0, 1.0, 0.0), DeadReckoned::default(), ChildOf(raft));
    let sailor = world.spawn(sailor).id();
    stage.server.add_systems(Update, move |time: Res<Time>, mut moved: Query<&mut Transform>| {
        let Ok(mut raft) = moved.get_mut(raft) else { return };
        raft.rotate_z(0.7 * time.delta_secs());
        let ahead = raft.rotation * Vec3::X;
        raft.translation += ahead * 8.0 * time.delta_secs();
    });
    stage.until("the sailor appears on the raft", |stage| {
        let client = stage.client(0);
        find(client, "sailor").is_some_and(|sailor| get::<ChildOf>(client, sailor).is_some())
    });
    stage.run_for(0.5);
    let client = &mut stage.clients[0];
    let (raft_seen, sailor_seen) = (find(client, "raft").unwrap(), find(client, "sailor").unwrap());
    assert_eq!(get::<ChildOf>(client, sailor_seen).unwrap().parent(), raft_seen);
    let on_deck = get::<Transform>(client, sailor_seen).unwrap().translation;
    assert!(on_deck.distance(Vec3::new(3.0, 1.0, 0.0)) < 0.05, "{on_deck}");

    stage.server.world_mut().entity_mut(sailor).remove::<ChildOf>();
    stage.until("the sailor leaves the raft", |stage| {
        get::<ChildOf>(&stage.clients[0], sailor_seen).is_none()
    });
    stage.server.world_mut().despawn(raft);
    stage.until("the raft is gone", |stage| find(stage.client(0), "raft").is_none());
    assert!(stage.clients[0].world().get_entity(sailor_seen).is_ok());
}

#[test]
fn a_teleport_is_shown_at_once() {
    let mut stage = stage(1);
    let it = (kind("it"), Transform::default(), DeadReckoned::default());
    let it = stage.server.world_mut().spawn(it).id();
    stage.until("it appears", |stage| find(stage.client(0), "it").is_some());
    stage.run_for(0.3);
    stage.server.world_mut().commands().entity(it).teleport(Transform::from_xyz(5.0, 0.0, 0.0));
    let seen = find(stage.client(0), "it").unwrap();
    let mut between = 0;
    stage.until("it is there", |stage| {
        let x = get::<Transform>(&stage.clients[0], seen).unwrap().translation.x;
        between += usize::from(x > 0.2 && x < 4.8);
        x > 4.8
    });
    assert_eq!(between, 0, "no way between");
}

/// Moves in `Update`, by the length of the frame.
fn glide(time: Res<Time>, mut moved: Query<&mut Transform, With<Witness>>) {
    for mut transform in &mut moved {
        let angle = time.elapsed_secs() * 0.8;
        transform.translation = Vec3::new(angle.cos(), angle.sin(), 0.0) * 12.0;
        // A circular motion goes where the body faces.
        transform.rotation = Quat::from_rotation_z(angle + std::f32::consts::FRAC_PI_2);
    }
}

#[test]
fn what_moves_in_every_frame_is_as_exact_as_what_moves_in_ticks() {
    let mut stage = stage(1);
    stage.server.add_systems(Update, glide);
    Truth::in_frames(&mut stage.server);
    let motion = DeadReckoned::within(0.1).model(Model::Circular);
    stage.server.world_mut().spawn((kind("kite"), Transform::default(), motion, Witness));
    stage.until("it appears", |stage| find(stage.client(0), "kite").is_some());
    stage.run_for(0.5);
    let mut errors = Errors::default();
    stage.until("enough frames", |stage| {
        let seen = find(stage.client(0), "kite").unwrap();
        let drawn = get::<Transform>(&stage.clients[0], seen).unwrap().translation;
        errors.note(&stage.clients[0], drawn);
        errors.compare(&stage.server);
        errors.count() >= 300
    });
    let median = errors.quantile(0.5);
    println!("moved in Update, 5 ms away: median {median:.3}, p90 {:.3}", errors.quantile(0.9));
    assert!(median < 0.15, "median {median}");
}

/// Flies straight on, by the time of the schedule that it is in.
fn straight(time: Res<Time>, mut moved: Query<&mut Transform, With<Witness>>) {
    moved.iter_mut().for_each(|mut transform| transform.translation.x += 30.0 * time.delta_secs());
}

/// Goal: a state is observed for the instant for which it is true, whatever schedule computed it.
/// Wrong instants look like acceleration, and cost some 50 updates a second.
#[test]
fn a_straight_flight_costs_few_updates_in_ticks_and_in_frames() {
    for is_fixed in [true, false] {
        let mut stage = stage(1);
        if is_fixed {
            stage.server.add_systems(FixedUpdate, straight);
        } else {
            stage.server.add_systems(Update, straight);
        }
        let arrow = (kind("arrow"), Transform::default(), DeadReckoned::within(0.2), Witness);
        stage.server.world_mut().spawn(arrow);
        stage.until("it appears", |stage| find(stage.client(0), "arrow").is_some());
        stage.run_for(1.0);
        let sent = |stage: &Stage| {
            let server = stage.server.world().resource::<FairpathServer<Vec2>>();
            server.0.status().iter().filter_map(|peer| Some(peer.session?.vectors_sent)).sum::<u64>()
        };
        let before = sent(&stage);
        stage.run_for(5.0);
        let updates = sent(&stage) - before;
        println!("straight on for 5 s, in ticks {is_fixed}: {updates} updates");
        assert!(updates < 60, "{updates} updates, in ticks: {is_fixed}");
    }
}

#[test]
fn a_conditioner_makes_the_network_worse_by_a_script() {
    let mut stage = stage(0);
    stage.join(|app| {
        app.add_plugins((shared, FairpathClientPlugin::new(game())));
        let slow = LinkConfig::default().delay(bevy_fairpath::fairpath::Span::from_millis(120));
        app.insert_resource(LinkConditioner::new(LinkConfig::lan()).then(2.0, slow));
    });
    stage.until_connected();
    let round_trip = |stage: &Stage| {
        let diagnostics = stage.clients[0].world().resource::<FairpathDiagnostics>();
        diagnostics.links.first().and_then(|link| link.round_trip).unwrap_or_default().as_millis()
    };
    let ship = (kind("ship"), Transform::default(), DeadReckoned::default());
    stage.client(0).world_mut().spawn(ship);
    stage.until("the script slows the link", |stage| round_trip(stage) > 200);
    let text = stage.clients[0].world().resource::<FairpathDiagnostics>().to_string();
    assert!(text.starts_with("1 entities\n2"), "{text}");
    assert!(
        LinkConditioner::preset("mobile").is_some() && LinkConditioner::preset("carrier pigeon").is_none()
    );
}

#[test]
fn a_client_that_leaves_takes_its_entities_and_can_return() {
    let mut stage = stage(2);
    let ship = (kind("ship"), Transform::default(), DeadReckoned::default());
    let ship = stage.client(0).world_mut().spawn(ship).id();
    let wreck = (kind("wreck"), Transform::default(), DeadReckoned::default(), OutlivesOwner);
    stage.client(0).world_mut().spawn(wreck);
    let all = |stage: &mut Stage, count: usize| {
        entities::<(With<Kind>, With<Remote>)>(stage.client(1)).len() == count
    };
    stage.until("the second sees both", |stage| all(stage, 2));
    Leave.apply(stage.client(0).world_mut());
    stage.until("the ship is gone, the wreck is the server's", |stage| {
        all(stage, 1) && log_of(&stage.server).left == 1
    });
    let wreck = find(&mut stage.server, "wreck").unwrap();
    assert!(stage.server.world().entity(wreck).contains::<Owned>());
    assert_eq!(status(stage.client(0)), None);
    let own = stage.clients[0].world().entity(ship);
    assert!(!own.contains::<ReplicatedId>() && own.contains::<DeadReckoned>(), "it stays, alone");

    stage.rejoin(0);
    stage.until_connected();
    stage.until("it is replicated again", |stage| {
        stage.clients[0].world().entity(ship).contains::<ReplicatedId>()
    });
}

#[test]
fn a_broken_network_interrupts_and_a_healed_one_resumes() {
    let mut stage = stage(1);
    let buoy = (kind("buoy"), Transform::default(), DeadReckoned::default());
    stage.server.world_mut().spawn(buoy);
    stage.until("it appears", |stage| find(stage.client(0), "buoy").is_some());
    let seen = find(stage.client(0), "buoy").unwrap();
    stage.middleman.partition(ClientSelector::All, Directions::Both, None).unwrap();
    stage.until("the client notices", |stage| {
        matches!(status(stage.client(0)), Some(ConnectionStatus::Interrupted { .. }))
    });
    assert!(stage.clients[0].world().get_entity(seen).is_ok(), "the session goes on");
    stage.middleman.heal(ClientSelector::All, Directions::Both).unwrap();
    stage.until_connected();
    assert!(stage.clients[0].world().get_entity(seen).is_ok(), "the same entity");
}

#[test]
fn audiences_hide_and_show() {
    let mut stage = stage(2);
    let clients = entities::<With<RemoteClient>>(&mut stage.server);
    let secret =
        (kind("secret"), Transform::default(), DeadReckoned::default(), Audience::Only(vec![clients[0]]));
    let secret = stage.server.world_mut().spawn(secret).id();
    let sees = |stage: &mut Stage| [0, 1].map(|index| find(stage.client(index), "secret").is_some());
    stage.until("one sees it", |stage| sees(stage).contains(&true));
    stage.run_for(0.5);
    assert_eq!(sees(&mut stage).iter().filter(|sees| **sees).count(), 1);
    stage.server.world_mut().entity_mut(secret).insert(Audience::Everyone);
    stage.until("all see it", |stage| sees(stage) == [true, true]);
    stage.server.world_mut().entity_mut(secret).insert(Audience::Only(Vec::new()));
    stage.until("none sees it", |stage| sees(stage) == [false, false]);
}

#[test]
fn a_client_sees_from_the_avatar_that_the_server_moves_for_it() {
    let near = Interest::Within { enter: 50.0, leave: 60.0 };
    let mut stage = Stage::new(LinkConfig::default(), |app| {
        app.add_plugins((shared, server_plugin(game()).interest(near)));
    });
    stage.join(|app| _ = app.add_plugins((shared, FairpathClientPlugin::new(game()))));
    stage.until_connected();
    let client = entities::<With<RemoteClient>>(&mut stage.server)[0];
    let world = stage.server.world_mut();
    let avatar = (kind("avatar"), Transform::default(), DeadReckoned::default(), ControlledBy(client));
    let avatar = world.spawn(avatar).id();
    world.spawn((kind("near"), Transform::from_xyz(10.0, 0.0, 0.0), DeadReckoned::default()));
    world.spawn((kind("far"), Transform::from_xyz(900.0, 0.0, 0.0), DeadReckoned::default()));
    let sees = |stage: &mut Stage, name| find(stage.client(0), name).is_some();
    stage.until("the avatar and what is near appear", |stage| {
        sees(stage, "avatar") && sees(stage, "near") && !sees(stage, "far")
    });
    stage.server.world_mut().commands().entity(avatar).teleport(Transform::from_xyz(890.0, 0.0, 0.0));
    stage.until("the avatar is elsewhere", |stage| {
        sees(stage, "avatar") && !sees(stage, "near") && sees(stage, "far")
    });
}

#[test]
fn a_client_despawned_at_the_server_is_dismissed() {
    let mut stage = stage(1);
    let client = entities::<With<RemoteClient>>(&mut stage.server)[0];
    stage.server.world_mut().despawn(client);
    stage.until("the client has ended", |stage| {
        matches!(status(stage.client(0)), Some(ConnectionStatus::Ended { problem: Some(_) }))
    });
}
