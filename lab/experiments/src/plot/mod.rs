//! Draws figures as SVG: light background, large type, colours that colour-blind readers can tell
//! apart, marks for readers who see no colours, and the legend above the data, never on it.
//!
//! The drawing engine places everything on whole units, so a figure is drawn at twice the size it
//! is shown at: half a pixel is fine enough that curves look smooth.

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::figure::{Axis, BarSeries, Bars, Figure, Histogram, Line, Path, Plot, Scale};
use crate::quantity::show;

mod ticks;

use ticks::{AxisTicks, decades, even_ticks, snug_ticks};

/// Units of the drawing per pixel shown.
const FINE: i32 = 2;
/// Width of every figure, in pixels shown: fits a page column and half a screen.
const WIDTH: i32 = 760;
/// Height of the part where data is drawn.
const PLOT_HEIGHT: i32 = 300;
/// Paths keep their shape, so their height follows from it, within these bounds.
const PATHS_HEIGHT: std::ops::RangeInclusive<i32> = 220..=560;
const MARGIN: i32 = 16;
const TITLE_HEIGHT: i32 = 30;
const LEGEND_ROW_HEIGHT: i32 = 24;
const HEADING_HEIGHT: i32 = 36;
/// More marks on one line would be a caterpillar; the other points are only passed through.
const MARKS_MAX: usize = 14;

/// Okabe and Ito's palette, ordered for grey print, with a wine red of Tol's for the pale yellow.
const PALETTE: [RGBColor; 8] = [
    RGBColor(0x00, 0x72, 0xB2),
    RGBColor(0xD5, 0x5E, 0x00),
    RGBColor(0x00, 0x9E, 0x73),
    RGBColor(0xCC, 0x79, 0xA7),
    RGBColor(0xE6, 0x9F, 0x00),
    RGBColor(0x56, 0xB4, 0xE9),
    RGBColor(0x3A, 0x3A, 0x3A),
    RGBColor(0x88, 0x22, 0x55),
];
const PAPER: RGBColor = RGBColor(0xFF, 0xFF, 0xFF);
const INK: RGBColor = RGBColor(0x1B, 0x1F, 0x24);
const PALE_INK: RGBColor = RGBColor(0x57, 0x60, 0x6A);
const GRID: RGBColor = RGBColor(0xE4, 0xE7, 0xEB);
const AXIS: RGBColor = RGBColor(0x8C, 0x95, 0x9F);

const FONTS: &str = "system-ui, -apple-system, Segoe UI, Roboto, Helvetica Neue, Arial, sans-serif";

/// The figure as an SVG document that stands alone or inside a page.
pub fn draw(figure: &Figure) -> String {
    let layout = Layout::of(figure);
    let (width, height) = (WIDTH * FINE, layout.height * FINE);
    let mut drawing = String::new();
    {
        let root = SVGBackend::with_string(&mut drawing, (width as u32, height as u32)).into_drawing_area();
        let mut canvas = PlotCanvas { root, layout: &layout };
        canvas.everything(figure);
        canvas.root.present().expect(IN_MEMORY);
    }
    // The engine's own first line knows neither the size shown nor what is to be seen.
    let body = drawing.split_once('\n').map_or("", |(_, body)| body);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{}\" viewBox=\"0 0 {width} {height}\" \
         role=\"img\" aria-label=\"{}\">\n{body}",
        layout.height,
        crate::report::escaped(&figure.title),
    )
}

const IN_MEMORY: &str = "drawing into a string cannot fail";

/// Where everything goes, in pixels shown, and which values the axes span.
struct Layout {
    legend: Vec<LegendEntry>,
    height: i32,
    left: i32,
    right: i32,
    top: i32,
    bottom: i32,
    x: AxisTicks,
    y: AxisTicks,
}

struct LegendEntry {
    label: String,
    series: usize,
    x: i32,
    y: i32,
}

impl Layout {
    fn of(figure: &Figure) -> Self {
        let (x, y) = axes(figure);
        let (legend, legend_rows) = legend(&figure.plot);
        let top = MARGIN + TITLE_HEIGHT + legend_rows * LEGEND_ROW_HEIGHT + HEADING_HEIGHT;
        let labels_width = y.labels().map(|label| text_width(label, TICK_SIZE)).max().unwrap_or(0);
        let left = MARGIN + labels_width + 10;
        let right = WIDTH - MARGIN - 8;
        let plot_height = match figure.plot {
            Plot::Paths(_) => equal_scale_height(&x, &y, right - left),
            _ => PLOT_HEIGHT,
        };
        let bottom = top + plot_height;
        let below = if matches!(figure.plot, Plot::Bars(_)) { 74 } else { 54 };
        Self { legend, height: bottom + below, left, right, top, bottom, x, y }.with_equal_scales(figure)
    }

    /// Paths: makes a unit across as long as a unit up, by widening the axis with room to spare.
    fn with_equal_scales(mut self, figure: &Figure) -> Self {
        if matches!(figure.plot, Plot::Paths(_)) {
            let (width, height) = (f64::from(self.right - self.left), f64::from(self.bottom - self.top));
            let unit = (self.x.span() / width).max(self.y.span() / height);
            self.x.widen_to(unit * width);
            self.y.widen_to(unit * height);
        }
        self
    }

    fn at(&self, x: f64, y: f64) -> (i32, i32) {
        (self.x_at(x), self.y_at(y))
    }

    fn x_at(&self, x: f64) -> i32 {
        let width = f64::from((self.right - self.left) * FINE);
        self.left * FINE + (self.x.part(x) * width).round() as i32
    }

    fn y_at(&self, y: f64) -> i32 {
        let height = f64::from((self.bottom - self.top) * FINE);
        self.bottom * FINE - (self.y.part(y) * height).round() as i32
    }
}

fn equal_scale_height(x: &AxisTicks, y: &AxisTicks, width: i32) -> i32 {
    let height = f64::from(width) * y.span() / x.span();
    (height.min(1e6) as i32).clamp(*PATHS_HEIGHT.start(), *PATHS_HEIGHT.end())
}

fn axes(figure: &Figure) -> (AxisTicks, AxisTicks) {
    match &figure.plot {
        Plot::Lines(lines) => {
            let points = || lines.iter().flat_map(|line| &line.points);
            let bands = lines.iter().flat_map(|line| line.band.iter().flatten());
            let heights = points().map(|point| point.1).chain(bands.flat_map(|&(low, high)| [low, high]));
            (axis_of(&figure.x, points().map(|point| point.0)), axis_from_zero(&figure.y, heights))
        }
        Plot::Bars(bars) => {
            let values = bars.series.iter().flat_map(|series| &series.values).copied();
            let ranges = bars.series.iter().flat_map(|series| series.ranges.iter().flatten());
            let heights = values.chain(ranges.flat_map(|&(low, high)| [low, high])).chain([0.0]);
            (AxisTicks::bare(0.0, bars.groups.len().max(1) as f64), even_ticks(heights, 6))
        }
        Plot::Paths(paths) => {
            let points = || paths.iter().flat_map(|path| &path.points);
            (even_ticks(points().map(|point| point.0), 8), even_ticks(points().map(|point| point.1), 6))
        }
        Plot::Histogram(histogram) => {
            let heights = histogram.series.iter().flat_map(|series| &series.percent).copied().chain([0.0]);
            (axis_of(&Axis::default(), histogram.edges.iter().copied()), even_ticks(heights, 6))
        }
    }
}

/// An axis that spans just the values.
fn axis_of(axis: &Axis, values: impl Iterator<Item = f64>) -> AxisTicks {
    match axis.scale {
        Scale::Linear => snug_ticks(values, 8),
        Scale::Logarithmic => decades(values),
    }
}

/// An axis that starts at zero if that does not flatten the values against its end.
fn axis_from_zero(axis: &Axis, values: impl Iterator<Item = f64>) -> AxisTicks {
    if axis.scale == Scale::Logarithmic {
        return decades(values);
    }
    let values: Vec<f64> = values.filter(|value| value.is_finite()).collect();
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let from_zero = low > 0.0 && low < 0.6 * high;
    even_ticks(values.into_iter().chain(from_zero.then_some(0.0)), 6)
}

/// Places the legend's entries in rows; one series alone needs none.
fn legend(plot: &Plot) -> (Vec<LegendEntry>, i32) {
    let labels: Vec<&str> = match plot {
        Plot::Lines(lines) => lines.iter().map(|line| line.label.as_str()).collect(),
        Plot::Bars(bars) => bars.series.iter().map(|series| series.label.as_str()).collect(),
        Plot::Paths(paths) => paths.iter().map(|path| path.label.as_str()).collect(),
        Plot::Histogram(histogram) => histogram.series.iter().map(|series| series.label.as_str()).collect(),
    };
    if labels.len() < 2 {
        return (Vec::new(), 0);
    }
    let (mut x, mut row) = (MARGIN, 0);
    let mut entries = Vec::new();
    for (series, label) in labels.into_iter().enumerate() {
        let width = 32 + text_width(label, LEGEND_SIZE) + 18;
        if x > MARGIN && x + width > WIDTH - MARGIN {
            (x, row) = (MARGIN, row + 1);
        }
        let y = MARGIN + TITLE_HEIGHT + row * LEGEND_ROW_HEIGHT + LEGEND_ROW_HEIGHT / 2;
        entries.push(LegendEntry { label: label.into(), series, x, y });
        x += width;
    }
    (entries, row + 1)
}

const TITLE_SIZE: i32 = 16;
const LEGEND_SIZE: i32 = 13;
const HEADING_SIZE: i32 = 13;
const TICK_SIZE: i32 = 12;
const VALUE_SIZE: i32 = 11;

/// About how wide text is, in the measure of `size`: an average letter is 0.55 of its height.
fn text_width(text: &str, size: i32) -> i32 {
    (text.chars().count() as f64 * f64::from(size) * 0.56).ceil() as i32
}

struct PlotCanvas<'a> {
    root: DrawingArea<SVGBackend<'a>, Shift>,
    layout: &'a Layout,
}

impl PlotCanvas<'_> {
    fn everything(&mut self, figure: &Figure) {
        self.root.fill(&PAPER).expect(IN_MEMORY);
        self.text(&figure.title, (MARGIN, MARGIN + 8), Text { bold: true, ..Text::new(TITLE_SIZE, INK) });
        self.grid(figure);
        match &figure.plot {
            Plot::Lines(lines) => self.lines(lines),
            Plot::Bars(bars) => self.bars(bars),
            Plot::Paths(paths) => self.paths(paths),
            Plot::Histogram(histogram) => self.histogram(histogram),
        }
        self.legend(&figure.plot);
    }

    fn grid(&mut self, figure: &Figure) {
        let Layout { left, right, top, bottom, .. } = *self.layout;
        for (value, label) in self.layout.y.each() {
            let y = self.layout.y_at(value);
            let is_base = value == 0.0 && self.layout.y.is_even();
            let color = if is_base { AXIS } else { GRID };
            self.stroke(&[(left * FINE, y), (right * FINE, y)], color.stroke_width(FINE as u32));
            self.text(
                label,
                (left - 8, y / FINE),
                Text { across: HPos::Right, ..Text::new(TICK_SIZE, PALE_INK) },
            );
        }
        let is_bars = matches!(figure.plot, Plot::Bars(_));
        for (value, label) in self.layout.x.each() {
            let x = self.layout.x_at(value);
            let color = if is_bars { AXIS } else { GRID };
            self.stroke(&[(x, top * FINE), (x, bottom * FINE)], color.stroke_width(FINE as u32));
            self.text(
                label,
                (x / FINE, bottom + 16),
                Text { across: HPos::Center, ..Text::new(TICK_SIZE, PALE_INK) },
            );
        }
        self.text(&figure.y.heading(), (MARGIN, top - 18), Text::new(HEADING_SIZE, PALE_INK));
        let below = self.layout.height - MARGIN;
        let heading = Text { across: HPos::Right, ..Text::new(HEADING_SIZE, PALE_INK) };
        self.text(&figure.x.heading(), (right, below), heading);
    }

    fn lines(&mut self, lines: &[Line]) {
        for (series, line) in lines.iter().enumerate() {
            if let Some(band) = &line.band {
                self.band(&line.points, band, color_of(series));
            }
        }
        for (series, line) in lines.iter().enumerate() {
            let places = self.visible(&line.points);
            for piece in &places {
                self.line(piece, series);
            }
            let every = line.points.len().div_ceil(MARKS_MAX).max(1);
            for place in places.iter().flatten().skip(series % every).step_by(every) {
                self.mark(*place, series, 4);
            }
        }
    }

    fn band(&mut self, points: &[(f64, f64)], band: &[(f64, f64)], color: RGBColor) {
        let edge = |pick: fn(&(f64, f64)) -> f64| -> Vec<(f64, f64)> {
            // Where there is no value, its range is not shown either.
            let height = |value: f64, range| if value.is_finite() { pick(range) } else { f64::NAN };
            points.iter().zip(band).map(|(point, range)| (point.0, height(point.1, range))).collect()
        };
        let (low, high) = (self.visible(&edge(|range| range.0)), self.visible(&edge(|range| range.1)));
        for (low, high) in low.into_iter().zip(high) {
            let outline: Vec<_> = low.into_iter().chain(high.into_iter().rev()).collect();
            self.root.draw(&Polygon::new(outline, color.mix(0.18))).expect(IN_MEMORY);
        }
    }

    fn bars(&mut self, bars: &Bars) {
        let groups = bars.groups.len().max(1) as f64;
        let slot = f64::from(self.layout.right - self.layout.left) / groups;
        let width = (slot * 0.78 / bars.series.len().max(1) as f64).min(56.0);
        for (index, series) in bars.series.iter().enumerate() {
            let offset = (index as f64 - bars.series.len() as f64 / 2.0) * width;
            self.bar_series(index, series, slot, offset, width);
        }
        for (group, label) in bars.groups.iter().enumerate() {
            let middle = f64::from(self.layout.left) + slot * (group as f64 + 0.5);
            self.wrapped(label, middle as i32, self.layout.bottom + 16, slot as i32 - 10);
        }
    }

    fn bar_series(&mut self, index: usize, series: &BarSeries, slot: f64, offset: f64, width: f64) {
        let zero = self.layout.y_at(0.0);
        // All bars of a series say their values, or none does.
        let values = || series.values.iter().copied().filter(|value| value.is_finite());
        let has_labels = values().all(|value| text_width(&show(value), VALUE_SIZE) <= width as i32 + 8);
        for (group, &value) in series.values.iter().enumerate().filter(|(_, value)| value.is_finite()) {
            let from = f64::from(self.layout.left) + slot * (group as f64 + 0.5) + offset;
            let (left, right) =
                ((from * f64::from(FINE)) as i32 + 1, ((from + width) * f64::from(FINE)) as i32 - 1);
            let top = self.layout.y_at(value);
            let bar = [(left, top.min(zero)), (right, top.max(zero))];
            self.root.draw(&Rectangle::new(bar, color_of(index).filled())).expect(IN_MEMORY);
            let range = series.ranges.as_ref().and_then(|ranges| ranges.get(group)).copied();
            let highest =
                range.map_or(top, |(low, high)| self.whisker((left + right) / 2, low, high).min(top));
            if has_labels {
                let label = show(value);
                let place = ((left + right) / 2 / FINE, highest.min(zero) / FINE - 9);
                self.text(&label, place, Text { across: HPos::Center, ..Text::new(VALUE_SIZE, INK) });
            }
        }
    }

    /// A thin line from the lowest to the highest value; answers where its upper end is.
    fn whisker(&mut self, x: i32, low: f64, high: f64) -> i32 {
        if !(low.is_finite() && high.is_finite()) {
            return i32::MAX;
        }
        let (bottom, top) = (self.layout.y_at(low), self.layout.y_at(high));
        let style = INK.stroke_width(FINE as u32);
        self.stroke(&[(x, bottom), (x, top)], style);
        for end in [bottom, top] {
            self.stroke(&[(x - 4 * FINE, end), (x + 4 * FINE, end)], style);
        }
        top
    }

    fn paths(&mut self, paths: &[Path]) {
        for (series, path) in paths.iter().enumerate() {
            // The first is the truth the others are compared with: broad and pale beneath them.
            let style = if series == 0 && paths.len() > 1 {
                color_of(series).mix(0.45).stroke_width(6 * FINE as u32)
            } else {
                color_of(series).stroke_width(2 * FINE as u32)
            };
            let pieces = self.visible(&path.points);
            for piece in &pieces {
                self.stroke(piece, style);
            }
            if let Some(start) = pieces.first().and_then(|piece| piece.first()) {
                let ring = color_of(series).stroke_width(2 * FINE as u32);
                self.root.draw(&Circle::new(*start, 5 * FINE, PAPER.filled())).expect(IN_MEMORY);
                self.root.draw(&Circle::new(*start, 5 * FINE, ring)).expect(IN_MEMORY);
            }
            if let Some(end) = pieces.last().and_then(|piece| piece.last()) {
                self.root.draw(&Circle::new(*end, 5 * FINE, color_of(series).filled())).expect(IN_MEMORY);
            }
        }
    }

    fn histogram(&mut self, histogram: &Histogram) {
        for (index, series) in histogram.series.iter().enumerate() {
            let bins: Vec<(&[f64], f64)> =
                histogram.edges.windows(2).zip(series.percent.iter().copied()).collect();
            // Empty bins stay empty: an outline along the axis would be the last series' colour
            // only.
            for hill in bins.split(|(_, percent)| *percent == 0.0) {
                let mut outline: Vec<(f64, f64)> = hill
                    .iter()
                    .flat_map(|(edges, percent)| [(edges[0], *percent), (edges[1], *percent)])
                    .collect();
                let (Some(first), Some(last)) = (outline.first().copied(), outline.last().copied()) else {
                    continue;
                };
                outline.insert(0, (first.0, 0.0));
                outline.push((last.0, 0.0));
                for piece in self.visible(&outline) {
                    self.root.draw(&Polygon::new(piece.clone(), color_of(index).mix(0.16))).expect(IN_MEMORY);
                    self.stroke(&piece, color_of(index).stroke_width(2 * FINE as u32));
                }
            }
        }
    }

    fn legend(&mut self, plot: &Plot) {
        for entry in &self.layout.legend {
            let color = color_of(entry.series);
            let (x, y) = (entry.x * FINE, entry.y * FINE);
            match plot {
                Plot::Lines(_) => {
                    self.line(&[(x, y), (x + 24 * FINE, y)], entry.series);
                    self.mark((x + 12 * FINE, y), entry.series, 4);
                }
                Plot::Paths(paths) if entry.series == 0 && paths.len() > 1 => {
                    let style = color.mix(0.45).stroke_width(6 * FINE as u32);
                    self.stroke(&[(x, y), (x + 24 * FINE, y)], style);
                }
                Plot::Paths(_) => {
                    self.stroke(&[(x, y), (x + 24 * FINE, y)], color.stroke_width(2 * FINE as u32));
                }
                Plot::Bars(_) | Plot::Histogram(_) => {
                    let swatch = [(x + 6 * FINE, y - 7 * FINE), (x + 20 * FINE, y + 7 * FINE)];
                    self.root.draw(&Rectangle::new(swatch, color.filled())).expect(IN_MEMORY);
                }
            }
            self.text(&entry.label, (entry.x + 32, entry.y), Text::new(LEGEND_SIZE, INK));
        }
    }

    /// A line of the series' own colour; dashed, where colours come round again.
    fn line(&mut self, places: &[(i32, i32)], series: usize) {
        let style = color_of(series).stroke_width(2 * FINE as u32);
        if comes_round_again(series) {
            for dash in dashes(places, 7.0 * f64::from(FINE), 4.0 * f64::from(FINE)) {
                self.stroke(&dash, style);
            }
        } else {
            self.stroke(places, style);
        }
    }

    /// A mark of the series' own shape; hollow, where colours come round again.
    fn mark(&mut self, (x, y): (i32, i32), series: usize, radius: i32) {
        let r = radius * FINE;
        let corners = match series % 4 {
            0 => Vec::new(),
            1 => vec![(x - r, y - r), (x + r, y - r), (x + r, y + r), (x - r, y + r)],
            2 => vec![(x, y - r - 2), (x + r + 2, y + r), (x - r - 2, y + r)],
            _ => vec![(x, y - r - 2), (x + r + 2, y), (x, y + r + 2), (x - r - 2, y)],
        };
        let outline = color_of(series).stroke_width(2 * FINE as u32);
        let inside = if comes_round_again(series) { PAPER } else { color_of(series) };
        if corners.is_empty() {
            self.root.draw(&Circle::new((x, y), r, inside.filled())).expect(IN_MEMORY);
            self.root.draw(&Circle::new((x, y), r, outline)).expect(IN_MEMORY);
        } else {
            let round: Vec<_> = corners.iter().chain(&corners[..1]).copied().collect();
            self.root.draw(&Polygon::new(corners, inside.filled())).expect(IN_MEMORY);
            self.stroke(&round, outline);
        }
    }

    /// The pieces of a line whose numbers can be shown, as places in the drawing.
    fn visible(&self, points: &[(f64, f64)]) -> Vec<Vec<(i32, i32)>> {
        let mut pieces = vec![Vec::new()];
        for &(x, y) in points {
            if self.layout.x.can_show(x) && self.layout.y.can_show(y) {
                pieces.last_mut().expect("there is always one").push(self.layout.at(x, y));
            } else {
                pieces.push(Vec::new());
            }
        }
        for piece in &mut pieces {
            piece.dedup();
        }
        pieces.retain(|piece| !piece.is_empty());
        pieces
    }

    fn stroke(&mut self, places: &[(i32, i32)], style: impl Into<ShapeStyle>) {
        self.root.draw(&PathElement::new(places.to_vec(), style)).expect(IN_MEMORY);
    }

    /// Text in a narrow column, broken at spaces, after hyphens and where it asks for it.
    fn wrapped(&mut self, text: &str, middle: i32, top: i32, width: i32) {
        let mut lines: Vec<String> = Vec::new();
        for part in text.split('\n') {
            lines.push(String::new());
            for word in part.split_inclusive([' ', '-']) {
                let line = lines.last_mut().expect("there is always one");
                let longer = format!("{line}{word}");
                if line.is_empty() || text_width(longer.trim_end(), TICK_SIZE) <= width {
                    *line = longer;
                } else {
                    lines.push(word.into());
                }
            }
        }
        for (index, line) in lines.iter().take(3).enumerate() {
            let style = Text { across: HPos::Center, ..Text::new(TICK_SIZE, PALE_INK) };
            self.text(line.trim_end(), (middle, top + 15 * index as i32), style);
        }
    }

    /// Text whose middle is at a height, in pixels shown.
    fn text(&mut self, text: &str, (x, y): (i32, i32), how: Text) {
        let weight = if how.bold { FontStyle::Bold } else { FontStyle::Normal };
        // The engine divides by 1.24 to get from its measure of a font to the one SVG uses.
        let font = (FontFamily::Name(FONTS), f64::from(how.size * FINE) * 1.24, weight).into_font();
        let style = TextStyle::from(font).color(&how.color).pos(Pos::new(how.across, VPos::Center));
        self.root.draw_text(text, &style, (x * FINE, y * FINE)).expect(IN_MEMORY);
    }
}

struct Text {
    size: i32,
    color: RGBColor,
    across: HPos,
    bold: bool,
}

impl Text {
    fn new(size: i32, color: RGBColor) -> Self {
        Self { size, color, across: HPos::Left, bold: false }
    }
}

/// The drawn pieces of a dashed line, with so much drawn and so much left out in turns.
fn dashes(places: &[(i32, i32)], drawn: f64, left_out: f64) -> Vec<Vec<(i32, i32)>> {
    let mut pieces = vec![places.first().copied().into_iter().collect::<Vec<_>>()];
    let (mut is_drawn, mut to_go) = (true, drawn);
    for ends in places.windows(2) {
        let (from, to) = (ends[0], ends[1]);
        let (across, up) = (f64::from(to.0 - from.0), f64::from(to.1 - from.1));
        let length = (across * across + up * up).sqrt();
        let mut at = 0.0;
        while length - at > to_go {
            at += to_go;
            let part = at / length;
            let turn = (from.0 + (across * part).round() as i32, from.1 + (up * part).round() as i32);
            if is_drawn {
                pieces.last_mut().expect("there is always one").push(turn);
            } else {
                pieces.push(vec![turn]);
            }
            is_drawn = !is_drawn;
            to_go = if is_drawn { drawn } else { left_out };
        }
        to_go -= length - at;
        if is_drawn {
            pieces.last_mut().expect("there is always one").push(to);
        }
    }
    pieces.retain(|piece| piece.len() > 1);
    pieces
}

fn comes_round_again(series: usize) -> bool {
    series >= PALETTE.len()
}

fn color_of(series: usize) -> RGBColor {
    PALETTE[series % PALETTE.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dashes_go_round_corners_and_leave_gaps() {
        let dashes = dashes(&[(0, 0), (10, 0), (10, 20)], 12.0, 4.0);
        assert_eq!(dashes, [vec![(0, 0), (10, 0), (10, 2)], vec![(10, 6), (10, 18)]]);
    }
}
