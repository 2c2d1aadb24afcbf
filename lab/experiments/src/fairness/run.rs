//! One run in virtual time: one truth, one scheduler, and receivers behind their links.

use fairpath::link::{ReceiptBook, SentPackets};
use fairpath::motion::MotionKind;
use fairpath::number::{EntityId, ReceiverId};
use fairpath::place::{Acceptance, Arrival, Placement, Replica};
use fairpath::random::Random;
use fairpath::schedule::{Departure, Dispatcher, DispatcherConfig, Scheduler};
use fairpath::time::{Now, SharedInstant, Span};
use fairpath::trigger::Trigger;
use fairpath::vector::Planar;
use fairpath::wire::cost::DATAGRAM_BYTES_MAX;
use fairpath::wire::{Header, Nonce, Precision, StaleSet, decode_feedback, decode_updates, encode_updates};
use fairpath::{Observation, Owner, State};
use fairpath_sim::{EventQueue, LinkConfig, LinkModel};

use super::lie::{Lie, Report};
use super::observer::Observer;
use super::receiver::Receiver;
use crate::truth::Truth;

/// How often everybody's accumulated error is written down. Half a second: a few triggers, and a
/// smooth line in a plot of minutes. What happens in between is integrated exactly all the same.
pub const SAMPLE: Span = Span::from_millis(500);

/// What a run depends on, apart from truth, scheduler and dice.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Everybody who is told.
    pub receivers: Vec<Receiver>,
    /// When the owner cuts a DR vector.
    pub trigger: Trigger,
    /// What DR vectors predict with.
    pub model: MotionKind,
    /// How the dispatcher works.
    pub dispatcher: DispatcherConfig,
    /// Whether the dispatcher is told the round trips that the transport measures on its own.
    pub transport_is_asked: bool,
}

/// What was measured in one run.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// The instants of the series, in seconds from the start: every [`SAMPLE`], and the end.
    pub secs: Vec<f64>,
    /// For each receiver: its true accumulated error at each instant.
    pub errors: Vec<Vec<f64>>,
    /// How many DR vectors were generated.
    pub triggers: u64,
    /// How many copies each receiver was sent.
    pub vectors: Vec<u64>,
    /// How many bytes that was for all of them together.
    pub bytes: u64,
    /// For each receiver: its mean distance from the truth, at the ticks since its first DR vector.
    pub distance: Vec<f64>,
    /// What the ledger believed at each trigger, against the truth.
    pub belief: Belief,
}

/// How far off the ledger was.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Belief {
    /// When, in seconds from the start: the triggers, which is when schedulers decide.
    pub secs: Vec<f64>,
    /// How far off it was then, as a mean over receivers of |believed − true| accumulated error.
    pub off: Vec<f64>,
    /// The same with its sign: above zero it believed in too much error.
    pub bias: Vec<f64>,
    /// Which share of the receivers had not reported all that was sent to them, so that their books
    /// held an estimate.
    pub open: Vec<f64>,
    /// How far off the books of the others were, at most: what is settled is no estimate.
    pub settled_off: Vec<f64>,
    /// How many copies were given up on until the end: their receivers' books stay estimates.
    pub unsettled: u64,
}

/// Somebody who looks on while a run goes on.
pub trait Watch<V: Planar> {
    /// A DR vector was generated and the scheduler has decided.
    fn on_trigger(&mut self, _dispatcher: &Dispatcher<V>, _now: SharedInstant) {}
    /// A copy leaves.
    fn on_departure(&mut self, _departure: &Departure, _dispatcher: &Dispatcher<V>, _now: SharedInstant) {}
    /// The run is over.
    fn on_end(&mut self, _observer: &Observer<V>, _end: SharedInstant) {}
}

/// Nobody looks.
impl<V: Planar> Watch<V> for () {}

/// Plays `truth` once.
pub fn run<V: Planar>(
    truth: &Truth<V>,
    setup: &Setup,
    scheduler: Box<dyn Scheduler<V>>,
    random: &Random,
    watch: &mut dyn Watch<V>,
) -> Run {
    let mut stage = Stage::new(truth, setup, scheduler, random);
    for &(now, state) in &truth.ticks {
        stage.run_until(now, watch);
        stage.observe(state, now, watch);
        stage.send_what_is_due(now, watch);
        stage.look(state, now);
    }
    watch.on_end(&stage.observer, stage.end);
    stage.measured()
}

/// The entity everything is about.
const ENTITY: EntityId = EntityId(1);

/// Owner, dispatcher, links and screens.
struct Stage<V: Planar> {
    begin: SharedInstant,
    end: SharedInstant,
    precision: Precision,
    is_guarded: bool,
    owner: Owner<V>,
    dispatcher: Dispatcher<V>,
    screens: Vec<Screen<V>>,
    agenda: EventQueue<Event>,
    /// When it was last asked what is to leave. A deadline that is still there afterwards waits for
    /// the next tick.
    polled: Option<SharedInstant>,
    observer: Observer<V>,
    believed: Vec<Believed>,
    triggers: u64,
    bytes: u64,
}

/// What the books said at a trigger: for each receiver its accumulated error, and whether that was
/// settled.
struct Believed {
    at: SharedInstant,
    errors: Vec<(f64, bool)>,
}

/// One receiver and the links to it and from it.
struct Screen<V: Planar> {
    down: LinkModel,
    back: LinkModel,
    /// The way back of what the transport says on its own, if the sender asks it.
    transport: Option<LinkModel>,
    lie: Lie,
    replica: Replica<V>,
    /// What was sent to it, and what of that it has not yet heard confirmed; what it sends back.
    sent: SentPackets,
    receipts: ReceiptBook,
    sent_back: SentPackets,
    vectors: u64,
    distance: f64,
    ticks: u64,
}

enum Event {
    /// A datagram is at a receiver.
    Datagram { to: usize, bytes: Vec<u8> },
    /// Feedback is at the sender.
    Feedback { from: usize, bytes: Vec<u8> },
    /// The transport has acknowledged a datagram that left then.
    Acknowledged { from: usize, sent_at: SharedInstant },
}

impl<V: Planar> Stage<V> {
    fn new(truth: &Truth<V>, setup: &Setup, scheduler: Box<dyn Scheduler<V>>, random: &Random) -> Self {
        let begin = truth.ticks[0].0;
        let mut dispatcher = Dispatcher::new(setup.dispatcher, scheduler, random.fork(0));
        let screens: Vec<Screen<V>> = (1..)
            .zip(&setup.receivers)
            .map(|(number, receiver)| Screen::new(receiver, setup, &random.fork(number)))
            .collect();
        for receiver in 0..screens.len() {
            dispatcher.join(ReceiverId(receiver as u32), begin);
        }
        Self {
            begin,
            end: truth.ticks[truth.ticks.len() - 1].0,
            precision: Precision::default(),
            is_guarded: setup.dispatcher.trust.is_some(),
            owner: Owner::new(ENTITY, setup.trigger.clone()).with_model(setup.model),
            dispatcher,
            observer: Observer::new(screens.len(), setup.dispatcher.horizon),
            screens,
            agenda: EventQueue::starting_at(begin),
            polled: None,
            believed: Vec::new(),
            triggers: 0,
            bytes: 0,
        }
    }

    /// Lets everything happen that is due by `now`, in the order of time; what arrives comes before
    /// what leaves.
    fn run_until(&mut self, now: SharedInstant, watch: &mut dyn Watch<V>) {
        loop {
            let arrives = self.agenda.next_at().filter(|at| *at <= now);
            let leaves = self.dispatcher.poll_deadline().filter(|at| self.polled < Some(*at) && *at < now);
            match (arrives, leaves) {
                (Some(arrives), leaves) if leaves.is_none_or(|leaves| arrives <= leaves) => self.happen(),
                (_, Some(leaves)) => self.send_what_is_due(leaves.max(self.agenda.now()), watch),
                (_, None) => break,
            }
        }
    }

    fn happen(&mut self) {
        match self.agenda.pop() {
            Some((at, Event::Datagram { to, bytes })) => self.receive(to, &bytes, at),
            Some((at, Event::Feedback { from, bytes })) => {
                let sent = &mut self.screens[from].sent;
                let feedback = decode_feedback(at, sent.newest(), &bytes)
                    .expect("the link changes nothing, so what was encoded decodes");
                // Whoever lies may be refused: that is counted in their trust, and nowhere else.
                let _ = sent.on_feedback(&feedback, ReceiverId(from as u32), &mut self.dispatcher, at);
            }
            Some((at, Event::Acknowledged { from, sent_at })) => {
                self.dispatcher.on_transport_round_trip(ReceiverId(from as u32), at - sent_at);
            }
            None => {}
        }
    }

    fn receive(&mut self, to: usize, bytes: &[u8], at: SharedInstant) {
        let updates = decode_updates::<V>(&self.precision, at, bytes)
            .expect("the link changes nothing, so what was encoded decodes");
        let screen = &mut self.screens[to];
        for vector in &updates.vectors {
            if screen.replica.accept(vector, &Arrival::at(Now::synchronised(at))) == Acceptance::Used {
                self.observer.used(to, vector, at);
            }
        }
        let header = updates.header;
        header.confirmed.into_iter().for_each(|feedback| screen.receipts.on_confirmed(feedback));
        let report = screen.lie.on_received(header.sent_at, at);
        self.acknowledge(to, header.sent_at, at);
        self.report(to, &header, report, at);
    }

    /// What a receiver says of a datagram, if anything, sets out at `at`, with what is not
    /// confirmed yet.
    fn report(&mut self, from: usize, header: &Header, report: Option<Report>, at: SharedInstant) {
        let Some(Report { received_at, held_back }) = report else { return };
        let screen = &mut self.screens[from];
        screen.receipts.on_updates(header, StaleSet::NONE, received_at);
        let mut receipts = std::mem::take(&mut screen.receipts);
        self.send_back(from, &mut receipts, received_at, at, held_back);
        self.screens[from].receipts = receipts;
    }

    /// A datagram with this header is lost. Whoever makes up a receipt for it says so in a message
    /// of its own, as it would spoil the proof of all others; where the sender does not look at
    /// all, any nonce is right.
    fn guess(&mut self, from: usize, header: &Header, now: SharedInstant) {
        let Some(Report { received_at, held_back }) = self.screens[from].lie.on_lost(now) else { return };
        let nonce = if self.is_guarded { Nonce(0) } else { header.nonce };
        let mut made_up = ReceiptBook::default();
        made_up.on_updates(&Header { nonce, ..*header }, StaleSet::NONE, received_at);
        self.send_back(from, &mut made_up, received_at, now, held_back);
    }

    /// Feedback sets out at `at`, which says that it was sent at `sent_at`.
    fn send_back(
        &mut self,
        from: usize,
        receipts: &mut ReceiptBook,
        sent_at: SharedInstant,
        at: SharedInstant,
        held_back: Span,
    ) {
        let screen = &mut self.screens[from];
        let header = screen.sent_back.header(sent_at);
        let mut bytes = Vec::new();
        let packed = receipts.pack(&header, DATAGRAM_BYTES_MAX, &mut bytes);
        packed.expect("no lie is so great that it cannot be told");
        screen.sent_back.on_sent(&header, []);
        for back_at in screen.back.send(at, bytes.len() as u32).arrivals() {
            self.agenda.schedule(back_at + held_back, Event::Feedback { from, bytes: bytes.clone() });
        }
    }

    /// The transport acknowledges a datagram by itself, unless the receiver sees to it that it does
    /// not.
    fn acknowledge(&mut self, from: usize, sent_at: SharedInstant, at: SharedInstant) {
        let screen = &mut self.screens[from];
        let Some(transport) = &mut screen.transport else { return };
        for back_at in transport.send(at, ACKNOWLEDGEMENT_BYTES).arrivals() {
            let held_back = screen.lie.holds_transport_back();
            self.agenda.schedule(back_at + held_back, Event::Acknowledged { from, sent_at });
        }
    }

    fn observe(&mut self, state: State<V>, now: SharedInstant, watch: &mut dyn Watch<V>) {
        let export = self.owner.observe(Observation::Moved(state), now).expect("truths are finite");
        let Some(export) = export else { return };
        self.triggers += 1;
        self.observer.exported(&export.vector);
        self.dispatcher.on_generated(&export.vector, export.reason, now);
        // The decision has brought the books up to now: reading them disturbs nothing.
        let ledger = self.dispatcher.ledger(ENTITY).expect("it has just been generated");
        let errors = ledger
            .standings()
            .map(|(receiver, standing)| (standing.accumulated, ledger.is_settled(receiver)))
            .collect();
        self.believed.push(Believed { at: now, errors });
        watch.on_trigger(&self.dispatcher, now);
    }

    fn send_what_is_due(&mut self, now: SharedInstant, watch: &mut dyn Watch<V>) {
        self.polled = Some(now);
        for departure in self.dispatcher.poll_departures(None, now) {
            watch.on_departure(&departure, &self.dispatcher, now);
            let claim = &departure.claim;
            let to = claim.receiver.0 as usize;
            let screen = &mut self.screens[to];
            let header = screen.sent.header(now);
            let vector = self.dispatcher.vector(claim).expect("the entity is there");
            let mut bytes = Vec::new();
            encode_updates(&self.precision, &header, std::slice::from_ref(vector), &mut bytes)
                .expect("finite numbers encode");
            let copy = self.dispatcher.on_departed(claim, now, 1.0);
            let copy = copy.expect("everybody has joined, and the DR vector is a recent one");
            screen.sent.on_sent(&header, [(ENTITY, copy)]);
            screen.vectors += 1;
            self.bytes += bytes.len() as u64;
            let arrivals: Vec<SharedInstant> = screen.down.send(now, bytes.len() as u32).arrivals().collect();
            for at in &arrivals {
                self.agenda.schedule(*at, Event::Datagram { to, bytes: bytes.clone() });
            }
            if arrivals.is_empty() {
                self.guess(to, &header, now);
            }
        }
    }

    fn look(&mut self, state: State<V>, now: SharedInstant) {
        for screen in &mut self.screens {
            if let Some(position) = screen.replica.position(Now::synchronised(now)) {
                screen.distance += position.distance(state.position);
                screen.ticks += 1;
            }
        }
    }

    fn measured(self) -> Run {
        let samples = (self.end - self.begin).as_micros() / SAMPLE.as_micros();
        let mut instants: Vec<SharedInstant> =
            (0..=samples).map(|sample| self.begin + Span::from_micros(sample * SAMPLE.as_micros())).collect();
        if instants.last() != Some(&self.end) {
            instants.push(self.end);
        }
        let errors = (0..self.screens.len()).map(|to| self.observer.accumulated(to, &instants)).collect();
        Run {
            secs: instants.iter().map(|at| (*at - self.begin).as_secs_f64()).collect(),
            errors,
            triggers: self.triggers,
            vectors: self.screens.iter().map(|screen| screen.vectors).collect(),
            bytes: self.bytes,
            distance: self
                .screens
                .iter()
                .map(|screen| screen.distance / screen.ticks.max(1) as f64)
                .collect(),
            belief: self.belief(),
        }
    }

    fn belief(&self) -> Belief {
        let instants: Vec<SharedInstant> = self.believed.iter().map(|believed| believed.at).collect();
        let none = vec![0.0; instants.len()];
        let mut belief = Belief {
            secs: instants.iter().map(|at| (*at - self.begin).as_secs_f64()).collect(),
            off: none.clone(),
            bias: none.clone(),
            open: none.clone(),
            settled_off: none,
            unsettled: self.unsettled(),
        };
        let of_one = 1.0 / self.screens.len().max(1) as f64;
        for to in 0..self.screens.len() {
            let truth = self.observer.accumulated(to, &instants);
            for (trigger, believed) in self.believed.iter().enumerate() {
                let (error, is_settled) = believed.errors[to];
                let off = error - truth[trigger];
                belief.off[trigger] += off.abs() * of_one;
                belief.bias[trigger] += off * of_one;
                if is_settled {
                    belief.settled_off[trigger] = belief.settled_off[trigger].max(off.abs());
                } else {
                    belief.open[trigger] += of_one;
                }
            }
        }
        belief
    }

    fn unsettled(&self) -> u64 {
        let ledger = self.dispatcher.ledger(ENTITY);
        let standings = ledger.into_iter().flat_map(|ledger| ledger.standings());
        standings.map(|(_, standing)| u64::from(standing.unsettled)).sum()
    }
}

/// A QUIC packet with nothing in it but an acknowledgement: what it costs does not matter here,
/// only that links see it.
const ACKNOWLEDGEMENT_BYTES: u32 = 40;

impl<V: Planar> Screen<V> {
    fn new(receiver: &Receiver, setup: &Setup, random: &Random) -> Self {
        let transport = || LinkModel::new(feedback_of(receiver.link()), random.fork(2));
        Self {
            down: LinkModel::new(receiver.link().clone(), random.fork(0)),
            back: LinkModel::new(feedback_of(receiver.link()), random.fork(1)),
            transport: setup.transport_is_asked.then(transport),
            lie: receiver.lie(),
            replica: Replica::new(Placement::Global).with_horizon(setup.dispatcher.horizon),
            sent: SentPackets::new(random.fork(3)),
            receipts: ReceiptBook::default(),
            sent_back: SentPackets::new(random.fork(4)),
            vectors: 0,
            distance: 0.0,
            ticks: 0,
        }
    }
}

/// The way back is as long, but loses and overtakes nothing.
fn feedback_of(link: &LinkConfig) -> LinkConfig {
    LinkConfig { rate: None, ..link.healed() }.keep_order(true)
}
