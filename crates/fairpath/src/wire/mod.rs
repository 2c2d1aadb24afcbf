//! The wire format: DR vectors and receipts, packed bit by bit.
//!
//! `PROTOCOL.md` at the root of the repository is the specification; `lab/spec-check` is a second
//! decoder, written from the specification alone. Two kinds of message travel in datagrams, and
//! both begin with a [`Header`]:
//!
//! * a batch of DR vectors of different entities: [`encode_updates`], [`pack_updates`],
//!   [`decode_updates`];
//! * a batch of [`Receipt`]s, the answer to them: [`encode_feedback`], [`pack_feedback`],
//!   [`decode_feedback`].
//!
//! Feedback must prove that the acknowledged datagrams were received: every header has a [`Nonce`].
//! [`link`](crate::link) keeps the books of both ends.
//!
//! A [`Precision`] sets how numbers are rounded; both ends must use the same. The sender predicts
//! from [`Precision::as_decoded`], so that it predicts exactly what the receivers see.
//!
//! Three guarantees, each checked by property tests:
//!
//! * *No clamping.* A number outside the world takes more bits; its value does not change.
//! * *Canonical form.* A message that decodes encodes to the same bytes again.
//! * *Safe decoding.* Any byte string decodes or returns an error. Decoding never panics and never
//!   allocates more than a constant times the length of the input.
//!
//! Each part of a message is described once, as a walk that writer, reader, counter and echo share
//! (see `bits.rs`).

mod bits;
pub mod cost;
mod error;
mod header;
mod motion;
mod nonce;
mod precision;
mod receipts;
mod updates;

pub use error::{DecodeError, EncodeError, PrecisionError};
pub use header::{Header, Kind};
pub use nonce::Nonce;
pub use precision::{Precision, PrecisionSettings};
pub use receipts::{Feedback, Receipt, StaleSet, decode_feedback, encode_feedback, pack_feedback};
pub use updates::{Updates, UpdatesBody, decode_updates, encode_updates, pack_updates};

/// The version of the wire format that this library writes, and the only one it reads.
pub const VERSION: u8 = 2;

/// Most DR vectors in one message: their number is a byte. A datagram that passes every path holds
/// about 120 linear ones.
pub const VECTORS_MAX: usize = 255;

/// Datagrams acknowledged in one feedback message are less than this apart: at a larger distance
/// the 16 bits on the wire are ambiguous.
pub const PACKETS_SPAN: u64 = 1 << 15;

/// Most receipts in one message: their number is a byte. At 60 packets per second, four seconds.
pub const RECEIPTS_MAX: usize = 255;
