//! Fairpath: sessions with ledgers, receipts and a scheduler, on QUIC and sealed datagrams.

use std::net::SocketAddr;
use std::time::Duration;

use ::fairpath::schedule::{Broadcast, ErrorIndex, ErrorIndexConfig, Scheduler};
use ::fairpath::session::{Class, ClassId, Client, ClientConfig, Protocol, ServerConfig};
use ::fairpath::time::Span;
use ::fairpath::vector::{Vec2, Vec3};
use ::fairpath::wire::{Precision, PrecisionSettings};
use ::fairpath::{EntityId, MotionKind, Trigger};
use fairpath_bench::{TankPaths, machine};
use fairpath_net::{
    Carrier, Identity, NetClient, NetClientConfig, NetServer, NetServerConfig, Trust, new_epoch,
    unguessable_random,
};

use super::{ReceiverSide, ServerSide, any_port};
use crate::roles::{ConnectInfo, Terms};

const TANK: ClassId = ClassId(0);
/// Tanks drive straight or in circles.
pub(super) const MODEL: MotionKind = MotionKind::Circular;
/// The error at which a receiver is sent a new DR vector.
const THRESHOLD: f64 = 0.3;

/// The default trigger, with a heartbeat: a replica that hears nothing new for three seconds
/// freezes.
pub(super) fn trigger() -> Trigger {
    Trigger::within(THRESHOLD)
}

/// The interval of bundled datagrams: a little less than three ticks, so that every third tick
/// takes along what has come due.
pub(super) const BUNDLE: Span = Span::from_millis(95);

/// A precision far below the threshold, in a world that has room for this many tanks.
pub(super) fn precision(tanks: usize) -> Precision {
    let corner = TankPaths::reach(tanks);
    let settings = PrecisionSettings {
        position_step: 0.05,
        world_min: Vec3::new(-corner, -corner, 0.0),
        world_max: Vec3::new(corner, corner, 1.0),
        velocity_step: 0.05,
        velocity_limit: 25.6,
        angle_steps: 2048,
        turn_rate_step: 0.005,
        turn_rate_limit: 0.8,
        ..PrecisionSettings::default()
    };
    Precision::new(settings).expect("valid precision settings")
}

fn protocol(tanks: usize) -> Protocol<Vec2> {
    let class = Class::new(trigger()).with_model(MODEL);
    Protocol::new("fan-out", 1).raw_class(TANK, class).with_precision(precision(tanks))
}

pub(super) struct FairpathServer {
    server: NetServer<Vec2>,
    objects: Vec<EntityId>,
}

impl FairpathServer {
    /// Sends every due DR vector to every receiver.
    pub(super) fn broadcast(terms: &Terms) -> Self {
        Self::new(terms, Span::ZERO, Box::new(Broadcast))
    }

    /// The same, in every third tick.
    pub(super) fn bundled(terms: &Terms) -> Self {
        Self::new(terms, BUNDLE, Box::new(Broadcast))
    }

    /// Fairpath's error-index scheduler, with a budget that suffices for every receiver.
    pub(super) fn error_index(terms: &Terms) -> Self {
        Self::with_error_index(terms, terms.receivers as f64)
    }

    /// The same, with a budget for a third of the receivers: the scheduler has to choose.
    pub(super) fn error_index_bound(terms: &Terms) -> Self {
        Self::with_error_index(terms, terms.receivers as f64 / 3.0)
    }

    /// The budget is in DR vectors per trigger.
    fn with_error_index(terms: &Terms, budget: f64) -> Self {
        Self::new(terms, Span::ZERO, Box::new(ErrorIndex::new(ErrorIndexConfig::new(budget))))
    }

    fn new(terms: &Terms, datagram_every: Span, scheduler: Box<dyn Scheduler<Vec2>>) -> Self {
        let config = ServerConfig {
            clients_max: terms.receivers,
            datagram_every,
            ..ServerConfig::new(protocol(terms.tanks), new_epoch())
        };
        let session = ::fairpath::session::Server::new(config, scheduler, unguessable_random());
        let mut net = NetServerConfig::new(any_port(), Identity::local(&[]).expect("a certificate"));
        // All receivers come from one address, and at once.
        net.limits.per_address_max = terms.receivers;
        net.limits.per_address_burst = 2 * terms.receivers as u32;
        net.limits.handshakes_max = 4 * terms.receivers;
        let server = NetServer::bind(net, session).expect("the loopback has a free port");
        let create = |tank: usize| {
            server.with_session(|session, now| {
                session.create(TANK, &(tank as u16).to_le_bytes(), now).expect("the class has room")
            })
        };
        let objects = (0..terms.tanks).map(create).collect();
        Self { server, objects }
    }
}

impl ServerSide for FairpathServer {
    fn connect_info(&self) -> (SocketAddr, String) {
        (self.server.address(), self.server.fingerprint().to_string())
    }

    fn receivers(&mut self) -> usize {
        self.server.with_session(|session, _| session.clients().count())
    }

    fn tick(&mut self, paths: &TankPaths, before: Duration, at: Duration) {
        self.server.with_session(|session, now| {
            while session.poll_event().is_some() {}
            for (tank, object) in self.objects.iter().enumerate() {
                session.observe(*object, paths.observe(tank, before, at), now).expect("its own tank");
            }
        });
    }

    fn vectors(&self) -> Option<u64> {
        let peers = self.server.status();
        Some(peers.iter().filter_map(|peer| peer.session.as_ref()).map(|session| session.vectors_sent).sum())
    }
}

struct FairpathReceiver {
    client: NetClient<Vec2>,
    objects: Vec<Option<EntityId>>,
}

/// Receives sealed datagrams, as clients do by default.
pub(super) fn receiver(terms: &Terms, info: &ConnectInfo, _: u64) -> Box<dyn ReceiverSide> {
    connect(terms, info, Carrier::Sealed)
}

/// Receives QUIC datagrams only, as clients do where a network does not carry sealed ones.
pub(super) fn receiver_of_quic(terms: &Terms, info: &ConnectInfo, _: u64) -> Box<dyn ReceiverSide> {
    connect(terms, info, Carrier::QuicOnly)
}

fn connect(terms: &Terms, info: &ConnectInfo, carrier: Carrier) -> Box<dyn ReceiverSide> {
    let pin = info.proof.parse().expect("a fingerprint");
    let session = Client::new(ClientConfig::new(protocol(terms.tanks)), unguessable_random());
    let net = NetClientConfig { carrier, ..NetClientConfig::new(Trust::Pinned(vec![pin])) };
    let client = NetClient::connect(info.address, net, session).expect("a socket opens");
    Box::new(FairpathReceiver { client, objects: vec![None; terms.tanks] })
}

impl ReceiverSide for FairpathReceiver {
    fn frame(&mut self, began: Duration, shown: &mut [Option<Vec2>]) -> Duration {
        let Self { client, objects } = self;
        client.with_session(|session, local| {
            while session.poll_event().is_some() {}
            if objects.contains(&None) {
                find_tanks(session, objects);
            }
            let now = machine::now() - began;
            for (object, shown) in objects.iter().zip(shown) {
                *shown = object.and_then(|object| Some(session.place(object, local)?.position));
            }
            now
        })
    }

    fn leave(self: Box<Self>) {
        self.client.leave(Duration::from_millis(100));
    }
}

/// Finds the object of each tank by its creation bytes.
fn find_tanks(session: &Client<Vec2>, objects: &mut [Option<EntityId>]) {
    for object in session.objects() {
        let tank = session.creation(object).and_then(|bytes| bytes.try_into().ok());
        if let Some(tank) = tank.map(u16::from_le_bytes) {
            objects[usize::from(tank)] = Some(object);
        }
    }
}
