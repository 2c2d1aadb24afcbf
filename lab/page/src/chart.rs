//! Charts as data, and how plotters draws them.

use plotters::coord::Shift;
use plotters::prelude::*;

/// Lines over a common axis, mostly time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chart {
    /// The label of the x axis.
    pub x: String,
    /// The label of the y axis.
    pub y: String,
    /// The range of x. Default: the range of the points.
    pub x_range: Option<(f64, f64)>,
    /// The smallest height of the y axis, so that noise does not fill the chart.
    pub y_least: f64,
    pub series: Vec<Series>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// The number of the colour, of six.
    pub colour: u32,
    pub stroke: Stroke,
    pub points: Vec<(f64, f64)>,
}

/// The stroke of a line, so that lines can be told apart without colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stroke {
    #[default]
    Solid,
    Dashed,
    Dotted,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Look {
    pub is_dark: bool,
    /// Canvas pixels per page pixel.
    pub scale: f64,
}

/// Okabe and Ito's colours, for colour-blind readers: for dark pages, with yellow in place of blue.
const PALETTE_DARK: [RGBColor; 6] = [
    RGBColor(0xe6, 0x9f, 0x00),
    RGBColor(0x56, 0xb4, 0xe9),
    RGBColor(0x00, 0x9e, 0x73),
    RGBColor(0xcc, 0x79, 0xa7),
    RGBColor(0xd5, 0x5e, 0x00),
    RGBColor(0xf0, 0xe4, 0x42),
];
/// The same hues, darker, so that each has a contrast of at least 3:1 on light paper.
const PALETTE_LIGHT: [RGBColor; 6] = [
    RGBColor(0xb8, 0x75, 0x00),
    RGBColor(0x2a, 0x86, 0xbd),
    RGBColor(0x00, 0x83, 0x5f),
    RGBColor(0xb5, 0x58, 0x8a),
    RGBColor(0xc8, 0x54, 0x00),
    RGBColor(0x00, 0x72, 0xb2),
];

impl Chart {
    /// Draws the chart on the whole area. The area is not cleared: its background shows through.
    pub fn draw<B: DrawingBackend>(
        &self,
        area: &DrawingArea<B, Shift>,
        look: Look,
    ) -> Result<(), DrawingAreaErrorKind<B::ErrorType>> {
        let size = |pixels: f64| (pixels * look.scale).round() as u32;
        let ink = if look.is_dark { RGBColor(0xc9, 0xd1, 0xd9) } else { RGBColor(0x44, 0x4c, 0x56) };
        let font = ("system-ui, sans-serif", f64::from(size(12.0))).into_font().color(&ink);
        let (x, y) = self.ranges();
        let mut chart = ChartBuilder::on(area)
            .margin(size(4.0))
            // The last label of the axis reaches beyond its end.
            .margin_right(size(14.0))
            .x_label_area_size(size(34.0))
            .y_label_area_size(size(54.0))
            .build_cartesian_2d(x.0..x.1, y.0..y.1)?;
        chart
            .configure_mesh()
            .disable_x_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(ink.mix(0.15))
            .axis_style(ink.mix(0.5))
            .label_style(font.clone())
            .axis_desc_style(font)
            .x_desc(&self.x)
            .y_desc(&self.y)
            .x_labels(6)
            .y_labels(4)
            .x_label_formatter(&short)
            .y_label_formatter(&short)
            .draw()?;
        for series in &self.series {
            let palette = if look.is_dark { PALETTE_DARK } else { PALETTE_LIGHT };
            let colour = palette[series.colour as usize % palette.len()];
            let style = colour.stroke_width(size(2.0).max(1));
            let points = series.points.iter().copied();
            let pieces = match series.stroke {
                Stroke::Solid => None,
                Stroke::Dashed => Some((8.0, 5.0)),
                Stroke::Dotted => Some((2.0, 4.0)),
            };
            match pieces {
                None => chart.draw_series(LineSeries::new(points, style))?,
                Some((piece, gap)) => {
                    chart.draw_series(DashedLineSeries::new(points, size(piece), size(gap), style))?
                }
            };
        }
        Ok(())
    }

    fn ranges(&self) -> ((f64, f64), (f64, f64)) {
        let points = || self.series.iter().flat_map(|series| &series.points);
        let top = points().map(|(_, y)| *y).fold(self.y_least, f64::max) * 1.05;
        let last = points().map(|(x, _)| *x).fold(1.0, f64::max);
        (self.x_range.unwrap_or((0.0, last)), (0.0, top))
    }
}

/// Formats a number with few digits.
fn short(number: &f64) -> String {
    let decimals = if number.abs() >= 10.0 || number.fract() == 0.0 { 0 } else { 1 };
    format!("{number:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chart_shows_its_axes_and_lines() {
        let chart = Chart {
            x: "seconds".into(),
            y: "error".into(),
            series: vec![Series { colour: 1, points: vec![(0.0, 1.0), (1.0, 3.0)], ..Series::default() }],
            ..Chart::default()
        };
        let mut svg = String::new();
        let area = SVGBackend::with_string(&mut svg, (300, 200)).into_drawing_area();
        chart.draw(&area, Look { is_dark: false, scale: 1.0 }).expect("strings do not fail");
        area.present().expect("strings do not fail");
        drop(area);
        assert!(svg.contains("seconds") && svg.contains("error"), "{svg}");
        assert!(svg.contains("#2A86BD"), "{svg}");
    }
}
