//! Ranges of configuration values.

use std::fmt;
use std::ops::RangeInclusive;

/// A configuration value: its name, its value, the allowed range.
pub(crate) type Knob = (&'static str, f64, RangeInclusive<f64>);

/// The smallest number above zero.
const LEAST_POSITIVE: f64 = f64::from_bits(1);

/// Every finite number above zero.
pub(crate) const POSITIVE: RangeInclusive<f64> = LEAST_POSITIVE..=f64::MAX;

/// Returns every finite number above zero and up to `most`.
pub(crate) fn positive_up_to(most: f64) -> RangeInclusive<f64> {
    LEAST_POSITIVE..=most
}

/// Returns a count that must be at least `least`.
pub(crate) fn count_from(name: &'static str, count: u32, least: u32) -> Knob {
    (name, count.into(), least.into()..=u32::MAX.into())
}

/// Returns the first value outside its range as an error. NaN is outside every range.
pub(crate) fn all_within(knobs: &[Knob]) -> Result<(), OutOfRange> {
    match knobs.iter().find(|(_, value, range)| !range.contains(value)) {
        Some((knob, _, range)) => Err(OutOfRange { knob, least: *range.start(), most: *range.end() }),
        None => Ok(()),
    }
}

/// A configuration value is outside its range. Values within their ranges may play badly, but no
/// number becomes infinite and no entity passes through another within one tick.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OutOfRange {
    /// The field of the configuration.
    pub knob: &'static str,
    pub least: f64,
    pub most: f64,
}

/// The bounds of a range are never NaN.
impl Eq for OutOfRange {}

impl fmt::Display for OutOfRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { knob, least, most } = *self;
        match (least == LEAST_POSITIVE, most >= u32::MAX.into()) {
            (true, true) => write!(f, "{knob} must be a positive number"),
            (true, false) => write!(f, "{knob} must be positive and at most {most}"),
            (false, true) => write!(f, "{knob} must be at least {least}"),
            (false, false) => write!(f, "{knob} must be between {least} and {most}"),
        }
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
            assert_eq!(error.to_string(), "odd must be between 0.5 and 2", "{value}");
        }
    }

    #[test]
    fn open_ranges_read_as_such() {
        let message = |knob: Knob| all_within(&[knob]).unwrap_err().to_string();
        assert_eq!(message(("mass", 0.0, POSITIVE)), "mass must be a positive number");
        assert_eq!(message(("mass", f64::INFINITY, POSITIVE)), "mass must be a positive number");
        assert_eq!(message(("speed", 9.0, positive_up_to(8.0))), "speed must be positive and at most 8");
        assert_eq!(message(count_from("laps", 0, 1)), "laps must be at least 1");
    }
}
