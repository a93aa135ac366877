//! The terminal screen: output scrolls above, and the panel is redrawn below it.

use std::io::{self, Write};

use host::{RawTerminal, TerminalSize};

use super::panel::PanelLayout;
use super::text::{StyledRow, paint, row_width};
use crate::style::Style;

const PASTE_ON: &str = "\u{1b}[?2004h";
const PASTE_OFF: &str = "\u{1b}[?2004l";
const CURSOR_OFF: &str = "\u{1b}[?25l";
const CURSOR_ON: &str = "\u{1b}[?25h";
const ERASE_BELOW: &str = "\u{1b}[J";

/// An interactive terminal.
#[derive(Debug)]
pub(super) struct PanelScreen {
    stream: ScreenStream,
    style: Style,
    size: TerminalSize,
    mode: ScreenMode,
    /// Rows to show above the panel with the next draw.
    queued_rows: Vec<StyledRow>,
    /// Whether writing to the terminal has failed.
    closed: bool,
}

/// The stream of the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ScreenStream {
    Stdout,
    /// Used while the answer goes to stdout.
    Stderr,
}

/// Capabilities of the terminal.
#[derive(Debug)]
enum ScreenMode {
    /// Single keys and cursor movement.
    Drawn(RawTerminal, DrawnPanel),
    /// Whole lines only.
    Lines {
        /// Whether the prompt is the last output.
        prompted: bool,
    },
}

/// The panel as it is on the screen.
#[derive(Debug, Default)]
struct DrawnPanel {
    /// Widths of its rows.
    widths: Vec<usize>,
    /// The row of the cursor.
    cursor: usize,
}

impl PanelScreen {
    /// Takes over the terminal; a dumb terminal stays as it is.
    pub(super) fn open(stream: ScreenStream, style: Style, dumb: bool) -> io::Result<PanelScreen> {
        let mode = if dumb {
            ScreenMode::Lines { prompted: false }
        } else {
            ScreenMode::Drawn(RawTerminal::enter()?, DrawnPanel::default())
        };
        let mut screen =
            PanelScreen { stream, style, size: TerminalSize::read(), mode, queued_rows: Vec::new(), closed: false };
        screen.take_over();
        Ok(screen)
    }

    pub(super) fn style(&self) -> Style {
        self.style
    }

    /// Maximum columns of a row.
    pub(super) fn columns(&self) -> usize {
        self.size.columns.saturating_sub(1).max(10)
    }

    pub(super) fn size(&self) -> TerminalSize {
        self.size
    }

    /// Whether the terminal only supports whole lines.
    pub(super) fn is_dumb(&self) -> bool {
        matches!(self.mode, ScreenMode::Lines { .. })
    }

    /// Whether the terminal is gone.
    pub(super) fn is_closed(&self) -> bool {
        self.closed
    }

    /// Shows rows above the panel, the next time it is drawn.
    pub(super) fn show(&mut self, rows: impl IntoIterator<Item = StyledRow>) {
        self.queued_rows.extend(rows);
    }

    /// Whether so many rows are queued that they should be drawn now.
    pub(super) fn has_many_queued_rows(&self) -> bool {
        self.queued_rows.len() > 1000
    }

    /// Reads the new size of the terminal.
    pub(super) fn resize(&mut self) {
        self.size = TerminalSize::read();
    }

    /// Takes over the terminal again after the process was stopped.
    pub(super) fn take_over(&mut self) {
        if let ScreenMode::Drawn(terminal, drawn) = &mut self.mode {
            *drawn = DrawnPanel::default();
            self.closed |= terminal.reenter().is_err();
            self.write(PASTE_ON);
        }
    }

    /// Clears the screen.
    pub(super) fn clear(&mut self) {
        if let ScreenMode::Drawn(_, drawn) = &mut self.mode {
            *drawn = DrawnPanel::default();
            self.write("\u{1b}[H\u{1b}[2J");
        }
    }

    /// Records that the user ended a line, which moved the cursor of a dumb terminal.
    pub(super) fn note_line_end(&mut self) {
        if let ScreenMode::Lines { prompted } = &mut self.mode {
            *prompted = false;
        }
    }

    /// Shows the queued rows, and the panel below them.
    pub(super) fn draw(&mut self, panel: &PanelLayout, prompt: Option<&str>) {
        let above: String = self.queued_rows.drain(..).map(|row| paint(&row, self.style) + "\n").collect();
        let text = match &mut self.mode {
            ScreenMode::Lines { prompted } => dumb_terminal_text(above, prompt, prompted),
            ScreenMode::Drawn(_, drawn) => {
                let erase = drawn.erase(self.size.columns);
                let rows: Vec<String> = panel.rows.iter().map(|row| paint(row, self.style)).collect();
                let move_cursor = drawn.move_to_cursor(panel);
                format!("{CURSOR_OFF}{erase}{above}{}{move_cursor}{CURSOR_ON}", rows.join("\n"))
            }
        };
        self.write(&text);
    }

    fn write(&mut self, text: &str) {
        self.closed |= match self.stream {
            ScreenStream::Stdout => write_flushed(io::stdout().lock(), text),
            ScreenStream::Stderr => write_flushed(io::stderr().lock(), text),
        }
        .is_err();
    }
}

fn write_flushed(mut out: impl Write, text: &str) -> io::Result<()> {
    out.write_all(text.as_bytes())?;
    out.flush()
}

impl Drop for PanelScreen {
    fn drop(&mut self) {
        self.draw(&PanelLayout { rows: Vec::new(), cursor: (0, 0) }, None);
        if !self.is_dumb() {
            self.write(PASTE_OFF);
        }
    }
}

/// The output for a dumb terminal.
fn dumb_terminal_text(above: String, prompt: Option<&str>, prompted: &mut bool) -> String {
    let mut text = String::new();
    if *prompted && !above.is_empty() {
        text.push('\n');
        *prompted = false;
    }
    text += &above;
    if let (Some(prompt), false) = (prompt, *prompted) {
        text += prompt;
        *prompted = true;
    }
    text
}

impl DrawnPanel {
    /// Moves to the start of the panel and erases it. A terminal that became narrower has wrapped its rows.
    fn erase(&self, columns: usize) -> String {
        let wrapped = |width: &usize| width.saturating_sub(1) / columns.max(1);
        let wrapped_rows: usize = self.widths.iter().take(self.cursor).map(wrapped).sum();
        let up = match self.cursor + wrapped_rows {
            0 => String::new(),
            rows => format!("\u{1b}[{rows}A"),
        };
        format!("{up}\r{ERASE_BELOW}")
    }

    /// Stores the panel, and moves from its end to the cursor position.
    fn move_to_cursor(&mut self, panel: &PanelLayout) -> String {
        let (row, column) = panel.cursor;
        self.widths = panel.rows.iter().map(row_width).collect();
        self.cursor = row;
        let up = match panel.rows.len().saturating_sub(row + 1) {
            0 => String::new(),
            rows => format!("\u{1b}[{rows}A"),
        };
        let right = match column {
            0 => String::new(),
            columns => format!("\u{1b}[{columns}C"),
        };
        format!("{up}\r{right}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::text::StyledSpan;

    #[test]
    fn panel_is_erased_as_it_was_drawn() {
        let mut drawn = DrawnPanel::default();
        assert_eq!(drawn.erase(80), "\r\u{1b}[J");
        let rows = vec![
            vec![StyledSpan::plain(&"x".repeat(60))],
            vec![StyledSpan::plain("> ab")],
            vec![StyledSpan::plain("  c")],
        ];
        assert_eq!(drawn.move_to_cursor(&PanelLayout { rows, cursor: (1, 4) }), "\u{1b}[1A\r\u{1b}[4C");
        assert_eq!(drawn.erase(80), "\u{1b}[1A\r\u{1b}[J");
        assert_eq!(drawn.erase(40), "\u{1b}[2A\r\u{1b}[J");
    }

    #[test]
    fn a_dumb_terminal_gets_lines_and_one_prompt() {
        let mut prompted = false;
        assert_eq!(dumb_terminal_text("a\n".into(), Some("> "), &mut prompted), "a\n> ");
        assert_eq!(dumb_terminal_text(String::new(), Some("> "), &mut prompted), "");
        assert_eq!(dumb_terminal_text("b\n".into(), None, &mut prompted), "\nb\n");
        assert!(!prompted);
    }
}
