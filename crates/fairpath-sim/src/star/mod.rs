//! One sender, its receivers and the links between them, in virtual time: a star.
//!
//! [`Star`] tests how DR vectors are spread: which scheduler, at which budget, over which links,
//! and how wrong every receiver is meanwhile. For whole sessions (joining, state, calls) use
//! [`SessionWorld`](crate::SessionWorld).
//!
//! # Data flow
//!
//! ```text
//! truth → Owner ── Export ──→ Star::export → Dispatcher → datagram → link → Replica → place
//!                                                ↑                              │
//!                                                └──── receipts ←─── link ←─────┘
//! ```
//!
//! * Owners stay with the caller, which hands every [`Export`] to [`Star::export`].
//! * [`Star::dispatcher`] decides which receiver is sent which DR vector. Each copy is encoded, one
//!   to a datagram, and crosses the receiver's link as bytes.
//! * A [`Spoke`] describes one receiver: the links to it and from it, its clock, and how it places
//!   entities ([`ReplicaKind`]; several at once are compared on the same datagrams).
//! * A receiver decodes each datagram, and answers with feedback as bytes. With
//!   [`Spoke::synchronised`] it also estimates the sender's clock through its own links.
//! * A [`Watch`] sees exports, departures, arrivals and feedback, and can make receivers lie.
//! * An [`Observer`] in [`Star::observers`] knows every true arrival of one entity's DR vectors,
//!   and integrates the distance between the exported path and the one that each receiver follows.
//!
//! A tick is [`Star::run_until`], then observing and [`Star::export`], then [`Star::send_due`]. The
//! sender's clock is the shared clock. The same seeds give the same run, bit for bit.

mod observer;
mod spoke;
mod watch;

use std::collections::BTreeMap;

use fairpath::ledger::CopyRange;
use fairpath::link::ReceiptBook;
use fairpath::number::{EntityId, ReceiverId};
use fairpath::place::Replica;
use fairpath::random::Random;
use fairpath::schedule::{Departure, Dispatcher, DispatcherConfig, Scheduler};
use fairpath::time::{Now, SharedInstant, Span};
use fairpath::vector::Planar;
use fairpath::wire::cost::DATAGRAM_BYTES_MAX;
use fairpath::wire::{Header, Precision, StaleSet, decode_feedback, decode_updates, encode_updates};
use fairpath::{Export, State};

use crate::link::{Fate, LinkConfig, LinkModel};
use crate::queue::EventQueue;
pub use observer::Observer;
use spoke::End;
pub use spoke::{ReplicaKind, Spoke};
pub use watch::{Reported, Watch};

/// One sender, its receivers and the links between them. See the [module](self) for the data flow.
///
/// Times passed to it must never go backwards.
///
/// ```
/// use fairpath::random::Random;
/// use fairpath::schedule::{DispatcherConfig, EveryNth};
/// use fairpath::time::{SharedInstant, Span, TickRate};
/// use fairpath::{EntityId, Observation, Owner, ReceiverId, State, Trigger, Vec2, Vector};
/// use fairpath_sim::LinkConfig;
/// use fairpath_sim::star::{Observer, Spoke, Star};
///
/// let (ship, begin, random) = (EntityId(1), SharedInstant::ZERO, Random::from_seed(7));
/// let config = DispatcherConfig::default();
/// let mut owner = Owner::new(ship, Trigger::within(0.3));
/// let mut star = Star::new(config, Box::new(EveryNth::new(2)), random.fork(0), begin);
/// star.observers.insert(ship, Observer::new(config.horizon));
/// let [near, far] = [ReceiverId(0), ReceiverId(1)];
/// for (receiver, delay_ms) in [(near, 20), (far, 200)] {
///     let link = LinkConfig::default().delay(Span::from_millis(delay_ms));
///     star.join(receiver, Spoke::new(link, random.fork(1 + u64::from(receiver.0))), begin);
/// }
/// for tick in 0..600 {
///     let now = begin + TickRate::hz(60).begin(tick);
///     let angle = 0.5 * now.as_secs_f64();
///     let ahead = Vec2::from_heading(angle).perpendicular();
///     let truth = State::moving(Vec2::from_heading(angle) * 40.0, ahead * 20.0);
///     star.run_until(now);
///     if let Some(export) = owner.observe(Observation::Moved(truth), now).expect("finite numbers") {
///         star.export(&export, now);
///     }
///     star.send_due(now);
/// }
/// let end = begin + Span::from_secs(10);
/// let [near, far] = [near, far].map(|receiver| star.observers[&ship].accumulated(receiver, &[end])[0]);
/// assert!(near < far, "the farther receiver is wrong for longer");
/// ```
#[derive(Debug)]
pub struct Star<V: Planar, W: Watch<V> = ()> {
    /// The sender: scheduler, ledgers and delay estimates.
    pub dispatcher: Dispatcher<V>,
    /// Sees everything that happens, and speaks for receivers that lie.
    pub watch: W,
    /// The observers of entities. Default: none. Insert one before an entity's first export.
    pub observers: BTreeMap<EntityId, Observer<V>>,
    horizon: Span,
    precision: Precision,
    ends: BTreeMap<ReceiverId, End<V>>,
    agenda: EventQueue<Event>,
    /// When departures were last asked for. A deadline still there waits for the next tick.
    polled: Option<SharedInstant>,
    sends_at_ticks: bool,
}

#[derive(Debug)]
enum Event {
    /// A datagram reaches a receiver.
    Datagram { to: ReceiverId, bytes: Vec<u8> },
    /// Feedback reaches the sender.
    Feedback { from: ReceiverId, bytes: Vec<u8> },
    /// The transport's acknowledgement of a datagram that left at `sent_at` reaches the sender.
    Acknowledged { from: ReceiverId, sent_at: SharedInstant },
    /// A request for the time reaches the sender.
    Request { from: ReceiverId, request: fairpath::clock::Request },
    /// The sender's reply reaches the receiver.
    Reply { to: ReceiverId, reply: fairpath::clock::Reply },
}

impl<V: Planar> Star<V> {
    /// Creates a sender without receivers at `begin`. The scheduler draws from `random`.
    pub fn new(
        config: DispatcherConfig,
        scheduler: Box<dyn Scheduler<V>>,
        random: Random,
        begin: SharedInstant,
    ) -> Self {
        Self {
            dispatcher: Dispatcher::new(config, scheduler, random),
            watch: (),
            observers: BTreeMap::new(),
            horizon: config.horizon,
            precision: Precision::default(),
            ends: BTreeMap::new(),
            agenda: EventQueue::starting_at(begin),
            polled: None,
            sends_at_ticks: false,
        }
    }

    /// Makes copies leave in [`send_due`](Self::send_due) only, like those of a server that sends
    /// in its ticks. Default: [`run_until`](Self::run_until) sends each at the instant it is
    /// due.
    #[must_use]
    pub fn sending_at_ticks(mut self) -> Self {
        self.sends_at_ticks = true;
        self
    }

    /// Replaces the watch.
    pub fn watched_by<W: Watch<V>>(self, watch: W) -> Star<V, W> {
        let Self {
            dispatcher,
            watch: (),
            observers,
            horizon,
            precision,
            ends,
            agenda,
            polled,
            sends_at_ticks,
        } = self;
        Star { dispatcher, watch, observers, horizon, precision, ends, agenda, polled, sends_at_ticks }
    }
}

impl<V: Planar, W: Watch<V>> Star<V, W> {
    /// Adds a receiver at the end of these links. Do not use the number of a receiver that left:
    /// what is still in flight to that one would reach this one.
    ///
    /// # Panics
    /// If [`LinkConfig::check`] rejects one of the links.
    pub fn join(&mut self, receiver: ReceiverId, spoke: Spoke, now: SharedInstant) {
        self.ends.insert(receiver, End::new(spoke, self.horizon));
        self.dispatcher.join(receiver, now);
    }

    /// Removes a receiver. What is in flight to it or from it is dropped.
    pub fn leave(&mut self, receiver: ReceiverId) {
        self.ends.remove(&receiver);
        self.dispatcher.leave(receiver);
    }

    /// Changes a receiver's links, there and back; what is in flight arrives as it was going to.
    ///
    /// # Panics
    /// If [`LinkConfig::check`] rejects one of them.
    pub fn reconfigure(&mut self, receiver: ReceiverId, there: &LinkConfig, back: &LinkConfig) {
        if let Some(end) = self.ends.get_mut(&receiver) {
            end.reconfigure(there, back);
        }
    }

    /// The receivers, in ascending order.
    pub fn receivers(&self) -> impl Iterator<Item = ReceiverId> + '_ {
        self.ends.keys().copied()
    }

    /// Returns the link to a receiver, with its statistics: how many datagrams were sent, how many
    /// bytes, how many were lost.
    ///
    /// # Panics
    /// If there is no such receiver.
    pub fn link(&self, receiver: ReceiverId) -> &LinkModel {
        &self.ends[&receiver].there
    }

    /// Lets everything happen that is due by `now`, in the order of time: arrivals up to `now`, and
    /// departures before `now`. At the same instant, arrivals come first. Then sends the clock
    /// requests and the regular feedback that are due.
    pub fn run_until(&mut self, now: SharedInstant) {
        loop {
            let arrives = self.agenda.next_at().filter(|at| *at <= now);
            let leaves = self.dispatcher.poll_deadline().filter(|at| self.polled < Some(*at) && *at < now);
            let leaves = leaves.filter(|_| !self.sends_at_ticks);
            match (arrives, leaves) {
                (Some(arrives), leaves) if leaves.is_none_or(|leaves| arrives <= leaves) => self.step(),
                (_, Some(leaves)) => self.send_due(leaves.max(self.agenda.now())),
                (_, None) => break,
            }
        }
        for (receiver, end) in &mut self.ends {
            let Some((request, fate)) = end.request(now) else { continue };
            for at in fate.arrivals() {
                self.agenda.schedule(at, Event::Request { from: *receiver, request });
            }
        }
        let is_due = |(_, end): &(&ReceiverId, &End<V>)| end.feedback_at.is_some_and(|at| at <= now);
        let due: Vec<ReceiverId> = self.ends.iter().filter(is_due).map(|(receiver, _)| *receiver).collect();
        due.into_iter().for_each(|receiver| self.send_feedback(receiver, None, false, now));
    }

    /// When the next datagram arrives or may leave; `None` if nothing is planned.
    pub fn poll_deadline(&self) -> Option<SharedInstant> {
        self.agenda.next_at().into_iter().chain(self.dispatcher.poll_deadline()).min()
    }

    /// Hands the scheduler a new DR vector. [`send_due`](Self::send_due) sends what it decides.
    pub fn export(&mut self, export: &Export<V>, now: SharedInstant) {
        self.dispatcher.on_generated(&export.vector, export.reason, now);
        if let Some(observer) = self.observers.get_mut(&export.vector.entity) {
            observer.exported(&export.vector);
        }
        self.watch.on_export(export, &self.dispatcher, now);
    }

    /// Sends the copies that are due by `now`.
    pub fn send_due(&mut self, now: SharedInstant) {
        self.polled = Some(now);
        for departure in self.dispatcher.poll_departures(None, now) {
            self.send(&departure, now);
        }
    }

    /// Returns a receiver's replica of an entity; `None` before its first DR vector, and for a kind
    /// that its [`Spoke`] does not have.
    pub fn replica(&self, receiver: ReceiverId, entity: EntityId, kind: ReplicaKind) -> Option<&Replica<V>> {
        self.ends.get(&receiver)?.replica(entity, kind)
    }

    /// Returns both clocks at `now` as a receiver reads them for replicas of this kind; `None`
    /// while an estimated clock is not set.
    pub fn clocks(&mut self, receiver: ReceiverId, kind: ReplicaKind, now: SharedInstant) -> Option<Now> {
        self.ends.get_mut(&receiver)?.clocks(kind, now)
    }

    /// Returns the state in which a receiver places an entity; `None` before its first DR vector,
    /// and while an estimated clock is not set.
    pub fn place(
        &mut self,
        receiver: ReceiverId,
        entity: EntityId,
        kind: ReplicaKind,
        now: SharedInstant,
    ) -> Option<State<V>> {
        let now = self.clocks(receiver, kind, now)?;
        self.replica(receiver, entity, kind)?.place(now)
    }

    /// Returns the error of a receiver's estimate of the sender's clock, and the uncertainty that
    /// the estimate states; `None` before the clock is set.
    pub fn clock_error(&mut self, receiver: ReceiverId, now: SharedInstant) -> Option<(Span, Span)> {
        self.ends.get_mut(&receiver)?.clock_error(now)
    }

    fn send(&mut self, departure: &Departure, now: SharedInstant) {
        let claim = &departure.claim;
        let to = claim.receiver;
        let Some(end) = self.ends.get_mut(&to) else { return };
        let header = end.sent.header(now);
        let vector = self.dispatcher.vector(claim).expect("a claim is about a known entity");
        let mut bytes = Vec::new();
        encode_updates(&self.precision, &header, std::slice::from_ref(vector), &mut bytes)
            .expect("owners export finite numbers");
        let Some(copy) = self.dispatcher.on_departed(claim, now, 1.0) else { return };
        end.sent.on_sent(&header, copy.into());
        let fate = end.there.send(now, bytes.len() as u32);
        self.watch.on_departure(departure, fate, &self.dispatcher, now);
        for at in fate.arrivals() {
            self.agenda.schedule(at, Event::Datagram { to, bytes: bytes.clone() });
        }
        if let Fate::Lost(_) = fate
            && let Some((header, reported)) = self.watch.forge(to, &header, now)
        {
            self.send_feedback(to, Some((&header, reported)), true, now);
        }
    }

    fn step(&mut self) {
        let Some((at, event)) = self.agenda.pop() else { return };
        match event {
            Event::Datagram { to, bytes } => self.receive(to, &bytes, at),
            Event::Feedback { from, bytes } => self.handle_feedback(from, &bytes, at),
            Event::Acknowledged { from, sent_at } => {
                self.dispatcher.on_transport_round_trip(from, at - sent_at);
            }
            // The sender's clock is the shared one, and the sender replies at once.
            Event::Request { from: to, request } => {
                let fate = self.ends.get_mut(&to).and_then(|end| end.reply(at));
                for back_at in fate.into_iter().flat_map(Fate::arrivals) {
                    self.agenda.schedule(back_at, Event::Reply { to, reply: request.answer(at, at) });
                }
            }
            Event::Reply { to, reply } => {
                if let Some(end) = self.ends.get_mut(&to) {
                    end.handle_reply(reply, at);
                }
            }
        }
    }

    fn receive(&mut self, to: ReceiverId, bytes: &[u8], at: SharedInstant) {
        let Some(end) = self.ends.get_mut(&to) else { return };
        let updates = decode_updates::<V>(&self.precision, at, bytes)
            .expect("links change no bytes, so what was encoded decodes");
        let header = updates.header;
        for vector in &updates.vectors {
            let is_used = end.accept(vector, header.sent_at, at);
            if let Some(observer) = self.observers.get_mut(&vector.entity).filter(|_| is_used) {
                observer.used(to, vector, at);
            }
            self.watch.on_arrival(to, vector, at);
        }
        header.confirmed.into_iter().for_each(|feedback| end.receipts.on_confirmed(feedback));
        let held_back = self.watch.transport_held_back(to);
        for back_at in end.acknowledge(at).into_iter().flat_map(Fate::arrivals) {
            let event = Event::Acknowledged { from: to, sent_at: header.sent_at };
            self.agenda.schedule(back_at + held_back, event);
        }
        if end.spoke.sends_receipts
            && let Some(reported) = self.watch.report(to, &header, at)
        {
            self.send_feedback(to, Some((&header, reported)), false, at);
        }
    }

    /// Feedback leaves at `at`, about one datagram or about none in particular. Unless it is
    /// forged, it repeats the receipts that are not confirmed.
    fn send_feedback(
        &mut self,
        from: ReceiverId,
        about: Option<(&Header, Reported)>,
        is_forged: bool,
        at: SharedInstant,
    ) {
        let Some(end) = self.ends.get_mut(&from) else { return };
        let mut forged = ReceiptBook::default();
        let receipts = if is_forged { &mut forged } else { &mut end.receipts };
        let received_at = about.and_then(|(_, reported)| reported.received_at);
        if let Some(((header, _), received_at)) = about.zip(received_at) {
            receipts.on_updates(header, StaleSet::NONE, received_at);
        }
        let header = end.sent_back.header(received_at.unwrap_or(at));
        let mut bytes = Vec::new();
        receipts
            .pack(&header, DATAGRAM_BYTES_MAX, &mut bytes)
            .expect("reported arrivals are within the range of the wire");
        end.sent_back.on_sent(&header, CopyRange::EMPTY);
        end.feedback_at = end.spoke.feedback_every.map(|interval| at + interval);
        let fate = end.back.send(at, bytes.len() as u32);
        self.watch.on_feedback_sent(from, fate, at);
        let held_back = about.map_or(Span::ZERO, |(_, reported)| reported.held_back);
        for back_at in fate.arrivals() {
            self.agenda.schedule(back_at + held_back, Event::Feedback { from, bytes: bytes.clone() });
        }
    }

    fn handle_feedback(&mut self, from: ReceiverId, bytes: &[u8], at: SharedInstant) {
        let Some(end) = self.ends.get_mut(&from) else { return };
        let mut feedback = decode_feedback(at, end.sent.newest(), bytes)
            .expect("links change no bytes, so what was encoded decodes");
        self.watch.on_feedback(from, &mut feedback, at);
        // A liar's feedback may be refused. The dispatcher counts that against it.
        let _ = self.dispatcher.on_feedback(from, end.sent.settle(&feedback), at);
    }
}
