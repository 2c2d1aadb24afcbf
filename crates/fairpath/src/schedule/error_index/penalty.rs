use super::super::{Candidate, DecisionContext};
use super::{ErrorIndexConfig, delay_of};
use crate::time::Span;
use crate::vector::Planar;

/// How receivers fare compared with each other, and how hard that holds back those who fare well.
///
/// Accounts are taken as sums (error per second times the seconds they know of) and for one entity,
/// so that the same knobs suit a sender of one entity and of many.
#[derive(Clone, Copy, Debug)]
pub(super) struct FairnessPenalty {
    /// The account up to which the others are let down.
    leader: f64,
    /// From error per second over all entities to a sum for one.
    scale: f64,
    /// Per metre-second below the leader, for somebody without delay more than for the farthest.
    pull: f64,
    /// The most that anybody is held back.
    most: f64,
    far_share: f64,
    /// One over the delay of the farthest.
    nearness: f64,
    level: f64,
}

/// No account counts for more than this many times the median one.
///
/// Receivers who are all served some way differ by less than this, whatever their delays. Who
/// stands out more is broken or lies, and must neither raise the price for all others nor make them
/// wait.
const OUTLIER: f64 = 4.0;
/// Nobody waits for the others until more than this many times the mean error could be taken off
/// theirs.
///
/// Where somebody's link stalls for seconds, no waiting makes others as wrong: on a recorded match
/// behind such a link this takes a sixth off the mean error. Where nobody's does it is hardly ever
/// reached.
const HELD_BACK_MAX: f64 = 4.0;
/// The account of who does not answer. It is a guess, and nobody waits for it.
const UNKNOWN: f64 = -1.0;
/// An account so large that something has overflowed.
const ACCOUNT_MAX: f64 = 1e12;

impl FairnessPenalty {
    pub(super) fn among<V: Planar>(
        context: &DecisionContext<'_, V>,
        entities: usize,
        strength: f64,
        config: &ErrorIndexConfig,
        accounts: &mut Vec<f64>,
    ) -> Self {
        let secs = context.account_secs.clamp(0.0, ACCOUNT_MAX);
        let scale = secs / entities.max(1) as f64;
        let (mut farthest, mut all_acknowledge) = (Span::ZERO, true);
        accounts.clear();
        accounts.extend(context.candidates.iter().map(|candidate| {
            all_acknowledge &= candidate.acknowledges;
            if !candidate.acknowledges {
                return UNKNOWN;
            }
            farthest = farthest.max(delay_of(candidate, context.now));
            account_of(candidate, scale)
        }));
        if !all_acknowledge {
            accounts.retain(|account| *account != UNKNOWN);
        }
        let outlier = outlier(accounts);
        let (mut sum, mut largest) = (0.0, 0.0f64);
        for account in accounts.iter() {
            let account = account.min(outlier);
            sum += account;
            largest = largest.max(account);
        }
        let mean = sum / accounts.len().max(1) as f64;
        let farthest = farthest.as_secs_f64();
        let level = mean / (secs + 1.0);
        Self {
            leader: largest.min(config.leader_max * mean),
            scale,
            // Two seconds, and below one: nothing is known in the first moments, and nothing must be
            // infinite.
            pull: strength / (secs + 2.0),
            most: HELD_BACK_MAX * level,
            far_share: config.far_share,
            nearness: if farthest > 0.0 { 1.0 / farthest } else { 0.0 },
            level,
        }
    }

    /// The mean error per second and entity: the distance that a receiver is off on average.
    pub(super) fn level(&self) -> f64 {
        self.level
    }

    /// By how much somebody's gain is lessened because others fare worse.
    pub(super) fn hold_back(&self, candidate: &Candidate, delay: Span) -> f64 {
        let behind = self.leader - account_of(candidate, self.scale);
        if behind > 0.0 {
            let share = self.far_share + (1.0 - delay.as_secs_f64() * self.nearness);
            (self.pull * share * behind).min(self.most)
        } else {
            0.0
        }
    }
}

fn account_of(candidate: &Candidate, scale: f64) -> f64 {
    let account = candidate.account * scale;
    // NaN is not above zero.
    if account > 0.0 { account.min(ACCOUNT_MAX) } else { 0.0 }
}

/// The account above which nobody counts for more. Leaves the accounts in another order.
fn outlier(accounts: &mut [f64]) -> f64 {
    if accounts.is_empty() {
        return 0.0;
    }
    let middle = accounts.len() / 2;
    let (_, median, _) = accounts.select_nth_unstable_by(middle, f64::total_cmp);
    // If most have no error at all, there is nothing to compare with.
    if *median > 0.0 { OUTLIER * *median } else { f64::INFINITY }
}
