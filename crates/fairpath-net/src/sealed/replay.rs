//! Which numbers were opened before.

use super::DropReason;

/// Numbers below the newest that are remembered: 256, four seconds at 64 packets a second. A
/// session gives up a peer that is silent for four seconds, so no useful packet is later than that.
pub const REPLAY_WINDOW: u64 = 256;

const WORDS: usize = (REPLAY_WINDOW / 64) as usize;

/// A sliding bitmap of the newest [`REPLAY_WINDOW`] numbers.
#[derive(Clone, Debug, Default)]
pub struct ReplayWindow {
    /// One above the newest number opened; 0 before the first.
    expected: u64,
    /// Bit `number % REPLAY_WINDOW`, of the last `REPLAY_WINDOW` numbers below `expected`.
    seen: [u64; WORDS],
}

impl ReplayWindow {
    /// One above the newest number that was marked.
    pub fn expected(&self) -> u64 {
        self.expected
    }

    /// Says why a packet with this number must be dropped, if it must.
    pub fn check(&self, number: u64) -> Result<(), DropReason> {
        if number >= self.expected {
            Ok(())
        } else if self.expected - number > REPLAY_WINDOW {
            Err(DropReason::TooOld)
        } else if self.is_seen(number) {
            Err(DropReason::Replayed)
        } else {
            Ok(())
        }
    }

    /// Remembers a number that [`check`](Self::check) let pass and whose packet was authentic.
    pub fn mark(&mut self, number: u64) {
        if number >= self.expected {
            self.forget(number);
            self.expected = number.saturating_add(1);
        }
        let (word, bit) = place(number);
        self.seen[word] |= bit;
    }

    fn is_seen(&self, number: u64) -> bool {
        let (word, bit) = place(number);
        self.seen[word] & bit != 0
    }

    /// Clears the bits of the numbers that enter the window up to `newest`.
    fn forget(&mut self, newest: u64) {
        if newest - self.expected >= REPLAY_WINDOW {
            self.seen = [0; WORDS];
            return;
        }
        for number in self.expected..=newest {
            let (word, bit) = place(number);
            self.seen[word] &= !bit;
        }
    }
}

fn place(number: u64) -> (usize, u64) {
    let at = number % REPLAY_WINDOW;
    ((at / 64) as usize, 1 << (at % 64))
}
