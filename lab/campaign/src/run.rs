//! Runs a plan: moves the tanks, makes the calls, injects the faults, and feeds the checkers.

use std::collections::BTreeMap;
use std::fmt::Debug;

use fairpath::motion::MotionKind;
use fairpath::number::EntityId;
use fairpath::random::Random;
use fairpath::schedule::{DispatcherConfig, ReceiptTrust};
use fairpath::session::{
    Class, ClassId, Client, ClientConfig, ClientEvent, ClientId, Delivery, Party, Rates, Server,
    ServerConfig, ServerEvent, SpeedCheck, Target, Within,
};
use fairpath::time::{SharedInstant, Span};
use fairpath::vector::{Vec2, Vector};
use fairpath::{Observation, State, Trigger};
use fairpath_games::tanks::{Driver, Ground, Input, Map, Match, Script, TanksConfig};
use fairpath_sim::{Digest, Fault, LinkConfig, PeerId, Rate, SessionWorld};

use crate::check::{
    BoundCheck, BudgetCheck, CallCheck, ClockCheck, ConvergenceCheck, ExpectedObject, Findings, Law,
    LedgerCheck, LedgerReading, PlacementCheck,
};
use crate::events::{EventLog, RecordingScheduler, RecordingTap, SessionCounter, WorldEvent};
use crate::plan::{Drivers, Incident, Plan};

/// The outcome of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanOutcome {
    /// The findings of the checkers.
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

/// Runs a plan like [`run`] and passes every recorded event to `trace`.
pub fn run_traced(plan: &Plan, mut trace: impl FnMut(&dyn Debug)) -> PlanOutcome {
    let mut stage = WorldRun::new(plan, &mut trace);
    let mut world = stage.world();
    for (client, _) in &plan.late {
        world.absent(*client);
    }
    // The time between two checks whether the run is over.
    const SCENE: Span = Span::from_millis(500);
    while stage.findings.violation.is_none() && !stage.is_over {
        world.run_for(SCENE, |world, now| stage.frame(world, now));
    }
    PlanOutcome {
        findings: stage.findings,
        digest: stage.digest.value(),
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

/// A plan that is being run.
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

/// The player of one client.
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

    // ── one frame
    // ───────────────────────────────────────────────────────────────────────────────────────

    fn frame(&mut self, world: &mut World, now: SharedInstant) {
        if self.is_over || self.findings.violation.is_some() {
            return;
        }
        self.frame += 1;
        self.hear_all(world, now);
        self.change_phase(world, now);
        if self.phase == RunPhase::Broken {
            self.let_things_go_wrong(world, now);
        }
        self.end_what_is_over(world, now);
        self.game.step();
        self.drive(world, now);
        if self.phase != RunPhase::AtRest {
            self.talk(world);
        }
        self.look_around(world, now);
        if self.phase == RunPhase::AtRest {
            self.ask_whether_all_is_well(world, now);
        }
    }

    /// Handles all events since the last frame.
    fn hear_all(&mut self, world: &mut World, now: SharedInstant) {
        self.hear_witnesses();
        for index in 0..self.plan.clients {
            self.hear_client(world, index, now);
        }
        self.placed.judge_suspects(now, &mut self.findings);
        self.hear_server(world, now);
    }

    fn hear_witnesses(&mut self) {
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

    fn hear_client(&mut self, world: &mut World, index: usize, now: SharedInstant) {
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
                        // The server may not know yet, and keep calls of other clients to the owner.
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
                        // The object never existed, or the session ended meanwhile; that event comes next.
                        self.calls.excuse(&format!("~o{}@", object.0));
                        seat.tank = None;
                    }
                }
                ClientEvent::Called { bytes, .. } => {
                    let receiver = format!("client {index} in session {session}");
                    self.calls.on_received(&bytes, &receiver, now, &mut self.findings);
                }
                _ => {}
            }
        }
    }

    fn hear_server(&mut self, world: &mut World, now: SharedInstant) {
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
                ServerEvent::Called { target: Target::Connection, bytes, .. } => {
                    let receiver = format!("server {epoch}");
                    self.calls.on_received(&bytes, &receiver, now, &mut self.findings);
                }
                _ => {}
            }
        }
    }

    // ── what goes wrong
    // ─────────────────────────────────────────────────────────────────────────────────

    fn change_phase(&mut self, world: &mut World, now: SharedInstant) {
        match self.phase {
            RunPhase::Broken if now >= self.plan.heals_at => {
                self.phase = RunPhase::Healed;
                self.heal(world, now);
            }
            RunPhase::Healed if now >= self.plan.heals_at + MOVES_ON => {
                self.phase = RunPhase::AtRest;
                for tank in 0..self.plan.clients as u32 {
                    self.game.seat(EntityId(tank), Driver::Hands(Input::IDLE));
                }
            }
            _ => {}
        }
    }

    fn heal(&mut self, world: &mut World, now: SharedInstant) {
        world.network.inject(Fault::Heal);
        for index in 0..self.plan.clients {
            for (from, to) in [(peer(index), PeerId(0)), (PeerId(0), peer(index))] {
                let good = LinkConfig { rate: None, ..world.network.link(from, to).config().healed() };
                world.network.inject(Fault::Reconfigure(from, to, Box::new(good)));
            }
            world.arrive(index);
            self.wake(world, index, now);
            if std::mem::take(&mut self.seats[index].drifts) {
                world.network.inject(Fault::DriftClock(peer(index), 20.0));
                self.clocks.on_step(index, now);
            }
        }
        self.endings.clear();
    }

    fn let_things_go_wrong(&mut self, world: &mut World, now: SharedInstant) {
        while let Some((_, incident)) =
            self.plan.incidents.get(self.next_incident).filter(|(at, _)| *at <= now)
        {
            self.next_incident += 1;
            self.happen(world, *incident, now);
        }
    }

    fn happen(&mut self, world: &mut World, incident: Incident, now: SharedInstant) {
        match incident {
            Incident::Partition(who, span) => {
                world.network.inject(Fault::Isolate(peer(who)));
                self.endings.push((now + span, FaultEnd::Partition(who)));
            }
            Incident::Cut(who) => world.cut(who),
            Incident::Crash(who) => self.crash(world, who, now),
            Incident::Leave(who) => {
                let (client, local) = world.client_now(who);
                client.leave(local);
            }
            Incident::Absent(who, span) => {
                world.absent(who);
                self.endings.push((now + span, FaultEnd::Absence(who)));
            }
            Incident::Stall(who, span) => {
                world.stall(who);
                self.endings.push((now + span, FaultEnd::Stall(who)));
            }
            Incident::Step(who, by) => {
                world.network.inject(Fault::StepClock(peer(who), by));
                self.clocks.on_step(who, now);
                self.budgets.on_step(who);
            }
            Incident::Drift(who, ppm) => {
                world.network.inject(Fault::DriftClock(peer(who), ppm));
                self.seats[who].drifts = true;
                self.clocks.on_drift(who);
            }
            Incident::Restart => self.restart(world, now),
            Incident::Narrow(who, bytes_per_sec, span) => {
                let rate = Some(Rate { bytes_per_sec, queue_bytes_max: 6_000 });
                let narrow = LinkConfig { rate, ..self.plan.links[who][1].clone() };
                world.network.inject(Fault::Reconfigure(PeerId(0), peer(who), Box::new(narrow)));
                self.endings.push((now + span, FaultEnd::Narrow(who)));
            }
            Incident::Claim(who, ball) => {
                // The claim fails if the client does not see the ball or has no session.
                let _ = world.client(who).claim(self.balls[ball]);
            }
            Incident::Release(who) => {
                for ball in self.balls.clone() {
                    let _ = world.client(who).release(ball);
                }
            }
            Incident::Rebuild(who) => {
                let seat = &mut self.seats[who];
                if let Some(tank) = seat.tank
                    && world.client(who).destroy(tank).is_ok()
                {
                    seat.tank = None;
                    seat.groups.clear();
                    self.placed.on_removed(who, tank);
                    self.calls.excuse(&format!("~o{}@{}", tank.0, self.epoch));
                }
            }
            Incident::Chatter(who, count, bytes) => {
                for _ in 0..count {
                    self.call_server(world, who, Delivery::ReliableOrdered, bytes);
                }
            }
            Incident::Dismiss(who) => {
                if let Some(id) = self.seats[who].id {
                    world.server.dismiss(id, now);
                }
            }
        }
    }

    fn end_what_is_over(&mut self, world: &mut World, now: SharedInstant) {
        let over: Vec<FaultEnd> =
            self.endings.extract_if(.., |(at, _)| *at <= now).map(|(_, it)| it).collect();
        for ending in over {
            match ending {
                FaultEnd::Partition(who) => world.network.inject(Fault::Rejoin(peer(who))),
                FaultEnd::Absence(who) => world.arrive(who),
                FaultEnd::Stall(who) => self.wake(world, who, now),
                FaultEnd::Narrow(who) => {
                    let link = self.plan.links[who][1].clone();
                    world.network.inject(Fault::Reconfigure(PeerId(0), peer(who), Box::new(link)));
                }
            }
        }
    }

    /// Wakes a stalled client and handles its events before its player acts: its session may have changed.
    fn wake(&mut self, world: &mut World, who: usize, now: SharedInstant) {
        world.wake(who);
        self.hear_all(world, now);
    }

    /// Crashes and restarts a client. Its pending events are handled first; its unsent calls are no longer owed.
    fn crash(&mut self, world: &mut World, who: usize, now: SharedInstant) {
        self.hear_all(world, now);
        let session = self.seats[who].session;
        self.calls.excuse(&format!("c{who}.{session}>"));
        self.calls.excuse(&format!("c{who}.{session}~"));
        if let Some(id) = world.client(who).id() {
            self.calls.excuse(&format!("s{}.{}>", self.epoch, id.0));
        }
        if let Some(tank) = self.seats[who].tank {
            self.calls.excuse(&format!("~o{}@{}", tank.0, self.epoch));
        }
        let ClientPlayer { starts, drifts, session, .. } = self.seats[who];
        self.seats[who] = ClientPlayer { starts, drifts, session, ..ClientPlayer::default() };
        let client = self.client(who);
        world.restart_client(who, client);
    }

    fn restart(&mut self, world: &mut World, now: SharedInstant) {
        self.hear_all(world, now);
        self.calls.excuse(&format!("s{}.", self.epoch));
        self.calls.excuse(&format!("@{}", self.epoch));
        let server = self.server(now);
        world.restart_server(server);
        // Events of the old server do not count.
        self.log.drain();
        self.placed.on_restarted();
        self.ledgers.on_restarted();
        self.budgets.on_restarted();
    }

    // ── what everybody does
    // ─────────────────────────────────────────────────────────────────────────────

    /// Every owner reports the true state of its objects.
    fn drive(&mut self, world: &mut World, now: SharedInstant) {
        for index in 0..self.plan.clients {
            let (client, local) = world.client_now(index);
            let seat = &mut self.seats[index];
            if seat.tank.is_none() && seat.id.is_some() && client.is_connected() {
                seat.tank = client.create(TANK, b"tank", local).ok();
            }
            if let Some((tank, observation)) = seat.tank.zip(self.game.tanks().tanks()[index].observation()) {
                // Without a session the report fails, which is fine.
                let _ = client.observe(tank, observation, local);
            }
            let me = seat.id.map(Party::Client);
            for (number, ball) in self.balls.iter().enumerate() {
                if me.is_some() && client.owner(*ball) == me {
                    let _ = client.observe(*ball, Observation::Moved(self.ball(number, now)), local);
                }
            }
        }
        for (number, drone) in self.drones.iter().enumerate() {
            let state = Observation::Moved(self.drone(number, now));
            world.server.observe(*drone, state, now).expect("it is the server's own");
        }
        for (number, ball) in self.balls.iter().enumerate() {
            if world.server.owner(*ball) == Some(Party::Server) {
                let state = Observation::Moved(self.ball(number, now));
                world.server.observe(*ball, state, now).expect("it is the server's own");
            }
        }
    }

    /// Clients and server make calls and set states, as often as the plan says.
    fn talk(&mut self, world: &mut World) {
        for index in 0..self.plan.clients {
            if self.random.chance(self.plan.calls) {
                let delivery = self.draw_delivery();
                self.call_server(world, index, delivery, 8);
            }
            if self.random.chance(0.5 * self.plan.calls) {
                self.call_owner(world, index);
            }
            if self.random.chance(0.5 * self.plan.calls) {
                self.call_client(world, index);
            }
            if self.random.chance(self.plan.calls) {
                self.set_tank_state(world, index);
            }
            if self.random.chance(0.3 * self.plan.calls) && !self.balls.is_empty() {
                let ball = self.balls[self.random.below(self.balls.len() as u64) as usize];
                let value = self.random.bits().to_le_bytes();
                let _ = world.client(index).set_state(ball, 0, &value);
            }
        }
        if self.random.chance(self.plan.calls) {
            let drone = self.drones[self.random.below(self.drones.len() as u64) as usize];
            let (group, value) = (self.random.below(4) as u8, self.random.bits().to_le_bytes().to_vec());
            world.server.set_state(drone, group, &value).expect("it is the server's own");
            self.server_groups.insert((drone, group), value);
        }
    }

    fn draw_delivery(&mut self) -> Delivery {
        use Delivery::{Newest, Quickest, ReliableOrdered, ReliableUnordered, Unreliable};
        let all = [ReliableOrdered, ReliableOrdered, ReliableUnordered, Unreliable, Newest, Quickest];
        all[self.random.below(all.len() as u64) as usize]
    }

    fn call_server(&mut self, world: &mut World, index: usize, delivery: Delivery, bytes: usize) {
        let name = format!("c{index}.{}>server", self.seats[index].session);
        let parcel = self.calls.next(&name, delivery);
        if world.client(index).call_server(1, &parcel.to_bytes(bytes), delivery).is_ok() {
            self.calls.on_sent(parcel);
        }
    }

    /// Calls the owner of another client's tank, if there is one.
    fn call_owner(&mut self, world: &mut World, index: usize) {
        let other = self.random.below(self.plan.clients as u64) as usize;
        let delivery = self.draw_delivery();
        let Some(tank) = self.seats[other].tank.filter(|_| other != index) else { return };
        let name = format!("c{index}.{}~o{}@{}", self.seats[index].session, tank.0, self.epoch);
        let parcel = self.calls.next(&name, delivery);
        // Each caller has a method of its own: of newest calls to one method only the newest counts, whichever client made it.
        let method = 100 + index as u32;
        if world.client(index).call_owner(tank, method, &parcel.to_bytes(8), delivery).is_ok() {
            self.calls.on_sent(parcel);
        }
    }

    fn call_client(&mut self, world: &mut World, index: usize) {
        let delivery = self.draw_delivery();
        let Some(id) = self.seats[index].id.filter(|id| world.server.is_connected(*id)) else { return };
        let name = format!("s{}.{}>client", self.epoch, id.0);
        let parcel = self.calls.next(&name, delivery);
        if world.server.call_client(id, 3, &parcel.to_bytes(8), delivery).is_ok() {
            self.calls.on_sent(parcel);
        }
    }

    fn set_tank_state(&mut self, world: &mut World, index: usize) {
        let (group, value) = (self.random.below(6) as u8, self.random.bits().to_le_bytes().to_vec());
        let Some(tank) = self.seats[index].tank else { return };
        if world.client(index).set_state(tank, group, &value).is_ok() {
            self.seats[index].groups.insert(group, value);
        }
    }

    // ── what there is to see
    // ────────────────────────────────────────────────────────────────────────────

    fn look_around(&mut self, world: &mut World, now: SharedInstant) {
        // The server's ledgers contain this frame's events, so the checkers must see them first.
        self.hear_witnesses();
        for index in 0..self.plan.clients {
            self.look_at_client(world, index, now);
        }
        if self.frame.is_multiple_of(15) {
            self.look_at_ledgers(world, now);
            for client in world.server.clients().collect::<Vec<_>>() {
                let queues = world.server.queues(client).expect("it has a session");
                let who = format!("the server for client {}", client.0);
                self.bounds.on_queues(&who, &queues, now, &mut self.findings);
            }
        }
    }

    fn look_at_client(&mut self, world: &mut World, index: usize, now: SharedInstant) {
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
        for object in client.objects().collect::<Vec<_>>() {
            let Some(followed) = client.followed(object).copied() else { continue };
            let Some(state) = client.place(object, local) else { continue };
            self.digest.f64(state.position.x).f64(state.position.y);
            if client.owner(object) != id.map(Party::Client) {
                let placed = (clock.shared, state.position);
                self.placed.on_placed(index, &followed, placed, now, &mut self.findings);
            }
        }
    }

    fn look_at_ledgers(&mut self, world: &mut World, now: SharedInstant) {
        for index in 0..self.plan.clients {
            // A client that does not know yet that the server restarted has an id that may belong to another client now.
            let is_one = |id: &ClientId| self.seats.iter().filter(|seat| seat.id == Some(*id)).count() == 1;
            let known = world.client(index).id();
            let Some(id) = self.seats[index].id.filter(|id| known == Some(*id) && is_one(id)) else {
                continue;
            };
            // A server that checks reports books arrivals differently on purpose.
            let is_believed = !self.plan.is_liar(index) && !self.plan.trusts;
            let clock_error = self.good_clock_error(index);
            let receiver = id.receiver();
            for object in world.server.objects() {
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

    /// Returns the clock error of an object's owner.
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

    fn ask_whether_all_is_well(&mut self, world: &mut World, now: SharedInstant) {
        let rests_since = self.plan.heals_at + MOVES_ON;
        if now - rests_since < RESTS || !self.frame.is_multiple_of(20) {
            return;
        }
        let wrong = self.what_is_wrong(world, now);
        self.is_over = wrong.is_none();
        let has_time = now - rests_since < ConvergenceCheck::WITHIN;
        self.findings.check(Law::Converged, now, self.is_over || has_time, || {
            format!("{:?} after healing: {}", ConvergenceCheck::WITHIN, wrong.unwrap_or_default())
        });
    }

    fn what_is_wrong(&mut self, world: &mut World, now: SharedInstant) -> Option<String> {
        let converged = ConvergenceCheck::new(self.desired(world, now));
        if let Some(wrong) = converged.server(&world.server, now) {
            return Some(wrong);
        }
        for index in 0..self.plan.clients {
            let local = world.network.local_now(peer(index));
            let (client, server) = world.client_and_server(index);
            if let Some(wrong) = converged.client(index, (client, local), server) {
                return Some(wrong);
            }
            let LinkConfig { delay, jitter_uniform, .. } = self.plan.links[index][0];
            let clock = self.clocks.unsettled(index, (delay, jitter_uniform), self.plan.heals_at, now);
            if let Some(wrong) = clock.filter(|_| self.plan.is_symmetric(index)) {
                return Some(wrong);
            }
        }
        // Sessions without a client: nothing is owed to them.
        for id in world.server.clients().filter(|id| !self.seats.iter().any(|seat| seat.id == Some(*id))) {
            self.calls.excuse(&format!("s{}.{}>", self.epoch, id.0));
        }
        self.calls.missing()
    }

    fn desired(&self, world: &World, now: SharedInstant) -> BTreeMap<EntityId, ExpectedObject> {
        let mut desired = BTreeMap::new();
        for (seat, tank) in self.seats.iter().zip(self.game.tanks().tanks()) {
            if let (Some(id), Some(object)) = (seat.id, seat.tank) {
                let position = tank.is_alive().then(|| tank.state().position);
                let owner = Some(Party::Client(id));
                desired.insert(object, ExpectedObject { position, owner, groups: seat.groups.clone() });
            }
        }
        for (number, drone) in self.drones.iter().enumerate() {
            let groups = self.server_groups.iter().filter(|((object, _), _)| object == drone);
            let groups = groups.map(|((_, group), value)| (*group, value.clone())).collect();
            let position = Some(self.drone(number, now).position);
            desired.insert(*drone, ExpectedObject { position, owner: Some(Party::Server), groups });
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
        desired
    }

    /// Returns the state of a drone: circles of changing size, until all objects rest.
    fn drone(&self, number: usize, now: SharedInstant) -> State<Vec2> {
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
    fn ball(&self, number: usize, now: SharedInstant) -> State<Vec2> {
        let rests_since = self.plan.heals_at + MOVES_ON;
        let secs = now.min(rests_since).as_secs_f64();
        let x = 20.0 * libm::sin(secs + number as f64);
        let speed = if now < rests_since { 20.0 * libm::cos(secs + number as f64) } else { 0.0 };
        State::moving(Vec2::new(x, 10.0 * number as f64), Vec2::new(speed, 0.0))
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

/// Returns a match with a tank for each client.
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
