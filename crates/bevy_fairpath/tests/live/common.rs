//! A server app and client apps in one thread, over real sockets, with a middleman between them.
#![allow(dead_code, reason = "each test uses a part of it")]

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use bevy_app::{App, FixedLast, Last};
use bevy_ecs::prelude::*;
use bevy_fairpath::prelude::*;
use bevy_fairpath::{Dimensions, FairpathServer};
use bevy_math::Vec3;
use bevy_time::{Fixed, Real, Time, TimePlugin, Virtual};
use bevy_transform::components::Transform;
use fairpath_net::middleman::{LinkConfig, Loss, Middleman, MiddlemanConfig};

/// Longer than anything takes, on a machine that is busy with other things.
pub(crate) const DEADLINE: Duration = Duration::from_secs(120);

/// 150 ms each way, and 5 % of the packets lost.
pub(crate) fn bad() -> LinkConfig {
    LinkConfig::default().delay(bevy_fairpath::fairpath::Span::from_millis(150)).loss(Loss::each(0.05))
}

pub(crate) struct Stage {
    pub(crate) server: App,
    pub(crate) clients: Vec<App>,
    pub(crate) middleman: Middleman,
    pin: Fingerprint,
}

impl Stage {
    /// Starts a server. `server` adds what the game has there, and the plugin without `listen`.
    pub(crate) fn new(link: LinkConfig, server: impl FnOnce(&mut App)) -> Self {
        let mut app = App::new();
        server(&mut app);
        if !app.is_plugin_added::<TimePlugin>() {
            app.add_plugins(TimePlugin);
        }
        app.update();
        let status = app.world().resource::<ServerStatus>().clone();
        let ServerStatus::Listening { address, pin } = status else { panic!("{status:?}") };
        let between = MiddlemanConfig::between("127.0.0.1:0".parse().unwrap(), address);
        let middleman = Middleman::start(between.both_ways(link)).unwrap();
        Self { server: app, clients: Vec::new(), middleman, pin }
    }

    /// Adds a client, which connects through the middleman.
    pub(crate) fn join(&mut self, client: impl FnOnce(&mut App)) -> usize {
        let mut app = App::new();
        client(&mut app);
        if !app.is_plugin_added::<TimePlugin>() {
            app.add_plugins(TimePlugin);
        }
        app.update();
        Join::server(self.middleman.address(), self.pin).apply(app.world_mut());
        self.clients.push(app);
        self.clients.len() - 1
    }

    /// Connects a client again that has left.
    pub(crate) fn rejoin(&mut self, index: usize) {
        Join::server(self.middleman.address(), self.pin).apply(self.clients[index].world_mut());
    }

    /// One frame of all apps.
    pub(crate) fn step(&mut self) {
        self.server.update();
        self.clients.iter_mut().for_each(App::update);
        std::thread::sleep(Duration::from_millis(4));
    }

    /// Runs until something is so. Panics at the deadline, and says what was waited for.
    pub(crate) fn until(&mut self, what: &str, mut is_so: impl FnMut(&mut Self) -> bool) {
        let began = Instant::now();
        while !is_so(self) {
            let warnings = |app: &App| format!("{:?}", app.world().resource::<FairpathWarnings>());
            assert!(
                began.elapsed() < DEADLINE,
                "{what}: not in time; server {}; clients {:?}",
                warnings(&self.server),
                self.clients.iter().map(warnings).collect::<Vec<_>>()
            );
            self.step();
        }
    }

    pub(crate) fn run_for(&mut self, secs: f64) {
        let began = Instant::now();
        while began.elapsed().as_secs_f64() < secs {
            self.step();
        }
    }

    pub(crate) fn until_connected(&mut self) {
        self.until("all clients connect", |stage| {
            stage.clients.iter_mut().all(|client| status(client) == Some(ConnectionStatus::Connected))
        });
    }

    pub(crate) fn client(&mut self, index: usize) -> &mut App {
        &mut self.clients[index]
    }
}

/// Sets a server up with a certificate that is not stored.
pub(crate) fn server_plugin<V: Dimensions>(game: Protocol<V>) -> FairpathServerPlugin<V> {
    let identity = Identity::local(&[]).unwrap();
    let plugin = FairpathServerPlugin::new(game).listen("127.0.0.1:0");
    plugin.configure(move |server| server.identity(identity.clone()))
}

/// The status of a client app's connection.
pub(crate) fn status(client: &mut App) -> Option<ConnectionStatus> {
    let world = client.world_mut();
    world.query_filtered::<&ConnectionStatus, With<LocalClient>>().iter(world).next().copied()
}

/// The entities with these components.
pub(crate) fn entities<F: bevy_ecs::query::QueryFilter>(app: &mut App) -> Vec<Entity> {
    let world = app.world_mut();
    world.query_filtered::<Entity, F>().iter(world).collect()
}

pub(crate) fn get<C: Component + Clone>(app: &App, entity: Entity) -> Option<C> {
    app.world().get::<C>(entity).cloned()
}

/// The shared ends of this process use one clock.
pub(crate) fn shared_now<V: Dimensions>(server: &App) -> i64 {
    server.world().resource::<FairpathServer<V>>().0.now().as_micros()
}

/// The true path of an entity: where it was after each tick or frame.
#[derive(Resource, Default)]
pub(crate) struct Truth(VecDeque<(Instant, Vec3)>);

/// Marks the entity whose path is recorded.
#[derive(Component)]
pub(crate) struct Witness;

impl Truth {
    /// Records the witness of an app that moves it in the fixed loop.
    pub(crate) fn in_ticks(app: &mut App) {
        app.init_resource::<Self>().add_systems(FixedLast, record_tick);
    }

    /// Records the witness of an app that moves it in every frame.
    pub(crate) fn in_frames(app: &mut App) {
        app.init_resource::<Self>().add_systems(Last, record_frame);
    }

    /// Where it was at an instant.
    pub(crate) fn at(&self, at: Instant) -> Option<Vec3> {
        let after = self.0.iter().position(|(then, _)| *then > at)?;
        let ((t0, from), (t1, to)) = (*self.0.get(after.checked_sub(1)?)?, self.0[after]);
        Some(from.lerp(to, (at - t0).as_secs_f32() / (t1 - t0).as_secs_f32()))
    }
}

fn record_tick(
    (real, fixed, running): (Res<Time<Real>>, Res<Time<Fixed>>, Res<Time<Virtual>>),
    witness: Query<&Transform, With<Witness>>,
    mut truth: ResMut<Truth>,
) {
    let (Some(updated), Ok(transform)) = (real.last_update(), witness.single()) else { return };
    let before = fixed.overstep().div_f64(running.effective_speed_f64().max(0.01));
    truth.0.push_back((updated - before, transform.translation));
}

fn record_frame(real: Res<Time<Real>>, witness: Query<&Transform, With<Witness>>, mut truth: ResMut<Truth>) {
    let (Some(updated), Ok(transform)) = (real.last_update(), witness.single()) else { return };
    truth.0.push_back((updated, transform.translation));
}

/// Errors of what a client draws.
#[derive(Default)]
pub(crate) struct Errors {
    waiting: Vec<(Instant, Vec3)>,
    errors: Vec<f32>,
}

impl Errors {
    /// Notes where a client draws the entity now.
    pub(crate) fn note(&mut self, client: &App, drawn: Vec3) {
        let at = client.world().resource::<Time<Real>>().last_update().unwrap();
        self.waiting.push((at, drawn));
    }

    /// Compares with the truth what can be compared by now.
    pub(crate) fn compare(&mut self, owner: &App) {
        let truth = owner.world().resource::<Truth>();
        self.waiting.retain(|(at, drawn)| match truth.at(*at) {
            Some(there) => {
                self.errors.push(there.distance(*drawn));
                false
            }
            None => true,
        });
    }

    pub(crate) fn count(&self) -> usize {
        self.errors.len()
    }

    /// The error that this share of the frames does not exceed.
    pub(crate) fn quantile(&mut self, share: f64) -> f32 {
        assert!(!self.errors.is_empty(), "nothing was compared");
        self.errors.sort_by(f32::total_cmp);
        self.errors[((self.errors.len() - 1) as f64 * share) as usize]
    }

    pub(crate) fn mean(&self) -> f32 {
        self.errors.iter().sum::<f32>() / self.errors.len() as f32
    }
}
