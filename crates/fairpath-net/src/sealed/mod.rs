//! Sealed datagrams: session datagrams beside QUIC, on the same socket, without QUIC's cost.
//!
//! QUIC makes the connection, proves both ends and carries everything reliable. Session datagrams
//! travel as UDP packets of their own, encrypted and authenticated with keys that the TLS session
//! exports, as SRTP does after DTLS. Where a network does not carry them, session datagrams travel
//! in QUIC datagrams. `PROTOCOL.md` has the format to the bit, `SECURITY.md` the security argument.
//!
//! * [`PacketKey`] is the key of one direction and epoch, from an [`Exporter`].
//! * [`Sealer`] makes packets, [`Opener`] opens each of them once. [`Content`] is what they carry.
//! * [`Sorter`] separates sealed packets from QUIC's by their first byte.
//! * [`Path`] decides whether sealed packets are used, and to which address they go.
//! * [`SealedLink`] is all of them for one connection: what a driver uses.
//! * [`DelayRise`] is the share of its budget that a sender may use while delay rises.
//!
//! Everything here is sans-IO: packets, addresses, instants and random numbers are arguments.

mod content;
mod delay;
mod drops;
mod keys;
mod link;
mod open;
mod path;
mod replay;
mod seal;
mod sort;

pub use content::{Challenge, Content, ControlDatagram, Tag};
pub use delay::DelayRise;
pub use drops::{DropReason, Drops};
pub use keys::{Direction, EPOCH_PACKETS, EPOCH_PACKETS_MAX, Exporter, LABEL, NoKey, PacketKey};
pub use link::{LinkStatistics, SealedLink, SealedStatistics};
pub use open::{Opened, Opener};
pub use path::{Path, Side, Signal};
pub use replay::{REPLAY_WINDOW, ReplayWindow};
pub use seal::{Exhausted, Sealer};
pub use sort::{PacketKind, Sorter};

/// Bytes that a packet from server to client has beside its content: first byte, number, tag of
/// the AEAD.
pub const OVERHEAD_TO_CLIENT: usize = 1 + NUMBER_BYTES + AEAD_TAG_BYTES;
/// The same from client to server, with the connection's [`Tag`].
pub const OVERHEAD_TO_SERVER: usize = OVERHEAD_TO_CLIENT + TAG_BYTES;

const _: () = assert!(OVERHEAD_TO_CLIENT == 19);

/// Bytes of a [`Content::Report`] beside its datagram. Any packet with a datagram may take a report
/// along, so a sender leaves room for it.
pub const REPORT_BYTES: usize = 2;

/// Low bytes of the packet's number in the header. 2: a receiver that hears nothing for 32 767
/// packets could no longer widen them, and a [`Path`] stops long before that.
const NUMBER_BYTES: usize = 2;
const TAG_BYTES: usize = 4;
const AEAD_TAG_BYTES: usize = 16;
