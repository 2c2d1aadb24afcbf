use std::collections::BTreeSet;

/// The set of received numbers, in any order and with repetitions.
#[derive(Clone, Debug, Default)]
pub(super) struct ReceivedNumbers {
    /// All numbers below this are in the set.
    floor: u64,
    /// Further numbers above `floor`.
    beyond: BTreeSet<u64>,
}

/// A number so far ahead that no honest peer could have sent it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooFarAhead;

impl ReceivedNumbers {
    /// Adds a number; returns whether it is new. Refuses `window` or more above the first missing.
    pub(super) fn insert(&mut self, number: u64, window: u64) -> Result<bool, TooFarAhead> {
        if number < self.floor {
            return Ok(false);
        }
        if number - self.floor >= window {
            return Err(TooFarAhead);
        }
        let is_new = self.beyond.insert(number);
        self.advance();
        Ok(is_new)
    }

    /// Adds a number; returns whether it is new. More than `window` below the newest, it is not.
    pub(super) fn slide(&mut self, number: u64, window: u64) -> bool {
        if number < self.floor {
            return false;
        }
        let is_new = self.beyond.insert(number);
        self.floor = self.floor.max(number.saturating_sub(window));
        self.beyond = self.beyond.split_off(&self.floor);
        self.advance();
        is_new
    }

    pub(super) fn floor(&self) -> u64 {
        self.floor
    }

    pub(super) fn beyond(&self) -> impl Iterator<Item = u64> + '_ {
        self.beyond.iter().copied()
    }

    fn advance(&mut self) {
        while self.beyond.remove(&self.floor) {
            self.floor += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_is_new_once() {
        let mut seen = ReceivedNumbers::default();
        let new: Vec<bool> = [2, 0, 2, 1, 0, 3].map(|number| seen.insert(number, 8).unwrap()).to_vec();
        assert_eq!(new, [true, true, false, true, false, true]);
        assert_eq!((seen.floor(), seen.beyond().count()), (4, 0));
        assert_eq!(seen.insert(12, 8), Err(TooFarAhead));
    }

    #[test]
    fn sliding_forgets_what_never_came() {
        let mut seen = ReceivedNumbers::default();
        assert!(seen.slide(100, 10) && !seen.slide(100, 10));
        assert!(!seen.slide(80, 10), "too old to tell");
        assert!(seen.slide(95, 10));
    }
}
