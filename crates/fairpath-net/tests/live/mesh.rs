//! Goal: peers without a server see each other as clients do, and notice a peer that goes. Method:
//! meshes on loopback with clocks decades apart; some routes lead through middlemen, so that they
//! can be cut.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use fairpath::schedule::Broadcast;
use fairpath::session::{ClientEvent, Delivery, Refusal, ServerEvent};
use fairpath::vector::{Vec2, Vector};
use fairpath::{EntityId, Observation};
use fairpath_net::mesh::ConnectPeerError;
use fairpath_net::middleman::{ClientSelector, Directions, Middleman, MiddlemanConfig};
use fairpath_net::{
    Clock, ConnectionProblem, ConnectionState, Fingerprint, Identity, NetPeer, NetPeerConfig, PeerEvent,
};
use fairpath_sim::LinkConfig;

use super::arena::{FRAME, PATIENCE, SHIP, THRESHOLD, any_port, classes, flight, millis};

/// What rounding and a frame between two samples may add to the threshold.
const SLACK: f64 = 0.4;

/// Peers, each with a ship.
pub(crate) struct Fleet {
    pub(crate) captains: Vec<Captain>,
}

pub(crate) struct Captain {
    pub(crate) peer: NetPeer<Vec2>,
    ship: EntityId,
    pub(crate) events: Vec<PeerEvent>,
    /// Events of the other peers' sessions, and of its own.
    seen: BTreeMap<Fingerprint, Vec<ClientEvent>>,
    told: Vec<ServerEvent>,
}

impl Fleet {
    pub(crate) fn of(count: usize) -> Self {
        Self { captains: (0..count).map(|which| Captain::new(which, |_| {})).collect() }
    }

    /// Connects every peer with every other.
    pub(crate) fn connect_all(&self) {
        for one in &self.captains {
            for other in self.captains.iter().filter(|other| other.name() != one.name()) {
                one.peer.connect(other.name(), other.peer.address()).expect("room");
            }
        }
    }

    /// Sails until the condition holds.
    pub(crate) fn until(&mut self, what: &str, mut is_so: impl FnMut(&mut Self) -> bool) {
        let started = Instant::now();
        loop {
            for (which, captain) in self.captains.iter_mut().enumerate() {
                captain.frame(which);
            }
            if is_so(self) {
                return;
            }
            if started.elapsed() > PATIENCE {
                let status: Vec<_> =
                    self.captains.iter().map(|it| (it.name(), it.peer.status(), &it.events)).collect();
                panic!("waited in vain until {what}: {status:#?}");
            }
            std::thread::sleep(FRAME);
        }
    }

    /// How far from the truth `viewer` places the ship of `owner`, on the owner's clock.
    fn error(&self, viewer: usize, owner: usize) -> Option<f64> {
        let (name, ship) = (self.captains[owner].name(), self.captains[owner].ship);
        self.captains[viewer].peer.view(name, |session, now| {
            let shared = session.clock_now(now)?.shared;
            Some(session.place(ship, now)?.position.distance(flight(owner, shared).position))
        })?
    }

    /// Whether every peer sees every other ship where it is.
    pub(crate) fn is_seen(&self) -> bool {
        let count = self.captains.len();
        let pairs = (0..count).flat_map(|one| (0..count).map(move |other| (one, other)));
        pairs
            .filter(|(one, other)| one != other)
            .all(|(one, other)| self.error(one, other).is_some_and(|error| error <= THRESHOLD + SLACK))
    }
}

impl Captain {
    pub(crate) fn new(which: usize, edit: impl FnOnce(&mut NetPeerConfig<Vec2>)) -> Self {
        let mut config = NetPeerConfig::new(any_port(), Identity::local(&[]).expect("made"), classes());
        // Every peer has a clock of its own.
        config.clock = Clock::showing(which as i64 * 1_000_000_000_000_000);
        // No peer is given up because a machine stalls: a peer that leaves says so.
        config.give_up_after = Duration::from_secs(3600);
        edit(&mut config);
        let peer = NetPeer::bind(config, Box::new(Broadcast)).expect("a free port");
        let ship = peer.with_session(|session, now| session.create(SHIP, b"ship", now)).expect("room");
        Self { peer, ship, events: Vec::new(), seen: BTreeMap::new(), told: Vec::new() }
    }

    pub(crate) fn name(&self) -> Fingerprint {
        self.peer.fingerprint()
    }

    pub(crate) fn frame(&mut self, which: usize) {
        let Self { peer, ship, events, seen, told } = self;
        events.extend(std::iter::from_fn(|| peer.poll_event()));
        peer.with_session(|session, now| {
            told.extend(std::iter::from_fn(|| session.poll_event()));
            session.observe(*ship, Observation::Moved(flight(which, now)), now).expect("its own");
        });
        for other in peer.peers() {
            peer.view(other, |session, _| {
                seen.entry(other).or_default().extend(std::iter::from_fn(|| session.poll_event()));
            });
        }
    }

    pub(crate) fn has_connected(&self, other: Fingerprint) -> bool {
        self.events.contains(&PeerEvent::Connected(other))
    }

    /// The methods of the calls that reached its session, in order.
    fn heard(&self) -> Vec<u32> {
        let method = |event: &ServerEvent| match event {
            ServerEvent::Called { method, .. } => Some(*method),
            _ => None,
        };
        self.told.iter().filter_map(method).collect()
    }
}

#[test]
fn four_peers_see_each_other_within_the_threshold_on_four_clocks() {
    let mut fleet = Fleet::of(4);
    fleet.connect_all();
    fleet.until("all peers see each other", |fleet| fleet.is_seen());
    for captain in &fleet.captains {
        assert_eq!(
            captain.peer.with_session(|session, _| session.objects().count()),
            1,
            "its session has only its own ship"
        );
        assert_eq!(
            captain.peer.connect(captain.name(), captain.peer.address()),
            Err(ConnectPeerError::Itself)
        );
    }
    // One peer leaves, and the others know at once.
    let captain = fleet.captains.remove(3);
    let leaver = captain.name();
    captain.peer.leave(Duration::from_secs(2));
    fleet.until("the others know", |fleet| {
        fleet.captains.iter().all(|captain| captain.events.contains(&PeerEvent::ConnectionLost(leaver)))
    });
    assert!(fleet.captains.iter().all(|captain| captain.peer.view(leaver, |_, _| ()).is_none()));
    fleet.until("the others are still seen", |fleet| fleet.is_seen());
}

fn through(to: SocketAddr) -> Middleman {
    let link = LinkConfig::default().delay(millis(20));
    Middleman::start(MiddlemanConfig::between(any_port(), to).both_ways(link)).expect("a free port")
}

#[test]
fn a_peer_that_dies_is_noticed_and_the_others_go_on() {
    let mut fleet = Fleet { captains: Vec::new() };
    for which in 0..3 {
        fleet.captains.push(Captain::new(which, |config| config.give_up_after = Duration::from_secs(10)));
    }
    // All routes to and from the third peer lead through middlemen.
    let to_it = through(fleet.captains[2].peer.address());
    let from_it: Vec<Middleman> = fleet.captains[..2].iter().map(|it| through(it.peer.address())).collect();
    let names: Vec<Fingerprint> = fleet.captains.iter().map(Captain::name).collect();
    for one in 0..2 {
        fleet.captains[one].peer.connect(names[2], to_it.address()).expect("room");
        fleet.captains[2].peer.connect(names[one], from_it[one].address()).expect("room");
        let other = fleet.captains[1 - one].peer.address();
        fleet.captains[one].peer.connect(names[1 - one], other).expect("room");
    }
    fleet.until("all peers see each other", |fleet| fleet.is_seen());
    for middleman in from_it.iter().chain([&to_it]) {
        middleman.partition(ClientSelector::All, Directions::Both, None).expect("a partition");
    }
    let died = names[2];
    fleet.until("it is silent, and given up", |fleet| {
        let gave_up = |captain: &Captain| {
            captain.events.contains(&PeerEvent::Silent(died))
                && captain.events.contains(&PeerEvent::ConnectionLost(died))
        };
        fleet.captains[..2].iter().all(gave_up)
    });
    let dead = fleet.captains.remove(2);
    assert_eq!(fleet.captains[0].peer.peers(), [names[1]]);
    fleet.until("the others are still seen", |fleet| fleet.is_seen());
    drop(dead);
}

#[test]
fn a_session_that_changes_its_route_loses_and_repeats_nothing() {
    let mut fleet = Fleet::of(2);
    let names: Vec<Fingerprint> = fleet.captains.iter().map(Captain::name).collect();
    let middleman = through(fleet.captains[1].peer.address());
    fleet.captains[0].peer.connect(names[1], middleman.address()).expect("room");
    fleet.captains[1].peer.connect(names[0], fleet.captains[0].peer.address()).expect("room");
    fleet.until("both see each other", |fleet| fleet.is_seen());
    let mut called = 0;
    let mut call = |fleet: &mut Fleet| {
        let done = fleet.captains[0]
            .peer
            .view(names[1], |session, _| session.call_server(called, b"", Delivery::ReliableOrdered).is_ok());
        called += u32::from(done == Some(true));
        called
    };
    fleet.until("some calls were made", |fleet| call(fleet) >= 20);
    // The route is dead, and there is another.
    middleman.partition(ClientSelector::All, Directions::Both, None).expect("a partition");
    let direct = fleet.captains[1].peer.address();
    fleet.captains[0].peer.connect(names[1], direct).expect("known");
    fleet.until("the session continues on the other route", |fleet| {
        call(fleet);
        fleet.captains[0].events.contains(&PeerEvent::Reconnected(names[1]))
    });
    let called = call(&mut fleet);
    fleet.until("all calls have arrived", |fleet| fleet.captains[1].heard().len() >= called as usize);
    assert_eq!(fleet.captains[1].heard(), (0..called).collect::<Vec<_>>(), "each once, and in order");
    let views = fleet.captains[0].peer.status();
    assert_eq!(views[0].address, Some(direct));
    assert!(!fleet.captains[0].events.contains(&PeerEvent::ConnectionLost(names[1])), "the same session");
    fleet.until("both see each other", |fleet| fleet.is_seen());
}

#[test]
fn no_peer_creates_entities_in_the_session_of_another() {
    let mut fleet = Fleet::of(2);
    fleet.connect_all();
    fleet.until("both see each other", |fleet| fleet.is_seen());
    let (one, other) = (fleet.captains[0].name(), fleet.captains[1].ship);
    // A peer that tries is refused, and can say nothing about entities of others.
    let forged = fleet.captains[1].peer.view(one, |session, now| session.create(SHIP, b"forged", now));
    let forged = forged.expect("it is connected").expect("it may try");
    fleet.until("it is refused", |fleet| {
        let refused = ClientEvent::Refused { object: forged, refusal: Refusal::UnknownClass };
        fleet.captains[1].seen.get(&one).is_some_and(|events| events.contains(&refused))
    });
    let own = fleet.captains[0].peer.with_session(|session, _| session.objects().collect::<Vec<_>>());
    assert_eq!(own, [fleet.captains[0].ship]);
    assert_eq!(fleet.captains[0].ship, other, "both ships have the same id and are not confused");
    fleet.until("both see each other", |fleet| fleet.is_seen());
}

#[test]
fn a_wrong_fingerprint_is_refused_at_both_ends() {
    let mut fleet = Fleet::of(3);
    let names: Vec<Fingerprint> = fleet.captains.iter().map(Captain::name).collect();
    let addresses: Vec<SocketAddr> = fleet.captains.iter().map(|it| it.peer.address()).collect();
    // The first peer expects the second at the address of the third, which no peer has let in.
    fleet.captains[0].peer.connect(names[1], addresses[2]).expect("room");
    fleet.captains[2].peer.connect(names[0], addresses[0]).expect("room");
    let failures = |captain: &Captain| match captain.peer.status().first().map(|view| view.connection_state) {
        Some(ConnectionState::Connecting { failed, .. }) => failed,
        _ => 0,
    };
    fleet.until("both have failed", |fleet| {
        failures(&fleet.captains[0]) >= 2 && failures(&fleet.captains[2]) >= 2
    });
    let why = |captain: &Captain| match captain.peer.status().first().map(|view| view.connection_state) {
        Some(ConnectionState::Connecting { last, .. }) => last,
        _ => None,
    };
    assert_eq!(why(&fleet.captains[0]), Some(ConnectionProblem::WrongPin));
    assert_eq!(why(&fleet.captains[2]), Some(ConnectionProblem::CertificateRefused));
    for captain in &fleet.captains {
        assert_eq!(captain.peer.with_session(|session, _| session.clients().count()), 0);
        assert!(captain.peer.status().iter().all(|view| !view.is_seen && !view.sees_us));
        assert_eq!(captain.events, []);
    }
    // The right peer comes, and is let in at once.
    fleet.captains[1].peer.connect(names[0], addresses[0]).expect("room");
    fleet.captains[0].peer.connect(names[1], addresses[1]).expect("known");
    fleet.until("the peers that let each other in are connected", |fleet| {
        fleet.captains[0].has_connected(names[1]) && fleet.captains[1].has_connected(names[0])
    });
}
