//! What happened in a run, as plain tables that any tool can read.
//!
//! Five tables and a line about the run. [`StateRow`]: where things were, were said to be, were
//! placed and were drawn. [`SendRow`]: which DR vector left for whom. [`ReceiptRow`]: what became
//! of it there. [`FollowedRow`]: which one a screen reckoned by. [`InputRow`]: what players did.
//! Every table can be written to and read from CSV text without losing a bit; the rows are plain so
//! that other formats can be made from them.
//!
//! Times are microseconds of true time; lengths are in the unit the [`Metadata`] names, velocities
//! in that unit per second.

mod cells;
mod rows;

pub use cells::{LengthUnit, ReceiptKind, StateKind};
pub use rows::{FollowedRow, InputRow, Metadata, ReceiptRow, SendRow, StateRow};

use crate::digest::Digest;
use rows::Row;

/// The version of the tables below. It changes whenever a column is added, removed or means
/// something else; a table that older runs lack is none of that.
pub const SCHEMA_VERSION: u32 = 1;

/// A whole run in memory.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    /// About the run.
    pub metadata: Metadata,
    /// Where things were.
    pub states: Vec<StateRow>,
    /// What was sent.
    pub sends: Vec<SendRow>,
    /// What arrived.
    pub receipts: Vec<ReceiptRow>,
    /// What was reckoned by.
    pub followed: Vec<FollowedRow>,
    /// What players did.
    pub inputs: Vec<InputRow>,
}

impl Trace {
    /// An empty trace of a run.
    pub fn new(metadata: Metadata) -> Self {
        Self { metadata, ..Self::default() }
    }

    /// 64 bits that stand for all of it, the same on every platform: for golden tests.
    pub fn digest(&self) -> Digest {
        let mut digest = Digest::new();
        self.metadata.add_to(&mut digest);
        add_rows(&self.states, &mut digest);
        add_rows(&self.sends, &mut digest);
        add_rows(&self.receipts, &mut digest);
        add_rows(&self.inputs, &mut digest);
        // Came later: runs without it keep the digest they had.
        if !self.followed.is_empty() {
            add_rows(&self.followed, &mut digest);
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
