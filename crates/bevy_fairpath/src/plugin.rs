//! The plugins, the systems' order, and the resource that holds the session.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use bevy_app::{
    App, First, FixedFirst, FixedLast, FixedPreUpdate, Last, Plugin, PreUpdate, RunFixedMainLoop,
    RunFixedMainLoopSystems,
};
use bevy_ecs::prelude::*;
use bevy_time::{Real, Time, TimeSystems, TimeUpdateStrategy};
use fairpath::session::{ClientId, Party, Protocol};
use fairpath::{EntityId, SharedInstant};
use fairpath_net::{ClientBuilder, Fingerprint, NetClient, NetServer, ServerBuilder, Trust};

use crate::components::{ReplicatedId, classes};
use crate::connection::{
    ActionRefused, ClientLeft, ConnectionStatus, Join, LocalClient, OwnerChanged, ServerStatus,
};
use crate::diagnostics;
use crate::end::{ClientEnd, End, Micros, ServerEnd};
use crate::interest::{Interest, PluginInterceptor, PluginScope, SharedAudiences, collect_audiences};
use crate::observe::{self, FrameMarks};
use crate::place;
use crate::receive::{self, receive};
use crate::register::{Methods, Registry};
use crate::send::{CollectSystems, Gone, Outbox, note_dismissed, note_gone, send, stop_replicating};
use crate::space::Dimensions;
use crate::warnings::{FairpathWarnings, Misuse, warn};

/// The order of the plugin's systems. Game systems lie between [`Place`](Self::Place) and
/// [`Observe`](Self::Observe), wherever they are: in the fixed loop, `Update` or `PostUpdate`.
///
/// | set | schedule | what it does |
/// | --- | --- | --- |
/// | `Receive` | `PreUpdate` | events of the session: entities, components, calls, clients |
/// | `Place` | `PreUpdate`, `FixedPreUpdate` | `Transform` and [`Placed`](crate::Placed) of remote entities |
/// | `Observe` | `FixedLast`, `Last` | notes what the game moved, with the instant of the tick or frame |
/// | `Send` | `Last` | what was observed, changed, spawned, despawned and called |
#[derive(SystemSet, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FairpathSystems {
    /// Takes what has arrived.
    Receive,
    /// Moves remote entities.
    Place,
    /// Observes own entities.
    Observe,
    /// Sends.
    Send,
}

/// Makes an app the server of a session.
///
/// ```no_run
/// # use bevy_app::prelude::*;
/// use bevy_fairpath::prelude::*;
///
/// let game = Protocol::<Vec2>::new("asteroids", 1);
/// App::new()
///     // .add_plugins(MinimalPlugins), of `bevy`
///     .add_plugins(FairpathServerPlugin::new(game).listen("0.0.0.0:7777"))
///     .run();
/// ```
pub struct FairpathServerPlugin<V: Dimensions> {
    game: Protocol<V>,
    listen: Option<String>,
    interest: Interest,
    clients_spawn: bool,
    configure: Vec<Arc<Configure<ServerBuilder<V>>>>,
}

/// Makes an app a client of a session.
///
/// ```no_run
/// # use bevy_app::prelude::*;
/// use bevy_fairpath::prelude::*;
///
/// # fn run(pin: Fingerprint) {
/// let game = Protocol::<Vec2>::new("asteroids", 1);
/// App::new()
///     // .add_plugins(DefaultPlugins), of `bevy`
///     .add_plugins(FairpathClientPlugin::new(game).join("192.0.2.7:7777", pin))
///     .run();
/// # }
/// ```
pub struct FairpathClientPlugin<V: Dimensions> {
    game: Protocol<V>,
    join: Option<Join>,
    configure: Vec<Arc<Configure<ClientBuilder<V>>>>,
}

type Configure<B> = dyn Fn(B) -> B + Send + Sync;

impl<V: Dimensions> FairpathServerPlugin<V> {
    /// Returns a server of this game that starts with a [`Listen`](crate::Listen) command, or with
    /// [`listen`](Self::listen).
    ///
    /// The protocol says name, version and precision, and the dimensions by its type. Components
    /// and calls are registered in the app: see [`ReplicateAppExt`](crate::ReplicateAppExt).
    pub fn new(game: Protocol<V>) -> Self {
        let (listen, interest, configure) = (None, Interest::default(), Vec::new());
        Self { game, listen, interest, clients_spawn: true, configure }
    }

    /// Starts with the app, on this address. With port 0 the system chooses one: see
    /// [`ServerStatus`].
    #[must_use]
    pub fn listen(mut self, address: impl Into<String>) -> Self {
        self.listen = Some(address.into());
        self
    }

    /// Sets which entities a client sees, by distance. Default: all.
    /// [`Audience`](crate::Audience) makes exceptions.
    #[must_use]
    pub fn interest(mut self, interest: Interest) -> Self {
        self.interest = interest;
        self
    }

    /// Refuses entities that clients spawn: for games in which the server decides everything.
    #[must_use]
    pub fn only_server_spawns(mut self) -> Self {
        self.clients_spawn = false;
        self
    }

    /// Changes a setting of the server: certificate, scheduler, interceptors, admission, limits. It
    /// is called at every start. Do not set a scope: use [`interest`](Self::interest).
    ///
    /// ```
    /// # use bevy_fairpath::prelude::*;
    /// # let game = Protocol::<Vec2>::new("asteroids", 1);
    /// let plugin = FairpathServerPlugin::new(game)
    ///     .configure(|server| server.session(|config| config.clients_max = 200));
    /// ```
    #[must_use]
    pub fn configure(
        mut self,
        edit: impl Fn(ServerBuilder<V>) -> ServerBuilder<V> + Send + Sync + 'static,
    ) -> Self {
        self.configure.push(Arc::new(edit));
        self
    }
}

impl<V: Dimensions> FairpathClientPlugin<V> {
    /// Returns a client of this game that connects with a [`Join`] command, or with
    /// [`join`](Self::join). Use the same protocol as the server.
    pub fn new(game: Protocol<V>) -> Self {
        Self { game, join: None, configure: Vec::new() }
    }

    /// Connects with the app, to the server at this address whose certificate has this fingerprint.
    #[must_use]
    pub fn join(mut self, address: impl ToString, pin: Fingerprint) -> Self {
        self.join = Some(Join::server(address, pin));
        self
    }

    /// Changes a setting of the client: authentication, budget, transport. It is called for every
    /// [`Join`].
    #[must_use]
    pub fn configure(
        mut self,
        edit: impl Fn(ClientBuilder<V>) -> ClientBuilder<V> + Send + Sync + 'static,
    ) -> Self {
        self.configure.push(Arc::new(edit));
        self
    }
}

/// The running server, for what this crate has no component for. Inserted when it starts.
///
/// Do not poll its events: the plugin does.
#[derive(Resource, Clone)]
pub struct FairpathServer<V: Dimensions>(pub Arc<NetServer<V>>);

/// The running client, for what this crate has no component for. Inserted when it starts.
///
/// Do not poll its events: the plugin does.
#[derive(Resource, Clone)]
pub struct FairpathClient<V: Dimensions>(pub Arc<NetClient<V>>);

/// The session of this app.
#[derive(Resource)]
pub struct Fairpath {
    pub(crate) end: Option<Box<dyn End>>,
    pub(crate) is_server: bool,
    pub(crate) objects: BTreeMap<EntityId, Entity>,
    pub(crate) clients: BTreeMap<ClientId, Entity>,
    pub(crate) party: Option<Party>,
    pub(crate) is_ready: bool,
    pub(crate) has_session: bool,
    pub(crate) local_client: Option<Entity>,
    /// The instant of the frame, on the end's clock.
    pub(crate) frame_at: Option<Micros>,
    pub(crate) shared_at: Option<SharedInstant>,
    anchor: Option<(Instant, Micros)>,
    start: Arc<Starter>,
    /// Removes the typed resource of the end.
    forget: fn(&mut World),
    at_start: Option<Start>,
}

type Starter = dyn Fn(&mut World, Start) -> Result<(Box<dyn End>, Methods), String> + Send + Sync;

/// How an end starts.
#[derive(Clone, Debug)]
pub(crate) enum Start {
    Listen(String),
    Join(String, Fingerprint),
}

impl Fairpath {
    /// Returns the entity with this id, if it exists here.
    pub fn entity(&self, id: EntityId) -> Option<Entity> {
        self.objects.get(&id).copied()
    }

    /// Returns the entity of a client, at the server.
    pub fn client(&self, id: ClientId) -> Option<Entity> {
        self.clients.get(&id).copied()
    }

    /// Returns which peer this app is, once it has a session.
    pub fn party(&self) -> Option<Party> {
        self.party
    }

    /// Returns whether this app is the server.
    pub fn is_server(&self) -> bool {
        self.is_server
    }

    /// Returns whether entities can be replicated now: the server runs, or the client is connected.
    pub fn is_connected(&self) -> bool {
        self.is_ready
    }

    /// Returns the instant of the frame on the clock that all peers share, for countdowns and
    /// timetables; `None` before the first session.
    pub fn shared_now(&self) -> Option<SharedInstant> {
        self.shared_at
    }

    /// Starts an end, or says why not. Ends the one that runs.
    pub(crate) fn start(world: &mut World, how: Start) {
        let Some(fairpath) = world.get_resource::<Self>() else {
            let text = "cannot start a session: add FairpathServerPlugin or FairpathClientPlugin".to_owned();
            return warn(world, Misuse::CannotStart, text);
        };
        let (start, is_server) = (Arc::clone(&fairpath.start), fairpath.is_server);
        Self::stop(world);
        let started = start(world, how);
        if !is_server {
            let problem = None;
            let status = ConnectionStatus::Connecting { failed: 0, problem };
            let status = if started.is_ok() { status } else { ConnectionStatus::Ended { problem } };
            let entity = world.spawn((LocalClient, status)).id();
            world.resource_mut::<Self>().local_client = Some(entity);
        }
        let status = match &started {
            Ok((end, _)) => end.listening().map(|(address, pin)| ServerStatus::Listening { address, pin }),
            Err(problem) => Some(ServerStatus::Failed(problem.clone())),
        };
        if is_server {
            let status = status.unwrap_or_default();
            if let ServerStatus::Listening { address, pin } = &status {
                log::info!("listening on {address}; clients pin {pin}");
            }
            world.insert_resource(status);
        }
        match started {
            Ok((end, methods)) => {
                world.insert_resource(methods);
                let mut fairpath = world.resource_mut::<Self>();
                (fairpath.end, fairpath.anchor, fairpath.frame_at) = (Some(end), None, None);
            }
            Err(problem) => warn(world, Misuse::CannotStart, problem),
        }
    }

    /// Ends the session, if there is one.
    pub(crate) fn stop(world: &mut World) {
        receive::forget_session(world);
        let Some(mut fairpath) = world.get_resource_mut::<Self>() else { return };
        (fairpath.end, fairpath.frame_at, fairpath.shared_at) = (None, None, None);
        let forget = fairpath.forget;
        let entities: Vec<Entity> = fairpath
            .local_client
            .take()
            .into_iter()
            .chain(std::mem::take(&mut fairpath.clients).into_values())
            .collect();
        let is_server = fairpath.is_server;
        forget(world);
        for entity in entities {
            world.despawn(entity);
        }
        if is_server {
            world.insert_resource(ServerStatus::Stopped);
        }
    }
}

impl<V: Dimensions> Plugin for FairpathServerPlugin<V> {
    fn build(&self, app: &mut App) {
        let audiences = SharedAudiences::default();
        let (shared, game, interest) = (audiences.clone(), self.game.clone(), self.interest);
        let (clients_spawn, configure) = (self.clients_spawn, self.configure.clone());
        let start = move |world: &mut World, how: Start| {
            let Start::Listen(address) = how else {
                return Err("cannot join a server: this app has the FairpathServerPlugin".into());
            };
            let (game, methods) = complete(world, &game);
            let builder = NetServer::builder(&game)
                .scope(PluginScope::new(interest, shared.clone()))
                .interceptor(PluginInterceptor::new(shared.clone(), clients_spawn));
            let builder = configure.iter().fold(builder, |builder, edit| edit(builder));
            let server = builder.listen(address.as_str()).map_err(|error| error.to_string())?;
            let server = Arc::new(server);
            world.insert_resource(FairpathServer(Arc::clone(&server)));
            Ok((Box::new(ServerEnd(server)) as Box<dyn End>, methods))
        };
        let at_start = self.listen.clone().map(Start::Listen);
        let forget: fn(&mut World) = |world| _ = world.remove_resource::<FairpathServer<V>>();
        if build(app, "FairpathServerPlugin", true, Arc::new(start), forget, at_start) {
            crate::authority::build_server(app);
            app.insert_resource(audiences).init_resource::<ServerStatus>();
            app.add_systems(Last, collect_audiences.in_set(CollectSystems).in_set(FairpathSystems::Send));
        }
    }

    fn is_unique(&self) -> bool {
        false
    }
}

impl<V: Dimensions> Plugin for FairpathClientPlugin<V> {
    fn build(&self, app: &mut App) {
        let (game, configure) = (self.game.clone(), self.configure.clone());
        let start = move |world: &mut World, how: Start| {
            let Start::Join(address, pin) = how else {
                return Err("cannot listen: this app has the FairpathClientPlugin".into());
            };
            let (game, methods) = complete(world, &game);
            let builder = configure.iter().fold(NetClient::builder(&game), |builder, edit| edit(builder));
            #[cfg(feature = "conditioner")]
            let address = crate::conditioner::in_front_of(world, &address)?;
            let client = builder.join(address.as_str(), Trust::Pinned(vec![pin]));
            let client = Arc::new(client.map_err(|error| error.to_string())?);
            world.insert_resource(FairpathClient(Arc::clone(&client)));
            Ok((Box::new(ClientEnd(client)) as Box<dyn End>, methods))
        };
        let at_start = self.join.clone().map(Join::into_start);
        let forget: fn(&mut World) = |world| _ = world.remove_resource::<FairpathClient<V>>();
        if build(app, "FairpathClientPlugin", false, Arc::new(start), forget, at_start) {
            let drawing = (place::draw_between_ticks, observe::mark_frame).chain();
            app.add_systems(
                RunFixedMainLoop,
                (
                    place::restore_simulated.in_set(RunFixedMainLoopSystems::BeforeFixedMainLoop),
                    drawing.in_set(RunFixedMainLoopSystems::AfterFixedMainLoop),
                ),
            );
            #[cfg(feature = "conditioner")]
            crate::conditioner::build(app);
        }
    }

    fn is_unique(&self) -> bool {
        false
    }
}

/// Adds classes and calls to the protocol.
fn complete<V: Dimensions>(world: &mut World, game: &Protocol<V>) -> (Protocol<V>, Methods) {
    let mut registry = world.get_resource_or_init::<Registry>();
    registry.close();
    let game =
        classes().fold(game.clone(), |game, (id, class)| game.raw_class(id, registry.with_states(class)));
    let game = registry.with_calls(game);
    let methods = registry.methods(&game);
    (game, methods)
}

/// Adds what both ends have. Returns false if the app has an end already.
fn build(
    app: &mut App,
    name: &str,
    is_server: bool,
    start: Arc<Starter>,
    forget: fn(&mut World),
    at_start: Option<Start>,
) -> bool {
    if app.world().contains_resource::<Fairpath>() {
        let text = format!(
            "{name} is ignored: the app has a Fairpath plugin already. An app is one end of one session; run \
             server and client in two apps, of one process or two"
        );
        warn(app.world_mut(), Misuse::TwoPlugins, text);
        return false;
    }
    app.insert_resource(Fairpath {
        end: None,
        is_server,
        objects: BTreeMap::new(),
        clients: BTreeMap::new(),
        party: None,
        is_ready: false,
        has_session: false,
        local_client: None,
        frame_at: None,
        shared_at: None,
        anchor: None,
        start,
        forget,
        at_start,
    });
    app.init_resource::<Registry>()
        .init_resource::<FairpathWarnings>()
        .init_resource::<Outbox>()
        .init_resource::<Gone>()
        .init_resource::<FrameMarks>()
        .add_message::<ClientLeft>()
        .add_message::<OwnerChanged>()
        .add_message::<ActionRefused>()
        .add_observer(note_gone)
        .add_observer(note_dismissed)
        .add_observer(stop_replicating);
    app.configure_sets(PreUpdate, (FairpathSystems::Receive, FairpathSystems::Place).chain())
        .configure_sets(Last, (FairpathSystems::Observe, FairpathSystems::Send).chain())
        .add_systems(First, stamp_frame.after(TimeSystems))
        .add_systems(
            PreUpdate,
            (
                (start_at_first, receive).chain().in_set(FairpathSystems::Receive),
                place::place.in_set(FairpathSystems::Place),
            ),
        )
        .add_systems(FixedFirst, observe::mark_tick)
        .add_systems(FixedPreUpdate, place::place_at_tick.in_set(FairpathSystems::Place))
        .add_systems(FixedLast, observe::observe_tick.in_set(FairpathSystems::Observe))
        .add_systems(
            RunFixedMainLoop,
            place::place_at_frame.in_set(RunFixedMainLoopSystems::AfterFixedMainLoop),
        )
        .add_systems(
            Last,
            (
                observe::observe_frame.in_set(FairpathSystems::Observe),
                send.in_set(FairpathSystems::Send).after(CollectSystems),
            ),
        );
    if is_server {
        let mark = observe::mark_frame.in_set(RunFixedMainLoopSystems::AfterFixedMainLoop);
        app.add_systems(RunFixedMainLoop, mark);
    }
    diagnostics::build(app);
    true
}

/// Starts what the plugin was told to, in the first frame: all components are registered by then.
fn start_at_first(world: &mut World) {
    if let Some(how) = world.resource_mut::<Fairpath>().at_start.take() {
        Fairpath::start(world, how);
    }
}

/// Notes the instant of the frame on the session's clock. It is the instant of Bevy's `Time`, so
/// that the time between two frames is what the game simulates with.
fn stamp_frame(
    time: Option<Res<Time<Real>>>,
    strategy: Option<Res<TimeUpdateStrategy>>,
    mut fairpath: ResMut<Fairpath>,
    mut warnings: ResMut<FairpathWarnings>,
) {
    let Some(now) = fairpath.end.as_ref().map(|end| end.now()) else { return };
    if time.is_none() {
        warnings.once(Misuse::NoTime, 0, || {
            "the app has no Time: add MinimalPlugins, DefaultPlugins or TimePlugin before Fairpath's plugin".into()
        });
    }
    let is_real = strategy.is_some_and(|strategy| matches!(*strategy, TimeUpdateStrategy::Automatic));
    let updated = time.and_then(|time| time.last_update()).filter(|_| is_real);
    let at = updated.map_or(now, |updated| {
        let micros = |span: std::time::Duration| span.as_micros() as Micros;
        let measured = now - micros(updated.elapsed());
        let (anchor, then) = fairpath.anchor.unwrap_or((updated, measured));
        let predicted = then + micros(updated.saturating_duration_since(anchor));
        // Both clocks are the machine's: they differ by the time between two readings.
        let is_near = (predicted - measured).abs() < ANCHOR_ERROR_MAX_US;
        fairpath.anchor = Some(if is_near { (anchor, then) } else { (updated, measured) });
        if is_near { predicted } else { measured }
    });
    fairpath.frame_at = Some(fairpath.frame_at.map_or(at, |last| last.max(at)));
}

/// Beyond this the clocks are compared anew: more than a thread waits for the processor, less than
/// a player sees. 20 ms.
const ANCHOR_ERROR_MAX_US: Micros = 20_000;

impl Fairpath {
    /// Returns the id of a replicated entity.
    pub(crate) fn is_current(&self, entity: Entity, id: ReplicatedId) -> bool {
        self.objects.get(&id.0) == Some(&entity)
    }
}
