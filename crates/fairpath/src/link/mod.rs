//! What both ends of a link remember of its datagrams, so that receipts find their way home and
//! nobody can make one up.
//!
//! * [`SentPackets`], at the end that sends DR vectors: which datagram carried which copies, and
//!   its nonce. Feedback that proves what it says becomes calls of
//!   [`Dispatcher::on_receipt`](crate::schedule::Dispatcher::on_receipt) and
//!   [`on_complete`](crate::schedule::Dispatcher::on_complete).
//! * [`ReceiptBook`], at the end that receives them: receipts that are not confirmed yet, repeated
//!   in every feedback message until they are.
//!
//! Peers that tell each other have both at either end: all datagrams of one direction share one
//! count, and every header, of updates and of feedback, begins as [`SentPackets::header`].
//! `PROTOCOL.md`, section 6, has the rules.
//!
//! ```
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
//! // Whoever sends DR vectors takes a header, and tells what left with it. Here that was nothing.
//! let mut to_anna = SentPackets::new(Random::from_seed(2));
//! let header = to_anna.header(now);
//! to_anna.on_sent(&header, []);
//! // Anna has a count of her own for what she sends back.
//! let (from_anna, mut book) = (SentPackets::new(Random::from_seed(3)), ReceiptBook::default());
//! let mut feedback = Vec::new();
//! book.pack(&from_anna.header(later), 1200, &mut feedback)?;
//! let feedback = decode_feedback(later, to_anna.newest(), &feedback)?;
//! let heard = to_anna.on_feedback(&feedback, anna, &mut dispatcher, later)?;
//! assert_eq!(heard.receipts, 0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod receipt_book;
mod sent_packets;

pub use receipt_book::ReceiptBook;
pub use sent_packets::{FeedbackOutcome, Refused, SentPackets};

use crate::ledger::LATENESS_MAX;
use crate::time::Span;

/// For how long a receiver repeats a receipt that nobody confirms: as long as the ledger still
/// books it exactly.
pub const REPEATED: Span = LATENESS_MAX;

/// For how long the sender remembers a datagram: its receipts are repeated, and it may be under way
/// for five seconds itself.
pub const REMEMBERED: Span = Span::from_secs(15);
const _: () = assert!(REMEMBERED.as_micros() > REPEATED.as_micros());

/// How many datagrams the sender remembers at most: 15 s at 270 a second. At more it remembers
/// less, but always many times the receipts that a receiver keeps.
pub const PACKETS_MAX: usize = 4096;
const _: () = assert!(PACKETS_MAX > 8 * crate::wire::RECEIPTS_MAX);
