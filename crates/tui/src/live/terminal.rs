//! A live view that redraws itself in place. It is part of the scrollback, so the last frame stays.

use std::io::{self, Write};

use super::draw::{BoardRow, paint, row_width};
use crate::style::Style;

const CURSOR_OFF: &str = "\u{1b}[?25l";
const CURSOR_ON: &str = "\u{1b}[?25h";
const ERASE_LINE: &str = "\u{1b}[K";
const ERASE_BELOW: &str = "\u{1b}[J";

/// A terminal that frames are drawn on.
#[derive(Debug)]
pub(super) struct Canvas<W> {
    out: W,
    style: Style,
    /// The widths of the rows of the last frame.
    drawn_widths: Vec<usize>,
    /// How many rows the cursor is above the end of the frame.
    rows_above_end: usize,
    closed: bool,
}

impl<W: Write> Canvas<W> {
    pub(super) fn new(out: W, style: Style) -> Canvas<W> {
        Canvas { out, style, drawn_widths: Vec::new(), rows_above_end: 0, closed: false }
    }

    /// Whether the output is closed.
    pub(super) fn is_closed(&self) -> bool {
        self.closed
    }

    /// Draws a frame over the previous one in a terminal of this width, with lines above it that stay. The cursor
    /// ends below the frame, or at the given row and column in it.
    pub(super) fn draw(
        &mut self,
        above: &[String],
        frame: &[BoardRow],
        cursor: Option<(usize, usize)>,
        columns: usize,
    ) {
        let mut text = format!("{CURSOR_OFF}{}", self.return_to_start(columns));
        for line in above {
            text += &format!("{line}{ERASE_LINE}\r\n");
        }
        for row in frame {
            text += &format!("{}{ERASE_LINE}\r\n", paint(row, self.style));
        }
        text += ERASE_BELOW;
        self.rows_above_end = cursor.map_or(0, |(row, _)| frame.len().saturating_sub(row));
        if let Some((_, column)) = cursor.filter(|_| self.rows_above_end > 0) {
            text += &format!("\u{1b}[{}A\r", self.rows_above_end);
            if column > 0 {
                text += &format!("\u{1b}[{column}C");
            }
        }
        text += CURSOR_ON;
        self.drawn_widths = frame.iter().map(row_width).collect();
        // A single write avoids a half-drawn frame.
        self.closed |= self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush()).is_err();
    }

    /// Moves to the start of the frame. A terminal that became narrower has wrapped its rows.
    fn return_to_start(&self, columns: usize) -> String {
        let wrapped = |width: &usize| width.saturating_sub(1) / columns.max(1);
        let above = self.drawn_widths.len().saturating_sub(self.rows_above_end);
        match above + self.drawn_widths.iter().take(above).map(wrapped).sum::<usize>() {
            0 => "\r".into(),
            rows => format!("\u{1b}[{rows}A\r"),
        }
    }
}

/// A canvas on stdout.
pub(super) fn canvas_on_stdout(style: Style) -> Canvas<io::Stdout> {
    Canvas::new(io::stdout(), style)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::style::TextRole;

    fn drawn(canvas: &mut Canvas<Vec<u8>>, above: &[String], rows: &[&str], columns: usize) -> String {
        canvas.out.clear();
        let frame: Vec<BoardRow> = rows.iter().map(|text| vec![(TextRole::Plain, (*text).to_owned())]).collect();
        canvas.draw(above, &frame, None, columns);
        String::from_utf8(canvas.out.clone()).unwrap()
    }

    #[test]
    fn frame_is_drawn_over_the_previous_one_without_clearing() {
        let mut canvas = Canvas::new(Vec::new(), Style::Plain);
        let first = drawn(&mut canvas, &[], &["one", "two"], 80);
        assert_eq!(first, "\u{1b}[?25l\rone\u{1b}[K\r\ntwo\u{1b}[K\r\n\u{1b}[J\u{1b}[?25h");
        let second = drawn(&mut canvas, &["said".into()], &["three"], 80);
        assert_eq!(second, "\u{1b}[?25l\u{1b}[2A\rsaid\u{1b}[K\r\nthree\u{1b}[K\r\n\u{1b}[J\u{1b}[?25h");
        canvas.out.clear();
        canvas.draw(&[], &["one", "ask? y"].map(|text| vec![(TextRole::Plain, text.to_owned())]), Some((1, 6)), 80);
        assert!(String::from_utf8_lossy(&canvas.out).ends_with("\u{1b}[J\u{1b}[1A\r\u{1b}[6C\u{1b}[?25h"));
        assert!(drawn(&mut canvas, &[], &["one"], 80).starts_with("\u{1b}[?25l\u{1b}[1A\rone"));
        let wide = "x".repeat(60);
        drawn(&mut canvas, &[], &[&wide, "y"], 80);
        assert!(drawn(&mut canvas, &[], &["z"], 40).contains("\u{1b}[3A\r"), "the wide row takes two now");
    }
}
