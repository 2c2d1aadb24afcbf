use std::collections::BTreeMap;

use super::pair_table::PairTable;
use super::shares::Sharing;
use super::trigger_budget::TriggerBudget;
use super::{Claims, DecisionContext, Removed, Scheduler, Weighting};
use crate::number::{EntityId, ReceiverId};
use crate::random::Random;
use crate::time::SharedInstant;
use crate::vector::Planar;

/// Sends more often to receivers with more error, in turns instead of by chance, within a budget
/// (Banavar 2005 3.4.2, Aggarwal 2005 5.2).
///
/// Frequencies are those of [`ProbabilisticBudget`](super::ProbabilisticBudget). A receiver that
/// was just sent a copy gets its next one ⌈1/frequency − credit⌉ triggers later; the part lost to
/// rounding is its credit for the next time. Only a receiver that was just sent a copy gets a new
/// turn. A receiver's first DR vector is always sent.
///
/// Three guards are not in the papers; [`as_printed`](Self::as_printed) disables them.
///
/// * A receiver that has not acknowledged anything has an equal share. As printed, its error is
///   still zero, hence its frequency, and it is never sent anything again.
/// * No share is below half of an equal one, so that with n receivers and a budget of one no
///   interval is longer than 2n triggers. Receivers above that pay for it.
/// * The budget is kept. As printed, a frequency is computed only when its receiver is sent a copy,
///   which is when silence and instantaneous error are unusually low: with those factors the cost
///   is 0.9 to 1.07 of the budget (three receivers 200 to 800 ms away). A balance beyond the
///   rounding of every receiver's turn is made up for.
///
/// A copy that the dispatcher sent for [liveness](super::Liveness) counts as a turn: the next turn
/// is computed from there.
#[derive(Clone, Debug)]
pub struct DeterministicBudget {
    budget: TriggerBudget,
    sharing: Sharing,
    keeps_budget: bool,
    turns: PairTable<NextTurn>,
    /// Copies granted for each entity, minus the copies already sent.
    balances: BTreeMap<EntityId, f64>,
    /// Reused from trigger to trigger.
    frequencies: Vec<f64>,
}

impl DeterministicBudget {
    /// The smallest share of a receiver, in equal shares of 1/n.
    const SHARE_MIN: f64 = 0.5;
    /// Number of triggers per receiver over which a balance is made up for: eight turns of every
    /// receiver. Fewer would make turns irregular; more would let the balance grow.
    const MAKES_UP_OVER: f64 = 8.0;
    /// The largest part of the budget that is added or withheld to make up for a balance.
    const MADE_UP_MAX: f64 = 0.25;
    /// The largest balance, in copies per receiver. For an entity that stood still for an hour, the
    /// dispatcher has sent each receiver a thousand copies for liveness; those are not made up for.
    const BALANCE_MAX: f64 = 4.0;

    /// `budget` is per trigger, in DR vectors, or in bytes if departures are reported in bytes.
    pub fn new(budget: f64, weighting: Weighting) -> Self {
        let sharing = Sharing { least: Self::SHARE_MIN, ..Sharing::guarded(weighting) };
        Self {
            budget: TriggerBudget::new(budget),
            sharing,
            keeps_budget: true,
            turns: PairTable::default(),
            balances: BTreeMap::new(),
            frequencies: Vec::new(),
        }
    }

    /// Disables the guards, to show what they are worth. A receiver may then starve forever.
    #[must_use]
    pub fn as_printed(mut self) -> Self {
        self.sharing = Sharing { is_guarded: false, least: 0.0, ..self.sharing };
        self.keeps_budget = false;
        self
    }

    /// Limits a receiver's share of the budget; see
    /// [`ProbabilisticBudget::with_share_max`](super::ProbabilisticBudget::with_share_max).
    #[must_use]
    pub fn with_share_max(mut self, equal_shares: f64) -> Self {
        self.sharing.most = equal_shares;
        self
    }

    /// The copies that this trigger of an entity may cost: the budget and a part of the balance.
    fn grant(&mut self, entity: EntityId, receiver_count: f64) -> f64 {
        let copies = self.budget.copies().min(receiver_count);
        let balance = self.balances.entry(entity).or_default();
        let balance_max = Self::BALANCE_MAX * receiver_count;
        *balance = (*balance + copies).clamp(-balance_max, balance_max);
        if !self.keeps_budget {
            return copies;
        }
        let beyond_rounding = *balance - balance.clamp(-receiver_count, receiver_count);
        let made_up = beyond_rounding / (Self::MAKES_UP_OVER * receiver_count.max(1.0));
        copies + made_up.clamp(-Self::MADE_UP_MAX * copies, Self::MADE_UP_MAX * copies)
    }
}

impl<V: Planar> Scheduler<V> for DeterministicBudget {
    fn on_trigger(&mut self, context: &DecisionContext<'_, V>, _random: &mut Random, claims: &mut Claims) {
        let receiver_count = context.candidates.len() as f64;
        let copies = self.grant(context.entity, receiver_count);
        if !self.turns.aligned(context).any(|turn| turn.concerns(context.index)) {
            return;
        }
        self.sharing.frequencies(context, copies, &mut self.frequencies);
        let frequency_min = self.sharing.least * self.budget.copies().min(receiver_count) / receiver_count;
        let turns = self.turns.aligned(context).zip(&self.frequencies);
        for (candidate, (turn, frequency)) in context.candidates.iter().zip(turns) {
            let frequency = frequency.max(frequency_min);
            if turn.was_sent_otherwise {
                turn.pass(context.index.saturating_sub(1), frequency);
            }
            if turn.at <= context.index {
                turn.pass(context.index, frequency);
                turn.is_claimed = true;
                claims.send(context, candidate.receiver, context.now, candidate.weight());
                *self.balances.entry(context.entity).or_default() -= 1.0;
            }
        }
    }

    fn on_departed(&mut self, entity: EntityId, receiver: ReceiverId, _at: SharedInstant, cost: f64) {
        self.budget.on_departed(cost);
        let Some(turn) = self.turns.get_mut(entity, receiver) else { return };
        if !turn.is_claimed {
            turn.was_sent_otherwise = true;
            *self.balances.entry(entity).or_default() -= 1.0;
        }
        turn.is_claimed = false;
    }

    fn on_removed(&mut self, removed: Removed) {
        self.turns.forget(removed);
        if let Removed::Entity(entity) = removed {
            self.balances.remove(&entity);
        }
    }
}

/// When a receiver is next sent an entity. A new receiver is due at once.
#[derive(Clone, Copy, Debug, Default)]
struct NextTurn {
    /// The index of the entity's trigger.
    at: u64,
    /// How many triggers the receiver has waited longer than its frequency says.
    credit: f64,
    /// Whether a claim was made at its turn and the copy has not departed.
    is_claimed: bool,
    /// Whether a copy departed that was not claimed here.
    was_sent_otherwise: bool,
}

impl NextTurn {
    /// Intervals that are whole but for rounding stay whole: equal shares stay together.
    const ROUNDING: f64 = 1e-9;

    fn concerns(&self, trigger: u64) -> bool {
        self.at <= trigger || self.was_sent_otherwise
    }

    fn pass(&mut self, trigger: u64, frequency: f64) {
        let wanted = 1.0 / frequency - self.credit;
        let interval = (wanted - Self::ROUNDING).ceil().max(1.0);
        self.credit = if interval.is_finite() { interval - wanted } else { 0.0 };
        // Frequency zero means never: the conversion saturates.
        self.at = trigger.saturating_add(interval as u64);
        self.was_sent_otherwise = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_three_and_a_half_triggers_is_now_four_now_three() {
        let mut turn = NextTurn::default();
        let told: Vec<u64> = std::iter::repeat_with(|| {
            turn.pass(turn.at, 1.0 / 3.5);
            turn.at
        })
        .take(4)
        .collect();
        assert_eq!(told, [4, 7, 11, 14]);
    }

    #[test]
    fn rounding_does_not_part_those_who_share_alike() {
        for n in 1..2000u64 {
            let mut turn = NextTurn::default();
            turn.pass(0, 1.0 / n as f64);
            turn.pass(turn.at, 1.0 / n as f64);
            assert_eq!(turn.at, 2 * n);
        }
    }

    #[test]
    fn never_is_never() {
        let mut turn = NextTurn::default();
        turn.pass(7, 0.0);
        assert_eq!((turn.at, turn.credit), (u64::MAX, 0.0));
    }
}
