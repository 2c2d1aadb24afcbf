//! Goal: a wrong use gives one clear warning or error, and never a panic.
//! Method: each mistake in an app of its own, over real sockets where it needs a peer.

use bevy_app::App;
use bevy_ecs::prelude::*;
use bevy_fairpath::fairpath::session::CloseReason;
use bevy_fairpath::prelude::*;
use bevy_fairpath::{FairpathServer, Misuse};
use bevy_time::TimePlugin;
use bevy_transform::components::Transform;
use fairpath_net::middleman::LinkConfig;
use serde::{Deserialize, Serialize};

use crate::common::{Stage, entities, get, server_plugin, status};

#[derive(Component, Serialize, Deserialize)]
struct Ship;
#[derive(Component, Serialize, Deserialize)]
struct Rock;
#[derive(Serialize, Deserialize)]
struct Shout;

mod other {
    use super::*;

    #[derive(Component, Serialize, Deserialize)]
    pub(super) struct Ship;
}

fn game(version: u32) -> Protocol<Vec2> {
    Protocol::new("bevy-misuse", version)
}

fn shared(app: &mut App) {
    app.add_plugins(TimePlugin).replicate::<Ship>().add_call::<Shout>(Delivery::ReliableOrdered);
}

fn stage() -> Stage {
    Stage::new(LinkConfig::default(), |app| _ = app.add_plugins((shared, server_plugin(game(1)))))
}

/// The texts of the warnings about this.
fn texts(app: &App, about: Misuse) -> Vec<String> {
    let warnings = app.world().resource::<FairpathWarnings>();
    warnings.iter().filter(|(misuse, _)| *misuse == about).map(|(_, text)| text.to_owned()).collect()
}

fn assert_one(app: &App, about: Misuse, contains: &str) {
    let texts = texts(app, about);
    assert!(texts.len() == 1 && texts[0].contains(contains), "{texts:?}");
}

#[test]
fn the_second_plugin_of_an_app_is_ignored() {
    let mut stage = stage();
    stage.server.add_plugins(FairpathClientPlugin::new(game(1)));
    stage.server.add_plugins(server_plugin(game(1)));
    stage.run_for(0.1);
    let texts = texts(&stage.server, Misuse::TwoPlugins);
    assert_eq!(texts.len(), 2, "{texts:?}");
    assert!(texts.iter().all(|text| text.contains("two apps")), "{texts:?}");
    assert!(stage.server.world().contains_resource::<FairpathServer<Vec2>>(), "the first runs");
}

#[test]
fn an_entity_of_which_no_component_is_registered_is_named() {
    let mut stage = stage();
    stage.server.world_mut().spawn((Rock, Transform::default(), DeadReckoned::default()));
    stage.run_for(0.1);
    assert_one(&stage.server, Misuse::NothingReplicated, "app.replicate::<Ship>()");
}

#[test]
fn components_are_registered_once_in_time_and_under_names_of_their_own() {
    let mut app = App::new();
    app.add_plugins((shared, server_plugin(game(1))));
    app.replicate::<Ship>().replicate::<other::Ship>().add_call::<Shout>(Delivery::Unreliable);
    let problems = texts(&app, Misuse::Registration);
    assert_eq!(problems.len(), 3, "{problems:?}");
    assert!(problems.iter().any(|text| text.contains("replicate_as")), "{problems:?}");
    app.replicate_as::<other::Ship>("other ship", SetBy::Owner).update();
    app.replicate::<Rock>();
    let problems = texts(&app, Misuse::Registration);
    assert!(problems.iter().any(|text| text.contains("before the app runs")), "{problems:?}");
}

#[test]
fn ends_that_registered_different_components_say_so() {
    let mut stage = stage();
    stage.join(|app| {
        app.add_plugins((shared, FairpathClientPlugin::new(game(1)))).replicate::<Rock>();
    });
    refused_with(stage, CloseReason::WrongProtocol);
}

#[test]
fn another_version_of_the_game_says_so() {
    let mut stage = stage();
    stage.join(|app| _ = app.add_plugins((shared, FairpathClientPlugin::new(game(2)))));
    refused_with(stage, CloseReason::WrongGameVersion);
}

fn refused_with(mut stage: Stage, reason: CloseReason) {
    stage.until("the client has ended", |stage| {
        matches!(status(stage.client(0)), Some(ConnectionStatus::Ended { .. }))
    });
    let problem = status(stage.client(0)).unwrap().problem();
    assert_eq!(problem, Some(ConnectionProblem::Refused(reason)));
    stage.run_for(0.1);
    assert_one(&stage.clients[0], Misuse::Connection, &reason.to_string());
}

#[test]
fn dead_reckoned_without_a_transform_waits_for_one() {
    let mut stage = stage();
    let ship = stage.server.world_mut().spawn((Ship, DeadReckoned::default())).id();
    stage.run_for(0.1);
    assert_one(&stage.server, Misuse::NoTransform, "insert a Transform");
    stage.server.world_mut().entity_mut(ship).insert(Transform::default());
    stage.until("it is replicated", |stage| get::<ReplicatedId>(&stage.server, ship).is_some());
}

#[test]
fn numbers_that_are_not_finite_are_not_sent() {
    let mut stage = stage();
    stage.join(|app| _ = app.add_plugins((shared, FairpathClientPlugin::new(game(1)))));
    stage.until_connected();
    let at = Transform::from_xyz(1.0, 2.0, 0.0);
    let ship = stage.server.world_mut().spawn((Ship, at, DeadReckoned::within(f32::NAN))).id();
    stage.until("it appears", |stage| !entities::<With<Ship>>(stage.client(0)).is_empty());
    assert_one(&stage.server, Misuse::Setting, "must be positive");
    stage.server.world_mut().get_mut::<Transform>(ship).unwrap().translation.x = f32::NAN;
    stage.run_for(0.3);
    assert_one(&stage.server, Misuse::NotFinite, "not finite");
    let seen = entities::<With<Ship>>(stage.client(0))[0];
    let drawn = get::<Transform>(&stage.clients[0], seen).unwrap();
    assert!(drawn.is_finite(), "{drawn:?}");
    stage
        .server
        .world_mut()
        .entity_mut(ship)
        .insert((Transform::from_xyz(3.0, 2.0, 0.0), Velocity::default()));
    stage.until("it goes on", |stage| {
        (get::<Transform>(&stage.clients[0], seen).unwrap().translation.x - 3.0).abs() < 0.2
    });
}

#[test]
fn an_app_without_time_says_so() {
    let mut app = App::new();
    let identity = Identity::local(&[]).unwrap();
    let plugin = FairpathServerPlugin::new(game(1)).listen("127.0.0.1:0");
    app.add_plugins(plugin.configure(move |server| server.identity(identity.clone())));
    app.replicate::<Ship>().predict::<Walker>();
    (0..3).for_each(|_| app.update());
    assert_one(&app, Misuse::NoTime, "TimePlugin");

    let mut client = App::new();
    client.add_plugins(FairpathClientPlugin::new(game(1))).predict::<Walker>();
    client.world_mut().spawn((Ship, Transform::default(), DeadReckoned::default()));
    (0..3).for_each(|_| client.update());
}

#[test]
fn what_is_registered_in_an_app_without_a_plugin_does_nothing() {
    let mut app = App::new();
    app.add_plugins(shared).predict::<Walker>();
    app.world_mut().spawn((Ship, Transform::default(), DeadReckoned::default()));
    app.world_mut().write_message(Call::to_server(Shout));
    app.world_mut().commands().queue(Leave);
    (0..3).for_each(|_| app.update());
}

/// Stands.
#[derive(Component, Clone, Serialize, Deserialize)]
struct Walker;

impl Authoritative for Walker {
    type Input = ();

    fn step(&mut self, (): &(), _: f32) {}

    fn pose(&self) -> (Transform, bevy_math::Vec3) {
        Default::default()
    }
}

#[test]
fn a_circular_motion_that_goes_sideways_is_noticed() {
    let mut stage = stage();
    let crab = (Ship, Transform::default(), DeadReckoned::default().model(Model::Circular));
    let crab = stage.server.world_mut().spawn(crab).id();
    stage.until("it is noticed", |stage| {
        stage.server.world_mut().get_mut::<Transform>(crab).unwrap().translation.y += 0.2;
        !texts(&stage.server, Misuse::Setting).is_empty()
    });
    assert_one(&stage.server, Misuse::Setting, "sideways");
}

#[test]
fn entities_despawned_while_under_way_leave_nothing() {
    let mut stage =
        Stage::new(crate::common::bad(), |app| _ = app.add_plugins((shared, server_plugin(game(1)))));
    stage.join(|app| _ = app.add_plugins((shared, FairpathClientPlugin::new(game(1)))));
    // Before there is a session.
    let early = (Ship, Transform::default(), DeadReckoned::default());
    let early = stage.client(0).world_mut().spawn(early).id();
    stage.step();
    stage.client(0).world_mut().despawn(early);
    stage.until_connected();
    // While it travels, and of both ends.
    for _ in 0..10 {
        let ship = || (Ship, Transform::default(), DeadReckoned::default());
        let mine = stage.client(0).world_mut().spawn(ship()).id();
        let theirs = stage.server.world_mut().spawn(ship()).id();
        stage.step();
        stage.step();
        stage.client(0).world_mut().despawn(mine);
        stage.server.world_mut().despawn(theirs);
    }
    // A client despawns what is not its own: here only.
    let buoy = stage.server.world_mut().spawn((Ship, Transform::default(), DeadReckoned::default())).id();
    stage.until("only the buoy is left", |stage| entities::<With<Ship>>(stage.client(0)).len() == 1);
    let seen = entities::<With<Ship>>(stage.client(0))[0];
    stage.client(0).world_mut().despawn(seen);
    stage.server.world_mut().get_mut::<Transform>(buoy).unwrap().translation.x = 9.0;
    stage
        .until("nothing is left at the client", |stage| entities::<With<Ship>>(&mut stage.server).len() == 1);
    stage.run_for(1.0);
    assert!(entities::<With<Ship>>(stage.client(0)).is_empty());
    assert_one(&stage.clients[0], Misuse::NotOwner, "another peer owns it");
}

#[test]
fn a_client_may_not_spawn_where_only_the_server_does() {
    let mut stage = Stage::new(LinkConfig::default(), |app| {
        app.add_plugins((shared, server_plugin(game(1)).only_server_spawns()));
    });
    stage.join(|app| _ = app.add_plugins((shared, FairpathClientPlugin::new(game(1)))));
    stage.until_connected();
    stage.client(0).world_mut().spawn((Ship, Transform::default(), DeadReckoned::default()));
    stage.until("it is refused", |stage| !texts(&stage.clients[0], Misuse::Refused).is_empty());
    stage.run_for(0.3);
    assert_one(&stage.clients[0], Misuse::Refused, "refused to create");
    assert!(entities::<With<Ship>>(&mut stage.server).is_empty());
}

#[test]
fn a_call_without_a_connection_and_an_address_in_use_say_so() {
    let mut app = App::new();
    app.add_plugins((shared, FairpathClientPlugin::new(game(1))));
    app.update();
    app.world_mut().write_message(Call::to_server(Shout));
    app.update();
    let told = texts(&app, Misuse::Call);
    assert_eq!(told.len(), 1, "{told:?}");

    let stage = stage();
    let ServerStatus::Listening { address, .. } = *stage.server.world().resource() else { panic!() };
    let mut second = App::new();
    let identity = Identity::local(&[]).unwrap();
    let plugin = FairpathServerPlugin::new(game(1)).listen(address.to_string());
    second.add_plugins((shared, plugin.configure(move |server| server.identity(identity.clone()))));
    second.update();
    assert_one(&second, Misuse::CannotStart, "cannot listen on");
    assert!(matches!(second.world().resource(), ServerStatus::Failed(_)));
}
