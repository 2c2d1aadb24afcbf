//! Where an axis begins and ends, and which values it names: round ones.

/// Values beyond this are not shown: differences between them would overflow.
const SHOWN_MAX: f64 = 1e150;

pub(super) struct AxisTicks {
    low: f64,
    high: f64,
    kind: TickKind,
    ticks: Vec<(f64, String)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum TickKind {
    Even,
    /// `low` and `high` are exponents of ten.
    Decades,
}

/// An axis of round values around all that is given, with about `wanted` ticks.
pub(super) fn even_ticks(values: impl Iterator<Item = f64>, wanted: usize) -> AxisTicks {
    let (low, high) = range_of(values).unwrap_or((0.0, 1.0));
    let (low, high) = if high > low { (low, high) } else { around(low) };
    let step = round_step((high - low) / wanted as f64);
    let first = (low / step).floor();
    let count = ((high / step).ceil() - first).clamp(1.0, 100.0) as usize;
    let ticks: Vec<(f64, String)> = (0..=count)
        .map(|index| {
            let value = (first + index as f64) * step;
            (value, label(value, step))
        })
        .collect();
    let (from, to) = (ticks[0].0, ticks[count].0);
    // Where f64 cannot tell round values apart, the values themselves are the axis.
    if to > from && from <= low && to >= high {
        AxisTicks { low: from, high: to, kind: TickKind::Even, ticks }
    } else {
        AxisTicks { low, high, kind: TickKind::Even, ticks: Vec::new() }
    }
}

/// The same, but the axis ends at the outermost values themselves.
pub(super) fn snug_ticks(values: impl Iterator<Item = f64>, wanted: usize) -> AxisTicks {
    let range = range_of(values).filter(|(low, high)| high > low);
    let mut ticks = even_ticks(range.into_iter().flat_map(|(low, high)| [low, high]), wanted);
    if let Some((low, high)) = range {
        (ticks.low, ticks.high) = (low, high);
        let slack = (high - low) * 1e-9;
        ticks.ticks.retain(|(value, _)| (low - slack..=high + slack).contains(value));
    }
    ticks
}

/// A logarithmic axis of fewer powers of ten also names twice and five times each of them.
const FINE_DECADES: f64 = 2.0;

/// An axis by powers of ten around all positive values given.
pub(super) fn decades(values: impl Iterator<Item = f64>) -> AxisTicks {
    let positive = values.filter(|&value| value > 0.0);
    let (low, high) = range_of(positive).unwrap_or((1.0, 10.0));
    let (low, high) = (low.log10(), high.log10());
    if high - low < FINE_DECADES { fine_decades(low, high) } else { whole_decades(low, high) }
}

fn whole_decades(low: f64, high: f64) -> AxisTicks {
    let (low, high) = (low.floor(), high.ceil());
    let step = ((high - low) / 8.0).ceil() as usize;
    let ticks = (low as i32..=high as i32)
        .step_by(step)
        .map(|exponent| (f64::from(exponent), power_of_ten(exponent)))
        .collect();
    AxisTicks { low, high, kind: TickKind::Decades, ticks }
}

/// From one of 1, 2 and 5 times a power of ten to another, so that little of the height is wasted.
fn fine_decades(low: f64, high: f64) -> AxisTicks {
    let exponents = low.floor() as i32..=high.ceil() as i32;
    let round: Vec<(f64, i32, i32)> = exponents
        .flat_map(|exponent| {
            [1, 2, 5].map(|factor| (f64::from(exponent) + f64::from(factor).log10(), factor, exponent))
        })
        .collect();
    // What lies on a round value does not need the next one.
    let slack = 1e-9;
    let first = round.iter().rposition(|(place, ..)| *place <= low + slack).unwrap_or(0);
    let last = round.iter().position(|(place, ..)| *place >= high - slack).unwrap_or(round.len() - 1);
    let last = last.max(first + 1).min(round.len() - 1);
    let ticks: Vec<(f64, String)> = round[first..=last]
        .iter()
        .map(|&(place, factor, exponent)| (place, times_power_of_ten(factor, exponent)))
        .collect();
    AxisTicks { low: round[first].0, high: round[last].0, kind: TickKind::Decades, ticks }
}

impl AxisTicks {
    pub(super) fn bare(low: f64, high: f64) -> Self {
        Self { low, high, kind: TickKind::Even, ticks: Vec::new() }
    }

    pub(super) fn span(&self) -> f64 {
        self.high - self.low
    }

    /// Spans at least `span` around the same middle, and names the round values in it.
    pub(super) fn widen_to(&mut self, span: f64) {
        if span > self.span() && self.ticks.len() > 1 {
            let middle = (self.low + self.high) / 2.0;
            let step = self.ticks[1].0 - self.ticks[0].0;
            (self.low, self.high) = (middle - span / 2.0, middle + span / 2.0);
            let (first, last) = ((self.low / step).ceil(), (self.high / step).floor());
            let count = (last - first).clamp(0.0, 100.0) as usize;
            let every = count.div_ceil(12).max(1);
            self.ticks = (0..=count)
                .step_by(every)
                .map(|index| (first + index as f64) * step)
                .map(|value| (value, label(value, step)))
                .collect();
        }
    }

    pub(super) fn is_even(&self) -> bool {
        self.kind == TickKind::Even
    }

    pub(super) fn can_show(&self, value: f64) -> bool {
        let drawable = value.is_finite() && value.abs() <= SHOWN_MAX;
        drawable && (self.kind == TickKind::Even || value > 0.0)
    }

    /// How far along the axis a value is, 0 to 1. For [`each`](Self::each) tick as well.
    pub(super) fn part(&self, value: f64) -> f64 {
        let place = match self.kind {
            TickKind::Even => value,
            TickKind::Decades => value.log10(),
        };
        ((place - self.low) / self.span()).clamp(0.0, 1.0)
    }

    /// The values it names, and how.
    pub(super) fn each(&self) -> impl Iterator<Item = (f64, &str)> {
        self.ticks.iter().map(|(place, label)| {
            let value = match self.kind {
                TickKind::Even => *place,
                TickKind::Decades => 10f64.powf(*place),
            };
            (value, label.as_str())
        })
    }

    pub(super) fn labels(&self) -> impl Iterator<Item = &str> {
        self.ticks.iter().map(|(_, label)| label.as_str())
    }
}

fn range_of(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.filter(|value| value.is_finite() && value.abs() <= SHOWN_MAX).fold(
        None,
        |range, value| match range {
            None => Some((value, value)),
            Some((low, high)) => Some((low.min(value), high.max(value))),
        },
    )
}

/// Something to look at around a single value.
fn around(value: f64) -> (f64, f64) {
    let half = if value == 0.0 { 1.0 } else { value.abs() * 0.1 };
    (value - half, value + half)
}

/// The next of 1, 2 and 5 times a power of ten.
fn round_step(step: f64) -> f64 {
    let power = 10f64.powf(step.log10().floor());
    let factor = [1.0, 2.0, 5.0].into_iter().find(|factor| factor * power >= step * 0.999).unwrap_or(10.0);
    factor * power
}

/// With as many decimals as the step between ticks needs.
fn label(value: f64, step: f64) -> String {
    let value = if value.abs() < step * 1e-6 { 0.0 } else { value };
    if (1e-5..1e7).contains(&step) && value.abs() < 1e9 {
        let decimals = (-step.log10().floor()).max(0.0) as usize;
        format!("{value:.decimals$}").replace('-', "−")
    } else {
        format!("{value:.1e}").replace('-', "−")
    }
}

fn times_power_of_ten(factor: i32, exponent: i32) -> String {
    match (factor, exponent) {
        (1, _) => power_of_ten(exponent),
        (_, 0..=4) => format!("{}", f64::from(factor) * 10f64.powi(exponent)),
        (_, -3..=-1) => {
            format!("{:.*}", exponent.unsigned_abs() as usize, f64::from(factor) * 10f64.powi(exponent))
        }
        _ => format!("{factor} × {}", power_of_ten(exponent)),
    }
}

/// 0.01, 1, 100 where that is short, and 10⁻⁹ beyond.
fn power_of_ten(exponent: i32) -> String {
    if (-3..=4).contains(&exponent) {
        return format!("{}", 10f64.powi(exponent));
    }
    let superscript = exponent
        .to_string()
        .chars()
        .map(|c| match c {
            '-' => '⁻',
            '1' => '¹',
            '2' => '²',
            '3' => '³',
            digit => char::from_u32(0x2070 + u32::from(digit as u8 - b'0')).unwrap_or(digit),
        })
        .collect::<String>();
    format!("10{superscript}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(ticks: &AxisTicks) -> Vec<&str> {
        ticks.labels().collect()
    }

    #[test]
    fn ticks_are_round_and_enclose_the_values() {
        let ticks = even_ticks([0.0, 9.3].into_iter(), 5);
        assert_eq!(labels(&ticks), ["0", "2", "4", "6", "8", "10"]);
        let ticks = even_ticks([-0.013, 0.021].into_iter(), 4);
        assert_eq!(labels(&ticks), ["−0.02", "−0.01", "0.00", "0.01", "0.02", "0.03"]);
        assert_eq!(labels(&decades([3e-11, 2e-8].into_iter())), ["10⁻¹¹", "10⁻¹⁰", "10⁻⁹", "10⁻⁸", "10⁻⁷"]);
        assert_eq!(labels(&decades([0.5, 70.0, -1.0, 0.0].into_iter())), ["0.1", "1", "10", "100"]);
    }

    #[test]
    fn a_short_logarithmic_axis_wastes_little_of_its_length() {
        assert_eq!(labels(&decades([0.7, 3.2].into_iter())), ["0.5", "1", "2", "5"]);
        assert_eq!(labels(&decades([0.02, 0.3].into_iter())), ["0.02", "0.05", "0.1", "0.2", "0.5"]);
        assert_eq!(labels(&decades([1.0, 1.0].into_iter())), ["1", "2"]);
        assert_eq!(labels(&decades([3e7, 4e7].into_iter())), ["2 × 10⁷", "5 × 10⁷"]);
    }

    #[test]
    fn strange_values_still_make_an_axis() {
        let strange: [&[f64]; 6] =
            [&[], &[f64::NAN], &[5.0, 5.0], &[1e15, 1e15 + 0.125], &[-1e150, 1e150], &[5e-324, 0.0]];
        for values in strange {
            for ticks in [even_ticks(values.iter().copied(), 6), decades(values.iter().copied())] {
                assert!(ticks.span() > 0.0 && ticks.span().is_finite(), "{values:?}");
                assert!(ticks.each().count() < 200, "{values:?}");
                for &value in values.iter().filter(|&&value| ticks.can_show(value)) {
                    assert!((0.0..=1.0).contains(&ticks.part(value)), "{value} of {values:?}");
                }
            }
        }
    }
}
