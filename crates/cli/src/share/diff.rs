//! Changes of files as lines that went and lines that came.

use std::fmt::Write as _;

use protocol::{Call, clip_middle};
use serde_json::Value;

use super::escape::text;

/// Most bytes shown of either side.
const SHOWN: usize = 16 * 1024;

/// Most lines of either side that are compared with each other.
const COMPARED: usize = 400;

/// What became of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Went,
    Came,
    Stayed,
}

/// The change that a call of `edit`, `create` or `apply_patch` makes; none for other calls.
pub(super) fn html(call: &Call) -> Option<String> {
    let input: Value = serde_json::from_str(&call.input).ok()?;
    let said = |key: &str| input.get(key).and_then(Value::as_str);
    match call.tool.as_str() {
        "edit" => {
            let (old, new) = (clip_middle(said("old")?, SHOWN), clip_middle(said("new")?, SHOWN));
            Some(shown(said("path")?, &lines(&old, &new)))
        }
        "create" => {
            let content = clip_middle(said("content")?, SHOWN);
            Some(shown(said("path")?, &lines("", &content)))
        }
        "apply_patch" => {
            let patch = clip_middle(said("patch")?, SHOWN);
            Some(shown("", &patch.lines().map(patched).collect::<Vec<_>>()))
        }
        _other => None,
    }
}

fn patched(line: &str) -> (Fate, &str) {
    match line.chars().next() {
        Some('+') => (Fate::Came, line.get(1..).unwrap_or_default()),
        Some('-') => (Fate::Went, line.get(1..).unwrap_or_default()),
        Some(' ') => (Fate::Stayed, line.get(1..).unwrap_or_default()),
        Some(_) | None => (Fate::Stayed, line),
    }
}

fn shown(path: &str, lines: &[(Fate, &str)]) -> String {
    let mut html = String::new();
    if !path.is_empty() {
        // Writing to a string cannot fail.
        let _always = writeln!(html, "<p>{}</p>", text(path));
    }
    html.push_str("<pre class=\"diff\">");
    for (fate, line) in lines {
        let line = text(line);
        let _always = match fate {
            Fate::Went => writeln!(html, "<del>- {line}</del>"),
            Fate::Came => writeln!(html, "<ins>+ {line}</ins>"),
            Fate::Stayed => writeln!(html, "  {line}"),
        };
    }
    html.push_str("</pre>\n");
    html
}

/// The lines of two texts: those that both have in the same order stay.
fn lines<'a>(old: &'a str, new: &'a str) -> Vec<(Fate, &'a str)> {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let head = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let least = old.len().min(new.len()) - head;
    let tail = old.iter().rev().zip(new.iter().rev()).take(least).take_while(|(a, b)| a == b).count();
    let middle = |all: &[&'a str]| all.get(head..all.len() - tail).unwrap_or_default().to_vec();
    let (went, came) = (middle(&old), middle(&new));
    let stayed = |line: &&'a str| (Fate::Stayed, *line);
    let mut lines: Vec<(Fate, &str)> = old.iter().take(head).map(stayed).collect();
    match went.len() <= COMPARED && came.len() <= COMPARED {
        true => lines.extend(compared(&went, &came)),
        false => {
            lines.extend(went.iter().map(|line| (Fate::Went, *line)));
            lines.extend(came.iter().map(|line| (Fate::Came, *line)));
        }
    }
    lines.extend(old.iter().skip(old.len() - tail).map(stayed));
    lines
}

/// The longest run of lines that both have stays.
fn compared<'a>(went: &[&'a str], came: &[&'a str]) -> Vec<(Fate, &'a str)> {
    let width = came.len() + 1;
    let mut common = vec![0_u16; (went.len() + 1) * width];
    let at = |a: usize, b: usize| a * width + b;
    let get = |common: &[u16], a: usize, b: usize| common.get(at(a, b)).copied().unwrap_or(0);
    for (a, old) in went.iter().enumerate().rev() {
        for (b, new) in came.iter().enumerate().rev() {
            let longest = match old == new {
                true => get(&common, a + 1, b + 1) + 1,
                false => get(&common, a + 1, b).max(get(&common, a, b + 1)),
            };
            common.get_mut(at(a, b)).into_iter().for_each(|cell| *cell = longest);
        }
    }
    let (mut a, mut b, mut lines) = (0, 0, Vec::new());
    loop {
        match (went.get(a), came.get(b)) {
            (Some(old), Some(new)) if old == new => {
                lines.push((Fate::Stayed, *old));
                (a, b) = (a + 1, b + 1);
            }
            (Some(old), new) if new.is_none() || get(&common, a + 1, b) >= get(&common, a, b + 1) => {
                lines.push((Fate::Went, *old));
                a += 1;
            }
            (_, Some(new)) => {
                lines.push((Fate::Came, *new));
                b += 1;
            }
            (_, None) => return lines,
        }
    }
}

#[cfg(test)]
mod tests {
    use protocol::CallId;
    use serde_json::json;

    use super::*;

    fn shown(name: &str, input: &Value) -> Option<String> {
        html(&Call { id: CallId("c".into()), tool: name.into(), input: input.to_string() })
    }

    #[test]
    fn edits_are_shown_as_lines_that_went_and_came() {
        let edit = shown("edit", &json!({"path": "a.rs", "old": "a\nb\nc\nd", "new": "a\nx\nc\n<y>\nd"})).unwrap();
        let wanted = "<p>a.rs</p>\n<pre class=\"diff\">  a\n<del>- b</del>\n<ins>+ x</ins>\n  c\n\
                      <ins>+ &lt;y&gt;</ins>\n  d\n</pre>\n";
        assert_eq!(edit, wanted);
        let create = shown("create", &json!({"path": "a", "content": "x\ny"})).unwrap();
        assert!(create.contains("<ins>+ x</ins>\n<ins>+ y</ins>"), "{create}");
        let patch = shown("apply_patch", &json!({"patch": "*** Update File: a\n@@\n-b\n+c\n d"})).unwrap();
        assert!(patch.contains("  *** Update File: a\n  @@\n<del>- b</del>\n<ins>+ c</ins>\n  d\n"), "{patch}");
        assert_eq!(shown("shell", &json!({"command": "ls"})), None);
        assert_eq!(shown("edit", &json!({"path": 3})), None);
    }
}
