//! Step 4: the server decides. Clients send inputs, predict their own avatars, and shoot.
//!
//! A client plays its inputs at once, and corrects itself when the server's state differs. It draws
//! other avatars by dead reckoning. The server judges a shot where the shooter saw the target, and
//! pushes a target that is hit: its client cannot predict that.
//!
//! `cargo run --features conditioner --example server_decides`

use bevy_app::{App, AppExit, Plugin, PreUpdate, Update};
use bevy_ecs::prelude::*;
use bevy_fairpath::fairpath::SharedInstant;
use bevy_fairpath::prelude::*;
use bevy_math::Vec3;
use bevy_time::{Fixed, Time, TimePlugin};
use bevy_transform::components::Transform;
use serde::{Deserialize, Serialize};

/// A runner of 8 units a second, who is pushed aside by hits.
#[derive(Component, Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Runner {
    pub(crate) at: Vec3,
    velocity: Vec3,
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Run {
    pub(crate) east: i8,
    pub(crate) north: i8,
}

/// A shot at a point, and when the shooter saw the target there.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Shot {
    aim: Vec3,
    seen_at: SharedInstant,
}

impl Authoritative for Runner {
    type Input = Run;

    fn step(&mut self, input: &Run, secs: f32) {
        self.velocity = Vec3::new(f32::from(input.east), f32::from(input.north), 0.0) * 8.0;
        self.at += self.velocity * secs;
    }

    fn pose(&self) -> (Transform, Vec3) {
        (Transform::from_translation(self.at), self.velocity)
    }
}

/// The name of a runner's player, for the screen.
#[derive(Component, Serialize, Deserialize)]
pub(crate) struct Avatar(u32);

/// Hits so far, at the server: with the lag of the shooter, and where the target was by then.
#[derive(Resource, Default)]
pub(crate) struct Hits(pub(crate) Vec<(f32, f32)>);

pub(crate) struct Arena;

impl Plugin for Arena {
    fn build(&self, app: &mut App) {
        app.add_plugins(TimePlugin).insert_resource(Time::<Fixed>::from_hz(60.0));
        app.replicate::<Avatar>().add_call::<Shot>(Delivery::Quickest).predict::<Runner>();
    }
}

pub(crate) fn game() -> Protocol<Vec2> {
    Protocol::new("bevy-server-decides", 1)
}

/// Gives every client an avatar.
pub(crate) fn seat(
    mut commands: Commands,
    joined: Query<(Entity, &RemoteClient), Added<RemoteClient>>,
    seats: Query<&ControlledBy>,
) {
    for (number, (client, remote)) in joined.iter().enumerate() {
        let at = Vec3::new(0.0, 5.0 * (seats.iter().count() + number) as f32, 0.0);
        let runner = Runner { at, velocity: Vec3::ZERO };
        let motion = DeadReckoned::within(0.05).facing(Facing::Course);
        let place = (Transform::from_translation(at), Velocity::default());
        commands.spawn((Avatar(remote.id.0), runner, ControlledBy(client), Hittable, motion, place));
    }
}

/// Removes the avatars of clients that have left.
pub(crate) fn clear(
    mut commands: Commands,
    mut left: MessageReader<ClientLeft>,
    seats: Query<(Entity, &ControlledBy)>,
) {
    for gone in left.read() {
        let seats = seats.iter().filter(|(_, by)| by.0 == gone.entity);
        seats.for_each(|(avatar, _)| commands.entity(avatar).despawn());
    }
}

/// A shot that passes within half a unit of where the shooter saw a target hits it.
pub(crate) fn judge(
    mut shots: MessageReader<Called<Shot>>,
    rewind: Res<Rewind>,
    mut runners: Query<(&mut Runner, &ControlledBy)>,
    mut hits: ResMut<Hits>,
) {
    for Called { value: Shot { aim, seen_at }, client, .. } in shots.read() {
        for target in rewind.seen(*seen_at) {
            let Ok((mut runner, by)) = runners.get_mut(target.entity) else { continue };
            let then = target.translation.distance(*aim);
            if Some(by.0) != *client && then < 0.5 {
                hits.0.push((then, runner.at.distance(*aim)));
                runner.at.y += 3.0;
            }
        }
    }
}

/// Shoots at another player's avatar, where it is drawn now.
pub(crate) fn shoot(
    time: Res<Time>,
    mut guns: Local<f32>,
    fairpath: Res<Fairpath>,
    others: Query<&Transform, (With<Avatar>, Without<Predicted>)>,
    mut calls: MessageWriter<Call<Shot>>,
) {
    *guns += time.delta_secs();
    if let (Some(target), Some(seen_at), true) = (others.iter().next(), fairpath.shared_now(), *guns > 0.7) {
        *guns = 0.0;
        calls.write(Call::to_server(Shot { aim: target.translation, seen_at }));
    }
}

/// Runs to and fro. A game reads the keyboard here.
pub(crate) fn run(time: Res<Time>, mut controls: ResMut<Controls<Runner>>) {
    controls.0.east = if time.elapsed_secs().rem_euclid(3.0) < 1.5 { 1 } else { -1 };
}

fn main() -> AppExit {
    let mut server = App::new();
    let plugin = FairpathServerPlugin::new(game()).listen("127.0.0.1:0").only_server_spawns();
    server
        .add_plugins((Arena, plugin))
        .init_resource::<Hits>()
        .add_systems(Update, (seat, clear, judge))
        .update();
    let ServerStatus::Listening { address, pin } = *server.world().resource() else {
        panic!("not listening")
    };
    let client = || {
        let mut app = App::new();
        app.add_plugins((Arena, FairpathClientPlugin::new(game()).join(address, pin)));
        #[cfg(feature = "conditioner")]
        app.insert_resource(bevy_fairpath::LinkConditioner::preset("intercontinental").expect("a preset"));
        app.add_systems(PreUpdate, run);
        app
    };
    let mut clients = [client(), client()];
    clients[0].add_systems(Update, shoot);
    for _ in 0..600 {
        server.update();
        clients.iter_mut().for_each(App::update);
        std::thread::sleep(std::time::Duration::from_millis(15));
    }
    for (then, now) in &server.world().resource::<Hits>().0 {
        println!("a shot passed {then:.2} from where the target was seen; it is {now:.2} away by then");
    }
    AppExit::Success
}
