use super::shares::Sharing;
use super::trigger_budget::TriggerBudget;
use super::{Claims, DecisionContext, Scheduler, Weighting};
use crate::number::{EntityId, ReceiverId};
use crate::random::Random;
use crate::time::SharedInstant;
use crate::vector::Planar;

/// Sends more often to receivers with more error, by chance, within a budget (Banavar 2005 3.4.1).
///
/// Every receiver has a share of the budget by its errors and its silence ([`Weighting`]), and is
/// sent a DR vector with the probability share × budget. Where that is above 1, the surplus is
/// spread equally over the other receivers. A receiver's first DR vector is always sent.
///
/// Unlike in the papers, a receiver that has not acknowledged anything yet has an equal share
/// (otherwise it starves while its first DR vector is under way), equal shares are used where all
/// errors are zero (the code of Banavar 2005 divides by zero there), and the budget pays for copies
/// that the dispatcher sent for [liveness](super::Liveness).
#[derive(Clone, Debug)]
pub struct ProbabilisticBudget {
    draw: Draw,
    budget: TriggerBudget,
    sharing: Sharing,
    /// Number of own claims that have not departed.
    claimed: usize,
    /// Number of departed copies that were not claimed here and are not paid for yet.
    owed: f64,
    /// Reused from trigger to trigger.
    shares: Vec<f64>,
}

#[derive(Clone, Copy, Debug)]
enum Draw {
    /// Each receiver by a draw of its own: Banavar 2005.
    Each,
    /// Exactly one receiver: Aggarwal 2005.
    One,
}

impl ProbabilisticBudget {
    /// At most this part of a trigger's budget pays for copies that the dispatcher sent.
    const HELD_BACK_MAX: f64 = 0.5;
    /// The largest number of copies owed. For an entity that stood still for an hour, the
    /// dispatcher has sent each receiver a thousand copies for liveness; when the entity moves
    /// again, that debt must not silence it.
    const OWED_MAX: f64 = 8.0;

    /// Draws for every receiver separately, as in Banavar 2005. `budget` is per trigger, in DR
    /// vectors, or in bytes if departures are reported in bytes.
    pub fn new(budget: f64, weighting: Weighting) -> Self {
        Self::with(Draw::Each, budget, weighting)
    }

    /// Draws one receiver at every trigger by the shares, as in Aggarwal 2005.
    pub fn picking_one(weighting: Weighting) -> Self {
        Self::with(Draw::One, 1.0, weighting)
    }

    /// Limits a receiver's share of the budget, so that it gains little by overstating its error:
    /// to this many equal shares of 1/n. 1 or more; default infinite, as in the papers.
    ///
    /// Too low removes fairness: at 1 every receiver has the same share. Honest receivers 200, 500
    /// and 800 ms away need up to 1.6.
    #[must_use]
    pub fn with_share_max(mut self, equal_shares: f64) -> Self {
        self.sharing.most = equal_shares;
        self
    }

    fn with(draw: Draw, budget: f64, weighting: Weighting) -> Self {
        Self {
            draw,
            budget: TriggerBudget::new(budget),
            sharing: Sharing::guarded(weighting),
            claimed: 0,
            owed: 0.0,
            shares: Vec::new(),
        }
    }

    /// The average number of copies that this trigger may cost, after a part of the debt is paid.
    fn grant(&mut self) -> f64 {
        let copies = self.budget.copies();
        let held_back = self.owed.min(Self::HELD_BACK_MAX * copies);
        self.owed -= held_back;
        copies - held_back
    }
}

impl<V: Planar> Scheduler<V> for ProbabilisticBudget {
    fn on_trigger(&mut self, context: &DecisionContext<'_, V>, random: &mut Random, claims: &mut Claims) {
        let copies = self.grant();
        match self.draw {
            Draw::Each => {
                self.sharing.frequencies(context, copies, &mut self.shares);
                for (candidate, frequency) in context.candidates.iter().zip(&self.shares) {
                    // Drawn for every receiver, so that a new one does not change other draws.
                    let is_lucky = random.chance(*frequency);
                    if is_lucky || candidate.is_new() {
                        claims.send(context, candidate.receiver, context.now, candidate.weight());
                    }
                }
            }
            Draw::One => {
                self.sharing.shares(context, &mut self.shares);
                let picked = pick(&self.shares, random.unit()).filter(|_| random.chance(copies));
                for (position, candidate) in context.candidates.iter().enumerate() {
                    if picked == Some(position) || candidate.is_new() {
                        claims.send(context, candidate.receiver, context.now, candidate.weight());
                    }
                }
            }
        }
        self.claimed = claims.len();
    }

    fn on_departed(&mut self, _entity: EntityId, _receiver: ReceiverId, _at: SharedInstant, cost: f64) {
        self.budget.on_departed(match self.draw {
            Draw::Each => cost,
            Draw::One => 1.0,
        });
        match self.claimed.checked_sub(1) {
            Some(still_claimed) => self.claimed = still_claimed,
            None => self.owed = (self.owed + 1.0).min(Self::OWED_MAX),
        }
    }
}

/// The position at which a number between 0 and 1 falls if the shares are laid end to end.
fn pick(shares: &[f64], unit: f64) -> Option<usize> {
    let mut left = unit;
    for (position, share) in shares.iter().enumerate() {
        left -= share;
        if left < 0.0 {
            return Some(position);
        }
    }
    // Rounding: the shares sum up to slightly less than one.
    shares.len().checked_sub(1)
}
