//! A small game on real sockets: each client flies a ship, makes calls that must arrive, and
//! records its events.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use fairpath::schedule::Broadcast;
use fairpath::session::limits::SILENCE_MAX;
use fairpath::session::{
    Class, ClassId, Client, ClientConfig, ClientEvent, Delivery, Server, ServerConfig, ServerEvent,
};
use fairpath::time::{SharedInstant, Span};
use fairpath::vector::{Vec2, Vector};
use fairpath::{EntityId, Observation, State, Trigger};
use fairpath_net::middleman::{Middleman, MiddlemanConfig};
use fairpath_net::{
    Identity, NetClient, NetClientConfig, NetServer, NetServerConfig, Transport, Trust, new_epoch,
    unguessable_random,
};
use fairpath_sim::LinkConfig;

pub(crate) const SHIP: ClassId = ClassId(1);
pub(crate) const BALL: ClassId = ClassId(2);

/// How far off a ship may be placed before its owner sends an update.
pub(crate) const THRESHOLD: f64 = 0.3;

/// How long a scenario waits before it fails. Machines stall.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);
pub(crate) const FRAME: Duration = Duration::from_millis(15);

/// A server, a middleman and some clients.
pub(crate) struct World {
    pub(crate) server: NetServer<Vec2>,
    pub(crate) middleman: Middleman,
    pub(crate) pilots: Vec<Pilot>,
    pub(crate) events: Vec<ServerEvent>,
    pub(crate) is_flying: bool,
    trust: Trust,
}

/// A client, its ship, and its events.
pub(crate) struct Pilot {
    pub(crate) client: NetClient<Vec2>,
    pub(crate) ship: Option<EntityId>,
    pub(crate) events: Vec<ClientEvent>,
    /// Calls that it made of each kind.
    pub(crate) called: u32,
    pub(crate) calls: bool,
}

/// Deliveries that must arrive exactly once, and the offset of their call numbers.
pub(crate) const PROMISED: [(Delivery, u32); 3] =
    [(Delivery::ReliableOrdered, 0), (Delivery::ReliableUnordered, 1 << 20), (Delivery::Quickest, 2 << 20)];

pub(crate) fn classes() -> [(ClassId, Class); 2] {
    let ship = Class::new(Trigger::within(THRESHOLD));
    [(SHIP, ship.clone()), (BALL, ship.claimable().outlives_owner())]
}

pub(crate) fn server_session() -> Server<Vec2> {
    server_session_with(ServerConfig::new(classes(), new_epoch()))
}

pub(crate) fn server_session_with(config: ServerConfig<Vec2>) -> Server<Vec2> {
    Server::new(config, Box::new(Broadcast), unguessable_random())
}

/// Waits until the condition holds, without a game.
pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() <= PATIENCE, "waited in vain until {what}");
        std::thread::sleep(FRAME);
    }
}

pub(crate) fn client_session() -> Client<Vec2> {
    Client::new(ClientConfig::new(classes()), unguessable_random())
}

/// A server as a game starts it.
pub(crate) fn server_config(address: SocketAddr, identity: Identity) -> NetServerConfig {
    NetServerConfig::new(address, identity)
}

pub(crate) fn any_port() -> SocketAddr {
    ([127, 0, 0, 1], 0).into()
}

impl World {
    pub(crate) fn new(link: LinkConfig) -> Self {
        Self::with(link, server_session(), |_| {})
    }

    pub(crate) fn with(
        link: LinkConfig,
        session: Server<Vec2>,
        edit: impl FnOnce(&mut NetServerConfig),
    ) -> Self {
        let mut config = server_config(any_port(), Identity::local(&[]).expect("made"));
        edit(&mut config);
        let server = NetServer::bind(config, session).expect("a free port");
        let middleman = MiddlemanConfig::between(any_port(), server.address()).both_ways(link);
        let middleman = Middleman::start(middleman).expect("a free port");
        let trust = Trust::Pinned(vec![server.fingerprint()]);
        Self { server, middleman, pilots: Vec::new(), events: Vec::new(), is_flying: true, trust }
    }

    pub(crate) fn join(&mut self) -> usize {
        self.join_by(Transport::Quic)
    }

    pub(crate) fn join_by(&mut self, transport: Transport) -> usize {
        self.join_with(transport, SILENCE_MAX)
    }

    pub(crate) fn join_with(&mut self, transport: Transport, silence_max: Span) -> usize {
        let session = ClientConfig { silence_max, ..ClientConfig::new(classes()) };
        let session = Client::new(session, unguessable_random());
        let config = NetClientConfig { transport, ..NetClientConfig::new(self.trust.clone()) };
        let client = NetClient::connect(self.middleman.address(), config, session).expect("a socket");
        self.pilots.push(Pilot { client, ship: None, events: Vec::new(), called: 0, calls: false });
        self.pilots.len() - 1
    }

    /// Plays until the condition holds.
    ///
    /// # Panics
    /// If it does not hold within [`PATIENCE`].
    pub(crate) fn until(&mut self, what: &str, mut is_so: impl FnMut(&mut Self) -> bool) {
        let started = Instant::now();
        loop {
            self.frame();
            if is_so(self) {
                return;
            }
            if started.elapsed() > PATIENCE {
                let pilots: Vec<_> =
                    self.pilots.iter().map(|pilot| (pilot.client.status(), &pilot.events)).collect();
                let last = &self.events[self.events.len().saturating_sub(100)..];
                panic!("waited in vain until {what}; server, at last: {last:?}; pilots: {pilots:?}");
            }
            std::thread::sleep(FRAME);
        }
    }

    /// Plays for at least this long.
    pub(crate) fn play_for(&mut self, span: Duration) {
        let started = Instant::now();
        self.until("time has passed", |_| started.elapsed() >= span);
    }

    fn frame(&mut self) {
        let is_flying = self.is_flying;
        self.server.with_session(|session, _| {
            self.events.extend(std::iter::from_fn(|| session.poll_event()));
        });
        for (which, pilot) in self.pilots.iter_mut().enumerate() {
            pilot.frame(which, is_flying);
        }
    }

    /// How far off the server places a ship at rest.
    pub(crate) fn server_error(&self, which: usize) -> Option<f64> {
        let ship = self.pilots[which].ship?;
        let placed = self.server.with_session(|session, now| session.place(ship, now))?;
        Some(placed.position.distance(resting_place(which)))
    }

    /// Whether all clients see all ships where they rest.
    pub(crate) fn is_settled(&self) -> bool {
        let ships: Vec<_> = self.pilots.iter().map(|pilot| pilot.ship).collect();
        (0..ships.len()).all(|which| {
            let is_right = |error: Option<f64>| error.is_some_and(|error| error < THRESHOLD + 0.05);
            is_right(self.server_error(which))
                && self.pilots.iter().all(|viewer| is_right(viewer.error(ships[which], which)))
        })
    }

    /// Brings all ships to rest, and waits until all clients see the newest state.
    pub(crate) fn settle(&mut self) {
        self.is_flying = false;
        self.pilots.iter_mut().for_each(|pilot| pilot.calls = false);
        self.until("all ships are seen where they rest", |world| world.is_settled());
        self.until("all reliable calls have arrived", |world| {
            (0..world.pilots.len()).all(|which| world.has_heard_all(which))
        });
    }

    /// The numbers of a client's calls that reached the server, in order.
    pub(crate) fn heard(&self, which: usize, offset: u32) -> Vec<u32> {
        let Some(id) = self.pilots[which].client.with_session(|session, _| session.id()) else {
            return Vec::new();
        };
        let method = |event: &ServerEvent| match event {
            ServerEvent::Called { from, method, .. } if *from == id && method >> 20 == offset >> 20 => {
                Some(method - offset)
            }
            _ => None,
        };
        self.events.iter().filter_map(method).collect()
    }

    fn has_heard_all(&self, which: usize) -> bool {
        PROMISED
            .iter()
            .all(|(_, offset)| self.heard(which, *offset).len() >= self.pilots[which].called as usize)
    }

    /// Checks that every call arrived exactly once, and the ordered ones in order.
    pub(crate) fn assert_promises_kept(&self) {
        for which in 0..self.pilots.len() {
            let made: Vec<u32> = (0..self.pilots[which].called).collect();
            for (delivery, offset) in PROMISED {
                let mut heard = self.heard(which, offset);
                if delivery != Delivery::ReliableOrdered {
                    heard.sort_unstable();
                }
                assert_eq!(heard, made, "client {which}, {delivery:?}");
            }
        }
    }
}

impl Pilot {
    pub(crate) fn frame(&mut self, which: usize, is_flying: bool) {
        let Self { client, ship, events, called, calls } = self;
        client.with_session(|session, now| {
            for event in std::iter::from_fn(|| session.poll_event()) {
                if matches!(event, ClientEvent::SessionLost { .. }) {
                    *ship = None;
                }
                events.push(event);
            }
            let Some(shared) = session.clock_now(now).map(|now| now.shared) else { return };
            if ship.is_none() && session.is_connected() {
                *ship = session.create(SHIP, b"ship", now).ok();
            }
            if let Some(ship) = *ship {
                let state = if is_flying { flight(which, shared) } else { rest(which) };
                let _ = session.observe(ship, Observation::Moved(state), now);
            }
            if *calls {
                // All three or none: quickest has the least room.
                let quickest = session.call_server(*called + (2 << 20), b"", Delivery::Quickest);
                if quickest.is_ok() {
                    for (delivery, offset) in &PROMISED[..2] {
                        session.call_server(*called + offset, b"", *delivery).expect("room");
                    }
                    *called += 1;
                }
            }
        });
    }

    /// How far from its resting place this client places a ship.
    fn error(&self, ship: Option<EntityId>, which: usize) -> Option<f64> {
        let ship = ship?;
        let placed = self.client.with_session(|session, now| session.place(ship, now))?;
        Some(placed.position.distance(resting_place(which)))
    }

    pub(crate) fn was_told(&self, is_it: impl Fn(&ClientEvent) -> bool) -> bool {
        self.events.iter().any(is_it)
    }
}

/// Circles of 40 units at 20 units per second.
pub(crate) fn flight(which: usize, now: SharedInstant) -> State<Vec2> {
    // Unix time is large, and an angle need not be.
    let seconds = (now.as_micros() % 100_000_000) as f64 / 1e6;
    let ahead = Vec2::from_heading(0.5 * seconds + which as f64);
    State::moving(ahead * 40.0, ahead.perpendicular() * 20.0)
}

fn rest(which: usize) -> State<Vec2> {
    State::moving(resting_place(which), Vec2::ZERO)
}

/// Far from all circles.
fn resting_place(which: usize) -> Vec2 {
    Vec2::new(100.0 + 10.0 * which as f64, -70.0)
}

pub(crate) fn millis(millis: i64) -> Span {
    Span::from_millis(millis)
}
