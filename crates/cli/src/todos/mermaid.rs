//! The todo graph as a Mermaid flowchart.

use client::AskingTasks;
use std::collections::BTreeMap;

use protocol::api::TodoView;
use tui::print;
use tui::todo_mark::TodoMark;

/// Draws the graph. Nodes are numbered, so that no id can be mistaken for a Mermaid keyword.
pub(super) fn draw(todos: &[TodoView], asking: &AskingTasks) -> String {
    let numbers: BTreeMap<&str, usize> = todos.iter().enumerate().map(|(n, todo)| (todo.id.0.as_str(), n)).collect();
    let mut text = String::from("flowchart TD\n");
    for (n, todo) in todos.iter().enumerate() {
        let label = escaped(&format!("{}: {}", todo.id, todo.title));
        let mark = TodoMark::in_session(todo, asking);
        text += &format!("  t{n}[\"{} {label}\"]:::{}\n", mark.sign(), class(mark));
    }
    for (n, todo) in todos.iter().enumerate() {
        for dependency in todo.depends_on.iter().filter_map(|id| numbers.get(id.0.as_str())) {
            text += &format!("  t{dependency} --> t{n}\n");
        }
    }
    for mark in TodoMark::ALL {
        text += &format!("  classDef {} {}\n", class(mark), colours(mark));
    }
    text
}

fn class(mark: TodoMark) -> &'static str {
    match mark {
        TodoMark::Done => "finished",
        TodoMark::NeedsYou => "asking",
        TodoMark::AtWork => "working",
        TodoMark::Interrupted => "interrupted",
        TodoMark::Ready => "free",
        TodoMark::Waiting => "waiting",
        TodoMark::Blocked => "blocked",
    }
}

fn colours(mark: TodoMark) -> &'static str {
    match mark {
        TodoMark::Done => "fill:#d5f0d5,stroke:#3a7d3a,color:#1b1b1b",
        TodoMark::NeedsYou => "fill:#fff0b3,stroke:#b38600,color:#1b1b1b",
        TodoMark::AtWork => "fill:#d7e6fb,stroke:#2f5f9e,color:#1b1b1b",
        TodoMark::Interrupted => "fill:#fbefd0,stroke:#9e7a2f,color:#1b1b1b",
        TodoMark::Ready => "fill:#ffffff,stroke:#555555,color:#1b1b1b",
        TodoMark::Waiting => "fill:#eeeeee,stroke:#999999,color:#1b1b1b",
        TodoMark::Blocked => "fill:#f8d7d7,stroke:#9e2f2f,color:#1b1b1b",
    }
}

/// Escapes a quoted text. Characters with a meaning in Mermaid, Markdown or HTML are written as character codes.
fn escaped(text: &str) -> String {
    let line = print::sanitize(&text.split_whitespace().collect::<Vec<_>>().join(" "));
    let mut escaped = String::with_capacity(line.len());
    for c in line.chars() {
        if c.is_ascii() && !c.is_ascii_alphanumeric() && !" .,:-/".contains(c) {
            escaped += &format!("#{};", u32::from(c));
        } else {
            escaped.push(c);
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use testkit::todos::todo_view as todo;

    use super::*;

    #[test]
    fn a_mermaid_chart_says_what_the_todos_say_whatever_that_is() {
        let hostile = "say \"hi\"]; end\n%%{init: {}}%% <script>`x`</script> #35; --> Ä\u{1b}[0m";
        let chart = draw(&[todo("end", hostile, &[]), todo("t0\"]", "B", &["end", "gone"])], &AskingTasks::default());
        insta::assert_snapshot!(chart);
        // Each line is a node, an edge or a class, and no text leaves its quotes.
        for line in chart.lines().skip(1).map(str::trim) {
            let is_node = line.starts_with('t') && line.matches('"').count() == 2;
            assert!(is_node || line.starts_with("classDef ") || line == "t0 --> t1", "{line}");
        }
    }
}
