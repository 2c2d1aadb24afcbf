//! bevy_replicon on its renet backend: a component on every tank, replicated whenever it changes.

use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use ::fairpath::vector::Vec2;
use bevy::app::{App, PostUpdate};
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
use fairpath_bench::TankPaths;

use super::components::{ClientEntities, ServerEntities, TankId, TankMotion, TickTime};
use super::{ReceiverSide, ServerSide, any_port, since_1970};
use crate::roles::{ConnectInfo, Terms};

const PROTOCOL: u64 = 7;

/// Creates an app in which one update is one tick, and one tick is one message to every client.
fn app() -> App {
    let mut app = App::new();
    app.add_plugins((
        MinimalPlugins,
        StatesPlugin,
        RepliconPlugins.build().set(ServerPlugin::new(PostUpdate)),
        RepliconRenetPlugins,
    ));
    app.replicate_once::<TankId>().replicate::<TankMotion>().replicate::<TickTime>();
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
    entities: ServerEntities,
}

impl RepliconServer {
    pub(super) fn new(terms: &Terms) -> Self {
        let mut app = app();
        let socket = UdpSocket::bind(any_port()).expect("the loopback has a free port");
        let address = socket.local_addr().expect("the socket is bound");
        let config = ServerConfig {
            current_time: since_1970(),
            max_clients: terms.receivers,
            protocol_id: PROTOCOL,
            public_addresses: vec![address],
            authentication: ServerAuthentication::Unsecure,
        };
        let server = RenetServer::new(channels(&app));
        app.insert_resource(server);
        app.insert_resource(
            NetcodeServerTransport::new(config, socket).expect("UDP sockets can be non-blocking"),
        );
        let entities = ServerEntities::spawn(app.world_mut(), terms.tanks, || Replicated);
        Self { app, address, entities }
    }
}

impl ServerSide for RepliconServer {
    fn connect_info(&self) -> (SocketAddr, String) {
        (self.address, String::new())
    }

    fn receivers(&mut self) -> usize {
        let world = self.app.world_mut();
        world.query::<&AuthorizedClient>().iter(world).count()
    }

    fn tick(&mut self, paths: &TankPaths, _: Duration, at: Duration) {
        self.entities.update(self.app.world_mut(), paths, at);
        self.app.update();
    }
}

struct RepliconReceiver {
    app: App,
    entities: ClientEntities,
}

pub(super) fn receiver(terms: &Terms, info: &ConnectInfo, nth: u64) -> Box<dyn ReceiverSide> {
    let mut app = app();
    let socket = UdpSocket::bind(any_port()).expect("the loopback has a free port");
    let authentication = ClientAuthentication::Unsecure {
        protocol_id: PROTOCOL,
        client_id: nth + 1,
        server_addr: info.address,
        user_data: None,
    };
    let transport = NetcodeClientTransport::new(since_1970(), authentication, socket);
    let client = RenetClient::new(channels(&app));
    app.insert_resource(client);
    app.insert_resource(transport.expect("a valid token"));
    let entities = ClientEntities::new(app.world_mut(), terms.tanks);
    Box::new(RepliconReceiver { app, entities })
}

impl ReceiverSide for RepliconReceiver {
    fn frame(&mut self, began: Duration, shown: &mut [Option<Vec2>]) -> Duration {
        self.app.update();
        self.entities.show(self.app.world(), began, shown)
    }
}
