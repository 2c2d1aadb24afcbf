//! An attack in virtual time: six honest clients, an attacker, and the errors of the honest ones.

use fairpath::random::Random;
use fairpath::session::{
    Class, ClassId, Client, ClientConfig, ConnectionId, Delivery, Party, Server, ServerConfig, ServerEvent,
    SpeedCheck, TeleportCheck, Token,
};
use fairpath::time::{LocalInstant, SharedInstant, Span};
use fairpath::vector::{Vec2, Vector};
use fairpath::{EntityId, Observation, State, Trigger};
use fairpath_sim::{LinkConfig, PeerId, SessionWorld};

use super::attacker::{Attack, AttackStep, Attacker};
use crate::check::{BoundCheck, Findings, Violation};
use crate::plan::SchedulerPlan;

/// The configuration of the attacked server.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Defence {
    pub scheduler: SchedulerPlan,
    /// The most objects of one client.
    pub objects_max: usize,
    /// Whether the server checks speeds and jumps.
    pub checks: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct AttackDamage {
    /// The mean placement error of honest clients about each other, in units.
    pub error: f64,
    /// How often an honest client did not see another one.
    pub unseen: u64,
    /// How often an honest client lost its connection.
    pub honest_closed: u64,
    /// How often the server closed the attacker's connection.
    pub thrown_out: u64,
    /// How often the server reported a refusal.
    pub refused: u64,
    /// The first bound that was exceeded.
    pub violation: Option<Violation>,
    /// The most bytes that were queued for one client.
    pub outbox_bytes: usize,
    /// The most objects at once.
    pub objects: usize,
}

const SHIP: ClassId = ClassId(1);
/// A little more than the largest speed of honest clients.
const SPEED_MAX: f64 = 40.0;
/// The one-way delay of each honest client, in milliseconds.
const DELAYS: [i64; 6] = [10, 30, 60, 100, 150, 200];
/// Measurements begin after all clients are connected and their clocks have settled.
const WARMS_UP: Span = Span::from_secs(4);
const LASTS: Span = Span::from_secs(10);
/// The delay of the attacker's reconnects. On real sockets the connection limiter enforces one.
const PATIENCE: Span = Span::from_secs(1);

/// Runs an attacker against a server with six honest clients, for ten seconds.
pub fn besiege(attack: Attack, defence: Defence, seed: u64) -> AttackDamage {
    let mut random = Random::from_seed(seed);
    let classes = [(SHIP, Class::new(Trigger::within(0.3)).at_most(defence.objects_max))];
    let mut fork = |index| Random::from_seed(random.bits()).fork(index);
    let mut server = Server::new(ServerConfig::new(classes.clone(), 1), defence.scheduler.build(), fork(0));
    if defence.checks {
        let teleport = TeleportCheck { speed_max: SPEED_MAX, slack: 5.0, allows_jumps: false };
        server = server.with_interceptor(SpeedCheck { speed_max: SPEED_MAX }).with_interceptor(teleport);
    }
    let honest = |_| Client::new(ClientConfig::new(classes.clone()), fork(1));
    let clients = DELAYS.iter().map(honest).collect();
    let mut world = SessionWorld::new(seed, LinkConfig::default(), server, clients);
    for (index, millis) in DELAYS.iter().enumerate() {
        let link = LinkConfig::default().delay(Span::from_millis(*millis));
        world.network.connect(PeerId(0), PeerId(index as u32 + 1), link);
    }
    world.connect_all();
    let attacker = Attacker::new(attack, classes, SHIP, fork(2));
    let mut siege = AttackRun::new(attacker, world.now());
    world.run_for(WARMS_UP + LASTS, |world, now| siege.frame(world, now));
    siege.damage()
}

struct AttackRun {
    attacker: Attacker,
    connection: Option<ConnectionId>,
    connected_at: SharedInstant,
    tokens: u8,
    ships: [Option<EntityId>; DELAYS.len()],
    measures_from: SharedInstant,
    frame: u64,
    errors: (f64, u64),
    findings: Findings,
    damage: AttackDamage,
}

impl AttackRun {
    fn new(attacker: Attacker, now: SharedInstant) -> Self {
        Self {
            attacker,
            connection: None,
            connected_at: now,
            tokens: 100,
            ships: [None; DELAYS.len()],
            measures_from: now + WARMS_UP,
            frame: 0,
            errors: (0.0, 0),
            findings: Findings::default(),
            damage: AttackDamage {
                error: 0.0,
                unseen: 0,
                honest_closed: 0,
                thrown_out: 0,
                refused: 0,
                violation: None,
                outbox_bytes: 0,
                objects: 0,
            },
        }
    }

    fn damage(self) -> AttackDamage {
        let (sum, count) = self.errors;
        AttackDamage { error: sum / count as f64, violation: self.findings.violation, ..self.damage }
    }

    fn frame(&mut self, world: &mut SessionWorld<Vec2>, now: SharedInstant) {
        self.frame += 1;
        self.fly(world, now);
        self.hear_server(world);
        self.attack(&mut world.server, now);
        self.look(world, now);
    }

    /// Plays the honest clients and the server.
    fn fly(&mut self, world: &mut SessionWorld<Vec2>, now: SharedInstant) {
        for (index, ship) in self.ships.iter_mut().enumerate() {
            let (client, local) = world.client_now(index);
            while client.poll_event().is_some() {}
            if ship.is_none() {
                *ship = client.create(SHIP, b"", local).ok();
            }
            if let Some(ship) = *ship {
                let _ = client.observe(ship, Observation::Moved(flight(index, now)), local);
            }
        }
        if self.frame.is_multiple_of(6) {
            for client in world.server.clients().collect::<Vec<_>>() {
                let _ = world.server.call_client(client, 1, &[0; 64], Delivery::ReliableOrdered);
            }
        }
    }

    fn hear_server(&mut self, world: &mut SessionWorld<Vec2>) {
        while let Some(event) = world.server.poll_event() {
            match event {
                ServerEvent::Closed { client: Some(client), .. } if (client.0 as usize) < DELAYS.len() => {
                    self.damage.honest_closed += 1;
                }
                ServerEvent::Closed { client: Some(_), .. } => self.damage.thrown_out += 1,
                ServerEvent::Refused { .. } => self.damage.refused += 1,
                _ => {}
            }
        }
    }

    /// Plays the attacker's turn, over a transport without loss or delay.
    fn attack(&mut self, server: &mut Server<Vec2>, now: SharedInstant) {
        let local = LocalInstant::ZERO + now.since_zero();
        self.stay_connected(server, now, local);
        let Some(id) = self.connection else { return };
        if self.attacker.reads() {
            while let Some(bytes) = server.poll_stream(id, now) {
                self.attacker.on_stream(&bytes, local);
            }
            while let Some(bytes) = server.poll_unordered(id) {
                self.attacker.on_unordered(&bytes, local);
            }
        }
        while let Some(bytes) = server.poll_datagram(id, now, 1_150) {
            self.attacker.on_datagram(&bytes, local);
        }
        for shot in self.attacker.turn(local) {
            match shot {
                AttackStep::Stream(bytes) => server.handle_stream(id, &bytes, now),
                AttackStep::Unordered(bytes) => server.handle_unordered(id, &bytes, now),
                AttackStep::Datagram(bytes) => {
                    server.handle_datagram(id, &bytes, now);
                }
                AttackStep::OpenSilently => drop(server.handle_connected(self.token(), now)),
            }
        }
    }

    /// Reconnects the attacker after its connection is closed, as soon as it may.
    fn stay_connected(&mut self, server: &mut Server<Vec2>, now: SharedInstant, local: LocalInstant) {
        let is_in = |id| server.clients().any(|client| server.connection(client) == Some(id));
        let plays_on = self.connection.is_some_and(is_in) && !self.attacker.gave_up();
        if plays_on || self.connection.is_some() && now - self.connected_at < PATIENCE {
            return;
        }
        if let Some(id) = self.connection {
            server.handle_disconnected(id, None, now);
        }
        self.attacker.on_disconnected(local);
        self.connection = server.handle_connected(self.token(), now);
        self.connected_at = now;
        if self.connection.is_some() {
            self.attacker.on_connected(local);
        }
    }

    fn token(&mut self) -> Token {
        self.tokens = self.tokens.wrapping_add(1);
        Token([self.tokens; 16])
    }

    fn look(&mut self, world: &mut SessionWorld<Vec2>, now: SharedInstant) {
        for client in world.server.clients().collect::<Vec<_>>() {
            let queues = world.server.queues(client).expect("it has a session");
            self.damage.outbox_bytes = self.damage.outbox_bytes.max(queues.outbox_bytes);
            BoundCheck.on_queues(
                &format!("the server for client {}", client.0),
                &queues,
                now,
                &mut self.findings,
            );
        }
        self.damage.objects = self.damage.objects.max(world.server.objects().count());
        if now < self.measures_from {
            return;
        }
        for viewer in 0..DELAYS.len() {
            for (index, ship) in self.ships.iter().enumerate().filter(|(index, _)| *index != viewer) {
                let (client, local) = world.client_now(viewer);
                let Some(placed) = ship.and_then(|ship| client.place(ship, local)) else {
                    self.damage.unseen += 1;
                    continue;
                };
                self.errors.0 += placed.position.distance(flight(index, now).position);
                self.errors.1 += 1;
                let whose = ship.and_then(|ship| world.server.owner(ship));
                self.damage.unseen += u64::from(!matches!(whose, Some(Party::Client(_))));
            }
        }
    }
}

/// Returns an honest ship's state: it oscillates on both axes, at up to 30 units per second.
fn flight(index: usize, now: SharedInstant) -> State<Vec2> {
    let secs = now.as_secs_f64() + 7.0 * index as f64;
    let [(slow, wide), (quick, narrow)] = [(0.5, 50.0), (0.9, 20.0)];
    let position = Vec2::new(wide * libm::sin(slow * secs), narrow * libm::sin(quick * secs));
    let velocity = Vec2::new(wide * slow * libm::cos(slow * secs), narrow * quick * libm::cos(quick * secs));
    State::moving(position, velocity)
}
