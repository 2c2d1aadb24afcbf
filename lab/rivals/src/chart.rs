//! A chart of a few lines.

use std::ops::Range;
use std::path::Path;

use plotters::coord::Shift;
use plotters::prelude::*;

/// A chart.
pub(crate) struct GrowthChart<'a> {
    pub(crate) title: &'a str,
    pub(crate) across: ChartAxis<'a>,
    pub(crate) up: ChartAxis<'a>,
    pub(crate) lines: &'a [ChartLine],
}

/// An axis: its name and its scale.
#[derive(Clone, Copy)]
pub(crate) struct ChartAxis<'a> {
    pub(crate) name: &'a str,
    pub(crate) scale: AxisScale,
}

#[derive(Clone, Copy)]
pub(crate) enum AxisScale {
    /// Linear, from zero.
    Even,
    /// Logarithmic, by powers of two.
    Powers,
}

/// One line of a chart.
pub(crate) struct ChartLine {
    pub(crate) label: &'static str,
    pub(crate) points: Vec<(f64, f64)>,
}

const SIZE: (u32, u32) = (860, 380);
/// Width of the legend, beside the plot, where no line can be.
const LEGEND_WIDTH: u32 = 210;
/// Three colours of Okabe and Ito, which colour-blind readers can tell apart.
const COLOURS: [RGBColor; 3] =
    [RGBColor(0x3A, 0x3A, 0x3A), RGBColor(0xD5, 0x5E, 0x00), RGBColor(0x00, 0x72, 0xB2)];
const FONT: &str = "sans-serif";
const IN_MEMORY: &str = "drawing into a string cannot fail";

impl GrowthChart<'_> {
    /// Writes the chart to a file, as SVG.
    pub(crate) fn draw(&self, file: &Path) {
        let mut drawing = String::new();
        let root = SVGBackend::with_string(&mut drawing, SIZE).into_drawing_area();
        root.fill(&WHITE).expect(IN_MEMORY);
        let (plot, legend) = root.split_horizontally(SIZE.0 - LEGEND_WIDTH);
        self.plot(&plot);
        self.name_lines(&legend);
        root.present().expect(IN_MEMORY);
        drop((plot, legend, root));
        std::fs::write(file, drawing).expect("the folder is writable");
    }

    fn plot(&self, area: &DrawingArea<SVGBackend<'_>, Shift>) {
        let ChartAxis { scale: scale_across, .. } = self.across;
        let ChartAxis { scale: scale_up, .. } = self.up;
        let (across, up) = (self.range(scale_across, |point| point.0), self.range(scale_up, |point| point.1));
        let (steps_across, steps_up) = (scale_across.steps(&across), scale_up.steps(&up));
        let mut chart = ChartBuilder::on(area)
            .caption(self.title, (FONT, 20))
            .margin(14)
            .x_label_area_size(44)
            .y_label_area_size(64)
            .build_cartesian_2d(across, up)
            .expect(IN_MEMORY);
        chart
            .configure_mesh()
            .x_desc(self.across.name)
            .y_desc(self.up.name)
            .label_style((FONT, 15))
            .axis_desc_style((FONT, 16))
            .light_line_style(WHITE)
            .x_labels(steps_across)
            .y_labels(steps_up)
            .x_label_formatter(&|place| scale_across.label(*place))
            .y_label_formatter(&|place| scale_up.label(*place))
            .draw()
            .expect(IN_MEMORY);
        for (line, colour) in self.lines.iter().zip(COLOURS) {
            let place = |(x, y): &(f64, f64)| (scale_across.place(*x), scale_up.place(*y));
            let drawn = LineSeries::new(line.points.iter().map(place), colour.stroke_width(3)).point_size(4);
            chart.draw_series(drawn).expect(IN_MEMORY);
        }
    }

    fn name_lines(&self, area: &DrawingArea<SVGBackend<'_>, Shift>) {
        for ((line, colour), row) in self.lines.iter().zip(COLOURS).zip(0..) {
            let y = 60 + 28 * row;
            let stroke = PathElement::new([(0, y), (22, y)], colour.stroke_width(3));
            area.draw(&stroke).expect(IN_MEMORY);
            area.draw(&Text::new(line.label, (30, y - 8), (FONT, 15))).expect(IN_MEMORY);
        }
    }

    fn range(&self, scale: AxisScale, of: impl Fn(&(f64, f64)) -> f64) -> Range<f64> {
        let values = || self.lines.iter().flat_map(|line| line.points.iter().map(&of));
        scale.range(values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max))
    }
}

impl AxisScale {
    fn place(self, value: f64) -> f64 {
        match self {
            Self::Even => value,
            Self::Powers => value.log2(),
        }
    }

    fn label(self, place: f64) -> String {
        let value = match self {
            Self::Even => place,
            Self::Powers => place.round().exp2(),
        };
        format!("{value:.4}").trim_end_matches('0').trim_end_matches('.').to_owned()
    }

    /// Returns the range of the axis for these values. A logarithmic axis ends at whole powers.
    fn range(self, min: f64, max: f64) -> Range<f64> {
        match self {
            Self::Even => 0.0..max,
            Self::Powers => min.log2().floor()..max.log2().ceil(),
        }
    }

    /// Returns the number of labels.
    fn steps(self, range: &Range<f64>) -> usize {
        match self {
            Self::Even => 6,
            Self::Powers => (range.end - range.start).round() as usize + 1,
        }
    }
}
