//! Goal: a session whose budget is larger than its path sends less when the delay rises, and more
//! again when it falls. Method: a server and a client in virtual time, on a link that carries half
//! of the budget and queues two seconds of it.

use fairpath::random::Random;
use fairpath::schedule::Broadcast;
use fairpath::session::{Budget, Class, ClassId, Client, ClientConfig, Server, ServerConfig};
use fairpath::time::{LocalInstant, SharedInstant, Span};
use fairpath::vector::{Vec2, Vector};
use fairpath::{EntityId, Observation, State};
use fairpath_net::sealed::DelayRise;
use fairpath_sim::{LinkConfig, SessionWorld};

const OBJECTS: usize = 64;
const RATE: u64 = 16_000;
const QUEUE_BYTES: u64 = 2 * RATE;
const MEASURE_EVERY: Span = Span::from_millis(200);

fn classes() -> [(ClassId, Class); 1] {
    [(ClassId(0), Class::within(0.1))]
}

/// A world with objects that jump about in every tick, and what steers the server's budget.
struct Narrow {
    world: SessionWorld<Vec2>,
    objects: Vec<EntityId>,
    random: Random,
    rise: Option<DelayRise>,
    measured_at: SharedInstant,
}

/// What was seen in a while: mean round trip in milliseconds, and bytes a second.
#[derive(Clone, Copy, Debug)]
struct Seen {
    round_trip_ms: f64,
    bytes_per_sec: f64,
}

impl Narrow {
    fn new(backs_off: bool) -> Self {
        let server = Server::new(ServerConfig::new(classes(), 1), Box::new(Broadcast), Random::from_seed(3));
        let client = Client::new(ClientConfig::new(classes()), Random::from_seed(4));
        let link = LinkConfig::default().delay(Span::from_millis(30)).rate(RATE, QUEUE_BYTES);
        let mut world = SessionWorld::new(5, link, server, vec![client]);
        let now = world.now();
        let create =
            |world: &mut SessionWorld<Vec2>| world.server.create(ClassId(0), b"", now).expect("room");
        let objects = (0..OBJECTS).map(|_| create(&mut world)).collect();
        world.connect_all();
        let rise = backs_off.then(|| DelayRise::new(LocalInstant::from_micros(0)));
        Self { world, objects, random: Random::from_seed(6), rise, measured_at: now }
    }

    fn run(&mut self, secs: i64, moves: bool) -> Seen {
        let Self { world, objects, random, rise, measured_at } = self;
        let (mut sum_ms, mut looks) = (0.0, 0.0);
        let bytes = |server: &Server<Vec2>| {
            server
                .clients()
                .filter_map(|client| server.statistics(client))
                .map(|it| it.bytes_sent)
                .sum::<u64>()
        };
        let before = bytes(&world.server);
        world.run_for(Span::from_secs(secs), |world, now| {
            let server = &mut world.server;
            for object in objects.iter().filter(|_| moves) {
                let mut side = || random.between(-500.0, 500.0);
                let state = State::moving(Vec2::new(side(), side()), Vec2::ZERO);
                server.observe(*object, Observation::Moved(state), now).expect("its own object");
            }
            let Some(client) = server.clients().next() else { return };
            if now - *measured_at < MEASURE_EVERY {
                return;
            }
            *measured_at = now;
            let round_trip = server.statistics(client).and_then(|it| it.round_trip);
            sum_ms += round_trip.map_or(0.0, Span::as_millis_f64);
            looks += 1.0;
            let local = LocalInstant::from_micros(now.as_micros());
            let share = rise.as_mut().and_then(|rise| rise.next_share(local, round_trip));
            if let (Some(share), Some(id)) = (share, server.connection(client)) {
                server.set_budget_share(id, share, now);
            }
        });
        let sent = bytes(&world.server) - before;
        Seen { round_trip_ms: sum_ms / looks, bytes_per_sec: sent as f64 / secs as f64 }
    }
}

#[test]
fn a_budget_beyond_the_path_fills_its_queue_unless_it_backs_off() {
    let budget = f64::from(Budget::default().bytes_per_sec);
    let (mut stubborn, mut polite) = (Narrow::new(false), Narrow::new(true));
    stubborn.run(15, true);
    polite.run(15, true);
    let (stubborn, backing_off) = (stubborn.run(30, true), polite.run(30, true));
    println!("without {stubborn:?}, with {backing_off:?}");
    assert!(stubborn.bytes_per_sec > 0.9 * budget, "{stubborn:?}");
    assert!(stubborn.round_trip_ms > 1_000.0, "{stubborn:?}");
    assert!(backing_off.bytes_per_sec < 0.7 * budget, "{backing_off:?}");
    assert!(backing_off.round_trip_ms < 0.5 * stubborn.round_trip_ms, "{backing_off:?}");

    // A path without a queue gives the whole budget back.
    polite.run(15, false);
    let share = polite.rise.as_ref().map(DelayRise::share);
    assert_eq!(share, Some(1.0));
}
