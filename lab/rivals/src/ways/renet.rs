//! renet: a message with every state on its unreliable channel, as its users send positions.

use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use ::fairpath::vector::Vec2;
use ::renet::{ConnectionConfig, DefaultChannel, RenetClient, RenetServer};
use fairpath_bench::{TankPaths, machine};
use renet_netcode::{
    ClientAuthentication, NetcodeClientTransport, NetcodeServerTransport, ServerAuthentication, ServerConfig,
};

use super::{ReceiverSide, ServerSide, any_port, since_1970};
use crate::roles::{ConnectInfo, Terms};
use crate::snapshot::{TankStates, pack};

const PROTOCOL: u64 = 7;
/// The bytes that renet puts into one packet.
const MESSAGE_BYTES_MAX: usize = 1200;

pub(super) struct RenetSnapshotServer {
    server: RenetServer,
    transport: NetcodeServerTransport,
    address: SocketAddr,
    updated_at: Duration,
}

impl RenetSnapshotServer {
    pub(super) fn new(terms: &Terms) -> Self {
        let socket = UdpSocket::bind(any_port()).expect("the loopback has a free port");
        let address = socket.local_addr().expect("the socket is bound");
        let config = ServerConfig {
            current_time: since_1970(),
            max_clients: terms.receivers,
            protocol_id: PROTOCOL,
            public_addresses: vec![address],
            authentication: ServerAuthentication::Unsecure,
        };
        Self {
            server: RenetServer::new(ConnectionConfig::default()),
            transport: NetcodeServerTransport::new(config, socket).expect("UDP sockets can be non-blocking"),
            address,
            updated_at: machine::now(),
        }
    }
}

impl ServerSide for RenetSnapshotServer {
    fn connect_info(&self) -> (SocketAddr, String) {
        (self.address, String::new())
    }

    fn receivers(&mut self) -> usize {
        self.server.connected_clients()
    }

    fn tick(&mut self, paths: &TankPaths, _: Duration, at: Duration) {
        let elapsed = machine::now() - self.updated_at;
        self.updated_at += elapsed;
        self.server.update(elapsed);
        self.transport.update(elapsed, &mut self.server).expect("the loopback accepts datagrams");
        while self.server.get_event().is_some() {}
        for packet in pack(paths, at, MESSAGE_BYTES_MAX) {
            self.server.broadcast_message(DefaultChannel::Unreliable, packet);
        }
        self.transport.send_packets(&mut self.server);
    }
}

struct RenetReceiver {
    client: RenetClient,
    transport: NetcodeClientTransport,
    snapshot: TankStates,
    updated_at: Duration,
}

pub(super) fn receiver(terms: &Terms, info: &ConnectInfo, nth: u64) -> Box<dyn ReceiverSide> {
    let socket = UdpSocket::bind(any_port()).expect("the loopback has a free port");
    let authentication = ClientAuthentication::Unsecure {
        protocol_id: PROTOCOL,
        client_id: nth + 1,
        server_addr: info.address,
        user_data: None,
    };
    let transport = NetcodeClientTransport::new(since_1970(), authentication, socket);
    Box::new(RenetReceiver {
        client: RenetClient::new(ConnectionConfig::default()),
        transport: transport.expect("a valid token"),
        snapshot: TankStates::of(terms.tanks),
        updated_at: machine::now(),
    })
}

impl ReceiverSide for RenetReceiver {
    fn frame(&mut self, began: Duration, shown: &mut [Option<Vec2>]) -> Duration {
        let elapsed = machine::now() - self.updated_at;
        self.updated_at += elapsed;
        self.client.update(elapsed);
        // A receiver that is disconnected at the end gets an error here. Until then the update
        // succeeds.
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
