//! Runs a plan: moves the tanks, makes the calls, injects the faults, and feeds the checkers.

mod actions;
mod checks;
mod faults;

use std::collections::BTreeMap;
use std::fmt::Debug;

use fairpath::Trigger;
use fairpath::motion::MotionKind;
use fairpath::number::EntityId;
use fairpath::random::Random;
use fairpath::schedule::{DispatcherConfig, ReceiptTrust};
use fairpath::session::{
    Class, ClassId, Client, ClientConfig, ClientEvent, ClientId, Rates, Server, ServerConfig, ServerEvent,
    SpeedCheck, Target, Within,
};
use fairpath::time::{SharedInstant, Span};
use fairpath::vector::Vec2;
use fairpath_games::tanks::{Ground, Map, Match, Script, TanksConfig};
use fairpath_sim::{Digest, LinkConfig, PeerId, SessionWorld};

use crate::check::{BoundCheck, BudgetCheck, CallCheck, ClockCheck, Findings, LedgerCheck, PlacementCheck};
use crate::events::{EventLog, RecordingScheduler, RecordingTap, SessionCounter, WorldEvent};
use crate::plan::{Drivers, Plan};

#[derive(Clone, Debug, PartialEq)]
pub struct PlanOutcome {
    pub findings: Findings,
    /// A digest of all events: the same plan gives the same digest.
    pub digest: u64,
    /// The virtual time that it took.
    pub lasted: Span,
}

/// Runs a plan to its end, or to the first violation.
pub fn run(plan: &Plan) -> PlanOutcome {
    run_traced(plan, |_| {})
}

/// Runs a plan like [`run()`] and passes every recorded event to `trace`.
pub fn run_traced(plan: &Plan, mut trace: impl FnMut(&dyn Debug)) -> PlanOutcome {
    let mut run = WorldRun::new(plan, &mut trace);
    let mut world = run.world();
    for (client, _) in &plan.late {
        world.absent(*client);
    }
    // The time between two checks whether the run is over.
    const CHECK_EVERY: Span = Span::from_millis(500);
    while run.findings.violation.is_none() && !run.is_over {
        world.run_for(CHECK_EVERY, |world, now| run.frame(world, now));
    }
    PlanOutcome {
        findings: run.findings,
        digest: run.digest.value(),
        lasted: world.now() - SharedInstant::ZERO,
    }
}

type World = SessionWorld<Vec2>;

const TANK: ClassId = ClassId(1);
const DRONE: ClassId = ClassId(2);
const BALL: ClassId = ClassId(3);

/// How long objects still move after the links heal.
const MOVES_ON: Span = Span::from_millis(1_500);
/// How long objects are at rest before the first check for convergence.
const RESTS: Span = Span::from_secs(2);

struct WorldRun<'a> {
    plan: &'a Plan,
    trace: &'a mut dyn FnMut(&dyn Debug),
    random: Random,
    log: EventLog,
    game: Match,
    seats: Vec<ClientPlayer>,
    /// The number of the server's run.
    epoch: u64,
    drones: Vec<EntityId>,
    balls: Vec<EntityId>,
    server_groups: BTreeMap<(EntityId, u8), Vec<u8>>,
    next_incident: usize,
    /// The ends of temporary faults.
    endings: Vec<(SharedInstant, FaultEnd)>,
    phase: RunPhase,
    next_session: u32,
    frame: u64,
    digest: Digest,
    calls: CallCheck,
    placed: PlacementCheck,
    ledgers: LedgerCheck,
    budgets: BudgetCheck,
    bounds: BoundCheck,
    clocks: ClockCheck,
    findings: Findings,
    is_over: bool,
}

#[derive(Clone, Debug, Default)]
struct ClientPlayer {
    /// Its current or last session, counted over all clients.
    session: u32,
    id: Option<ClientId>,
    tank: Option<EntityId>,
    groups: BTreeMap<u8, Vec<u8>>,
    /// How often the client was started.
    starts: u64,
    drifts: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RunPhase {
    Broken,
    Healed,
    AtRest,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FaultEnd {
    Partition(usize),
    Absence(usize),
    Narrow(usize),
    Stall(usize),
}

impl<'a> WorldRun<'a> {
    fn new(plan: &'a Plan, trace: &'a mut dyn FnMut(&dyn Debug)) -> Self {
        let random = Random::from_seed(plan.seed).fork(0x57A6);
        Self {
            plan,
            trace,
            log: EventLog::default(),
            game: game(plan),
            seats: vec![ClientPlayer::default(); plan.clients],
            epoch: 0,
            drones: Vec::new(),
            balls: Vec::new(),
            server_groups: BTreeMap::new(),
            next_incident: 0,
            endings: plan.late.iter().map(|(client, at)| (*at, FaultEnd::Absence(*client))).collect(),
            phase: RunPhase::Broken,
            next_session: 0,
            frame: 0,
            digest: Digest::new(),
            calls: CallCheck::default(),
            placed: PlacementCheck::new(plan.placement, Span::from_secs(3)),
            ledgers: LedgerCheck::new(Span::from_secs(3)),
            budgets: BudgetCheck::new(plan.budget, plan.interval_min, plan.scheduler),
            bounds: BoundCheck,
            clocks: ClockCheck::default(),
            findings: Findings::default(),
            is_over: false,
            random,
        }
    }

    fn world(&mut self) -> World {
        let clients = (0..self.plan.clients).map(|index| self.client(index)).collect();
        let server = self.server(SharedInstant::ZERO);
        let listener = RecordingTap {
            log: self.log.clone(),
            lies: (0..self.plan.clients)
                .map(|client| self.plan.liars.iter().find(|(liar, _)| *liar == client).map(|(_, by)| *by))
                .collect(),
            intakes: vec![SessionCounter::default(); self.plan.clients],
        };
        let mut world = World::new(self.plan.seed, LinkConfig::default(), server, clients).with_tap(listener);
        for index in 0..self.plan.clients {
            let [up, down] = &self.plan.links[index];
            world.network.connect_one_way(peer(index), PeerId(0), up.clone());
            world.network.connect_one_way(PeerId(0), peer(index), down.clone());
            world.network.set_clock(peer(index), self.plan.clocks[index]);
        }
        world
    }

    fn server(&mut self, now: SharedInstant) -> Server<Vec2> {
        self.epoch += 1;
        let plan = self.plan;
        let config = ServerConfig {
            placement: plan.placement,
            budget: plan.budget,
            dispatcher: DispatcherConfig {
                trust: plan.trusts.then(ReceiptTrust::default),
                ..DispatcherConfig::default()
            },
            clients_max: 4 * plan.clients + 16,
            resume_within: plan.resume_within,
            ..ServerConfig::new(classes(plan), self.epoch)
        };
        let scheduler = Box::new(RecordingScheduler { inner: plan.scheduler.build(), log: self.log.clone() });
        let random = Random::from_seed(plan.seed).fork(0x5E00 + self.epoch);
        let mut server =
            Server::new(config, scheduler, random).with_interceptor(SpeedCheck { speed_max: 40.0 });
        if let Some(sight) = plan.sight {
            server = server.with_scope(Within { enter: sight, leave: sight * 1.2 });
        }
        let mut make = |class, count: usize| -> Vec<EntityId> {
            (0..count).map(|_| server.create(class, b"", now).expect("there is room")).collect()
        };
        (self.drones, self.balls) = (make(DRONE, plan.drones), make(BALL, plan.balls));
        self.server_groups.clear();
        server
    }

    fn client(&mut self, index: usize) -> Client<Vec2> {
        let seat = &mut self.seats[index];
        seat.starts += 1;
        let random = Random::from_seed(self.plan.seed).fork(0xC000 + (index as u64) * 1_000 + seat.starts);
        let config = ClientConfig { budget: self.plan.budget, ..ClientConfig::new(classes(self.plan)) };
        Client::new(config, random)
    }

    fn frame(&mut self, world: &mut World, now: SharedInstant) {
        if self.is_over || self.findings.violation.is_some() {
            return;
        }
        self.frame += 1;
        self.handle_events(world, now);
        self.change_phase(world, now);
        if self.phase == RunPhase::Broken {
            self.inject_faults(world, now);
        }
        self.end_faults(world, now);
        self.game.step();
        self.report_states(world, now);
        if self.phase != RunPhase::AtRest {
            self.make_calls(world);
        }
        self.check_state(world, now);
        if self.phase == RunPhase::AtRest {
            self.check_convergence(world, now);
        }
    }

    fn handle_events(&mut self, world: &mut World, now: SharedInstant) {
        self.handle_recorded_events();
        for index in 0..self.plan.clients {
            self.handle_client_events(world, index, now);
        }
        self.placed.judge_suspects(now, &mut self.findings);
        self.handle_server_events(world, now);
    }

    fn handle_recorded_events(&mut self) {
        let findings = &mut self.findings;
        for seen in self.log.drain() {
            (self.trace)(&seen);
            match seen {
                WorldEvent::Generated { vector, now, receivers, claimed, new } => {
                    self.placed.on_generated(&vector, now, findings);
                    self.ledgers.on_generated(&vector, now, &receivers);
                    self.budgets.on_trigger(receivers.len(), claimed, new, now, findings);
                }
                WorldEvent::Looked { entity, now } => self.ledgers.on_looked(entity, now),
                WorldEvent::Departed { entity, receiver, at } => {
                    self.budgets.on_departed((entity, receiver), at, findings);
                }
                WorldEvent::Joined { entity, receiver } => self.ledgers.on_joined(entity, receiver),
                WorldEvent::Removed(left) => {
                    self.ledgers.on_removed(left);
                    self.budgets.on_removed(left);
                }
                WorldEvent::Sent { way, at, bytes } => {
                    let ppm = if self.seats[way.client].drifts { 4_000.0 } else { 200.0 };
                    let ppm = if way.is_up { ppm } else { 0.0 };
                    self.budgets.on_sent(way, bytes, ppm, at, findings);
                    self.digest.u64(way.client as u64).i64(at.as_micros()).u64(bytes as u64);
                }
                WorldEvent::Received { client, session, receiver, at, vectors, followed } => {
                    for vector in &followed {
                        self.placed.on_followed((client, session), vector, at, findings);
                    }
                    for vector in &vectors {
                        self.ledgers.on_heard(receiver, vector, at);
                    }
                }
            }
        }
    }

    fn handle_client_events(&mut self, world: &mut World, index: usize, now: SharedInstant) {
        while let Some(event) = world.client(index).poll_event() {
            (self.trace)(&(now, index, &event));
            let seat = &mut self.seats[index];
            let session = seat.session;
            match event {
                ClientEvent::Connected(id) => {
                    self.next_session += 1;
                    let ClientPlayer { starts, drifts, .. } = *seat;
                    *seat = ClientPlayer {
                        session: self.next_session,
                        id: Some(id),
                        starts,
                        drifts,
                        ..ClientPlayer::default()
                    };
                }
                ClientEvent::SessionLost { undelivered } => {
                    self.calls.on_lost(&format!("c{index}.{session}>"), &undelivered);
                    self.calls.excuse(&format!("c{index}.{session}~"));
                    if let Some(tank) = seat.tank {
                        // The server may not know yet, and keep calls to the owner.
                        self.calls.excuse(&format!("~o{}@", tank.0));
                    }
                    (seat.id, seat.tank) = (None, None);
                    seat.groups.clear();
                }
                ClientEvent::ObjectLeft { object, .. } => {
                    self.placed.on_removed(index, object);
                    // A client gets no more calls about an object outside its interest.
                    self.calls.excuse(&format!("c{index}.{session}~o{}@", object.0));
                    if seat.tank == Some(object) {
                        seat.tank = None;
                    }
                }
                ClientEvent::Refused { object, .. } => {
                    self.calls.excuse(&format!("c{index}.{session}~o{}@", object.0));
                    if seat.tank == Some(object) && world.client(index).owner(object).is_none() {
                        // The object never existed, or the session ended: see the next event.
                        self.calls.excuse(&format!("~o{}@", object.0));
                        seat.tank = None;
                    }
                }
                ClientEvent::Called { call, .. } => {
                    let receiver = format!("client {index} in session {session}");
                    self.calls.on_received(call.bytes(), &receiver, now, &mut self.findings);
                }
                _ => {}
            }
        }
    }

    fn handle_server_events(&mut self, world: &mut World, now: SharedInstant) {
        let epoch = self.epoch;
        while let Some(event) = world.server.poll_event() {
            (self.trace)(&(now, &event));
            match event {
                ServerEvent::SessionLost { client, undelivered } => {
                    self.calls.on_lost(&format!("s{epoch}.{}>", client.0), &undelivered);
                }
                ServerEvent::Destroyed { object, .. } => {
                    self.calls.excuse(&format!("~o{}@{epoch}", object.0));
                }
                ServerEvent::Called { target: Target::Connection, call, .. } => {
                    let receiver = format!("server {epoch}");
                    self.calls.on_received(call.bytes(), &receiver, now, &mut self.findings);
                }
                _ => {}
            }
        }
    }
}

fn classes(plan: &Plan) -> [(ClassId, Class); 3] {
    let rates = Rates { interval_min: plan.interval_min, ..Rates::default() };
    let class = |model: MotionKind| Class::new(Trigger::within(0.3)).with_model(model).with_rates(rates);
    [
        (TANK, class(plan.model)),
        (DRONE, class(MotionKind::Linear).server_only()),
        (BALL, class(MotionKind::Linear).claimable().outlives_owner()),
    ]
}

fn game(plan: &Plan) -> Match {
    let red = plan.clients as u32 / 2;
    let tanks = [red, plan.clients as u32 - red];
    let game = match plan.drivers {
        Drivers::Bots => {
            let ground = Ground::Generated { boxes: 8 };
            Match::of_bots(TanksConfig { tanks, ground, ..TanksConfig::default() }, plan.seed)
        }
        Drivers::Scripts => {
            let ground = Ground::Given(Map::open());
            let script = Script::random(Random::from_seed(plan.seed));
            Match::of_scripts(TanksConfig { tanks, ground, ..TanksConfig::default() }, &script, plan.seed)
        }
    };
    game.expect("the rules are sound")
}

fn peer(index: usize) -> PeerId {
    PeerId(index as u32 + 1)
}
