//! Shared by the targets: numbers from bytes, messages from numbers, and the laws that must hold.

pub mod bzflag;
pub mod dis;
pub mod play;
pub mod readers;
pub mod sealed;
pub mod speech;

use fairpath::DrVector;
use fairpath::number::PacketNumber;
use fairpath::session::limits::{
    EARLY_MAX, OBJECTS_MAX, OUTBOX_BYTES_MAX, OUTBOX_MESSAGES_MAX, QUICKEST_MAX, SENT_PACKETS_MAX, SLOTS_MAX,
    UNRELIABLE_MAX,
};
use fairpath::session::message::{Datagram, Message, UnorderedMessage};
use fairpath::session::{Class, ClassId, Client, ClientEvent, Delivery, Protocol, Queues, Server};
use fairpath::time::{LocalInstant, SharedInstant};
use fairpath::vector::{Planar, Vec2};
use fairpath::wire::{Precision, decode_feedback, decode_updates, encode_feedback, encode_updates};

/// Checks that any bytes decode or are refused, and that decoded updates encode to the same bytes.
pub fn updates_are_canonical<V: Planar>(bytes: &[u8]) {
    let precision = Precision::default();
    let Ok(updates) = decode_updates::<V>(&precision, SharedInstant::ZERO, bytes) else { return };
    assert!(updates.vectors.capacity() <= bytes.len(), "allocates no more than it was sent");
    let mut again = Vec::new();
    encode_updates(&precision, &updates.header, &updates.vectors, &mut again).expect("it was decoded");
    assert_eq!(again, bytes);
}

/// Checks the same for receipts.
pub fn feedback_is_canonical(bytes: &[u8]) {
    let newest_sent = PacketNumber(40_000);
    let Ok(feedback) = decode_feedback(SharedInstant::ZERO, newest_sent, bytes) else { return };
    assert!(feedback.receipts.capacity() <= 8 * bytes.len(), "allocates no more than it was sent");
    let mut again = Vec::new();
    encode_feedback(&feedback, &mut again).expect("it was decoded");
    assert_eq!(again, bytes);
}

/// Checks the same for session messages. The first byte chooses the channel.
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

/// Checks that the receiver decodes what the sender predicts from.
pub fn decodes_as_predicted<V: Planar>(
    precision: &Precision,
    header: &fairpath::wire::Header,
    vectors: &[DrVector<V>],
) {
    let mut bytes = Vec::new();
    if encode_updates(precision, header, vectors, &mut bytes).is_err() {
        assert!(bytes.is_empty(), "a refused message writes no bytes");
        return;
    }
    let decoded = decode_updates::<V>(precision, header.sent_at, &bytes).expect("encoded messages decode");
    let mut expected: Vec<_> = vectors.iter().map(|vector| precision.as_decoded(vector)).collect();
    expected.sort_by_key(|vector| vector.entity);
    assert_eq!(decoded.header, *header);
    assert_eq!(decoded.vectors, expected);
    for vector in &expected {
        assert_eq!(precision.as_decoded(vector), *vector, "decoding twice changes nothing more");
    }
}

/// The game of the sessions. Ships, balls that clients may claim, scenery that only the server
/// creates, and boards without motion are plain bytes. Class 4 and method 0 have types: a flag is
/// created with a `String` and has a state of its owner (`u16`) and one of the server (`u32`).
pub fn game() -> Protocol<Vec2> {
    Protocol::new("fuzz", 1)
        .raw_class(ClassId(1), Class::within(0.3).circular())
        .raw_class(ClassId(2), Class::within(0.3).claimable().outlives_owner().at_most(8))
        .raw_class(ClassId(3), Class::within(1.0).with_attitude().server_only())
        .raw_class(ClassId(5), Class::without_motion().server_group(1))
        .class::<String>("flag", Class::within(0.3).state::<u16>("colour").server_state::<u32>("score"))
        .call::<String>("chat", Delivery::ReliableOrdered)
}

/// Checks that the server keeps its bounds, whatever the clients have sent.
pub fn server_keeps_its_bounds(server: &Server<Vec2>, now: SharedInstant) {
    assert!(server.objects().count() <= OBJECTS_MAX);
    for client in server.clients() {
        let queues = server.queues(client).expect("a listed client has a session");
        keeps_bounds(&queues);
        let rate = server.statistics(client).expect("a listed client has a session").error_per_sec;
        assert!(rate >= 0.0, "the error account is {rate}");
    }
    for object in server.objects() {
        assert!(server.place(object, now).is_none_or(|state| state.is_finite()), "{object:?} is not finite");
    }
    let _ = server.poll_deadline(now);
}

/// Checks that the client keeps its bounds. `shown` is the last reading of the shared clock.
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
        assert!(placed.is_none_or(|state| state.is_finite()), "{object:?} is not placed at a finite place");
        let drawn = client.draw(object, now);
        assert!(drawn.is_none_or(|state| state.is_finite()), "{object:?} is not drawn at a finite place");
    }
    if client.is_connected() {
        let shared = client.clock_now(now).map(|now| now.shared);
        assert!(
            shown.is_none_or(|before| Some(before) <= shared),
            "the clock ran back: {shown:?}, {shared:?}"
        );
        *shown = shared;
    }
}

/// Takes the client's events and returns whether a session has begun. A new session may have
/// another clock than the one before.
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

/// Numbers from bytes; zeros after the last byte.
pub struct Entropy<'a>(pub &'a [u8]);

impl Entropy<'_> {
    /// Returns the next `bytes` bytes as a number.
    pub fn take(&mut self, bytes: usize) -> u64 {
        let (head, rest) = self.0.split_at(bytes.min(self.0.len()));
        self.0 = rest;
        head.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
    }

    /// Returns whether no bytes are left.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns a number of ordinary size, or any bits at all.
    pub fn number(&mut self) -> f64 {
        match self.take(1) {
            0..200 => f64::from(self.take(3) as i32 - (1 << 23)) * 0.001,
            200..230 => 0.0,
            _ => f64::from_bits(self.take(8)),
        }
    }
}
