use std::collections::BTreeMap;

use super::ErrorIndexConfig;
use crate::number::EntityId;
use crate::time::SharedInstant;

/// The budget, and the price that keeps spending in step with it. Copies are paid for at departure,
/// at their real cost; until then claims only reserve budget.
#[derive(Clone, Debug)]
pub(super) struct PricedBudget {
    /// Unspent budget; negative if overspent.
    tokens: f64,
    /// Logarithm of the learnt price, relative to the mean error.
    learnt: f64,
    entities: BTreeMap<EntityId, EntityBudget>,
    /// Moving mean of the cost of a copy of any entity.
    cost: Option<f64>,
}

#[derive(Clone, Copy, Debug, Default)]
struct EntityBudget {
    /// Moving mean of the cost of a copy.
    cost: Option<f64>,
    /// Number of copies to be sent at any cost.
    musts: usize,
    /// When all replicas will have frozen on the newest DR vector.
    freezes_at: Option<SharedInstant>,
    /// The entity's own unspent budget, within ± `allowance`.
    own: f64,
    allowance: f64,
}

/// The target savings, in triggers' worth of budget: the unspent income of one trigger.
const BEST_SAVED: f64 = 1.0;
/// The largest deviation that is learnt from: more is a quiet stretch or a battle, not the level.
const LEARNT_FROM_MAX: f64 = 10.0;
/// Limits of learning: prices of a fiftieth of the mean error, and of seven times. No recording
/// needs more, and a price must recover within a few hundred triggers.
const LEARNT: std::ops::RangeInclusive<f64> = -4.0..=2.0;
/// How much an entity's spending may differ from its income, in copies to all receivers.
///
/// Two: the first copy, and a turn at once. More, and an entity that jumps about takes budget from
/// the others: without this limit an entity whose numbers come from far away makes others' error
/// 1.2 times as large instead of 1.15, in the worst of twenty attacks. Less, and turns wait
/// although other entities are quiet. Six players of equal speed have 1 % less error with it, and
/// six of different speed 6 % less.
const ALLOWANCE: f64 = 2.0;
/// Weight of a new cost in the moving mean.
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

    pub(super) fn entities(&self) -> usize {
        self.entities.len()
    }

    /// Adds an entity that shares the budget, and sets when its newest DR vector freezes.
    pub(super) fn add_entity(&mut self, entity: EntityId, freezes_at: Option<SharedInstant>) {
        self.entities.entry(entity).or_default().freezes_at = freezes_at;
    }

    pub(super) fn forget(&mut self, entity: EntityId) {
        self.entities.remove(&entity);
    }

    /// Adds the income of one trigger of an entity with so many receivers, and adjusts the price.
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

    /// Sets how many copies about this entity are to be sent at any cost.
    pub(super) fn must_send(&mut self, entity: EntityId, copies: usize) {
        if let Some(known) = self.entities.get_mut(&entity) {
            known.musts = copies;
        }
    }

    /// A copy was sent at this cost. Negative and non-finite costs count as zero. Copies that must
    /// be sent are paid for in full, over time. Copies that the dispatcher sends for liveness are
    /// paid for as far as there is credit, and not at all once all replicas have frozen on them.
    /// Otherwise an entity that needs many, or a silent owner, would take the budget from all.
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

    /// The gain that a copy about this entity must exceed, in units of length.
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

    /// Whether every trigger earns a copy for each of so many receivers: then none has to wait.
    pub(super) fn is_plenty(&self, entity: EntityId, receivers: usize, config: &ErrorIndexConfig) -> bool {
        config.budget >= receivers as f64 * self.cost_of(entity) && config.budget > 0.0
    }

    /// How many triggers earn a copy for each of so many receivers; infinite if none does.
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

    /// How much of the shared budget one entity may spend: all of it if there is no other entity.
    fn own_credit(&self, entity: EntityId) -> f64 {
        if self.entities.len() <= 1 {
            return f64::INFINITY;
        }
        self.entities.get(&entity).map_or(f64::INFINITY, |known| known.own + known.allowance)
    }

    /// Budget that is neither spent nor reserved for waiting claims.
    fn free(&self, reserved: usize) -> f64 {
        self.tokens - reserved as f64 * self.typical_cost()
    }

    fn cost_of(&self, entity: EntityId) -> f64 {
        self.entities
            .get(&entity)
            .and_then(|known| known.cost)
            .map_or_else(|| self.typical_cost(), at_least_something)
    }

    /// One, before the first departure.
    fn typical_cost(&self) -> f64 {
        self.cost.map_or(1.0, at_least_something)
    }
}

fn learn(known: &mut Option<f64>, cost: f64) {
    *known = Some(known.map_or(cost, |known| known + COST_GAIN * (cost - known)));
}

/// Avoids a price of zero over zero for free copies.
fn at_least_something(cost: f64) -> f64 {
    cost.max(1e-9)
}
