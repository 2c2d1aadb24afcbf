//! A recorded run, as plain tables that any tool can read.
//!
//! Six tables and a row about the run. [`StateRow`]: the real, exported, placed and drawn states.
//! [`SendRow`]: which DR vector left for which receiver. [`ReceiptRow`]: which DR vector arrived.
//! [`FollowedRow`]: which DR vector a viewer followed. [`VectorRow`]: the DR vectors themselves.
//! [`InputRow`]: the players' inputs. Every table can be written to and read from CSV text without
//! losing a bit. The followed DR vectors give the placed states again, bit for bit.
//!
//! Times are microseconds of true time; lengths are in the unit the [`Metadata`] names, velocities
//! in that unit per second.

mod cells;
mod rows;

pub use cells::{LengthUnit, ModelKind, ReceiptKind, StateKind};
pub use rows::{FollowedRow, InputRow, Metadata, ReceiptRow, SendRow, StateRow, VectorRow};

use crate::digest::Digest;
use rows::Row;

/// The version of the tables. It changes when a column is added, removed or changes its meaning; a
/// new table does not change it.
pub const SCHEMA_VERSION: u32 = 1;

/// A whole run in memory.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    /// About the run.
    pub metadata: Metadata,
    /// The states of entities.
    pub states: Vec<StateRow>,
    /// The DR vectors that were sent.
    pub sends: Vec<SendRow>,
    /// The DR vectors that arrived.
    pub receipts: Vec<ReceiptRow>,
    /// The DR vectors that viewers followed.
    pub followed: Vec<FollowedRow>,
    /// The DR vectors themselves.
    pub vectors: Vec<VectorRow>,
    /// The players' inputs.
    pub inputs: Vec<InputRow>,
}

impl Trace {
    /// Creates an empty trace of a run.
    pub fn new(metadata: Metadata) -> Self {
        Self { metadata, ..Self::default() }
    }

    /// Returns a digest of the whole trace, the same on every platform: for golden tests.
    pub fn digest(&self) -> Digest {
        let mut digest = Digest::new();
        self.metadata.add_to(&mut digest);
        add_rows(&self.states, &mut digest);
        add_rows(&self.sends, &mut digest);
        add_rows(&self.receipts, &mut digest);
        add_rows(&self.inputs, &mut digest);
        // Newer tables: runs without them keep the digest they had.
        if !self.followed.is_empty() {
            add_rows(&self.followed, &mut digest);
        }
        if !self.vectors.is_empty() {
            add_rows(&self.vectors, &mut digest);
        }
        digest
    }
}

fn add_rows<R: Row>(rows: &[R], digest: &mut Digest) {
    digest.u64(rows.len() as u64);
    for row in rows {
        row.add_to(digest);
    }
}
