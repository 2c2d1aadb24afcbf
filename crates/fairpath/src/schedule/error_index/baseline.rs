use std::collections::{BTreeMap, VecDeque};

use super::super::DecisionContext;
use super::round_robin::{RoundLimit, RoundRobin};
use super::{delay_of, with_pages};
use crate::ledger::ReceiverBelief;
use crate::number::EntityId;
use crate::time::{SharedInstant, Span};
use crate::vector::Planar;

/// The error that receivers would have if the same budget sent every k-th DR vector to all of them.
/// The cost of fairness is measured against it. This needs no sending: the exported path and the
/// receivers' delays give their placed positions. Losses and stalls, which delays do not show,
/// cause the same error however copies are scheduled: receipts reveal that error, and it is added.
#[derive(Clone, Debug, Default)]
pub(super) struct Baseline {
    entities: BTreeMap<EntityId, EntityBaseline>,
    /// Sum over all entities.
    sum: MeanErrors,
    /// The mean account of the receivers sampled last.
    account: f64,
}

/// Mean distances between the entity and where receivers place it.
#[derive(Clone, Copy, Debug, Default)]
struct MeanErrors {
    /// If all receivers were sent every k-th DR vector.
    every_kth: f64,
    /// As it is, by what was known at the time.
    believed: f64,
}

#[derive(Clone, Debug, Default)]
struct EntityBaseline {
    /// Number of DR vectors generated since the last one that all receivers would have been sent.
    passed_over: u64,
    /// Generation times of those that all receivers would have been sent, the oldest first.
    told: VecDeque<SharedInstant>,
    rounds: RoundRobin,
    until: Option<SharedInstant>,
    /// The errors at `until`.
    now: MeanErrors,
    /// Averaged over the time that accounts cover.
    mean: MeanErrors,
}

/// The largest number of receivers that are sampled, evenly over all of them. A decision must not
/// cost much more because of it, and so many are enough for the mean of all delays.
const LOOKED_AT_MAX: usize = 8;
/// The sampling interval, however many triggers there are: much shorter than the life of any error.
const STEP: Span = Span::from_millis(50);
/// The largest number of DR vectors under way. At three a second, more than the ledger remembers.
const UNDER_WAY_MAX: usize = 64;
/// A DR vector that stays the newest for so long is sent to all receivers, k-th or not: the
/// baseline keeps the guarantee of [`Liveness`](super::super::Liveness) too. Without this, a
/// receiver that reports twice and then falls silent would look like a large error.
const STEADY: Span = Span::from_secs(1);

impl Baseline {
    /// A DR vector was generated; all receivers would be sent one in `every`.
    pub(super) fn on_trigger<V: Planar>(&mut self, context: &DecisionContext<'_, V>, every: f64) {
        let entity = self.entities.entry(context.entity).or_default();
        if entity.passed_over == 0 {
            if entity.told.len() == UNDER_WAY_MAX {
                entity.told.pop_front();
            }
            entity.told.push_back(context.vector.generated_at);
            entity.rounds.begin(context.now);
        }
        entity.passed_over += 1;
        if entity.passed_over as f64 >= every.round() {
            entity.passed_over = 0;
        }
    }

    /// The round limit of an entity if all receivers were sent every k-th of its DR vectors.
    pub(super) fn turn(&self, entity: EntityId, now: SharedInstant) -> RoundLimit {
        self.entities.get(&entity).map_or_else(RoundRobin::default, |entity| entity.rounds).turn(now)
    }

    pub(super) fn forget(&mut self, entity: EntityId) {
        if let Some(entity) = self.entities.remove(&entity) {
            self.sum.every_kth -= entity.mean.every_kth;
            self.sum.believed -= entity.mean.believed;
        }
    }

    /// Samples the receivers' errors. Returns the mean error over that of sending every k-th to all
    /// receivers; `None` before there is any.
    pub(super) fn compare<V: Planar>(&mut self, context: &DecisionContext<'_, V>) -> Option<f64> {
        let entity = self.entities.get_mut(&context.entity)?;
        let before = entity.mean;
        if let Some(account) = entity.look(context) {
            self.sum.every_kth += entity.mean.every_kth - before.every_kth;
            self.sum.believed += entity.mean.believed - before.believed;
            self.account = account;
        }
        let of_one = 1.0 / self.entities.len() as f64;
        let account = self.account * of_one;
        let unforeseen = (account - self.sum.believed * of_one).max(0.0);
        let every_kth = self.sum.every_kth * of_one + unforeseen;
        (every_kth > 0.0).then(|| account / every_kth).filter(|times| times.is_finite())
    }
}

impl EntityBaseline {
    /// Samples, and returns the sampled receivers' mean account; `None` if it is too early.
    fn look<V: Planar>(&mut self, context: &DecisionContext<'_, V>) -> Option<f64> {
        let passed = self.until.map(|until| context.now - until);
        if passed.is_some_and(|passed| passed < STEP) {
            return None;
        }
        let (now, account) = self.looked_at(context)?;
        if context.account_secs > 0.0 {
            let share = (passed.unwrap_or(Span::ZERO).as_secs_f64() / context.account_secs).min(1.0);
            let learn = |mean: &mut f64, was: f64, is: f64| *mean += (0.5 * (was + is) - *mean) * share;
            learn(&mut self.mean.every_kth, self.now.every_kth, now.every_kth);
            learn(&mut self.mean.believed, self.now.believed, now.believed);
        }
        self.now = now;
        self.until = Some(context.now);
        Some(account)
    }

    fn looked_at<V: Planar>(&self, context: &DecisionContext<'_, V>) -> Option<(MeanErrors, f64)> {
        let here = context.ledger.exported()?.position_at(context.now);
        let mut heard = [SharedInstant::ZERO; LOOKED_AT_MAX];
        let (mut heard_count, mut count) = (0, 0);
        let (mut believed, mut accounts) = (0.0, 0.0);
        let every = context.candidates.len().div_ceil(LOOKED_AT_MAX).max(1);
        for (candidate, page) in
            with_pages(context).filter(|(candidate, _)| candidate.acknowledges).step_by(every)
        {
            count += 1;
            accounts += candidate.account.max(0.0);
            if let ReceiverBelief::Places(placed) = page.belief_at(context.now) {
                believed += here.distance(placed.position_at(context.now));
            }
            let sent_by = context.now - delay_of(candidate, context.now);
            let newest = context.vector.generated_at;
            let promised = (newest + STEADY <= sent_by).then_some(newest);
            if let Some(told) = promised.or_else(|| self.heard_by(sent_by)) {
                heard[heard_count] = told;
                heard_count += 1;
            }
        }
        if count == 0 {
            return None;
        }
        let of_one = 1.0 / f64::from(count);
        if context.is_outdated() {
            return Some((MeanErrors::default(), accounts * of_one));
        }
        let every_kth = distances(context, here, &mut heard[..heard_count]);
        Some((MeanErrors { every_kth: every_kth * of_one, believed: believed * of_one }, accounts * of_one))
    }

    /// The DR vector that a receiver would follow that has received nothing sent after `sent_by`.
    fn heard_by(&self, sent_by: SharedInstant) -> Option<SharedInstant> {
        // Mostly the last or the last but one.
        self.told.iter().rev().find(|told| **told <= sent_by).copied()
    }
}

/// The summed distances from `here` to where followers of these instants' DR vectors place it.
fn distances<V: Planar>(context: &DecisionContext<'_, V>, here: V, followed: &mut [SharedInstant]) -> f64 {
    followed.sort_unstable();
    let Some(oldest) = followed.first() else { return 0.0 };
    let mut left = followed.iter().rev().peekable();
    let mut sum = 0.0;
    for (since, path) in context.ledger.exported_back_to(*oldest) {
        let mut distance = None;
        while left.next_if(|generated_at| **generated_at >= since).is_some() {
            // Several receivers mostly follow the same DR vector.
            sum += *distance.get_or_insert_with(|| here.distance(path.position_at(context.now)));
        }
    }
    sum
}
