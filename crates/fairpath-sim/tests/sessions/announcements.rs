//! Goal: the ledger knows when a client began to follow an object. Method: a ball jumps aside right
//! after its birth, and the server sends no DR vector but that in the announcement. Then the error
//! grows evenly from the arrival on, and the ledger's error says when that was.

use std::sync::{Arc, Mutex};

use fairpath::random::Random;
use fairpath::schedule::{Claims, DecisionContext, DispatcherConfig, Scheduler};
use fairpath::session::{Class, Client, LossProtection, Rates, Server, ServerConfig};
use fairpath::time::{SharedInstant, Span};
use fairpath::vector::Vec2;
use fairpath::{EntityId, Observation, State, Trigger};
use fairpath_laws::law;
use fairpath_laws::proptest::prelude::*;
use fairpath_sim::{LinkConfig, Loss, SessionWorld, Tap};

use super::arena::{BALL, World, classes, client, idle};

/// Sends nothing at all.
#[derive(Debug)]
struct Silent;

impl Scheduler<Vec2> for Silent {
    fn on_trigger(&mut self, _: &DecisionContext<'_, Vec2>, _: &mut Random, _: &mut Claims) {}
}

/// When the client first knew any object.
#[derive(Clone, Debug, Default)]
struct Arrival(Arc<Mutex<Option<SharedInstant>>>);

impl Tap<Vec2> for Arrival {
    fn on_client_streamed(&mut self, _: usize, now: SharedInstant, client: &mut Client<Vec2>) {
        if client.objects().next().is_some() {
            self.0.lock().expect("nobody panicked").get_or_insert(now);
        }
    }
}

/// What happens while the announcement is on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    None,
    /// The connection breaks, and the session goes on on another one.
    Cut,
}

const DISTANCE: f64 = 10.0;

fn server() -> Server<Vec2> {
    let mut classes = classes();
    let rates = Rates { interval_max: Span::from_secs(1_000), ..Rates::default() };
    classes[1].1 = Class::new(Trigger::within(0.3)).with_rates(rates);
    let dispatcher = DispatcherConfig { liveness: None, trust: None, ..DispatcherConfig::default() };
    let loss_protection = LossProtection::Off;
    let config = ServerConfig { dispatcher, loss_protection, ..ServerConfig::new(classes, 1) };
    Server::new(config, Box::new(Silent), Random::from_seed(1))
}

/// Plays a birth. Returns the ball, when it jumped, and when the client knew it.
fn bear(seed: u64, link: LinkConfig, fault: Fault) -> (World, EntityId, SharedInstant, SharedInstant) {
    let arrival = Arrival::default();
    let mut world: World = SessionWorld::new(seed, link, server(), vec![client(0)]).with_tap(arrival.clone());
    world.connect_all();
    let still = |x: f64| Observation::Moved(State::moving(Vec2::new(x, 0.0), Vec2::new(0.0, 0.0)));
    let ball = world.server.create(BALL, b"", world.now()).expect("room");
    world.server.observe(ball, still(0.0), world.now()).expect("its own");
    let mut jumped_at = None;
    world.run_for(Span::from_millis(20), |world, now| {
        world.server.observe(ball, still(DISTANCE), now).expect("its own");
        jumped_at.get_or_insert(now);
    });
    if fault == Fault::Cut {
        world.cut(0);
    }
    world.run_for(Span::from_secs(5), idle);
    let arrived_at = arrival.0.lock().expect("nobody panicked").expect("the client knows the ball");
    (world, ball, jumped_at.expect("it jumped"), arrived_at)
}

#[test]
fn the_ledger_books_an_announcement_when_it_arrived() {
    let cases = (any::<u64>(), 5..300i64, 0.0..0.15f64);
    law!(cases, cases = 48, |(seed, delay_ms, loss)| {
        let link = LinkConfig::default().delay(Span::from_millis(delay_ms)).loss(Loss::each(loss));
        let (mut world, ball, jumped_at, arrived_at) = bear(seed, link, Fault::None);
        let receiver = world.client(0).id().expect("connected").receiver();
        let now = world.now();
        let mut ledger = world.server.dispatcher().ledger(ball).expect("a ledger").clone();
        ledger.advance(now);
        // Four lost requests in a row, and the server takes the transport for dead.
        let Some(standing) = ledger.standing(receiver) else { return Ok(()) };
        prop_assert!(ledger.is_settled(receiver), "the arrival is a guess: {standing:?}");
        let error = standing.accumulated;
        let expected = DISTANCE * (now - arrived_at.max(jumped_at)).as_secs_f64();
        prop_assert!((error - expected).abs() < 0.005 * DISTANCE, "{error} and not {expected}");
        Ok(())
    });
}

#[test]
fn an_announcement_of_a_resumed_session_has_the_newest_motion_and_is_booked_again() {
    let link = LinkConfig::default().delay(Span::from_millis(100));
    let (mut world, ball, ..) = bear(7, link, Fault::Cut);
    let (client, local) = world.client_now(0);
    assert_eq!(client.place(ball, local).map(|state| state.position.x), Some(DISTANCE));
    let receiver = client.id().expect("connected").receiver();
    let ledger = world.server.dispatcher().ledger(ball).expect("a ledger");
    assert!(ledger.is_settled(receiver));
    let standing = ledger.standing(receiver).expect("a page");
    assert!(standing.has_newest && standing.has_acknowledged, "{standing:?}");
}
