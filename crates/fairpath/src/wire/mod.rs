//! The bytes: DR vectors and receipts, packed bit by bit.
//!
//! `PROTOCOL.md` at the root of the repository is the specification; `lab/spec-check` is a second
//! decoder that has read only that. Two kinds of message travel in datagrams, and both begin with a
//! [`Header`]:
//!
//! * a batch of DR vectors of different entities: [`encode_updates`], [`pack_updates`],
//!   [`decode_updates`];
//! * a batch of [`Receipt`]s, the answer to them: [`encode_feedback`], [`pack_feedback`],
//!   [`decode_feedback`].
//!
//! Feedback must prove that what it acknowledges was received: every header has a [`Nonce`]. The
//! bookkeeping of both ends, what was sent and what is not confirmed yet, is [`link`](crate::link).
//!
//! How finely numbers are spelt is a [`Precision`], which both sides must share. The sender
//! predicts from [`Precision::as_decoded`], so that what it believes the receivers see is what they
//! see.
//!
//! Three promises, each of them a law in the tests:
//!
//! * *Nothing is clamped.* A number outside the world takes more bits, never another value.
//! * *One message, one spelling.* Whatever decodes, encodes to the same bytes again.
//! * *Nobody's bytes hurt.* Any byte string decodes or is refused; it never panics, and never makes
//!   the decoder allocate more than a constant times its own length.
//!
//! How it is kept small and hard to get wrong: each part of a message is described once, as a walk
//! that a writer, a reader, a counter and an echo all take (see `bits.rs`).

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
pub use updates::{Updates, decode_updates, encode_updates, pack_updates};

/// The version of the format that this library writes, and the only one it reads.
pub const VERSION: u8 = 2;

/// DR vectors in one message, at most: their number is a byte. A datagram that passes everywhere
/// holds about 120 linear ones.
pub const VECTORS_MAX: usize = 255;

/// Datagrams that one feedback message has receipts of are less than this apart: beyond it a number
/// on the wire no longer says which is meant.
pub const PACKETS_SPAN: u64 = 1 << 15;

/// Receipts in one message, at most: their number is a byte. At 60 packets per second, four seconds
/// of receipts that nobody has confirmed.
pub const RECEIPTS_MAX: usize = 255;
