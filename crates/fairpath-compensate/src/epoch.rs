use std::collections::VecDeque;

/// Which run of a server a message is from: a number the server draws when it starts.
///
/// Deliberately not `Ord`: a server that restarts need not remember what it drew before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Epoch(pub u32);

/// Tells a server that has restarted from an old packet that took its time.
///
/// Ticks and stamps begin again after a restart, so by themselves they look stale for ever: the
/// screen would freeze until the new run is as old as the last. Whoever hears a new epoch forgets
/// the old run, and keeps in mind that it is over.
#[derive(Clone, Debug, Default)]
pub struct Epochs {
    current: Option<Epoch>,
    retired: VecDeque<Epoch>,
}

/// How many past runs are remembered. 8: for a packet of the ninth last run to arrive, a server
/// would have to restart eight times within one packet's life.
pub const RETIRED_MAX: usize = 8;

/// How a message's epoch stands to the present one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EpochOrder {
    /// The run we are in.
    Current,
    /// The first run we hear of, or a new one: what was known of the last is void.
    Begun,
    /// A run that is over.
    Retired,
}

impl Epochs {
    /// Hears of an epoch.
    pub fn hear(&mut self, epoch: Epoch) -> EpochOrder {
        if self.current == Some(epoch) {
            return EpochOrder::Current;
        }
        if self.retired.contains(&epoch) {
            return EpochOrder::Retired;
        }
        if let Some(over) = self.current.replace(epoch) {
            if self.retired.len() == RETIRED_MAX {
                self.retired.pop_front();
            }
            self.retired.push_back(over);
        }
        EpochOrder::Begun
    }

    /// The run we are in.
    pub fn current(&self) -> Option<Epoch> {
        self.current
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_is_over_does_not_come_back() {
        let mut epochs = Epochs::default();
        assert_eq!(epochs.hear(Epoch(7)), EpochOrder::Begun);
        assert_eq!(epochs.hear(Epoch(7)), EpochOrder::Current);
        assert_eq!(epochs.hear(Epoch(3)), EpochOrder::Begun);
        assert_eq!(epochs.hear(Epoch(7)), EpochOrder::Retired, "a packet that took its time");
        assert_eq!(epochs.current(), Some(Epoch(3)));
        for epoch in 100..200 {
            epochs.hear(Epoch(epoch));
        }
        assert_eq!(epochs.retired.len(), RETIRED_MAX);
    }
}
