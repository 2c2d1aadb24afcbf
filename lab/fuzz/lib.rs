//! What the targets share: numbers out of bytes, what may be said with them, and the laws that must
//! hold.

pub mod speech;

use fairpath::number::PacketNumber;
use fairpath::session::limits::{
    EARLY_MAX, OBJECTS_MAX, OUTBOX_BYTES_MAX, OUTBOX_MESSAGES_MAX, QUICKEST_MAX, SENT_PACKETS_MAX, SLOTS_MAX,
    UNRELIABLE_MAX,
};
use fairpath::session::message::{Datagram, UnorderedMessage, Message};
use fairpath::session::{Class, ClassId, Client, ClientEvent, Queues, Server};
use fairpath::time::{LocalInstant, SharedInstant};
use fairpath::vector::{Planar, Vec2};
use fairpath::wire::{Precision, decode_feedback, decode_updates, encode_feedback, encode_updates};
use fairpath::{DrVector, MotionKind, Trigger};

/// Any bytes decode or are refused; what decodes, encodes to the same bytes.
pub fn updates_are_canonical<V: Planar>(bytes: &[u8]) {
    let precision = Precision::default();
    let Ok(updates) = decode_updates::<V>(&precision, SharedInstant::ZERO, bytes) else { return };
    assert!(updates.vectors.capacity() <= bytes.len(), "allocates as much as it was sent");
    let mut again = Vec::new();
    encode_updates(&precision, &updates.header, &updates.vectors, &mut again).expect("what was decoded");
    assert_eq!(again, bytes);
}

/// The same for receipts.
pub fn feedback_is_canonical(bytes: &[u8]) {
    let newest_sent = PacketNumber(40_000);
    let Ok(feedback) = decode_feedback(SharedInstant::ZERO, newest_sent, bytes) else { return };
    assert!(feedback.receipts.capacity() <= 8 * bytes.len(), "allocates as much as it was sent");
    let mut again = Vec::new();
    encode_feedback(&feedback, &mut again).expect("what was decoded");
    assert_eq!(again, bytes);
}

/// The same for what a session says: the first byte chooses where it travels.
pub fn session_messages_are_canonical(bytes: &[u8]) {
    let Some((room, bytes)) = bytes.split_first() else { return };
    let mut again = Vec::new();
    match room % 3 {
        0 => {
            let Ok(message) = Message::decode(bytes) else { return };
            message.encode(&mut again);
        }
        1 => {
            let Ok(message) = UnorderedMessage::decode(bytes) else { return };
            message.encode(&mut again);
        }
        _ => {
            let Ok(datagram) = Datagram::decode(bytes) else { return };
            datagram.encode(&mut again);
        }
    }
    assert_eq!(again, bytes);
}

/// What the sender predicts from is what the receiver decodes.
pub fn decodes_as_predicted<V: Planar>(
    precision: &Precision,
    header: &fairpath::wire::Header,
    vectors: &[DrVector<V>],
) {
    let mut bytes = Vec::new();
    if encode_updates(precision, header, vectors, &mut bytes).is_err() {
        assert!(bytes.is_empty(), "a refused message leaves no trace");
        return;
    }
    let decoded = decode_updates::<V>(precision, header.sent_at, &bytes).expect("what was encoded");
    let mut expected: Vec<_> = vectors.iter().map(|vector| precision.as_decoded(vector)).collect();
    expected.sort_by_key(|vector| vector.entity);
    assert_eq!(decoded.header, *header);
    assert_eq!(decoded.vectors, expected);
    for vector in &expected {
        assert_eq!(precision.as_decoded(vector), *vector, "decoding twice changes nothing more");
    }
}

/// What the sessions under siege have: ships, balls that may be claimed, and scenery that only the
/// server makes.
pub fn classes() -> [(ClassId, Class); 3] {
    [
        (ClassId(1), Class::new(Trigger::within(0.3)).with_model(MotionKind::Circular)),
        (ClassId(2), Class::new(Trigger::within(0.3)).claimable().outlives_owner().at_most(8)),
        (ClassId(3), Class::new(Trigger::within(1.0)).with_attitude().server_only()),
    ]
}

/// Whatever clients have said.
pub fn server_keeps_its_bounds(server: &Server<Vec2>, now: SharedInstant) {
    assert!(server.objects().count() <= OBJECTS_MAX);
    for client in server.clients() {
        let queues = server.queues(client).expect("it has a session");
        keeps_bounds(&queues);
        let rate = server.statistics(client).expect("it has a session").error_per_sec;
        assert!(rate >= 0.0, "an account of {rate}");
    }
    for object in server.objects() {
        assert!(server.place(object, now).is_none_or(|state| state.is_finite()), "{object:?} is nowhere");
    }
    let _ = server.poll_deadline(now);
}

/// Whatever a server has said. `shown` is what the shared clock showed last in this session.
pub fn client_keeps_its_bounds(
    client: &mut Client<Vec2>,
    now: LocalInstant,
    shown: &mut Option<SharedInstant>,
) {
    assert!(client.objects().count() <= OBJECTS_MAX);
    keeps_bounds(&client.queues());
    let all: Vec<_> = client.objects().collect();
    for object in all {
        let placed = client.place(object, now);
        assert!(placed.is_none_or(|state| state.is_finite()), "{object:?} is placed nowhere");
        let drawn = client.draw(object, now);
        assert!(drawn.is_none_or(|state| state.is_finite()), "{object:?} is drawn nowhere");
    }
    if client.is_connected() {
        let shared = client.clock_now(now).map(|now| now.shared);
        assert!(shown.is_none_or(|before| Some(before) <= shared), "{shown:?}, and then {shared:?}");
        *shown = shared;
    }
}

/// Takes the client's events, and says whether a session has begun: it may have another clock than
/// the one before.
pub fn take_events(client: &mut Client<Vec2>, shown: &mut Option<SharedInstant>) -> bool {
    let mut has_begun = false;
    while let Some(event) = client.poll_event() {
        has_begun |= matches!(event, ClientEvent::Connected(_));
        if has_begun || matches!(event, ClientEvent::SessionLost { .. }) {
            *shown = None;
        }
    }
    has_begun
}

fn keeps_bounds(queues: &Queues) {
    assert!(queues.outbox_bytes <= OUTBOX_BYTES_MAX, "{queues:?}");
    assert!(queues.outbox_messages <= OUTBOX_MESSAGES_MAX, "{queues:?}");
    assert!(queues.quickest <= QUICKEST_MAX, "{queues:?}");
    assert!(queues.newest_calls <= SLOTS_MAX, "{queues:?}");
    assert!(queues.unreliable <= UNRELIABLE_MAX, "{queues:?}");
    assert!(queues.datagrams_open <= SENT_PACKETS_MAX, "{queues:?}");
    assert!(queues.early <= EARLY_MAX, "{queues:?}");
}

/// Numbers out of bytes; zeros when they run out.
pub struct ByteSource<'a>(pub &'a [u8]);

impl ByteSource<'_> {
    /// The next so many bytes as a number.
    pub fn take(&mut self, bytes: usize) -> u64 {
        let (head, rest) = self.0.split_at(bytes.min(self.0.len()));
        self.0 = rest;
        head.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
    }

    /// Whether there is anything left.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A number of ordinary size, or any bits at all.
    pub fn number(&mut self) -> f64 {
        match self.take(1) {
            0..200 => f64::from(self.take(3) as i32 - (1 << 23)) * 0.001,
            200..230 => 0.0,
            _ => f64::from_bits(self.take(8)),
        }
    }
}
