/// The budget of one trigger, in the unit of departures: DR vectors or bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct TriggerBudget {
    per_trigger: f64,
    /// Moving mean of the cost of a copy; `None` before the first departure.
    copy_cost: Option<f64>,
}

impl TriggerBudget {
    /// Weight of a new cost in the mean, as for delays. In bytes a copy costs between ten and
    /// thirty, depending on its packet and its motion; a few dozen copies give a typical cost.
    const COST_GAIN: f64 = 1.0 / 8.0;

    /// A negative budget and NaN count as zero.
    pub(super) fn new(per_trigger: f64) -> Self {
        Self { per_trigger: per_trigger.max(0.0), copy_cost: None }
    }

    /// Copies that the budget pays for on average. Before the first departure a copy costs one.
    pub(super) fn copies(&self) -> f64 {
        self.per_trigger / self.copy_cost.unwrap_or(1.0)
    }

    /// A copy was sent at this cost. Zero, negative and non-finite costs are ignored.
    pub(super) fn on_departed(&mut self, cost: f64) {
        if cost > 0.0 && cost.is_finite() {
            let mean = self.copy_cost.unwrap_or(cost);
            self.copy_cost = Some(mean + Self::COST_GAIN * (cost - mean));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_become_copies_by_what_copies_cost() {
        let mut budget = TriggerBudget::new(36.0);
        assert_eq!(budget.copies(), 36.0);
        budget.on_departed(12.0);
        budget.on_departed(f64::NAN);
        budget.on_departed(0.0);
        assert_eq!(budget.copies(), 3.0);
    }

    #[test]
    fn counted_in_copies_it_stays_what_it_was() {
        let mut budget = TriggerBudget::new(1.0);
        (0..1000).for_each(|_| budget.on_departed(1.0));
        assert_eq!(budget.copies(), 1.0);
    }

    #[test]
    fn nonsense_is_nothing() {
        assert_eq!(TriggerBudget::new(f64::NAN).copies(), 0.0);
        assert_eq!(TriggerBudget::new(-1.0).copies(), 0.0);
    }
}
