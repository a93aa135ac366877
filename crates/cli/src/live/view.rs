//! Shows a fleet to whoever is there.

use std::collections::BTreeSet;
use std::io::{IsTerminal, Stdout};
use std::time::{Duration, Instant};

use config::Env;
use host::{Clock, SystemClock, TerminalSize};
use protocol::{Envelope, Event, TaskId, TodoId};
use runtime::BusMessage;
use store::{SessionReader, StoreError};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::MissedTickBehavior;

use super::board::FleetBoard;
use super::draw::BoardRow;
use super::terminal::{Canvas, canvas_on_stdout};
use super::{draw, lines};
use crate::print;
use crate::run::ProgressMode;
use crate::style::{Style, TextRole};

/// The least time between two pictures.
const REDRAW_INTERVAL: Duration = Duration::from_millis(100);

/// How long a picture stands when nothing happens: times go on.
const IDLE_REDRAW_INTERVAL: Duration = Duration::from_secs(1);

/// Most letters of an id.
const MAX_ID_CHARS: usize = 40;

/// What a person sees of a fleet, as its events come.
#[derive(Debug)]
pub(crate) struct FleetView {
    board: FleetBoard,
    mode: FleetViewMode,
    /// The conflicts that lines have told of.
    warned: BTreeSet<String>,
}

#[derive(Debug)]
enum FleetViewMode {
    /// A picture on a terminal.
    Picture(FleetPicture),
    /// A line for each change, on stderr.
    Lines,
    /// Every event as JSON, on stdout.
    Events,
    /// Nothing.
    Nothing,
}

#[derive(Debug)]
struct FleetPicture {
    canvas: Canvas<Stdout>,
    /// When the last one was drawn.
    drawn: Option<Instant>,
    /// Whether something happened since.
    stale: bool,
    /// What is to stand above it.
    scrollback: Vec<ScrollbackLine>,
    /// What stands below it.
    footer: Option<FleetFooter>,
    style: Style,
}

/// What stands above a picture and stays.
#[derive(Debug)]
enum ScrollbackLine {
    /// A line, in as many rows as it needs.
    Line(String),
    /// A row that fits.
    Row(BoardRow),
}

/// What stands below a picture: rows that fit, and the place of the cursor in them.
#[derive(Debug)]
pub(crate) struct FleetFooter {
    pub(crate) rows: Vec<Vec<(TextRole, String)>>,
    /// Row and column.
    pub(crate) cursor: (usize, usize),
}

impl FleetView {
    /// A view that goes on from a board. The picture is for those who read lines on a terminal that can be drawn on.
    pub(crate) fn new(board: FleetBoard, show: ProgressMode, env: &Env) -> FleetView {
        let out = std::io::stdout();
        let manner = match show {
            ProgressMode::Nothing => FleetViewMode::Nothing,
            ProgressMode::Events => FleetViewMode::Events,
            ProgressMode::Lines if out.is_terminal() && !env.has_dumb_terminal() => {
                let style = Style::of(&out, env);
                let canvas = canvas_on_stdout(style);
                FleetViewMode::Picture(FleetPicture {
                    canvas,
                    drawn: None,
                    stale: true,
                    scrollback: Vec::new(),
                    footer: None,
                    style,
                })
            }
            ProgressMode::Lines => FleetViewMode::Lines,
        };
        FleetView { board, mode: manner, warned: BTreeSet::new() }
    }

    /// Takes in what happened, and shows it.
    pub(crate) fn handle_live(&mut self, live: &BusMessage) {
        if let BusMessage::Event(envelope) = live {
            self.apply(envelope);
        }
    }

    fn apply(&mut self, envelope: &Envelope) {
        self.board.apply(envelope);
        match &mut self.mode {
            FleetViewMode::Events => print::json(envelope),
            FleetViewMode::Lines => {
                lines::event_line(&self.board, envelope).into_iter().for_each(print::note);
                lines::new_conflict_warnings(&self.board, envelope, &mut self.warned).into_iter().for_each(print::note);
            }
            FleetViewMode::Picture(picture) => picture.stale = true,
            FleetViewMode::Nothing => {}
        }
        self.tick();
    }

    /// Says something that stays, and of which todo.
    pub(crate) fn add_line(&mut self, task: TaskId, line: &str) {
        let line = print::sanitize(&with_todo_name(self.board.todo_of(task), line));
        match &mut self.mode {
            FleetViewMode::Picture(picture) => {
                picture.scrollback.push(ScrollbackLine::Line(line));
                picture.stale = true;
            }
            FleetViewMode::Lines => print::note(line),
            FleetViewMode::Events | FleetViewMode::Nothing => {}
        }
    }

    /// Whether it is a picture on a terminal.
    pub(crate) fn is_picture(&self) -> bool {
        matches!(self.mode, FleetViewMode::Picture(_))
    }

    /// The todo that a task works on, for those who read.
    pub(crate) fn todo_of(&self, task: TaskId) -> &str {
        self.board.todo_of(task).map_or("", |todo| &todo.0)
    }

    /// Draws at once, with rows that stay above the picture and others below it.
    pub(crate) fn draw_with(&mut self, above: Vec<Vec<(TextRole, String)>>, foot: Option<FleetFooter>) {
        let FleetViewMode::Picture(picture) = &mut self.mode else { return };
        picture.scrollback.extend(above.into_iter().map(ScrollbackLine::Row));
        picture.footer = foot;
        picture.draw(&self.board);
    }

    /// Draws, if it is time.
    pub(crate) fn tick(&mut self) {
        let FleetViewMode::Picture(picture) = &mut self.mode else { return };
        let due = match picture.drawn {
            None => true,
            Some(drawn) if picture.stale => drawn.elapsed() >= REDRAW_INTERVAL,
            Some(drawn) => self.board.is_working() && drawn.elapsed() >= IDLE_REDRAW_INTERVAL,
        };
        if due {
            picture.draw(&self.board);
        }
    }

    /// The terminal has another size.
    fn resize(&mut self) {
        if let FleetViewMode::Picture(picture) = &mut self.mode {
            picture.stale = true;
        }
    }

    /// Takes over what the rows of the session say now.
    pub(crate) fn sync_with_store(&mut self, reader: &SessionReader) -> Result<(), StoreError> {
        self.board.sync_with_store(reader)
    }

    /// Whether a fleet has not ended, and nobody runs it.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.board.is_interrupted()
    }

    /// Draws the picture that stays.
    pub(crate) fn finish(&mut self) {
        if let FleetViewMode::Picture(picture) = &mut self.mode {
            picture.draw(&self.board);
            // Whatever is said of the end stands apart from it.
            print::output("");
        }
    }

    /// Whether nobody sees it any more.
    fn is_closed(&self) -> bool {
        match &self.mode {
            FleetViewMode::Picture(picture) => picture.canvas.is_closed(),
            FleetViewMode::Lines | FleetViewMode::Events | FleetViewMode::Nothing => false,
        }
    }
}

impl FleetPicture {
    fn draw(&mut self, board: &FleetBoard) {
        let TerminalSize { columns, rows } = TerminalSize::read();
        // A row as wide as the terminal, or one below the last, would make it scroll.
        let foot = self.footer.as_ref().map_or(0, |foot| foot.rows.len());
        let size = TerminalSize { columns: columns.saturating_sub(1), rows: rows.saturating_sub(1 + foot) };
        let mut picture = draw::draw(board, SystemClock.now(), size);
        let cursor = self.footer.as_ref().map(|foot| (picture.len() + foot.cursor.0, foot.cursor.1));
        picture.extend(self.footer.iter().flat_map(|foot| foot.rows.iter().cloned()));
        let style = self.style;
        let above = std::mem::take(&mut self.scrollback).into_iter().flat_map(|above| match above {
            ScrollbackLine::Line(line) => wrap_indented(&line, size.columns),
            ScrollbackLine::Row(row) => vec![draw::paint(&row, style)],
        });
        let above: Vec<String> = above.collect();
        self.canvas.draw(&above, &picture, cursor, columns);
        (self.drawn, self.stale) = (Some(Instant::now()), false);
    }
}

/// A line in as many as it needs, each as far to the right as it is.
fn wrap_indented(line: &str, columns: usize) -> Vec<String> {
    let words = line.trim_start();
    let indent = &line[..line.len() - words.len()];
    let lines = print::wrap(words, Some(columns.saturating_sub(indent.len())));
    lines.into_iter().map(|line| format!("{indent}{line}")).collect()
}

/// A line that names the todo it is about.
fn with_todo_name(todo: Option<&TodoId>, line: &str) -> String {
    match todo {
        Some(todo) => format!("  {}: {}", print::one_line(&todo.0, MAX_ID_CHARS), line.trim_start()),
        None => line.to_owned(),
    }
}

/// Shows a fleet until it ends, or until nothing comes any more or nobody looks. `next` may be dropped and called again.
pub(crate) async fn watch_fleet<E>(
    mut next: impl AsyncFnMut() -> Result<Option<BusMessage>, E>,
    view: &mut FleetView,
) -> Result<(), E> {
    let mut clock = tokio::time::interval(REDRAW_INTERVAL);
    clock.set_missed_tick_behavior(MissedTickBehavior::Delay);
    // Without it, a picture is as wide as the terminal is the next time that it is drawn.
    let mut resized = signal(SignalKind::window_change()).ok();
    while !view.is_closed() {
        tokio::select! {
            live = next() => {
                let Some(live) = live? else { break };
                view.handle_live(&live);
                if matches!(&live, BusMessage::Event(envelope) if matches!(envelope.entry.event, Event::FleetEnded { .. })) {
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
    fn what_is_said_names_its_todo_and_is_broken_between_words() {
        assert_eq!(with_todo_name(None, "  ! model: no"), "  ! model: no");
        let line = with_todo_name(Some(&"sums".into()), "  ! not done yet: `make` must exit with code 0");
        assert_eq!(wrap_indented(&line, 32), ["  sums: ! not done yet: `make`", "  must exit with code 0"]);
    }
}
