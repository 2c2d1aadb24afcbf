//! The types of a trace's cells, apart from numbers.

use std::fmt;

use crate::csv::{Cell, CsvProblem};
use crate::digest::Digest;

/// A cell that also counts for a trace's digest.
pub(super) trait TraceCell: Cell {
    fn add_to(&self, digest: &mut Digest);
}

/// An enum that is written as a word.
macro_rules! words {
    ($(#[$doc:meta])* pub enum $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $($(#[$variant_doc])* $variant,)+
        }

        impl $name {
            /// Returns the word that stands for it in tables.
            pub const fn word(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }

            /// Returns the value that a word stands for.
            pub fn from_word(word: &str) -> Option<Self> {
                match word {
                    $($word => Some(Self::$variant),)+
                    _ => None,
                }
            }
        }

        impl Cell for $name {
            fn write(&self, out: &mut String) -> Result<(), CsvProblem> {
                out.push_str(self.word());
                Ok(())
            }

            fn read(text: &str) -> Result<Self, CsvProblem> {
                Self::from_word(text).ok_or(CsvProblem::UnknownWord)
            }
        }

        impl TraceCell for $name {
            fn add_to(&self, digest: &mut Digest) {
                digest.bytes(self.word().as_bytes());
            }
        }
    };
}

words! {
    /// Which state of an entity a row shows.
    pub enum StateKind {
        /// The real path, known only to the owner.
        #[default]
        Truth = "truth",
        /// The state by the newest generated DR vector.
        Exported = "exported",
        /// The state in which a receiver places the entity.
        Placed = "placed",
        /// The state that the receiver's screen shows, after convergence.
        Drawn = "drawn",
    }
}

words! {
    /// What a receiver did with a DR vector.
    pub enum ReceiptKind {
        /// The DR vector was the newest, and the replica follows it.
        #[default]
        Used = "used",
        /// The receiver had a newer one.
        Stale = "stale",
        /// The receiver had the same one.
        Duplicate = "duplicate",
    }
}

words! {
    /// The motion model of a DR vector.
    pub enum ModelKind {
        /// Stays in place.
        #[default]
        Static = "static",
        /// Constant velocity.
        Linear = "linear",
        /// Constant acceleration.
        Quadratic = "quadratic",
        /// Constant speed and turn rate.
        Circular = "circular",
    }
}

words! {
    /// The unit of lengths.
    pub enum LengthUnit {
        /// Metres.
        #[default]
        Metres = "m",
        /// The game's own unit.
        GameUnits = "unit",
        /// Pixels.
        Pixels = "px",
    }
}

/// As people write it behind a number; [`word`](LengthUnit::word) is for tables.
impl fmt::Display for LengthUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Metres => "m",
            Self::GameUnits => "units",
            Self::Pixels => "px",
        })
    }
}

macro_rules! digested {
    ($($kind:ident),+) => {$(
        impl TraceCell for $kind {
            fn add_to(&self, digest: &mut Digest) {
                digest.$kind(*self);
            }
        }
    )+};
}

digested!(u16, u32, u64, i64, f64, bool);

impl TraceCell for String {
    fn add_to(&self, digest: &mut Digest) {
        digest.bytes(self.as_bytes());
    }
}

impl<C: TraceCell> TraceCell for Option<C> {
    fn add_to(&self, digest: &mut Digest) {
        digest.bool(self.is_some());
        if let Some(cell) = self {
            cell.add_to(digest);
        }
    }
}
