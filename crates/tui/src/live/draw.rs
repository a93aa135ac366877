//! Draws a fleet in rows that fit a terminal.

use host::TerminalSize;
use protocol::{FleetEnd, Timestamp};
use unicode_width::UnicodeWidthStr;

use super::amounts::{format_count, format_elapsed};
use super::board::FleetBoard;
use crate::money::Money;
use crate::print;
use crate::style::{Style, TextRole};
use crate::todo_mark::TodoMark;

/// A row of text spans with their roles, free of terminal control characters.
pub(super) type BoardRow = Vec<(TextRole, String)>;

/// The smallest size that a frame is drawn for.
const MIN_SIZE: TerminalSize = TerminalSize { columns: 20, rows: 5 };

/// The maximum length of the progress bar.
const MAX_BAR_COLUMNS: usize = 30;

/// A row without colours.
pub(super) fn row_text(row: &BoardRow) -> String {
    paint(row, Style::Plain).trim_end().to_owned()
}

/// A row with terminal colours.
pub(super) fn paint(row: &BoardRow, style: Style) -> String {
    row.iter().map(|(role, text)| style.paint(*role, text)).collect()
}

/// The width of a row in columns.
pub(super) fn row_width(row: &BoardRow) -> usize {
    row.iter().map(|(_, text)| text.width()).sum()
}

/// Draws a fleet.
pub(super) fn draw(board: &FleetBoard, now: Timestamp, size: TerminalSize) -> Vec<BoardRow> {
    let columns = size.columns.max(MIN_SIZE.columns);
    let rows = size.rows.max(MIN_SIZE.rows);
    let widths = ColumnWidths::new(board, columns);
    let mut drawn = vec![header_row(board, now, columns)];
    drawn.extend(progress_rows(board, now, columns));
    drawn.push(BoardRow::new());
    let mut parts = [
        worker_rows(board, now, &widths),
        blocked_rows(board, &widths),
        conflict_rows(board),
        ready_rows(board, &widths),
    ];
    let mut rows_left = rows.saturating_sub(drawn.len());
    for n in 0..parts.len() {
        // Each part leaves some rows to the parts after it.
        let reserved: usize = parts[n + 1..].iter().map(|part| part.len().min((rows / 6).max(1))).sum();
        shorten(&mut parts[n], rows_left.saturating_sub(reserved));
        rows_left = rows_left.saturating_sub(parts[n].len());
    }
    drawn.extend(parts.into_iter().flatten());
    if drawn.last().is_some_and(Vec::is_empty) {
        drawn.pop();
    }
    drawn.truncate(rows);
    drawn.into_iter().map(|row| clip_row(row, columns)).collect()
}

/// Clips a row to this width.
fn clip_row(row: BoardRow, columns: usize) -> BoardRow {
    let mut columns_left = columns;
    let mut clipped = BoardRow::new();
    for (role, text) in row {
        let text = fit(&text, columns_left);
        columns_left -= text.width();
        clipped.push((role, text));
    }
    clipped
}

/// The widths of the columns.
struct ColumnWidths {
    total: usize,
    id: usize,
    title: usize,
}

impl ColumnWidths {
    fn new(board: &FleetBoard, columns: usize) -> ColumnWidths {
        let shown = board.items();
        let shown = shown.iter().filter(|(_, _, mark)| *mark != TodoMark::Done && *mark != TodoMark::Waiting);
        let (mut id, mut title) = (4, 4);
        for (name, item, _) in shown {
            id = id.max(sanitize_line(&name.0).width());
            title = title.max(sanitize_line(&item.title).width());
        }
        ColumnWidths { total: columns, id: id.min(columns / 5), title: title.min(columns / 3) }
    }

    /// The width left beside a sign, an id and a title.
    fn rest_width(&self) -> usize {
        self.total.saturating_sub(2 + self.id + 2 + self.title + 2)
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
    let goal_width = columns.saturating_sub(state.width() + 2 + elapsed.width() + 2);
    let goal = print::fit_cell(&sanitize_line(&board.goal), goal_width);
    vec![(TextRole::Strong, state.into()), (TextRole::Plain, format!("  {goal}  ")), (TextRole::Dim, elapsed)]
}

/// The progress and its cost, in two rows if one is too narrow.
fn progress_rows(board: &FleetBoard, now: Timestamp, columns: usize) -> Vec<BoardRow> {
    let items = board.items();
    let count = |wanted: TodoMark| items.iter().filter(|(_, _, mark)| *mark == wanted).count();
    let (done, total) = (count(TodoMark::Done), items.len());
    let length = MAX_BAR_COLUMNS.min(columns / 4);
    let filled = (done * length).checked_div(total).unwrap_or(0);
    let bar = (TextRole::Good, format!("{}{}  ", "█".repeat(filled), "░".repeat(length - filled)));
    let merged = items.iter().filter(|(_, item, _)| item.merged).count();
    let reused = board.reused_count();
    let mut progress = vec![format!("{done}/{total} done")];
    progress.extend((reused > 0).then(|| format!("{reused} reused")));
    progress.extend(match count(TodoMark::NeedsYou) {
        0 => None,
        1 => Some("1 needs you".to_owned()),
        several => Some(format!("{several} need you")),
    });
    progress.extend((count(TodoMark::AtWork) > 0).then(|| format!("{} at work", count(TodoMark::AtWork))));
    let interrupted = count(TodoMark::Interrupted);
    progress.extend((interrupted > 0).then(|| format!("{interrupted} interrupted")));
    progress.extend((count(TodoMark::Blocked) > 0).then(|| format!("{} blocked", count(TodoMark::Blocked))));
    progress.extend((merged > 0).then(|| format!("{merged} merged")));
    let mut totals: Vec<String> =
        board.time_left(now).map(|left| format!("about {} left", format_elapsed(left))).into_iter().collect();
    totals.extend((board.spent.tokens > 0).then(|| format!("{} tokens", format_count(board.spent.tokens))));
    totals.extend((board.spent.micros > 0 && !board.unpriced).then(|| Money::Known(board.spent.micros).to_string()));
    let (progress, totals) = (progress.join(" · "), totals.join(" · "));
    if totals.is_empty() {
        return vec![vec![bar, (TextRole::Plain, progress)]];
    }
    if length + 2 + progress.width() + 3 + totals.width() <= columns {
        return vec![vec![bar, (TextRole::Plain, format!("{progress} · {totals}"))]];
    }
    vec![vec![bar, (TextRole::Plain, progress)], vec![(TextRole::Dim, format!("{}{totals}", " ".repeat(length + 2)))]]
}

/// A row for each worker with its activity, tokens and duration, after a row for the main agent if it is active.
fn worker_rows(board: &FleetBoard, now: Timestamp, widths: &ColumnWidths) -> Vec<BoardRow> {
    let main = board.main_activity.as_deref().filter(|_| board.is_live()).map(|activity| {
        let activity = fit(&sanitize_line(activity), widths.total.saturating_sub(2 + widths.id + 2));
        let name = print::fit_cell("main", widths.id);
        let mark = TodoMark::AtWork.with_ask(board.is_main_asking());
        vec![(mark.role(), format!("{} ", mark.sign())), (TextRole::Plain, format!("{name}  {activity}"))]
    });
    let worker = |worker: &super::board::BoardWorker| {
        let mark = board.mark_of(&worker.todo);
        let usage = format!(
            "{:>6} {:>7}",
            format_count(worker.tokens),
            format_elapsed(board.clock_time(now).since(worker.since))
        );
        let activity_width = widths.rest_width().saturating_sub(usage.width() + 1);
        let cells = format!(
            "{}  {}  ",
            print::fit_cell(&sanitize_line(&worker.todo.0), widths.id),
            print::fit_cell(&sanitize_line(board.title(&worker.todo)), widths.title)
        );
        let activity = if mark == TodoMark::Interrupted { mark.label() } else { &worker.activity };
        let activity = print::fit_cell(&sanitize_line(activity), activity_width);
        vec![
            (mark.role(), format!("{} ", mark.sign())),
            (TextRole::Plain, cells),
            (if mark == TodoMark::NeedsYou { mark.role() } else { TextRole::Code }, activity),
            (TextRole::Dim, format!(" {usage}")),
        ]
    };
    // Todos that an agent merely marked as in progress.
    let unclaimed = board.unclaimed_in_progress().into_iter().map(|todo| {
        let mark = board.mark_of(todo);
        let title = fit(&sanitize_line(board.title(todo)), widths.total.saturating_sub(2 + widths.id + 2));
        let cells = format!("{}  {title}", print::fit_cell(&sanitize_line(&todo.0), widths.id));
        vec![(mark.role(), format!("{} ", mark.sign())), (TextRole::Plain, cells)]
    });
    let unclaimed: Vec<BoardRow> = unclaimed.collect();
    main.into_iter().chain(board.workers().into_iter().map(worker)).chain(unclaimed).collect()
}

/// Blocked todos and their reasons.
fn blocked_rows(board: &FleetBoard, widths: &ColumnWidths) -> Vec<BoardRow> {
    let items = board.items();
    let blocked = items.iter().filter(|(_, _, mark)| *mark == TodoMark::Blocked);
    let row = blocked.map(|(id, item, mark)| {
        let cells = format!(
            "{}  {}  ",
            print::fit_cell(&sanitize_line(&id.0), widths.id),
            print::fit_cell(&sanitize_line(&item.title), widths.title)
        );
        let reason = fit(&one_line_reason(item.reason.as_deref().unwrap_or_default()), widths.rest_width());
        vec![(mark.role(), format!("{} ", mark.sign())), (TextRole::Plain, cells), (mark.role(), reason)]
    });
    row.collect()
}

/// Todos that may conflict.
fn conflict_rows(board: &FleetBoard) -> Vec<BoardRow> {
    let row = |text: String| {
        vec![(TextRole::Accent, "! ".to_owned()), (TextRole::Plain, format!("may conflict: {}", sanitize_line(&text)))]
    };
    board.conflicts().iter().filter(|_| board.ended.is_none()).map(|shared| row(shared.describe())).collect()
}

/// Todos that are ready to start.
fn ready_rows(board: &FleetBoard, widths: &ColumnWidths) -> Vec<BoardRow> {
    let items = board.items();
    let ready = items.iter().filter(|(_, _, mark)| *mark == TodoMark::Ready);
    let row = ready.map(|(id, item, mark)| {
        let retry_note =
            item.reason.as_deref().map(|reason| format!("again: {}", one_line_reason(reason))).unwrap_or_default();
        let cells = format!(
            "{} {}  {}  ",
            mark.sign(),
            print::fit_cell(&sanitize_line(&id.0), widths.id),
            print::fit_cell(&sanitize_line(&item.title), widths.title)
        );
        vec![(TextRole::Dim, cells), (TextRole::Dim, fit(&retry_note, widths.rest_width()))]
    });
    row.collect()
}

/// Cuts a part to the available rows; the last row then names the number of omitted ones.
fn shorten(part: &mut Vec<BoardRow>, max_rows: usize) {
    if part.len() <= max_rows {
        return;
    }
    let kept = max_rows.saturating_sub(1);
    let omitted = part.len() - kept;
    let sign = part[kept].first().and_then(|(_, text)| text.chars().next()).unwrap_or(' ');
    part.truncate(kept);
    if max_rows > 0 {
        part.push(vec![(TextRole::Dim, format!("{sign} … {omitted} more"))]);
    }
}

fn fit(text: &str, columns: usize) -> String {
    print::fit_cell(text, text.width().min(columns))
}

/// A reason on one line.
fn one_line_reason(reason: &str) -> String {
    print::format_reason(reason, 400).replace('\t', " ")
}

/// A text on one line, without control characters.
fn sanitize_line(text: &str) -> String {
    print::sanitize(&print::one_line(text, 400)).replace('\t', " ")
}
