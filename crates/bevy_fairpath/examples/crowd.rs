//! Step 5: a crowd of 1000. A client that stands in it sees the 64 nearest.
//!
//! `cargo run --release --example crowd`

use std::time::Duration;

use bevy_app::{App, AppExit, FixedUpdate, Startup};
use bevy_ecs::prelude::*;
use bevy_fairpath::prelude::*;
use bevy_math::{Quat, Vec3};
use bevy_time::{Fixed, Time, TimePlugin};
use bevy_transform::components::Transform;
use serde::{Deserialize, Serialize};

pub(crate) const CROWD: u32 = 1000;
pub(crate) const NEAREST: usize = 64;

#[derive(Component, Serialize, Deserialize)]
pub(crate) struct Person(pub(crate) u32);

/// Walks on; turns now and then.
#[derive(Component)]
pub(crate) struct Gait {
    heading: f32,
    secs_left: f32,
    turns: u32,
}

pub(crate) fn shared(app: &mut App) {
    app.add_plugins(TimePlugin).insert_resource(Time::<Fixed>::from_hz(20.0)).replicate::<Person>();
}

pub(crate) fn game() -> Protocol<Vec2> {
    Protocol::new("bevy-crowd", 1)
}

pub(crate) fn server(app: &mut App) {
    app.add_systems(Startup, gather).add_systems(FixedUpdate, walk);
}

fn gather(mut commands: Commands) {
    for number in 0..CROWD {
        let place = Vec3::new((number % 32) as f32 * 4.0, (number / 32) as f32 * 4.0, 0.0);
        let gait = Gait { heading: number as f32, secs_left: (number % 40) as f32 * 0.1, turns: number };
        let motion = DeadReckoned::within(0.25).facing(Facing::Course);
        commands.spawn((
            Person(number),
            gait,
            motion,
            Velocity::default(),
            Transform::from_translation(place),
        ));
    }
}

fn walk(time: Res<Time>, mut people: Query<(&mut Transform, &mut Velocity, &mut Gait)>) {
    for (mut transform, mut velocity, mut gait) in &mut people {
        gait.secs_left -= time.delta_secs();
        if gait.secs_left < 0.0 {
            gait.turns += 1;
            gait.secs_left = 3.0 + (gait.turns % 7) as f32 * 0.3;
            gait.heading += 2.1;
        }
        velocity.0 = Quat::from_rotation_z(gait.heading) * Vec3::X * 1.4;
        transform.translation += velocity.0 * time.delta_secs();
    }
}

/// A client stands in the crowd: what it owns is what it sees from.
pub(crate) fn client(app: &mut App) {
    let place = Transform::from_xyz(62.0, 62.0, 0.0);
    app.world_mut().spawn((Person(CROWD), DeadReckoned::default(), place));
}

fn main() -> AppExit {
    let mut square = App::new();
    let plugin = FairpathServerPlugin::new(game()).listen("127.0.0.1:0").interest(Interest::Nearest(NEAREST));
    square.add_plugins((shared, plugin, server)).update();
    let ServerStatus::Listening { address, pin } = *square.world().resource() else {
        panic!("not listening")
    };
    let mut onlooker = App::new();
    onlooker.add_plugins((shared, FairpathClientPlugin::new(game()).join(address, pin), client));
    for frame in 0..400 {
        square.update();
        onlooker.update();
        std::thread::sleep(Duration::from_millis(20));
        if frame % 50 == 49 {
            let seen =
                onlooker.world_mut().query_filtered::<(), With<Remote>>().iter(onlooker.world()).count();
            let links = &onlooker.world().resource::<FairpathDiagnostics>().links;
            let bytes = links.first().map_or(0.0, |link| link.bytes_in_per_sec);
            println!("sees {seen} people for {bytes:.0} bytes a second");
        }
    }
    AppExit::Success
}
