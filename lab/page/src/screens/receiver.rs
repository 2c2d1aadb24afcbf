use fairpath::clock::{ClockConfig, ClockSync, DelayEstimate, Reply, Request};
use fairpath::place::{Arrival, Placement, Replica};
use fairpath::random::Random;
use fairpath::time::{Now, SharedInstant, Span};
use fairpath::vector::{Vec2, Vector};
use fairpath::wire::{Precision, decode_updates};
use fairpath::{DrVector, State};
use fairpath_sim::{Link, LinkConfig, SimClock};

/// Local, hop, global on an exact clock, and global on the clock that a receiver can estimate
/// through its own links.
pub(super) const WAYS: usize = 4;
const ESTIMATED: usize = 3;

/// A clock request or reply with its share of headers: what it costs does not matter here, only
/// that links see it.
const SYNC_BYTES: u32 = 48;

/// One screen: bytes come in through its links, four replicas make of them what they can.
pub(super) struct Receiver {
    precision: Precision,
    delay: Span,
    updates: Link<Vec<u8>>,
    requests: Link<Request>,
    replies: Link<Reply>,
    clock: SimClock,
    sync: ClockSync,
    one_way: DelayEstimate,
    replicas: [Replica<Vec2>; WAYS],
    placed: [Option<State<Vec2>>; WAYS],
    measured: [Measured; WAYS],
}

/// What one way of placing came to since it was last measured anew.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Measured {
    /// From the truth.
    pub(super) error: Mean,
    /// From the exported path, while newer news is under way.
    pub(super) before: Mean,
    /// From the exported path, when the newest has arrived.
    pub(super) after: Mean,
}

/// A mean that grows; zero of nothing.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Mean {
    sum: f64,
    count: u64,
}

impl Mean {
    fn add(&mut self, number: f64) {
        self.sum += number;
        self.count += 1;
    }

    pub(super) fn mean(&self) -> f64 {
        self.sum / self.count.max(1) as f64
    }
}

impl Receiver {
    /// A receiver behind links like this one in both directions, with a clock that is off by up to
    /// a minute and runs up to 50 ppm wrong: what unsynchronised machines are like.
    pub(super) fn new(link: &LinkConfig, precision: &Precision, random: &mut Random) -> Self {
        let offset = Span::from_secs_f64(random.between(-60.0, 60.0));
        let drift_ppm = random.between(-50.0, 50.0);
        Self {
            precision: *precision,
            delay: link.delay,
            updates: Link::new(link.clone(), random.fork(0)),
            requests: Link::new(link.clone(), random.fork(1)),
            replies: Link::new(link.clone(), random.fork(2)),
            clock: SimClock::new(offset, drift_ppm),
            sync: ClockSync::new(ClockConfig::default()),
            one_way: DelayEstimate::default(),
            replicas: [Placement::Local, Placement::Hop, Placement::Global, Placement::Global]
                .map(Replica::new),
            placed: [None; WAYS],
            measured: Default::default(),
        }
    }

    pub(super) fn set_delay(&mut self, delay: Span) {
        self.delay = delay;
    }

    /// The links become like this one, apart from the delay, which is the receiver's own.
    pub(super) fn change_link(&mut self, link: &LinkConfig) {
        let link = link.clone().delay(self.delay);
        self.updates.model_mut().reconfigure(link.clone());
        self.requests.model_mut().reconfigure(link.clone());
        self.replies.model_mut().reconfigure(link);
    }

    pub(super) fn measure_anew(&mut self) {
        self.measured = Default::default();
    }

    #[cfg(test)]
    pub(super) fn measured(&self) -> &[Measured; WAYS] {
        &self.measured
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
                self.hear(next);
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

    /// Places the tank and measures how far off that is.
    pub(super) fn look(&mut self, now: SharedInstant, truth: Vec2, exported: &DrVector<Vec2>) {
        let exact = self.exactly(now);
        let estimated = self.sync.now(exact.local);
        for way in 0..WAYS {
            let now = if way == ESTIMATED { estimated } else { Some(exact) };
            self.placed[way] = now.and_then(|now| self.replicas[way].place(now));
            let Some(placed) = self.placed[way] else { continue };
            let measured = &mut self.measured[way];
            measured.error.add(placed.position.distance(truth));
            let follows = self.replicas[way].followed().map(|vector| vector.generated_at);
            let is_after = follows == Some(exported.generated_at);
            let sum = if is_after { &mut measured.after } else { &mut measured.before };
            sum.add(placed.position.distance(exported.position_at(exact.shared)));
        }
    }

    /// Where one way of placing has the tank.
    pub(super) fn placed(&self, way: usize) -> Option<&State<Vec2>> {
        self.placed[way].as_ref()
    }

    /// Its part of the scene's frame.
    pub(super) fn frame(&self, way: usize, truth: Vec2, out: &mut Vec<f64>) {
        let placed = self.placed(way);
        let shown = placed.map_or(truth, |state| state.position);
        let heading = placed.map_or(0.0, |state| state.orientation);
        let is_seen = f64::from(u8::from(placed.is_some()));
        out.extend([shown.x, shown.y, heading, is_seen, shown.distance(truth)]);
        for Measured { error, before, after } in &self.measured {
            out.extend([error.mean(), before.mean(), after.mean()]);
        }
    }

    fn exactly(&self, now: SharedInstant) -> Now {
        Now { local: self.clock.local(now), shared: now }
    }

    fn hear(&mut self, at: SharedInstant) {
        let Some(packet) = self.updates.poll(at) else { return };
        let updates = decode_updates::<Vec2>(&self.precision, packet.at, &packet.payload)
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
