//! The graph of todos, in layers by dependency, or in formats for other programs.

use std::collections::BTreeMap;

use client::AskingTasks;
use protocol::SessionId;
use protocol::api::{TodoView, TodosParams};
use serde::Serialize;
use tui::print;
use tui::todo_mark::TodoMark;
use unicode_width::UnicodeWidthStr;

use super::session::TodoSession;
use super::{dot, list, mermaid};
use crate::error::CliError;
use crate::exit::CommandExit;

/// The format of the graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GraphFormat {
    /// Text in layers.
    Text,
    /// Mermaid.
    Mermaid,
    /// Graphviz.
    Dot,
}

/// The maximum width of an id.
const MAX_ID_COLUMNS: usize = 24;

#[derive(Serialize)]
struct TodoGraphReport<'a> {
    session: SessionId,
    todos: &'a [TodoView],
    /// The ids, starting with those that depend on nothing.
    layers: Vec<Vec<&'a str>>,
}

pub(super) fn print_graph(session: &TodoSession, format: GraphFormat) -> Result<CommandExit, CliError> {
    let todos = session.handle.todos(&TodosParams::all_todos())?.todos;
    if session.json {
        let layers = layers(&todos).into_iter().map(ids).collect();
        print::json(&TodoGraphReport { session: session.session, todos: &todos, layers });
        return Ok(CommandExit::Success);
    }
    let asking = AskingTasks::of_session(&session.handle)?;
    match format {
        GraphFormat::Mermaid => print::document(mermaid::draw(&todos, &asking).as_bytes()),
        GraphFormat::Dot => print::document(dot::draw(&todos, &asking).as_bytes()),
        GraphFormat::Text if todos.is_empty() => print::note(format_args!("{} has no todos", session.session)),
        GraphFormat::Text => {
            graph_lines(&todos, &asking, print::width()).iter().for_each(print::output);
            let legend: Vec<String> =
                TodoMark::ALL.iter().map(|mark| format!("{} {}", mark.sign(), mark.label())).collect();
            print::note(format_args!("{}\n{}", legend.join("  "), list::summarize(&todos, &asking)));
        }
    }
    Ok(CommandExit::Success)
}

fn ids(layer: Vec<&TodoView>) -> Vec<&str> {
    layer.into_iter().map(|todo| todo.id.0.as_str()).collect()
}

/// The todos in layers: each is below all its dependencies. Todos in a dependency cycle come last.
fn layers(todos: &[TodoView]) -> Vec<Vec<&TodoView>> {
    let index: BTreeMap<&str, usize> = todos.iter().enumerate().map(|(n, todo)| (todo.id.0.as_str(), n)).collect();
    let dependency_count =
        |todo: &TodoView| todo.depends_on.iter().filter_map(|id| index.get(id.0.as_str()).copied()).count();
    let mut dependents: Vec<Vec<usize>> = vec![Vec::new(); todos.len()];
    for (n, todo) in todos.iter().enumerate() {
        let dependencies = todo.depends_on.iter().filter_map(|id| index.get(id.0.as_str()));
        dependencies.for_each(|dependency| dependents[*dependency].push(n));
    }
    let mut unmet: Vec<usize> = todos.iter().map(dependency_count).collect();
    let mut layer: Vec<usize> = (0..todos.len()).filter(|n| unmet[*n] == 0).collect();
    let mut layers: Vec<Vec<usize>> = Vec::new();
    while !layer.is_empty() {
        let mut next = Vec::new();
        for dependent in layer.iter().flat_map(|n| &dependents[*n]) {
            unmet[*dependent] -= 1;
            if unmet[*dependent] == 0 {
                next.push(*dependent);
            }
        }
        next.sort_unstable();
        layers.push(std::mem::replace(&mut layer, next));
    }
    let cyclic: Vec<usize> = (0..todos.len()).filter(|n| unmet[*n] > 0).collect();
    layers.extend((!cyclic.is_empty()).then_some(cyclic));
    layers.into_iter().map(|layer| layer.into_iter().map(|n| &todos[n]).collect()).collect()
}

/// One line for each todo, within this many columns if they are limited.
fn graph_lines(todos: &[TodoView], asking: &AskingTasks, columns: Option<usize>) -> Vec<String> {
    let name = |todo: &TodoView| print::sanitize(&print::one_line(&todo.id.0, MAX_ID_COLUMNS));
    let name_width = todos.iter().map(|todo| name(todo).width()).max().unwrap_or(0);
    let layers = layers(todos);
    let digits = layers.len().to_string().len();
    let mut lines = Vec::new();
    for (number, layer) in layers.iter().enumerate() {
        for (n, todo) in layer.iter().enumerate() {
            let layer_number = if n == 0 { (number + 1).to_string() } else { String::new() };
            let sign = TodoMark::in_session(todo, asking).sign();
            let prefix = format!("{layer_number:>digits$} {sign} {}  ", print::fit_cell(&name(todo), name_width));
            let after = if todo.depends_on.is_empty() {
                String::new()
            } else {
                format!("  ← {}", list::dependency_names(todo))
            };
            lines.push(fit_line(&prefix, &print::sanitize(&print::one_line(&todo.title, 200)), &after, columns));
        }
    }
    lines
}

/// Joins a prefix, a title and the dependencies. The title is cut first; dependencies may take half of the width.
fn fit_line(prefix: &str, title: &str, after: &str, columns: Option<usize>) -> String {
    let Some(columns) = columns else { return format!("{prefix}{title}{after}").trim_end().to_owned() };
    let columns_left = columns.saturating_sub(prefix.width());
    let after = print::fit_cell(after, after.width().min(columns_left / 2));
    let title = print::fit_cell(title, title.width().min(columns_left.saturating_sub(after.width())));
    print::fit_cell(format!("{prefix}{title}{after}").trim_end(), columns).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use protocol::TodoStatus;
    use testkit::todos::todo_view as todo;

    use super::*;

    #[test]
    fn a_graph_is_drawn_in_layers_that_fit_the_terminal() {
        let long = "a title that is so long that it cannot be shown whole beside what it depends on, by far";
        let mut todos = vec![
            todo("ship", "Ship it", &["write", "test"]),
            todo("read", "Read the docs", &[]),
            todo("write", long, &["read"]),
            todo("test", "Test\nit \u{1b}[31m", &["read"]),
            todo("alone", "日本語 alone", &[]),
        ];
        todos[1].status = TodoStatus::Done;
        todos[3].status = TodoStatus::Blocked;
        insta::assert_snapshot!(graph_lines(&todos, &AskingTasks::default(), Some(60)).join("\n"));
        let whole = graph_lines(&todos, &AskingTasks::default(), None);
        assert!(whole[2].ends_with(&format!("{long}  ← read")), "{whole:?}");
        for columns in [20, 40, 80, 200] {
            assert!(
                graph_lines(&todos, &AskingTasks::default(), Some(columns)).iter().all(|line| line.width() <= columns)
            );
        }
    }

    #[test]
    fn cyclic_and_missing_dependencies_are_drawn() {
        let todos = [todo("a", "A", &["b"]), todo("b", "B", &["a"]), todo("c", "C", &["gone"]), todo("d", "D", &["c"])];
        let ids = |layer: Vec<&TodoView>| layer.into_iter().map(|todo| todo.id.0.clone()).collect::<Vec<_>>().join(" ");
        assert_eq!(layers(&todos).into_iter().map(ids).collect::<Vec<_>>(), ["c", "d", "a b"]);
    }

    #[test]
    fn long_chain_has_one_layer_per_todo() {
        let name = |n: usize| format!("t{n}");
        let row: Vec<TodoView> = (0..10_000)
            .map(|n| if n == 0 { todo("t0", "x", &[]) } else { todo(&name(n), "x", &[&name(n - 1)]) })
            .collect();
        assert_eq!(layers(&row).len(), 10_000);
    }
}
