//! Step 3: a drone in space, with a camera that hangs below it: a child of the drone.
//!
//! `cargo run --example drone`

use std::time::Duration;

use bevy_app::{App, AppExit, FixedUpdate, Update};
use bevy_ecs::prelude::*;
use bevy_fairpath::fairpath::Vec3 as Space;
use bevy_fairpath::prelude::*;
use bevy_math::{Quat, Vec3};
use bevy_time::{Time, TimePlugin};
use bevy_transform::components::Transform;
use serde::{Deserialize, Serialize};

#[derive(Component, Serialize, Deserialize)]
pub(crate) struct Drone;
#[derive(Component, Serialize, Deserialize)]
pub(crate) struct Camera;

pub(crate) fn shared(app: &mut App) {
    app.add_plugins(TimePlugin).replicate::<Drone>().replicate::<Camera>();
}

pub(crate) fn game() -> Protocol<Space> {
    Protocol::new("bevy-drone", 1)
}

pub(crate) fn server(app: &mut App) {
    let motion = DeadReckoned::within(0.1).model(Model::Quadratic);
    let drone = app.world_mut().spawn((Drone, Transform::default(), motion)).id();
    app.world_mut().spawn((
        Camera,
        Transform::from_xyz(0.0, -0.5, 0.0),
        DeadReckoned::default(),
        ChildOf(drone),
    ));
    app.add_systems(FixedUpdate, fly);
}

/// A figure of eight that rises and falls, banked into the turn; the camera looks about.
fn fly(
    time: Res<Time>,
    mut drones: Query<&mut Transform, (With<Drone>, Without<Camera>)>,
    mut cameras: Query<&mut Transform, With<Camera>>,
) {
    let at = time.elapsed_secs() * 0.6;
    for mut drone in &mut drones {
        let place = |at: f32| Vec3::new(20.0 * at.sin(), 4.0 * (1.3 * at).sin(), 10.0 * (2.0 * at).sin());
        let ahead = place(at + 0.01) - place(at);
        *drone = Transform::from_translation(place(at)).looking_to(ahead, Vec3::Y);
        drone.rotate_local_z(0.4 * at.cos());
    }
    for mut camera in &mut cameras {
        camera.rotation = Quat::from_rotation_y(0.5 * (3.0 * at).sin());
    }
}

fn main() -> AppExit {
    let (mut hangar, mut screen) = (App::new(), App::new());
    hangar.add_plugins((shared, FairpathServerPlugin::new(game()).listen("127.0.0.1:0"), server)).update();
    let ServerStatus::Listening { address, pin } = *hangar.world().resource() else {
        panic!("not listening")
    };
    screen.add_plugins((shared, FairpathClientPlugin::new(game()).join(address, pin)));
    screen.add_systems(Update, |drones: Query<&Transform, With<Drone>>| {
        drones.iter().for_each(|drawn| println!("{:.1} facing {:.1}", drawn.translation, *drawn.forward()));
    });
    for _ in 0..200 {
        hangar.update();
        screen.update();
        std::thread::sleep(Duration::from_millis(16));
    }
    AppExit::Success
}
