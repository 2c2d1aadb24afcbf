//! A small game: ships that fly circles, a ball that can be claimed, and everybody's events.

use fairpath::motion::MotionKind;
use fairpath::random::Random;
use fairpath::schedule::Broadcast;
use fairpath::session::{
    Class, ClassId, Client, ClientConfig, ClientEvent, Server, ServerConfig, ServerEvent,
};
use fairpath::time::{SharedInstant, Span};
use fairpath::vector::{Vec2, Vector};
use fairpath::{EntityId, Observation, State, Trigger};
use fairpath_sim::{LinkConfig, SessionWorld, SimClock};

pub(crate) const SHIP: ClassId = ClassId(1);
pub(crate) const BALL: ClassId = ClassId(2);

pub(crate) type World = SessionWorld<Vec2>;

pub(crate) fn classes() -> [(ClassId, Class); 2] {
    let ship = Class::new(Trigger::within(0.3)).with_model(MotionKind::Linear);
    [(SHIP, ship), (BALL, Class::new(Trigger::within(0.3)).claimable().outlives_owner())]
}

pub(crate) fn server(epoch: u64) -> Server<Vec2> {
    Server::new(ServerConfig::new(classes(), epoch), Box::new(Broadcast), Random::from_seed(epoch))
}

pub(crate) fn client(index: usize) -> Client<Vec2> {
    Client::new(ClientConfig::new(classes()), Random::from_seed(100 + index as u64))
}

/// Clients whose clocks show something else altogether.
pub(crate) fn world(seed: u64, link: LinkConfig, clients: usize) -> World {
    let mut world = World::new(seed, link, server(1), (0..clients).map(client).collect());
    let peers: Vec<_> = world.network.peers().skip(1).collect();
    for peer in peers {
        world.network.set_clock(peer, SimClock::new(Span::from_secs(1_000 * i64::from(peer.0)), 50.0));
    }
    world
}

/// Ship `which` flies circles of 40 units at 20 units per second.
pub(crate) fn truth(which: usize, now: SharedInstant) -> State<Vec2> {
    let angle = 0.5 * now.as_secs_f64() + which as f64;
    let ahead = Vec2::from_heading(angle);
    State::moving(ahead * 40.0, ahead.perpendicular() * 20.0)
}

/// Everybody flies their ship.
pub(crate) fn fly(world: &mut World, ships: &[EntityId], now: SharedInstant) {
    for (index, ship) in ships.iter().enumerate() {
        let (client, local) = world.client_now(index);
        // While it has no session there is nothing to fly.
        let _ = client.observe(*ship, Observation::Moved(truth(index, now)), local);
    }
}

pub(crate) fn idle(_: &mut World, _: SharedInstant) {}

/// One ship each, once everybody is connected.
pub(crate) fn launch(world: &mut World) -> Vec<EntityId> {
    let count = world.client_count();
    world.connect_all();
    let launch = |index| {
        let (client, local) = world.client_now(index);
        client.create(SHIP, b"ship", local).expect("connected")
    };
    (0..count).map(launch).collect()
}

/// How far from the truth client `viewer` places the ship of client `which`.
pub(crate) fn error(world: &mut World, viewer: usize, ship: EntityId, which: usize) -> Option<f64> {
    let now = world.now();
    let (client, local) = world.client_now(viewer);
    Some(client.place(ship, local)?.position.distance(truth(which, now).position))
}

pub(crate) fn client_events(world: &mut World, index: usize) -> Vec<ClientEvent> {
    std::iter::from_fn(|| world.client(index).poll_event()).collect()
}

pub(crate) fn server_events(world: &mut World) -> Vec<ServerEvent> {
    std::iter::from_fn(|| world.server.poll_event()).collect()
}

/// A ball of the server that lies at the origin.
pub(crate) fn place_ball(world: &mut World, creation: &[u8]) -> EntityId {
    let now = world.now();
    let ball = world.server.create(BALL, creation, now).expect("room");
    let still = Observation::Moved(State::moving(Vec2::ZERO, Vec2::ZERO));
    world.server.observe(ball, still, now).expect("its own");
    ball
}
