use std::collections::BTreeMap;

use super::steady::Steady;
use fairpath::time::{LocalInstant, Span};

/// Lets some inputs wait a little before they count here, so that others hear of them in time.
///
/// Movement must answer at once; a shot may take 50 ms to leave the barrel, and then everybody sees
/// it leave at the same instant. Send an input when it is made; apply it when it comes out of here.
///
/// ```
/// use fairpath_compensate::LocalLag;
/// use fairpath::time::{LocalInstant, Span};
///
/// #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
/// enum Kind { Move, Fire }
///
/// let ms = LocalInstant::from_millis;
/// let mut hands = LocalLag::new().with(Kind::Fire, Span::from_millis(50));
/// hands.push(ms(0), Kind::Fire, "shot");
/// hands.push(ms(0), Kind::Move, "left");
/// assert_eq!(hands.poll(ms(0)), Some((Kind::Move, "left")));
/// assert_eq!(hands.poll(ms(49)), None);
/// assert_eq!(hands.poll(ms(50)), Some((Kind::Fire, "shot")));
/// ```
#[derive(Clone, Debug)]
pub struct LocalLag<K, I> {
    lags: BTreeMap<K, Span>,
    clock: Steady,
    /// By when they are due and in which order they came.
    waiting: BTreeMap<(LocalInstant, u64), (K, I)>,
    count: u64,
}

/// How many inputs wait at most: 256. Beyond it the next one is let out early rather than lost.
pub const LOCAL_LAG_LEN_MAX: usize = 256;

impl<K: Copy + Ord, I> LocalLag<K, I> {
    /// Nothing waits.
    pub fn new() -> Self {
        Self { lags: BTreeMap::new(), clock: Steady::default(), waiting: BTreeMap::new(), count: 0 }
    }

    /// Inputs of this kind wait for `lag`. Default none. Up to about 100 ms a shot still feels like
    /// one's own; a lag of the one-way delay lets everybody see it at once.
    #[must_use]
    pub fn with(mut self, kind: K, lag: Span) -> Self {
        self.lags.insert(kind, lag.max(Span::ZERO));
        self
    }

    /// An input is made. A clock that jumps neither holds it back nor lets it out by more than
    /// [`GAP_MAX`](super::GAP_MAX).
    pub fn push(&mut self, now: LocalInstant, kind: K, input: I) {
        let due = self.clock.advance(now) + self.lags.get(&kind).copied().unwrap_or(Span::ZERO);
        self.waiting.insert((due, self.count), (kind, input));
        self.count += 1;
    }

    /// The next input that counts from now on. Of those due at one instant, the first made comes
    /// first.
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
        let mut hands = LocalLag::new().with('f', Span::from_millis(50));
        hands.push(ms(1_000_000), 'f', 1);
        assert_eq!(hands.poll(ms(0)), None);
        assert_eq!(hands.poll(ms(30)), None);
        assert_eq!(hands.poll(ms(60)), Some(('f', 1)));
    }

    #[test]
    fn too_many_are_let_out_early() {
        let mut hands = LocalLag::new().with('f', Span::from_secs(3_600));
        for number in 0..1_000 {
            hands.push(LocalInstant::ZERO, 'f', number);
            while hands.poll(LocalInstant::ZERO).is_some() {}
        }
        assert_eq!(hands.waiting.len(), LOCAL_LAG_LEN_MAX);
    }
}
