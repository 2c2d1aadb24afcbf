//! How much memory and work one piece of outside data may cost.
//!
//! A file says little about what it unpacks to: a megabyte of gzip can be a gigabyte of text, and a
//! hundred bytes of Parquet can promise a billion rows. So every reader counts what it keeps and
//! what it looks at, before it does either, and ends with an error that names the limit.

use std::cell::Cell;
use std::fmt;

/// The memory and work that are left for one file and the files beside it.
///
/// Readers share it by reference: the text of a recording, its breaks and the play that is made of
/// it count together.
#[derive(Debug)]
pub struct Budget {
    memory_max: u64,
    work_max: u64,
    memory_held: Cell<u64>,
    work_done: Cell<u64>,
}

/// The limit that a file would exceed. The text is the end of a line: the limit, and the fix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OverBudget {
    Memory { bytes_max: u64 },
    Work { bytes_max: u64 },
}

/// Bytes that readers keep for one recording. 432 MiB: ten tanks at 60 Hz for 55 minutes, with
/// their samples, their ticks and their paths (228 bytes each). With the program itself this stays
/// below 512 MiB.
pub const MEMORY_BYTES_MAX: u64 = 432 << 20;

/// Bytes that readers look at for one recording, unpacked. 4 GiB: half a minute on a slow machine,
/// and six times the text of the longest recording that fits into memory.
pub const WORK_BYTES_MAX: u64 = 4 << 30;

const _: () = assert!(MEMORY_BYTES_MAX + (64 << 20) < 512 << 20, "the program needs some too");

impl Budget {
    pub const fn new(memory_max: u64, work_max: u64) -> Self {
        Self { memory_max, work_max, memory_held: Cell::new(0), work_done: Cell::new(0) }
    }

    /// Counts memory that is about to be kept.
    pub fn hold(&self, bytes: u64) -> Result<(), OverBudget> {
        let held = self.memory_held.get().saturating_add(bytes);
        if held > self.memory_max {
            return Err(OverBudget::Memory { bytes_max: self.memory_max });
        }
        self.memory_held.set(held);
        Ok(())
    }

    /// Returns memory that was held and is free again.
    pub fn release(&self, bytes: u64) {
        self.memory_held.set(self.memory_held.get().saturating_sub(bytes));
    }

    /// Counts bytes that are about to be looked at.
    pub fn work(&self, bytes: u64) -> Result<(), OverBudget> {
        let done = self.work_done.get().saturating_add(bytes);
        if done > self.work_max {
            return Err(OverBudget::Work { bytes_max: self.work_max });
        }
        self.work_done.set(done);
        Ok(())
    }

    pub fn memory_held(&self) -> u64 {
        self.memory_held.get()
    }

    pub fn work_left(&self) -> u64 {
        self.work_max - self.work_done.get()
    }

    pub fn work_done(&self) -> u64 {
        self.work_done.get()
    }
}

impl Default for Budget {
    fn default() -> Self {
        Self::new(MEMORY_BYTES_MAX, WORK_BYTES_MAX)
    }
}

impl std::error::Error for OverBudget {}

impl fmt::Display for OverBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory { bytes_max } => {
                write!(f, "would take more than {} MiB of memory: cut it into parts", bytes_max >> 20)
            }
            Self::Work { bytes_max } => {
                write!(f, "longer than {} MiB unpacked: cut it into parts", bytes_max >> 20)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_refused_does_not_count() {
        let budget = Budget::new(100, 10);
        assert_eq!(budget.hold(60), Ok(()));
        assert_eq!(budget.hold(60), Err(OverBudget::Memory { bytes_max: 100 }));
        assert_eq!(budget.hold(u64::MAX), Err(OverBudget::Memory { bytes_max: 100 }));
        assert_eq!(budget.hold(40), Ok(()));
        budget.release(100);
        assert_eq!((budget.memory_held(), budget.work(11)), (0, Err(OverBudget::Work { bytes_max: 10 })));
        assert_eq!((budget.work(10), budget.work_done()), (Ok(()), 10));
    }
}
