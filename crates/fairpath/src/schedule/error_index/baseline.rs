use std::collections::{BTreeMap, VecDeque};

use super::super::DecisionContext;
use super::round_robin::{RoundLimit, RoundRobin};
use super::{delay_of, with_pages};
use crate::ledger::ReceiverBelief;
use crate::number::EntityId;
use crate::time::{SharedInstant, Span};
use crate::vector::Planar;

/// How wrong receivers would be if the same budget told all of them of every k-th DR vector. What
/// fairness may cost is measured by it.
///
/// Nobody has to be told that way to know: the exported path and everybody's delay say where they
/// would place the entity. What delays do not say, losses and stalls, makes receivers as wrong
/// however they are told: it is known from receipts, and added.
#[derive(Clone, Debug, Default)]
pub(super) struct Baseline {
    entities: BTreeMap<EntityId, EntityBaseline>,
    /// Of all entities together.
    sum: MeanErrors,
    /// The mean account of those who were looked at last.
    account: f64,
}

/// MovingMean distances between the entity and where receivers place it.
#[derive(Clone, Copy, Debug, Default)]
struct MeanErrors {
    /// If all were told of every k-th DR vector.
    every_kth: f64,
    /// As things are, for all that was known at the time.
    believed: f64,
}

#[derive(Clone, Debug, Default)]
struct EntityBaseline {
    /// How many DR vectors were generated since all would have been told of one.
    passed_over: u64,
    /// When those were generated that all would have been told of, the oldest first.
    told: VecDeque<SharedInstant>,
    rounds: RoundRobin,
    until: Option<SharedInstant>,
    /// At `until`.
    now: MeanErrors,
    /// Averaged over the time that accounts know of.
    mean: MeanErrors,
}

/// At most so many receivers are looked at, evenly over all of them. A decision must not cost much
/// more because of it, and for the mean of all delays so many are enough.
const LOOKED_AT_MAX: usize = 8;
/// How often it is looked, however many triggers there are: far more often than any error comes and
/// goes.
const STEP: Span = Span::from_millis(50);
/// So many may be under way. At three a second, more than the ledger remembers.
const UNDER_WAY_MAX: usize = 64;
/// A DR vector that none has followed for so long is told to all, whether it is a k-th or not: who
/// tells every k-th keeps the promise of [`Liveness`](super::super::Liveness) too. Without this,
/// two words of somebody who then falls silent would look like a large error.
const STEADY: Span = Span::from_secs(1);

impl Baseline {
    /// A DR vector was generated; all would be told of one in `every`.
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

    /// Whose turn it is, if all were told of every k-th DR vector of an entity.
    pub(super) fn turn(&self, entity: EntityId, now: SharedInstant) -> RoundLimit {
        self.entities.get(&entity).map_or_else(RoundRobin::default, |entity| entity.rounds).turn(now)
    }

    pub(super) fn forget(&mut self, entity: EntityId) {
        if let Some(entity) = self.entities.remove(&entity) {
            self.sum.every_kth -= entity.mean.every_kth;
            self.sum.believed -= entity.mean.believed;
        }
    }

    /// Looks at what receivers place by now. Responsiveness with the mean error over the one that telling
    /// all of every k-th would have led to; nothing before there is any.
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
    /// Responsiveness with the mean account of those it looked at; with nothing, if it has just looked.
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

    /// What somebody would follow to whom nothing has come that was sent after `sent_by`.
    fn heard_by(&self, sent_by: SharedInstant) -> Option<SharedInstant> {
        // Mostly the last or the last but one.
        self.told.iter().rev().find(|told| **told <= sent_by).copied()
    }
}

/// How far it is from `here` to where those place the entity who follow what was generated at these
/// instants, summed up.
fn distances<V: Planar>(context: &DecisionContext<'_, V>, here: V, followed: &mut [SharedInstant]) -> f64 {
    followed.sort_unstable();
    let Some(oldest) = followed.first() else { return 0.0 };
    let mut left = followed.iter().rev().peekable();
    let mut sum = 0.0;
    for (since, path) in context.ledger.exported_back_to(*oldest) {
        let mut distance = None;
        while left.next_if(|generated_at| **generated_at >= since).is_some() {
            // Several mostly follow the same.
            sum += *distance.get_or_insert_with(|| here.distance(path.position_at(context.now)));
        }
    }
    sum
}
