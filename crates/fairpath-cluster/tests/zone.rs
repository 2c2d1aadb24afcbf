//! Goal: each rule of the crate's documentation holds by itself. Method: two zones on one clock, a
//! store and a bus that work, and one fault a test. `lab/campaign` plays all faults together.

use std::collections::BTreeMap;

use fairpath::number::EntityId;
use fairpath::time::{LocalInstant, SharedInstant, Span};
use fairpath::{Observation, State, Vec2};
use fairpath_cluster::{
    Answer, CellId, Departure, Event, GhostBatch, GhostRefusal, Key, Message, Moment, Operation, Origin,
    Output, Record, Refusal, Revision, ServerId, SquareGrid, StoreRequest, Subject, Zone, ZoneConfig,
    ZoneStatus,
};

type TestZone = Zone<Vec2, SquareGrid>;

const GRID: SquareGrid = SquareGrid { columns: 2, rows: 1, side: 100.0 };
const WEST: CellId = CellId { x: 0, y: 0 };
const EAST: CellId = CellId { x: 1, y: 0 };
const STEP: Span = Span::from_millis(20);

/// Servers, and a store and a bus that take no time.
struct Cluster {
    now: SharedInstant,
    zones: BTreeMap<ServerId, TestZone>,
    /// Servers that neither run nor hear anything.
    stopped: Vec<ServerId>,
    /// Answers to these keys are lost.
    lost_answers: Option<Key>,
    /// The watch does not show this key.
    unseen: Option<Key>,
    newest: u64,
    store: BTreeMap<Key, (Revision, Record<Vec2>)>,
    events: Vec<(ServerId, Event)>,
    batches: Vec<GhostBatch<Vec2>>,
}

fn config() -> ZoneConfig {
    ZoneConfig { rebalance_interval: Span::from_secs(3_600), ..ZoneConfig::default() }
}

impl Cluster {
    fn of(servers: u64) -> Self {
        let mut cluster = Self {
            now: SharedInstant::from_millis(1_000),
            zones: BTreeMap::new(),
            stopped: Vec::new(),
            lost_answers: None,
            unseen: None,
            newest: 0,
            store: BTreeMap::new(),
            events: Vec::new(),
            batches: Vec::new(),
        };
        (1..=servers).for_each(|server| cluster.join(ServerId(server), GRID));
        cluster
    }

    fn join(&mut self, server: ServerId, grid: SquareGrid) {
        let mut zone = Zone::new(server, grid, config()).expect("the spans fit");
        let moment = self.moment();
        self.store
            .iter()
            .for_each(|(key, (revision, record))| zone.handle_seen(&moment, *key, *revision, record));
        self.zones.insert(server, zone);
    }

    fn moment(&self) -> Moment {
        let local = LocalInstant::from_micros(self.now.as_micros());
        Moment { local, shared: self.now, uncertainty: Span::ZERO }
    }

    fn run(&mut self, span: Span) {
        let until = self.now + span;
        while self.now < until {
            self.now += STEP;
            let moment = self.moment();
            for server in self.running() {
                self.zone(server).handle_tick(&moment);
                self.settle();
            }
        }
    }

    fn running(&self) -> Vec<ServerId> {
        self.zones.keys().copied().filter(|server| !self.stopped.contains(server)).collect()
    }

    fn zone(&mut self, server: ServerId) -> &mut TestZone {
        self.zones.get_mut(&server).expect("it has joined")
    }

    fn settle(&mut self) {
        let moment = self.moment();
        loop {
            let mut is_quiet = true;
            for server in self.running() {
                while let Some(event) = self.zone(server).poll_event() {
                    self.events.push((server, event));
                }
                while let Some(output) = self.zone(server).poll_output(&moment) {
                    is_quiet = false;
                    match output {
                        Output::Store(request) => self.ask(server, &request),
                        Output::Publish { subject, message } => self.publish(server, subject, &message),
                    }
                }
            }
            if is_quiet {
                return;
            }
        }
    }

    fn ask(&mut self, server: ServerId, request: &StoreRequest<Vec2>) {
        let (moment, key) = (self.moment(), request.key);
        let found = self.store.get(&key);
        let answer = match &request.operation {
            Operation::Read => {
                Answer::Found(found.map(|(revision, record)| (*revision, Box::new(record.clone()))))
            }
            Operation::CompareAndSet { expected, .. }
                if found.map_or(Revision::NONE, |found| found.0) != *expected =>
            {
                Answer::Refused
            }
            Operation::CompareAndSet { record, .. } => {
                self.newest += 1;
                let revision = Revision(self.newest);
                self.store.insert(key, (revision, (**record).clone()));
                for other in self.running() {
                    if other != server && self.unseen != Some(key) {
                        self.zone(other).handle_seen(&moment, key, revision, record);
                    }
                }
                Answer::Committed(revision)
            }
        };
        if self.lost_answers != Some(key) {
            self.zone(server).handle_answer(&moment, key, request.id, &answer);
        }
    }

    fn publish(&mut self, from: ServerId, subject: Subject, message: &Message<Vec2>) {
        if let Message::Ghosts(batch) = message {
            self.batches.push(batch.clone());
        }
        let moment = self.moment();
        for server in self.running() {
            let hears = match subject {
                Subject::World => server != from,
                Subject::Cell(cell) => server != from && self.zone(server).subscriptions().contains(&cell),
                Subject::Server(to) => server == to,
            };
            if hears {
                self.zone(server).handle_message(&moment, message);
            }
        }
    }

    fn holder(&self, cell: CellId) -> ServerId {
        let holds = |zone: &TestZone| zone.held_cells().any(|held| held == cell);
        let mut holders =
            self.zones.iter().filter(|(server, zone)| !self.stopped.contains(server) && holds(zone));
        *holders.next().expect("the cell has a holder").0
    }

    /// Creates an entity in a cell and waits until the store knows it.
    fn spawn(&mut self, x: f64, velocity: f64) -> (ServerId, EntityId) {
        let server = self.holder(if x < 100.0 { WEST } else { EAST });
        let (moment, now) = (self.moment(), self.now);
        let state = State::moving(Vec2::new(x, 50.0), Vec2::new(velocity, 0.0));
        let entity = self.zone(server).spawn(&moment, state, b"tank".to_vec(), now).expect("ids are there");
        self.settle();
        self.run(STEP);
        assert!(self.owns(server, entity));
        (server, entity)
    }

    fn owns(&self, server: ServerId, entity: EntityId) -> bool {
        self.zones[&server].owns(entity, &self.moment())
    }

    fn entered(&self, entity: EntityId) -> Vec<(ServerId, u64, Origin)> {
        let entered = self.events.iter().filter_map(|(server, event)| match event {
            Event::Entered { entity: other, term, origin, .. } if *other == entity => {
                Some((*server, *term, *origin))
            }
            _ => None,
        });
        entered.collect()
    }

    /// Two servers with a cell each. Returns the holders of west and east.
    fn split() -> (Self, ServerId, ServerId) {
        for servers in 2..20 {
            let mut cluster = Self::of(servers);
            cluster.run(Span::from_secs(6));
            let (west, east) = (cluster.holder(WEST), cluster.holder(EAST));
            if west != east {
                return (cluster, west, east);
            }
        }
        panic!("hashing gives all cells to one server");
    }
}

#[test]
fn a_world_of_another_cell_size_is_refused_with_a_reason() {
    let mut cluster = Cluster::of(1);
    cluster.run(Span::from_secs(1));
    cluster.join(ServerId(2), SquareGrid { side: 50.0, ..GRID });
    cluster.run(Span::from_secs(5));
    assert!(cluster.events.contains(&(ServerId(2), Event::Refused(Refusal::Cells))));
    assert_eq!(cluster.zones[&ServerId(2)].status(), ZoneStatus::Refused);
    assert_eq!(cluster.zones[&ServerId(2)].held_cells().count(), 0);
}

#[test]
fn an_entity_that_crosses_a_border_has_a_new_owner_and_a_later_term() {
    let (mut cluster, west, east) = Cluster::split();
    let (_, entity) = cluster.spawn(99.0, 20.0);
    cluster.run(Span::from_secs(1));
    assert!(!cluster.owns(west, entity) && cluster.owns(east, entity));
    assert_eq!(cluster.entered(entity), [(west, 1, Origin::Spawned), (east, 2, Origin::Offered(west))]);
    assert_eq!(cluster.zones[&east].game(entity), Some(&b"tank"[..]));
    assert!(cluster.events.contains(&(west, Event::Left { entity, reason: Departure::HandedOver })));
    assert!(cluster.zones[&west].ghost(entity).is_some(), "the old owner still shows it");
}

#[test]
fn an_owner_without_an_accept_asks_the_store_and_goes_on() {
    let (mut cluster, west, east) = Cluster::split();
    let (_, entity) = cluster.spawn(99.0, 20.0);
    cluster.stopped.push(east);
    cluster.run(Span::from_millis(350));
    assert!(!cluster.owns(west, entity), "it is silent from the offer on");
    cluster.run(Span::from_millis(300));
    assert!(cluster.owns(west, entity));
    assert_eq!(cluster.zones[&west].title(entity).map(|title| title.term), Some(2));
}

#[test]
fn cells_of_a_dead_server_are_taken_after_its_lease_and_not_before() {
    let (mut cluster, west, _) = Cluster::split();
    let (_, entity) = cluster.spawn(50.0, 0.0);
    cluster.run(Span::from_secs(2));
    cluster.stopped.push(west);
    cluster.run(Span::from_millis(2_200));
    assert_eq!(cluster.entered(entity).len(), 1);
    cluster.run(Span::from_secs(5));
    let entered = cluster.entered(entity);
    assert_eq!((entered.len(), entered[1].1, entered[1].2), (2, 2, Origin::Taken(west)));
}

#[test]
fn a_server_that_holds_a_cell_again_does_not_own_what_another_took_in_between() {
    let (mut cluster, west, east) = Cluster::split();
    let (_, entity) = cluster.spawn(50.0, 0.0);
    cluster.run(Span::from_secs(2));
    let others: Vec<ServerId> =
        cluster.running().into_iter().filter(|server| ![west, east].contains(server)).collect();
    cluster.stopped.extend(others);
    cluster.stopped.push(west);
    cluster.run(Span::from_secs(8));
    assert!(cluster.owns(east, entity));
    // The first server wakes up, does not see who took the entity, and is given the cell.
    cluster.unseen = Some(Key::Entity(entity));
    cluster.stopped.retain(|server| *server != west);
    cluster.run(Span::from_millis(600));
    cluster.zone(east).drain();
    for _ in 0..200 {
        cluster.run(STEP);
        let (_, Record::Entity(record)) = &cluster.store[&Key::Entity(entity)] else { unreachable!() };
        let title = cluster.zones[&west].title(entity);
        let is_owner = record.write.server == west && title == Some(record.title);
        assert!(is_owner || !cluster.owns(west, entity), "{title:?} is not {record:?}");
    }
    assert_eq!(cluster.holder(WEST), west);
    assert!(cluster.owns(west, entity), "it takes the entity as the store remembers it");
}

#[test]
fn a_server_whose_renewals_are_not_answered_stops_before_its_lease_ends() {
    let mut cluster = Cluster::of(1);
    cluster.run(Span::from_secs(6));
    let (server, entity) = cluster.spawn(50.0, 0.0);
    let never = |request: &StoreRequest<Vec2>| request.key == Key::Cell(WEST);
    let mut silent_after = None;
    for step in 0..200_i64 {
        cluster.now += STEP;
        let moment = cluster.moment();
        cluster.zone(server).handle_tick(&moment);
        while cluster.zone(server).poll_event().is_some() {}
        while let Some(output) = cluster.zone(server).poll_output(&moment) {
            match output {
                Output::Store(request) if !never(&request) => cluster.ask(server, &request),
                _ => {}
            }
        }
        if silent_after.is_none() && !cluster.owns(server, entity) {
            silent_after = Some(STEP.as_micros() * (step + 1));
        }
    }
    let silent_after = silent_after.expect("it stops");
    let config = config();
    assert!(silent_after <= (config.lease - config.margin).as_micros(), "it speaks for {silent_after} µs");
}

#[test]
fn a_commit_whose_answers_are_lost_is_found_by_reading() {
    let mut cluster = Cluster::of(1);
    cluster.run(Span::from_secs(6));
    let (server, entity) = cluster.spawn(50.0, 0.0);
    let moment = cluster.moment();
    let number = cluster.zone(server).promise(&moment, entity, EntityId(999), vec![1]).expect("it is owned");
    cluster.lost_answers = Some(Key::Entity(entity));
    cluster.run(Span::from_millis(100));
    cluster.lost_answers = None;
    cluster.run(Span::from_secs(1));
    assert!(cluster.events.contains(&(server, Event::Saved { entity, promised: number })));
    assert!(cluster.owns(server, entity));
}

#[test]
fn a_promise_waits_until_it_is_saved_and_arrives_once() {
    let (mut cluster, west, east) = Cluster::split();
    let (_, maker) = cluster.spawn(50.0, 0.0);
    let (_, receiver) = cluster.spawn(150.0, 0.0);
    let moment = cluster.moment();
    for byte in 0..3 {
        cluster.zone(west).promise(&moment, maker, receiver, vec![byte]).expect("it is owned");
    }
    cluster.run(Span::from_secs(3));
    let arrived = cluster.events.iter().filter_map(|(server, event)| match event {
        Event::Promised { from, to, bytes, .. } if (*from, *to) == (maker, receiver) => {
            Some((*server, bytes.clone()))
        }
        _ => None,
    });
    assert_eq!(arrived.collect::<Vec<_>>(), [(east, vec![0]), (east, vec![1]), (east, vec![2])]);
}

#[test]
fn a_destroyed_entity_is_not_taken_over() {
    let (mut cluster, west, _) = Cluster::split();
    let (_, entity) = cluster.spawn(50.0, 0.0);
    let moment = cluster.moment();
    cluster.zone(west).destroy(&moment, entity).expect("it is owned");
    cluster.run(Span::from_secs(1));
    assert!(cluster.events.contains(&(west, Event::Left { entity, reason: Departure::Destroyed })));
    cluster.stopped.push(west);
    cluster.run(Span::from_secs(10));
    assert_eq!(cluster.entered(entity).len(), 1);
}

#[test]
fn a_drained_server_loses_nothing_and_its_cells_are_taken_at_once() {
    let (mut cluster, west, _) = Cluster::split();
    let (_, entity) = cluster.spawn(50.0, 0.0);
    let moment = cluster.moment();
    cluster.zone(west).set_game(&moment, entity, b"latest".to_vec()).expect("it is owned");
    cluster.zone(west).drain();
    cluster.run(Span::from_millis(500));
    assert!(cluster.events.contains(&(west, Event::Drained)));
    let (heir, term, origin) = cluster.entered(entity)[1];
    assert_eq!((term, origin), (2, Origin::Taken(west)));
    assert_eq!(cluster.zones[&heir].game(entity), Some(&b"latest"[..]));
}

#[test]
fn ids_of_two_servers_differ() {
    let (mut cluster, west, east) = Cluster::split();
    let mut ids = Vec::new();
    for _ in 0..100 {
        for (server, x) in [(west, 50.0), (east, 150.0)] {
            let (moment, now) = (cluster.moment(), cluster.now);
            let state = State::moving(Vec2::new(x, 50.0), Vec2::new(0.0, 0.0));
            ids.extend(cluster.zone(server).spawn(&moment, state, Vec::new(), now));
        }
        cluster.run(STEP);
    }
    let count = ids.len();
    assert_eq!(count, 200, "there are always ids");
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), count);
}

/// A batch of an owner, to be changed, and a server that hears it.
fn a_batch() -> (Cluster, ServerId, GhostBatch<Vec2>) {
    let (mut cluster, west, east) = Cluster::split();
    let (_, entity) = cluster.spawn(50.0, 0.0);
    let (moment, now) = (cluster.moment(), cluster.now);
    let state = State::moving(Vec2::new(60.0, 50.0), Vec2::new(5.0, 0.0));
    cluster.zone(west).observe(&moment, entity, Observation::Moved(state), now).expect("it is owned");
    cluster.batches.clear();
    cluster.stopped.push(east);
    cluster.run(STEP);
    cluster.stopped.clear();
    let batch = cluster.batches.pop().expect("it has moved");
    (cluster, east, batch)
}

#[test]
fn a_batch_after_the_lease_of_its_sender_is_dropped() {
    let (mut cluster, east, batch) = a_batch();
    let moment = cluster.moment();
    let late = Moment { shared: batch.speak_until + Span::from_micros(1), ..moment };
    assert_eq!(cluster.zone(east).handle_ghosts(&late, &batch), Err(GhostRefusal::Late));
    let stamped = GhostBatch { sent_at: batch.speak_until + Span::from_micros(1), ..batch.clone() };
    assert_eq!(cluster.zone(east).handle_ghosts(&moment, &stamped), Err(GhostRefusal::StampedLate));
    assert_eq!(cluster.zone(east).handle_ghosts(&moment, &batch), Ok(1));
}

#[test]
fn a_batch_under_an_old_fence_or_term_is_dropped() {
    let (mut cluster, east, batch) = a_batch();
    let moment = cluster.moment();
    let old = GhostBatch { fence: Revision(batch.fence.0 - 1), ..batch.clone() };
    assert_eq!(cluster.zone(east).handle_ghosts(&moment, &old), Err(GhostRefusal::OldFence));
    let vectors = batch.vectors.iter().map(|(term, vector)| (term - 1, *vector)).collect();
    let former = GhostBatch { vectors, ..batch.clone() };
    assert_eq!(cluster.zone(east).handle_ghosts(&moment, &former), Ok(0));
    assert_eq!(cluster.zone(east).handle_ghosts(&moment, &batch), Ok(1));
}

#[test]
fn a_server_that_is_unsure_of_the_time_owns_nothing() {
    let mut cluster = Cluster::of(1);
    cluster.run(Span::from_secs(6));
    let (server, entity) = cluster.spawn(50.0, 0.0);
    let unsure = Moment { uncertainty: Span::from_millis(51), ..cluster.moment() };
    assert!(cluster.owns(server, entity) && !cluster.zones[&server].owns(entity, &unsure));
}

#[test]
fn what_waits_past_the_lease_is_never_sent() {
    let mut cluster = Cluster::of(1);
    cluster.run(Span::from_secs(6));
    let (server, entity) = cluster.spawn(50.0, 0.0);
    let (moment, now) = (cluster.moment(), cluster.now);
    let state = State::moving(Vec2::new(60.0, 50.0), Vec2::new(5.0, 0.0));
    cluster.zone(server).observe(&moment, entity, Observation::Moved(state), now).expect("it is owned");
    cluster.zone(server).handle_tick(&moment);
    cluster.now += config().lease;
    let resumed = cluster.moment();
    while let Some(output) = cluster.zone(server).poll_output(&resumed) {
        let is_batch = matches!(output, Output::Publish { message: Message::Ghosts(_), .. });
        assert!(!is_batch, "a paused server speaks after its lease");
    }
}
