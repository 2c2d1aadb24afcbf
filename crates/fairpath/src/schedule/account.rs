use crate::time::{SharedInstant, Span};

/// The error of one receiver over all entities that it sees, per second. Fairness makes it equal.
///
/// An account forgets with a half-life, so that an old disadvantage is not compensated forever. In
/// the papers accounts never forget.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Account {
    half_life: Option<Span>,
    error: f64,
    secs: f64,
    until: SharedInstant,
}

impl Account {
    /// The time after which half of the past is forgotten.
    ///
    /// 30 s: a few fights. Much shorter, and a receiver that was badly served in one long turn is
    /// never compensated; much longer, and a recovered link is favoured for minutes.
    pub const HALF_LIFE: Span = Span::from_secs(30);

    /// Returns an account that is opened now. With `None` it never forgets.
    pub fn new(half_life: Option<Span>, now: SharedInstant) -> Self {
        Self { half_life, error: 0.0, secs: 0.0, until: now }
    }

    /// Returns an account for a receiver that joins later, with the mean of the others. So the
    /// receiver is neither starved nor favoured.
    pub fn joining(half_life: Option<Span>, others: &[Self], now: SharedInstant) -> Self {
        let mut joining = Self::new(half_life, now);
        for other in others {
            let mut other = *other;
            other.advance(now);
            joining.error += other.error / others.len() as f64;
            joining.secs += other.secs / others.len() as f64;
        }
        joining
    }

    /// Advances the account to `now`: the past fades, and the elapsed seconds count.
    #[inline]
    pub fn advance(&mut self, now: SharedInstant) {
        self.advance_with(now, &mut Fading::default());
    }

    /// The same, for many accounts that were advanced together before.
    #[inline]
    pub(super) fn advance_with(&mut self, now: SharedInstant, fading: &mut Fading) {
        let passed = (now - self.until).max(Span::ZERO);
        if fading.passed != Some(passed) {
            *fading = Fading::over(passed, self.half_life);
        }
        self.error *= fading.kept;
        self.secs = self.secs * fading.kept + fading.lasting;
        self.until = self.until.max(now);
    }

    /// Adds error; a correction may be negative.
    #[inline]
    pub fn add(&mut self, error: f64) {
        self.error = (self.error + error).max(0.0);
    }

    /// Returns the error per second.
    #[inline]
    pub fn rate(&self) -> f64 {
        if self.secs > 0.0 { self.error / self.secs } else { 0.0 }
    }

    /// Returns how many seconds the account covers.
    pub fn secs(&self) -> f64 {
        self.secs
    }
}

/// What a span of time does to all accounts with one half-life. Computed once for accounts that
/// were last advanced at the same instant.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Fading {
    passed: Option<Span>,
    /// The share of the past that is left.
    kept: f64,
    /// The elapsed seconds, as far as they are remembered.
    lasting: f64,
}

impl Fading {
    fn over(passed: Span, half_life: Option<Span>) -> Self {
        let secs = passed.as_secs_f64();
        let (kept, lasting) = match half_life {
            None => (1.0, secs),
            Some(half_life) => {
                let rate = std::f64::consts::LN_2 / half_life.as_secs_f64().max(1e-6);
                let kept = libm::exp(-rate * secs);
                // The elapsed seconds fade too, on average half as long.
                (kept, (1.0 - kept) / rate)
            }
        };
        Self { passed: Some(passed), kept, lasting }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(secs: f64) -> SharedInstant {
        SharedInstant::from_secs_f64(secs)
    }

    #[test]
    fn without_forgetting_it_is_the_mean() {
        let mut account = Account::new(None, at(0.0));
        account.add(6.0);
        account.advance(at(3.0));
        assert_eq!((account.rate(), account.secs()), (2.0, 3.0));
    }

    #[test]
    fn half_is_forgotten_after_the_half_life() {
        let mut account = Account::new(Some(Span::from_secs(10)), at(0.0));
        account.add(8.0);
        account.advance(at(10.0));
        assert!((account.error - 4.0).abs() < 1e-12);
        account.advance(at(1e4));
        assert!(
            account.rate() < 1e-9 && account.secs() < 14.5,
            "it knows of no more than {}",
            account.secs()
        );
    }

    #[test]
    fn who_joins_late_stands_at_the_mean() {
        let others = [1.0, 3.0].map(|error| {
            let mut account = Account::new(Some(Account::HALF_LIFE), at(0.0));
            account.advance(at(3600.0));
            account.add(error);
            account
        });
        let joins = Account::joining(Some(Account::HALF_LIFE), &others, at(3600.0));
        let mean = 0.5 * (others[0].rate() + others[1].rate());
        assert!((joins.rate() - mean).abs() < 1e-12);
        assert_eq!(Account::joining(None, &[], at(1.0)).rate(), 0.0);
    }
}
