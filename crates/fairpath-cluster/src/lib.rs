#![doc = include_str!("../README.md")]
//! # Data flow
//!
//! ```text
//!                 game: observe, promise, set_game, spawn, destroy
//!                   │                                  ▲ Event
//!                   ▼                                  │
//!  store ── Answer ──▶ ┌──────────── Zone ───────────┐ ── StoreRequest ──▶ store (JetStream)
//!  store ── sighting ─▶│ Lease     one a cell        │
//!  bus ──── Message ──▶│ Real      one an own entity │ ── Publish ───────▶ bus (NATS core)
//!  clocks ─ Moment ───▶│ Ghost     one a foreign one │
//!                      └─────────────────────────────┘
//! ```
//!
//! # Terms
//!
//! | term | meaning |
//! | --- | --- |
//! | cell | a part of the world, leased by one server at a time ([`Cells`], [`SquareGrid`]) |
//! | revision | the number that the store gives a write; larger is later |
//! | fence | the revision of the write that *acquired* a lease; renewals keep it |
//! | term | counts the owners of an entity; every hand-over and takeover raises it |
//! | title | (cell, fence, term): what a committed entity record says of its owner |
//! | `speak_until` | the end of the sender's lease on the shared clock |
//! | snapshot | what an owner needs to continue an entity: path, game bytes, outbox, receipts |
//!
//! # Rules
//!
//! 1. **Leases.** A [`LeaseRecord`] is written by compare-and-set. The holder counts its lease from
//!    before it *sends* the write, and stops [`ZoneConfig::margin`] early. A taker waits the whole
//!    lease time after it last saw a newer revision, and then compares with that revision: if the
//!    holder has renewed since, the write fails. A holder that releases says so, and nobody waits.
//! 2. **Titles.** A server owns an entity exactly if its own write is the newest one it knows of
//!    the [`EntityRecord`], the fence in it is that of the lease it now holds on the cell, and it
//!    has not offered the entity. Every write whose outcome is unknown may be the newest, so all of
//!    them must be covered.
//! 3. **Three writers.** An entity record is written by its owner, by the server to which it was
//!    offered, or by a holder of its cell with a newer fence. All compare with the revision that
//!    they know, so that one of them wins.
//! 4. **Reads.** A read proves that a write was committed, never that it is the newest. Decisions
//!    follow from the answer of a compare-and-set. A refusal is not a proof either: an answer can
//!    be lost and the request repeated.
//! 5. **Hand-over.** Offer: the owner falls silent. Accept: the receiver has written term + 1, with
//!    the whole snapshot. Release: the old owner has forgotten the entity. Without an Accept the
//!    old owner writes term + 1 itself; if the store refuses, it reads who holds the entity.
//! 6. **Paused servers.** Every batch names `speak_until`. A receiver drops what is stamped or
//!    arrives later, plus the uncertainty of its clock, and what carries an older fence or term. A
//!    zone compares every output with the clock again when it is taken out.
//! 7. **Checkpoints.** An owner writes the snapshot to the entity record at an interval, and falls
//!    silent when unsaved changes are older than [`ZoneConfig::loss_max`]: no crash can lose more.
//! 8. **Promises** are numbered per entity, saved before they are sent, sent until acknowledged,
//!    and acknowledged after the receiving entity has saved them. After a takeover, promises above
//!    [`Event::Entered`]'s number are lost, and thereby named.
//!
//! Ids of entities come in blocks, allocated by compare-and-set. A drain saves all entities of a
//! cell, releases the cell to a named server, and is complete when no cell and no entity is left.
//!
//! # Not here
//!
//! Sockets, NATS, hand-over of client sessions, the shared clock's reference, and authentication.
#![forbid(unsafe_code)]

mod cell;
mod codec;
mod config;
mod entity;
mod ghost;
mod lease;
mod message;
mod record;
mod register;
mod zone;

pub use cell::{CellId, Cells, SquareGrid};
pub use codec::{Coded, DecodeError, Reader};
pub use config::{BadZoneConfig, Moment, ZoneConfig};
pub use entity::{NotOwned, Origin, Promise};
pub use ghost::{Ghost, GhostRefusal};
pub use message::{GhostBatch, Message, Subject};
pub use record::{
    EntityRecord, IdRecord, Key, LeaseRecord, Record, Revision, ServerId, Snapshot, Title, WorldRecord,
    WriteId,
};
pub use register::{Answer, Operation, RequestId, StoreRequest};
pub use zone::{CannotObserve, Departure, Event, Output, Refusal, Zone, ZoneStatus};
