//! The picture of a fleet, in rows that fit a terminal.

use host::Size;
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
const LEAST: Size = Size { columns: 20, rows: 5 };

/// Rows that are always there: the head, the bar and an empty one.
const HEAD: usize = 3;

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
pub(super) fn draw(board: &Board, now: At, size: Size) -> Vec<Row> {
    let columns = size.columns.max(LEAST.columns);
    let rows = size.rows.max(LEAST.rows);
    let widths = Widths::new(board, columns);
    let mut parts = [at_work(board, now, &widths), blocked(board, &widths), ready(board, &widths)];
    let mut room = rows - HEAD;
    for (n, part) in parts.iter_mut().enumerate() {
        // Each leaves a row for those after it that have something to say.
        let kept = 2 - n;
        shorten(part, room.saturating_sub(kept).max(1));
        room = room.saturating_sub(part.len());
    }
    let mut all = vec![head(board, now, columns), bar(board, now, columns)];
    let body: Vec<Row> = parts.into_iter().flatten().collect();
    if !body.is_empty() {
        all.push(Row::new());
        all.extend(body);
    }
    all.truncate(rows);
    all
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
        None => "Fleet",
        Some(FleetEnd::Done) => "Fleet done",
        Some(FleetEnd::Blocked) => "Fleet blocked",
        Some(FleetEnd::Stopped) => "Fleet stopped",
    };
    let elapsed = time(board.elapsed(now));
    let room = columns.saturating_sub(state.width() + 2 + elapsed.width() + 2);
    let goal = print::cell(&clean(&board.goal), room);
    vec![(Role::Strong, state.into()), (Role::Plain, format!("  {goal}  ")), (Role::Dim, elapsed)]
}

fn bar(board: &Board, now: At, columns: usize) -> Row {
    let items = board.items();
    let of = |wanted: Mark| items.iter().filter(|(_, _, mark)| *mark == wanted).count();
    let (done, total) = (of(Mark::Done), items.len());
    let length = BAR.min(columns / 4);
    let filled = (done * length).checked_div(total).unwrap_or(0);
    let bar = format!("{}{}", "█".repeat(filled), "░".repeat(length - filled));
    let merged = items.iter().filter(|(_, item, _)| item.merged).count();
    let mut facts = vec![format!("{done}/{total} done")];
    facts.extend((of(Mark::AtWork) > 0).then(|| format!("{} at work", of(Mark::AtWork))));
    facts.extend((of(Mark::Blocked) > 0).then(|| format!("{} blocked", of(Mark::Blocked))));
    facts.extend((merged > 0).then(|| format!("{merged} merged")));
    facts.extend(board.left(now).map(|left| format!("about {} left", time(left))));
    facts.extend((board.spent.tokens > 0).then(|| format!("{} tokens", count(board.spent.tokens))));
    facts.extend((board.spent.tokens > 0 && !board.unpriced).then(|| Money::Known(board.spent.micros).to_string()));
    let room = columns.saturating_sub(length + 2);
    vec![(Role::Good, bar), (Role::Plain, "  ".into()), (Role::Plain, fit(&facts.join(" · "), room))]
}

/// A row for each worker, with what it does, what it used and for how long; before them the main agent, if it acts.
fn at_work(board: &Board, now: At, widths: &Widths) -> Vec<Row> {
    let main = board.main.as_deref().filter(|_| board.ended.is_none()).map(|doing| {
        let doing = fit(&clean(doing), widths.all.saturating_sub(2 + widths.id + 2));
        let name = print::cell("main", widths.id);
        vec![(Role::Strong, format!("{} ", Mark::AtWork.sign())), (Role::Plain, format!("{name}  {doing}"))]
    });
    let worker = |worker: &super::board::Worker| {
        let figures = format!("{:>6} {:>7}", count(worker.tokens), time(now.since(worker.since)));
        let room = widths.rest().saturating_sub(figures.width() + 1);
        let start = format!(
            "{}  {}  ",
            print::cell(&clean(&worker.todo.0), widths.id),
            print::cell(&clean(board.title(&worker.todo)), widths.title)
        );
        let doing = print::cell(&clean(&worker.doing), room);
        vec![
            (Role::Strong, format!("{} ", Mark::AtWork.sign())),
            (Role::Plain, start),
            (Role::Code, doing),
            (Role::Dim, format!(" {figures}")),
        ]
    };
    main.into_iter().chain(board.workers().into_iter().map(worker)).collect()
}

/// What cannot be done, and why.
fn blocked(board: &Board, widths: &Widths) -> Vec<Row> {
    let items = board.items();
    let blocked = items.iter().filter(|(_, _, mark)| *mark == Mark::Blocked);
    let row = blocked.map(|(id, item, mark)| {
        let start =
            format!("{}  {}  ", print::cell(&clean(&id.0), widths.id), print::cell(&clean(&item.title), widths.title));
        let why = fit(&clean(item.reason.as_deref().unwrap_or_default()), widths.rest());
        vec![(mark.role(), format!("{} ", mark.sign())), (Role::Plain, start), (mark.role(), why)]
    });
    row.collect()
}

/// What comes next.
fn ready(board: &Board, widths: &Widths) -> Vec<Row> {
    let items = board.items();
    let ready = items.iter().filter(|(_, _, mark)| *mark == Mark::Ready);
    let row = ready.map(|(id, item, mark)| {
        let again = item.reason.as_deref().map(|reason| format!("again: {}", clean(reason))).unwrap_or_default();
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
    let more = part.len() - (room - 1);
    let first = part.get(room - 1).and_then(|row| row.first()).map(|(_, text)| text.chars().next());
    part.truncate(room - 1);
    let sign = first.flatten().map_or(String::new(), |sign| sign.to_string());
    part.push(vec![(Role::Dim, format!("{sign} … {more} more"))]);
}

fn fit(text: &str, columns: usize) -> String {
    print::cell(text, text.width().min(columns))
}

/// One line of what somebody wrote.
fn clean(text: &str) -> String {
    print::plain(&print::one_line(text, 400)).replace('\t', " ")
}
