use super::shares::Sharing;
use super::trigger_budget::TriggerBudget;
use super::{Claims, DecisionContext, Scheduler, Weighting};
use crate::number::{EntityId, ReceiverId};
use crate::random::Random;
use crate::time::SharedInstant;
use crate::vector::Planar;

/// Who is worse off is told more often, by chance, within a budget (Banavar 2005 3.4.1).
///
/// Every receiver has a share of the budget by its errors and its silence ([`Weighting`]), and is
/// told with the probability share × budget; where that is above 1, the surplus is spread equally
/// over the others. A receiver's first DR vector is always sent.
///
/// Unlike in the papers, a receiver that has not acknowledged anything yet has an equal share (else
/// it starves while its first DR vector is on the way), equal shares stand in where all errors are
/// zero (Banavar 2005's code divides by it), and copies that were sent for liveness' sake are paid
/// for out of the budget.
#[derive(Clone, Debug)]
pub struct ProbabilisticBudget {
    draw: Draw,
    budget: TriggerBudget,
    sharing: Sharing,
    /// How many claims wait that were made here.
    claimed: usize,
    /// How many copies have left that were not claimed here, and are not paid for.
    owed: f64,
    /// Reused from trigger to trigger.
    shares: Vec<f64>,
}

#[derive(Clone, Copy, Debug)]
enum Draw {
    /// For each receiver apart: Banavar 2005.
    Each,
    /// One receiver and no other: Aggarwal 2005.
    One,
}

impl ProbabilisticBudget {
    /// At most this part of a trigger's budget pays for copies that others sent: the rest is still
    /// to decide about.
    const HELD_BACK_MAX: f64 = 0.5;
    /// No more than this many copies are owed. A sender that stood still for an hour has told
    /// everybody a thousand times, for liveness' sake; when it moves again, that must not keep
    /// it silent.
    const OWED_MAX: f64 = 8.0;

    /// Banavar 2005's: every receiver by a draw of its own. `budget` is per trigger, in DR vectors,
    /// or in bytes if that is what departures are costed in.
    pub fn new(budget: f64, weighting: Weighting) -> Self {
        Self::with(Draw::Each, budget, weighting)
    }

    /// Aggarwal 2005's: one receiver at every trigger, drawn by the shares.
    pub fn picking_one(weighting: Weighting) -> Self {
        Self::with(Draw::One, 1.0, weighting)
    }

    /// Caps how much of the budget one receiver can draw to itself by overstating its error: at
    /// this many equal shares of 1/n. 1 and above; default infinite, as in the papers.
    ///
    /// Too low takes away what fairness is made of: at 1 everybody has the same. Honest receivers
    /// 200, 500 and 800 ms away want up to 1.6.
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

    /// How many copies this trigger may cost, on average, after something is paid of what is owed.
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
                self.sharing.frequencies(context.candidates, context.now, copies, &mut self.shares);
                for (candidate, frequency) in context.candidates.iter().zip(&self.shares) {
                    // Drawn for everybody, so that who is new does not change the others' luck.
                    let is_lucky = random.chance(*frequency);
                    if is_lucky || candidate.is_new() {
                        claims.send(context, candidate.receiver, context.now, candidate.weight());
                    }
                }
            }
            Draw::One => {
                self.sharing.shares(context.candidates, context.now, &mut self.shares);
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

/// Where a number between 0 and 1 falls if the shares are laid end to end.
fn pick(shares: &[f64], unit: f64) -> Option<usize> {
    let mut left = unit;
    for (position, share) in shares.iter().enumerate() {
        left -= share;
        if left < 0.0 {
            return Some(position);
        }
    }
    // Rounding: the shares sum up to a hair less than one.
    shares.len().checked_sub(1)
}
