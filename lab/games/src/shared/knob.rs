//! Knobs within ranges.

use std::fmt;
use std::ops::RangeInclusive;

/// A knob, what it stands at, and where it may stand.
pub(crate) type Knob = (&'static str, f64, RangeInclusive<f64>);

/// Whether every knob is where it may be. NaN is nowhere.
pub(crate) fn all_within(knobs: &[Knob]) -> Result<(), OutOfRange> {
    match knobs.iter().find(|(_, value, range)| !range.contains(value)) {
        Some((knob, _, range)) => Err(OutOfRange { knob, least: *range.start(), most: *range.end() }),
        None => Ok(()),
    }
}

/// The rules are not sound: a knob stands where it may not. Within its range a knob may be foolish,
/// but nothing becomes infinite, and nothing jumps over what it should meet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OutOfRange {
    /// Which one.
    pub knob: &'static str,
    /// The lowest value allowed.
    pub least: f64,
    /// The highest value allowed.
    pub most: f64,
}

impl fmt::Display for OutOfRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} must be within {} and {}", self.knob, self.least, self.most)
    }
}

impl std::error::Error for OutOfRange {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_knob_out_of_range_is_named() {
        let check = |value: f64| all_within(&[("fine", 1.0, 0.0..=1.0), ("odd", value, 0.5..=2.0)]);
        assert_eq!(check(0.5), Ok(()));
        for value in [0.4, 2.1, f64::NAN, f64::INFINITY] {
            let error = check(value).unwrap_err();
            assert_eq!(error.to_string(), "odd must be within 0.5 and 2", "{value}");
        }
    }
}
