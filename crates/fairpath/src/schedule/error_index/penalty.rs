use super::super::{Candidate, DecisionContext};
use super::{ErrorIndexConfig, delay_of};
use crate::time::Span;
use crate::vector::Planar;

/// The errors of receivers compared with each other, and the resulting penalty for receivers with
/// little error. Accounts are taken as sums (error per second times the seconds they cover) and for
/// one entity, so that the same settings fit senders of one entity and of many.
#[derive(Clone, Copy, Debug)]
pub(super) struct FairnessPenalty {
    /// The account that the others are compared with.
    leader: f64,
    /// Converts error per second over all entities to a sum for one.
    scale: f64,
    /// Penalty per metre-second below the leader; largest for a receiver without delay.
    pull: f64,
    /// The largest penalty.
    most: f64,
    far_share: f64,
    /// One over the delay of the farthest receiver.
    nearness: f64,
    level: f64,
}

/// No account counts for more than this many times the median. Receivers that are all served
/// somehow differ by less than this, whatever their delays. A receiver above that is broken or
/// dishonest, and must neither raise the price for all others nor make them wait.
const OUTLIER: f64 = 4.0;
/// The largest penalty, as a multiple of the mean error. Where a link stalls for seconds, no
/// waiting makes the other receivers as wrong: on a recorded match behind such a link this limit
/// takes a sixth off the mean error. Without stalls it is hardly ever reached.
const HELD_BACK_MAX: f64 = 4.0;
/// The account of a receiver that does not acknowledge: a guess, for which no other waits.
const UNKNOWN: f64 = -1.0;
/// Upper limit for accounts, against overflow.
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
            // Two seconds more: nothing is known at first, and nothing must be infinite.
            pull: strength / (secs + 2.0),
            most: HELD_BACK_MAX * level,
            far_share: config.far_share,
            nearness: if farthest > 0.0 { 1.0 / farthest } else { 0.0 },
            level,
        }
    }

    /// The mean error per second and entity: the mean distance of all receivers.
    pub(super) fn level(&self) -> f64 {
        self.level
    }

    /// By how much a receiver's gain is reduced because others have more error.
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

/// The largest account that counts. Reorders the accounts.
fn outlier(accounts: &mut [f64]) -> f64 {
    if accounts.is_empty() {
        return 0.0;
    }
    let middle = accounts.len() / 2;
    let (_, median, _) = accounts.select_nth_unstable_by(middle, f64::total_cmp);
    // If most receivers have no error at all, there is nothing to compare with.
    if *median > 0.0 { OUTLIER * *median } else { f64::INFINITY }
}
