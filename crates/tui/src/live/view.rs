//! Shows a fleet as a live view, lines or events.

use std::collections::BTreeSet;
use std::io::{IsTerminal, Stdout};
use std::time::{Duration, Instant};

use client::{SessionHandle, SessionMessage, StoreError};
use host::{Clock, SystemClock, TerminalSize};
use protocol::{Envelope, Event, TaskId, TodoId};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::MissedTickBehavior;

use super::board::FleetBoard;
use super::draw::BoardRow;
use super::terminal::{Canvas, canvas_on_stdout};
use super::{draw, lines};
use crate::event_text::ProgressMode;
use crate::print;
use crate::style::{Style, TextRole};
use crate::terminal_settings::TerminalSettings;

/// The minimum interval between redraws.
const REDRAW_INTERVAL: Duration = Duration::from_millis(100);

/// The redraw interval when nothing happens, so that times advance.
const IDLE_REDRAW_INTERVAL: Duration = Duration::from_secs(1);

/// The maximum length of an id.
const MAX_ID_CHARS: usize = 40;

/// A view of a fleet that follows its events.
#[derive(Debug)]
pub struct FleetView {
    board: FleetBoard,
    mode: FleetViewMode,
    /// The conflict warnings already printed.
    warned: BTreeSet<String>,
}

#[derive(Debug)]
enum FleetViewMode {
    /// A live view on a terminal.
    Screen(FleetScreen),
    /// A line for each change, on stderr.
    Lines,
    /// Every event as JSON, on stdout.
    Events,
    /// No output.
    Nothing,
}

#[derive(Debug)]
struct FleetScreen {
    canvas: Canvas<Stdout>,
    /// When the last frame was drawn.
    last_drawn_at: Option<Instant>,
    /// Whether something has changed since.
    stale: bool,
    /// Lines to print above the frame.
    scrollback: Vec<ScrollbackLine>,
    /// Rows below the frame.
    footer: Option<FleetFooter>,
    style: Style,
}

/// Output that stays above the live view.
#[derive(Debug)]
enum ScrollbackLine {
    /// A line that is wrapped to the width.
    Line(String),
    /// A row that already fits.
    Row(BoardRow),
}

/// Rows below the live view, and the position of the cursor in them.
#[derive(Debug)]
pub struct FleetFooter {
    /// The pieces of each row.
    pub rows: Vec<Vec<(TextRole, String)>>,
    /// Row and column.
    pub cursor: (usize, usize),
}

impl FleetView {
    /// A view that continues from a board. In lines mode, a capable terminal gets the live view.
    pub fn new(board: FleetBoard, progress: ProgressMode, settings: TerminalSettings) -> FleetView {
        let out = std::io::stdout();
        let mode = match progress {
            ProgressMode::Nothing => FleetViewMode::Nothing,
            ProgressMode::Events => FleetViewMode::Events,
            ProgressMode::Lines if out.is_terminal() && !settings.is_dumb => {
                let style = Style::of(&out, settings);
                let canvas = canvas_on_stdout(style);
                FleetViewMode::Screen(FleetScreen {
                    canvas,
                    last_drawn_at: None,
                    stale: true,
                    scrollback: Vec::new(),
                    footer: None,
                    style,
                })
            }
            ProgressMode::Lines => FleetViewMode::Lines,
        };
        FleetView { board, mode, warned: BTreeSet::new() }
    }

    /// Applies an event and shows it.
    pub fn handle_event(&mut self, envelope: &Envelope) {
        self.board.apply(envelope);
        match &mut self.mode {
            FleetViewMode::Events => print::json(envelope),
            FleetViewMode::Lines => {
                lines::event_line(&self.board, envelope).into_iter().for_each(print::note);
                lines::new_conflict_warnings(&self.board, envelope, &mut self.warned).into_iter().for_each(print::note);
            }
            FleetViewMode::Screen(screen) => screen.stale = true,
            FleetViewMode::Nothing => {}
        }
        self.tick();
    }

    /// Adds a line that stays, prefixed with the task's todo.
    pub fn add_line(&mut self, task: TaskId, line: &str) {
        let line = print::sanitize(&with_todo_name(self.board.todo_of(task), line));
        match &mut self.mode {
            FleetViewMode::Screen(screen) => {
                screen.scrollback.push(ScrollbackLine::Line(line));
                screen.stale = true;
            }
            FleetViewMode::Lines => print::note(line),
            FleetViewMode::Events | FleetViewMode::Nothing => {}
        }
    }

    /// Whether it is a live view on a terminal.
    pub fn is_screen(&self) -> bool {
        matches!(self.mode, FleetViewMode::Screen(_))
    }

    /// The todo that a task works on, for display.
    pub fn todo_of(&self, task: TaskId) -> &str {
        self.board.todo_of(task).map_or("", |todo| &todo.0)
    }

    /// Redraws at once, with new rows that stay above the frame and a footer below it.
    pub fn draw_with(&mut self, above: Vec<Vec<(TextRole, String)>>, footer: Option<FleetFooter>) {
        let FleetViewMode::Screen(screen) = &mut self.mode else { return };
        screen.scrollback.extend(above.into_iter().map(ScrollbackLine::Row));
        screen.footer = footer;
        screen.draw(&self.board);
    }

    /// Redraws if it is time.
    pub fn tick(&mut self) {
        let FleetViewMode::Screen(screen) = &mut self.mode else { return };
        let is_due = match screen.last_drawn_at {
            None => true,
            Some(drawn) if screen.stale => drawn.elapsed() >= REDRAW_INTERVAL,
            Some(drawn) => self.board.is_working() && drawn.elapsed() >= IDLE_REDRAW_INTERVAL,
        };
        if is_due {
            screen.draw(&self.board);
        }
    }

    /// Handles a change of the terminal's size.
    fn resize(&mut self) {
        if let FleetViewMode::Screen(screen) = &mut self.mode {
            screen.stale = true;
        }
    }

    /// Replaces the todos with the session's stored rows.
    pub fn sync_with_store(&mut self, session: &SessionHandle) -> Result<(), StoreError> {
        self.board.sync_with_store(session)
    }

    /// Whether a fleet has not ended but no process runs it.
    pub fn is_interrupted(&self) -> bool {
        self.board.is_interrupted()
    }

    /// Draws the final frame.
    pub fn finish(&mut self) {
        if let FleetViewMode::Screen(screen) = &mut self.mode {
            screen.draw(&self.board);
            // A blank line separates the final report from the frame.
            print::output("");
        }
    }

    /// Removes the frame; the lines above it stay.
    pub fn discard(&mut self) {
        if let FleetViewMode::Screen(screen) = &mut self.mode {
            screen.draw_frame(Vec::new(), TerminalSize::read());
        }
    }

    /// Whether the output is closed.
    fn is_closed(&self) -> bool {
        match &self.mode {
            FleetViewMode::Screen(screen) => screen.canvas.is_closed(),
            FleetViewMode::Lines | FleetViewMode::Events | FleetViewMode::Nothing => false,
        }
    }
}

impl FleetScreen {
    fn draw(&mut self, board: &FleetBoard) {
        let terminal = TerminalSize::read();
        let TerminalSize { columns, rows } = terminal;
        // A row as wide as the terminal, or one below the last, would make it scroll.
        let footer_rows = self.footer.as_ref().map_or(0, |footer| footer.rows.len());
        let size = TerminalSize { columns: columns.saturating_sub(1), rows: rows.saturating_sub(1 + footer_rows) };
        self.draw_frame(draw::draw(board, SystemClock.now(), size), terminal);
    }

    /// Draws a frame below the lines that stay, with the footer below it.
    fn draw_frame(&mut self, mut frame: Vec<BoardRow>, terminal: TerminalSize) {
        let columns = terminal.columns;
        let cursor = self.footer.as_ref().map(|footer| (frame.len() + footer.cursor.0, footer.cursor.1));
        frame.extend(self.footer.iter().flat_map(|footer| footer.rows.iter().cloned()));
        let style = self.style;
        let above = std::mem::take(&mut self.scrollback).into_iter().flat_map(|above| match above {
            ScrollbackLine::Line(line) => wrap_indented(&line, columns.saturating_sub(1)),
            ScrollbackLine::Row(row) => vec![draw::paint(&row, style)],
        });
        let above: Vec<String> = above.collect();
        self.canvas.draw(&above, &frame, cursor, columns);
        (self.last_drawn_at, self.stale) = (Some(Instant::now()), false);
    }
}

/// Wraps a line, repeating its indentation.
fn wrap_indented(line: &str, columns: usize) -> Vec<String> {
    let text = line.trim_start();
    let indent = &line[..line.len() - text.len()];
    let lines = print::wrap(text, Some(columns.saturating_sub(indent.len())));
    lines.into_iter().map(|line| format!("{indent}{line}")).collect()
}

/// Prefixes a line with its todo.
fn with_todo_name(todo: Option<&TodoId>, line: &str) -> String {
    match todo {
        Some(todo) => format!("  {}: {}", print::one_line(&todo.0, MAX_ID_CHARS), line.trim_start()),
        None => line.to_owned(),
    }
}

/// Shows a fleet until it ends, the messages end, or the output is closed. `next` may be dropped and called again.
pub async fn watch_fleet<E>(
    mut next: impl AsyncFnMut() -> Result<Option<SessionMessage>, E>,
    view: &mut FleetView,
) -> Result<(), E> {
    let mut clock = tokio::time::interval(REDRAW_INTERVAL);
    clock.set_missed_tick_behavior(MissedTickBehavior::Delay);
    // Without the signal, the frame takes the new width at its next redraw.
    let mut resized = signal(SignalKind::window_change()).ok();
    while !view.is_closed() {
        tokio::select! {
            message = next() => {
                let Some(message) = message? else { break };
                let SessionMessage::Event(envelope) = message else { continue };
                view.handle_event(&envelope);
                if matches!(envelope.entry.event, Event::FleetEnded { .. }) {
                    break;
                }
            }
            Some(()) = recv_signal(&mut resized) => view.resize(),
            _now = clock.tick() => view.tick(),
        }
    }
    Ok(())
}

async fn recv_signal(signal: &mut Option<Signal>) -> Option<()> {
    match signal {
        Some(signal) => signal.recv().await,
        None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_name_their_todo_and_wrap_between_words() {
        assert_eq!(with_todo_name(None, "  ! model: no"), "  ! model: no");
        let line = with_todo_name(Some(&"sums".into()), "  ! not done yet: `make` must exit with code 0");
        assert_eq!(wrap_indented(&line, 32), ["  sums: ! not done yet: `make`", "  must exit with code 0"]);
    }
}
