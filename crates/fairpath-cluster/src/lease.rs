//! The lease of one cell, as one server sees it.

use fairpath::time::{LocalInstant, SharedInstant, Span};

use crate::config::{LONG_AGO, Moment, ZoneConfig};
use crate::record::{LeaseRecord, Revision, ServerId};
use crate::register::{Attempt, Outcome, Register};

/// One cell's lease.
#[derive(Clone, Debug)]
pub(crate) struct Lease {
    pub(crate) register: Register<(LeaseWrite, SharedInstant)>,
    /// The newest record, and when this server first saw it.
    seen: Option<(LeaseRecord, LocalInstant)>,
    held: Option<Held>,
    /// Set from the decision to give the cell up until the release is committed.
    giving_up: Option<Option<ServerId>>,
    retry_at: LocalInstant,
}

/// What a write to the lease does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LeaseWrite {
    Acquire,
    Renew(Revision),
    Release(Option<ServerId>),
}

#[derive(Clone, Copy, Debug)]
struct Held {
    fence: Revision,
    /// When the holder stops: the lease time after it sent the last renewal, less the margin.
    until: LocalInstant,
    /// The same on the shared clock: it also counts while this machine is suspended.
    until_shared: SharedInstant,
    renew_at: LocalInstant,
}

/// What a change of the lease means for the entities in the cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LeaseChange {
    Acquired(Revision),
    Lost,
    Released,
}

impl Lease {
    pub(crate) fn new() -> Self {
        Self { register: Register::unread(), seen: None, held: None, giving_up: None, retry_at: LONG_AGO }
    }

    /// Returns the fence if the lease lasts at `now`, also while it is being given up.
    pub(crate) fn fence(&self, now: &Moment) -> Option<Revision> {
        let lasts = |held: &Held| now.local < held.until && now.shared < held.until_shared;
        self.held.filter(lasts).map(|held| held.fence)
    }

    /// Returns whether the holder under this fence may speak at `now`.
    pub(crate) fn covers(&self, fence: Revision, now: &Moment) -> bool {
        self.giving_up.is_none() && self.fence(now) == Some(fence)
    }

    /// Returns when the holder must stop to speak.
    pub(crate) fn speak_until(&self) -> Option<SharedInstant> {
        self.held.map(|held| held.until_shared)
    }

    pub(crate) fn is_given_up(&self) -> bool {
        self.giving_up.is_some()
    }

    /// Returns whether this server holds the cell as far as it knows, lapsed or not.
    pub(crate) fn is_held(&self) -> bool {
        self.held.is_some()
    }

    /// Returns the newest fence of the cell that this server has heard of.
    pub(crate) fn newest_fence(&self) -> Revision {
        self.seen.map_or(Revision::NONE, |(record, _)| record.fence_at(self.register.known))
    }

    pub(crate) fn holder(&self) -> Option<ServerId> {
        self.seen.and_then(|(record, _)| record.holder)
    }

    pub(crate) fn give_up(&mut self, successor: Option<ServerId>) {
        if self.held.is_some() {
            self.giving_up.get_or_insert(successor);
        }
    }

    /// Returns the write that is due, if the register is free.
    ///
    /// `patience` delays servers that should not be the first to take the cell; `None`: this server
    /// takes none. `may_release`: no entity needs the cell any more.
    pub(crate) fn due_write(
        &self,
        now: LocalInstant,
        me: ServerId,
        patience: Option<Span>,
        may_release: bool,
        config: &ZoneConfig,
    ) -> Option<LeaseWrite> {
        if let Some(held) = self.held {
            return match self.giving_up {
                Some(successor) if may_release => Some(LeaseWrite::Release(successor)),
                _ => (now >= held.renew_at).then_some(LeaseWrite::Renew(held.fence)),
            };
        }
        let patience = patience?;
        let (record, seen_at) = self.seen?;
        let is_free_at = match record {
            LeaseRecord { holder: None, successor, .. } if successor == Some(me) => seen_at,
            LeaseRecord { holder: None, .. } => seen_at + patience,
            LeaseRecord { holder: Some(holder), .. } if holder == me => seen_at,
            // The holder may have sent its last renewal the moment before it was seen.
            _ => seen_at + config.lease + patience,
        };
        (now >= is_free_at.max(self.retry_at)).then_some(LeaseWrite::Acquire)
    }

    /// Notes that nobody has ever held the cell.
    pub(crate) fn handle_absent(&mut self, now: LocalInstant) {
        if self.seen.is_none() {
            let write = Default::default();
            self.seen = Some((LeaseRecord { write, holder: None, fence: None, successor: None }, now));
        }
    }

    /// Handles a record that a read or the watch has shown, possibly an old one.
    pub(crate) fn handle_seen(
        &mut self,
        (revision, record): (Revision, LeaseRecord),
        now: LocalInstant,
        config: &ZoneConfig,
    ) -> Option<LeaseChange> {
        let outcome = self.register.handle_seen(revision, record.write);
        self.handle_outcome(outcome, Some(record), now, config)
    }

    pub(crate) fn handle_outcome(
        &mut self,
        outcome: Outcome<(LeaseWrite, SharedInstant)>,
        record: Option<LeaseRecord>,
        now: LocalInstant,
        config: &ZoneConfig,
    ) -> Option<LeaseChange> {
        match outcome {
            Outcome::Committed(attempt) => self.on_committed(&attempt, now, config),
            Outcome::Overtaken => {
                self.seen = record.map(|record| (record, now));
                self.giving_up = None;
                self.held.take().map(|_| LeaseChange::Lost)
            }
            Outcome::Open => None,
        }
    }

    fn on_committed(
        &mut self,
        attempt: &Attempt<(LeaseWrite, SharedInstant)>,
        now: LocalInstant,
        config: &ZoneConfig,
    ) -> Option<LeaseChange> {
        let (meaning, sent_at_shared) = attempt.meaning;
        let fence = match meaning {
            LeaseWrite::Acquire => self.register.known,
            LeaseWrite::Renew(fence) => fence,
            LeaseWrite::Release(successor) => {
                let record = LeaseRecord { write: attempt.write, holder: None, fence: None, successor };
                self.seen = Some((record, now));
                (self.held, self.giving_up) = (None, None);
                // Others first.
                self.retry_at = now + config.lease;
                return Some(LeaseChange::Released);
            }
        };
        let holder = Some(attempt.write.server);
        let record = LeaseRecord { write: attempt.write, holder, fence: Some(fence), successor: None };
        self.seen = Some((record, now));
        // From before it was sent: a taker may have seen the record at once.
        let counted_from = attempt.sent_at;
        let lasting = config.lease - config.margin;
        let (until, until_shared) = (counted_from + lasting, sent_at_shared + lasting);
        let renew_at = counted_from + config.lease.scaled(0.25);
        self.held = Some(Held { fence, until, until_shared, renew_at });
        (meaning == LeaseWrite::Acquire).then_some(LeaseChange::Acquired(fence))
    }
}
