//! Entities of other servers, by the DR vectors of their owners.

use fairpath::place::{Arrival, Placement};
use fairpath::time::{Now, Span};
use fairpath::vector::Planar;
use fairpath::{DrVector, Replica, State};

use crate::config::Moment;
use crate::message::GhostBatch;
use crate::record::{Revision, Title};

/// An entity of another server.
#[derive(Clone, Debug)]
pub struct Ghost<V: Planar> {
    title: Title,
    vector: DrVector<V>,
    replica: Replica<V>,
}

/// Why a DR vector of another server is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GhostRefusal {
    /// It arrived after the sender's lease.
    Late,
    /// It is stamped after the sender's lease.
    StampedLate,
    /// A newer lease of the cell is known.
    OldFence,
    /// An owner with a later term is known.
    OldTerm,
    /// A newer DR vector is known, or this one lies in the future.
    Stale,
}

impl<V: Planar> Ghost<V> {
    /// Returns the title of the owner.
    pub fn title(&self) -> Title {
        self.title
    }

    /// Returns the newest DR vector, exactly as its owner exported it.
    pub fn vector(&self) -> &DrVector<V> {
        &self.vector
    }

    /// Returns the state at `now`.
    pub fn place(&self, now: Now) -> Option<State<V>> {
        self.replica.place(now)
    }

    /// Starts or updates a ghost with one DR vector of a batch that [`check_batch`] has admitted.
    pub(crate) fn accept(
        slot: &mut Option<Self>,
        (title, vector): (Title, &DrVector<V>),
        moment: &Moment,
        sent_at: fairpath::SharedInstant,
    ) -> Result<(), GhostRefusal> {
        let now = Now { local: moment.local, shared: moment.shared };
        let travelled = (moment.shared - sent_at).max(Span::ZERO);
        let arrival = Arrival { travelled, ..Arrival::at(now) };
        let mut ghost = match slot.as_ref() {
            Some(ghost) if title.term < ghost.title.term => return Err(GhostRefusal::OldTerm),
            // A new owner may continue from a checkpoint: its path is the newer one by its term.
            Some(ghost) if title.term == ghost.title.term => ghost.clone(),
            _ => Self { title, vector: *vector, replica: Replica::new(Placement::Global) },
        };
        if ghost.replica.accept(vector, &arrival) != fairpath::place::Acceptance::Used {
            return Err(GhostRefusal::Stale);
        }
        (ghost.title, ghost.vector) = (title, *vector);
        *slot = Some(ghost);
        Ok(())
    }
}

/// Checks what a batch claims about its sender's lease.
pub(crate) fn check_batch<V: Planar>(
    batch: &GhostBatch<V>,
    newest_fence: Revision,
    moment: &Moment,
) -> Result<(), GhostRefusal> {
    if moment.shared - moment.uncertainty > batch.speak_until {
        return Err(GhostRefusal::Late);
    }
    if batch.sent_at > batch.speak_until {
        return Err(GhostRefusal::StampedLate);
    }
    if batch.fence < newest_fence {
        return Err(GhostRefusal::OldFence);
    }
    Ok(())
}
