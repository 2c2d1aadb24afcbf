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
use bevy::ecs::lifecycle::Add;
use bevy::ecs::observer::On;
use bevy::ecs::query::With;
use bevy::ecs::system::Commands;
use bevy::state::app::StatesPlugin;
use bevy::time::TimeUpdateStrategy;
use fairpath_bench::TankPaths;

use super::components::{ClientEntities, ServerEntities, TankId, TankMotion, TickTime};
use super::{ReceiverSide, ServerSide, any_port};
use crate::roles::{ConnectInfo, Terms};

fn protocol(app: &mut App) {
    app.component::<TankId>().replicate();
    app.component::<TankMotion>().replicate();
    app.component::<TickTime>().replicate();
}

pub(super) struct LightyearServer {
    app: App,
    address: SocketAddr,
    entities: ServerEntities,
}

impl LightyearServer {
    pub(super) fn new(terms: &Terms) -> Self {
        let mut app = App::new();
        let tick_duration = Duration::from_secs_f64(1.0 / terms.hz);
        app.add_plugins((MinimalPlugins, StatesPlugin, ServerPlugins { tick_duration }));
        // One update is one tick, even a late one: every tick sends exactly one message.
        app.insert_resource(TimeUpdateStrategy::ManualDuration(tick_duration));
        protocol(&mut app);
        app.add_observer(|new: On<Add, LinkOf>, mut commands: Commands<'_, '_>| {
            commands.entity(new.entity).insert(ReplicationSender);
        });
        app.finish();
        app.cleanup();
        // The token has the proxy's address, where bytes are counted.
        let netcode = ServerNetcode { server_addr_check: false, ..ServerNetcode::default() };
        let io = (NetcodeServer::new(netcode), LocalAddr(any_port()), ServerUdpIo::default());
        let server = app.world_mut().spawn(io).id();
        app.world_mut().trigger(Start { entity: server });
        app.update();
        let address = app.world().get::<LocalAddr>(server).expect("the server listens").0;
        let to_all = || Replicate::to_clients(NetworkTarget::All);
        let entities = ServerEntities::spawn(app.world_mut(), terms.tanks, to_all);
        Self { app, address, entities }
    }
}

impl ServerSide for LightyearServer {
    fn connect_info(&self) -> (SocketAddr, String) {
        (self.address, String::new())
    }

    fn receivers(&mut self) -> usize {
        let world = self.app.world_mut();
        world.query_filtered::<(), (With<LinkOf>, With<Connected>)>().iter(world).count()
    }

    fn tick(&mut self, paths: &TankPaths, _: Duration, at: Duration) {
        self.entities.update(self.app.world_mut(), paths, at);
        self.app.update();
    }
}

struct LightyearReceiver {
    app: App,
    entities: ClientEntities,
}

pub(super) fn receiver(terms: &Terms, info: &ConnectInfo, nth: u64) -> Box<dyn ReceiverSide> {
    let mut app = App::new();
    let tick_duration = Duration::from_secs_f64(1.0 / terms.hz);
    app.add_plugins((MinimalPlugins, StatesPlugin, ClientPlugins { tick_duration }));
    protocol(&mut app);
    app.finish();
    app.cleanup();
    let authentication = Authentication::Manual {
        server_addr: info.address,
        client_id: nth + 1,
        private_key: [0; 32],
        protocol_id: 0,
    };
    let netcode = NetcodeClient::new(authentication, ClientNetcode::default()).expect("a valid token");
    let io = (Link::default(), UdpIo::default(), LocalAddr(any_port()), ReplicationReceiver, netcode);
    let client = app.world_mut().spawn(io).id();
    app.world_mut().trigger(Connect { entity: client });
    let entities = ClientEntities::new(app.world_mut(), terms.tanks);
    Box::new(LightyearReceiver { app, entities })
}

impl ReceiverSide for LightyearReceiver {
    fn frame(&mut self, began: Duration, shown: &mut [Option<Vec2>]) -> Duration {
        self.app.update();
        self.entities.show(self.app.world(), began, shown)
    }
}
