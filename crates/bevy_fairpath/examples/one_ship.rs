//! Step 1: one ship, which the server flies and the client draws.
//!
//! `cargo run --example one_ship`

use std::time::Duration;

use bevy_app::{App, AppExit, FixedUpdate, Update};
use bevy_ecs::prelude::*;
use bevy_fairpath::prelude::*;
use bevy_time::{Fixed, Time, TimePlugin};
use bevy_transform::components::Transform;

#[derive(Component, serde::Serialize, serde::Deserialize)]
pub(crate) struct Ship {
    name: String,
}

/// What server and client share.
pub(crate) fn shared(app: &mut App) {
    app.add_plugins(TimePlugin).replicate::<Ship>();
}

pub(crate) fn game() -> Protocol<Vec2> {
    Protocol::new("one-ship", 1)
}

pub(crate) fn server(app: &mut App) {
    let plugin = FairpathServerPlugin::new(game()).listen("127.0.0.1:0");
    app.add_plugins(plugin).add_systems(FixedUpdate, fly);
    let nautilus = Ship { name: "Nautilus".into() };
    app.world_mut().spawn((nautilus, Transform::default(), DeadReckoned::within(0.1).model(Model::Circular)));
}

/// 10 units a second, in circles.
fn fly(mut ships: Query<&mut Transform, With<Ship>>, time: Res<Time<Fixed>>) {
    for mut ship in &mut ships {
        ship.rotate_z(0.5 * time.delta_secs());
        let ahead = ship.rotation * bevy_math::Vec3::X;
        ship.translation += ahead * 10.0 * time.delta_secs();
    }
}

fn main() -> AppExit {
    let (mut at_sea, mut on_screen) = (App::new(), App::new());
    at_sea.add_plugins((shared, server)).update();
    let ServerStatus::Listening { address, pin } = *at_sea.world().resource() else {
        panic!("not listening")
    };
    on_screen.add_plugins((shared, FairpathClientPlugin::new(game()).join(address, pin)));
    on_screen.add_systems(Update, |ships: Query<(&Ship, &Transform)>| {
        ships.iter().for_each(|(ship, drawn)| println!("{} at {:.1}", ship.name, drawn.translation));
    });
    // Two programs in one: a real game has `app.run()` in each.
    for _ in 0..120 {
        at_sea.update();
        on_screen.update();
        std::thread::sleep(Duration::from_millis(16));
    }
    AppExit::Success
}
