//! What the checkers are given in every frame, and the check for convergence.

use std::collections::BTreeMap;

use fairpath::State;
use fairpath::number::EntityId;
use fairpath::session::limits::PARENTS_MAX;
use fairpath::session::{Client, ClientId, Party};
use fairpath::time::{SharedInstant, Span};
use fairpath::vector::{Vec2, Vector};
use fairpath_sim::LinkConfig;

use super::{ClientPlayer, MOVES_ON, RESTS, World, WorldRun, peer};
use crate::check::{CarrierFrame, ConvergenceCheck, ExpectedObject, Law, LedgerReading, SeenObject};
use crate::game::{RIDER, STONE, stamp_at_client};

impl WorldRun<'_> {
    pub(super) fn check_state(&mut self, world: &mut World, now: SharedInstant) {
        // The server's ledgers contain this frame's events, so the checkers must see them first.
        self.handle_recorded_events();
        for index in 0..self.plan.clients {
            self.check_client(world, index, now);
        }
        if !self.is_idle() {
            self.check_servers_riders(world, now);
        }
        if self.frame.is_multiple_of(15) && !self.is_idle() {
            self.check_ledgers(world, now);
            for client in world.server.clients().collect::<Vec<_>>() {
                let queues = world.server.queues(client).expect("it has a session");
                let who = format!("the server for client {}", client.0);
                self.bounds.on_queues(&who, &queues, now, &mut self.findings);
            }
        }
    }

    fn check_client(&mut self, world: &mut World, index: usize, now: SharedInstant) {
        let (client, local) = world.client_now(index);
        let ClientPlayer { session, id, .. } = self.seats[index];
        let (true, true) = (id.is_some() && client.id() == id, client.is_connected()) else { return };
        let (Some(clock), Some(unsure)) = (client.clock_now(local), client.clock_uncertainty(local)) else {
            return;
        };
        self.clocks.on_reading(
            (index, session),
            (clock.local, clock.shared),
            unsure,
            now,
            &mut self.findings,
        );
        self.digest.i64(clock.shared.as_micros());
        if !(self.frame + index as u64).is_multiple_of(6) {
            return;
        }
        self.bounds.on_queues(&format!("client {index}"), &client.queues(), now, &mut self.findings);
        let who = format!("client {index}");
        let is_stones_turn = (self.frame + index as u64).is_multiple_of(60);
        for object in client.objects().collect::<Vec<_>>() {
            let Some(class) = client.class(object).filter(|class| *class != STONE || is_stones_turn) else {
                continue;
            };
            let state = client.place(object, local);
            let is_mine = client.owner(object) == id.map(Party::Client);
            let stamp = stamp_at_client(client, object, local);
            let position = state.map(|state| state.position);
            let seen = SeenObject { object, class, stamp, position };
            self.identity.on_seen(&who, seen, now, &mut self.findings);
            // A clock that was set back refuses DR vectors: they come from the future.
            let is_in_sight = state.is_some() || !self.plan.has_sound_clock(index);
            self.findings.check(Law::Entered, now, is_in_sight, || {
                format!("client {index} sees object {} and has no place for it", object.0)
            });
            let Some((followed, state)) = client.followed(object).copied().zip(state) else { continue };
            self.digest.f64(state.position.x).f64(state.position.y);
            if is_in_a_circle(client, object) {
                continue;
            }
            let carrier = match followed.parent {
                // Until the parent is known, or after it is gone, its riders coast or rest.
                Some(parent) => match client.place(parent, local) {
                    Some(carrier) => Some(CarrierFrame::of(&carrier)),
                    None => continue,
                },
                None => None,
            };
            if !is_mine {
                let placed = (clock.shared, state.position);
                self.placed.on_placed(index, &followed, carrier, placed, now, &mut self.findings);
            }
        }
    }

    fn check_ledgers(&mut self, world: &mut World, now: SharedInstant) {
        for index in 0..self.plan.clients {
            // A client unaware of a server restart has an id that may be another's now.
            let is_one = |id: &ClientId| self.seats.iter().filter(|seat| seat.id == Some(*id)).count() == 1;
            let known = world.client(index).id();
            let Some(id) = self.seats[index].id.filter(|id| known == Some(*id) && is_one(id)) else {
                continue;
            };
            // A server that checks reports books arrivals differently on purpose.
            let is_believed = !self.plan.is_liar(index) && !self.plan.trusts;
            let clock_error = self.good_clock_error(index);
            let receiver = id.receiver();
            // Stones are too many. The model knows no parents, which begin a new life of a rider.
            let is_compared = |object: &EntityId| {
                !world.server.class(*object).is_some_and(|class| [STONE, RIDER].contains(&class))
            };
            for object in world.server.objects().filter(is_compared) {
                let Some(ledger) = world.server.dispatcher().ledger(object) else { continue };
                let Some(standing) = ledger.standing(receiver) else { continue };
                self.bounds.on_copies(ledger.remembered(receiver), now, &mut self.findings);
                self.digest.f64(standing.accumulated);
                let owners_error = self.owners_clock_error(world.server.owner(object));
                if let Some(clock_error) = clock_error.zip(owners_error).filter(|_| is_believed) {
                    let clock_error = clock_error.0 + clock_error.1;
                    let is_settled = ledger.is_settled(receiver);
                    let said = LedgerReading { accumulated: standing.accumulated, is_settled };
                    let pair = (object, receiver);
                    let truth = self.ledgers.compare(pair, said, clock_error, now, &mut self.findings);
                    (self.trace)(&(now, pair, said, truth));
                }
            }
        }
    }

    fn owners_clock_error(&self, owner: Option<Party>) -> Option<Span> {
        let Some(Party::Client(id)) = owner else { return Some(Span::ZERO) };
        let index = self.seats.iter().position(|seat| seat.id == Some(id))?;
        self.good_clock_error(index).filter(|_| self.plan.has_sound_clock(index))
    }

    /// Returns a client's largest clock error, if it is small enough to compare ledgers.
    fn good_clock_error(&self, index: usize) -> Option<Span> {
        // The dispatcher accepts 50 ms.
        self.clocks.worst(index).filter(|error| *error < Span::from_millis(45))
    }

    pub(super) fn check_convergence(&mut self, world: &mut World, now: SharedInstant) {
        let rests_since = self.plan.heals_at + MOVES_ON;
        if now - rests_since < RESTS || !self.frame.is_multiple_of(20) {
            return;
        }
        let wrong = self.find_difference(world, now);
        self.is_over = wrong.is_none();
        let has_time = now - rests_since < ConvergenceCheck::WITHIN;
        self.findings.check(Law::Converged, now, self.is_over || has_time, || {
            format!("{:?} after healing: {}", ConvergenceCheck::WITHIN, wrong.unwrap_or_default())
        });
    }

    fn find_difference(&mut self, world: &mut World, now: SharedInstant) -> Option<String> {
        let expected = self.expected(world, now);
        let converged = ConvergenceCheck::new(expected, self.plan.sight);
        if let Some(wrong) = converged.server(&world.server, now) {
            return Some(wrong);
        }
        for index in 0..self.plan.clients {
            let local = world.network.local_now(peer(index));
            let (client, server) = world.client_and_server(index);
            if let Some(wrong) = converged.client(index, (client, local), (server, now)) {
                return Some(wrong);
            }
            let LinkConfig { delay, jitter_uniform, .. } = self.plan.links[index][0];
            let clock = self.clocks.unsettled(index, (delay, jitter_uniform), self.plan.heals_at, now);
            if let Some(wrong) = clock.filter(|_| self.plan.is_symmetric(index)) {
                return Some(wrong);
            }
        }
        if self.stranger.as_ref().is_some_and(|it| !it.is_refused_since(self.plan.heals_at)) {
            return Some("the client with another description was not refused".into());
        }
        // Sessions without a client: nothing is owed to them.
        for id in world.server.clients().filter(|id| !self.seats.iter().any(|seat| seat.id == Some(*id))) {
            self.calls.excuse(&format!("s{}.{}>", self.epoch, id.0));
        }
        self.calls.missing()
    }

    fn expected(&self, world: &mut World, now: SharedInstant) -> BTreeMap<EntityId, ExpectedObject> {
        let mut desired = BTreeMap::new();
        for (seat, tank) in self.seats.iter().zip(self.game.tanks().tanks()) {
            if let (Some(id), Some(object)) = (seat.id, seat.tank) {
                let position = tank.is_alive().then(|| tank.state().position);
                let owner = Some(Party::Client(id));
                let mut groups = seat.groups.clone();
                groups.extend(self.servers_groups(object));
                desired.insert(object, ExpectedObject { position, owner, groups, ..Default::default() });
            }
        }
        for (number, drone) in self.drones.iter().enumerate() {
            let groups = self.servers_groups(*drone).collect();
            let position = Some(self.drone(number, now).position);
            let owner = Some(Party::Server);
            desired.insert(*drone, ExpectedObject { position, owner, groups, ..Default::default() });
        }
        for (number, ball) in self.balls.iter().enumerate() {
            // The server decides the owner; if the owner is away the ball does not move.
            let is_moved = match world.server.owner(*ball) {
                Some(Party::Client(owner)) => self.seats.iter().any(|seat| seat.id == Some(owner)),
                _ => true,
            };
            let position = is_moved.then(|| self.ball(number, now).position);
            desired.insert(*ball, ExpectedObject { position, ..ExpectedObject::default() });
        }
        for object in self.platforms.iter().chain(&self.riders) {
            let parent = self.owners_parent(world, *object);
            let carried = self.carried(world, *object, now);
            let (position, depth) = (carried.map(|it| it.position), carried.map_or(0, |it| it.depth));
            desired.insert(*object, ExpectedObject { position, parent, depth, ..Default::default() });
        }
        for stone in &self.stones {
            // A checker of its own knows where it lies.
            desired.insert(*stone, ExpectedObject { owner: Some(Party::Server), ..Default::default() });
        }
        desired
    }

    /// Returns the states of an object that the server has set.
    fn servers_groups(&self, object: EntityId) -> impl Iterator<Item = (u8, Vec<u8>)> {
        let groups = self.server_groups.range((object, 0)..=(object, u8::MAX));
        groups.map(|((_, group), value)| (*group, value.clone()))
    }

    /// Returns the state of a drone: circles of changing size, until all objects rest.
    pub(super) fn drone(&self, number: usize, now: SharedInstant) -> State<Vec2> {
        let rests_since = self.plan.heals_at + MOVES_ON;
        let secs = now.min(rests_since).as_secs_f64();
        let phase = number as f64 * 2.0 + secs * 0.7;
        let swing = libm::sin(secs * 1.3);
        let radius = 30.0 + 8.0 * swing;
        let ahead = Vec2::from_heading(phase);
        let velocity = ahead.perpendicular() * (0.7 * radius) + ahead * (8.0 * 1.3 * libm::cos(secs * 1.3));
        let velocity = if now < rests_since { velocity } else { Vec2::ZERO };
        State::moving(ahead * radius, velocity)
    }

    /// Returns the state of a ball: it rolls to and fro, until all objects rest.
    pub(super) fn ball(&self, number: usize, now: SharedInstant) -> State<Vec2> {
        let rests_since = self.plan.heals_at + MOVES_ON;
        let secs = now.min(rests_since).as_secs_f64();
        let x = 20.0 * libm::sin(secs + number as f64);
        let speed = if now < rests_since { 20.0 * libm::cos(secs + number as f64) } else { 0.0 };
        State::moving(Vec2::new(x, 10.0 * number as f64), Vec2::new(speed, 0.0))
    }
}

/// Whether an object carries its own carrier, as this client sees it: the client has attached an
/// object of its own to one that the server has attached to this one meanwhile. The server refuses
/// that, and until the game has attached its object elsewhere both coast.
fn is_in_a_circle(client: &Client<Vec2>, object: EntityId) -> bool {
    let parents = std::iter::successors(client.parent(object), |parent| client.parent(*parent));
    parents.take(PARENTS_MAX + 1).any(|ancestor| ancestor == object)
}
