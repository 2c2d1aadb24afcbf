//! Bytes and claims stay within their budgets, copies keep the class's least interval, and a rider
//! that stands on a moving carrier costs heartbeats only.
//!
//! The model: a token bucket for each link that every datagram draws from and that must not become
//! negative. Streams draw only from the real bucket, so this is an upper bound.

use std::collections::BTreeMap;

use fairpath::DrVector;
use fairpath::number::{EntityId, Life, ReceiverId};
use fairpath::schedule::Removed;
use fairpath::session::Budget;
use fairpath::time::{SharedInstant, Span};
use fairpath::vector::Vec2;
use fairpath_sim::DatagramRoute;

use super::{Findings, Law};
use crate::plan::SchedulerPlan;

#[derive(Debug)]
pub(crate) struct BudgetCheck {
    budget: Budget,
    interval_min: Span,
    scheduler: SchedulerPlan,
    /// One bucket per route. Real buckets outlive transports, so this allows one more burst each.
    buckets: BTreeMap<DatagramRoute, BudgetBucket>,
    departed: BTreeMap<(EntityId, ReceiverId), SharedInstant>,
    claims: ClaimCount,
    /// Riders that stand on their carriers.
    standing: BTreeMap<EntityId, StandingRider>,
}

/// The DR vectors of a rider since it boarded its carrier.
#[derive(Clone, Copy, Debug)]
struct StandingRider {
    life: Life,
    carrier: EntityId,
    since: SharedInstant,
    count: u32,
}

#[derive(Clone, Copy, Debug)]
struct BudgetBucket {
    level: f64,
    at: SharedInstant,
}

#[derive(Clone, Copy, Debug, Default)]
struct ClaimCount {
    made: f64,
    allowed: f64,
    new: f64,
    most: f64,
}

impl BudgetCheck {
    pub(crate) fn new(budget: Budget, interval_min: Span, scheduler: SchedulerPlan) -> Self {
        Self {
            budget,
            interval_min,
            scheduler,
            buckets: BTreeMap::new(),
            departed: BTreeMap::new(),
            claims: ClaimCount::default(),
            standing: BTreeMap::new(),
        }
    }

    /// Takes in a sent datagram. A client's clock may be `ppm` too fast.
    pub(crate) fn on_sent(
        &mut self,
        way: DatagramRoute,
        bytes: usize,
        ppm: f64,
        at: SharedInstant,
        findings: &mut Findings,
    ) {
        let (rate, burst) = (f64::from(self.budget.bytes_per_sec), f64::from(self.budget.burst_bytes));
        let rate = rate * (1.0 + ppm * 1e-6);
        let full = BudgetBucket { level: burst, at };
        let bucket = self.buckets.entry(way).or_insert(full);
        let since = (at - bucket.at).as_secs_f64();
        *bucket = BudgetBucket { level: (bucket.level + rate * since).min(burst) - bytes as f64, at };
        let level = bucket.level;
        // One byte of tolerance for rounding.
        findings.check(Law::Budget, at, level >= -1.0, || {
            let who = if way.is_up { "client" } else { "the server to client" };
            format!("{who} {} exceeded its budget by {:.0} bytes", way.client, -level)
        });
    }

    /// Takes in a clock step: a client whose clock jumps ahead fills its bucket.
    pub(crate) fn on_step(&mut self, client: usize) {
        self.buckets.retain(|way, _| way.client != client || !way.is_up);
    }

    pub(crate) fn on_departed(
        &mut self,
        pair: (EntityId, ReceiverId),
        at: SharedInstant,
        findings: &mut Findings,
    ) {
        let before = self.departed.insert(pair, at);
        let is_late_enough = before.is_none_or(|before| at - before >= self.interval_min);
        findings.check(Law::Budget, at, is_late_enough, || {
            format!("receiver {} gets object {} too often", pair.1.0, pair.0.0)
        });
    }

    pub(crate) fn on_removed(&mut self, left: Removed) {
        self.departed.retain(|(entity, receiver), _| match left {
            Removed::Entity(gone) => *entity != gone,
            Removed::Receiver(gone) => *receiver != gone,
            Removed::Pair(it, to) => (*entity, *receiver) != (it, to),
        });
    }

    /// Takes in a trigger: its candidates, the copies claimed, candidates without any earlier copy.
    pub(crate) fn on_trigger(
        &mut self,
        candidates: usize,
        claimed: usize,
        new: usize,
        at: SharedInstant,
        findings: &mut Findings,
    ) {
        let Some(allowed) = self.scheduler.copies_per_trigger(candidates) else { return };
        let claims = &mut self.claims;
        claims.made += claimed as f64;
        claims.allowed += allowed.min(candidates as f64);
        claims.new += new as f64;
        claims.most = claims.most.max(candidates as f64);
        // Tolerance: five standard deviations for random schedulers, one round for the others.
        let slack = 5.0 * (claims.allowed * claims.most).sqrt() + 2.0 * claims.most + claims.new;
        let (made, allowed) = (claims.made, claims.allowed);
        findings.check(Law::Budget, at, made <= allowed + slack, || {
            format!("the scheduler claimed {made:.0} copies, more than {allowed:.0}")
        });
    }

    /// Takes in a DR vector of a rider that does not move on its carrier: it costs a heartbeat a
    /// second. Twice that is allowed, because owners change.
    pub(crate) fn on_standing(
        &mut self,
        vector: &DrVector<Vec2>,
        now: SharedInstant,
        findings: &mut Findings,
    ) {
        let Some(carrier) = vector.parent else {
            self.standing.remove(&vector.entity);
            return;
        };
        let boarded = StandingRider { life: vector.life, carrier, since: now, count: 0 };
        let rider = self.standing.entry(vector.entity).or_insert(boarded);
        if (rider.life, rider.carrier) != (vector.life, carrier) {
            *rider = boarded;
        }
        rider.count += 1;
        let (count, secs) = (rider.count, (now - rider.since).as_secs_f64());
        findings.check(Law::Budget, now, f64::from(count) <= 4.0 + 2.0 * secs, || {
            let entity = vector.entity.0;
            format!("rider {entity} stands on its carrier and costs {count} DR vectors in {secs:.1} s")
        });
    }

    pub(crate) fn on_restarted(&mut self) {
        self.buckets.clear();
        self.departed.clear();
        self.standing.clear();
        self.claims = ClaimCount::default();
    }
}
