//! Plots described as data. [`plot::draw`](crate::plot::draw) turns one into SVG.

#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Stable and fit for a file name: `x1-distance`.
    pub id: String,
    pub title: String,
    /// What to see in it, in a sentence or two.
    pub caption: String,
    pub x: Axis,
    pub y: Axis,
    pub plot: Plot,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Axis {
    pub label: String,
    /// Its unit; none for a plain number.
    pub unit: Option<String>,
    pub scale: Scale,
}

/// How values are spaced along an axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scale {
    #[default]
    Linear,
    /// By powers of ten; positive values only. Bars and histograms start at zero and ignore it.
    Logarithmic,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Plot {
    /// Values over something, with a band of uncertainty where there is one.
    Lines(Vec<Line>),
    /// Groups of bars side by side, one bar per series.
    Bars(Bars),
    /// Paths in the plane, equally scaled both ways.
    Paths(Vec<Path>),
    Histogram(Histogram),
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Line {
    pub label: String,
    /// Where it goes. It is interrupted where a number is not finite.
    pub points: Vec<(f64, f64)>,
    /// Lowest and highest value at each point, if known: as many as points.
    pub band: Option<Vec<(f64, f64)>>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bars {
    pub groups: Vec<String>,
    /// One series per colour, with a value per group. A value that is not finite draws nothing.
    pub series: Vec<BarSeries>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct BarSeries {
    pub label: String,
    pub values: Vec<f64>,
    /// Lowest and highest value of each group, if known: drawn as whiskers.
    pub ranges: Option<Vec<(f64, f64)>>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Path {
    pub label: String,
    /// A ring marks the start, a dot the end; interrupted where a number is not finite.
    pub points: Vec<(f64, f64)>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Histogram {
    /// The bins' edges, ascending; one more than bins.
    pub edges: Vec<f64>,
    pub series: Vec<HistogramSeries>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct HistogramSeries {
    pub label: String,
    /// The share of values in each bin, in per cent.
    pub percent: Vec<f64>,
}

impl Figure {
    pub fn new(id: impl Into<String>, title: impl Into<String>, x: Axis, y: Axis, plot: Plot) -> Self {
        Self { id: id.into(), title: title.into(), caption: String::new(), x, y, plot }
    }

    #[must_use]
    pub fn caption(mut self, caption: impl Into<String>) -> Self {
        self.caption = caption.into();
        self
    }

    pub fn file_name(&self) -> String {
        let keep = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c.to_ascii_lowercase() } else { '-' };
        format!("{}.svg", self.id.chars().map(keep).collect::<String>())
    }
}

impl Axis {
    /// An axis with a unit; an empty one is none.
    pub fn new(label: impl Into<String>, unit: impl Into<String>) -> Self {
        let unit = Some(unit.into()).filter(|unit| !unit.is_empty());
        Self { label: label.into(), unit, scale: Scale::Linear }
    }

    #[must_use]
    pub fn logarithmic(mut self) -> Self {
        self.scale = Scale::Logarithmic;
        self
    }

    pub fn heading(&self) -> String {
        match &self.unit {
            Some(unit) => format!("{} ({unit})", self.label),
            None => self.label.clone(),
        }
    }
}

impl Line {
    pub fn new(label: impl Into<String>, points: impl Into<Vec<(f64, f64)>>) -> Self {
        Self { label: label.into(), points: points.into(), band: None }
    }

    #[must_use]
    pub fn band(mut self, band: impl Into<Vec<(f64, f64)>>) -> Self {
        self.band = Some(band.into());
        self
    }
}

impl Bars {
    pub fn new(groups: impl Into<Vec<String>>) -> Self {
        Self { groups: groups.into(), series: Vec::new() }
    }

    #[must_use]
    pub fn series(mut self, label: impl Into<String>, values: impl Into<Vec<f64>>) -> Self {
        self.series.push(BarSeries { label: label.into(), values: values.into(), ranges: None });
        self
    }

    #[must_use]
    pub fn series_with_ranges(
        mut self,
        label: impl Into<String>,
        values: impl Into<Vec<f64>>,
        ranges: impl Into<Vec<(f64, f64)>>,
    ) -> Self {
        let ranges = Some(ranges.into());
        self.series.push(BarSeries { label: label.into(), values: values.into(), ranges });
        self
    }
}

impl Path {
    pub fn new(label: impl Into<String>, points: impl Into<Vec<(f64, f64)>>) -> Self {
        Self { label: label.into(), points: points.into() }
    }
}

impl Histogram {
    /// Counts values into `bins` equal bins from the least to the greatest; finite ones only.
    pub fn of(series: &[(&str, &[f64])], bins: usize) -> Self {
        let finite = || series.iter().flat_map(|(_, values)| values.iter()).filter(|value| value.is_finite());
        let low = finite().copied().fold(f64::INFINITY, f64::min);
        let high = finite().copied().fold(f64::NEG_INFINITY, f64::max);
        if low > high || bins == 0 {
            return Self::default();
        }
        let width = if high > low { (high - low) / bins as f64 } else { 1.0 };
        let edges = (0..=bins).map(|edge| low + width * edge as f64).collect();
        let share = |values: &[f64]| {
            let mut percent = vec![0.0; bins];
            let each = 100.0 / values.iter().filter(|value| value.is_finite()).count().max(1) as f64;
            for value in values.iter().filter(|value| value.is_finite()) {
                // The greatest value belongs to the last bin, not to one beyond it.
                percent[(((value - low) / width) as usize).min(bins - 1)] += each;
            }
            percent
        };
        let outline = |(label, values): &(&str, &[f64])| HistogramSeries {
            label: (*label).into(),
            percent: share(values),
        };
        Self { edges, series: series.iter().map(outline).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_counts_every_finite_value_once() {
        let histogram = Histogram::of(&[("a", &[0.0, 0.1, 9.9, 10.0, f64::NAN]), ("b", &[5.0])], 10);
        assert_eq!(histogram.edges.len(), 11);
        assert_eq!(histogram.series[0].percent[0], 50.0);
        assert_eq!(histogram.series[0].percent[9], 50.0);
        assert_eq!(histogram.series[1].percent[5], 100.0);
        assert_eq!(Histogram::of(&[("none", &[])], 10), Histogram::default());
    }
}
