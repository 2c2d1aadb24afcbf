//! Peers, the links between them, and faults, in virtual time.

use std::collections::BTreeMap;

use fairpath::random::Random;
use fairpath::time::{LocalInstant, SharedInstant, Span};

use crate::clock::SimClock;
use crate::link::{Fate, LinkConfig, LinkModel};
use crate::queue::{EventId, EventQueue};

/// A simulated network to test a protocol in: peers with clocks of their own, links between them,
/// faults at chosen instants, one seed.
///
/// The network calls none of your code. [`send`](Self::send) and [`wake`](Self::wake) plan events;
/// [`step_until`](Self::step_until) jumps to the next event and returns it, in the order of time:
///
/// ```
/// use fairpath::time::{SharedInstant, Span};
/// use fairpath_sim::{Event, LinkConfig, Network, PeerId};
///
/// let (alice, bob) = (PeerId(0), PeerId(1));
/// let mut network = Network::new(7, 2);
/// network.connect(alice, bob, LinkConfig::wifi_bad());
/// network.send(alice, bob, 12, "how are you?");
///
/// while let Some(event) = network.step_until(SharedInstant::from_millis(1_000)) {
///     match event {
///         Event::Delivery(delivery) if delivery.to == bob => {
///             network.send(bob, alice, 4, "fine");
///         }
///         Event::Delivery(reply) => println!("peer {} says {}", reply.from.0, reply.payload),
///         Event::Wake(_) => unreachable!("no peer asked to be woken"),
///     }
/// }
/// assert_eq!(network.now(), SharedInstant::from_millis(1_000));
/// ```
#[derive(Clone, Debug)]
pub struct Network<T> {
    random: Random,
    clocks: Vec<SimClock>,
    links: BTreeMap<(PeerId, PeerId), LinkModel>,
    agenda: EventQueue<Planned<T>>,
}

/// The number of a peer, counted from zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PeerId(pub u32);

/// An event that [`Network::step`] returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<T> {
    /// A packet has arrived.
    Delivery(Delivery<T>),
    /// A peer asked to be woken at this instant.
    Wake(Wake),
}

/// A packet that has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery<T> {
    /// The peer that sent it.
    pub from: PeerId,
    /// The peer that receives it.
    pub to: PeerId,
    /// When it was sent, in true time. For tests: a peer only knows its own clock.
    pub sent_at: SharedInstant,
    /// Its size.
    pub size_bytes: u32,
    /// Its content.
    pub payload: T,
}

/// A peer's alarm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wake {
    /// The peer that is woken.
    pub peer: PeerId,
    /// The number given to [`Network::wake`].
    pub reason: u64,
}

/// A fault, or the end of one.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// Loses everything sent between two peers, in both directions.
    Partition(PeerId, PeerId),
    /// Loses everything sent from the first peer to the second, as with a firewall's new rule.
    PartitionOneWay(PeerId, PeerId),
    /// Ends a partition, in both directions.
    Repair(PeerId, PeerId),
    /// Loses everything sent to or by a peer, as when its cable is pulled.
    Isolate(PeerId),
    /// Ends every partition of a peer.
    Rejoin(PeerId),
    /// Changes the link from the first peer to the second.
    Reconfigure(PeerId, PeerId, Box<LinkConfig>),
    /// Repairs and [heals](LinkConfig::healed) every link. From here on a test can demand progress.
    Heal,
    /// Steps a peer's clock, forwards or backwards.
    StepClock(PeerId, Span),
    /// Sets the drift of a peer's clock, in parts per million.
    DriftClock(PeerId, f64),
}

#[derive(Clone, Debug)]
enum Planned<T> {
    Event(Event<T>),
    Fault(Fault),
}

/// How many events may be in flight or planned at once.
///
/// A million is beyond any test that ends. A test that gets there sends in answer to its own
/// deliveries without end; a panic is better than full memory.
pub const AGENDA_LEN_MAX: usize = 1 << 20;

impl<T> Network<T> {
    /// Creates peers 0 to `peer_count` − 1 with perfect clocks and no links, at time zero.
    pub fn new(seed: u64, peer_count: u32) -> Self {
        Self::starting_at(SharedInstant::ZERO, seed, peer_count)
    }

    /// Like [`new`](Self::new), but starts at `now`. Recordings start below zero.
    pub fn starting_at(now: SharedInstant, seed: u64, peer_count: u32) -> Self {
        Self {
            random: Random::from_seed(seed),
            clocks: vec![SimClock::PERFECT; peer_count as usize],
            links: BTreeMap::new(),
            agenda: EventQueue::starting_at(now),
        }
    }

    /// Returns every peer.
    pub fn peers(&self) -> impl Iterator<Item = PeerId> + use<T> {
        (0..self.clocks.len() as u32).map(PeerId)
    }

    /// Links two peers in both directions, with the same configuration.
    pub fn connect(&mut self, one: PeerId, other: PeerId, config: LinkConfig) {
        self.connect_one_way(one, other, config.clone());
        self.connect_one_way(other, one, config);
    }

    /// Links two peers in one direction. Replaces an existing link and its statistics; to change a
    /// link that is in use, inject [`Fault::Reconfigure`].
    ///
    /// # Panics
    /// If there is no such peer, or [`LinkConfig::check`] rejects the configuration.
    pub fn connect_one_way(&mut self, from: PeerId, to: PeerId, config: LinkConfig) {
        for peer in [from, to] {
            assert!((peer.0 as usize) < self.clocks.len(), "there is no peer {}", peer.0);
        }
        let stream = u64::from(from.0) << 32 | u64::from(to.0);
        self.links.insert((from, to), LinkModel::new(config, self.random.fork(stream)));
    }

    /// Links every peer to every other peer, with the same configuration.
    pub fn connect_all(&mut self, config: &LinkConfig) {
        for from in self.peers() {
            for to in self.peers().filter(|to| *to != from) {
                self.connect_one_way(from, to, config.clone());
            }
        }
    }

    /// Returns the true time.
    pub fn now(&self) -> SharedInstant {
        self.agenda.now()
    }

    /// Returns the time on a peer's own clock.
    pub fn local_now(&self, peer: PeerId) -> LocalInstant {
        self.clock(peer).local(self.now())
    }

    /// Returns a peer's clock.
    pub fn clock(&self, peer: PeerId) -> &SimClock {
        &self.clocks[peer.0 as usize]
    }

    /// Replaces a peer's clock.
    pub fn set_clock(&mut self, peer: PeerId, clock: SimClock) {
        self.clocks[peer.0 as usize] = clock;
    }

    /// Returns the link from one peer to another, with its statistics.
    ///
    /// # Panics
    /// If there is no link in this direction.
    pub fn link(&self, from: PeerId, to: PeerId) -> &LinkModel {
        self.links.get(&(from, to)).unwrap_or_else(|| panic!("{}", no_link(from, to)))
    }

    /// Sends a packet now. Returns its fate, for assertions; peers must not act on it.
    ///
    /// # Panics
    /// If there is no link in this direction, or more than [`AGENDA_LEN_MAX`] events wait.
    pub fn send(&mut self, from: PeerId, to: PeerId, size_bytes: u32, payload: T) -> Fate
    where
        T: Clone,
    {
        let sent_at = self.now();
        let fate = self.link_mut(from, to).send(sent_at, size_bytes);
        let delivery =
            |payload| Planned::Event(Event::Delivery(Delivery { from, to, sent_at, size_bytes, payload }));
        if let Fate::Duplicated { copy_at, .. } = fate {
            self.plan(copy_at, delivery(payload.clone()));
        }
        if let Fate::Delivered { at } | Fate::Duplicated { at, .. } = fate {
            self.plan(at, delivery(payload));
        }
        fate
    }

    /// Plans to wake a peer at a true instant; a past instant means now.
    pub fn wake(&mut self, peer: PeerId, at: SharedInstant, reason: u64) -> EventId {
        self.plan(at, Planned::Event(Event::Wake(Wake { peer, reason })))
    }

    /// Plans to wake a peer when its own clock shows `at`, if the clock goes on as it runs now.
    pub fn wake_local(&mut self, peer: PeerId, at: LocalInstant, reason: u64) -> EventId {
        self.wake(peer, self.clock(peer).first_showing(at), reason)
    }

    /// Cancels an alarm; returns false if it has rung.
    pub fn cancel(&mut self, alarm: EventId) -> bool {
        self.agenda.cancel(alarm).is_some()
    }

    /// Plans a fault. Of two events at the same instant, the one planned first happens first.
    pub fn fault_at(&mut self, at: SharedInstant, fault: Fault) -> EventId {
        self.plan(at, Planned::Fault(fault))
    }

    /// Injects a fault now.
    ///
    /// # Panics
    /// If the fault names a peer or a link that does not exist.
    pub fn inject(&mut self, fault: Fault) {
        let now = self.now();
        match fault {
            Fault::Partition(one, other) => self.each_way(one, other, LinkModel::partition),
            Fault::PartitionOneWay(from, to) => self.link_mut(from, to).partition(),
            Fault::Repair(one, other) => self.each_way(one, other, LinkModel::repair),
            Fault::Isolate(peer) => self.each_link_of(peer).for_each(LinkModel::partition),
            Fault::Rejoin(peer) => self.each_link_of(peer).for_each(LinkModel::repair),
            Fault::Reconfigure(from, to, config) => self.link_mut(from, to).reconfigure(*config),
            Fault::Heal => self.links.values_mut().for_each(|link| {
                link.repair();
                link.reconfigure(link.config().healed());
            }),
            Fault::StepClock(peer, by) => self.clocks[peer.0 as usize].step(now, by),
            Fault::DriftClock(peer, ppm) => self.clocks[peer.0 as usize].set_drift(now, ppm),
        }
    }

    /// Jumps to the next event and returns it; `None` if no event is planned.
    pub fn step(&mut self) -> Option<Event<T>> {
        loop {
            let next = self.agenda.next_at()?;
            if let Some(event) = self.step_until(next) {
                return Some(event);
            }
        }
    }

    /// Jumps to the next event due by `until` and returns it. Without one, jumps to `until` and
    /// returns `None`. Injects planned faults on the way.
    pub fn step_until(&mut self, until: SharedInstant) -> Option<Event<T>> {
        loop {
            match self.agenda.pop_until(until)?.1 {
                Planned::Event(event) => return Some(event),
                Planned::Fault(fault) => self.inject(fault),
            }
        }
    }

    fn plan(&mut self, at: SharedInstant, planned: Planned<T>) -> EventId {
        assert!(self.agenda.len() < AGENDA_LEN_MAX, "a million events wait: the test sends without end");
        self.agenda.schedule(at, planned)
    }

    fn link_mut(&mut self, from: PeerId, to: PeerId) -> &mut LinkModel {
        self.links.get_mut(&(from, to)).unwrap_or_else(|| panic!("{}", no_link(from, to)))
    }

    fn each_way(&mut self, one: PeerId, other: PeerId, change: impl Fn(&mut LinkModel)) {
        change(self.link_mut(one, other));
        change(self.link_mut(other, one));
    }

    fn each_link_of(&mut self, peer: PeerId) -> impl Iterator<Item = &mut LinkModel> {
        let touches = move |(from, to): &(PeerId, PeerId)| *from == peer || *to == peer;
        self.links.iter_mut().filter(move |(ends, _)| touches(ends)).map(|(_, link)| link)
    }
}

fn no_link(from: PeerId, to: PeerId) -> String {
    format!("there is no link from peer {} to peer {}: call connect first", from.0, to.0)
}
