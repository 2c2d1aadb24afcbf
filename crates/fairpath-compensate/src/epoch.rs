use std::collections::VecDeque;

/// The run of a server that a message belongs to: a number that the server draws when it starts.
///
/// Deliberately not `Ord`: a server that restarts need not remember its earlier numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Epoch(pub u32);

/// Distinguishes a restarted server from an old packet that was delayed.
///
/// Ticks and stamps start again after a restart, so without epochs they would look stale: the
/// screen would freeze until the new run is as old as the last. A client that receives a new epoch
/// forgets the old run, and remembers that it has ended.
#[derive(Clone, Debug, Default)]
pub struct Epochs {
    current: Option<Epoch>,
    retired: VecDeque<Epoch>,
}

/// The number of past runs remembered. 8: to receive a packet of the ninth last run, a server would
/// have to restart eight times within one packet's life.
pub const RETIRED_MAX: usize = 8;

/// How the epoch of a message relates to the current one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EpochOrder {
    /// The current run.
    Current,
    /// The first run, or a new one: knowledge of the previous run is void.
    Begun,
    /// A run that has ended.
    Retired,
}

impl Epochs {
    /// Takes the epoch of a message.
    pub fn handle_epoch(&mut self, epoch: Epoch) -> EpochOrder {
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

    /// Returns the current run.
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
        assert_eq!(epochs.handle_epoch(Epoch(7)), EpochOrder::Begun);
        assert_eq!(epochs.handle_epoch(Epoch(7)), EpochOrder::Current);
        assert_eq!(epochs.handle_epoch(Epoch(3)), EpochOrder::Begun);
        assert_eq!(epochs.handle_epoch(Epoch(7)), EpochOrder::Retired, "a delayed packet");
        assert_eq!(epochs.current(), Some(Epoch(3)));
        for epoch in 100..200 {
            epochs.handle_epoch(Epoch(epoch));
        }
        assert_eq!(epochs.retired.len(), RETIRED_MAX);
    }
}
