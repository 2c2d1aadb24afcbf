//! Cuts the time between two paths into panels, each integrated by one rule with a proved error.
//!
//! A *stretch* is free of breaks, so both paths are smooth on it. A *block* of a stretch is short
//! enough for one series. On a *panel* of a block one of two rules is good enough:
//!
//! * **Gauss's rule**, where the paths stay clear of each other. The distance is √(gap·gap), which
//!   is analytic wherever gap·gap is not zero. If the gap, followed for complex times through an
//!   ellipse around the panel, cannot reach zero, twelve points are within the tolerance. With c
//!   the gap and v its slope in the middle, z the ellipse's long half-axis and r the most that the
//!   gap can leave its tangent by: the tangent's square is at least (|c| − |v|·z)², because its two
//!   roots are both |c|/|v| away, and leaving the tangent changes the square by at most r·(2·(|c| +
//!   |v|·z) + r). The gap cannot reach zero if the former is larger.
//! * **The tangent's closed form**, where the paths come close: the error is at most the integral
//!   of the gap's departure from its tangent, which falls with the cube of the panel's length.
//!
//! A panel on which neither rule is good enough is halved. After a panel that was good enough, the
//! next one is tried at twice the length.

use std::ops::{ControlFlow, Range};

use super::linear::{self, ROUNDINGS_OF_SUM, StraightGap};
use super::path::{Leg, Path};
use super::series::{GapSeries, TURN_MAX};
use super::{Integral, Tolerance, gauss};
use crate::time::SharedInstant;
use crate::vector::Planar;

/// Panels that one integral may try before the rest is only sampled (and the bound says so).
///
/// 65 536: two tanks that circle at π/4 rad/s use it up in six hours of path, two paths that turn
/// every two seconds and meet in every turn in a quarter of an hour; by then some ten milliseconds
/// of computing are gone. The horizon freezes real paths after seconds. A lower limit would cut
/// long recordings short; a higher one would let one absurd call hold up a frame.
pub const STEPS_MAX: u32 = 65_536;

/// Passes the panels from `from` to `to` to `visit` in order, until it breaks.
pub(super) fn walk<V: Planar>(
    one: &Path<V>,
    other: &Path<V>,
    from: SharedInstant,
    to: SharedInstant,
    tolerance: &Tolerance,
    visit: impl FnMut(&Panel<'_, V>) -> ControlFlow<()>,
) {
    let zero = from;
    let mut walk =
        PanelWalk { one, other, zero, tolerance, visit, so_far: 0.0, spent: 0.0, steps_left: STEPS_MAX };
    // The visitor knows whether it broke off.
    let _ = walk.run(to);
}

/// An interval that one rule integrates.
#[derive(Clone, Debug)]
pub(super) struct Panel<'a, V: Planar> {
    pub(super) secs: Range<f64>,
    pub(super) integral: Integral,
    rule: Rule<'a, V>,
}

#[derive(Clone, Copy, Debug)]
enum Rule<'a, V: Planar> {
    /// The closed form for this gap, with seconds counted from the start of the panel.
    Tangent(StraightGap<V>),
    /// Gauss's rule on the part of the series that begins at `first` and is twice `half` long.
    Gauss { series: &'a GapSeries<V>, first: f64, half: f64 },
    /// A constant distance.
    Constant(f64),
}

impl<V: Planar> Panel<'_, V> {
    fn straight(gap: StraightGap<V>, secs: Range<f64>) -> Self {
        Self { integral: gap.integral(secs.end - secs.start), secs, rule: Rule::Tangent(gap) }
    }

    /// The distance integrated from the start of the panel up to `secs`, by the panel's rule.
    /// Within the panel's bound: the ellipse around a part that shares an end is inside.
    pub(super) fn integral_until(&self, secs: f64) -> f64 {
        let since = secs.clamp(self.secs.start, self.secs.end) - self.secs.start;
        match self.rule {
            Rule::Tangent(gap) => gap.integral(since).value,
            Rule::Gauss { series, first, half } => {
                let half = half * since / (self.secs.end - self.secs.start);
                since * series.mean_distance(first + half, half)
            }
            Rule::Constant(distance) => distance * since,
        }
    }

    pub(super) fn distance_at(&self, secs: f64) -> f64 {
        let since = secs - self.secs.start;
        match self.rule {
            Rule::Tangent(gap) => gap.at(since).length(),
            Rule::Gauss { series, first, half } => {
                series.at(first + 2.0 * half * since / (self.secs.end - self.secs.start)).length()
            }
            Rule::Constant(distance) => distance,
        }
    }
}

struct PanelWalk<'a, V: Planar, F> {
    one: &'a Path<V>,
    other: &'a Path<V>,
    /// The instant from which seconds count.
    zero: SharedInstant,
    tolerance: &'a Tolerance,
    visit: F,
    /// Sum over the panels visited so far.
    so_far: f64,
    /// Error spent on tangents so far, of the error that the tolerance allows.
    spent: f64,
    steps_left: u32,
}

impl<V: Planar, F: FnMut(&Panel<'_, V>) -> ControlFlow<()>> PanelWalk<'_, V, F> {
    fn run(&mut self, to: SharedInstant) -> ControlFlow<()> {
        let (one, other, zero) = (self.one, self.other, self.zero);
        if one == other {
            return ControlFlow::Continue(());
        }
        let end = (to - zero).as_secs_f64();
        // The most common case in most games: saves looking for breaks.
        if let Some(gap) = StraightGap::between_paths(one, other, zero, to) {
            return self.show(&Panel::straight(gap, 0.0..end));
        }
        let ([a, b], [c, d]) = (one.breaks(zero), other.breaks(zero));
        let mut cuts = [a, b, c, d, end].map(|cut| cut.min(end));
        cuts.sort_unstable_by(f64::total_cmp);
        let mut begin = 0.0;
        for cut in cuts {
            if cut > begin {
                self.stretch(begin..cut)?;
                begin = cut;
            }
        }
        ControlFlow::Continue(())
    }

    fn show(&mut self, panel: &Panel<'_, V>) -> ControlFlow<()> {
        self.so_far += panel.integral.value;
        (self.visit)(panel)
    }

    fn stretch(&mut self, secs: Range<f64>) -> ControlFlow<()> {
        let within = 0.5 * (secs.start + secs.end);
        match (self.one.leg(self.zero, within), self.other.leg(self.zero, within)) {
            (Leg::Line { line: one, .. }, Leg::Line { line: other, .. }) => {
                let gap = StraightGap::between(&one, &other, self.zero).starting_at(secs.start);
                self.show(&Panel::straight(gap, secs))
            }
            (one, other) if one == other => ControlFlow::Continue(()),
            (one, other) => self.curved_stretch(&one, &other, secs),
        }
    }

    fn curved_stretch(&mut self, one: &Leg<'_, V>, other: &Leg<'_, V>, secs: Range<f64>) -> ControlFlow<()> {
        let turn_rate = one.turn_rate().max(other.turn_rate());
        let long = secs.end - secs.start;
        let blocks = (long * turn_rate / (2.0 * TURN_MAX)).ceil().max(1.0);
        let (mut begin, mut block) = (secs.start, 1.0);
        while begin < secs.end {
            let end = if block < blocks { secs.start + long * (block / blocks) } else { secs.end };
            let series = GapSeries::between(one, other, begin..end, self.tolerance.clearance);
            if !series.is_finite() {
                // More steps would not help.
                self.steps_left = 0;
            }
            begin = self.block(&series)?;
            if self.steps_left == 0 && begin < secs.end {
                return self.sample(one, other, begin..secs.end);
            }
            block += 1.0;
        }
        ControlFlow::Continue(())
    }

    /// Visits the panels of one series. Returns how far it came before the steps were used up.
    fn block(&mut self, series: &GapSeries<V>) -> ControlFlow<(), f64> {
        let sum_least = self.so_far + series.sum_least();
        let (mut first, mut width) = (-1.0, 2.0);
        while first < 1.0 {
            if self.steps_left == 0 {
                return ControlFlow::Continue(series.secs_at(first));
            }
            self.steps_left -= 1;
            match self.panel(series, first, 0.5 * width, sum_least) {
                Some(panel) => {
                    self.show(&panel)?;
                    first += width;
                    width = (2.0 * width).min(1.0 - first);
                }
                None => width *= 0.5,
            }
        }
        ControlFlow::Continue(series.secs.end)
    }

    /// Returns the panel of `series` from `first` on, twice `reach` long, if a rule is good enough.
    fn panel<'s>(
        &mut self,
        series: &'s GapSeries<V>,
        first: f64,
        reach: f64,
        sum_least: f64,
    ) -> Option<Panel<'s, V>> {
        let secs = series.secs_at(first)..series.secs_at(first + 2.0 * reach);
        let long = (series.secs.end - series.secs.start) * reach;
        let (gap, change) = series.tangent_at(first + reach, reach);
        // ∫ bend·x² over the panel.
        let bend_error = long * series.bend * reach * reach / 3.0;
        let clear = self.gauss_error(gap.length(), change.length(), series.bend * reach * reach);
        let (rule, value, rule_error) = if bend_error > 0.0
            && let Some(gauss_error) = clear
        {
            let rule = Rule::Gauss { series, first, half: reach };
            (rule, long * series.mean_distance(first + reach, reach), 0.5 * long * gauss_error)
        } else if bend_error <= self.bend_error_allowed(sum_least) {
            self.spent += bend_error;
            let tangent = StraightGap::along(gap - change, change * (2.0 / long));
            (Rule::Tangent(tangent), long * linear::mean_distance(gap, change), bend_error)
        } else {
            return None;
        };
        let bound = rule_error + long * series.rounding + ROUNDINGS_OF_SUM * f64::EPSILON * value;
        Some(Panel { secs, integral: Integral { value, bound }, rule })
    }

    /// Returns the largest error of Gauss's rule per half-panel, if the paths are clear of each
    /// other around the panel. `gap` and `change` are the lengths of the gap in the middle and of
    /// its change to the end; `bend` is the most that the gap leaves its tangent by.
    fn gauss_error(&self, gap: f64, change: f64, bend: f64) -> Option<f64> {
        let widest = self.tolerance.widest(gap, change, bend);
        self.tolerance.is_clear(gap, change, bend).then_some(self.tolerance.gauss_error * widest)
    }

    /// The error that the next tangent may add: a quarter of what is left of the half that Gauss's
    /// rule does not use. A quarter leaves something for the next meeting of the two paths.
    fn bend_error_allowed(&self, sum_least: f64) -> f64 {
        let limit = (0.5 * self.tolerance.relative * sum_least.max(self.so_far)).max(self.tolerance.absolute);
        (0.25 * (limit - self.spent)).max(0.0)
    }

    /// Visits the rest as the mean of a few samples. The bound is the largest possible distance.
    fn sample(&mut self, one: &Leg<'_, V>, other: &Leg<'_, V>, secs: Range<f64>) -> ControlFlow<()> {
        let (centre, half) = (0.5 * (secs.start + secs.end), 0.5 * (secs.end - secs.start));
        let mean = gauss::mean(|places| places.map(|x| one.gap_at(other, centre + half * x).length()));
        let speed = one.speed_max(secs.start, secs.end) + other.speed_max(secs.start, secs.end);
        let widest = one.gap_at(other, centre).length() + half * speed;
        let integral = Integral { value: 2.0 * half * mean, bound: 2.0 * half * widest };
        self.show(&Panel { secs, integral: integral.or_infinite(), rule: Rule::Constant(mean) })
    }
}
