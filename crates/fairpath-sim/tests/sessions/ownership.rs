//! Goal: a claim is granted by the library's rule or by the game's, every peer learns the outcome,
//! and a hand-over can carry a motion. Method: claims from near and far, a vehicle with a driver, a
//! kick, releases and refusals over delayed links.

use fairpath::random::Random;
use fairpath::schedule::Broadcast;
use fairpath::session::{
    ClaimRequest, Class, Client, ClientConfig, ClientEvent, ClientId, Interceptor, Party, Refusal, Server,
    ServerConfig, ServerEvent,
};
use fairpath::time::Span;
use fairpath::vector::{Vec2, Vector};
use fairpath::{EntityId, Observation, State};
use fairpath_sim::{LinkConfig, Loss, SessionWorld};

use super::arena::{
    BALL, SHIP, World, client, client_events, idle, launch, place_ball, server, server_events, world,
};

const REACH: f64 = 5.0;

/// A claim needs a ship within reach of the object, and takes nothing from another client.
#[derive(Debug)]
struct Within {
    is_shared: bool,
}

impl Interceptor<Vec2> for Within {
    fn check_claim(&mut self, claim: &ClaimRequest<'_, Vec2>) -> Result<(), Refusal> {
        let is_near = claim.distance().is_some_and(|distance| distance <= REACH);
        let is_free = self.is_shared || claim.object.owner == Party::Server;
        if is_near && is_free { Ok(()) } else { Err(Refusal::Vetoed) }
    }
}

fn far_link() -> LinkConfig {
    LinkConfig::default().delay(Span::from_millis(100))
}

fn guarded_world(rule: Within) -> World {
    SessionWorld::new(5, far_link(), server(1).with_interceptor(rule), vec![client(0), client(1)])
}

/// Every client keeps its ship at rest at this x.
fn park(world: &mut World, ships: &[EntityId], at: &[f64], span: Span) {
    world.run_for(span, |world, _| {
        for (index, (ship, x)) in ships.iter().zip(at).enumerate() {
            let (client, local) = world.client_now(index);
            let there = Observation::Moved(State::moving(Vec2::new(*x, 0.0), Vec2::ZERO));
            client.observe(*ship, there, local).expect("its own");
        }
    });
}

fn party(world: &mut World, index: usize) -> Party {
    Party::Client(world.client(index).id().expect("connected"))
}

fn forget_events(world: &mut World) {
    server_events(world);
    (0..world.client_count()).for_each(|index| drop(client_events(world, index)));
}

#[test]
fn a_claim_from_too_far_away_is_refused_and_a_near_one_is_granted() {
    let mut world = guarded_world(Within { is_shared: true });
    let ships = launch(&mut world);
    let ball = place_ball(&mut world, b"");
    let places = [REACH + 1.0, REACH - 1.0];
    park(&mut world, &ships, &places, Span::from_secs(2));
    forget_events(&mut world);

    world.client(0).claim(ball).expect("seen");
    park(&mut world, &ships, &places, Span::from_secs(1));
    assert_eq!(world.server.owner(ball), Some(Party::Server));
    let refused = ClientEvent::Refused { object: ball, refusal: Refusal::Vetoed };
    assert_eq!(client_events(&mut world, 0), [refused]);
    let Party::Client(far) = party(&mut world, 0) else { panic!("a client") };
    let reported = ServerEvent::Refused { client: far, object: ball, refusal: Refusal::Vetoed };
    assert_eq!(server_events(&mut world), [reported]);

    let near = party(&mut world, 1);
    world.client(1).claim(ball).expect("seen");
    park(&mut world, &ships, &places, Span::from_secs(1));
    for index in 0..2 {
        assert_eq!(world.client(index).owner(ball), Some(near));
        let changed = ClientEvent::OwnershipChanged { object: ball, owner: near };
        assert_eq!(client_events(&mut world, index), [changed]);
    }
}

#[test]
fn a_client_without_objects_is_near_nothing() {
    let mut world = guarded_world(Within { is_shared: true });
    world.connect_all();
    let ball = place_ball(&mut world, b"");
    world.run_for(Span::from_secs(1), idle);
    world.client(0).claim(ball).expect("seen");
    world.run_for(Span::from_secs(1), idle);
    assert_eq!(world.server.owner(ball), Some(Party::Server));
}

#[test]
fn a_vehicle_stays_with_its_driver_until_released() {
    let mut world = guarded_world(Within { is_shared: false });
    let ships = launch(&mut world);
    let vehicle = place_ball(&mut world, b"vehicle");
    let places = [1.0, -1.0];
    park(&mut world, &ships, &places, Span::from_secs(2));
    let (driver, other) = (party(&mut world, 0), party(&mut world, 1));
    world.client(0).claim(vehicle).expect("seen");
    park(&mut world, &ships, &places, Span::from_secs(1));
    forget_events(&mut world);

    world.client(1).claim(vehicle).expect("seen");
    park(&mut world, &ships, &places, Span::from_secs(1));
    let refused = ClientEvent::Refused { object: vehicle, refusal: Refusal::Vetoed };
    assert_eq!(client_events(&mut world, 1), [refused]);
    assert_eq!(world.server.owner(vehicle), Some(driver));
    assert_eq!(client_events(&mut world, 0), [], "the driver notices nothing");

    world.client(0).release(vehicle).expect("its own");
    park(&mut world, &ships, &places, Span::from_secs(1));
    world.client(1).claim(vehicle).expect("seen");
    park(&mut world, &ships, &places, Span::from_secs(1));
    assert_eq!(world.server.owner(vehicle), Some(other));
}

#[test]
fn without_a_rule_of_the_game_a_claim_takes_the_ball_from_its_owner() {
    let mut world = world(6, far_link(), 2);
    world.connect_all();
    let ball = place_ball(&mut world, b"");
    world.run_for(Span::from_secs(1), idle);
    world.client(0).claim(ball).expect("seen");
    world.run_for(Span::from_secs(1), idle);
    forget_events(&mut world);
    let (before, after) = (party(&mut world, 0), party(&mut world, 1));
    assert_eq!(world.server.owner(ball), Some(before));

    world.client(1).claim(ball).expect("seen");
    world.run_for(Span::from_secs(1), idle);
    let changed = ClientEvent::OwnershipChanged { object: ball, owner: after };
    for index in 0..2 {
        assert_eq!(client_events(&mut world, index), std::slice::from_ref(&changed));
    }
}

#[test]
fn the_servers_own_give_is_reported_to_clients_only() {
    let mut world = world(7, far_link(), 2);
    world.connect_all();
    let ball = place_ball(&mut world, b"");
    world.run_for(Span::from_secs(1), idle);
    forget_events(&mut world);
    let to = party(&mut world, 0);
    for owner in [to, Party::Server, to] {
        let now = world.now();
        world.server.give(ball, owner, now).expect("it exists");
        world.run_for(Span::from_secs(1), idle);
        assert_eq!(server_events(&mut world), [], "the game did it itself");
        for index in 0..2 {
            let changed = ClientEvent::OwnershipChanged { object: ball, owner };
            assert_eq!(client_events(&mut world, index), [changed]);
        }
    }
    // What a client decides is reported to the server: a release, a claim, a departure.
    let server_has_it = ServerEvent::OwnershipChanged { object: ball, owner: Party::Server };
    world.client(0).release(ball).expect("its own");
    world.run_for(Span::from_secs(1), idle);
    assert_eq!(server_events(&mut world), std::slice::from_ref(&server_has_it));
    world.client(0).claim(ball).expect("seen");
    world.run_for(Span::from_secs(1), idle);
    assert_eq!(server_events(&mut world), [ServerEvent::OwnershipChanged { object: ball, owner: to }]);
    world.leave(0);
    world.run_for(Span::from_secs(1), idle);
    assert!(server_events(&mut world).contains(&server_has_it));
}

#[test]
fn a_kick_takes_the_ball_and_sets_its_motion_in_one_frame() {
    for seed in 0..10 {
        let link = far_link().jitter_uniform(Span::from_millis(30));
        let mut world = world(seed, link, 3);
        world.connect_all();
        let ball = place_ball(&mut world, b"");
        world.run_for(Span::from_secs(1), idle);
        world.client(0).claim(ball).expect("seen");
        // The kicker dribbles up to the kick and, not knowing of it, a little longer.
        let dribble = |world: &mut World| {
            let (kicker, local) = world.client_now(0);
            let at_foot = Observation::Moved(State::moving(Vec2::new(0.0, 1.0), Vec2::ZERO));
            if kicker.owner(ball) == kicker.id().map(Party::Client) {
                kicker.observe(ball, at_foot, local).expect("its own");
            }
        };
        world.run_for(Span::from_secs(2), |world, _| dribble(world));

        let kicked_at = world.now();
        let fly = |now: fairpath::SharedInstant| {
            let secs = (now - kicked_at).as_secs_f64();
            State::moving(Vec2::new(20.0 * secs, 1.0), Vec2::new(20.0, 0.0))
        };
        world.server.give(ball, Party::Server, kicked_at).expect("it exists");
        world.server.observe(ball, Observation::Moved(fly(kicked_at)), kicked_at).expect("its own");
        let worst = Span::from_millis(100 + 30 + 20);
        world.run_for(Span::from_secs(2), |world, now| {
            dribble(world);
            world.server.observe(ball, Observation::Moved(fly(now)), now).expect("its own");
            if now - kicked_at < worst {
                return;
            }
            for index in 0..3 {
                let (client, local) = world.client_now(index);
                let placed = client.place(ball, local).expect("seen");
                let error = placed.position.distance(fly(now).position);
                assert!(
                    error < 0.5,
                    "seed {seed}, client {index}: off by {error} after {:?}",
                    now - kicked_at
                );
            }
        });
    }
}

#[test]
fn what_is_observed_after_a_release_is_refused_and_is_innocent() {
    let mut world = world(8, far_link(), 2);
    world.connect_all();
    let ball = place_ball(&mut world, b"");
    world.run_for(Span::from_secs(1), idle);
    world.client(0).claim(ball).expect("seen");
    world.run_for(Span::from_secs(1), idle);
    forget_events(&mut world);
    world.client(0).release(ball).expect("its own");
    world.run_for(Span::from_secs(1), |world, _| {
        let (client, local) = world.client_now(0);
        let x = local.as_secs_f64().rem_euclid(100.0);
        let there = Observation::Moved(State::moving(Vec2::new(10.0 * x, 0.0), Vec2::ZERO));
        // It succeeds until the answer to the release arrives.
        let _ = client.observe(ball, there, local);
    });
    let refusals: Vec<Refusal> = server_events(&mut world)
        .into_iter()
        .filter_map(|event| match event {
            ServerEvent::Refused { refusal, .. } => Some(refusal),
            _ => None,
        })
        .collect();
    assert!(!refusals.is_empty(), "updates were on the way");
    assert!(refusals.iter().all(|refusal| *refusal == Refusal::NotOwner && refusal.is_innocent()));
    assert_eq!(world.server.owner(ball), Some(Party::Server));
}

#[test]
fn an_object_that_a_client_may_not_own_stays_visible_after_the_refused_claim() {
    let classes = || [(BALL, Class::within(0.3).claimable().at_most(0)), (SHIP, Class::within(0.3))];
    let server = Server::new(ServerConfig::new(classes(), 1), Box::new(Broadcast), Random::from_seed(1));
    let client = Client::new(ClientConfig::new(classes()), Random::from_seed(2));
    let mut world: World = SessionWorld::new(9, far_link(), server, vec![client]);
    world.connect_all();
    let ball = place_ball(&mut world, b"");
    world.run_for(Span::from_secs(1), idle);
    forget_events(&mut world);
    world.client(0).claim(ball).expect("seen");
    world.run_for(Span::from_secs(1), idle);
    let refused = ClientEvent::Refused { object: ball, refusal: Refusal::TooManyObjects };
    assert_eq!(client_events(&mut world, 0), [refused]);
    let (client, local) = world.client_now(0);
    assert!(client.place(ball, local).is_some(), "it exists, and belongs to the server");
}

/// The world of one bad link among good ones, a late joiner, a player that leaves, and a restart.
#[test]
fn a_world_has_one_bad_link_a_late_joiner_a_leaver_and_a_restart() {
    let bad = far_link().loss(Loss::each(0.1));
    let good = LinkConfig::default().delay(Span::from_millis(10));
    let clients = (0..3).map(client).collect();
    let mut world: World = SessionWorld::new(10, good, server(1), clients).with_link(1, bad);
    world.absent(2);
    world.connect_all();
    let ball = place_ball(&mut world, b"");
    world.run_for(Span::from_secs(3), idle);
    let round_trip = |world: &mut World, index: usize| {
        world.client(index).statistics().round_trip.expect("receipts came").as_millis_f64()
    };
    let trips = [round_trip(&mut world, 0), round_trip(&mut world, 1)];
    assert!(trips[0] < 60.0 && trips[1] > 190.0, "{trips:?}");
    assert!(!world.client(2).is_connected());

    world.arrive(2);
    world.run_for(Span::from_secs(2), idle);
    assert!(world.client(2).owner(ball).is_some(), "a late joiner is told");

    // A client that left connects again after a second, as another client.
    let before = world.client(0).id();
    let (leaver, local) = world.client_now(0);
    leaver.leave(local);
    world.run_for(Span::from_millis(500), idle);
    assert!(!world.client(0).is_connected());
    world.run_for(Span::from_secs(2), idle);
    assert!(world.client(0).is_connected() && world.client(0).id() != before);
    // Unless it is to stay away.
    world.leave(0);
    world.run_for(Span::from_secs(3), idle);
    assert!(!world.client(0).is_connected());
    assert_eq!(world.server.clients().collect::<Vec<_>>(), [ClientId(1), ClientId(2)]);

    world.stop_server(fairpath::session::CloseReason::Restarting);
    world.run_for(Span::from_millis(500), idle);
    world.restart_server(server(2));
    (1..3).for_each(|index| drop(client_events(&mut world, index)));
    world.run_for(Span::from_secs(5), idle);
    for index in 1..3 {
        let events = client_events(&mut world, index);
        let is_new = |event: &ClientEvent| matches!(event, ClientEvent::Connected(_));
        assert!(events.iter().any(is_new), "client {index}: {events:?}");
    }
}
