//! Goal: the second example works over a bad network: ships are drawn where they are, bullets hit,
//! points are counted, chat arrives.
//! Method: its own apps over real sockets; the second player is 150 ms away, with 5 % loss.

#[path = "../../examples/asteroids.rs"]
#[allow(dead_code, reason = "the test has a stage of its own")]
mod example;

use crate::common::{Errors, Stage, Truth, Witness, bad, server_plugin};
use bevy_app::Update;
use bevy_ecs::prelude::*;
use bevy_fairpath::prelude::*;
use bevy_transform::components::Transform;
use example::{Asteroids, Bullet, Chat, Pilot, Score, Ship};

#[derive(Resource, Default)]
struct Heard(Vec<String>);

fn hear(mut calls: MessageReader<Called<Chat>>, mut heard: ResMut<Heard>) {
    heard.0.extend(calls.read().map(|call| call.value.0.clone()));
}

#[test]
fn two_players_fight_over_a_bad_network() {
    let mut stage = Stage::new(bad(), |app| {
        let view = Interest::Within { enter: 300.0, leave: 330.0 };
        app.add_plugins((Asteroids, server_plugin(example::game()).interest(view)));
        app.add_systems(Update, (example::judge, example::pass_on));
    });
    for (name, number) in [("Anna", 1), ("Ben", 2)] {
        stage.join(|app| {
            app.add_plugins((Asteroids, FairpathClientPlugin::new(example::game())));
            app.add_plugins(example::client(name, number));
            app.init_resource::<Heard>().add_systems(Update, hear);
            Truth::in_ticks(app);
        });
        let app = stage.clients.last_mut().unwrap();
        let ship = crate::common::entities::<With<Pilot>>(app)[0];
        app.world_mut().entity_mut(ship).insert(Witness);
    }
    stage.until_connected();
    stage.until("each sees the other", |stage| {
        stage
            .clients
            .iter_mut()
            .all(|app| !crate::common::entities::<(With<Ship>, With<Remote>)>(app).is_empty())
    });

    let mut errors = Errors::default();
    let mut bullets_seen = 0;
    let mut frames = 0;
    stage.until("frames, chat, bullets and a hit", |stage| {
        frames += 1;
        // What the second player draws of the first one's ship.
        for ship in crate::common::entities::<(With<Ship>, With<Remote>)>(&mut stage.clients[1]) {
            let drawn = crate::common::get::<Transform>(&stage.clients[1], ship).expect("it is drawn");
            errors.note(&stage.clients[1], drawn.translation);
        }
        errors.compare(&stage.clients[0]);
        bullets_seen += crate::common::entities::<(With<Bullet>, With<Remote>)>(&mut stage.clients[1]).len();
        let scores = crate::common::entities::<With<Score>>(&mut stage.clients[0]).len();
        let heard = |name: &str| {
            let text = format!("{name} is here");
            stage.clients.iter().any(|app| app.world().resource::<Heard>().0.contains(&text))
        };
        errors.count() > 600 && heard("Anna") && heard("Ben") && bullets_seen > 20 && scores > 0
    });
    let (median, p90, mean) = (errors.quantile(0.5), errors.quantile(0.9), errors.mean());
    println!(
        "error of a ship at up to 60 u/s: median {median:.2}, p90 {p90:.2}, mean {mean:.2} ({frames} frames)"
    );
    assert!(median < 2.0, "median {median}");
    for app in &stage.clients {
        let warnings = app.world().resource::<FairpathWarnings>();
        assert_eq!(warnings.iter().count(), 0, "{warnings:?}");
    }
}
