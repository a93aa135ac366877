//! Todos as a table.

use protocol::SessionId;
use protocol::api::{TodoView, TodosParams};
use serde::Serialize;
use unicode_width::UnicodeWidthStr;

use super::asking::Asking;
use super::mark::Mark;
use super::place::Place;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::print;

/// An id keeps so many columns at most, and a title.
const ID: usize = 28;
const TITLE: usize = 60;

#[derive(Serialize)]
struct Listed<'a> {
    session: SessionId,
    todos: &'a [TodoView],
}

pub(super) fn list(place: &Place, wanted: &TodosParams) -> Result<Exit, Failure> {
    let todos = place.reader.todos_page(wanted)?.todos;
    if place.json {
        print::json(&Listed { session: place.session, todos: &todos });
        return Ok(Exit::Success);
    }
    if todos.is_empty() {
        print::note(format_args!("{} has no such todos; `bosun todos add \"…\"` adds one", place.session));
        return Ok(Exit::Success);
    }
    let asking = Asking::read(&place.reader)?;
    let rows: Vec<[String; 3]> = todos.iter().map(|todo| cells(todo, asking.mark(todo))).collect();
    let width = |column: usize| rows.iter().map(|cells| cells[column].width()).max().unwrap_or(0);
    let widths = [width(0), width(1), width(2)];
    for (cells, todo) in rows.iter().zip(&todos) {
        let cells: Vec<String> = cells.iter().zip(widths).map(|(cell, width)| print::cell(cell, width)).collect();
        print::row(format!("{}  {}", cells.join("  "), remark(todo)).trim_end());
    }
    print::note(sum(&todos, &asking));
    Ok(Exit::Success)
}

fn cells(todo: &TodoView, mark: Mark) -> [String; 3] {
    [
        format!("{} {}", mark.sign(), mark.word()),
        print::plain(&print::one_line(&todo.id.0, ID)),
        print::plain(&print::one_line(&todo.title, TITLE)),
    ]
}

/// What else there is to know of it: why it is blocked or went wrong, or what it waits for.
fn remark(todo: &TodoView) -> String {
    let reason = todo.reason.as_deref().map(|reason| print::reason(reason, 80));
    match (Mark::of(todo), reason) {
        (Mark::Blocked, Some(reason)) => reason,
        (Mark::Ready | Mark::AtWork | Mark::Interrupted, Some(reason)) => format!("last time: {reason}"),
        (Mark::Waits, _) => format!("after {}", after(todo)),
        (Mark::Done | Mark::NeedsYou | Mark::Ready | Mark::AtWork | Mark::Interrupted | Mark::Blocked, _) => {
            String::new()
        }
    }
}

/// What a todo depends on, in a few words.
pub(super) fn after(todo: &TodoView) -> String {
    let names: Vec<&str> = todo.depends_on.iter().map(|id| id.0.as_str()).collect();
    print::plain(&print::one_line(&names.join(", "), 60))
}

/// How many there are of each.
pub(super) fn sum(todos: &[TodoView], asking: &Asking) -> String {
    let of = |mark: Mark| todos.iter().filter(|todo| asking.mark(todo) == mark).count();
    let parts = Mark::ALL.into_iter().map(|mark| (of(mark), mark)).filter(|(count, _)| *count > 0);
    let parts: Vec<String> = parts.map(|(count, mark)| format!("{count} {}", mark.word())).collect();
    format!("{}: {}", print::count(todos.len(), "todo"), parts.join(", "))
}
