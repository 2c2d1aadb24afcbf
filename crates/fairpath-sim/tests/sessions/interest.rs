//! Law: the index of objects by position changes nothing but the cost of a scope check.

use fairpath::random::Random;
use fairpath::schedule::Broadcast;
use fairpath::session::{
    Client, ClientConfig, ClientId, Nearest, Party, Scope, ScopeObject, Server, ServerConfig, Within,
};
use fairpath::time::Span;
use fairpath::vector::{Planar, Vec2, Vec3};
use fairpath::{EntityId, Observation, State};
use fairpath_laws::proptest::prelude::*;
use fairpath_laws::{law, number};
use fairpath_sim::{LinkConfig, SessionWorld};

use super::arena::{BALL, SHIP, classes};

const CLIENTS: usize = 6;

/// Answers like another scope, and is asked about all objects at every check.
#[derive(Debug)]
struct Walk<S>(S);

impl<V: Planar, S: Scope<V>> Scope<V> for Walk<S> {
    fn sees(
        &mut self,
        client: ClientId,
        object: &ScopeObject<'_, V>,
        eyes: &[ScopeObject<'_, V>],
        is_seen: bool,
    ) -> bool {
        self.0.sees(client, object, eyes, is_seen)
    }

    fn choose(
        &mut self,
        client: ClientId,
        objects: &[ScopeObject<'_, V>],
        eyes: &[ScopeObject<'_, V>],
        is_seen: &dyn Fn(EntityId) -> bool,
    ) -> Vec<EntityId> {
        self.0.choose(client, objects, eyes, is_seen)
    }
}

#[derive(Clone, Debug)]
enum Step {
    /// A client's ship jumps to a place and flies on with a velocity, or rests.
    Fly(usize, [f64; 3], [f64; 3]),
    /// A client creates its ship, or destroys it.
    Toggle(usize),
    /// A client attaches its ship to another client's, or detaches it.
    Ride(usize, Option<usize>),
    /// The server creates a ball.
    Drop([f64; 3]),
    /// The server destroys a ball, or gives it to a client.
    Take(usize, Option<usize>),
    Leave(usize),
    Arrive(usize),
    Wait(i64),
}

fn place() -> impl Strategy<Value = [f64; 3]> {
    prop_oneof![
        6 => [number(60.0), number(60.0), number(60.0)],
        1 => Just([5.0; 3]),
        1 => [number(1e29), number(1e29), number(1e29)],
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let velocity = || prop_oneof![Just([0.0; 3]), [number(40.0), number(40.0), number(40.0)]];
    let someone = || 0..CLIENTS;
    prop_oneof![
        6 => (someone(), place(), velocity()).prop_map(|(who, at, by)| Step::Fly(who, at, by)),
        2 => someone().prop_map(Step::Toggle),
        1 => (someone(), prop::option::of(someone())).prop_map(|(who, on)| Step::Ride(who, on)),
        3 => place().prop_map(Step::Drop),
        1 => (0..8usize, prop::option::of(someone())).prop_map(|(ball, to)| Step::Take(ball, to)),
        1 => someone().prop_map(Step::Leave),
        1 => someone().prop_map(Step::Arrive),
        8 => (50..800i64).prop_map(Step::Wait),
    ]
}

/// A world that can be played twice, with different scopes.
struct Game<V: Planar> {
    world: SessionWorld<V>,
    ships: [Option<EntityId>; CLIENTS],
    flights: [(V, V); CLIENTS],
    has_jumped: [bool; CLIENTS],
    balls: Vec<EntityId>,
}

impl<V: Planar> Game<V> {
    fn new(scope: impl Scope<V> + 'static) -> Self {
        let config = ServerConfig {
            clients_max: CLIENTS,
            resume_within: Span::from_secs(1),
            ..ServerConfig::new(classes(), 1)
        };
        let server = Server::new(config, Box::new(Broadcast), Random::from_seed(1)).with_scope(scope);
        let client = |seed| Client::new(ClientConfig::new(classes()), Random::from_seed(seed));
        let clients = (0..CLIENTS as u64).map(client).collect();
        let link = LinkConfig::default().delay(Span::from_millis(20));
        let mut world = SessionWorld::new(9, link, server, clients);
        world.connect_all();
        let flights = [(V::ZERO, V::ZERO); CLIENTS];
        Self { world, ships: [None; CLIENTS], flights, has_jumped: [false; CLIENTS], balls: Vec::new() }
    }

    /// Errors are part of the game: a client may have no session, an object may be gone.
    fn play(&mut self, step: &Step) {
        let vector = |of: &[f64; 3]| V::from_components(|axis| of[axis]);
        let now = self.world.now();
        match step {
            Step::Fly(who, at, by) => {
                self.flights[*who] = (vector(at), vector(by));
                self.has_jumped[*who] = true;
            }
            Step::Toggle(who) => {
                let (client, local) = self.world.client_now(*who);
                self.ships[*who] = match self.ships[*who] {
                    Some(ship) => client.destroy(ship).err().map(|_| ship),
                    None => client.create(SHIP, b"", local).ok(),
                };
            }
            Step::Ride(who, on) => {
                let parent = on.and_then(|on| self.ships[on]);
                if let Some(ship) = self.ships[*who] {
                    let _ = self.world.client(*who).attach(ship, parent);
                }
            }
            Step::Drop(at) => {
                let ball = self.world.server.create(BALL, b"", now).expect("room");
                let rest = Observation::Moved(State::moving(vector(at), V::ZERO));
                self.world.server.observe(ball, rest, now).expect("its own");
                self.balls.push(ball);
            }
            Step::Take(ball, to) => {
                let Some(ball) = self.balls.get(*ball).copied() else { return };
                let to = to.and_then(|index| self.world.server.clients().nth(index));
                let _ = match to {
                    Some(client) => self.world.server.give(ball, Party::Client(client), now),
                    None => self.world.server.destroy(ball),
                };
            }
            Step::Leave(who) => self.world.absent(*who),
            Step::Arrive(who) => self.world.arrive(*who),
            Step::Wait(millis) => self.wait(Span::from_millis(*millis)),
        }
    }

    fn wait(&mut self, span: Span) {
        let Self { world, ships, flights, has_jumped, .. } = self;
        let from = world.now();
        world.run_for(span, |world, now| {
            for who in 0..CLIENTS {
                let Some(ship) = ships[who] else { continue };
                let (position, velocity) = flights[who];
                let state = State::moving(position + velocity * (now - from).as_secs_f64(), velocity);
                let (client, local) = world.client_now(who);
                let jumps = std::mem::take(&mut has_jumped[who]);
                let observation = if jumps { Observation::Jumped(state) } else { Observation::Moved(state) };
                let _ = client.observe(ship, observation, local);
            }
        });
        for (position, velocity) in &mut self.flights {
            *position += *velocity * span.as_secs_f64();
        }
    }

    fn seen(&self) -> Vec<(ClientId, Vec<EntityId>)> {
        let server = &self.world.server;
        let sees = |client| server.objects().filter(|object| server.sees(client, *object)).collect();
        server.clients().map(|client| (client, sees(client))).collect()
    }
}

fn check<V: Planar, S: Scope<V> + Copy + 'static>(scope: S, steps: &[Step]) -> Result<(), TestCaseError> {
    let mut indexed = Game::<V>::new(scope);
    let mut walked = Game::<V>::new(Walk(scope));
    for step in steps {
        indexed.play(step);
        walked.play(step);
        prop_assert_eq!(indexed.seen(), walked.seen(), "after {:?}", step);
    }
    Ok(())
}

#[test]
fn an_index_shows_clients_what_a_walk_of_all_objects_shows_them() {
    law!(prop::collection::vec(step(), 1..40), cases = 48, |steps| {
        check::<Vec2, _>(Within { enter: 40.0, leave: 50.0 }, &steps)?;
        check::<Vec2, _>(Nearest { count: 2 }, &steps)
    });
    law!(prop::collection::vec(step(), 1..40), cases = 24, |steps| {
        check::<Vec3, _>(Within { enter: 40.0, leave: 50.0 }, &steps)?;
        check::<Vec3, _>(Nearest { count: 2 }, &steps)
    });
}
