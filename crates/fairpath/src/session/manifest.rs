//! The objects that one peer is sent, and how often it may and must be updated.

use std::cmp::Reverse;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use super::class::Rates;
use crate::number::{EntityId, ReceiverId};
use crate::schedule::{Claim, Departure, Dispatcher};
use crate::time::{SharedInstant, Span};
use crate::vector::Planar;

/// The objects that one peer is sent.
#[derive(Clone, Debug, Default)]
pub(super) struct Manifest {
    items: BTreeMap<EntityId, Item>,
    /// When each object is looked at next, to see whether an update is overdue.
    looks: BTreeSet<(SharedInstant, EntityId)>,
}

#[derive(Clone, Copy, Debug)]
struct Item {
    rates: Rates,
    since: SharedInstant,
    last_sent: Option<SharedInstant>,
    /// Its entry in `looks`: not after [`latest`](Self::latest), but perhaps before.
    look_at: SharedInstant,
}

impl Manifest {
    /// Time without an update after which an object's weight has doubled, if not all fit.
    ///
    /// 100 ms: a handful of packets. Much longer: light claims starve behind heavy ones. Much
    /// shorter: weight hardly matters.
    const WEIGHT_DOUBLES: Span = Span::from_millis(100);
    /// Weight of a claim without weight: below any error that matters, but waiting increases it.
    const WEIGHT_FLOOR: f64 = 1e-3;
    /// Pause between two looks at an overdue object that could not be sent, or was never observed.
    /// 50 ms is small against intervals of seconds.
    const LOOK_EVERY: Span = Span::from_millis(50);

    pub(super) fn add(&mut self, object: EntityId, rates: Rates, now: SharedInstant) {
        if let Entry::Vacant(place) = self.items.entry(object) {
            place.insert(Item { rates, since: now, last_sent: None, look_at: now });
            self.looks.insert((now, object));
        }
    }

    /// Looks at an object again at `now`: its update did not leave.
    pub(super) fn look_again(&mut self, object: EntityId, now: SharedInstant) {
        if let Some(item) = self.items.get_mut(&object)
            && now < item.look_at
        {
            self.looks.remove(&(item.look_at, object));
            self.looks.insert((now, object));
            item.look_at = now;
        }
    }

    pub(super) fn remove(&mut self, object: EntityId) {
        if let Some(item) = self.items.remove(&object) {
            self.looks.remove(&(item.look_at, object));
        }
    }

    pub(super) fn contains(&self, object: EntityId) -> bool {
        self.items.contains_key(&object)
    }

    /// Starts over on a new transport: every object is due.
    pub(super) fn rewind(&mut self, now: SharedInstant) {
        self.looks.clear();
        for (object, item) in &mut self.items {
            (item.since, item.last_sent, item.look_at) = (now, None, now);
            self.looks.insert((now, *object));
        }
    }

    pub(super) fn on_departed(&mut self, object: EntityId, now: SharedInstant) {
        if let Some(item) = self.items.get_mut(&object) {
            item.last_sent = Some(now);
        }
    }

    /// Returns the updates that may leave for this peer now, the most urgent first: the scheduler's
    /// claims, objects never sent, and objects over their longest interval. An update too soon
    /// after the last is put back.
    pub(super) fn gather<V: Planar>(
        &mut self,
        dispatcher: &mut Dispatcher<V>,
        receiver: ReceiverId,
        now: SharedInstant,
    ) -> Vec<Departure> {
        let mut gathered: Vec<(Departure, f64)> = Vec::new();
        for departure in dispatcher.poll_departures(Some(receiver), now) {
            let Some(item) = self.items.get(&departure.claim.entity) else { continue };
            if item.earliest() > now {
                hold(dispatcher, departure, item.earliest());
            } else {
                gathered.push((departure, item.urgency(&departure.claim, now)));
            }
        }
        while let Some((_, object)) = self.looks.first().copied().filter(|(at, _)| *at <= now) {
            self.looks.pop_first();
            let Some(item) = self.items.get_mut(&object) else { continue };
            let latest = item.latest();
            item.look_at = latest.max(now + Self::LOOK_EVERY);
            self.looks.insert((item.look_at, object));
            if latest <= now
                && let Some(newest) = dispatcher.newest(object)
            {
                let (weight, generated_at) = (item.weight(), newest.generated_at);
                let claim = Claim { entity: object, receiver, due: now, weight, delay: None, generated_at };
                gathered.push((Departure { claim, is_promise: true }, item.urgency(&claim, now)));
            }
        }
        // Of two updates of one object keep the newer; of two equal ones the claim comes first.
        gathered
            .sort_by_key(|(departure, _)| (departure.claim.entity, Reverse(departure.claim.generated_at)));
        gathered.dedup_by_key(|(departure, _)| departure.claim.entity);
        gathered.sort_by(|(_, one), (_, other)| other.total_cmp(one));
        gathered.into_iter().map(|(departure, _)| departure).collect()
    }

    /// Returns when [`gather`](Self::gather) has an update that no scheduler claims.
    pub(super) fn poll_deadline(&self) -> Option<SharedInstant> {
        self.looks.first().map(|(at, _)| *at)
    }
}

impl Item {
    fn earliest(&self) -> SharedInstant {
        self.last_sent.map_or(self.since, |last| last + self.rates.interval_min)
    }

    fn latest(&self) -> SharedInstant {
        self.last_sent.map_or(self.since, |last| last + self.rates.interval_max)
    }

    /// An object that the peer has never been sent comes first.
    fn weight(&self) -> f64 {
        if self.last_sent.is_none() { f64::MAX } else { 0.0 }
    }

    /// Returns the claim's weight, which grows with the time since the last update.
    fn urgency(&self, claim: &Claim, now: SharedInstant) -> f64 {
        let silence = (now - self.last_sent.unwrap_or(self.since)).max(Span::ZERO);
        let doublings = silence.as_secs_f64() / Manifest::WEIGHT_DOUBLES.as_secs_f64();
        (claim.weight.max(0.0) + Manifest::WEIGHT_FLOOR).min(f64::MAX / 1e9) * (1.0 + doublings)
    }
}

/// Puts back an update that may not leave before `until`.
pub(super) fn hold<V: Planar>(dispatcher: &mut Dispatcher<V>, departure: Departure, until: SharedInstant) {
    let claim = Claim { due: departure.claim.due.max(until), ..departure.claim };
    dispatcher.put_back(Departure { claim, ..departure });
}
