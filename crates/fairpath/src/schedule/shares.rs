use super::{Candidate, DecisionContext};
use crate::vector::Planar;

/// The weights of the three factors of a receiver's share of the budget: its share of the
/// accumulated errors (PA in Banavar 2005), of the instantaneous errors (PI), and of the time since
/// its last copy (PT).
///
/// The five weightings of Banavar 2005 are constants. Banavar 2005 finds `INSTANTANEOUS` the
/// fairest when sending at random and `ACCUMULATED` when taking turns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weighting {
    accumulated: f64,
    instantaneous: f64,
    silence: f64,
    is_as_coded: bool,
}

impl Weighting {
    /// Only the accumulated error: favours receivers with much error in the past.
    pub const ACCUMULATED: Self = Self::of(1.0, 0.0, 0.0);
    /// Only the instantaneous error: favours receivers with much error now.
    pub const INSTANTANEOUS: Self = Self::of(0.0, 1.0, 0.0);
    /// Only the time since the last copy.
    pub const SILENCE: Self = Self::of(0.0, 0.0, 1.0);
    /// All three factors equally.
    pub const THIRDS: Self = Self::of(1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0);
    /// The two errors equally, without the time since the last copy.
    pub const HALVES: Self = Self::of(0.5, 0.5, 0.0);
    /// The five of Banavar 2005, in its order.
    pub const ALL: [Self; 5] =
        [Self::ACCUMULATED, Self::INSTANTANEOUS, Self::SILENCE, Self::THIRDS, Self::HALVES];

    /// Returns custom weights, scaled to a sum of one. Negative weights and NaN count as zero. If
    /// all are zero, the factors have equal weights.
    pub fn new(accumulated: f64, instantaneous: f64, silence: f64) -> Self {
        let [accumulated, instantaneous, silence] = [accumulated, instantaneous, silence].map(tamed);
        let sum = accumulated + instantaneous + silence;
        if sum > 0.0 { Self::of(accumulated / sum, instantaneous / sum, silence / sum) } else { Self::THIRDS }
    }

    /// Returns the same weights of the factors that the code in Appendix B of Banavar 2005
    /// computes, which differ from those of its text:
    ///
    /// * the instantaneous error is the accumulated minus the acknowledged error: what has grown
    ///   since the receiver's last acknowledged arrival, as far as known;
    /// * the silence is the time since that arrival, not since the last copy was sent.
    ///
    /// The accumulated error is the same. Both factors grow with the delay of the receipts, so
    /// distant receivers have larger shares than with the factors of the text.
    #[must_use]
    pub const fn as_coded(self) -> Self {
        Self { is_as_coded: true, ..self }
    }

    /// Returns whether the factors are those of [`as_coded`](Self::as_coded).
    pub const fn is_as_coded(self) -> bool {
        self.is_as_coded
    }

    const fn of(accumulated: f64, instantaneous: f64, silence: f64) -> Self {
        Self { accumulated, instantaneous, silence, is_as_coded: false }
    }

    /// A candidate's three factors.
    pub(super) fn factors<V: Planar>(
        &self,
        context: &DecisionContext<'_, V>,
        candidate: &Candidate,
    ) -> [f64; 3] {
        let (mut error, mut silence) = (candidate.standing.instantaneous, candidate.silence(context.now));
        if self.is_as_coded {
            let receiver = candidate.receiver;
            let settled = context.ledger.settled(receiver).unwrap_or(0.0);
            let acknowledged = context.ledger.last_acknowledged(receiver);
            error = candidate.standing.accumulated - settled;
            silence = context.now - acknowledged.unwrap_or(candidate.standing.joined);
        }
        [candidate.account, error, silence.as_secs_f64()].map(tamed)
    }

    /// The three factors by their weights.
    fn combined(&self, [accumulated, instantaneous, silence]: [f64; 3]) -> f64 {
        self.accumulated * accumulated + self.instantaneous * instantaneous + self.silence * silence
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Sharing {
    pub(super) weighting: Weighting,
    /// Whether a receiver that has not acknowledged anything counts as average. Otherwise a
    /// receiver whose first DR vector is under way has no error yet, hence no share.
    pub(super) is_guarded: bool,
    /// The smallest share, in equal shares of 1/n: from 0 to 1.
    pub(super) least: f64,
    /// The largest share, in equal shares of 1/n: 1 and above.
    pub(super) most: f64,
}

impl Sharing {
    /// With the start-up guard, and no other limits.
    pub(super) fn guarded(weighting: Weighting) -> Self {
        Self { weighting, is_guarded: true, least: 0.0, most: f64::INFINITY }
    }

    /// How often each candidate is sent a copy, in copies per trigger: from 0 to 1, in sum
    /// `copies`. All ones if `copies` exceeds the number of candidates.
    pub(super) fn frequencies<V: Planar>(
        &self,
        context: &DecisionContext<'_, V>,
        copies: f64,
        into: &mut Vec<f64>,
    ) {
        let factors = |candidate: &Candidate| self.weighting.factors(context, candidate);
        self.frequencies_by(context.candidates, factors, copies, into);
    }

    /// Each candidate's share of the budget; the sum is 1.
    pub(super) fn shares<V: Planar>(&self, context: &DecisionContext<'_, V>, into: &mut Vec<f64>) {
        let factors = |candidate: &Candidate| self.weighting.factors(context, candidate);
        self.shares_by(context.candidates, factors, into);
    }

    fn frequencies_by(
        &self,
        candidates: &[Candidate],
        factors: impl Fn(&Candidate) -> [f64; 3],
        copies: f64,
        into: &mut Vec<f64>,
    ) {
        if copies >= candidates.len() as f64 {
            into.clear();
            into.resize(candidates.len(), 1.0);
            return;
        }
        self.shares_by(candidates, factors, into);
        into.iter_mut().for_each(|share| *share *= copies);
        limit(into, 1.0);
    }

    fn shares_by(
        &self,
        candidates: &[Candidate],
        factors: impl Fn(&Candidate) -> [f64; 3],
        into: &mut Vec<f64>,
    ) {
        let counts = |candidate: &&Candidate| !self.is_guarded || candidate.standing.has_acknowledged;
        let (mut count, mut totals) = (0.0, [0.0; 3]);
        for candidate in candidates.iter().filter(counts) {
            count += 1.0;
            add(&mut totals, factors(candidate));
        }
        let equal = 1.0 / candidates.len() as f64;
        into.clear();
        into.extend(candidates.iter().map(|candidate| {
            if counts(&candidate) {
                let parts = parts(factors(candidate), totals, count);
                self.weighting.combined(parts) * count * equal
            } else {
                equal
            }
        }));
        limit(into, self.most.max(1.0) * equal);
        raise(into, self.least.clamp(0.0, 1.0) * equal);
    }
}

/// Negative numbers and NaN become zero, infinite ones so small that any sum of them is finite.
fn tamed(number: f64) -> f64 {
    if number > 0.0 { number.min(1e290) } else { 0.0 }
}

fn add(sums: &mut [f64; 3], values: [f64; 3]) {
    for (sum, value) in sums.iter_mut().zip(values) {
        *sum += value;
    }
}

/// Each value as a part of its total; equal parts where all values are zero.
fn parts(values: [f64; 3], totals: [f64; 3], count: f64) -> [f64; 3] {
    std::array::from_fn(
        |factor| {
            if totals[factor] > 0.0 { values[factor] / totals[factor] } else { 1.0 / count }
        },
    )
}

/// Lowers values above `ceiling` to it, and spreads the surplus equally over those below, again and
/// again until none is above. The sum must fit under the ceiling. All values below get the same in
/// every round, so in the end each is min(ceiling, value + raise), with one raise for all. One walk
/// from the highest value down finds that raise, instead of as many rounds as receivers.
fn limit(values: &mut [f64], ceiling: f64) {
    if values.iter().all(|value| *value <= ceiling) {
        return;
    }
    let mut highest_first = values.to_vec();
    highest_first.sort_unstable_by(|one, other| other.total_cmp(one));
    let (mut surplus, mut raise) = (0.0, 0.0);
    for (limited, value) in highest_first.iter().enumerate() {
        if value + raise <= ceiling {
            break;
        }
        surplus += value - ceiling;
        let below = highest_first.len() - limited - 1;
        raise = surplus / (below as f64).max(1.0);
    }
    for value in values {
        *value = (*value + raise).clamp(0.0, ceiling);
    }
}

/// Raises values below `floor` to it, at the expense of those above, in proportion to their excess.
/// The sum must be enough for all to have the floor.
fn raise(values: &mut [f64], floor: f64) {
    if values.iter().all(|value| *value >= floor) {
        return;
    }
    let sum: f64 = values.iter().sum();
    let beyond: f64 = values.iter().map(|value| (value - floor).max(0.0)).sum();
    let kept = (sum - floor * values.len() as f64).max(0.0) / beyond.max(f64::MIN_POSITIVE);
    for value in values {
        *value = floor + kept * (*value - floor).max(0.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::{Ledger, Standing};
    use crate::motion::MotionKind;
    use crate::number::{EntityId, Generation, Life, ReceiverId};
    use crate::time::{SharedInstant, Span};
    use crate::vector::Vec2;
    use crate::{DrVector, State};
    use fairpath_laws::{law, proptest::prelude::*};

    /// As Banavar 2005 describes it: one round after the other.
    fn limited_in_rounds(mut values: Vec<f64>) -> Vec<f64> {
        while values.iter().any(|value| *value > 1.0 + 1e-12) {
            let surplus: f64 = values.iter().map(|value| (value - 1.0).max(0.0)).sum();
            values.iter_mut().for_each(|value| *value = value.min(1.0));
            let below = values.iter().filter(|value| **value < 1.0).count() as f64;
            values.iter_mut().filter(|value| **value < 1.0).for_each(|value| *value += surplus / below);
        }
        values
    }

    #[test]
    fn limiting_in_one_walk_is_limiting_in_rounds() {
        let rows: [&[f64]; 5] = [
            &[0.2, 0.3, 0.5],
            &[1.8, 0.1, 0.1],
            &[1.5, 0.9, 0.6, 0.0],
            &[2.4, 0.95, 0.9, 0.05, 0.7, 0.0],
            &[1.0, 1.2, 0.3],
        ];
        for row in rows {
            let mut limited = row.to_vec();
            limit(&mut limited, 1.0);
            for (one, other) in limited.iter().zip(limited_in_rounds(row.to_vec())) {
                assert!((one - other).abs() < 1e-12, "{row:?} became {limited:?}");
            }
        }
    }

    fn candidate(numbers: [f64; 3], has_acknowledged: bool) -> Candidate {
        let standing = Standing {
            accumulated: numbers[0],
            instantaneous: numbers[1],
            joined: SharedInstant::ZERO,
            last_sent: Some(SharedInstant::ZERO),
            has_acknowledged,
            has_newest: false,
            unsettled: 0,
        };
        let silent_since = SharedInstant::from_secs_f64(-numbers[2]);
        Candidate {
            receiver: ReceiverId(1),
            standing,
            account: numbers[0],
            delay: None,
            silent_since,
            acknowledges: true,
        }
    }

    /// The factors of the text, at time zero.
    fn by_the_text(candidate: &Candidate) -> [f64; 3] {
        let silence = candidate.silence(SharedInstant::ZERO).as_secs_f64();
        [candidate.account, candidate.standing.instantaneous, silence].map(tamed)
    }

    #[test]
    fn frequencies_are_frequencies_and_sum_up_to_the_budget() {
        let odd = || prop::sample::select(vec![0.0, -1.0, 1e-300, 1e308, f64::NAN, f64::INFINITY]);
        let number = move || prop_oneof![4 => 0.0..100.0f64, 1 => odd()];
        let candidates = prop::collection::vec(([number(), number(), number()], any::<bool>()), 1..40);
        let weights = (number(), number(), number());
        law!((candidates, weights, 0.0..50.0f64, 0.0..1.0f64, 1.0..9.0f64), |(
            rows,
            weights,
            copies,
            least,
            most,
        )| {
            let candidates: Vec<Candidate> = rows.into_iter().map(|(row, has)| candidate(row, has)).collect();
            let n = candidates.len() as f64;
            let weighting = Weighting::new(weights.0, weights.1, weights.2);
            let mut values = Vec::new();
            let sharing = Sharing { least, most, ..Sharing::guarded(weighting) };
            sharing.shares_by(&candidates, by_the_text, &mut values);
            prop_assert!((values.iter().sum::<f64>() - 1.0).abs() < 1e-9, "shares {:?}", values);
            let limits = least - 1e-9..=most + 1e-9;
            prop_assert!(values.iter().all(|share| limits.contains(&(share * n))), "shares {:?}", values);
            sharing.frequencies_by(&candidates, by_the_text, copies, &mut values);
            prop_assert!((values.iter().sum::<f64>() - copies.min(n)).abs() < 1e-9 * n, "{values:?}");
            prop_assert!(values.iter().all(|frequency| (0.0..=1.0).contains(frequency)), "{values:?}");
            Ok(())
        });
    }

    #[test]
    fn who_has_not_acknowledged_has_an_equal_share() {
        let candidates = [
            candidate([0.0; 3], false),
            candidate([3.0; 3], true),
            candidate([1.0; 3], true),
            candidate([100.0; 3], false),
        ];
        let mut shares = Vec::new();
        Sharing::guarded(Weighting::THIRDS).shares_by(&candidates, by_the_text, &mut shares);
        let expected = [0.25, 0.375, 0.125, 0.25];
        assert!(shares.iter().zip(expected).all(|(one, other)| (one - other).abs() < 1e-12), "{shares:?}");
    }

    /// The tank stops after one second and goes on after two. The receiver has acknowledged the
    /// stop, which it received at 1.5 s. The next copy is expected to have arrived at 2.2 s.
    #[test]
    fn factors_as_coded_count_from_the_last_acknowledged_arrival() {
        let receiver = ReceiverId(1);
        let at = SharedInstant::from_secs_f64;
        let vector = |number: u8, secs: f64, x: f64, speed: f64| DrVector {
            entity: EntityId(0),
            life: Life::default(),
            generation: Generation(number),
            generated_at: at(secs),
            motion: MotionKind::Linear.from_state(&State::moving(Vec2::new(x, 0.0), Vec2::new(speed, 0.0))),
            attitude: None,
            parent: None,
        };
        let [go, stop, go_on] =
            [vector(0, 0.0, 0.0, 1.0), vector(1, 1.0, 1.0, 0.0), vector(2, 2.0, 1.0, 1.0)];
        let mut ledger = Ledger::<Vec2>::new(Span::from_secs(60));
        ledger.join(receiver, at(0.0));
        let delay = Some(Span::from_millis(200));
        for (vector, arrives) in [(&go, Some(0.2)), (&stop, Some(1.5)), (&go_on, None)] {
            ledger.on_generated(vector);
            let copy = ledger.on_departed(receiver, vector, vector.generated_at, delay).unwrap();
            ledger.advance(at(arrives.unwrap_or(2.5)));
            assert!(arrives.is_none_or(|arrives| ledger.on_receipt(receiver, copy, at(arrives))));
        }
        let standing = ledger.standing(receiver).unwrap();
        let candidate = Candidate {
            receiver,
            standing,
            account: standing.accumulated,
            delay,
            silent_since: at(2.0),
            acknowledges: true,
        };
        let context = DecisionContext {
            entity: EntityId(0),
            vector: &go_on,
            index: 2,
            now: at(2.5),
            ledger: &ledger,
            candidates: &[candidate],
            account_secs: 1.0,
        };
        let before_the_stop_arrived = 0.5 * 0.5 * 0.5;
        let before_it_goes_on = 0.5 * 0.2 * 0.2;
        let accumulated = before_the_stop_arrived + before_it_goes_on;
        let expected = [
            (Weighting::THIRDS, [accumulated, 0.0, 0.5]),
            (Weighting::THIRDS.as_coded(), [accumulated, before_it_goes_on, 1.0]),
        ];
        for (weighting, expected) in expected {
            let factors = weighting.factors(&context, &candidate);
            let is_close = factors.iter().zip(expected).all(|(one, other)| (one - other).abs() < 1e-9);
            assert!(is_close, "{factors:?} instead of {expected:?}");
        }
    }

    #[test]
    fn raising_keeps_the_sum() {
        let mut values = vec![0.0, 0.02, 0.18, 0.8];
        raise(&mut values, 0.125);
        assert_eq!(&values[..2], &[0.125, 0.125]);
        assert!(values[2] > 0.125 && values[3] > values[2]);
        assert!((values.iter().sum::<f64>() - 1.0).abs() < 1e-15);
        let all_alike = vec![0.25; 4];
        raise(&mut values, 0.25);
        assert!(values.iter().zip(&all_alike).all(|(one, other)| (one - other).abs() < 1e-15));
    }

    #[test]
    fn weights_sum_up_to_one_whatever_they_are_made_of() {
        assert_eq!(Weighting::new(2.0, 2.0, 0.0), Weighting::HALVES);
        assert_eq!(Weighting::new(f64::NAN, -3.0, 0.0), Weighting::THIRDS);
        assert_eq!(Weighting::new(f64::INFINITY, 1.0, 1.0).accumulated, 1.0);
        for weighting in Weighting::ALL {
            assert!((weighting.combined([1.0; 3]) - 1.0).abs() < 1e-15);
        }
    }
}
