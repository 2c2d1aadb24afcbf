/// How much may be spent on one trigger, in whatever unit departures are costed: DR vectors or
/// bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct TriggerBudget {
    per_trigger: f64,
    /// What a copy has cost lately, once one has left.
    copy_cost: Option<f64>,
}

impl TriggerBudget {
    /// Weight of a new cost in the mean: as for delays. In bytes a copy costs now ten, now thirty,
    /// as it shares a packet or not and its motion is simple or not; a few dozen copies tell
    /// what is usual.
    const COST_GAIN: f64 = 1.0 / 8.0;

    /// Nothing, if it is negative or not a number.
    pub(super) fn new(per_trigger: f64) -> Self {
        Self { per_trigger: per_trigger.max(0.0), copy_cost: None }
    }

    /// How many copies that is, on average. Before the first departure a copy is taken to cost one.
    pub(super) fn copies(&self) -> f64 {
        self.per_trigger / self.copy_cost.unwrap_or(1.0)
    }

    /// A copy has left, at this cost. One that cost nothing, or nobody knows what, says nothing.
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
