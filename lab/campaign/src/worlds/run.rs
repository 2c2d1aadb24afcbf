//! Plays a [`WorldPlan`].

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};

use fairpath::number::EntityId;
use fairpath::random::Random;
use fairpath::time::{SharedInstant, Span};
use fairpath::trigger::Trigger;
use fairpath::vector::Vec2;
use fairpath::wire::Precision;
use fairpath::{Now, Observation, State};
use fairpath_cluster::{
    Answer, CellId, Cells, Coded, Departure, Event, Key, Message, Moment, Operation, Origin, Output, Record,
    RequestId, Revision, ServerId, SquareGrid, StoreRequest, Subject, Title, Zone, ZoneConfig,
};
use fairpath_sim::{EventQueue, SimClock};

use super::check::{BEAT, Checks, WorldLaw, WorldViolation};
use super::plan::{Incident, Step, WorldPlan};
use super::store::Store;

/// How a world went.
#[derive(Clone, Debug)]
pub struct WorldOutcome {
    pub violation: Option<WorldViolation>,
    /// How often each law was checked.
    pub looked: BTreeMap<WorldLaw, u64>,
    pub entered: Entered,
    pub crashes: u64,
    pub drained: u64,
}

/// How entities came to their owners.
#[derive(Clone, Copy, Debug, Default)]
pub struct Entered {
    pub spawned: u64,
    pub offered: u64,
    pub taken: u64,
}

const TICK: Span = Span::from_millis(20);
const SIDE: f64 = 60.0;
const THRESHOLD: f64 = 0.3;
/// How long everything works before the world must be whole: three leases, and what waits behind.
const HEAL: Span = Span::from_secs(16);
/// An owner speaks at least so often, and then some.
const HEARTBEAT: Span = Span::from_millis(1_300);
/// Tanks drive on, so that something may be on its way at any instant: wait for one without.
const SETTLE: Span = Span::from_secs(5);
/// The last part, in which ghosts are compared.
const QUIET: Span = Span::from_secs(3);

#[derive(Debug)]
enum Happening {
    Tick {
        host: usize,
        run: u64,
    },
    /// A request reaches the store.
    Asked {
        host: usize,
        run: u64,
        request: StoreRequest<Vec2>,
        answers: bool,
    },
    Answered {
        host: usize,
        run: u64,
        key: Key,
        request: RequestId,
        answer: Answer<Vec2>,
    },
    /// The watch shows a key, some versions back.
    Seen {
        host: usize,
        run: u64,
        key: Key,
        back: usize,
    },
    Heard {
        host: usize,
        run: u64,
        sent_at: SharedInstant,
        bytes: Vec<u8>,
    },
    Incident(Incident),
    Start(usize),
}

/// One machine, and the server that runs on it.
struct Host {
    run: u64,
    zone: Option<Zone<Vec2, SquareGrid>>,
    clock: SimClock,
    /// By how much its shared clock is wrong.
    shared_error: Span,
    /// How long its clocks have stood still.
    stood_still: Span,
    stood_last: Span,
    frozen_since: Option<SharedInstant>,
    /// Until here its clocks may be so late that it cannot know what it owns.
    doubtful_until: SharedInstant,
    heard_since: BTreeMap<CellId, SharedInstant>,
    stands_until: SharedInstant,
    bus_cut_until: SharedInstant,
    store_cut_until: SharedInstant,
    clock_lost_until: SharedInstant,
    crash_at: Option<(Step, bool, Span)>,
    bodies: BTreeMap<EntityId, State<Vec2>>,
    beat_at: SharedInstant,
    inbox: Vec<Happening>,
    back_after: Option<Span>,
}

struct World<'a> {
    plan: &'a WorldPlan,
    config: ZoneConfig,
    grid: SquareGrid,
    random: Random,
    queue: EventQueue<Happening>,
    hosts: Vec<Host>,
    store: Store,
    store_down_until: SharedInstant,
    checks: Checks,
    entities: BTreeSet<EntityId>,
    /// The titles of owners, and since when.
    titles: BTreeMap<EntityId, (Title, SharedInstant)>,
    runs: u64,
    payloads: u64,
    entered: Entered,
    crashes: u64,
    drained: u64,
    is_healed: bool,
}

/// Plays a world. A panic counts as a violation.
pub fn play(seed: u64) -> WorldOutcome {
    catch_unwind(AssertUnwindSafe(|| run(&WorldPlan::from_seed(seed)))).unwrap_or_else(|panic| {
        let what = panic.downcast_ref::<String>().cloned();
        let what = what.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        let what = what.unwrap_or_else(|| "unknown panic".to_owned());
        let violation = WorldViolation { law: WorldLaw::Panic, at: SharedInstant::ZERO, what };
        WorldOutcome {
            violation: Some(violation),
            looked: BTreeMap::new(),
            entered: Entered::default(),
            crashes: 0,
            drained: 0,
        }
    })
}

/// Plays a world to its first violation or its end.
pub fn run(plan: &WorldPlan) -> WorldOutcome {
    let mut world = World::new(plan);
    world.play();
    WorldOutcome {
        violation: world.checks.violation,
        looked: world.checks.looked,
        entered: world.entered,
        crashes: world.crashes,
        drained: world.drained,
    }
}

impl<'a> World<'a> {
    fn new(plan: &'a WorldPlan) -> Self {
        let config = ZoneConfig {
            trigger: Trigger::within(THRESHOLD),
            loss_max: Span::from_millis(2_000),
            rebalance_interval: Span::from_secs(2),
            reach: SIDE,
            ..ZoneConfig::default()
        };
        let mut random = Random::from_seed(plan.seed);
        let hosts = (0..plan.servers).map(|_| Host::new(plan, &mut random)).collect();
        let mut queue = EventQueue::new();
        for host in 0..plan.servers {
            let at = if host == 0 { Span::ZERO } else { Span::from_micros(random.below(3_000_000) as i64) };
            queue.schedule(SharedInstant::ZERO + at, Happening::Start(host));
        }
        for (at, incident) in &plan.incidents {
            queue.schedule(SharedInstant::ZERO + *at, Happening::Incident(*incident));
        }
        Self {
            plan,
            config,
            grid: SquareGrid { columns: plan.columns, rows: plan.rows, side: SIDE },
            random,
            queue,
            hosts,
            store: Store::default(),
            store_down_until: SharedInstant::ZERO,
            checks: Checks::default(),
            entities: BTreeSet::new(),
            titles: BTreeMap::new(),
            runs: 0,
            payloads: 0,
            entered: Entered::default(),
            crashes: 0,
            drained: 0,
            is_healed: false,
        }
    }

    fn now(&self) -> SharedInstant {
        self.queue.now()
    }

    fn play(&mut self) {
        let safe_until = SharedInstant::ZERO + self.plan.safety;
        self.play_until(safe_until);
        self.heal();
        self.play_until(safe_until + HEAL);
        let patient_until = self.now() + SETTLE;
        while self.checks.violation.is_none() && !self.is_whole() && self.now() < patient_until {
            self.play_until(self.now() + TICK);
        }
        if self.checks.violation.is_none() {
            self.check_whole();
        }
    }

    fn play_until(&mut self, until: SharedInstant) {
        while self.checks.violation.is_none() {
            let Some((now, happening)) = self.queue.pop_until(until) else { break };
            self.checks.now = now;
            self.happen(happening);
        }
    }

    fn happen(&mut self, happening: Happening) {
        match happening {
            Happening::Tick { host, run } if self.is_running(host, run) => self.tick(host, run),
            Happening::Tick { .. } => {}
            Happening::Asked { host, run, request, answers } => self.ask(host, run, &request, answers),
            Happening::Incident(incident) => self.incident(incident),
            Happening::Start(host) => self.start(host),
            Happening::Answered { host, .. }
            | Happening::Seen { host, .. }
            | Happening::Heard { host, .. } => {
                // A process that stands still reads its messages afterwards.
                if self.hosts[host].stands_until > self.now() {
                    self.hosts[host].inbox.push(happening);
                } else {
                    self.receive(host, happening);
                }
            }
        }
    }

    fn moment(&self, host: usize) -> Moment {
        let (now, host) = (self.now(), &self.hosts[host]);
        let stood = host.stood_still + host.frozen_since.map_or(Span::ZERO, |since| now - since);
        // The shared clock is corrected some time after the machine has woken up.
        let behind = if now < host.doubtful_until { host.stood_last } else { Span::ZERO };
        let is_lost = host.clock_lost_until > now;
        let uncertainty = if is_lost { Span::from_secs(1) } else { self.plan.uncertainty };
        let error = if is_lost { host.shared_error.scaled(20.0) } else { host.shared_error };
        // Monotonic clocks never go back, whatever happens to them.
        Moment { local: host.clock.local(now) - stood, shared: now + error - behind, uncertainty }
    }

    fn start(&mut self, host: usize) {
        if self.hosts[host].zone.is_some() {
            return;
        }
        self.runs += 1;
        // Bits that differ in the high half too: they are hashed.
        let server = ServerId(self.runs.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let zone = Zone::new(server, self.grid, self.config.clone()).expect("the spans fit");
        let now = self.now();
        let runs = self.runs;
        let it = &mut self.hosts[host];
        (it.zone, it.run, it.beat_at) = (Some(zone), runs, now);
        (it.bodies, it.inbox) = Default::default();
        (it.doubtful_until, it.back_after) = (now, None);
        it.heard_since.clear();
        let keys: Vec<Key> = self.store.keys().collect();
        keys.into_iter().for_each(|key| self.show(host, key));
        self.queue.schedule(now, Happening::Tick { host, run: runs });
    }

    fn stop(&mut self, host: usize, back_after: Span) {
        self.hosts[host].zone = None;
        self.hosts[host].crash_at = None;
        self.queue.schedule(self.now() + back_after, Happening::Start(host));
    }

    fn crash(&mut self, host: usize, back_after: Span) {
        if self.hosts[host].zone.is_some() {
            self.crashes += 1;
            self.stop(host, back_after);
        }
    }

    fn incident(&mut self, incident: Incident) {
        let now = self.now();
        match incident {
            Incident::Crash { server, back_after } => self.crash(server, back_after),
            Incident::CrashAt { server, step, is_sent, back_after } => {
                self.hosts[server].crash_at = Some((step, is_sent, back_after));
            }
            Incident::Pause { server, lasting } => {
                self.hosts[server].stands_until = self.hosts[server].stands_until.max(now + lasting);
            }
            Incident::Freeze { server, lasting } => {
                let corrected = Span::from_micros(self.random.below(4_000_000) as i64);
                let host = &mut self.hosts[server];
                if host.stands_until <= now && host.doubtful_until <= now {
                    host.stands_until = now + lasting;
                    host.frozen_since = Some(now);
                    host.doubtful_until = now + lasting + corrected;
                }
            }
            Incident::CutBus { server, lasting } => self.hosts[server].bus_cut_until = now + lasting,
            Incident::CutStore { server, lasting } => self.hosts[server].store_cut_until = now + lasting,
            Incident::StoreDown { lasting } => self.store_down_until = now + lasting,
            Incident::LoseClock { server, lasting } => self.hosts[server].clock_lost_until = now + lasting,
            Incident::Drain { server, back_after } => {
                if let Some(zone) = &mut self.hosts[server].zone {
                    zone.drain();
                    self.hosts[server].back_after = Some(back_after);
                }
            }
        }
    }

    fn heal(&mut self) {
        let now = self.now();
        self.is_healed = true;
        self.store_down_until = now;
        for host in &mut self.hosts {
            host.bus_cut_until = now;
            host.store_cut_until = now;
            host.clock_lost_until = now;
            host.crash_at = None;
        }
    }

    /// A server's own machine: its clock, its game, its zone.
    fn tick(&mut self, host: usize, run: u64) {
        let now = self.now();
        let stands_until = self.hosts[host].stands_until;
        if stands_until > now {
            self.queue.schedule(stands_until, Happening::Tick { host, run });
            return;
        }
        if let Some(since) = self.hosts[host].frozen_since.take() {
            // It wakes up and believes that no time has passed.
            self.hosts[host].stood_still += now - since;
            self.hosts[host].stood_last = now - since;
        }
        self.play_game(host);
        if self.is_running(host, run) {
            let moment = self.moment(host);
            self.zone(host).handle_tick(&moment);
            self.settle(host);
        }
        for happening in std::mem::take(&mut self.hosts[host].inbox) {
            self.receive(host, happening);
        }
        if self.is_running(host, run) {
            self.check_owners(host);
            let late = self.random.below(self.plan.tick_late.as_micros() as u64 + 1) as i64;
            self.queue.schedule(now + TICK + Span::from_micros(late), Happening::Tick { host, run });
        }
    }

    fn is_running(&self, host: usize, run: u64) -> bool {
        self.hosts[host].run == run && self.hosts[host].zone.is_some()
    }

    fn zone(&mut self, host: usize) -> &mut Zone<Vec2, SquareGrid> {
        self.hosts[host].zone.as_mut().expect("it runs")
    }

    /// Moves the tanks that this server owns, and lets them speak.
    fn play_game(&mut self, host: usize) {
        let (now, moment) = (self.now(), self.moment(host));
        self.spawn(host, &moment);
        let is_beat = now >= self.hosts[host].beat_at;
        if is_beat {
            self.hosts[host].beat_at = now + BEAT;
        }
        for entity in self.zone(host).entities(&moment) {
            let Some(mut body) = self.hosts[host].bodies.get(&entity).copied() else { continue };
            self.drive(&mut body);
            self.hosts[host].bodies.insert(entity, body);
            let observed = self.zone(host).observe(&moment, entity, Observation::Moved(body), moment.shared);
            // A new owner's clock may be behind the old one's.
            let is_fine = match observed {
                Ok(()) => true,
                Err(fairpath_cluster::CannotObserve::Observation(_)) => true,
                Err(_) => false,
            };
            assert!(is_fine, "an owned entity cannot be observed: {observed:?}");
            if is_beat {
                self.beat(host, entity, &moment);
            }
        }
    }

    fn drive(&mut self, body: &mut State<Vec2>) {
        let (width, height) = (f64::from(self.plan.columns) * SIDE, f64::from(self.plan.rows) * SIDE);
        if self.random.chance(0.01) {
            let angle = self.random.between(0.0, std::f64::consts::TAU);
            body.velocity = Vec2::new(libm::cos(angle), libm::sin(angle)) * self.plan.speed;
        }
        let mut next = body.position + body.velocity * TICK.as_secs_f64();
        let mut velocity = body.velocity;
        if !(0.0..=width).contains(&next.x) {
            velocity.x = -velocity.x;
            next.x = next.x.clamp(0.0, width);
        }
        if !(0.0..=height).contains(&next.y) {
            velocity.y = -velocity.y;
            next.y = next.y.clamp(0.0, height);
        }
        *body = State::moving(next, velocity);
    }

    /// Counts what would be lost, and makes promises.
    fn beat(&mut self, host: usize, entity: EntityId, moment: &Moment) {
        let mut game = Game::of(self.zone(host).game(entity).expect("it is owned"));
        game.beat += 1;
        let beat = game.beat;
        let title = self.zone(host).title(entity).expect("it is owned");
        let server = self.zone(host).server();
        // What a server with late clocks says after another took the entity is not believed.
        let is_owner = self.checks.is_owner(&self.store, (server, title.term), entity);
        if self.zone(host).set_game(moment, entity, game.bytes()).is_ok() && is_owner {
            self.checks.on_beat(entity, beat);
        }
        if !self.is_healed && self.random.chance(0.15) {
            let others: Vec<EntityId> =
                self.entities.iter().copied().filter(|other| *other != entity).collect();
            if others.is_empty() {
                return;
            }
            let to = others[self.random.below(others.len() as u64) as usize];
            self.payloads += 1;
            let payload = self.payloads;
            let promised = self.zone(host).promise(moment, entity, to, payload.to_le_bytes().to_vec());
            if let Some(number) = promised.ok().filter(|_| is_owner) {
                self.checks.on_promise(entity, number, to, payload);
            }
        }
    }

    fn spawn(&mut self, host: usize, moment: &Moment) {
        let spawned = self.entered.spawned as usize;
        if spawned >= self.plan.tanks || self.is_healed || !self.random.chance(0.2) {
            return;
        }
        let cells: Vec<CellId> = self.zone(host).held_cells().collect();
        if cells.is_empty() {
            return;
        }
        let cell = cells[self.random.below(cells.len() as u64) as usize];
        let (x, y) = (self.random.between(0.1, 0.9), self.random.between(0.1, 0.9));
        let position = Vec2::new((f64::from(cell.x) + x) * SIDE, (f64::from(cell.y) + y) * SIDE);
        let state = State::moving(position, Vec2::new(self.plan.speed, 0.0));
        let game = Game::default();
        self.zone(host).spawn(moment, state, game.bytes(), moment.shared);
    }

    /// Handles what a zone says after a call: events first, then requests and messages.
    fn settle(&mut self, host: usize) {
        let run = self.hosts[host].run;
        let moment = self.moment(host);
        while let Some(event) = self.zone(host).poll_event() {
            self.on_event(host, &moment, event);
            if !self.is_running(host, run) {
                return;
            }
        }
        while let Some(output) = self.zone(host).poll_output(&moment) {
            let crash = self.hosts[host].crash_at.filter(|(step, ..)| Some(*step) == step_of(&output));
            if crash.is_none_or(|(_, is_sent, _)| is_sent) {
                self.send(host, output);
            }
            if let Some((_, _, back_after)) = crash {
                self.crash(host, back_after);
                return;
            }
        }
    }

    fn on_event(&mut self, host: usize, moment: &Moment, event: Event) {
        match event {
            Event::Entered { entity, term, origin, promised } => {
                let zone = self.zone(host);
                let vector = zone.exported(entity).expect("every tank has a path");
                let body = vector.state_at(moment.shared);
                let beat = Game::of(zone.game(entity).expect("it is owned")).beat;
                let mut body = body;
                self.keep_inside(&mut body);
                self.hosts[host].bodies.insert(entity, body);
                self.entities.insert(entity);
                let counter = match origin {
                    Origin::Spawned => &mut self.entered.spawned,
                    Origin::Offered(_) => &mut self.entered.offered,
                    Origin::Taken(_) => &mut self.entered.taken,
                };
                *counter += 1;
                let server = self.zone(host).server();
                // A server whose clocks are late may be wrong about it.
                if self.checks.is_owner(&self.store, (server, term), entity) {
                    self.check_arrival(entity, beat, promised, origin);
                }
            }
            Event::Left { entity, reason } => {
                self.hosts[host].bodies.remove(&entity);
                if matches!(reason, Departure::Released) {
                    self.checks.on_left_cleanly(entity);
                }
            }
            Event::Saved { entity, promised } => self.checks.on_saved(entity, promised),
            Event::Promised { to, bytes, .. } => {
                let mut game = Game::of(self.zone(host).game(to).expect("it is owned"));
                game.log.push(u64::from_le_bytes(bytes.try_into().expect("eight bytes")));
                let set = self.zone(host).set_game(moment, to, game.bytes());
                assert!(set.is_ok(), "a promise came to an entity of another server");
            }
            Event::Drained => {
                self.drained += 1;
                let back_after = self.hosts[host].back_after.unwrap_or(Span::ZERO);
                self.stop(host, back_after);
            }
            _ => {}
        }
    }

    fn check_arrival(&mut self, entity: EntityId, beat: u64, promised: u64, origin: Origin) {
        if origin != Origin::Spawned {
            let is_offered = matches!(origin, Origin::Offered(_));
            // A change may be as old as the limit when the last one is made, a beat later.
            self.checks.on_restored(entity, beat, is_offered, self.config.loss_max + BEAT);
        }
        self.checks.on_entered(entity, promised);
    }

    fn keep_inside(&self, body: &mut State<Vec2>) {
        let (width, height) = (f64::from(self.plan.columns) * SIDE, f64::from(self.plan.rows) * SIDE);
        body.position = Vec2::new(body.position.x.clamp(0.0, width), body.position.y.clamp(0.0, height));
    }

    fn send(&mut self, host: usize, output: Output<Vec2>) {
        let run = self.hosts[host].run;
        match output {
            Output::Store(request) => {
                let plan = self.plan.store;
                let copies = if self.chance(plan.repeated) { 2 } else { 1 };
                let answering = self.random.below(copies);
                for copy in 0..copies {
                    if self.chance(plan.lost_request) {
                        continue;
                    }
                    let delay = self.delay(plan.delay, plan.slow);
                    let request = through_bytes(&request);
                    let answers = copy == answering;
                    self.queue.schedule(self.now() + delay, Happening::Asked { host, run, request, answers });
                }
            }
            Output::Publish { subject, message } => self.publish(host, subject, &message),
        }
    }

    fn publish(&mut self, host: usize, subject: Subject, message: &Message<Vec2>) {
        if let Message::Ghosts(batch) = message {
            self.checks.on_batch(&self.store, batch.cell, batch.fence);
        }
        let bytes = message.encode(&Precision::default());
        let (now, plan) = (self.now(), self.plan.bus);
        if self.hosts[host].bus_cut_until > now {
            return;
        }
        for other in 0..self.hosts.len() {
            let Some(zone) = &self.hosts[other].zone else { continue };
            let hears = match subject {
                Subject::World => true,
                Subject::Cell(cell) => zone.subscriptions().contains(&cell),
                Subject::Server(server) => zone.server() == server,
            };
            if !hears || other == host || self.hosts[other].bus_cut_until > now || self.chance(plan.loss) {
                continue;
            }
            let run = self.hosts[other].run;
            for _ in 0..if self.chance(plan.repeated) { 2 } else { 1 } {
                let delay = self.delay(plan.delay, plan.late);
                let heard = Happening::Heard { host: other, run, sent_at: now, bytes: bytes.clone() };
                self.queue.schedule(now + delay, heard);
            }
        }
    }

    /// A fault of this probability, unless everything is healed.
    fn chance(&mut self, probability: f64) -> bool {
        self.random.chance(probability) && !self.is_healed
    }

    fn delay(&mut self, usual: Span, (probability, most): (f64, Span)) -> Span {
        let longest = if self.chance(probability) { most } else { usual };
        Span::from_micros(500 + self.random.below(longest.as_micros() as u64 + 1) as i64)
    }

    fn ask(&mut self, host: usize, run: u64, request: &StoreRequest<Vec2>, answers: bool) {
        let now = self.now();
        if self.store_down_until > now || self.hosts[host].store_cut_until > now {
            return;
        }
        let plan = self.plan.store;
        let lag = self.lag();
        let answer = self.store.apply(now, request.key, &request.operation, lag);
        if matches!(answer, Answer::Committed(_)) {
            (0..self.hosts.len()).for_each(|other| self.show(other, request.key));
        }
        if !answers || self.chance(plan.lost_answer) {
            return;
        }
        let delay = self.delay(plan.delay, plan.slow);
        let answered = Happening::Answered { host, run, key: request.key, request: request.id, answer };
        self.queue.schedule(now + delay, answered);
    }

    fn lag(&mut self) -> Span {
        let (probability, most) = self.plan.store.stale;
        if !self.chance(probability) {
            return Span::ZERO;
        }
        Span::from_micros(self.random.below(most.as_micros() as u64 + 1) as i64)
    }

    /// The watch shows the newest version of a key, late; sometimes an old one again.
    fn show(&mut self, host: usize, key: Key) {
        let run = self.hosts[host].run;
        let lag = self.lag();
        let delay = self.plan.store.delay + lag;
        let back = if self.chance(self.plan.store.repeated) { 1 } else { 0 };
        if back > 0 {
            self.queue.schedule(self.now() + delay, Happening::Seen { host, run, key, back });
        }
        self.queue.schedule(self.now() + delay, Happening::Seen { host, run, key, back: 0 });
    }

    fn receive(&mut self, host: usize, happening: Happening) {
        let now = self.now();
        let moment = self.moment(host);
        match happening {
            Happening::Answered { run, key, request, answer, .. }
                if self.is_running(host, run) && self.hosts[host].store_cut_until <= now =>
            {
                self.zone(host).handle_answer(&moment, key, request, &answer);
                self.settle(host);
            }
            Happening::Seen { run, key, back, .. } => {
                if !self.is_running(host, run) {
                    return;
                }
                if self.hosts[host].store_cut_until > now || self.store_down_until > now {
                    let again = Happening::Seen { host, run, key, back };
                    self.queue.schedule(now + Span::from_millis(200), again);
                    return;
                }
                if let Some(version) = self.store.version(key, back).cloned() {
                    let record = record_through_bytes(&version.record);
                    self.zone(host).handle_seen(&moment, key, version.revision, &record);
                    self.settle(host);
                }
            }
            Happening::Heard { run, sent_at, bytes, .. }
                if self.is_running(host, run) && self.hosts[host].bus_cut_until <= now =>
            {
                self.hear(host, &moment, sent_at, &bytes);
            }
            _ => {}
        }
    }

    fn hear(&mut self, host: usize, moment: &Moment, sent_at: SharedInstant, bytes: &[u8]) {
        let message = Message::<Vec2>::decode(&Precision::default(), bytes).expect("own bytes");
        if let Message::Ghosts(batch) = &message {
            let used = self.zone(host).handle_ghosts(moment, batch);
            for (term, vector) in &batch.vectors {
                let ghost = self.hosts[host].zone.as_ref().and_then(|zone| zone.ghost(vector.entity));
                let is_believed = ghost.is_some_and(|ghost| {
                    ghost.vector().generated_at == vector.generated_at && ghost.title() == batch.title(*term)
                });
                // A receiver whose own clocks are late cannot judge what is late.
                let is_awake = self.now() >= self.hosts[host].doubtful_until;
                if used.is_ok_and(|used| used > 0) && is_believed && is_awake {
                    self.checks.on_believed(&self.store, (batch.server, *term), vector.entity, sent_at);
                }
            }
        } else {
            self.zone(host).handle_message(moment, &message);
        }
        self.settle(host);
    }

    fn check_owners(&mut self, host: usize) {
        if self.now() < self.hosts[host].doubtful_until {
            return;
        }
        let moment = self.moment(host);
        let zone = self.hosts[host].zone.as_ref().expect("it runs");
        for entity in zone.entities(&moment) {
            let term = zone.title(entity).expect("it is owned").term;
            self.checks.on_owner(&self.store, zone.server(), entity, term);
            let title = zone.title(entity).expect("it is owned");
            let since = self.titles.entry(entity).or_insert_with(|| (title, self.queue.now()));
            if since.0 != title {
                *since = (title, self.queue.now());
            }
        }
        let (now, heard) = (self.now(), zone.subscriptions());
        self.hosts[host].heard_since.retain(|cell, _| heard.contains(cell));
        for cell in heard {
            self.hosts[host].heard_since.entry(cell).or_insert(now);
        }
        if self.is_healed && now > SharedInstant::ZERO + self.plan.safety + HEAL - QUIET {
            self.check_ghosts(host, &moment);
        }
    }

    /// Compares the ghosts of one server with the tanks of their owners.
    fn check_ghosts(&mut self, host: usize, moment: &Moment) {
        let zone = self.hosts[host].zone.as_ref().expect("it runs");
        let heard = &self.hosts[host].heard_since;
        // Both clocks may be wrong, and a tank goes on while the bus carries its news.
        let late =
            self.plan.bus.delay + self.plan.uncertainty.scaled(2.0) + TICK.scaled(2.0) + self.plan.tick_late;
        let most = THRESHOLD + 2.0 * self.plan.speed * late.as_secs_f64() + 0.1;
        for other in (0..self.hosts.len()).filter(|other| *other != host) {
            let Some(owner) = &self.hosts[other].zone else { continue };
            for entity in owner.entities(&self.moment(other)) {
                let cell = owner.title(entity).expect("it is owned").cell;
                let Some(body) = self.hosts[other].bodies.get(&entity) else { continue };
                // A cell that was subscribed just now has been heard after a heartbeat.
                let is_heard = heard.get(&cell).is_some_and(|since| self.now() - *since > HEARTBEAT);
                let titled =
                    self.titles.get(&entity).filter(|(title, _)| owner.title(entity) == Some(*title));
                let titled_since = titled.map(|(_, since)| *since);
                let is_settled = titled_since.is_some_and(|since| self.now() - since > late);
                if !is_heard || !is_settled {
                    continue;
                }
                let now = Now { local: moment.local, shared: moment.shared };
                let placed = zone.ghost(entity).and_then(|ghost| ghost.place(now));
                let error = placed.map(|placed| {
                    let gap = placed.position - body.position;
                    (gap.x * gap.x + gap.y * gap.y).sqrt()
                });
                self.checks.check(WorldLaw::Ghosts, error.is_some_and(|error| error <= most), || {
                    format!("the ghost of entity {} is off by {error:?}, more than {most:.2}", entity.0)
                });
            }
        }
    }

    /// Returns whether no cell and no entity is on its way at this instant.
    fn is_whole(&self) -> bool {
        let holders = |cell| {
            let zones = self.hosts.iter().filter_map(|host| host.zone.as_ref());
            zones.filter(|zone| zone.held_cells().any(|held| held == cell)).count()
        };
        let owned = (0..self.hosts.len()).map(|host| {
            self.hosts[host].zone.as_ref().map_or(0, |zone| zone.entities(&self.moment(host)).len())
        });
        Cells::<Vec2>::all(&self.grid).into_iter().all(|cell| holders(cell) == 1)
            && owned.sum::<usize>() == self.entities.len()
    }

    /// After healing: every cell has a holder, every entity an owner, every promise has arrived.
    fn check_whole(&mut self) {
        for cell in Cells::<Vec2>::all(&self.grid) {
            let holders = self.hosts.iter().filter(|host| {
                host.zone.as_ref().is_some_and(|zone| zone.held_cells().any(|held| held == cell))
            });
            let count = holders.count();
            self.checks.check(WorldLaw::Healed, count == 1, || format!("cell {cell} has {count} holders"));
        }
        let mut logs = BTreeMap::new();
        for host in 0..self.hosts.len() {
            let moment = self.moment(host);
            let Some(zone) = &self.hosts[host].zone else { continue };
            for entity in zone.entities(&moment) {
                logs.insert(entity, Game::of(zone.game(entity).expect("it is owned")).log);
            }
        }
        for entity in self.entities.clone() {
            self.checks.check(WorldLaw::Healed, logs.contains_key(&entity), || {
                format!("entity {} has no owner: {:?}", entity.0, self.store.newest(Key::Entity(entity)))
            });
        }
        logs.iter().for_each(|(entity, log)| self.checks.on_final_log(*entity, log));
        self.checks.on_end();
    }
}

impl Host {
    fn new(plan: &WorldPlan, random: &mut Random) -> Self {
        let offset = Span::from_secs_f64(random.between(-60.0, 60.0));
        let drift = random.between(-plan.drift_ppm, plan.drift_ppm + f64::MIN_POSITIVE);
        let most = plan.uncertainty.as_secs_f64();
        Self {
            run: 0,
            zone: None,
            clock: SimClock::new(offset, drift),
            shared_error: Span::from_secs_f64(random.between(-most, most)),
            stood_still: Span::ZERO,
            stood_last: Span::ZERO,
            frozen_since: None,
            doubtful_until: SharedInstant::ZERO,
            heard_since: BTreeMap::new(),
            stands_until: SharedInstant::ZERO,
            bus_cut_until: SharedInstant::ZERO,
            store_cut_until: SharedInstant::ZERO,
            clock_lost_until: SharedInstant::ZERO,
            crash_at: None,
            bodies: BTreeMap::new(),
            beat_at: SharedInstant::ZERO,
            inbox: Vec::new(),
            back_after: None,
        }
    }
}

/// What the game keeps with a tank.
#[derive(Clone, Debug, Default)]
struct Game {
    /// Counts the tenths of a second for which it had an owner.
    beat: u64,
    /// The payloads of all promises received.
    log: Vec<u64>,
}

impl Game {
    fn of(bytes: &[u8]) -> Self {
        let mut numbers =
            bytes.chunks_exact(8).map(|eight| u64::from_le_bytes(eight.try_into().expect("eight")));
        Self { beat: numbers.next().unwrap_or(0), log: numbers.collect() }
    }

    fn bytes(&self) -> Vec<u8> {
        std::iter::once(&self.beat).chain(&self.log).flat_map(|number| number.to_le_bytes()).collect()
    }
}

fn step_of(output: &Output<Vec2>) -> Option<Step> {
    match output {
        Output::Store(StoreRequest {
            key: Key::Cell(_), operation: Operation::CompareAndSet { .. }, ..
        }) => Some(Step::WriteLease),
        Output::Store(StoreRequest {
            key: Key::Entity(_),
            operation: Operation::CompareAndSet { .. },
            ..
        }) => Some(Step::WriteEntity),
        Output::Publish { message, .. } => match message {
            Message::Offer { .. } => Some(Step::Offer),
            Message::Accept { .. } => Some(Step::Accept),
            Message::Release { .. } => Some(Step::Release),
            Message::Promise { .. } => Some(Step::Promise),
            Message::Receipt { .. } => Some(Step::Receipt),
            _ => None,
        },
        Output::Store(_) => None,
    }
}

/// Returns the request as the store reads it.
fn through_bytes(request: &StoreRequest<Vec2>) -> StoreRequest<Vec2> {
    let operation = match &request.operation {
        Operation::Read => Operation::Read,
        Operation::CompareAndSet { record, expected } => Operation::CompareAndSet {
            record: Box::new(record_through_bytes(record)),
            expected: Revision(expected.0),
        },
    };
    StoreRequest { operation, ..request.clone() }
}

fn record_through_bytes(record: &Record<Vec2>) -> Record<Vec2> {
    let precision = Precision::default();
    let read = Record::decode(&precision, &record.encode(&precision)).expect("own bytes");
    assert_eq!(&read, record, "a record changes on its way through its bytes");
    read
}
