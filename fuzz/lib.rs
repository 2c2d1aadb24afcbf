//! What the targets share: numbers out of bytes, and the laws they must hold.

use fairpath::DrVector;
use fairpath::number::PacketNumber;
use fairpath::session::message::{Datagram, Letter, Message};
use fairpath::time::SharedInstant;
use fairpath::vector::Planar;
use fairpath::wire::{Precision, decode_feedback, decode_updates, encode_feedback, encode_updates};

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
            let Ok(letter) = Letter::decode(bytes) else { return };
            letter.encode(&mut again);
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

/// Numbers out of bytes; zeros when they run out.
pub struct Source<'a>(pub &'a [u8]);

impl Source<'_> {
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
