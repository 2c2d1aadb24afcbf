use crate::time::{SharedInstant, Span};

/// How wrong one receiver has been, over all entities it sees, per second: what fairness makes
/// equal.
///
/// It forgets with a half-life, so that an old injustice is not paid back for ever; papers keep it
/// for ever.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Account {
    half_life: Option<Span>,
    error: f64,
    secs: f64,
    until: SharedInstant,
}

impl Account {
    /// How long it takes until half of the past is forgotten.
    ///
    /// 30 s: a few fights. Much shorter, and a receiver that was badly served in one long turn is
    /// never made up for it; much longer, and somebody whose link has recovered is favoured for
    /// minutes.
    pub const HALF_LIFE: Span = Span::from_secs(30);

    /// An account that is opened now; `None` never forgets.
    pub fn new(half_life: Option<Span>, now: SharedInstant) -> Self {
        Self { half_life, error: 0.0, secs: 0.0, until: now }
    }

    /// An account for somebody who joins later: as if they had been there all the time and fared
    /// like the others on average. So they are neither starved nor showered.
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

    /// Lets time pass: the past fades, and the seconds count.
    #[inline]
    pub fn advance(&mut self, now: SharedInstant) {
        let passed = (now - self.until).max(Span::ZERO).as_secs_f64();
        let (kept, lasting) = match self.half_life {
            None => (1.0, passed),
            Some(half_life) => {
                let rate = std::f64::consts::LN_2 / half_life.as_secs_f64().max(1e-6);
                let kept = libm::exp(-rate * passed);
                // The seconds that passed fade too, on average half as long.
                (kept, (1.0 - kept) / rate)
            }
        };
        self.error *= kept;
        self.secs = self.secs * kept + lasting;
        self.until = self.until.max(now);
    }

    /// Books error; a correction may be negative.
    #[inline]
    pub fn add(&mut self, error: f64) {
        self.error = (self.error + error).max(0.0);
    }

    /// Error per second.
    #[inline]
    pub fn rate(&self) -> f64 {
        if self.secs > 0.0 { self.error / self.secs } else { 0.0 }
    }

    /// Of how many seconds it knows.
    pub fn secs(&self) -> f64 {
        self.secs
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
