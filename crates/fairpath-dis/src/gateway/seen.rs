use std::collections::{BTreeSet, VecDeque};

/// Remembers which PDUs were seen lately, byte for byte, by a digest of 64 bits.
#[derive(Debug, Default)]
pub(super) struct Seen {
    digests: BTreeSet<u64>,
    order: VecDeque<u64>,
}

/// PDUs remembered: an echo comes within milliseconds, so a second of the largest exercise is
/// plenty.
const SEEN_MAX: usize = 16_384;

impl Seen {
    /// Remembers a PDU and returns whether it is new.
    pub(super) fn insert(&mut self, bytes: &[u8]) -> bool {
        let digest = digest(bytes);
        if !self.digests.insert(digest) {
            return false;
        }
        self.order.push_back(digest);
        if self.order.len() > SEEN_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.digests.remove(&oldest);
        }
        true
    }

    /// Returns whether a PDU was seen.
    pub(super) fn contains(&self, bytes: &[u8]) -> bool {
        !self.digests.is_empty() && self.digests.contains(&digest(bytes))
    }
}

/// FNV-1a, eight bytes at a time.
fn digest(bytes: &[u8]) -> u64 {
    let mut chunks = bytes.chunks_exact(8);
    let mut hash = 0xCBF2_9CE4_8422_2325_u64 ^ bytes.len() as u64;
    let mut mix = |word: u64| {
        hash = (hash ^ word).wrapping_mul(0x0000_0100_0000_01B3);
        hash ^= hash >> 29;
    };
    for chunk in &mut chunks {
        mix(u64::from_le_bytes(chunk.try_into().expect("eight bytes")));
    }
    chunks.remainder().iter().for_each(|byte| mix(u64::from(*byte)));
    hash
}
