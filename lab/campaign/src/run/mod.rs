//! Runs a plan: moves the tanks, makes the calls, injects the faults, and feeds the checkers.

mod actions;
mod checks;
mod faults;
mod props;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

use fairpath::State;
use fairpath::number::EntityId;
use fairpath::random::Random;
use fairpath::schedule::{DispatcherConfig, ReceiptTrust};
use fairpath::session::{
    ClassId, Client, ClientConfig, ClientEvent, ClientId, CloseReason, Refusal, Server, ServerConfig,
    ServerEvent, SpeedCheck, Target, Undelivered, Value, Within,
};
use fairpath::time::{SharedInstant, Span};
use fairpath::vector::{Vec2, Vector};
use fairpath_games::tanks::{Ground, Map, Match, Script, TanksConfig};
use fairpath_sim::{Digest, LinkConfig, PeerId, SessionWorld};

use crate::check::{
    BoundCheck, BudgetCheck, CallCheck, ClockCheck, Findings, IdentityCheck, Law, LedgerCheck,
    PlacementCheck, StrangerCheck, stone_place,
};
use crate::events::{EventLog, KnownObjects, RecordingScheduler, RecordingTap, SessionCounter, WorldEvent};
use crate::game::{
    BALL, Ball, DRONE, Drone, PLATFORM, Platform, RIDER, Rider, STONE, Stone, protocol, stamp_at_client,
    stamp_at_server, state_stamp, strange_protocol,
};
use crate::plan::{Drivers, Plan, REST};
use props::Shot;

#[derive(Clone, Debug, PartialEq)]
pub struct PlanOutcome {
    pub findings: Findings,
    /// A digest of all events: the same plan gives the same digest.
    pub digest: u64,
    /// The virtual time that it took.
    pub lasted: Span,
    /// How often an object got the id of an earlier one.
    pub ids_reused: u64,
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
        ids_reused: run.identity.ids_reused,
    }
}

type World = SessionWorld<Vec2>;

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
    stones: Vec<EntityId>,
    platforms: Vec<EntityId>,
    riders: Vec<EntityId>,
    shots: Vec<Shot>,
    /// Whether the server is down for a planned restart, and how often it was.
    is_down: bool,
    /// Whether the server is stalled.
    is_stalled: bool,
    stops: u32,
    /// The states that the server had when it was stopped.
    last_states: BTreeMap<(EntityId, u8), Vec<u8>>,
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
    identity: IdentityCheck,
    stranger: Option<StrangerCheck>,
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
    /// Groups of its tank that it set to bytes of another type.
    garbled: BTreeSet<u8>,
    shots: Vec<Shot>,
    /// Its tank when its server was stopped: what the server lacks must be listed as undelivered.
    stopped_with: Option<EntityId>,
    /// Whether it has left its session by itself.
    has_left: bool,
    /// When it was told that the server restarts.
    told_at: Option<SharedInstant>,
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
    OneWay(usize),
    ServerStall,
    Downtime,
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
            stones: Vec::new(),
            platforms: Vec::new(),
            riders: Vec::new(),
            shots: Vec::new(),
            is_down: false,
            is_stalled: false,
            stops: 0,
            last_states: BTreeMap::new(),
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
            identity: IdentityCheck::default(),
            stranger: plan.stranger.map(StrangerCheck::new),
            findings: Findings::default(),
            is_over: false,
            random,
        }
    }

    fn world(&mut self) -> World {
        let mut clients: Vec<_> = (0..self.plan.clients).map(|index| self.client(index)).collect();
        let random = Random::from_seed(self.plan.seed).fork(0x57A5);
        let stranger = self.plan.stranger.map(|it| strange_protocol(self.plan, it));
        clients.extend(stranger.map(|protocol| Client::new(ClientConfig::new(protocol), random)));
        let server = self.server(SharedInstant::ZERO);
        let listener = RecordingTap {
            log: self.log.clone(),
            lies: (0..clients.len())
                .map(|client| self.plan.liars.iter().find(|(liar, _)| *liar == client).map(|(_, by)| *by))
                .collect(),
            intakes: vec![SessionCounter::default(); clients.len()],
            known: vec![KnownObjects::default(); clients.len()],
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
            ..ServerConfig::new(protocol(plan), self.epoch)
        };
        let scheduler = Box::new(RecordingScheduler { inner: plan.scheduler.build(), log: self.log.clone() });
        let random = Random::from_seed(plan.seed).fork(0x5E00 + self.epoch);
        let mut server =
            Server::new(config, scheduler, random).with_interceptor(SpeedCheck { speed_max: 40.0 });
        if let Some(sight) = plan.sight {
            server = server.with_scope(Within { enter: sight, leave: sight * 1.2 });
        }
        self.drones = self.make(&mut server, DRONE, plan.drones, Drone::new, Self::drone, now);
        self.balls = self.make(&mut server, BALL, plan.balls, Ball::new, Self::ball, now);
        self.platforms = self.make(&mut server, PLATFORM, plan.platforms, Platform::new, Self::platform, now);
        self.riders = self.make(&mut server, RIDER, plan.riders, Rider::new, Self::rider, now);
        self.stones = (0..plan.stones)
            .map(|_| {
                let number = self.identity.next(STONE, self.epoch);
                let (value, lies) = (Stone::new(self.epoch, number, 0), stone_place(number));
                server.frame(now).create(&value, State::moving(lies, Vec2::ZERO), now).expect("there is room")
            })
            .collect();
        self.server_groups.clear();
        self.shots.clear();
        server
    }

    /// Creates objects of the server: `state` returns the state of each, in their order.
    fn make<T: Value>(
        &mut self,
        server: &mut Server<Vec2>,
        class: ClassId,
        count: usize,
        value: fn(u64, u32, u64) -> T,
        state: fn(&Self, usize, SharedInstant) -> State<Vec2>,
        now: SharedInstant,
    ) -> Vec<EntityId> {
        let mut make = |index| {
            let number = self.identity.next(class, self.epoch);
            let (value, state) = (value(self.epoch, number, 0), state(self, index, now));
            let object = server.frame(now).create(&value, state, now).expect("there is room");
            self.identity.on_created(object, number);
            object
        };
        (0..count).map(&mut make).collect()
    }

    /// Returns the end of the quiet period that contains this instant.
    fn resting_until(&self, now: SharedInstant) -> Option<SharedInstant> {
        self.plan.rests.iter().map(|from| *from + REST).find(|until| now < *until && *until - now <= REST)
    }

    fn client(&mut self, index: usize) -> Client<Vec2> {
        let seat = &mut self.seats[index];
        seat.starts += 1;
        let random = Random::from_seed(self.plan.seed).fork(0xC000 + (index as u64) * 1_000 + seat.starts);
        let config = ClientConfig { budget: self.plan.budget, ..ClientConfig::new(protocol(self.plan)) };
        Client::new(config, random)
    }

    fn frame(&mut self, world: &mut World, now: SharedInstant) {
        if self.is_over || self.findings.violation.is_some() {
            return;
        }
        self.frame += 1;
        // In a quiet period nothing is to be seen but clocks, heartbeats and ids that rest.
        if self.resting_until(now).is_some() && !self.frame.is_multiple_of(30) {
            return;
        }
        self.handle_events(world, now);
        self.change_phase(world, now);
        if self.phase == RunPhase::Broken {
            self.inject_faults(world, now);
        }
        self.end_faults(world, now);
        self.game.step();
        self.report_states(world, now);
        self.fly_bullets(world, now);
        self.move_riders(world, now);
        if self.phase != RunPhase::AtRest {
            self.make_calls(world, now);
        }
        self.check_state(world, now);
        if self.phase == RunPhase::AtRest {
            self.check_convergence(world, now);
        }
    }

    fn handle_events(&mut self, world: &mut World, now: SharedInstant) {
        self.handle_recorded_events();
        let accusations = world.drain_accusations();
        self.findings.check(Law::Accused, now, accusations.is_empty(), || format!("{accusations:?}"));
        for index in 0..self.plan.clients {
            self.handle_client_events(world, index, now);
        }
        if let Some(stranger) = &mut self.stranger {
            while let Some(event) = world.client(self.plan.clients).poll_event() {
                stranger.on_event(&event, now, &mut self.findings);
            }
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
                    if self.riders.first() == Some(&vector.entity) {
                        self.budgets.on_standing(&vector, now, findings);
                    }
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
                    let drifts = self.seats.get(way.client).is_some_and(|seat| seat.drifts);
                    let ppm = if drifts { 4_000.0 } else { 200.0 };
                    let ppm = if way.is_up { ppm } else { 0.0 };
                    self.budgets.on_sent(way, bytes, ppm, at, findings);
                    self.digest.u64(way.client as u64).i64(at.as_micros()).u64(bytes as u64);
                }
                WorldEvent::Announced { receiver, at, vectors } => {
                    for vector in &vectors {
                        self.ledgers.on_heard(receiver, vector, at);
                    }
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
                ClientEvent::Disconnected(Some(CloseReason::Restarting)) => {
                    seat.told_at = Some(now);
                    let has_stopped = self.stops > 0;
                    self.findings.check(Law::Restart, now, has_stopped, || {
                        format!("client {index} was told of a restart, and there was none")
                    });
                }
                ClientEvent::Disconnected(Some(CloseReason::Finished)) => {
                    self.findings.check(Law::Restart, now, seat.has_left, || {
                        format!("client {index} was told that its session has ended, and it had not left")
                    });
                }
                ClientEvent::SessionLost { undelivered } => {
                    let is_kept = !(self.is_down && seat.told_at == Some(now));
                    self.findings.check(Law::Restart, now, is_kept, || {
                        format!("client {index} gave up its session before the server was back")
                    });
                    if let Some(missing) = seat.unlisted(&self.last_states, &undelivered) {
                        self.findings.check(Law::Restart, now, false, || {
                            format!("client {index} lost group {missing} of its tank, which is not listed")
                        });
                    }
                    let prefix = format!("c{index}.{session}>");
                    self.calls.on_lost(&prefix, &undelivered, now, &mut self.findings);
                    self.calls.excuse(&format!("c{index}.{session}~"));
                    if let Some(tank) = seat.tank {
                        // The server may not know yet, and keep calls to the owner.
                        self.calls.excuse(&format!("~o{}@", tank.0));
                    }
                    (seat.id, seat.tank, seat.stopped_with) = (None, None, None);
                    seat.groups.clear();
                    seat.garbled.clear();
                    seat.shots.clear();
                }
                ClientEvent::ObjectEntered { object, class, creation, .. } => {
                    let viewer = (index, session);
                    let findings = &mut self.findings;
                    self.identity.on_entered(viewer, (object, class), &creation, now, findings);
                    let (client, local) = world.client_now(index);
                    // A clock that was set back refuses DR vectors: they come from the future.
                    let is_excused = client.class(object).is_none() || !self.plan.has_sound_clock(index);
                    let is_placed = is_excused || client.place(object, local).is_some();
                    findings.check(Law::Entered, now, is_placed, || {
                        format!("client {index} was shown object {} without a place", object.0)
                    });
                }
                ClientEvent::StateChanged { object, group, value } => {
                    let (client, local) = world.client_now(index);
                    let creation = stamp_at_client(client, object, local);
                    let (who, findings) = (format!("client {index}"), &mut self.findings);
                    self.identity.on_state(&who, object, (group, &value), creation, now, findings);
                }
                ClientEvent::ObjectLeft { object, .. } => {
                    self.placed.on_removed(index, object);
                    // A client gets no more calls about an object outside its interest.
                    self.calls.excuse(&format!("c{index}.{session}~o{}@", object.0));
                    if seat.tank == Some(object) {
                        seat.tank = None;
                    }
                }
                ClientEvent::Refused { object, refusal } => {
                    if refusal == Refusal::BadParent {
                        let _ = world.client(index).attach(object, None);
                    }
                    self.calls.excuse(&format!("c{index}.{session}~o{}@", object.0));
                    if seat.tank == Some(object) && world.client(index).owner(object).is_none() {
                        // The object never existed, or the session ended: see the next event.
                        self.calls.excuse(&format!("~o{}@", object.0));
                        seat.tank = None;
                    }
                }
                ClientEvent::Called { method, call, .. } => {
                    let receiver = format!("client {index} in session {session}");
                    self.calls.on_received((method, &call), &receiver, now, &mut self.findings);
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
                    let prefix = format!("s{epoch}.{}>", client.0);
                    self.calls.on_lost(&prefix, &undelivered, now, &mut self.findings);
                }
                ServerEvent::Destroyed { object, .. } => {
                    self.calls.excuse(&format!("~o{}@{epoch}", object.0));
                    self.server_groups.retain(|(about, _), _| *about != object);
                }
                ServerEvent::Created { object, class, creation, .. } => {
                    self.identity.on_created_by_client(object, class, &creation, now, &mut self.findings);
                }
                ServerEvent::StateChanged { object, group, value } => {
                    let creation = stamp_at_server(&mut world.server, object, now);
                    let findings = &mut self.findings;
                    self.identity.on_state("the server", object, (group, &value), creation, now, findings);
                }
                ServerEvent::Called { target: Target::Connection, method, call, .. } => {
                    let receiver = format!("server {epoch}");
                    self.calls.on_received((method, &call), &receiver, now, &mut self.findings);
                }
                _ => {}
            }
        }
    }
}

impl ClientPlayer {
    /// Returns a state of the tank that a stopped server does not have, and that is not listed as
    /// undelivered with its value and type.
    fn unlisted(
        &self,
        last_states: &BTreeMap<(EntityId, u8), Vec<u8>>,
        undelivered: &[Undelivered],
    ) -> Option<u8> {
        let tank = self.stopped_with.filter(|tank| self.tank == Some(*tank))?;
        let listed = undelivered.iter().filter_map(|item| match item {
            Undelivered::State { object, group, value } if *object == tank => {
                Some((*group, state_stamp(*group, value).map(|_| value.bytes())))
            }
            _ => None,
        });
        let listed: BTreeMap<u8, Option<&[u8]>> = listed.collect();
        let groups = self.groups.iter().filter(|(group, _)| !self.garbled.contains(group));
        let mut lacking = groups.filter(|(group, value)| last_states.get(&(tank, **group)) != Some(*value));
        let is_listed = |group: u8, value: &[u8]| listed.get(&group) == Some(&Some(value));
        lacking.find(|(group, value)| !is_listed(**group, value)).map(|(group, _)| *group)
    }
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
