//! What really happened, as an outside observer sees it: every DR vector when it is generated,
//! every copy when it leaves, every datagram when it is received.
//!
//! None of it comes from the ledgers that are checked. Schedulers are plug-ins, so
//! [`RecordingScheduler`] wraps the real one and records its calls, and [`RecordingTap`] the links.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use fairpath::DrVector;
use fairpath::number::{EntityId, PacketNumber, ReceiverId};
use fairpath::random::Random;
use fairpath::schedule::{Claims, DecisionContext, Removed, Scheduler, WaitingCopy};
use fairpath::session::message::{Datagram, Part};
use fairpath::session::{Client, ClientId, ObjectHandle};
use fairpath::time::{SharedInstant, Span};
use fairpath::vector::Vec2;
use fairpath::wire::{Precision, decode_feedback, decode_updates, encode_feedback};
use fairpath_sim::{DatagramRoute, Tap};

/// An event, with the true time.
#[derive(Clone, Debug)]
pub(crate) enum WorldEvent {
    /// The server's dispatcher got a DR vector and brought the entity's ledger up to `now`.
    Generated {
        vector: DrVector<Vec2>,
        now: SharedInstant,
        receivers: Vec<ReceiverId>,
        claimed: usize,
        new: usize,
    },
    /// The scheduler's deadline passed: the entity's ledger was brought up to `now`.
    Looked { entity: EntityId, now: SharedInstant },
    /// A copy left the server.
    Departed { entity: EntityId, receiver: ReceiverId, at: SharedInstant },
    /// A receiver was added to an entity's ledger.
    Joined { entity: EntityId, receiver: ReceiverId },
    /// Receivers or entities were removed.
    Removed(Removed),
    /// A client or the server sent a datagram.
    Sent { way: DatagramRoute, at: SharedInstant, bytes: usize },
    /// A client processed a datagram with these DR vectors and now follows `followed`.
    Received {
        client: usize,
        session: u32,
        receiver: ReceiverId,
        at: SharedInstant,
        vectors: Vec<DrVector<Vec2>>,
        followed: Vec<DrVector<Vec2>>,
    },
    /// A client follows the DR vectors of objects that were announced to it on the stream.
    Announced { receiver: ReceiverId, at: SharedInstant, vectors: Vec<DrVector<Vec2>> },
}

#[derive(Clone, Debug, Default)]
pub(crate) struct EventLog(Arc<Mutex<Vec<WorldEvent>>>);

impl EventLog {
    fn note(&self, seen: WorldEvent) {
        self.0.lock().expect("no thread panics while it holds the lock").push(seen);
    }

    pub(crate) fn drain(&self) -> Vec<WorldEvent> {
        std::mem::take(&mut *self.0.lock().expect("no thread panics while it holds the lock"))
    }
}

/// A scheduler that records its calls and forwards them to the real one.
#[derive(Debug)]
pub(crate) struct RecordingScheduler {
    pub(crate) inner: Box<dyn Scheduler<Vec2>>,
    pub(crate) log: EventLog,
}

impl Scheduler<Vec2> for RecordingScheduler {
    fn on_trigger(&mut self, scene: &DecisionContext<'_, Vec2>, random: &mut Random, claims: &mut Claims) {
        let waits = |claims: &Claims| {
            scene.candidates.iter().map(|it| claims.is_waiting(scene.entity, it.receiver)).collect::<Vec<_>>()
        };
        let before = waits(claims);
        self.inner.on_trigger(scene, random, claims);
        let claimed = before.iter().zip(waits(claims)).filter(|(before, after)| !**before && *after).count();
        self.log.note(WorldEvent::Generated {
            vector: *scene.vector,
            now: scene.now,
            receivers: scene.candidates.iter().map(|candidate| candidate.receiver).collect(),
            claimed,
            new: scene.candidates.iter().filter(|candidate| candidate.is_new()).count(),
        });
    }

    fn on_deadline(&mut self, scene: &DecisionContext<'_, Vec2>, random: &mut Random, claims: &mut Claims) {
        self.log.note(WorldEvent::Looked { entity: scene.entity, now: scene.now });
        self.inner.on_deadline(scene, random, claims);
    }

    fn poll_deadline(&self) -> Option<SharedInstant> {
        self.inner.poll_deadline()
    }

    fn on_departed(&mut self, entity: EntityId, receiver: ReceiverId, at: SharedInstant, cost: f64) {
        self.log.note(WorldEvent::Departed { entity, receiver, at });
        self.inner.on_departed(entity, receiver, at, cost);
    }

    fn rank(&self, copy: &WaitingCopy<'_, Vec2>) -> f64 {
        self.inner.rank(copy)
    }

    fn on_joined(&mut self, entity: EntityId, receiver: ReceiverId, now: SharedInstant) {
        self.log.note(WorldEvent::Joined { entity, receiver });
        self.inner.on_joined(entity, receiver, now);
    }

    fn on_removed(&mut self, left: Removed) {
        self.log.note(WorldEvent::Removed(left));
        self.inner.on_removed(left);
    }
}

/// Records all links, and falsifies the receipts of lying clients.
#[derive(Debug)]
pub(crate) struct RecordingTap {
    pub(crate) log: EventLog,
    /// By how much each client reports later arrivals.
    pub(crate) lies: Vec<Option<Span>>,
    pub(crate) intakes: Vec<SessionCounter>,
    /// The objects that each client knew after the last messages of its stream, by session.
    pub(crate) known: Vec<KnownObjects>,
}

/// The objects that a client knows in one session.
#[derive(Clone, Debug, Default)]
pub(crate) struct KnownObjects {
    session: Option<ClientId>,
    objects: BTreeMap<EntityId, ObjectHandle>,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SessionCounter {
    /// Datagrams in its session.
    count: u64,
    /// The number of earlier sessions.
    session: u32,
    connection: u64,
}

impl SessionCounter {
    /// Takes the client's counter after a datagram. Returns whether the client processed it: it
    /// ignores repeated datagrams, and those before its clock is known.
    fn on_heard(&mut self, count: u64, connection: u64) -> bool {
        // A new session counts from zero. A transport's first datagram is never repeated.
        let is_first = std::mem::replace(&mut self.connection, connection) != connection;
        if count < self.count || is_first && count == self.count {
            (self.count, self.session) = (0, self.session + 1);
        }
        std::mem::replace(&mut self.count, count) != count
    }
}

impl Tap<Vec2> for RecordingTap {
    fn on_sends(&mut self, way: DatagramRoute, now: SharedInstant, datagram: &mut Vec<u8>) {
        self.log.note(WorldEvent::Sent { way, at: now, bytes: datagram.len() });
        if let Some(by) = self.lies[way.client].filter(|_| way.is_up)
            && let Some(lie) = with_later_receipts(datagram, now, by)
        {
            *datagram = lie;
        }
    }

    fn on_client_heard(
        &mut self,
        way: DatagramRoute,
        now: SharedInstant,
        datagram: &[u8],
        client: &mut Client<Vec2>,
    ) {
        if !client.is_connected() {
            // The datagram came before the greeting, or before the clock was known.
            return;
        }
        let index = way.client;
        let intake = &mut self.intakes[index];
        let is_taken_in = intake.on_heard(client.statistics().datagrams_received, way.connection);
        let (true, Some(id), session) = (is_taken_in, client.id(), intake.session) else { return };
        let Ok(datagram) = Datagram::decode(datagram) else { return };
        let Ok(updates) = decode_updates::<Vec2>(&Precision::default(), now, datagram.updates) else {
            return;
        };
        if !updates.vectors.is_empty() {
            let receiver = id.receiver();
            let followed =
                updates.vectors.iter().filter_map(|vector| client.followed(vector.entity).copied());
            let followed = followed.collect();
            let vectors = updates.vectors;
            self.log.note(WorldEvent::Received {
                client: index,
                session,
                receiver,
                at: now,
                vectors,
                followed,
            });
        }
    }

    fn on_client_streamed(&mut self, index: usize, now: SharedInstant, client: &mut Client<Vec2>) {
        let objects = client.objects().filter_map(|object| Some((object, client.handle(object)?)));
        let objects: BTreeMap<EntityId, ObjectHandle> = objects.collect();
        // An object that left and entered again has another handle. A client's first session after
        // a crash may give the same ones again.
        let now_known = KnownObjects { session: client.id(), objects };
        let before = std::mem::replace(&mut self.known[index], now_known);
        let KnownObjects { session, objects } = &self.known[index];
        let is_new = |object: &&EntityId| {
            before.session != *session || objects.get(object) != before.objects.get(object)
        };
        let new = objects.keys().filter(is_new);
        let vectors: Vec<_> = new.filter_map(|object| client.followed(*object).copied()).collect();
        if let Some(id) = client.id().filter(|_| !vectors.is_empty()) {
            self.log.note(WorldEvent::Announced { receiver: id.receiver(), at: now, vectors });
        }
    }
}

/// Returns the datagram with later arrival times in all its receipts.
pub(crate) fn with_later_receipts(datagram: &[u8], now: SharedInstant, by: Span) -> Option<Vec<u8>> {
    let mut taken_apart = Datagram::decode(datagram).ok()?;
    for part in &mut taken_apart.parts {
        let Part::Feedback(bytes) = part else { continue };
        // No run sends so many datagrams that their numbers wrap.
        let mut feedback = decode_feedback(now, PacketNumber(0), bytes).ok()?;
        for receipt in &mut feedback.receipts {
            let later = (receipt.received_at + by).min(feedback.header.sent_at);
            receipt.delay += later - receipt.received_at;
            receipt.received_at = later;
        }
        bytes.clear();
        encode_feedback(&feedback, bytes).ok()?;
    }
    let mut lie = Vec::new();
    taken_apart.encode(&mut lie);
    Some(lie)
}
