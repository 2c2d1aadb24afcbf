use std::collections::VecDeque;

use fairpath::Export;
use fairpath::link::{ReceiptBook, SentPackets};
use fairpath::number::ReceiverId;
use fairpath::place::{Acceptance, Arrival, Placement, Replica};
use fairpath::random::Random;
use fairpath::schedule::{Dispatcher, DispatcherConfig};
use fairpath::time::{Now, SharedInstant, Span};
use fairpath::vector::Vec2;
use fairpath::wire::cost::DATAGRAM_BYTES_MAX;
use fairpath::wire::{Header, Precision, StaleSet, decode_feedback, decode_updates, encode_updates};
use fairpath_sim::{EventQueue, LinkConfig, LinkModel};

use super::TANK;
use super::scheduler::SCHEDULERS;
use super::tally::Tally;

/// One scheduler, its dispatcher, and everybody whom it tells.
pub(super) struct Lane {
    scheduler: usize,
    dispatcher: Dispatcher<Vec2>,
    precision: Precision,
    screens: Vec<Screen>,
    agenda: EventQueue<Event>,
    /// When it was last asked what is to leave. A deadline that is still there afterwards waits for
    /// the next tick.
    polled: Option<SharedInstant>,
    flights: VecDeque<Flight>,
    written: Vec<(SharedInstant, f64, f64)>,
}

/// One receiver and the links to it and from it.
struct Screen {
    down: LinkModel,
    back: LinkModel,
    replica: Replica<Vec2>,
    sent: SentPackets,
    receipts: ReceiptBook,
    sent_back: SentPackets,
    copies: u64,
    tally: Tally,
}

enum Event {
    /// A datagram is at a receiver.
    Datagram { to: usize, bytes: Vec<u8> },
    /// Feedback is at the sender.
    Feedback { from: usize, bytes: Vec<u8> },
}

/// A datagram on a wire, for the eye.
pub(super) struct Flight {
    pub(super) receiver: usize,
    pub(super) is_receipt: bool,
    pub(super) is_lost: bool,
    began: SharedInstant,
    ends: SharedInstant,
}

impl Flight {
    /// How far it has come, from 0 to 1.
    pub(super) fn progress(&self, now: SharedInstant) -> f64 {
        let length = (self.ends - self.began).as_secs_f64().max(1e-6);
        ((now - self.began).as_secs_f64() / length).clamp(0.0, 1.0)
    }
}

/// How many datagrams are drawn at once. With three receivers a second away and a DR vector each
/// tick there are 360.
const FLIGHTS_MAX: usize = 512;

impl Lane {
    pub(super) fn new(
        scheduler: usize,
        budget: f64,
        links: &[LinkConfig],
        random: &Random,
        begin: SharedInstant,
    ) -> Self {
        let config = DispatcherConfig::as_in_the_papers();
        let decides = SCHEDULERS[scheduler].make(links.len(), budget);
        let mut dispatcher = Dispatcher::new(config, decides, random.fork(0));
        for receiver in 0..links.len() {
            dispatcher.join(ReceiverId(receiver as u32), begin);
        }
        let screen = |(number, link): (u64, &LinkConfig)| {
            Screen::new(link, config.horizon, &random.fork(number), begin)
        };
        Self {
            scheduler,
            dispatcher,
            precision: Precision::default(),
            screens: (1..).zip(links).map(screen).collect(),
            agenda: EventQueue::starting_at(begin),
            polled: None,
            flights: VecDeque::new(),
            written: Vec::new(),
        }
    }

    /// Lets everything happen that is due by `now`, in the order of time; what arrives comes before
    /// what leaves.
    pub(super) fn run_until(&mut self, now: SharedInstant) {
        loop {
            let arrives = self.agenda.next_at().filter(|at| *at <= now);
            let leaves = self.dispatcher.poll_deadline().filter(|at| self.polled < Some(*at) && *at < now);
            match (arrives, leaves) {
                (Some(arrives), leaves) if leaves.is_none_or(|leaves| arrives <= leaves) => self.happen(),
                (_, Some(leaves)) => self.send_what_is_due(leaves.max(self.agenda.now())),
                (_, None) => break,
            }
        }
    }

    /// A DR vector was cut: the scheduler decides.
    pub(super) fn on_generated(&mut self, export: &Export<Vec2>, now: SharedInstant) {
        self.screens.iter_mut().for_each(|screen| screen.tally.exported(&export.vector));
        self.dispatcher.on_generated(&export.vector, export.reason, now);
    }

    pub(super) fn send_what_is_due(&mut self, now: SharedInstant) {
        self.polled = Some(now);
        for departure in self.dispatcher.poll_departures(None, now) {
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
            screen.sent.on_sent(&header, [(TANK, copy)]);
            screen.copies += 1;
            let arrivals: Vec<SharedInstant> = screen.down.send(now, bytes.len() as u32).arrivals().collect();
            let usual = screen.down.config().delay;
            let ends = arrivals.first().copied().unwrap_or(now + usual);
            self.show(Flight {
                receiver: to,
                is_receipt: false,
                is_lost: arrivals.is_empty(),
                began: now,
                ends,
            });
            for at in arrivals {
                self.agenda.schedule(at, Event::Datagram { to, bytes: bytes.clone() });
            }
        }
    }

    /// Brings everybody's error up to `now`, at the end of a tick.
    pub(super) fn account(&mut self, now: SharedInstant) {
        for screen in &mut self.screens {
            screen.tally.settle(now);
        }
        self.flights.retain(|flight| now < flight.ends);
    }

    /// Notes mean and spread for the charts.
    pub(super) fn write_down(&mut self, now: SharedInstant) {
        self.written.push((now, self.mean(), self.spread()));
    }

    pub(super) fn written(&self) -> &[(SharedInstant, f64, f64)] {
        &self.written
    }

    /// What is on the wires.
    pub(super) fn flights(&self, now: SharedInstant) -> impl Iterator<Item = &Flight> {
        self.flights.iter().filter(move |flight| now < flight.ends)
    }

    /// Everybody's accumulated error.
    pub(super) fn errors(&self) -> Vec<f64> {
        self.screens.iter().map(|screen| screen.tally.sum()).collect()
    }

    /// How many copies each receiver was sent.
    pub(super) fn copies(&self) -> Vec<u64> {
        self.screens.iter().map(|screen| screen.copies).collect()
    }

    /// The receivers' mean error: accuracy.
    pub(super) fn mean(&self) -> f64 {
        self.errors().iter().sum::<f64>() / self.screens.len() as f64
    }

    /// The population standard deviation of their errors: fairness.
    pub(super) fn spread(&self) -> f64 {
        let mean = self.mean();
        let squares = self.errors().iter().map(|error| (error - mean) * (error - mean)).sum::<f64>();
        (squares / self.screens.len() as f64).sqrt()
    }

    /// Its part of the scene's frame.
    pub(super) fn frame(&self, now: SharedInstant, out: &mut Vec<f64>) {
        let copies: u64 = self.copies().iter().sum();
        out.extend([self.scheduler as f64, copies as f64, self.mean(), self.spread()]);
        for screen in &self.screens {
            let placed = screen.replica.place(Now::synchronised(now)).unwrap_or_default();
            out.extend([screen.tally.sum(), screen.copies as f64]);
            out.extend([placed.position.x, placed.position.y, placed.velocity.heading()]);
        }
    }

    fn happen(&mut self) {
        match self.agenda.pop() {
            Some((at, Event::Datagram { to, bytes })) => self.receive(to, &bytes, at),
            Some((at, Event::Feedback { from, bytes })) => {
                let sent = &mut self.screens[from].sent;
                let feedback = decode_feedback(at, sent.newest(), &bytes)
                    .expect("the link changes nothing, so what was encoded decodes");
                // Nobody lies here, and an honest report is never refused.
                let _ = sent.on_feedback(&feedback, ReceiverId(from as u32), &mut self.dispatcher, at);
            }
            None => {}
        }
    }

    fn receive(&mut self, to: usize, bytes: &[u8], at: SharedInstant) {
        let updates = decode_updates::<Vec2>(&self.precision, at, bytes)
            .expect("the link changes nothing, so what was encoded decodes");
        let screen = &mut self.screens[to];
        for vector in &updates.vectors {
            if screen.replica.accept(vector, &Arrival::at(Now::synchronised(at))) == Acceptance::Used {
                screen.tally.followed(vector, at);
            }
        }
        let header = updates.header;
        header.confirmed.into_iter().for_each(|feedback| screen.receipts.on_confirmed(feedback));
        self.report(to, &header, at);
    }

    /// A receiver says when a datagram came, with what is not confirmed yet.
    fn report(&mut self, from: usize, header: &Header, at: SharedInstant) {
        let screen = &mut self.screens[from];
        screen.receipts.on_updates(header, StaleSet::NONE, at);
        let back = screen.sent_back.header(at);
        let mut bytes = Vec::new();
        screen.receipts.pack(&back, DATAGRAM_BYTES_MAX, &mut bytes).expect("receipts of one tank are few");
        screen.sent_back.on_sent(&back, []);
        let arrivals: Vec<SharedInstant> = screen.back.send(at, bytes.len() as u32).arrivals().collect();
        for back_at in arrivals {
            self.agenda.schedule(back_at, Event::Feedback { from, bytes: bytes.clone() });
            self.show(Flight { receiver: from, is_receipt: true, is_lost: false, began: at, ends: back_at });
        }
    }

    fn show(&mut self, flight: Flight) {
        if self.flights.len() == FLIGHTS_MAX {
            self.flights.pop_front();
        }
        self.flights.push_back(flight);
    }
}

impl Screen {
    fn new(link: &LinkConfig, horizon: Span, random: &Random, begin: SharedInstant) -> Self {
        Self {
            down: LinkModel::new(link.clone(), random.fork(0)),
            back: LinkModel::new(feedback_of(link), random.fork(1)),
            replica: Replica::new(Placement::Global).with_horizon(horizon),
            sent: SentPackets::new(random.fork(3)),
            receipts: ReceiptBook::default(),
            sent_back: SentPackets::new(random.fork(4)),
            copies: 0,
            tally: Tally::new(horizon, begin),
        }
    }
}

/// The way back is as long, but loses and overtakes nothing.
fn feedback_of(link: &LinkConfig) -> LinkConfig {
    link.healed().keep_order(true)
}
