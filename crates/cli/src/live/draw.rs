//! The picture of a fleet, in rows that fit a terminal.

use host::TerminalSize;
use protocol::{At, FleetEnd};
use unicode_width::UnicodeWidthStr;

use super::amounts::{count, time};
use super::board::Board;
use crate::money::Money;
use crate::print;
use crate::style::{Role, Style};
use crate::todos::Mark;

/// One row: pieces of text, each with its role. They hold nothing that could drive a terminal.
pub(super) type Row = Vec<(Role, String)>;

/// Fewest columns and rows that are drawn for.
const LEAST: TerminalSize = TerminalSize { columns: 20, rows: 5 };

/// How far a bar goes.
const BAR: usize = 30;

/// A row without colour.
pub(super) fn plain(row: &Row) -> String {
    paint(row, Style::Plain).trim_end().to_owned()
}

/// A row as a terminal takes it.
pub(super) fn paint(row: &Row, style: Style) -> String {
    row.iter().map(|(role, text)| style.paint(*role, text)).collect()
}

/// How many columns a row takes.
pub(super) fn width(row: &Row) -> usize {
    row.iter().map(|(_, text)| text.width()).sum()
}

/// Draws a fleet.
pub(super) fn draw(board: &Board, now: At, size: TerminalSize) -> Vec<Row> {
    let columns = size.columns.max(LEAST.columns);
    let rows = size.rows.max(LEAST.rows);
    let widths = Widths::new(board, columns);
    let mut all = vec![head(board, now, columns)];
    all.extend(bar(board, now, columns));
    all.push(Row::new());
    let mut parts = [at_work(board, now, &widths), blocked(board, &widths), foreseen(board), ready(board, &widths)];
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
    all.into_iter().map(|row| clip(row, columns)).collect()
}

/// A row that is no wider than this.
fn clip(row: Row, columns: usize) -> Row {
    let mut left = columns;
    let mut clipped = Row::new();
    for (role, text) in row {
        let text = fit(&text, left);
        left -= text.width();
        clipped.push((role, text));
    }
    clipped
}

/// How wide the columns are.
struct Widths {
    all: usize,
    id: usize,
    title: usize,
}

impl Widths {
    fn new(board: &Board, columns: usize) -> Widths {
        let shown = board.items();
        let shown = shown.iter().filter(|(_, _, mark)| *mark != Mark::Done && *mark != Mark::Waits);
        let (mut id, mut title) = (4, 4);
        for (name, item, _) in shown {
            id = id.max(clean(&name.0).width());
            title = title.max(clean(&item.title).width());
        }
        Widths { all: columns, id: id.min(columns / 5), title: title.min(columns / 3) }
    }

    /// What is left beside a sign, an id and a title.
    fn rest(&self) -> usize {
        self.all.saturating_sub(2 + self.id + 2 + self.title + 2)
    }
}

fn head(board: &Board, now: At, columns: usize) -> Row {
    let state = match board.end() {
        None if board.began_at.is_none() => "Todos",
        None if board.is_interrupted() => "Fleet interrupted",
        None => "Fleet",
        Some(FleetEnd::Done) => "Fleet done",
        Some(FleetEnd::Blocked) => "Fleet blocked",
        Some(FleetEnd::Stopped) => "Fleet stopped",
    };
    let elapsed = board.began_at.map(|_| time(board.elapsed(now))).unwrap_or_default();
    let room = columns.saturating_sub(state.width() + 2 + elapsed.width() + 2);
    let goal = print::cell(&clean(&board.goal), room);
    vec![(Role::Strong, state.into()), (Role::Plain, format!("  {goal}  ")), (Role::Dim, elapsed)]
}

/// How much is done, and what that took; in two rows where one is too narrow.
fn bar(board: &Board, now: At, columns: usize) -> Vec<Row> {
    let items = board.items();
    let of = |wanted: Mark| items.iter().filter(|(_, _, mark)| *mark == wanted).count();
    let (done, total) = (of(Mark::Done), items.len());
    let length = BAR.min(columns / 4);
    let filled = (done * length).checked_div(total).unwrap_or(0);
    let bar = (Role::Good, format!("{}{}  ", "█".repeat(filled), "░".repeat(length - filled)));
    let merged = items.iter().filter(|(_, item, _)| item.merged).count();
    let mut far = vec![format!("{done}/{total} done")];
    far.extend(match of(Mark::NeedsYou) {
        0 => None,
        1 => Some("1 needs you".to_owned()),
        several => Some(format!("{several} need you")),
    });
    far.extend((of(Mark::AtWork) > 0).then(|| format!("{} at work", of(Mark::AtWork))));
    far.extend((of(Mark::Interrupted) > 0).then(|| format!("{} interrupted", of(Mark::Interrupted))));
    far.extend((of(Mark::Blocked) > 0).then(|| format!("{} blocked", of(Mark::Blocked))));
    far.extend((merged > 0).then(|| format!("{merged} merged")));
    let mut took: Vec<String> = board.left(now).map(|left| format!("about {} left", time(left))).into_iter().collect();
    took.extend((board.spent.tokens > 0).then(|| format!("{} tokens", count(board.spent.tokens))));
    took.extend((board.spent.tokens > 0 && !board.unpriced).then(|| Money::Known(board.spent.micros).to_string()));
    let (far, took) = (far.join(" · "), took.join(" · "));
    if took.is_empty() {
        return vec![vec![bar, (Role::Plain, far)]];
    }
    if length + 2 + far.width() + 3 + took.width() <= columns {
        return vec![vec![bar, (Role::Plain, format!("{far} · {took}"))]];
    }
    vec![vec![bar, (Role::Plain, far)], vec![(Role::Dim, format!("{}{took}", " ".repeat(length + 2)))]]
}

/// A row for each worker, with what it does, what it used and for how long; before them the main agent, if it acts.
fn at_work(board: &Board, now: At, widths: &Widths) -> Vec<Row> {
    let main = board.main.as_deref().filter(|_| board.is_live()).map(|doing| {
        let doing = fit(&clean(doing), widths.all.saturating_sub(2 + widths.id + 2));
        let name = print::cell("main", widths.id);
        let mark = Mark::AtWork.asked(board.is_main_asking());
        vec![(mark.role(), format!("{} ", mark.sign())), (Role::Plain, format!("{name}  {doing}"))]
    });
    let worker = |worker: &super::board::Worker| {
        let mark = board.mark_of(&worker.todo);
        let figures = format!("{:>6} {:>7}", count(worker.tokens), time(board.clock(now).since(worker.since)));
        let room = widths.rest().saturating_sub(figures.width() + 1);
        let start = format!(
            "{}  {}  ",
            print::cell(&clean(&worker.todo.0), widths.id),
            print::cell(&clean(board.title(&worker.todo)), widths.title)
        );
        let doing = if mark == Mark::Interrupted { mark.word() } else { &worker.doing };
        let doing = print::cell(&clean(doing), room);
        vec![
            (mark.role(), format!("{} ", mark.sign())),
            (Role::Plain, start),
            (if mark == Mark::NeedsYou { mark.role() } else { Role::Code }, doing),
            (Role::Dim, format!(" {figures}")),
        ]
    };
    // What somebody only says that it works on.
    let said = board.unheld().into_iter().map(|todo| {
        let mark = board.mark_of(todo);
        let title = fit(&clean(board.title(todo)), widths.all.saturating_sub(2 + widths.id + 2));
        let start = format!("{}  {title}", print::cell(&clean(&todo.0), widths.id));
        vec![(mark.role(), format!("{} ", mark.sign())), (Role::Plain, start)]
    });
    let said: Vec<Row> = said.collect();
    main.into_iter().chain(board.workers().into_iter().map(worker)).chain(said).collect()
}

/// What cannot be done, and why.
fn blocked(board: &Board, widths: &Widths) -> Vec<Row> {
    let items = board.items();
    let blocked = items.iter().filter(|(_, _, mark)| *mark == Mark::Blocked);
    let row = blocked.map(|(id, item, mark)| {
        let start =
            format!("{}  {}  ", print::cell(&clean(&id.0), widths.id), print::cell(&clean(&item.title), widths.title));
        let why = fit(&why(item.reason.as_deref().unwrap_or_default()), widths.rest());
        vec![(mark.role(), format!("{} ", mark.sign())), (Role::Plain, start), (mark.role(), why)]
    });
    row.collect()
}

/// What may not fit together.
fn foreseen(board: &Board) -> Vec<Row> {
    let row = |words: String| {
        vec![(Role::Accent, "! ".to_owned()), (Role::Plain, format!("may conflict: {}", clean(&words)))]
    };
    board.conflicts().iter().filter(|_| board.ended.is_none()).map(|shared| row(shared.words())).collect()
}

/// What comes next.
fn ready(board: &Board, widths: &Widths) -> Vec<Row> {
    let items = board.items();
    let ready = items.iter().filter(|(_, _, mark)| *mark == Mark::Ready);
    let row = ready.map(|(id, item, mark)| {
        let again = item.reason.as_deref().map(|reason| format!("again: {}", why(reason))).unwrap_or_default();
        let start = format!(
            "{} {}  {}  ",
            mark.sign(),
            print::cell(&clean(&id.0), widths.id),
            print::cell(&clean(&item.title), widths.title)
        );
        vec![(Role::Dim, start), (Role::Dim, fit(&again, widths.rest()))]
    });
    row.collect()
}

/// Cuts a part to so many rows, the last of which tells how many more there are.
fn shorten(part: &mut Vec<Row>, room: usize) {
    if part.len() <= room {
        return;
    }
    let kept = room.saturating_sub(1);
    let more = part.len() - kept;
    let sign = part[kept].first().and_then(|(_, text)| text.chars().next()).unwrap_or(' ');
    part.truncate(kept);
    if room > 0 {
        part.push(vec![(Role::Dim, format!("{sign} … {more} more"))]);
    }
}

fn fit(text: &str, columns: usize) -> String {
    print::cell(text, text.width().min(columns))
}

/// One line of why something is as it is.
fn why(reason: &str) -> String {
    print::reason(reason, 400).replace('\t', " ")
}

/// One line of what somebody wrote.
fn clean(text: &str) -> String {
    print::plain(&print::one_line(text, 400)).replace('\t', " ")
}
