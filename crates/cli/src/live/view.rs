//! Shows a fleet to whoever is there.

use std::collections::BTreeSet;
use std::io::{IsTerminal, Stdout};
use std::time::{Duration, Instant};

use config::Env;
use host::{Clock, SystemClock, TerminalSize};
use protocol::{Envelope, Event, TaskId, TodoId};
use runtime::Live;
use store::{Reader, StoreError};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::MissedTickBehavior;

use super::board::Board;
use super::draw::Row;
use super::terminal::{Canvas, on_stdout};
use super::{draw, lines};
use crate::print;
use crate::run::Show;
use crate::style::{Role, Style};

/// The least time between two pictures.
const PACE: Duration = Duration::from_millis(100);

/// How long a picture stands when nothing happens: times go on.
const STILL: Duration = Duration::from_secs(1);

/// Most letters of an id.
const NAME: usize = 40;

/// What a person sees of a fleet, as its events come.
#[derive(Debug)]
pub(crate) struct View {
    board: Board,
    manner: Manner,
    /// The conflicts that lines have told of.
    warned: BTreeSet<String>,
}

#[derive(Debug)]
enum Manner {
    /// A picture on a terminal.
    Picture(Picture),
    /// A line for each change, on stderr.
    Lines,
    /// Every event as JSON, on stdout.
    Events,
    /// Nothing.
    Nothing,
}

#[derive(Debug)]
struct Picture {
    canvas: Canvas<Stdout>,
    /// When the last one was drawn.
    drawn: Option<Instant>,
    /// Whether something happened since.
    stale: bool,
    /// What is to stand above it.
    above: Vec<Above>,
    /// What stands below it.
    foot: Option<Foot>,
    style: Style,
}

/// What stands above a picture and stays.
#[derive(Debug)]
enum Above {
    /// A line, in as many rows as it needs.
    Line(String),
    /// A row that fits.
    Row(Row),
}

/// What stands below a picture: rows that fit, and the place of the cursor in them.
#[derive(Debug)]
pub(crate) struct Foot {
    pub(crate) rows: Vec<Vec<(Role, String)>>,
    /// Row and column.
    pub(crate) cursor: (usize, usize),
}

impl View {
    /// A view that goes on from a board. The picture is for those who read lines on a terminal that can be drawn on.
    pub(crate) fn new(board: Board, show: Show, env: &Env) -> View {
        let out = std::io::stdout();
        let manner = match show {
            Show::Nothing => Manner::Nothing,
            Show::Events => Manner::Events,
            Show::Lines if out.is_terminal() && !env.has_dumb_terminal() => {
                let style = Style::of(&out, env);
                let canvas = on_stdout(style);
                Manner::Picture(Picture { canvas, drawn: None, stale: true, above: Vec::new(), foot: None, style })
            }
            Show::Lines => Manner::Lines,
        };
        View { board, manner, warned: BTreeSet::new() }
    }

    /// Takes in what happened, and shows it.
    pub(crate) fn live(&mut self, live: &Live) {
        if let Live::Event(envelope) = live {
            self.read(envelope);
        }
    }

    fn read(&mut self, envelope: &Envelope) {
        self.board.read(envelope);
        match &mut self.manner {
            Manner::Events => print::json(envelope),
            Manner::Lines => {
                lines::line(&self.board, envelope).into_iter().for_each(print::note);
                lines::warnings(&self.board, envelope, &mut self.warned).into_iter().for_each(print::note);
            }
            Manner::Picture(picture) => picture.stale = true,
            Manner::Nothing => {}
        }
        self.tick();
    }

    /// Says something that stays, and of which todo.
    pub(crate) fn say(&mut self, task: TaskId, line: &str) {
        let line = print::plain(&told(self.board.todo_of(task), line));
        match &mut self.manner {
            Manner::Picture(picture) => {
                picture.above.push(Above::Line(line));
                picture.stale = true;
            }
            Manner::Lines => print::note(line),
            Manner::Events | Manner::Nothing => {}
        }
    }

    /// Whether it is a picture on a terminal.
    pub(crate) fn is_picture(&self) -> bool {
        matches!(self.manner, Manner::Picture(_))
    }

    /// The todo that a task works on, for those who read.
    pub(crate) fn todo_of(&self, task: TaskId) -> &str {
        self.board.todo_of(task).map_or("", |todo| &todo.0)
    }

    /// Draws at once, with rows that stay above the picture and others below it.
    pub(crate) fn draw_with(&mut self, above: Vec<Vec<(Role, String)>>, foot: Option<Foot>) {
        let Manner::Picture(picture) = &mut self.manner else { return };
        picture.above.extend(above.into_iter().map(Above::Row));
        picture.foot = foot;
        picture.draw(&self.board);
    }

    /// Draws, if it is time.
    pub(crate) fn tick(&mut self) {
        let Manner::Picture(picture) = &mut self.manner else { return };
        let due = match picture.drawn {
            None => true,
            Some(drawn) if picture.stale => drawn.elapsed() >= PACE,
            Some(drawn) => self.board.is_at_work() && drawn.elapsed() >= STILL,
        };
        if due {
            picture.draw(&self.board);
        }
    }

    /// The terminal has another size.
    fn resize(&mut self) {
        if let Manner::Picture(picture) = &mut self.manner {
            picture.stale = true;
        }
    }

    /// Takes over what the rows of the session say now.
    pub(crate) fn agree(&mut self, reader: &Reader) -> Result<(), StoreError> {
        self.board.agree(reader)
    }

    /// Whether a fleet has not ended, and nobody runs it.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.board.is_interrupted()
    }

    /// Draws the picture that stays.
    pub(crate) fn end(&mut self) {
        if let Manner::Picture(picture) = &mut self.manner {
            picture.draw(&self.board);
            // Whatever is said of the end stands apart from it.
            print::answer("");
        }
    }

    /// Whether nobody sees it any more.
    fn is_gone(&self) -> bool {
        match &self.manner {
            Manner::Picture(picture) => picture.canvas.is_gone(),
            Manner::Lines | Manner::Events | Manner::Nothing => false,
        }
    }
}

impl Picture {
    fn draw(&mut self, board: &Board) {
        let TerminalSize { columns, rows } = TerminalSize::read();
        // A row as wide as the terminal, or one below the last, would make it scroll.
        let foot = self.foot.as_ref().map_or(0, |foot| foot.rows.len());
        let size = TerminalSize { columns: columns.saturating_sub(1), rows: rows.saturating_sub(1 + foot) };
        let mut picture = draw::draw(board, SystemClock.now(), size);
        let cursor = self.foot.as_ref().map(|foot| (picture.len() + foot.cursor.0, foot.cursor.1));
        picture.extend(self.foot.iter().flat_map(|foot| foot.rows.iter().cloned()));
        let style = self.style;
        let above = std::mem::take(&mut self.above).into_iter().flat_map(|above| match above {
            Above::Line(line) => wrapped(&line, size.columns),
            Above::Row(row) => vec![draw::paint(&row, style)],
        });
        let above: Vec<String> = above.collect();
        self.canvas.draw(&above, &picture, cursor, columns);
        (self.drawn, self.stale) = (Some(Instant::now()), false);
    }
}

/// A line in as many as it needs, each as far to the right as it is.
fn wrapped(line: &str, columns: usize) -> Vec<String> {
    let words = line.trim_start();
    let indent = &line[..line.len() - words.len()];
    let lines = print::wrapped(words, Some(columns.saturating_sub(indent.len())));
    lines.into_iter().map(|line| format!("{indent}{line}")).collect()
}

/// A line that names the todo it is about.
fn told(todo: Option<&TodoId>, line: &str) -> String {
    match todo {
        Some(todo) => format!("  {}: {}", print::one_line(&todo.0, NAME), line.trim_start()),
        None => line.to_owned(),
    }
}

/// Shows a fleet until it ends, or until nothing comes any more or nobody looks. `next` may be dropped and called again.
pub(crate) async fn watch<E>(mut next: impl AsyncFnMut() -> Result<Option<Live>, E>, view: &mut View) -> Result<(), E> {
    let mut clock = tokio::time::interval(PACE);
    clock.set_missed_tick_behavior(MissedTickBehavior::Delay);
    // Without it, a picture is as wide as the terminal is the next time that it is drawn.
    let mut resized = signal(SignalKind::window_change()).ok();
    while !view.is_gone() {
        tokio::select! {
            live = next() => {
                let Some(live) = live? else { break };
                view.live(&live);
                if matches!(&live, Live::Event(envelope) if matches!(envelope.entry.event, Event::FleetEnded { .. })) {
                    break;
                }
            }
            Some(()) = heard(&mut resized) => view.resize(),
            _now = clock.tick() => view.tick(),
        }
    }
    Ok(())
}

async fn heard(signal: &mut Option<Signal>) -> Option<()> {
    match signal {
        Some(signal) => signal.recv().await,
        None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f7_what_is_said_names_its_todo_and_is_broken_between_words() {
        assert_eq!(told(None, "  ! model: no"), "  ! model: no");
        let line = told(Some(&"sums".into()), "  ! not done yet: `make` must exit with code 0");
        assert_eq!(wrapped(&line, 32), ["  sums: ! not done yet: `make`", "  must exit with code 0"]);
    }
}
