//! The cost of one scope check of all clients: with the index of objects by position, and with a
//! walk of all pairs of client and object, as before there was an index.

use fairpath::motion::MotionKind;
use fairpath::random::Random;
use fairpath::schedule::Broadcast;
use fairpath::session::{
    Class, ClassId, Client, ClientConfig, ClientId, Nearest, Scope, ScopeObject, Server, ServerConfig, Within,
};
use fairpath::time::{SharedInstant, Span, TickRate};
use fairpath::vector::Vec2;
use fairpath::{EntityId, Observation, State, Trigger};
use fairpath_sim::{LinkConfig, SessionWorld};

use crate::measure::{BenchTable, Contender};

const SHIP: ClassId = ClassId(1);
/// Objects that a client sees.
const NEIGHBOURS: usize = 32;
/// Clients and objects.
const SIZES: [(usize, usize); 2] = [(1_000, 1_000), (100, 10_000)];
/// Clients that a server checks at once; see `LOOKS_AT_ONCE` and `OBJECTS_PER_LOOK` in the session.
const LOOKS_AT_ONCE: usize = 64;
const OBJECTS_PER_LOOK: usize = 64;
/// Not at rest, and too slow for anything to enter or leave in the time of the bench.
const SLOW: f64 = 1e-4;
/// Until all clients know their neighbours.
const SETTLES_WITHIN: Span = Span::from_secs(4);

pub(crate) fn bench() -> BenchTable {
    let mut contenders = Vec::new();
    for size in SIZES {
        let within = within(size.1);
        let nearest = Nearest { count: NEIGHBOURS };
        contenders.extend([
            contender("nearest 32, all pairs", size, Walk(nearest), SLOW),
            contender("nearest 32, index", size, nearest, SLOW),
            contender("nearest 32, index, at rest", size, nearest, 0.0),
            contender("within, all pairs", size, Walk(within), SLOW),
            contender("within, index", size, within, SLOW),
            contender("within, index, at rest", size, within, 0.0),
        ]);
    }
    let table = BenchTable::measure("One scope check of all clients", contenders);
    let note = |table: BenchTable, (scope, size): (&str, (usize, usize))| {
        let ratio = |of: &str| {
            table.ratio(&row(&format!("{scope}, {of}"), size), &row(&format!("{scope}, all pairs"), size))
        };
        let (index, rest) = (ratio("index"), ratio("index, at rest"));
        let text = format!(
            "{}: {index:.4} of a walk of all pairs, {rest:.5} while no object moves",
            row(scope, size)
        );
        table.note(text)
    };
    let scopes = SIZES.into_iter().flat_map(|size| [("nearest 32", size), ("within", size)]);
    scopes.fold(table, note)
}

fn row(name: &str, (clients, objects): (usize, usize)) -> String {
    format!("{clients} × {objects}, {name}")
}

/// A radius that holds 32 objects on average, and the objects on a square of side 1000.
fn within(objects: usize) -> Within {
    let enter = (NEIGHBOURS as f64 * SIDE * SIDE / (objects as f64 * std::f64::consts::PI)).sqrt();
    Within { enter, leave: 1.1 * enter }
}

const SIDE: f64 = 1_000.0;

fn contender(
    name: &str,
    size: (usize, usize),
    scope: impl Scope<Vec2> + 'static,
    speed: f64,
) -> Contender<'static> {
    let has_index = !name.ends_with("all pairs");
    let (mut server, mut now) = settled(size, scope, speed);
    let at_once = if has_index { LOOKS_AT_ONCE.max(size.1 / OBJECTS_PER_LOOK) } else { LOOKS_AT_ONCE };
    let parts = size.0.div_ceil(at_once);
    Contender::new(row(name, size), 1, move || {
        for _ in 0..parts {
            now += Span::from_millis(1);
            server.handle_timeout(now);
        }
        server.poll_event().map_or(0.0, |_| 1.0)
    })
}

/// Returns a server whose clients own an object each and know their neighbours.
fn settled(
    (clients, objects): (usize, usize),
    scope: impl Scope<Vec2> + 'static,
    speed: f64,
) -> (Server<Vec2>, SharedInstant) {
    let classes = || [(SHIP, Class::new(Trigger::within(0.3)).with_model(MotionKind::Linear))];
    let config = ServerConfig {
        clients_max: clients,
        silence_max: Span::from_secs(1_000_000),
        // Every call checks a part of the clients.
        scope_every: Span::ZERO,
        ..ServerConfig::new(classes(), 1)
    };
    let server = Server::new(config, Box::new(Broadcast), Random::from_seed(1)).with_scope(scope);
    let client = |seed| Client::new(ClientConfig::new(classes()), Random::from_seed(seed));
    let link = LinkConfig::default().delay(Span::from_millis(1));
    let clients_all = (0..clients as u64).map(client).collect();
    let mut world = SessionWorld::new(1, link, server, clients_all).with_tick_rate(TickRate::hz(5));
    let mut random = Random::from_seed(2);
    let mut anywhere = || {
        let place = Vec2::new(random.between(0.0, SIDE), random.between(0.0, SIDE));
        Observation::Moved(State::moving(place, Vec2::new(speed, 0.0)))
    };
    world.connect_all();
    let ships: Vec<_> = (0..clients).map(|_| anywhere()).collect();
    let mut owned: Vec<Option<EntityId>> = vec![None; clients];
    world.run_for(Span::from_secs(1), |world, _| {
        for index in 0..clients {
            let (client, local) = world.client_now(index);
            let ship =
                *owned[index].get_or_insert_with(|| client.create(SHIP, b"", local).expect("connected"));
            client.observe(ship, ships[index], local).expect("its own");
        }
    });
    let now = world.now();
    for _ in clients..objects {
        let rock = world.server.create(SHIP, b"", now).expect("room");
        world.server.observe(rock, anywhere(), now).expect("its own");
    }
    world.run_for(SETTLES_WITHIN, |world, _| {
        for (index, ship) in owned.iter().flatten().enumerate() {
            let (client, local) = world.client_now(index);
            client.observe(*ship, ships[index], local).expect("its own");
        }
    });
    let now = world.now();
    let mut server = world.server;
    while server.poll_event().is_some() {}
    let waiting: usize = server.clients().filter_map(|client| Some(server.queues(client)?.waiting)).sum();
    assert_eq!(waiting, 0, "all clients know their neighbours");
    (server, now)
}

/// Answers like another scope, and is asked about all objects at every check.
#[derive(Debug)]
struct Walk<S>(S);

impl<S: Scope<Vec2>> Scope<Vec2> for Walk<S> {
    fn sees(
        &mut self,
        client: ClientId,
        object: &ScopeObject<'_, Vec2>,
        eyes: &[ScopeObject<'_, Vec2>],
        is_seen: bool,
    ) -> bool {
        self.0.sees(client, object, eyes, is_seen)
    }

    fn choose(
        &mut self,
        client: ClientId,
        objects: &[ScopeObject<'_, Vec2>],
        eyes: &[ScopeObject<'_, Vec2>],
        is_seen: &dyn Fn(EntityId) -> bool,
    ) -> Vec<EntityId> {
        self.0.choose(client, objects, eyes, is_seen)
    }
}
