//! bevy_replicon on its renet backend: a component on every tank, replicated whenever it changes.

use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use ::fairpath::vector::Vec2;
use bevy::app::{App, PostUpdate};
use bevy::ecs::component::Component;
use bevy::ecs::entity::Entity;
use bevy::ecs::query::QueryState;
use bevy::state::app::StatesPlugin;
use bevy::{MinimalPlugins, app::PluginGroup};
use bevy_replicon::prelude::{
    AppRuleExt, AuthorizedClient, Replicated, RepliconChannels, RepliconPlugins, ServerPlugin,
};
use bevy_replicon_renet::netcode::{
    ClientAuthentication, NetcodeClientTransport, NetcodeServerTransport, ServerAuthentication, ServerConfig,
};
use bevy_replicon_renet::renet::ConnectionConfig;
use bevy_replicon_renet::{RenetChannelsExt, RenetClient, RenetServer, RepliconRenetPlugins};
use fairpath_bench::{TankRecording, machine};
use serde::{Deserialize, Serialize};

use super::{ServerSide, ReceiverSide, any_port, since_1970};
use crate::roles::{ConnectInfo, RunTerms};
use crate::snapshot::{ReceivedStates, spell};

const PROTOCOL: u64 = 7;

/// Which tank it is; told once.
#[derive(Clone, Copy, Debug, Component, Serialize, Deserialize)]
struct Tank(u16);

/// Where it is and how it moves.
#[derive(Clone, Copy, Debug, Component, Serialize, Deserialize)]
struct Moving([f32; 4]);

/// When all that was sent in this tick was true, in microseconds; on an entity of its own.
#[derive(Clone, Copy, Debug, Component, Serialize, Deserialize)]
struct TickTime(u32);

/// One update is one tick, and one tick is one message to everybody.
fn app() -> App {
    let mut app = App::new();
    app.add_plugins((
        MinimalPlugins,
        StatesPlugin,
        RepliconPlugins.build().set(ServerPlugin::new(PostUpdate)),
        RepliconRenetPlugins,
    ));
    app.replicate_once::<Tank>().replicate::<Moving>().replicate::<TickTime>();
    app.finish();
    app.cleanup();
    app
}

fn channels(app: &App) -> ConnectionConfig {
    let channels = app.world().resource::<RepliconChannels>();
    ConnectionConfig {
        server_channels_config: channels.server_configs(),
        client_channels_config: channels.client_configs(),
        ..Default::default()
    }
}

pub(super) struct RepliconServer {
    app: App,
    address: SocketAddr,
    tanks: Vec<Entity>,
    time: Entity,
}

impl RepliconServer {
    pub(super) fn new(terms: &RunTerms) -> Self {
        let mut app = app();
        let socket = UdpSocket::bind(any_port()).expect("the loopback has ports");
        let address = socket.local_addr().expect("it is bound");
        let config = ServerConfig {
            current_time: since_1970(),
            max_clients: terms.receivers,
            protocol_id: PROTOCOL,
            public_addresses: vec![address],
            authentication: ServerAuthentication::Unsecure,
        };
        let server = RenetServer::new(channels(&app));
        app.insert_resource(server);
        app.insert_resource(NetcodeServerTransport::new(config, socket).expect("sockets can be that"));
        let tanks = (0..terms.tanks)
            .map(|tank| app.world_mut().spawn((Replicated, Tank(tank as u16), Moving([0.0; 4]))).id())
            .collect();
        let time = app.world_mut().spawn((Replicated, TickTime(0))).id();
        Self { app, address, tanks, time }
    }
}

impl ServerSide for RepliconServer {
    fn invitation(&self) -> (SocketAddr, String) {
        (self.address, String::new())
    }

    fn receivers(&mut self) -> usize {
        let world = self.app.world_mut();
        world.query::<&AuthorizedClient>().iter(world).count()
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

struct RepliconReceiver {
    app: App,
    tanks: QueryState<(&'static Tank, &'static Moving)>,
    time: QueryState<&'static TickTime>,
    snapshot: ReceivedStates,
}

pub(super) fn watch(terms: &RunTerms, invitation: &ConnectInfo, nth: u64) -> Box<dyn ReceiverSide> {
    let mut app = app();
    let socket = UdpSocket::bind(any_port()).expect("the loopback has ports");
    let authentication = ClientAuthentication::Unsecure {
        protocol_id: PROTOCOL,
        client_id: nth + 1,
        server_addr: invitation.address,
        user_data: None,
    };
    let transport = NetcodeClientTransport::new(since_1970(), authentication, socket);
    let client = RenetClient::new(channels(&app));
    app.insert_resource(client);
    app.insert_resource(transport.expect("a sound token"));
    let (tanks, time) = (app.world_mut().query(), app.world_mut().query());
    Box::new(RepliconReceiver { app, tanks, time, snapshot: ReceivedStates::of(terms.tanks) })
}

impl ReceiverSide for RepliconReceiver {
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
