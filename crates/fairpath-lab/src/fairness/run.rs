//! One run in virtual time: one truth, one scheduler, and receivers behind their links.

use fairpath::ledger::CopyId;
use fairpath::motion::MotionKind;
use fairpath::number::{EntityId, PacketNumber, ReceiverId};
use fairpath::place::{Acceptance, Arrival, Placement, Replica};
use fairpath::random::Random;
use fairpath::schedule::{Departure, Dispatcher, DispatcherConfig, Scheduler};
use fairpath::time::{Now, SharedInstant, Span};
use fairpath::trigger::Trigger;
use fairpath::vector::Planar;
use fairpath::wire::{Header, Precision, decode_updates, encode_updates};
use fairpath::{Observation, Owner, State};
use fairpath_sim::{EventQueue, LinkConfig, LinkModel};

use super::lie::{Lie, Report};
use super::observer::Observer;
use super::receiver::Receiver;
use crate::truth::Truth;

/// How often everybody's accumulated error is written down. Half a second: a few triggers, and a smooth line in a plot of
/// minutes. What happens in between is integrated exactly all the same.
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
    /// Which share of the receivers had not reported all that was sent to them, so that their books held an estimate.
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
    fn on_departure(&mut self, _departure: &Departure<V>, _dispatcher: &Dispatcher<V>, _now: SharedInstant) {}
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
    owner: Owner<V>,
    dispatcher: Dispatcher<V>,
    screens: Vec<Screen<V>>,
    agenda: EventQueue<Event>,
    /// When it was last asked what is to leave. A deadline that is still there afterwards waits for the next tick.
    polled: Option<SharedInstant>,
    observer: Observer<V>,
    believed: Vec<Believed>,
    triggers: u64,
    bytes: u64,
}

/// What the books said at a trigger: for each receiver its accumulated error, and whether that was settled.
struct Believed {
    at: SharedInstant,
    errors: Vec<(f64, bool)>,
}

/// One receiver and the links to it and from it.
struct Screen<V: Planar> {
    down: LinkModel,
    back: LinkModel,
    lie: Lie,
    replica: Replica<V>,
    /// The copies it was sent, by packet number.
    copies: Vec<CopyId>,
    distance: f64,
    ticks: u64,
}

enum Event {
    /// A datagram is at a receiver.
    Datagram { to: usize, packet: usize, bytes: Vec<u8> },
    /// A receipt is at the sender.
    Receipt { from: usize, packet: usize, received_at: SharedInstant },
}

impl<V: Planar> Stage<V> {
    fn new(truth: &Truth<V>, setup: &Setup, scheduler: Box<dyn Scheduler<V>>, random: &Random) -> Self {
        let begin = truth.ticks[0].0;
        let mut dispatcher = Dispatcher::new(setup.dispatcher, scheduler, random.fork(0));
        let screens: Vec<Screen<V>> = (1..)
            .zip(&setup.receivers)
            .map(|(number, receiver)| Screen::new(receiver, setup.dispatcher.horizon, &random.fork(number)))
            .collect();
        for receiver in 0..screens.len() {
            dispatcher.join(ReceiverId(receiver as u32), begin);
        }
        Self {
            begin,
            end: truth.ticks[truth.ticks.len() - 1].0,
            precision: Precision::default(),
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

    /// Lets everything happen that is due by `now`, in the order of time; what arrives comes before what leaves.
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
            Some((at, Event::Datagram { to, packet, bytes })) => self.receive(to, packet, &bytes, at),
            Some((at, Event::Receipt { from, packet, received_at })) => {
                let receiver = ReceiverId(from as u32);
                let copy = self.screens[from].copies[packet];
                self.dispatcher.on_receipt(ENTITY, receiver, copy, received_at, at);
                // Feedback keeps its order, so whatever came before this one has been reported.
                self.dispatcher.on_complete(receiver, received_at, at);
            }
            None => {}
        }
    }

    fn receive(&mut self, to: usize, packet: usize, bytes: &[u8], at: SharedInstant) {
        let updates = decode_updates::<V>(&self.precision, at, bytes)
            .expect("the link changes nothing, so what was encoded decodes");
        let screen = &mut self.screens[to];
        for vector in &updates.vectors {
            if screen.replica.accept(vector, &Arrival::at(Now::synchronised(at))) == Acceptance::Used {
                self.observer.used(to, vector, at);
            }
        }
        let report = screen.lie.on_received(updates.header.sent_at, at);
        self.report(to, packet, report, at);
    }

    /// What a receiver says of a packet, if anything, sets out at `at`.
    fn report(&mut self, from: usize, packet: usize, report: Option<Report>, at: SharedInstant) {
        let Some(Report { received_at, held_back }) = report else { return };
        for back_at in self.screens[from].back.send(at, RECEIPT_BYTES).arrivals() {
            self.agenda.schedule(back_at + held_back, Event::Receipt { from, packet, received_at });
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
            let packet = screen.copies.len();
            let header =
                Header { packet: PacketNumber(packet as u64).on_wire(), sent_at: now, ..Header::default() };
            let mut bytes = Vec::new();
            encode_updates(&self.precision, &header, &[claim.vector], &mut bytes)
                .expect("finite numbers encode");
            let copy = self.dispatcher.on_departed(claim, now, 1.0);
            screen.copies.push(copy.expect("everybody has joined, and the DR vector is a recent one"));
            self.bytes += bytes.len() as u64;
            for at in screen.down.send(now, bytes.len() as u32).arrivals() {
                self.agenda.schedule(at, Event::Datagram { to, packet, bytes: bytes.clone() });
            }
            let guess = screen.lie.on_sent(now);
            self.report(to, packet, guess, now);
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
            vectors: self.screens.iter().map(|screen| screen.copies.len() as u64).collect(),
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

/// A receipt with its share of headers: what it costs does not matter here, only that links see it.
const RECEIPT_BYTES: u32 = 16;

impl<V: Planar> Screen<V> {
    fn new(receiver: &Receiver, horizon: Span, random: &Random) -> Self {
        Self {
            down: LinkModel::new(receiver.link().clone(), random.fork(0)),
            back: LinkModel::new(feedback_of(receiver.link()), random.fork(1)),
            lie: receiver.lie(),
            replica: Replica::new(Placement::Global).with_horizon(horizon),
            copies: Vec::new(),
            distance: 0.0,
            ticks: 0,
        }
    }
}

/// The way back is as long, but loses and overtakes nothing.
fn feedback_of(link: &LinkConfig) -> LinkConfig {
    LinkConfig { rate: None, ..link.healed() }.keep_order(true)
}
