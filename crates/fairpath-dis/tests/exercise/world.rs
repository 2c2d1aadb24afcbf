//! Two gateways of one session, each on a network of its own, in virtual time.

use fairpath::random::Random;
use fairpath::schedule::Broadcast;
use fairpath::session::{Client, Server};
use fairpath::time::{SharedInstant, Span};
use fairpath::{LocalInstant, Vec3};
use fairpath_dis::pdu::{EntityState, Pdu, kind};
use fairpath_dis::stamp::Instants;
use fairpath_dis::{Exchange, Fineness, Gateway, GatewayConfig, relay};
use fairpath_sim::{LinkConfig, SessionWorld};

/// A round number of hours, so that the exercise can cross one.
pub(super) const NOON_US: i64 = 472_222 * 3_600_000_000;

pub(super) struct World {
    pub(super) session: SessionWorld<Vec3>,
    pub(super) gateways: Vec<Gateway>,
    /// What each gateway has sent to its network, with the instant of the sending.
    pub(super) heard: Vec<Vec<Heard>>,
    /// UTC at the session's zero.
    pub(super) noon_us: i64,
}

/// A PDU that a gateway has sent.
#[derive(Clone)]
pub(super) struct Heard {
    pub(super) at: SharedInstant,
    pub(super) bytes: Vec<u8>,
    /// The start of the DR vector that it was made from.
    pub(super) generated_at: Option<SharedInstant>,
}

pub(super) fn exchange(fineness: Fineness) -> Exchange {
    Exchange { origin: "48.1,11.6,520".parse().expect("a place"), fineness }
}

impl World {
    pub(super) fn new(link: LinkConfig, fineness: Fineness, configs: Vec<GatewayConfig>) -> Self {
        let exchange = exchange(fineness);
        let protocol = exchange.protocol();
        let config = exchange.server_config(protocol.clone(), 1);
        let server = Server::new(config, Box::new(Broadcast), Random::from_seed(1));
        let client = |seed: usize| {
            Client::new(exchange.client_config(protocol.clone()), Random::from_seed(seed as u64 + 10))
        };
        let clients = (0..configs.len()).map(client).collect();
        let mut session = SessionWorld::new(7, link, server, clients);
        session.connect_all();
        let heard = vec![Vec::new(); configs.len()];
        let gateways = configs.into_iter().map(|config| Gateway::new(config, &exchange)).collect();
        Self { session, gateways, heard, noon_us: NOON_US }
    }

    pub(super) fn now(&self) -> SharedInstant {
        self.session.now()
    }

    /// UTC of an instant.
    pub(super) fn utc_us(&self, at: SharedInstant) -> i64 {
        self.noon_us + at.as_micros()
    }

    /// The first two machines have good clocks, the others are off by 137 µs: two gateways that
    /// serve one network do not write the same bytes.
    fn instants(&self, index: usize, local: LocalInstant) -> Instants {
        Instants { local, unix_us: self.utc_us(self.now()) + index as i64 / 2 * 137 }
    }

    /// Delivers a datagram of network `index` to its gateway.
    pub(super) fn hear(&mut self, index: usize, bytes: &[u8]) {
        let local = self.session.client_now(index).1;
        let now = self.instants(index, local);
        self.gateways[index].handle_datagram(bytes, now, &mut self.session.client_frame(index));
    }

    /// Runs for a while. `step` is called 60 times a second, before the gateways' frames.
    pub(super) fn run_for(&mut self, span: Span, mut step: impl FnMut(&mut Self)) {
        let until = self.now() + span;
        while self.now() < until {
            self.session.run_for(Span::from_micros(16_667), |_, _| {});
            step(self);
            let mut server = self.session.server_frame();
            while let Some(event) = server.poll_event() {
                relay(&event, &mut server);
            }
            for index in 0..self.gateways.len() {
                let local = self.session.client_now(index).1;
                let now = self.instants(index, local);
                self.gateways[index].handle_frame(now, &mut self.session.client_frame(index));
                let at = self.now();
                while let Some(bytes) = self.gateways[index].poll_datagram() {
                    let pdu = Pdu::split(&bytes).next().expect("a PDU").expect("our own is valid");
                    let object = pdu.originator().and_then(|id| self.gateways[index].object_of(id));
                    let client = self.session.client(index);
                    let followed = object.and_then(|object| client.followed(object));
                    let generated_at = followed.map(|vector| vector.generated_at);
                    self.heard[index].push(Heard { at, bytes, generated_at });
                }
            }
        }
    }

    /// The Entity State PDUs that a gateway has sent: the instant for which each is true, the PDU,
    /// and the start of its DR vector.
    pub(super) fn states(&self, index: usize) -> Vec<(SharedInstant, EntityState, Option<SharedInstant>)> {
        self.heard[index].iter().filter_map(|heard| self.state(heard)).collect()
    }

    fn state(&self, heard: &Heard) -> Option<(SharedInstant, EntityState, Option<SharedInstant>)> {
        let pdu = Pdu::split(&heard.bytes).next().expect("a PDU").expect("our own is valid");
        if pdu.kind() != kind::ENTITY_STATE {
            return None;
        }
        // The stamp's hour is that of the sending.
        let past_hour = pdu.stamp().past_hour_us();
        let hour = ((self.utc_us(heard.at) as f64 - past_hour) / 3.6e9).round() * 3.6e9;
        let us = (hour + past_hour - self.noon_us as f64).round() as i64;
        let state = EntityState::read(pdu, Default::default()).expect("our own is valid");
        Some((SharedInstant::from_micros(us), state, heard.generated_at))
    }
}
