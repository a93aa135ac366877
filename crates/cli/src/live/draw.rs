//! The picture of a fleet, in rows that fit a terminal.

use host::TerminalSize;
use protocol::{FleetEnd, Timestamp};
use unicode_width::UnicodeWidthStr;

use super::amounts::{format_count, format_elapsed};
use super::board::FleetBoard;
use crate::money::Money;
use crate::print;
use crate::style::{Style, TextRole};
use crate::todos::TodoMark;

/// One row: pieces of text, each with its role. They hold nothing that could drive a terminal.
pub(super) type BoardRow = Vec<(TextRole, String)>;

/// Fewest columns and rows that are drawn for.
const MIN_SIZE: TerminalSize = TerminalSize { columns: 20, rows: 5 };

/// How far a bar goes.
const MAX_BAR_COLUMNS: usize = 30;

/// A row without colour.
pub(super) fn row_text(row: &BoardRow) -> String {
    paint(row, Style::Plain).trim_end().to_owned()
}

/// A row as a terminal takes it.
pub(super) fn paint(row: &BoardRow, style: Style) -> String {
    row.iter().map(|(role, text)| style.paint(*role, text)).collect()
}

/// How many columns a row takes.
pub(super) fn row_width(row: &BoardRow) -> usize {
    row.iter().map(|(_, text)| text.width()).sum()
}

/// Draws a fleet.
pub(super) fn draw(board: &FleetBoard, now: Timestamp, size: TerminalSize) -> Vec<BoardRow> {
    let columns = size.columns.max(MIN_SIZE.columns);
    let rows = size.rows.max(MIN_SIZE.rows);
    let widths = ColumnWidths::new(board, columns);
    let mut all = vec![header_row(board, now, columns)];
    all.extend(progress_rows(board, now, columns));
    all.push(BoardRow::new());
    let mut parts = [
        worker_rows(board, now, &widths),
        blocked_rows(board, &widths),
        conflict_rows(board),
        ready_rows(board, &widths),
    ];
    let mut room = rows.saturating_sub(all.len());
    for n in 0..parts.len() {
        // Each leaves some rows to those after it that have something to say.
        let kept: usize = parts[n + 1..].iter().map(|part| part.len().min((rows / 6).max(1))).sum();
        shorten(&mut parts[n], room.saturating_sub(kept));
        room = room.saturating_sub(parts[n].len());
    }
    all.extend(parts.into_iter().flatten());
    if all.last().is_some_and(Vec::is_empty) {
        all.pop();
    }
    all.truncate(rows);
    all.into_iter().map(|row| clip_row(row, columns)).collect()
}

/// A row that is no wider than this.
fn clip_row(row: BoardRow, columns: usize) -> BoardRow {
    let mut left = columns;
    let mut clipped = BoardRow::new();
    for (role, text) in row {
        let text = fit(&text, left);
        left -= text.width();
        clipped.push((role, text));
    }
    clipped
}

/// How wide the columns are.
struct ColumnWidths {
    all: usize,
    id: usize,
    title: usize,
}

impl ColumnWidths {
    fn new(board: &FleetBoard, columns: usize) -> ColumnWidths {
        let shown = board.items();
        let shown = shown.iter().filter(|(_, _, mark)| *mark != TodoMark::Done && *mark != TodoMark::Waits);
        let (mut id, mut title) = (4, 4);
        for (name, item, _) in shown {
            id = id.max(clean(&name.0).width());
            title = title.max(clean(&item.title).width());
        }
        ColumnWidths { all: columns, id: id.min(columns / 5), title: title.min(columns / 3) }
    }

    /// What is left beside a sign, an id and a title.
    fn rest(&self) -> usize {
        self.all.saturating_sub(2 + self.id + 2 + self.title + 2)
    }
}

fn header_row(board: &FleetBoard, now: Timestamp, columns: usize) -> BoardRow {
    let state = match board.end() {
        None if board.began_at.is_none() => "Todos",
        None if board.is_interrupted() => "Fleet interrupted",
        None => "Fleet",
        Some(FleetEnd::Done) => "Fleet done",
        Some(FleetEnd::Blocked) => "Fleet blocked",
        Some(FleetEnd::Stopped) => "Fleet stopped",
    };
    let elapsed = board.began_at.map(|_| format_elapsed(board.elapsed(now))).unwrap_or_default();
    let room = columns.saturating_sub(state.width() + 2 + elapsed.width() + 2);
    let goal = print::fit_cell(&clean(&board.goal), room);
    vec![(TextRole::Strong, state.into()), (TextRole::Plain, format!("  {goal}  ")), (TextRole::Dim, elapsed)]
}

/// How much is done, and what that took; in two rows where one is too narrow.
fn progress_rows(board: &FleetBoard, now: Timestamp, columns: usize) -> Vec<BoardRow> {
    let items = board.items();
    let of = |wanted: TodoMark| items.iter().filter(|(_, _, mark)| *mark == wanted).count();
    let (done, total) = (of(TodoMark::Done), items.len());
    let length = MAX_BAR_COLUMNS.min(columns / 4);
    let filled = (done * length).checked_div(total).unwrap_or(0);
    let bar = (TextRole::Good, format!("{}{}  ", "█".repeat(filled), "░".repeat(length - filled)));
    let merged = items.iter().filter(|(_, item, _)| item.merged).count();
    let mut far = vec![format!("{done}/{total} done")];
    far.extend(match of(TodoMark::NeedsYou) {
        0 => None,
        1 => Some("1 needs you".to_owned()),
        several => Some(format!("{several} need you")),
    });
    far.extend((of(TodoMark::AtWork) > 0).then(|| format!("{} at work", of(TodoMark::AtWork))));
    far.extend((of(TodoMark::Interrupted) > 0).then(|| format!("{} interrupted", of(TodoMark::Interrupted))));
    far.extend((of(TodoMark::Blocked) > 0).then(|| format!("{} blocked", of(TodoMark::Blocked))));
    far.extend((merged > 0).then(|| format!("{merged} merged")));
    let mut took: Vec<String> =
        board.time_left(now).map(|left| format!("about {} left", format_elapsed(left))).into_iter().collect();
    took.extend((board.spent.tokens > 0).then(|| format!("{} tokens", format_count(board.spent.tokens))));
    took.extend((board.spent.tokens > 0 && !board.unpriced).then(|| Money::Known(board.spent.micros).to_string()));
    let (far, took) = (far.join(" · "), took.join(" · "));
    if took.is_empty() {
        return vec![vec![bar, (TextRole::Plain, far)]];
    }
    if length + 2 + far.width() + 3 + took.width() <= columns {
        return vec![vec![bar, (TextRole::Plain, format!("{far} · {took}"))]];
    }
    vec![vec![bar, (TextRole::Plain, far)], vec![(TextRole::Dim, format!("{}{took}", " ".repeat(length + 2)))]]
}

/// A row for each worker, with what it does, what it used and for how long; before them the main agent, if it acts.
fn worker_rows(board: &FleetBoard, now: Timestamp, widths: &ColumnWidths) -> Vec<BoardRow> {
    let main = board.main.as_deref().filter(|_| board.is_live()).map(|doing| {
        let doing = fit(&clean(doing), widths.all.saturating_sub(2 + widths.id + 2));
        let name = print::fit_cell("main", widths.id);
        let mark = TodoMark::AtWork.with_ask(board.is_main_asking());
        vec![(mark.role(), format!("{} ", mark.sign())), (TextRole::Plain, format!("{name}  {doing}"))]
    });
    let worker = |worker: &super::board::BoardWorker| {
        let mark = board.mark_of(&worker.todo);
        let figures = format!(
            "{:>6} {:>7}",
            format_count(worker.tokens),
            format_elapsed(board.clock_time(now).since(worker.since))
        );
        let room = widths.rest().saturating_sub(figures.width() + 1);
        let start = format!(
            "{}  {}  ",
            print::fit_cell(&clean(&worker.todo.0), widths.id),
            print::fit_cell(&clean(board.title(&worker.todo)), widths.title)
        );
        let doing = if mark == TodoMark::Interrupted { mark.label() } else { &worker.activity };
        let doing = print::fit_cell(&clean(doing), room);
        vec![
            (mark.role(), format!("{} ", mark.sign())),
            (TextRole::Plain, start),
            (if mark == TodoMark::NeedsYou { mark.role() } else { TextRole::Code }, doing),
            (TextRole::Dim, format!(" {figures}")),
        ]
    };
    // What somebody only says that it works on.
    let said = board.unclaimed_in_progress().into_iter().map(|todo| {
        let mark = board.mark_of(todo);
        let title = fit(&clean(board.title(todo)), widths.all.saturating_sub(2 + widths.id + 2));
        let start = format!("{}  {title}", print::fit_cell(&clean(&todo.0), widths.id));
        vec![(mark.role(), format!("{} ", mark.sign())), (TextRole::Plain, start)]
    });
    let said: Vec<BoardRow> = said.collect();
    main.into_iter().chain(board.workers().into_iter().map(worker)).chain(said).collect()
}

/// What cannot be done, and why.
fn blocked_rows(board: &FleetBoard, widths: &ColumnWidths) -> Vec<BoardRow> {
    let items = board.items();
    let blocked = items.iter().filter(|(_, _, mark)| *mark == TodoMark::Blocked);
    let row = blocked.map(|(id, item, mark)| {
        let start = format!(
            "{}  {}  ",
            print::fit_cell(&clean(&id.0), widths.id),
            print::fit_cell(&clean(&item.title), widths.title)
        );
        let why = fit(&one_line_reason(item.reason.as_deref().unwrap_or_default()), widths.rest());
        vec![(mark.role(), format!("{} ", mark.sign())), (TextRole::Plain, start), (mark.role(), why)]
    });
    row.collect()
}

/// What may not fit together.
fn conflict_rows(board: &FleetBoard) -> Vec<BoardRow> {
    let row = |words: String| {
        vec![(TextRole::Accent, "! ".to_owned()), (TextRole::Plain, format!("may conflict: {}", clean(&words)))]
    };
    board.conflicts().iter().filter(|_| board.ended.is_none()).map(|shared| row(shared.describe())).collect()
}

/// What comes next.
fn ready_rows(board: &FleetBoard, widths: &ColumnWidths) -> Vec<BoardRow> {
    let items = board.items();
    let ready = items.iter().filter(|(_, _, mark)| *mark == TodoMark::Ready);
    let row = ready.map(|(id, item, mark)| {
        let again =
            item.reason.as_deref().map(|reason| format!("again: {}", one_line_reason(reason))).unwrap_or_default();
        let start = format!(
            "{} {}  {}  ",
            mark.sign(),
            print::fit_cell(&clean(&id.0), widths.id),
            print::fit_cell(&clean(&item.title), widths.title)
        );
        vec![(TextRole::Dim, start), (TextRole::Dim, fit(&again, widths.rest()))]
    });
    row.collect()
}

/// Cuts a part to so many rows, the last of which tells how many more there are.
fn shorten(part: &mut Vec<BoardRow>, room: usize) {
    if part.len() <= room {
        return;
    }
    let kept = room.saturating_sub(1);
    let more = part.len() - kept;
    let sign = part[kept].first().and_then(|(_, text)| text.chars().next()).unwrap_or(' ');
    part.truncate(kept);
    if room > 0 {
        part.push(vec![(TextRole::Dim, format!("{sign} … {more} more"))]);
    }
}

fn fit(text: &str, columns: usize) -> String {
    print::fit_cell(text, text.width().min(columns))
}

/// One line of why something is as it is.
fn one_line_reason(reason: &str) -> String {
    print::reason(reason, 400).replace('\t', " ")
}

/// One line of what somebody wrote.
fn clean(text: &str) -> String {
    print::sanitize(&print::one_line(text, 400)).replace('\t', " ")
}
