//! Step 2: a whole game, with ships, bullets, scores and chat.
//!
//! Clients own their ships and bullets. The server judges hits, counts points and passes chat on. A
//! client sees what is within 300 units. The second player's packets take 150 ms each way, and 5 %
//! are lost.
//!
//! `cargo run --features conditioner --example asteroids`

use std::f32::consts::PI;
use std::time::Duration;

use bevy_app::{App, AppExit, FixedUpdate, Plugin, Startup, Update};
use bevy_ecs::prelude::*;
use bevy_fairpath::prelude::*;
use bevy_math::{EulerRot, Vec3};
use bevy_time::{Fixed, Time, TimePlugin, Timer, TimerMode};
use bevy_transform::components::Transform;
use serde::{Deserialize, Serialize};

// ── shared by server and clients ──

#[derive(Component, Clone, Serialize, Deserialize)]
pub(crate) struct Ship {
    pub(crate) name: String,
}

#[derive(Component, Serialize, Deserialize)]
pub(crate) struct Bullet;

#[derive(Component, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Score(pub(crate) u32);

#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Chat(pub(crate) String);

pub(crate) struct Asteroids;

impl Plugin for Asteroids {
    fn build(&self, app: &mut App) {
        app.add_plugins(TimePlugin).insert_resource(Time::<Fixed>::from_hz(60.0));
        app.replicate::<Ship>().replicate::<Bullet>().replicate_from_server::<Score>();
        app.add_call::<Chat>(Delivery::ReliableOrdered);
    }
}

pub(crate) fn game() -> Protocol<Vec2> {
    Protocol::new("bevy-asteroids", 1)
}

// ── the server ──

pub(crate) fn server(app: &mut App) {
    let view = Interest::Within { enter: 300.0, leave: 330.0 };
    app.add_plugins(FairpathServerPlugin::new(game()).listen("127.0.0.1:0").interest(view));
    app.add_systems(Update, (judge, pass_on));
}

/// A bullet that is near a ship of another player hits it.
pub(crate) fn judge(
    mut commands: Commands,
    bullets: Query<(Entity, &Placed, &Owner), With<Bullet>>,
    ships: Query<(Entity, &Placed, &Owner, Option<&Score>), With<Ship>>,
) {
    for (bullet, at, shooter) in &bullets {
        let is_hit = |target: &(Entity, &Placed, &Owner, Option<&Score>)| {
            target.2 != shooter && target.1.translation.distance(at.translation) < 8.0
        };
        if !ships.iter().any(|ship| is_hit(&ship)) {
            continue;
        }
        commands.entity(bullet).despawn();
        if let Some((ship, _, _, score)) = ships.iter().find(|ship| ship.2 == shooter) {
            commands.entity(ship).insert(Score(score.map_or(0, |score| score.0) + 1));
        }
    }
}

pub(crate) fn pass_on(mut heard: MessageReader<Called<Chat>>, mut calls: MessageWriter<Call<Chat>>) {
    for chat in heard.read() {
        calls.write(Call::to_all(chat.value.clone()));
    }
}

// ── a client ──

/// What a pilot does: thrusts for a while, coasts for a while, each towards a new goal.
#[derive(Component)]
pub(crate) struct Pilot {
    thrusts: bool,
    secs_left: f32,
    course: f32,
    turns: u32,
    pub(crate) guns: Timer,
}

/// When a bullet ends.
#[derive(Component)]
pub(crate) struct Fuse(Timer);

/// A client of the player with this name. The number is the player's: each flies elsewhere.
pub(crate) fn client(name: &'static str, number: u32) -> impl Fn(&mut App) {
    move |app: &mut App| {
        let ship = Ship { name: name.to_owned() };
        let start = Vec3::new(40.0 * number as f32, 0.0, 0.0);
        app.add_systems(Startup, move |mut commands: Commands| {
            let guns = Timer::from_seconds(1.2, TimerMode::Repeating);
            let pilot = Pilot { thrusts: false, secs_left: 0.0, course: 0.0, turns: number, guns };
            let motion = DeadReckoned {
                within: 0.2,
                model: Model::Quadratic,
                facing: Facing::Within(0.3),
                course_within: Some(0.01),
                ..DeadReckoned::default()
            };
            let place = Transform::from_translation(start);
            commands.spawn((ship.clone(), pilot, motion, place, Velocity::default()));
        });
        app.add_systems(FixedUpdate, (steer, fire, burn).chain());
        app.add_systems(Update, greet);
    }
}

/// Flies about with at most 60 u/s and 80 u/s².
fn steer(time: Res<Time>, mut ships: Query<(&mut Transform, &mut Velocity, &mut Pilot)>) {
    let secs = time.delta_secs();
    for (mut transform, mut velocity, mut pilot) in &mut ships {
        pilot.secs_left -= secs;
        if pilot.secs_left < 0.0 {
            pilot.thrusts = !pilot.thrusts;
            pilot.turns += 1;
            pilot.secs_left = if pilot.thrusts { 0.4 } else { 2.5 + 0.3 * (pilot.turns % 5) as f32 };
            let goal = bevy_math::Vec2::from_angle(2.4 * pilot.turns as f32) * 120.0;
            pilot.course = (goal - transform.translation.truncate()).to_angle();
        }
        let nose = transform.rotation.to_euler(EulerRot::ZYX).0;
        let turn = (pilot.course - nose + PI).rem_euclid(2.0 * PI) - PI;
        transform.rotate_z(turn.clamp(-4.0 * secs, 4.0 * secs));
        let push = if pilot.thrusts { transform.rotation * Vec3::X * 80.0 } else { velocity.0 * -0.5 };
        let reached = (velocity.0 + push * secs).clamp_length_max(60.0);
        transform.translation += (velocity.0 + reached) * (0.5 * secs);
        velocity.0 = reached;
    }
}

/// Shoots at the nearest other ship, where it is.
fn fire(
    mut commands: Commands,
    time: Res<Time>,
    mut own: Query<(&Transform, &mut Pilot)>,
    others: Query<&Placed, With<Ship>>,
) {
    for (transform, mut pilot) in &mut own {
        let from = transform.translation;
        let far = |other: &&Placed| (other.translation.distance(from) * 100.0) as i64;
        let Some(target) = others.iter().min_by_key(far) else { continue };
        if pilot.guns.tick(time.delta()).just_finished() {
            let way = target.translation - from.with_z(0.0);
            let velocity = Velocity(way.normalize_or_zero() * 300.0);
            let fuse = Fuse(Timer::from_seconds(1.0, TimerMode::Once));
            let motion = DeadReckoned::within(0.2).facing(Facing::Course);
            commands.spawn((Bullet, fuse, motion, velocity, Transform::from_translation(from)));
        }
    }
}

/// Bullets fly, and end after a second.
fn burn(
    mut commands: Commands,
    time: Res<Time>,
    mut bullets: Query<(Entity, &mut Transform, &Velocity, &mut Fuse)>,
) {
    for (bullet, mut transform, velocity, mut fuse) in &mut bullets {
        transform.translation += velocity.0 * time.delta_secs();
        if fuse.0.tick(time.delta()).is_finished() {
            commands.entity(bullet).despawn();
        }
    }
}

fn greet(
    connections: Query<&ConnectionStatus, Changed<ConnectionStatus>>,
    ships: Query<&Ship, With<Pilot>>,
    mut calls: MessageWriter<Call<Chat>>,
) {
    if connections.iter().any(|status| status.is_connected()) {
        ships
            .iter()
            .for_each(|ship| _ = calls.write(Call::to_server(Chat(format!("{} is here", ship.name)))));
    }
}

fn main() -> AppExit {
    let mut arena = App::new();
    arena.add_plugins((Asteroids, server)).update();
    let ServerStatus::Listening { address, pin } = *arena.world().resource() else { panic!("not listening") };
    let mut players: Vec<App> = [("Anna", "lan"), ("Ben", "intercontinental")]
        .into_iter()
        .zip(1..)
        .map(|((name, link), number)| {
            let mut app = App::new();
            app.add_plugins((Asteroids, FairpathClientPlugin::new(game()).join(address, pin)));
            app.add_plugins(client(name, number));
            #[cfg(feature = "conditioner")]
            app.insert_resource(bevy_fairpath::LinkConditioner::preset(link).expect("a preset"));
            app.add_systems(Update, move |mut heard: MessageReader<Called<Chat>>| {
                heard.read().for_each(|chat| println!("{name} reads over {link}: {}", chat.value.0));
            });
            app
        })
        .collect();
    for frame in 0..600 {
        arena.update();
        players.iter_mut().for_each(App::update);
        std::thread::sleep(Duration::from_millis(15));
        if frame % 60 == 59 {
            println!("the first player sees{}", scene(&mut players[0]));
        }
    }
    AppExit::Success
}

fn scene(app: &mut App) -> String {
    let world = app.world_mut();
    let mut ships = world.query::<(&Ship, &Transform, Option<&Score>)>();
    let ships = ships.iter(world).map(|(ship, drawn, score)| {
        let at = drawn.translation.truncate();
        format!(" {} ({}) at {at:.0}", ship.name, score.map_or(0, |score| score.0))
    });
    ships.collect()
}
