//! The words in which claims are judged, each with its number, so that every experiment judges
//! alike.
//!
//! | word | means |
//! | --- | --- |
//! | [`far_below`] | at most 0.3 times |
//! | [`well_below`] | at most 0.7 times |
//! | [`about`] | within 5 % (≈, close, almost) |
//! | [`about_points`] | within 2 points, for what is counted in per cent |
//! | [`multifold`] | at least 2 times (≫) |
//! | [`most`] | at least 60 % |
//! | [`unplayable`] | a mean score of at most 0 |
//!
//! A number that is not finite never holds: what could not be measured was not shown. A claim that
//! does not apply to the data says so with [`not_applicable`].

use crate::quantity::show;

pub const FAR_BELOW: f64 = 0.3;
pub const WELL_BELOW: f64 = 0.7;
pub const ABOUT: f64 = 0.05;
pub const ABOUT_POINTS: f64 = 2.0;
pub const MULTIFOLD: f64 = 2.0;
pub const MOST: f64 = 0.6;

/// What a measurement says about a claim.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    pub verdict: Verdict,
    /// The number it was judged by; always finite.
    pub measured: Option<f64>,
    /// What the number had to be, as text.
    pub expected: String,
    /// The word that was given a number here, and the number. A claim of a paper that is judged by
    /// one is our stricter reading of it.
    pub word: Option<&'static str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Held,
    NotHeld,
    NotApplicable,
}

pub fn below(measured: f64, limit: f64) -> Judgement {
    judge(measured, measured < limit, format!("< {}", show(limit)))
}

pub fn at_most(measured: f64, limit: f64) -> Judgement {
    judge(measured, measured <= limit, format!("≤ {}", show(limit)))
}

pub fn above(measured: f64, limit: f64) -> Judgement {
    judge(measured, measured > limit, format!("> {}", show(limit)))
}

pub fn at_least(measured: f64, limit: f64) -> Judgement {
    judge(measured, measured >= limit, format!("≥ {}", show(limit)))
}

/// `low` < `measured` < `high`.
pub fn between(measured: f64, low: f64, high: f64) -> Judgement {
    let expected = format!("above {} and below {}", show(low), show(high));
    judge(measured, low < measured && measured < high, expected)
}

pub fn far_below(measured: f64, base: f64) -> Judgement {
    at_most_times(measured, FAR_BELOW, base).in_word("far below is at most 0.3 times")
}

pub fn well_below(measured: f64, base: f64) -> Judgement {
    at_most_times(measured, WELL_BELOW, base).in_word("well below is at most 0.7 times")
}

pub fn about(measured: f64, reference: f64) -> Judgement {
    let tolerance = ABOUT * reference.abs();
    let expected = format!("within 5 % of {}", show(reference));
    judge(measured, (measured - reference).abs() <= tolerance, expected).in_word("about is within 5 %")
}

pub fn about_points(measured: f64, reference: f64) -> Judgement {
    let expected = format!("within 2 points of {} %", show(reference));
    judge(measured, (measured - reference).abs() <= ABOUT_POINTS, expected)
        .in_word("close is within 2 points")
}

pub fn multifold(measured: f64, base: f64) -> Judgement {
    let limit = MULTIFOLD * base;
    let expected = format!("≥ {MULTIFOLD} × {} = {}", show(base), show(limit));
    judge(measured, measured >= limit, expected).in_word("multifold is at least twice")
}

pub fn most(share: f64) -> Judgement {
    at_least(share, MOST).in_word("most is at least 60 %")
}

pub fn unplayable(mean_score: f64) -> Judgement {
    at_most(mean_score, 0.0).in_word("unplayable is a mean score of at most 0")
}

/// The first of each pair is below the second. Measured is the largest ratio of first to second.
pub fn below_in_every(pairs: impl IntoIterator<Item = (f64, f64)>) -> Judgement {
    let mut count = 0;
    let mut held = true;
    let mut worst = f64::NEG_INFINITY;
    for (lower, upper) in pairs {
        count += 1;
        held &= lower < upper;
        worst = worst.max(lower / upper);
    }
    if count == 0 {
        return not_applicable();
    }
    judged(worst, held, format!("ratio < 1 in all {count}"))
}

/// The first of each pair is above the second. Measured is the smallest ratio of first to second.
pub fn above_in_every(pairs: impl IntoIterator<Item = (f64, f64)>) -> Judgement {
    let mut count = 0;
    let mut held = true;
    let mut worst = f64::INFINITY;
    for (upper, lower) in pairs {
        count += 1;
        held &= upper > lower;
        worst = worst.min(upper / lower);
    }
    if count == 0 {
        return not_applicable();
    }
    judged(worst, held, format!("ratio > 1 in all {count}"))
}

pub fn not_applicable() -> Judgement {
    Judgement { verdict: Verdict::NotApplicable, measured: None, expected: "n/a".into(), word: None }
}

fn at_most_times(measured: f64, factor: f64, base: f64) -> Judgement {
    let limit = factor * base;
    judge(measured, measured <= limit, format!("≤ {factor} × {} = {}", show(base), show(limit)))
}

fn judge(measured: f64, holds: bool, expected: String) -> Judgement {
    judged(measured, holds && measured.is_finite(), expected)
}

fn judged(measured: f64, held: bool, expected: String) -> Judgement {
    let verdict = if held { Verdict::Held } else { Verdict::NotHeld };
    Judgement { verdict, measured: measured.is_finite().then_some(measured), expected, word: None }
}

impl Judgement {
    fn in_word(self, word: &'static str) -> Self {
        Self { word: Some(word), ..self }
    }

    /// Whether the claim is known not to hold: `--strict` looks for this.
    pub fn is_refuted(&self) -> bool {
        self.verdict == Verdict::NotHeld
    }
}

impl Verdict {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::NotHeld => "not held",
            Self::NotApplicable => "n/a",
        }
    }

    /// The verdict for machines: `null` is "does not apply".
    pub fn as_option(self) -> Option<bool> {
        match self {
            Self::Held => Some(true),
            Self::NotHeld => Some(false),
            Self::NotApplicable => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each word at its edge: held there, not held just beyond.
    #[test]
    fn every_word_holds_up_to_its_number_and_no_further() {
        type Word = fn(f64) -> Judgement;
        let words: &[(Word, f64, f64)] = &[
            (|x| below(x, 10.0), 9.999, 10.0),
            (|x| at_most(x, 10.0), 10.0, 10.001),
            (|x| above(x, 10.0), 10.001, 10.0),
            (|x| at_least(x, 10.0), 10.0, 9.999),
            (|x| between(x, 5.0, 10.0), 9.999, 10.0),
            (|x| between(x, 5.0, 10.0), 5.001, 5.0),
            (|x| far_below(x, 10.0), 3.0, 3.001),
            (|x| well_below(x, 10.0), 7.0, 7.001),
            (|x| about(x, 10.0), 10.5, 10.501),
            (|x| about(x, -10.0), -9.5, -9.499),
            (|x| about_points(x, 10.0), 12.0, 12.001),
            (|x| multifold(x, 10.0), 20.0, 19.999),
            (most, 0.6, 0.599),
            (unplayable, 0.0, 0.001),
        ];
        for (word, holds, does_not) in words {
            assert_eq!(word(*holds).verdict, Verdict::Held, "{:?}", word(*holds));
            assert_eq!(word(*does_not).verdict, Verdict::NotHeld, "{:?}", word(*does_not));
            for nonsense in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
                let judgement = word(nonsense);
                assert_eq!(judgement.verdict, Verdict::NotHeld, "{judgement:?}");
                assert_eq!(judgement.measured, None);
            }
        }
    }

    #[test]
    fn a_claim_about_every_case_reports_the_worst_and_needs_a_case() {
        let worst = below_in_every([(1.0, 4.0), (3.0, 4.0), (1.0, 2.0)]);
        assert_eq!((worst.verdict, worst.measured), (Verdict::Held, Some(0.75)));
        assert_eq!(worst.expected, "ratio < 1 in all 3");
        assert_eq!(below_in_every([(1.0, 4.0), (4.0, 4.0)]).verdict, Verdict::NotHeld);
        assert_eq!(below_in_every([(f64::NAN, 4.0)]).verdict, Verdict::NotHeld);
        assert_eq!(below_in_every([]).verdict, Verdict::NotApplicable);
        let least = above_in_every([(4.0, 1.0), (3.0, 2.0)]);
        assert_eq!((least.verdict, least.measured), (Verdict::Held, Some(1.5)));
        assert_eq!(above_in_every([(4.0, 4.0)]).verdict, Verdict::NotHeld);
        assert_eq!(above_in_every([]).verdict, Verdict::NotApplicable);
    }
}
