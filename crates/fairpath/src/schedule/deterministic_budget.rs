use super::budget::Budget;
use super::roster::Roster;
use super::shares::Sharing;
use super::{Claims, Scene, Scheduler, Weighting};
use crate::number::{EntityId, ReceiverId};
use crate::random::Random;
use crate::time::SharedInstant;
use crate::vector::Planar;

/// Who is worse off is told more often, in turns instead of by chance, within a budget (S0 3.4.2, S1 5.2).
///
/// Frequencies are those of [`ProbabilisticBudget`](super::ProbabilisticBudget). A receiver just told is tagged for
/// the trigger that is ⌈1/frequency − credit⌉ triggers away; what the rounding costs it is its credit for the next
/// time. Only who was just told is tagged anew. A receiver's first DR vector is always sent.
///
/// Two guards are not in the papers. A receiver that has not acknowledged anything has an equal share: as printed,
/// its error is still zero, hence its frequency, and it is never told again. And nobody's share is below half of an
/// equal one, so that with n receivers and a budget of one no interval is longer than 2n triggers; those above pay
/// for it, so the budget is kept. [`as_printed`](Self::as_printed) goes without both.
///
/// A copy that was sent for liveness' sake counts as a turn: the receiver is tagged anew from there.
#[derive(Clone, Debug)]
pub struct DeterministicBudget {
    budget: Budget,
    sharing: Sharing,
    turns: Roster<Turn>,
    /// Reused from trigger to trigger.
    frequencies: Vec<f64>,
}

impl DeterministicBudget {
    /// The least that anybody gets, in equal shares of 1/n.
    const SHARE_MIN: f64 = 0.5;

    /// `budget` is per trigger, in DR vectors, or in bytes if that is what departures are costed in.
    pub fn new(budget: f64, weighting: Weighting) -> Self {
        let sharing = Sharing { least: Self::SHARE_MIN, ..Sharing::guarded(weighting) };
        Self { budget: Budget::new(budget), sharing, turns: Roster::default(), frequencies: Vec::new() }
    }

    /// Without the guards, to show what they are worth: somebody may starve for ever.
    #[must_use]
    pub fn as_printed(mut self) -> Self {
        self.sharing = Sharing { is_guarded: false, least: 0.0, ..self.sharing };
        self
    }

    /// Caps how much of the budget one receiver can draw to itself by overstating its error: at this many equal
    /// shares of 1/n. 1 and above; default infinite, as in the papers.
    ///
    /// Too low takes away what fairness is made of: at 1 everybody has the same. Honest receivers 200, 500 and
    /// 800 ms away want up to 1.6.
    #[must_use]
    pub fn with_share_max(mut self, equal_shares: f64) -> Self {
        self.sharing.most = equal_shares;
        self
    }
}

impl<V: Planar> Scheduler<V> for DeterministicBudget {
    fn on_trigger(&mut self, scene: &Scene<'_, V>, _random: &mut Random, claims: &mut Claims<V>) {
        if !self.turns.in_step(scene).any(|turn| turn.concerns(scene.index)) {
            return;
        }
        let copies = self.budget.copies();
        self.sharing.frequencies(scene.candidates, scene.now, copies, &mut self.frequencies);
        let turns = self.turns.in_step(scene).zip(&self.frequencies);
        for (candidate, (turn, frequency)) in scene.candidates.iter().zip(turns) {
            if turn.was_told_otherwise {
                turn.pass(scene.index.saturating_sub(1), *frequency);
            }
            if turn.at <= scene.index {
                turn.pass(scene.index, *frequency);
                turn.is_claimed = true;
                claims.send(scene, candidate.receiver, scene.now, candidate.weight());
            }
        }
    }

    fn on_departed(&mut self, entity: EntityId, receiver: ReceiverId, _at: SharedInstant, cost: f64) {
        self.budget.on_departed(cost);
        if let Some(turn) = self.turns.get_mut(entity, receiver) {
            turn.was_told_otherwise |= !turn.is_claimed;
            turn.is_claimed = false;
        }
    }

    fn on_left(&mut self, entity: Option<EntityId>, receiver: Option<ReceiverId>) {
        self.turns.forget(entity, receiver);
    }
}

/// When a receiver is next told of an entity. Who is new is told at once.
#[derive(Clone, Copy, Debug, Default)]
struct Turn {
    /// At which of the entity's triggers.
    at: u64,
    /// How many triggers it has waited longer than its frequency says.
    credit: f64,
    /// Whether it was told at its turn and the copy has not left.
    is_claimed: bool,
    /// Whether a copy left that was not claimed here.
    was_told_otherwise: bool,
}

impl Turn {
    /// Intervals that are a whole number but for rounding shall stay that number: receivers with the same share shall
    /// stay together.
    const ROUNDING: f64 = 1e-9;

    fn concerns(&self, trigger: u64) -> bool {
        self.at <= trigger || self.was_told_otherwise
    }

    /// It was told at this trigger: when next?
    fn pass(&mut self, trigger: u64, frequency: f64) {
        let wanted = 1.0 / frequency - self.credit;
        let interval = (wanted - Self::ROUNDING).ceil().max(1.0);
        self.credit = if interval.is_finite() { interval - wanted } else { 0.0 };
        // Frequency zero: never, which is where the conversion saturates.
        self.at = trigger.saturating_add(interval as u64);
        self.was_told_otherwise = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_three_and_a_half_triggers_is_now_four_now_three() {
        let mut turn = Turn::default();
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
            let mut turn = Turn::default();
            turn.pass(0, 1.0 / n as f64);
            turn.pass(turn.at, 1.0 / n as f64);
            assert_eq!(turn.at, 2 * n);
        }
    }

    #[test]
    fn never_is_never() {
        let mut turn = Turn::default();
        turn.pass(7, 0.0);
        assert_eq!((turn.at, turn.credit), (u64::MAX, 0.0));
    }
}
