//! A picture of a few lines.

use std::ops::Range;
use std::path::Path;

use plotters::prelude::*;

/// What a picture shows.
pub(crate) struct Chart<'a> {
    pub(crate) title: &'a str,
    pub(crate) across: &'a str,
    pub(crate) up: &'a str,
    /// Whether both axes go by powers of two.
    pub(crate) is_logarithmic: bool,
    pub(crate) lines: &'a [Line],
}

/// How values lie on an axis.
#[derive(Clone, Copy)]
struct Scale {
    place: fn(f64) -> f64,
    label: fn(f64) -> String,
    /// How many labels there are, if it is not one for each unit.
    labels: Option<usize>,
}

/// One line.
pub(crate) struct Line {
    pub(crate) label: &'static str,
    pub(crate) points: Vec<(f64, f64)>,
}

const SIZE: (u32, u32) = (760, 400);
/// Okabe and Ito's first three, which colour-blind readers can tell apart.
const COLOURS: [RGBColor; 3] =
    [RGBColor(0x3A, 0x3A, 0x3A), RGBColor(0xD5, 0x5E, 0x00), RGBColor(0x00, 0x72, 0xB2)];
const FONT: &str = "sans-serif";
const IN_MEMORY: &str = "drawing into a string cannot fail";

impl Chart<'_> {
    /// Draws it as SVG.
    pub(crate) fn draw(&self, file: &Path) {
        let mut drawing = String::new();
        let root = SVGBackend::with_string(&mut drawing, SIZE).into_drawing_area();
        root.fill(&WHITE).expect(IN_MEMORY);
        let (across, up) = (self.range(|point| point.0), self.range(|point| point.1));
        if self.is_logarithmic {
            self.plot(&root, whole_powers(across), whole_powers(up), Scale::POWERS_OF_TWO);
        } else {
            self.plot(&root, across.0..across.1, 0.0..up.1 * 1.3, Scale::EVEN);
        }
        root.present().expect(IN_MEMORY);
        drop(root);
        std::fs::write(file, drawing).expect("the folder can be written to");
    }

    fn plot(
        &self,
        root: &DrawingArea<SVGBackend<'_>, plotters::coord::Shift>,
        across: Range<f64>,
        up: Range<f64>,
        scale: Scale,
    ) {
        let steps = |range: &Range<f64>| scale.steps(range);
        let (steps_across, steps_up) = (steps(&across), steps(&up));
        let mut chart = ChartBuilder::on(root)
            .caption(self.title, (FONT, 20))
            .margin(14)
            .x_label_area_size(44)
            .y_label_area_size(64)
            .build_cartesian_2d(across, up)
            .expect(IN_MEMORY);
        let plain = |value: &f64| (scale.label)(*value);
        chart
            .configure_mesh()
            .x_desc(self.across)
            .y_desc(self.up)
            .label_style((FONT, 15))
            .axis_desc_style((FONT, 16))
            .light_line_style(WHITE)
            .x_labels(steps_across)
            .y_labels(steps_up)
            .x_label_formatter(&plain)
            .y_label_formatter(&plain)
            .draw()
            .expect(IN_MEMORY);
        for (line, colour) in self.lines.iter().zip(COLOURS) {
            let place = |(x, y): &(f64, f64)| ((scale.place)(*x), (scale.place)(*y));
            let drawn = LineSeries::new(line.points.iter().map(place), colour.stroke_width(3)).point_size(4);
            chart
                .draw_series(drawn)
                .expect(IN_MEMORY)
                .label(line.label)
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 24, y)], colour.stroke_width(3)));
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperLeft)
            .legend_area_size(32)
            .label_font((FONT, 15))
            .background_style(WHITE.mix(0.85))
            .border_style(RGBColor(0xE4, 0xE7, 0xEB))
            .draw()
            .expect(IN_MEMORY);
    }

    fn range(&self, of: impl Fn(&(f64, f64)) -> f64) -> (f64, f64) {
        let values = || self.lines.iter().flat_map(|line| line.points.iter().map(&of));
        (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max))
    }
}

impl Scale {
    const EVEN: Self = Self {
        place: |value| value,
        label: |value| format!("{value:.4}").trim_end_matches(['0']).trim_end_matches('.').to_owned(),
        labels: Some(6),
    };
    const POWERS_OF_TWO: Self =
        Self { place: f64::log2, label: |power| format!("{}", power.round().exp2()), labels: None };

    fn steps(&self, range: &Range<f64>) -> usize {
        self.labels.unwrap_or((range.end - range.start).round() as usize + 1)
    }
}

/// From the power of two below to the one above.
fn whole_powers((min, max): (f64, f64)) -> Range<f64> {
    min.log2().floor()..max.log2().ceil()
}
