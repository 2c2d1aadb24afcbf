use std::collections::BTreeMap;

use super::steady::Steady;
use fairpath::time::{LocalInstant, Span};

/// Delays some inputs before they apply locally, so that other players receive them in time.
///
/// Movement must respond at once. A shot may take 50 ms to leave the barrel, and then all players
/// see it at the same instant. Send an input when it is made; apply it when it comes out of here.
///
/// ```
/// use fairpath_compensate::LocalLag;
/// use fairpath::time::{LocalInstant, Span};
///
/// #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
/// enum Kind { Move, Fire }
///
/// let ms = LocalInstant::from_millis;
/// let mut inputs = LocalLag::new().with(Kind::Fire, Span::from_millis(50));
/// inputs.push(ms(0), Kind::Fire, "shot");
/// inputs.push(ms(0), Kind::Move, "left");
/// assert_eq!(inputs.poll(ms(0)), Some((Kind::Move, "left")));
/// assert_eq!(inputs.poll(ms(49)), None);
/// assert_eq!(inputs.poll(ms(50)), Some((Kind::Fire, "shot")));
/// ```
#[derive(Clone, Debug)]
pub struct LocalLag<K, I> {
    lags: BTreeMap<K, Span>,
    clock: Steady,
    /// By due time and order of arrival.
    waiting: BTreeMap<(LocalInstant, u64), (K, I)>,
    count: u64,
}

/// The maximum number of waiting inputs: 256. Beyond it the next one is released early, not lost.
pub const LOCAL_LAG_LEN_MAX: usize = 256;

impl<K: Copy + Ord, I> LocalLag<K, I> {
    /// Creates an empty one.
    pub fn new() -> Self {
        Self { lags: BTreeMap::new(), clock: Steady::default(), waiting: BTreeMap::new(), count: 0 }
    }

    /// Delays inputs of this kind by `lag`. Default: no delay. Up to about 100 ms a shot still
    /// feels like the player's own; with a lag of the one-way delay all players see it at once.
    #[must_use]
    pub fn with(mut self, kind: K, lag: Span) -> Self {
        self.lags.insert(kind, lag.max(Span::ZERO));
        self
    }

    /// Takes an input. A jump of the clock changes its delay by at most
    /// [`GAP_MAX`](super::GAP_MAX).
    pub fn push(&mut self, now: LocalInstant, kind: K, input: I) {
        let due = self.clock.advance(now) + self.lags.get(&kind).copied().unwrap_or(Span::ZERO);
        self.waiting.insert((due, self.count), (kind, input));
        self.count += 1;
    }

    /// Returns the next input that applies from now on. Inputs that are due at the same instant
    /// come in the order they were made.
    pub fn poll(&mut self, now: LocalInstant) -> Option<(K, I)> {
        let now = self.clock.advance(now);
        let is_full = self.waiting.len() > LOCAL_LAG_LEN_MAX;
        let first = self.waiting.first_entry().filter(|first| is_full || first.key().0 <= now)?;
        Some(first.remove())
    }
}

impl<K: Copy + Ord, I> Default for LocalLag<K, I> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_jumps_back_does_not_hold_inputs_for_ever() {
        let ms = LocalInstant::from_millis;
        let mut inputs = LocalLag::new().with('f', Span::from_millis(50));
        inputs.push(ms(1_000_000), 'f', 1);
        assert_eq!(inputs.poll(ms(0)), None);
        assert_eq!(inputs.poll(ms(30)), None);
        assert_eq!(inputs.poll(ms(60)), Some(('f', 1)));
    }

    #[test]
    fn too_many_are_let_out_early() {
        let mut inputs = LocalLag::new().with('f', Span::from_secs(3_600));
        for number in 0..1_000 {
            inputs.push(LocalInstant::ZERO, 'f', number);
            while inputs.poll(LocalInstant::ZERO).is_some() {}
        }
        assert_eq!(inputs.waiting.len(), LOCAL_LAG_LEN_MAX);
    }
}
