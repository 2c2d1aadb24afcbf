//! renet: a message with every state on its unreliable channel, as its users send positions.

use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use ::fairpath::vector::Vec2;
use ::renet::{ConnectionConfig, DefaultChannel, RenetClient, RenetServer};
use fairpath_bench::{TankRecording, machine};
use renet_netcode::{
    ClientAuthentication, NetcodeClientTransport, NetcodeServerTransport, ServerAuthentication, ServerConfig,
};

use super::{ServerSide, ReceiverSide, any_port, since_1970};
use crate::roles::{ConnectInfo, RunTerms};
use crate::snapshot::{ReceivedStates, pack};

const PROTOCOL: u64 = 7;
/// What renet puts into one packet.
const MESSAGE_BYTES_MAX: usize = 1200;

pub(super) struct RenetServer {
    server: RenetServer,
    transport: NetcodeServerTransport,
    address: SocketAddr,
    updated_at: Duration,
}

impl RenetServer {
    pub(super) fn new(terms: &RunTerms) -> Self {
        let socket = UdpSocket::bind(any_port()).expect("the loopback has ports");
        let address = socket.local_addr().expect("it is bound");
        let config = ServerConfig {
            current_time: since_1970(),
            max_clients: terms.receivers,
            protocol_id: PROTOCOL,
            public_addresses: vec![address],
            authentication: ServerAuthentication::Unsecure,
        };
        Self {
            server: RenetServer::new(ConnectionConfig::default()),
            transport: NetcodeServerTransport::new(config, socket).expect("sockets can be that"),
            address,
            updated_at: machine::now(),
        }
    }
}

impl ServerSide for RenetServer {
    fn invitation(&self) -> (SocketAddr, String) {
        (self.address, String::new())
    }

    fn receivers(&mut self) -> usize {
        self.server.connected_clients()
    }

    fn tick(&mut self, scene: &TankRecording, _: Duration, at: Duration) {
        let elapsed = machine::now() - self.updated_at;
        self.updated_at += elapsed;
        self.server.update(elapsed);
        self.transport.update(elapsed, &mut self.server).expect("the loopback works");
        while self.server.get_event().is_some() {}
        for packet in pack(scene, at, MESSAGE_BYTES_MAX) {
            self.server.broadcast_message(DefaultChannel::Unreliable, packet);
        }
        self.transport.send_packets(&mut self.server);
    }
}

struct RenetReceiver {
    client: RenetClient,
    transport: NetcodeClientTransport,
    snapshot: ReceivedStates,
    updated_at: Duration,
}

pub(super) fn watch(terms: &RunTerms, invitation: &ConnectInfo, nth: u64) -> Box<dyn ReceiverSide> {
    let socket = UdpSocket::bind(any_port()).expect("the loopback has ports");
    let authentication = ClientAuthentication::Unsecure {
        protocol_id: PROTOCOL,
        client_id: nth + 1,
        server_addr: invitation.address,
        user_data: None,
    };
    let transport = NetcodeClientTransport::new(since_1970(), authentication, socket);
    Box::new(RenetReceiver {
        client: RenetClient::new(ConnectionConfig::default()),
        transport: transport.expect("a sound token"),
        snapshot: ReceivedStates::of(terms.tanks),
        updated_at: machine::now(),
    })
}

impl ReceiverSide for RenetReceiver {
    fn frame(&mut self, began: Duration, shown: &mut [Option<Vec2>]) -> Duration {
        let elapsed = machine::now() - self.updated_at;
        self.updated_at += elapsed;
        self.client.update(elapsed);
        // Who is sent away at the end hears of it here; until then it works.
        let _ = self.transport.update(elapsed, &mut self.client);
        while let Some(message) = self.client.receive_message(DefaultChannel::Unreliable) {
            self.snapshot.take(&message);
        }
        let _ = self.transport.send_packets(&mut self.client);
        let now = machine::now() - began;
        self.snapshot.show(now, shown);
        now
    }
}
