//! One receiver of X1: bytes come in through simulated links, four replicas make of them what they
//! can.

use fairpath::clock::{ClockConfig, ClockSync, DelayEstimate, Reply, Request};
use fairpath::place::{Arrival, Placement, Replica};
use fairpath::random::Random;
use fairpath::time::{Now, SharedInstant, Span};
use fairpath::vector::Planar;
use fairpath::wire::{Precision, decode_updates};
use fairpath_sim::{Link, LinkConfig, SimClock};

/// The ways of placing that are compared, in the order of their replicas.
pub(super) const WAYS: usize = 4;
pub(super) const LOCAL: usize = 0;
pub(super) const HOP: usize = 1;
pub(super) const GLOBAL: usize = 2;
/// Global placement on the clock that the receiver estimates through its own links.
pub(super) const ESTIMATED: usize = 3;

/// A clock request or reply with its share of headers: what it costs does not matter here, only
/// that links see it.
const SYNC_BYTES: u32 = 48;

/// Everything one receiver has: links, a wrong clock, an estimate of the right one, and replicas.
pub(super) struct Receiver<V: Planar> {
    precision: Precision,
    updates: Link<Vec<u8>>,
    requests: Link<Request>,
    replies: Link<Reply>,
    clock: SimClock,
    sync: ClockSync,
    one_way: DelayEstimate,
    replicas: [Replica<V>; WAYS],
}

impl<V: Planar> Receiver<V> {
    /// A receiver behind links like this one in both directions, with a clock that is off by up to
    /// a minute and runs up to 50 ppm wrong: what unsynchronised machines are like.
    pub(super) fn new(link: &LinkConfig, precision: &Precision, random: &mut Random) -> Self {
        let offset = Span::from_secs_f64(random.between(-60.0, 60.0));
        let drift_ppm = random.between(-50.0, 50.0);
        Self {
            precision: *precision,
            updates: Link::new(link.clone(), random.fork(0)),
            requests: Link::new(link.clone(), random.fork(1)),
            replies: Link::new(link.clone(), random.fork(2)),
            clock: SimClock::new(offset, drift_ppm),
            sync: ClockSync::new(ClockConfig::default()),
            one_way: DelayEstimate::default(),
            replicas: [Placement::Local, Placement::Hop, Placement::Global, Placement::Global]
                .map(Replica::new),
        }
    }

    /// The owner sends this datagram.
    pub(super) fn send(&mut self, datagram: &[u8], now: SharedInstant) {
        self.updates.send(now, datagram.len() as u32, datagram.to_vec());
    }

    /// Lets everything happen that happens up to `now`, in order.
    pub(super) fn run_until(&mut self, now: SharedInstant) {
        loop {
            let due =
                [self.updates.poll_deadline(), self.requests.poll_deadline(), self.replies.poll_deadline()];
            let Some(next) = due.iter().flatten().min().copied().filter(|next| *next <= now) else { break };
            if due[0] == Some(next) {
                self.hear();
            } else if due[1] == Some(next) {
                self.be_answered(next);
            } else {
                self.learn_the_time(next);
            }
        }
        if let Some(request) = self.sync.poll_request(self.clock.local(now)) {
            self.requests.send(now, SYNC_BYTES, request);
        }
    }

    /// Where each replica places the entity; nothing before all of them can.
    pub(super) fn place(&mut self, now: SharedInstant) -> Option<[V; WAYS]> {
        let exact = self.exactly(now);
        let estimated = self.sync.now(exact.local)?;
        let mut positions = [V::ZERO; WAYS];
        for (way, (replica, position)) in self.replicas.iter().zip(&mut positions).enumerate() {
            *position = replica.position(if way == ESTIMATED { estimated } else { exact })?;
        }
        Some(positions)
    }

    /// When the DR vector was generated that everybody here follows.
    pub(super) fn follows(&self) -> Option<SharedInstant> {
        self.replicas[GLOBAL].followed().map(|vector| vector.generated_at)
    }

    /// By how much the estimated clock is off, and how much it says it may be.
    pub(super) fn clock_error(&mut self, now: SharedInstant) -> Option<(Span, Span)> {
        let local = self.clock.local(now);
        let estimated = self.sync.now(local)?;
        Some(((estimated.shared - now).abs(), self.sync.uncertainty(local)?))
    }

    fn exactly(&self, now: SharedInstant) -> Now {
        Now { local: self.clock.local(now), shared: now }
    }

    fn hear(&mut self) {
        let Some(due) = self.updates.poll_deadline() else { return };
        let Some(packet) = self.updates.poll(due) else { return };
        let updates = decode_updates::<V>(&self.precision, packet.at, &packet.payload)
            .expect("the link changes nothing, so what was encoded decodes");
        let exact = self.exactly(packet.at);
        let estimated = self.sync.now(exact.local);
        for vector in &updates.vectors {
            let arrival = Arrival {
                now: exact,
                waited: updates.header.sent_at - vector.generated_at,
                travelled: self.one_way.mean().unwrap_or(Span::ZERO),
            };
            for replica in &mut self.replicas[..ESTIMATED] {
                replica.accept(vector, &arrival);
            }
            if let Some(now) = estimated {
                self.replicas[ESTIMATED].accept(vector, &Arrival::at(now));
            }
        }
    }

    /// The owner's clock is the shared one: it stamps and answers at once.
    fn be_answered(&mut self, at: SharedInstant) {
        while let Some(request) = self.requests.poll(at) {
            self.replies.send(at, SYNC_BYTES, request.payload.answer(at, at));
        }
    }

    fn learn_the_time(&mut self, at: SharedInstant) {
        while let Some(reply) = self.replies.poll(at) {
            if let Ok(round_trip) = self.sync.handle_reply(reply.payload, self.clock.local(at)) {
                self.one_way.handle_sample(round_trip.scaled(0.5));
            }
        }
    }
}
