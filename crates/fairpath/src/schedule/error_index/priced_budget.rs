use std::collections::BTreeMap;

use super::ErrorIndexConfig;
use crate::number::EntityId;
use crate::time::SharedInstant;

/// The budget, and the price that keeps spending in step with it.
///
/// Copies are paid for when they depart, at what they really cost; until then claims only reserve.
#[derive(Clone, Debug)]
pub(super) struct PricedBudget {
    /// Earned and not spent; negative, if it owes.
    tokens: f64,
    /// What the price has learnt: its logarithm, relative to the mean error.
    learnt: f64,
    entities: BTreeMap<EntityId, EntityBudget>,
    /// What a copy of any of them cost lately.
    cost: Option<f64>,
}

#[derive(Clone, Copy, Debug, Default)]
struct EntityBudget {
    /// What a copy cost lately.
    cost: Option<f64>,
    /// How many copies are to leave whatever they cost.
    musts: usize,
    /// When all will have frozen on what there is to tell.
    freezes_at: Option<SharedInstant>,
    /// What it has earned and not spent, within `allowance` of nothing.
    own: f64,
    allowance: f64,
}

/// How many triggers' worth of budget are best in the budget: what one trigger earns and has not
/// spent yet.
const BEST_SAVED: f64 = 1.0;
/// The largest deviation from it that is learnt from: beyond, it is a quiet stretch or a battle,
/// not the level.
const LEARNT_FROM_MAX: f64 = 10.0;
/// Where learning ends: prices of a fiftieth of the mean error, and of seven times. No recording
/// asks for more, and a price must find back within a few hundred triggers.
const LEARNT: std::ops::RangeInclusive<f64> = -4.0..=2.0;
/// By how many copies for everybody an entity may have spent more than it has earned, or less, if
/// it shares the budget.
///
/// Two: a birth, and a turn at once. More, and one that jumps about lives at the others' expense:
/// without this, whose numbers come from far away makes others' error 1.2 times as large instead of
/// 1.15, in the worst of twenty sieges. Less, and turns wait although others are quiet. Six players
/// as fast as each other have 1 % less error with it, and six who are not 6 % less.
const ALLOWANCE: f64 = 2.0;
/// How much of a new cost is learnt.
const COST_GAIN: f64 = 1.0 / 8.0;

impl Default for PricedBudget {
    fn default() -> Self {
        Self { tokens: 0.0, learnt: 0.0, entities: BTreeMap::new(), cost: None }
    }
}

impl PricedBudget {
    pub(super) fn tokens(&self) -> f64 {
        self.tokens
    }

    /// How many entities share it.
    pub(super) fn entities(&self) -> usize {
        self.entities.len()
    }

    /// An entity shares it from now on, and what there is to tell of it freezes then.
    pub(super) fn add_entity(&mut self, entity: EntityId, freezes_at: Option<SharedInstant>) {
        self.entities.entry(entity).or_default().freezes_at = freezes_at;
    }

    pub(super) fn forget(&mut self, entity: EntityId) {
        self.entities.remove(&entity);
    }

    /// A trigger of an entity that so many receivers are told of brings its budget in, and teaches
    /// the price.
    pub(super) fn earn(&mut self, entity: EntityId, receivers: usize, config: &ErrorIndexConfig) {
        if config.budget <= 0.0 {
            return;
        }
        let typical = self.typical_cost();
        if let Some(known) = self.entities.get_mut(&entity) {
            known.allowance = ALLOWANCE * receivers as f64 * known.cost.map_or(typical, at_least_something);
            known.own = (known.own + config.budget).min(known.allowance);
        }
        let saved = self.tokens / config.budget - BEST_SAVED;
        let lesson = config.price_learning * saved.clamp(-LEARNT_FROM_MAX, LEARNT_FROM_MAX);
        self.learnt = (self.learnt - lesson).clamp(*LEARNT.start(), *LEARNT.end());
        self.tokens = (self.tokens + config.budget).min(config.save * config.budget);
    }

    /// So many copies about this entity are to leave whatever they cost.
    pub(super) fn must_send(&mut self, entity: EntityId, copies: usize) {
        if let Some(known) = self.entities.get_mut(&entity) {
            known.musts = copies;
        }
    }

    /// A copy left at this cost. Nonsense costs nothing.
    ///
    /// What must leave is paid for in full, in time. What others make leave, the dispatcher for its
    /// promises, is paid for as far as there is credit, and not at all once everybody has
    /// frozen on it: else whoever is promised much, or an owner who has fallen silent, would
    /// take the budget from all.
    pub(super) fn pay(&mut self, entity: EntityId, at: SharedInstant, cost: f64, config: &ErrorIndexConfig) {
        let cost = if cost.is_finite() { cost.max(0.0) } else { 0.0 };
        let mut debt_max = config.borrow;
        learn(&mut self.cost, cost);
        if let Some(known) = self.entities.get_mut(&entity) {
            learn(&mut known.cost, cost);
            if known.musts > 0 {
                known.musts -= 1;
                debt_max = config.save;
            } else if known.freezes_at.is_some_and(|freezes_at| at > freezes_at) {
                return;
            }
            known.own = (known.own - cost).max(-known.allowance);
        }
        let least = self.tokens.min(-debt_max * config.budget);
        self.tokens = (self.tokens - cost).max(least);
    }

    /// What a copy about this entity must gain, in units of length.
    pub(super) fn price(
        &self,
        entity: EntityId,
        level: f64,
        reserved: usize,
        config: &ErrorIndexConfig,
    ) -> f64 {
        if config.budget <= 0.0 {
            return f64::INFINITY;
        }
        let saved = self.free(reserved) / config.budget - BEST_SAVED;
        let dearer = self.cost_of(entity) / self.typical_cost();
        level * dearer * libm::exp(self.learnt - config.price_response * saved)
    }

    /// Whether every trigger earns a copy for each of so many receivers: then nobody has to wait
    /// for anybody.
    pub(super) fn is_plenty(&self, entity: EntityId, receivers: usize, config: &ErrorIndexConfig) -> bool {
        config.budget >= receivers as f64 * self.cost_of(entity) && config.budget > 0.0
    }

    /// How many triggers earn a copy for each of so many receivers; infinite, if none does.
    pub(super) fn triggers_for_all(
        &self,
        entity: EntityId,
        receivers: usize,
        config: &ErrorIndexConfig,
    ) -> f64 {
        receivers as f64 * self.cost_of(entity) / config.budget
    }

    /// How many copies about this entity can be paid for now.
    pub(super) fn affordable(&self, entity: EntityId, reserved: usize, config: &ErrorIndexConfig) -> usize {
        let credit = (self.free(reserved) + config.borrow * config.budget).min(self.own_credit(entity));
        // Thirds of a token do not add up to one exactly.
        (credit / self.cost_of(entity) + 1e-9).max(0.0) as usize
    }

    /// What one entity may spend of what all share. Who shares with nobody has all of it.
    fn own_credit(&self, entity: EntityId) -> f64 {
        if self.entities.len() <= 1 {
            return f64::INFINITY;
        }
        self.entities.get(&entity).map_or(f64::INFINITY, |known| known.own + known.allowance)
    }

    /// What neither was spent nor is reserved for claims that wait.
    fn free(&self, reserved: usize) -> f64 {
        self.tokens - reserved as f64 * self.typical_cost()
    }

    fn cost_of(&self, entity: EntityId) -> f64 {
        self.entities
            .get(&entity)
            .and_then(|known| known.cost)
            .map_or_else(|| self.typical_cost(), at_least_something)
    }

    /// One, before anything has left.
    fn typical_cost(&self) -> f64 {
        self.cost.map_or(1.0, at_least_something)
    }
}

fn learn(known: &mut Option<f64>, cost: f64) {
    *known = Some(known.map_or(cost, |known| known + COST_GAIN * (cost - known)));
}

/// Free copies must not make a price of zero over zero.
fn at_least_something(cost: f64) -> f64 {
    cost.max(1e-9)
}
