use std::collections::BTreeMap;

use fairpath::DrVector;
use fairpath::clock::{ClockConfig, ClockSync, DelayEstimate, Reply, Request};
use fairpath::link::{ReceiptBook, SentPackets};
use fairpath::number::EntityId;
use fairpath::place::{Acceptance, Arrival, Placement, Replica};
use fairpath::random::Random;
use fairpath::time::{Now, SharedInstant, Span};
use fairpath::vector::Planar;

use crate::clock::SimClock;
use crate::link::{Fate, LinkConfig, LinkModel};

/// One receiver of a [`Star`](super::Star): its links, its clock, and how it places entities.
///
/// ```
/// use fairpath::{random::Random, time::Span};
/// use fairpath_sim::star::{ReplicaKind, Spoke};
/// use fairpath_sim::{LinkConfig, SimClock};
///
/// // Its own clock is three seconds ahead; it estimates the sender's clock through the link.
/// let spoke = Spoke::new(LinkConfig::wifi_bad(), Random::from_seed(1))
///     .clock(SimClock::new(Span::from_secs(3), 20.0))
///     .synchronised()
///     .replicas([ReplicaKind::Local, ReplicaKind::GlobalEstimated]);
/// ```
#[derive(Clone, Debug)]
pub struct Spoke {
    there: LinkConfig,
    back: LinkConfig,
    random: Random,
    clock: SimClock,
    is_synchronised: bool,
    replicas: Vec<ReplicaKind>,
    pub(super) sends_receipts: bool,
    pub(super) feedback_every: Option<Span>,
    measures_transport: bool,
}

/// How a receiver places entities.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReplicaKind {
    /// [`Placement::Local`].
    Local,
    /// [`Placement::Hop`]; the delay is estimated from clock exchanges, so the spoke must be
    /// [synchronised](Spoke::synchronised).
    Hop,
    /// [`Placement::Global`] on the exact shared clock.
    #[default]
    Global,
    /// [`Placement::Global`] on the clock that the receiver estimates; the spoke must be
    /// [synchronised](Spoke::synchronised).
    GlobalEstimated,
}

impl Spoke {
    /// A receiver behind links like this one in both directions, which draw from forks of `random`:
    /// give every spoke a fork of its own. It has a perfect clock, places globally, and answers
    /// every datagram with feedback.
    pub fn new(link: LinkConfig, random: Random) -> Self {
        Self {
            there: link.clone(),
            back: link,
            random,
            clock: SimClock::PERFECT,
            is_synchronised: false,
            replicas: vec![ReplicaKind::Global],
            sends_receipts: true,
            feedback_every: None,
            measures_transport: false,
        }
    }

    /// Makes the way back as slow and jittery as the way there, but without loss, reordering or a
    /// bottleneck: what the papers on fairness assume of feedback.
    #[must_use]
    pub fn reliable_feedback(mut self) -> Self {
        self.back = LinkConfig { rate: None, ..self.there.healed() }.keep_order(true);
        self
    }

    /// Sets the receiver's own clock. Default: [`SimClock::PERFECT`].
    #[must_use]
    pub fn clock(mut self, clock: SimClock) -> Self {
        self.clock = clock;
        self
    }

    /// Makes the receiver ask for the sender's time, once in every
    /// [`run_until`](super::Star::run_until) at most. Default: it does not ask.
    #[must_use]
    pub fn synchronised(mut self) -> Self {
        self.is_synchronised = true;
        self
    }

    /// Sets the replicas that the receiver keeps of every entity. Default:
    /// [`ReplicaKind::Global`]. An [`Observer`](super::Observer) watches the first.
    #[must_use]
    pub fn replicas(mut self, kinds: impl Into<Vec<ReplicaKind>>) -> Self {
        self.replicas = kinds.into();
        self
    }

    /// Makes the receiver send no feedback: for schedulers that need none.
    #[must_use]
    pub fn without_receipts(mut self) -> Self {
        self.sends_receipts = false;
        self
    }

    /// Makes the receiver also send feedback when it has sent none for `interval`, at the end of
    /// [`run_until`](super::Star::run_until). The sender then learns of a lost copy although no
    /// other datagram arrives. Default: only in answer to datagrams.
    #[must_use]
    pub fn feedback_every(mut self, interval: Span) -> Self {
        self.feedback_every = Some(interval);
        self
    }

    /// Makes the transport acknowledge every datagram by itself, as QUIC does, and tells the
    /// dispatcher the round trips. Default: the dispatcher knows only what receivers report.
    #[must_use]
    pub fn transport_round_trips(mut self) -> Self {
        self.measures_transport = true;
        self
    }
}

/// A clock request or reply with headers. Its cost does not matter, only that links see it.
const SYNC_BYTES: u32 = 48;
/// A QUIC packet that carries nothing but an acknowledgement.
const ACKNOWLEDGEMENT_BYTES: u32 = 40;

/// Both ends of one receiver's links.
#[derive(Debug)]
pub(super) struct End<V: Planar> {
    pub(super) spoke: Spoke,
    pub(super) there: LinkModel,
    pub(super) back: LinkModel,
    /// Carries the transport's acknowledgements back, if the sender asks for them.
    transport: Option<LinkModel>,
    sync: Option<ClockEstimate>,
    horizon: Span,
    replicas: BTreeMap<EntityId, Vec<Replica<V>>>,
    pub(super) sent: SentPackets,
    /// The receiver's unconfirmed receipts, and its record of feedback.
    pub(super) receipts: ReceiptBook,
    pub(super) sent_back: SentPackets,
    /// When regular feedback is due next, unless feedback leaves before.
    pub(super) feedback_at: Option<SharedInstant>,
}

/// A receiver's estimate of the sender's clock, and the link that carries the sender's replies.
#[derive(Debug)]
struct ClockEstimate {
    clock: ClockSync,
    one_way: DelayEstimate,
    replies: LinkModel,
}

impl<V: Planar> End<V> {
    pub(super) fn new(spoke: Spoke, horizon: Span) -> Self {
        let random = &spoke.random;
        let sync = || ClockEstimate {
            clock: ClockSync::new(ClockConfig::default()),
            one_way: DelayEstimate::default(),
            // Stream 2, unless the transport has it.
            replies: LinkModel::new(
                spoke.there.clone(),
                random.fork(if spoke.measures_transport { 5 } else { 2 }),
            ),
        };
        let transport = || LinkModel::new(spoke.back.clone(), random.fork(2));
        Self {
            there: LinkModel::new(spoke.there.clone(), random.fork(0)),
            back: LinkModel::new(spoke.back.clone(), random.fork(1)),
            transport: spoke.measures_transport.then(transport),
            sync: spoke.is_synchronised.then(sync),
            horizon,
            replicas: BTreeMap::new(),
            sent: SentPackets::new(random.fork(3)),
            receipts: ReceiptBook::default(),
            sent_back: SentPackets::new(random.fork(4)),
            feedback_at: spoke.feedback_every.map(|_| SharedInstant::from_micros(i64::MIN)),
            spoke,
        }
    }

    pub(super) fn reconfigure(&mut self, there: &LinkConfig, back: &LinkConfig) {
        let replies = self.sync.as_mut().map(|sync| &mut sync.replies);
        for link in replies.into_iter().chain([&mut self.there]) {
            link.reconfigure(there.clone());
        }
        for link in self.transport.iter_mut().chain([&mut self.back]) {
            link.reconfigure(back.clone());
        }
    }

    /// Both clocks as a replica of this kind knows them.
    pub(super) fn clocks(&mut self, kind: ReplicaKind, now: SharedInstant) -> Option<Now> {
        let exact = Now { local: self.spoke.clock.local(now), shared: now };
        if kind == ReplicaKind::GlobalEstimated {
            self.sync.as_mut()?.clock.now(exact.local)
        } else {
            Some(exact)
        }
    }

    pub(super) fn replica(&self, entity: EntityId, kind: ReplicaKind) -> Option<&Replica<V>> {
        let place = self.spoke.replicas.iter().position(|each| *each == kind)?;
        self.replicas.get(&entity)?.get(place)
    }

    pub(super) fn clock_error(&mut self, now: SharedInstant) -> Option<(Span, Span)> {
        let estimated = self.clocks(ReplicaKind::GlobalEstimated, now)?;
        let uncertainty = self.sync.as_ref()?.clock.uncertainty(self.spoke.clock.local(now))?;
        Some(((estimated.shared - now).abs(), uncertainty))
    }

    /// Hands a DR vector to all replicas; whether the first one follows it.
    pub(super) fn accept(&mut self, vector: &DrVector<V>, sent_at: SharedInstant, at: SharedInstant) -> bool {
        let travelled = self.sync.as_ref().and_then(|sync| sync.one_way.mean()).unwrap_or(Span::ZERO);
        let mut is_used = false;
        for place in 0..self.spoke.replicas.len() {
            let Some(now) = self.clocks(self.spoke.replicas[place], at) else { continue };
            let arrival = Arrival { now, waited: sent_at - vector.generated_at, travelled };
            let create = || self.spoke.replicas.iter().map(|kind| kind.replica(self.horizon)).collect();
            let replica = &mut self.replicas.entry(vector.entity).or_insert_with(create)[place];
            is_used |= replica.accept(vector, &arrival) == Acceptance::Used && place == 0;
        }
        is_used
    }

    /// The fate of the transport's acknowledgement of a datagram, if there is one.
    pub(super) fn acknowledge(&mut self, at: SharedInstant) -> Option<Fate> {
        Some(self.transport.as_mut()?.send(at, ACKNOWLEDGEMENT_BYTES))
    }

    /// A request for the time and its fate, if one is due.
    pub(super) fn request(&mut self, now: SharedInstant) -> Option<(Request, Fate)> {
        let request = self.sync.as_mut()?.clock.poll_request(self.spoke.clock.local(now))?;
        Some((request, self.back.send(now, SYNC_BYTES)))
    }

    pub(super) fn reply(&mut self, at: SharedInstant) -> Option<Fate> {
        Some(self.sync.as_mut()?.replies.send(at, SYNC_BYTES))
    }

    pub(super) fn handle_reply(&mut self, reply: Reply, at: SharedInstant) {
        let Some(sync) = &mut self.sync else { return };
        if let Ok(round_trip) = sync.clock.handle_reply(reply, self.spoke.clock.local(at)) {
            sync.one_way.handle_sample(round_trip.scaled(0.5));
        }
    }
}

impl ReplicaKind {
    fn replica<V: Planar>(self, horizon: Span) -> Replica<V> {
        let placement = match self {
            Self::Local => Placement::Local,
            Self::Hop => Placement::Hop,
            Self::Global | Self::GlobalEstimated => Placement::Global,
        };
        Replica::new(placement).with_horizon(horizon)
    }
}
