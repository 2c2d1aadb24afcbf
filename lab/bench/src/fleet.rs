//! A server with turning ships, and clients that receive them.

use std::net::SocketAddr;
use std::time::Duration;

use fairpath::random::Random;
use fairpath::schedule::Broadcast;
use fairpath::session::{Class, ClassId, Client, ClientConfig, Server, ServerConfig};
use fairpath::time::SharedInstant;
use fairpath::vector::{Vec2, Vector};
use fairpath::{EntityId, Observation, State, Trigger};
use fairpath_net::{
    Congestion, Fingerprint, Identity, NetClient, NetClientConfig, NetServer, NetServerConfig, Trust,
    unguessable_random,
};

const SHIP: ClassId = ClassId(0);
/// Interval of a ship's turns: every frame has an update to send.
const TURN_EVERY: Duration = Duration::from_millis(100);
const FRAME: Duration = Duration::from_millis(16);

pub(crate) struct Fleet {
    pub(crate) server: NetServer<Vec2>,
    /// Whether ships move. Otherwise they stand where they are.
    pub(crate) is_sailing: bool,
    ships: Vec<Ship>,
    random: Random,
}

struct Ship {
    object: EntityId,
    state: State<Vec2>,
    at: SharedInstant,
    turn_at: SharedInstant,
}

impl Fleet {
    pub(crate) fn new(ships: usize, edit: impl FnOnce(&mut NetServerConfig)) -> Self {
        let mut config = NetServerConfig::new(any_port(), Identity::local(&[]).expect("a certificate"));
        edit(&mut config);
        let session = Server::new(ServerConfig::new(classes(), 1), Box::new(Broadcast), unguessable_random());
        let server = NetServer::bind(config, session).expect("the loopback has a free port");
        let mut fleet = Self { server, is_sailing: true, ships: Vec::new(), random: Random::from_seed(1) };
        fleet.launch(ships);
        fleet
    }

    pub(crate) fn launch(&mut self, count: usize) {
        for _ in 0..count {
            let (object, now) =
                self.server.with_session(|session, now| (session.create(SHIP, b"", now).expect("room"), now));
            self.ships.push(Ship { object, state: State::default(), at: now, turn_at: now });
        }
    }

    /// Moves every ship, turns some, and waits for one frame.
    pub(crate) fn frame(&mut self) {
        let Self { server, is_sailing, ships, random } = self;
        server.with_session(|session, now| {
            while session.poll_event().is_some() {}
            for ship in ships.iter_mut() {
                if *is_sailing {
                    ship.sail(random, now);
                } else {
                    (ship.at, ship.state.velocity) = (now, Vec2::ZERO);
                }
                session.observe(ship.object, Observation::Moved(ship.state), now).expect("its own ship");
            }
        });
        std::thread::sleep(FRAME);
    }
}

impl Ship {
    fn sail(&mut self, random: &mut Random, now: SharedInstant) {
        let secs = (now - self.at).as_secs_f64();
        self.at = now;
        self.state.position += self.state.velocity * secs;
        if self.turn_at <= now {
            let mut side = || random.between(-20.0, 20.0);
            self.state.velocity = Vec2::new(side(), side());
            self.turn_at = now + fairpath::time::Span::from_micros(TURN_EVERY.as_micros() as i64);
        }
    }
}

pub(crate) fn client(server: SocketAddr, pin: Fingerprint, congestion: Congestion) -> NetClient<Vec2> {
    let config = NetClientConfig { congestion, ..NetClientConfig::new(Trust::Pinned(vec![pin])) };
    let session = Client::new(ClientConfig::new(classes()), unguessable_random());
    NetClient::connect(server, config, session).expect("a socket opens")
}

pub(crate) fn any_port() -> SocketAddr {
    ([127, 0, 0, 1], 0).into()
}

fn classes() -> [(ClassId, Class); 1] {
    [(SHIP, Class::new(Trigger::within(0.3)))]
}
