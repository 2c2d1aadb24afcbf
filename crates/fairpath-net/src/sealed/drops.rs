//! Counts of packets that are dropped, by reason.

/// Why a packet was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DropReason {
    /// It is shorter than a header and a tag.
    TooShort,
    /// Its first byte is not one of this version.
    UnknownForm,
    /// No connection has its tag.
    UnknownConnection,
    /// It was not sealed with the key, or was changed on the way.
    NotAuthentic,
    /// A packet with its number was opened before.
    Replayed,
    /// Its number is too far below the newest to know whether it is new.
    TooOld,
    /// Its key is neither the current one nor the one before or after.
    WrongEpoch,
    /// It is authentic, and came from an address that the peer has not proven yet.
    OtherAddress,
    /// It is authentic, and its content is not one of this version.
    Malformed,
}

impl DropReason {
    /// Every reason, in the order of [`Drops`].
    pub const ALL: [Self; 9] = [
        Self::TooShort,
        Self::UnknownForm,
        Self::UnknownConnection,
        Self::NotAuthentic,
        Self::Replayed,
        Self::TooOld,
        Self::WrongEpoch,
        Self::OtherAddress,
        Self::Malformed,
    ];
}

/// How many packets were dropped, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Drops([u64; DropReason::ALL.len()]);

impl Drops {
    /// Counts a dropped packet.
    pub fn count(&mut self, reason: DropReason) {
        self.0[reason as usize] += 1;
    }

    /// Packets dropped for this reason.
    pub fn of(&self, reason: DropReason) -> u64 {
        self.0[reason as usize]
    }

    /// Adds the counts of another connection.
    pub(super) fn add(&mut self, other: &Self) {
        for (count, of_other) in self.0.iter_mut().zip(other.0) {
            *count += of_other;
        }
    }

    /// Packets dropped for any reason.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }
}
