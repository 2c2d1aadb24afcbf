//! A steady clock from one that may jump.

use fairpath::time::{LocalInstant, Span};

/// The longest accepted step of a clock. A longer step counts as this much, a step back as nothing.
///
/// 500 ms: a stall that a player still waits through. Shorter, and a busy machine loses time that
/// really passed; longer, and a clock that is set (or a machine that slept) makes the game race.
pub const GAP_MAX: Span = Span::from_millis(500);

/// A clock that never goes back and never jumps far ahead.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Steady {
    last: Option<Reading>,
}

#[derive(Clone, Copy, Debug)]
struct Reading {
    clock: LocalInstant,
    steady: LocalInstant,
}

impl Steady {
    pub(super) fn at(&self, now: LocalInstant) -> LocalInstant {
        match self.last {
            Some(last) => last.steady + (now - last.clock).max(Span::ZERO).min(GAP_MAX),
            None => now,
        }
    }

    /// Returns the same and continues from there.
    pub(super) fn advance(&mut self, now: LocalInstant) -> LocalInstant {
        let steady = self.at(now);
        self.last = Some(Reading { clock: now, steady });
        steady
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jumps_are_not_followed() {
        let mut steady = Steady::default();
        let ms = LocalInstant::from_millis;
        let shown = [1_000, 1_010, 900, 910, 3_600_000, 3_600_010].map(|now| steady.advance(ms(now)));
        assert_eq!(shown, [1_000, 1_010, 1_010, 1_020, 1_520, 1_530].map(ms));
    }
}
