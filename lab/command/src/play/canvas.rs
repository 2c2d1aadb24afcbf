use crossterm::style::Color;

/// So many columns and rows of coloured characters. What is drawn outside of it is not drawn.
pub(super) struct TextCanvas {
    width: i32,
    height: i32,
    cells: Vec<ScreenCell>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ScreenCell {
    pub(super) character: char,
    pub(super) colour: Color,
}

/// A part of a canvas: its left upper cell, and how many columns and rows it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Area {
    pub(super) left: i32,
    pub(super) top: i32,
    pub(super) width: i32,
    pub(super) height: i32,
}

impl TextCanvas {
    pub(super) fn new(width: u16, height: u16) -> Self {
        let blank = ScreenCell { character: ' ', colour: Color::Reset };
        Self {
            width: width.into(),
            height: height.into(),
            cells: vec![blank; usize::from(width) * usize::from(height)],
        }
    }

    pub(super) fn width(&self) -> i32 {
        self.width
    }

    pub(super) fn height(&self) -> i32 {
        self.height
    }

    pub(super) fn rows(&self) -> impl Iterator<Item = &[ScreenCell]> {
        self.cells.chunks(self.width.max(1) as usize)
    }

    pub(super) fn put(&mut self, column: i32, row: i32, character: char, colour: Color) {
        if (0..self.width).contains(&column) && (0..self.height).contains(&row) {
            self.cells[(row * self.width + column) as usize] = ScreenCell { character, colour };
        }
    }

    /// Writes a line from there to the right.
    pub(super) fn text(&mut self, column: i32, row: i32, text: &str, colour: Color) {
        for (column, character) in (column..).zip(text.chars()) {
            self.put(column, row, character, colour);
        }
    }

    pub(super) fn centred(&mut self, row: i32, text: &str, colour: Color) {
        self.text((self.width - text.chars().count() as i32) / 2, row, text, colour);
    }

    pub(super) fn fill(&mut self, area: Area, character: char, colour: Color) {
        for row in area.top..area.top + area.height {
            for column in area.left..area.left + area.width {
                self.put(column, row, character, colour);
            }
        }
    }

    /// Draws a line from one place to another, both in columns and rows from the left upper corner.
    pub(super) fn line(&mut self, from: (f64, f64), to: (f64, f64), character: char, colour: Color) {
        /// Twice per cell: no gaps.
        const POINTS_PER_CELL: f64 = 2.0;
        let (columns, rows) = (to.0 - from.0, to.1 - from.1);
        let steps = (columns.abs().max(rows.abs()) * POINTS_PER_CELL).ceil().clamp(1.0, 1e4);
        for step in 0..=steps as u32 {
            let share = f64::from(step) / steps;
            let (column, row) = (from.0 + columns * share, from.1 + rows * share);
            self.put(column.floor() as i32, row.floor() as i32, character, colour);
        }
    }

    #[cfg(test)]
    pub(super) fn to_text(&self) -> String {
        let row = |row: &[ScreenCell]| row.iter().map(|cell| cell.character).collect::<String>();
        self.rows().map(|cells| row(cells).trim_end().to_owned() + "\n").collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_outside_is_not_drawn() {
        let mut canvas = TextCanvas::new(6, 2);
        canvas.text(-2, 0, "abcdefghij", Color::Reset);
        canvas.line((1.0, 1.0), (1e9, 1.0), '-', Color::Reset);
        canvas.put(3, 7, 'x', Color::Reset);
        assert_eq!(canvas.to_text().lines().next(), Some("cdefgh"));
        let mut tiny = TextCanvas::new(0, 0);
        tiny.fill(Area { left: -5, top: -5, width: 10, height: 10 }, '#', Color::Red);
        assert_eq!(tiny.to_text(), "");
    }
}
