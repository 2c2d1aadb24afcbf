use std::collections::{BTreeMap, BTreeSet};

use super::interest::WorldVersion;
use super::waiting::Waiting;
use super::{Admitted, ConnectionId};
use crate::dr_vector::DrVector;
use crate::number::EntityId;
use crate::place::Acceptance;
use crate::session::bucket::Bucket;
use crate::session::channel::Channel;
use crate::session::limits::{
    CALLS_BURST, CALLS_PER_SEC, REFUSALS_BURST, REFUSALS_PER_SEC, REQUESTS_BURST, REQUESTS_PER_SEC,
};
use crate::session::{Household, Token};
use crate::time::SharedInstant;
use crate::vector::Planar;

#[derive(Debug)]
pub(super) struct Member<V: Planar> {
    pub(super) channel: Channel,
    pub(super) token: Token,
    pub(super) connection: Option<ConnectionId>,
    pub(super) detached_at: Option<SharedInstant>,
    pub(super) heard_at: SharedInstant,
    /// What the admission check learned about the player.
    pub(super) admitted: Admitted,
    pub(super) household: Household,
    /// Objects that the client is to see and has not been told of.
    pub(super) waiting: Waiting,
    /// Objects that the client sees, including its own.
    pub(super) seen: BTreeSet<EntityId>,
    pub(super) owned: BTreeSet<EntityId>,
    /// State of the world in which a scope check last found nothing to change while all objects
    /// were at rest.
    pub(super) settled_in: Option<WorldVersion>,
    /// Granted ids that are not used yet.
    pub(super) granted: BTreeSet<u32>,
    /// DR vectors, with send times, of objects whose creation, or that of their parent, has not
    /// arrived: datagrams overtake streams.
    pub(super) early: BTreeMap<EntityId, (DrVector<V>, SharedInstant)>,
    /// A reliable message did not fit into the outbox: the session must end.
    pub(super) is_overfull: bool,
    pub(super) calls: Bucket,
    pub(super) requests: Bucket,
    pub(super) refusals: Bucket,
}

impl<V: Planar> Member<V> {
    pub(super) fn new(
        token: Token,
        admitted: Admitted,
        household: Household,
        channel: Channel,
        now: SharedInstant,
    ) -> Self {
        let bucket = |per_sec: u32, burst: u32| Bucket::new(per_sec.into(), burst.into());
        Self {
            channel,
            token,
            connection: None,
            detached_at: None,
            heard_at: now,
            admitted,
            household,
            waiting: Waiting::default(),
            seen: BTreeSet::new(),
            owned: BTreeSet::new(),
            settled_in: None,
            granted: BTreeSet::new(),
            early: BTreeMap::new(),
            is_overfull: false,
            calls: bucket(CALLS_PER_SEC, CALLS_BURST),
            requests: bucket(REQUESTS_PER_SEC, REQUESTS_BURST),
            refusals: bucket(REFUSALS_PER_SEC, REFUSALS_BURST),
        }
    }

    /// Keeps a DR vector until a creation arrives, unless a newer one is kept.
    pub(super) fn keep_early(&mut self, vector: &DrVector<V>, sent_at: SharedInstant) -> Acceptance {
        let kept = self.early.get(&vector.entity);
        if kept.is_some_and(|(kept, _)| vector.generated_at <= kept.generated_at) {
            return Acceptance::Stale;
        }
        self.early.insert(vector.entity, (*vector, sent_at));
        Acceptance::Used
    }

    pub(super) fn on_heard(&mut self, bytes: usize, now: SharedInstant) {
        self.heard_at = now;
        self.channel.count_received(bytes);
    }
}
