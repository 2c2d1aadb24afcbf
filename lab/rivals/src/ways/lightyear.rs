//! lightyear on UDP and netcode: a component on every tank, replicated whenever it changes.

use std::net::SocketAddr;
use std::time::Duration;

use ::fairpath::vector::Vec2;
use ::lightyear::prelude::client::{ClientPlugins, Connect, NetcodeClient, NetcodeConfig as ClientNetcode};
use ::lightyear::prelude::server::{
    NetcodeConfig as ServerNetcode, NetcodeServer, ServerPlugins, ServerUdpIo, Start,
};
use ::lightyear::prelude::{
    AppComponentExt, Authentication, Connected, Link, LinkOf, LocalAddr, NetworkTarget, Replicate,
    ReplicationReceiver, ReplicationSender, UdpIo,
};
use bevy::MinimalPlugins;
use bevy::app::App;
use bevy::ecs::component::Component;
use bevy::ecs::entity::Entity;
use bevy::ecs::lifecycle::Add;
use bevy::ecs::observer::On;
use bevy::ecs::query::{QueryState, With};
use bevy::ecs::system::Commands;
use bevy::state::app::StatesPlugin;
use bevy::time::TimeUpdateStrategy;
use fairpath_bench::{TankRecording, machine};
use serde::{Deserialize, Serialize};

use super::{ServerSide, ReceiverSide, any_port};
use crate::roles::{ConnectInfo, RunTerms};
use crate::snapshot::{ReceivedStates, spell};

/// Which tank it is; it never changes.
#[derive(Clone, Copy, Debug, PartialEq, Component, Serialize, Deserialize)]
struct Tank(u16);

/// Where it is and how it moves.
#[derive(Clone, Copy, Debug, PartialEq, Component, Serialize, Deserialize)]
struct Moving([f32; 4]);

/// When all that was sent in this tick was true, in microseconds; on an entity of its own.
#[derive(Clone, Copy, Debug, PartialEq, Component, Serialize, Deserialize)]
struct TickTime(u32);

fn protocol(app: &mut App) {
    app.component::<Tank>().replicate();
    app.component::<Moving>().replicate();
    app.component::<TickTime>().replicate();
}

pub(super) struct LightyearServer {
    app: App,
    address: SocketAddr,
    tanks: Vec<Entity>,
    time: Entity,
}

impl LightyearServer {
    pub(super) fn new(terms: &RunTerms) -> Self {
        let mut app = App::new();
        let tick_duration = Duration::from_secs_f64(1.0 / terms.hz);
        app.add_plugins((MinimalPlugins, StatesPlugin, ServerPlugins { tick_duration }));
        // One update is one tick, however late it comes: no tick without a message, and none with two.
        app.insert_resource(TimeUpdateStrategy::ManualDuration(tick_duration));
        protocol(&mut app);
        app.add_observer(|new: On<Add, LinkOf>, mut commands: Commands<'_, '_>| {
            commands.entity(new.entity).insert(ReplicationSender);
        });
        app.finish();
        app.cleanup();
        // The address in a token is the proxy's, where bytes are counted.
        let netcode = ServerNetcode { server_addr_check: false, ..ServerNetcode::default() };
        let io = (NetcodeServer::new(netcode), LocalAddr(any_port()), ServerUdpIo::default());
        let server = app.world_mut().spawn(io).id();
        app.world_mut().trigger(Start { entity: server });
        app.update();
        let address = app.world().get::<LocalAddr>(server).expect("it listens").0;
        let everybody = || Replicate::to_clients(NetworkTarget::All);
        let tanks = (0..terms.tanks)
            .map(|tank| app.world_mut().spawn((Tank(tank as u16), Moving([0.0; 4]), everybody())).id())
            .collect();
        let time = app.world_mut().spawn((TickTime(0), everybody())).id();
        Self { app, address, tanks, time }
    }
}

impl ServerSide for LightyearServer {
    fn invitation(&self) -> (SocketAddr, String) {
        (self.address, String::new())
    }

    fn receivers(&mut self) -> usize {
        let world = self.app.world_mut();
        world.query_filtered::<(), (With<LinkOf>, With<Connected>)>().iter(world).count()
    }

    fn tick(&mut self, scene: &TankRecording, _: Duration, at: Duration) {
        let world = self.app.world_mut();
        for (tank, entity) in self.tanks.iter().enumerate() {
            let mut moving = world.get_mut::<Moving>(*entity).expect("it was spawned");
            moving.0 = spell(scene, tank, at);
        }
        world.get_mut::<TickTime>(self.time).expect("it was spawned").0 = at.as_micros() as u32;
        self.app.update();
    }
}

struct LightyearReceiver {
    app: App,
    tanks: QueryState<(&'static Tank, &'static Moving)>,
    time: QueryState<&'static TickTime>,
    snapshot: ReceivedStates,
}

pub(super) fn watch(terms: &RunTerms, invitation: &ConnectInfo, nth: u64) -> Box<dyn ReceiverSide> {
    let mut app = App::new();
    let tick_duration = Duration::from_secs_f64(1.0 / terms.hz);
    app.add_plugins((MinimalPlugins, StatesPlugin, ClientPlugins { tick_duration }));
    protocol(&mut app);
    app.finish();
    app.cleanup();
    let authentication = Authentication::Manual {
        server_addr: invitation.address,
        client_id: nth + 1,
        private_key: [0; 32],
        protocol_id: 0,
    };
    let netcode = NetcodeClient::new(authentication, ClientNetcode::default()).expect("a sound token");
    let io = (Link::default(), UdpIo::default(), LocalAddr(any_port()), ReplicationReceiver, netcode);
    let client = app.world_mut().spawn(io).id();
    app.world_mut().trigger(Connect { entity: client });
    let (tanks, time) = (app.world_mut().query(), app.world_mut().query());
    Box::new(LightyearReceiver { app, tanks, time, snapshot: ReceivedStates::of(terms.tanks) })
}

impl ReceiverSide for LightyearReceiver {
    fn frame(&mut self, began: Duration, shown: &mut [Option<Vec2>]) -> Duration {
        let Self { app, tanks, time, snapshot } = self;
        app.update();
        let world = app.world();
        if let Some(TickTime(micros)) = time.iter(world).next() {
            let at = Duration::from_micros((*micros).into());
            for (Tank(tank), Moving(numbers)) in tanks.iter(world) {
                snapshot.learn(usize::from(*tank), at, *numbers);
            }
        }
        let now = machine::now() - began;
        snapshot.show(now, shown);
        now
    }
}
