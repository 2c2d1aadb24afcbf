//! The memory of both ends of a link: which datagrams left, which arrived. Receipts refer to it,
//! and cannot be forged.
//!
//! * [`SentPackets`], at the sender of DR vectors: the copies and the nonce of each datagram.
//!   [`SentPackets::settle`] says what feedback proves, and
//!   [`Dispatcher::on_feedback`](crate::schedule::Dispatcher::on_feedback) books that.
//!   [`SentPackets::loss`] says how much the link loses.
//! * [`ReceiptBook`], at the receiver: unconfirmed receipts, repeated in every feedback message
//!   until the sender confirms them.
//!
//! Peers that send in both directions have both at either end: all datagrams of one direction share
//! one count, and every header, of updates and of feedback, comes from [`SentPackets::header`].
//! `PROTOCOL.md`, section 6, has the rules.
//!
//! ```
//! use fairpath::ledger::CopyRange;
//! use fairpath::link::{ReceiptBook, SentPackets};
//! use fairpath::random::Random;
//! use fairpath::schedule::{Broadcast, Dispatcher, DispatcherConfig};
//! use fairpath::number::ReceiverId;
//! use fairpath::time::SharedInstant;
//! use fairpath::vector::Vec2;
//! use fairpath::wire::decode_feedback;
//!
//! let (now, later) = (SharedInstant::ZERO, SharedInstant::from_millis(80));
//! let anna = ReceiverId(1);
//! let mut dispatcher: Dispatcher<Vec2> =
//!     Dispatcher::new(DispatcherConfig::default(), Box::new(Broadcast), Random::from_seed(1));
//! dispatcher.join(anna, now);
//! // The sender takes a header for each datagram and reports its copies. This one has none.
//! let mut to_anna = SentPackets::new(Random::from_seed(2));
//! let header = to_anna.header(now);
//! to_anna.on_sent(&header, CopyRange::EMPTY);
//! // Anna numbers the datagrams that she sends back separately.
//! let (from_anna, mut book) = (SentPackets::new(Random::from_seed(3)), ReceiptBook::default());
//! let mut feedback = Vec::new();
//! book.pack(&from_anna.header(later), 1200, &mut feedback)?;
//! let feedback = decode_feedback(later, to_anna.newest(), &feedback)?;
//! let outcome = dispatcher.on_feedback(anna, to_anna.settle(&feedback), later)?;
//! assert_eq!(outcome.receipts, 0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod loss_estimate;
mod receipt_book;
mod sent_packets;

pub use loss_estimate::LossEstimate;
pub use receipt_book::ReceiptBook;
pub use sent_packets::{ArrivedPacket, Refused, SentPackets, Settled};

use crate::ledger::LATENESS_MAX;
use crate::time::Span;

/// How long a receiver repeats an unconfirmed receipt: as long as the ledger books it exactly.
pub const REPEATED: Span = LATENESS_MAX;

/// How long the sender remembers a datagram: the receiver repeats its receipt, and the datagram
/// itself may travel for five seconds.
pub const REMEMBERED: Span = Span::from_secs(15);
const _: () = assert!(REMEMBERED.as_micros() > REPEATED.as_micros());

/// Most datagrams that the sender remembers: 15 s at 270 per second. At a higher rate it remembers
/// a shorter time, but always many times the receipts that a receiver keeps.
pub const PACKETS_MAX: usize = 4096;
const _: () = assert!(PACKETS_MAX > 8 * crate::wire::RECEIPTS_MAX);
