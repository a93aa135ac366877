//! A picture on a terminal that is drawn over the one before. It is part of what scrolls away, so the last one stays.

use std::io::{self, Write};

use super::draw::{BoardRow, paint, row_width};
use crate::style::Style;

const CURSOR_OFF: &str = "\u{1b}[?25l";
const CURSOR_ON: &str = "\u{1b}[?25h";
const ERASE_LINE: &str = "\u{1b}[K";
const ERASE_BELOW: &str = "\u{1b}[J";

/// Where pictures are drawn.
#[derive(Debug)]
pub(super) struct Canvas<W> {
    out: W,
    style: Style,
    /// How wide the rows are that stand there.
    drawn: Vec<usize>,
    /// How many of them the cursor is above their end.
    rows_above_end: usize,
    closed: bool,
}

impl<W: Write> Canvas<W> {
    pub(super) fn new(out: W, style: Style) -> Canvas<W> {
        Canvas { out, style, drawn: Vec::new(), rows_above_end: 0, closed: false }
    }

    /// Whether nobody reads it any more.
    pub(super) fn is_closed(&self) -> bool {
        self.closed
    }

    /// Draws a picture over the one before, in a terminal that has so many columns now, with lines above it that stay.
    /// The cursor is below it, or at this row and column of it.
    pub(super) fn draw(
        &mut self,
        above: &[String],
        picture: &[BoardRow],
        cursor: Option<(usize, usize)>,
        columns: usize,
    ) {
        let mut text = format!("{CURSOR_OFF}{}", self.return_to_start(columns));
        for line in above {
            text += &format!("{line}{ERASE_LINE}\r\n");
        }
        for row in picture {
            text += &format!("{}{ERASE_LINE}\r\n", paint(row, self.style));
        }
        text += ERASE_BELOW;
        self.rows_above_end = cursor.map_or(0, |(row, _)| picture.len().saturating_sub(row));
        if let Some((_, column)) = cursor.filter(|_| self.rows_above_end > 0) {
            text += &format!("\u{1b}[{}A\r", self.rows_above_end);
            if column > 0 {
                text += &format!("\u{1b}[{column}C");
            }
        }
        text += CURSOR_ON;
        self.drawn = picture.iter().map(row_width).collect();
        // In one piece, so that no half of it is seen.
        self.closed |= self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush()).is_err();
    }

    /// Goes to where the picture begins. A terminal that was made narrower has broken its rows.
    fn return_to_start(&self, columns: usize) -> String {
        let broken = |width: &usize| width.saturating_sub(1) / columns.max(1);
        let above = self.drawn.len().saturating_sub(self.rows_above_end);
        match above + self.drawn.iter().take(above).map(broken).sum::<usize>() {
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
        let picture: Vec<BoardRow> = rows.iter().map(|text| vec![(TextRole::Plain, (*text).to_owned())]).collect();
        canvas.draw(above, &picture, None, columns);
        String::from_utf8(canvas.out.clone()).unwrap()
    }

    #[test]
    fn a_picture_is_drawn_over_the_one_before_without_clearing_it_first() {
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
