//! The todo graph in Graphviz format.

use client::AskingTasks;
use std::collections::BTreeMap;

use protocol::api::TodoView;
use tui::print;
use tui::todo_mark::TodoMark;

/// Draws the graph.
pub(super) fn draw(todos: &[TodoView], asking: &AskingTasks) -> String {
    let numbers: BTreeMap<&str, usize> = todos.iter().enumerate().map(|(n, todo)| (todo.id.0.as_str(), n)).collect();
    let mut text = String::from("digraph todos {\n  node [shape=box, style=\"rounded,filled\"];\n");
    for (n, todo) in todos.iter().enumerate() {
        let mark = TodoMark::in_session(todo, asking);
        let label = escaped(&format!("{} {}: {}", mark.sign(), todo.id, todo.title));
        text += &format!("  t{n} [label=\"{label}\", fillcolor=\"{}\"];\n", colour(mark));
    }
    for (n, todo) in todos.iter().enumerate() {
        for dependency in todo.depends_on.iter().filter_map(|id| numbers.get(id.0.as_str())) {
            text += &format!("  t{dependency} -> t{n};\n");
        }
    }
    text + "}\n"
}

fn colour(mark: TodoMark) -> &'static str {
    match mark {
        TodoMark::Done => "#d5f0d5",
        TodoMark::NeedsYou => "#fff0b3",
        TodoMark::AtWork => "#d7e6fb",
        TodoMark::Interrupted => "#fbefd0",
        TodoMark::Ready => "#ffffff",
        TodoMark::Waiting => "#eeeeee",
        TodoMark::Blocked => "#f8d7d7",
    }
}

/// Escapes a text for a quoted label.
fn escaped(text: &str) -> String {
    let line = print::sanitize(&text.split_whitespace().collect::<Vec<_>>().join(" "));
    line.replace('&', "&amp;").replace('\\', r"\\").replace('"', "\\\"")
}

#[cfg(test)]
mod tests {
    use testkit::todos::todo_view as todo;

    use super::*;

    /// Parses the labels of nodes and the edges. It knows only the subset of the language that is written.
    fn parse(dot: &str) -> (Vec<String>, Vec<(usize, usize)>) {
        let mut chars = dot.strip_prefix("digraph todos {\n").unwrap().chars().peekable();
        let (mut statements, mut statement) = (Vec::new(), (String::new(), Vec::new()));
        while let Some(c) = chars.next() {
            match c {
                '"' => {
                    let mut quoted = String::new();
                    loop {
                        match chars.next().expect("a text that ends") {
                            '"' => break,
                            '\\' => quoted.push(chars.next().expect("a letter after a backslash")),
                            other => quoted.push(other),
                        }
                    }
                    statement.1.push(quoted);
                }
                ';' => statements.push(std::mem::take(&mut statement)),
                other => statement.0.push(other),
            }
        }
        assert_eq!(statement.0.trim(), "}");
        let number = |text: &str| text.trim().strip_prefix('t').unwrap().parse::<usize>().unwrap();
        let (mut labels, mut edges) = (Vec::new(), Vec::new());
        for (bare, quoted) in statements.iter().skip(1) {
            match bare.split_once("->") {
                Some((from, to)) => edges.push((number(from), number(to))),
                None => {
                    assert_eq!(number(bare.split_once('[').unwrap().0), labels.len());
                    assert!(bare.ends_with("[label=, fillcolor=]"), "{bare}");
                    labels.push(quoted[0].replace("&amp;", "&"));
                }
            }
        }
        (labels, edges)
    }

    #[test]
    fn graphviz_labels_survive_hostile_text() {
        let hostile = ["say \"hi\"]; }", "ends with \\", "\\N \\\" ->", "a & b &lt; c", "日本 [x=y];\n// é", ""];
        let mut todos: Vec<TodoView> = hostile.iter().map(|title| todo("x", title, &[])).collect();
        todos.push(todo("z\";", "last", &["x", "gone"]));
        let (labels, edges) = parse(&draw(&todos, &AskingTasks::default()));
        let plain = |title: &str| format!("○ x: {}", title.split_whitespace().collect::<Vec<_>>().join(" "));
        let expected: Vec<String> = hostile.iter().map(|title| plain(title).trim_end().to_owned()).collect();
        assert_eq!(labels[..6], expected);
        assert_eq!((&*labels[6], &*edges), ("· z\";: last", &[(5, 6)][..]));
    }
}
