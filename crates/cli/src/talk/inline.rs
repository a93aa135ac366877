//! Markdown within a line: code, weight, and links.

use super::text::{Row, Span};
use crate::style::{Role, Style};

/// Reads a line. Without colour code keeps its marks, since nothing else would tell it from the rest.
pub(super) fn spans(line: &str, style: Style) -> Row {
    let mut reader = Reader { rest: line, last: None, plain: String::new(), row: Row::new(), style };
    while !reader.rest.is_empty() {
        reader.step();
    }
    reader.flush();
    reader.row
}

struct Reader<'a> {
    rest: &'a str,
    /// The character before the rest.
    last: Option<char>,
    plain: String,
    row: Row,
    style: Style,
}

impl<'a> Reader<'a> {
    fn step(&mut self) {
        let done = self.escape() || self.code() || self.strong() || self.emphasis() || self.link();
        if !done {
            self.take_plain();
        }
    }

    fn take_plain(&mut self) {
        let mut chars = self.rest.chars();
        if let Some(c) = chars.next() {
            self.plain.push(c);
            self.last = Some(c);
            self.rest = chars.as_str();
        }
    }

    fn escape(&mut self) -> bool {
        let Some(c) = self.rest.strip_prefix('\\').and_then(|rest| rest.chars().next()) else { return false };
        if c.is_ascii_punctuation() {
            self.rest = &self.rest[1..];
            self.take_plain();
            return true;
        }
        false
    }

    fn code(&mut self) -> bool {
        let ticks = self.rest.bytes().take_while(|byte| *byte == b'`').count();
        if ticks == 0 {
            return false;
        }
        let (mark, after) = self.rest.split_at(ticks);
        let Some(end) = after.find(mark) else {
            // An unfinished one: the marks are text, all of them at once.
            self.plain.push_str(mark);
            self.rest = after;
            return true;
        };
        let whole = &self.rest[..ticks + end + ticks];
        let shown = match self.style {
            Style::Plain => whole,
            Style::Colour => after[..end].trim(),
        };
        self.push(Role::Code, shown);
        self.skip(whole.len());
        true
    }

    fn strong(&mut self) -> bool {
        self.marked("**", Role::Strong)
    }

    fn emphasis(&mut self) -> bool {
        let within_word = self.last.is_some_and(char::is_alphanumeric);
        !within_word && self.marked("*", Role::Strong)
    }

    /// Text between two marks that touch it.
    fn marked(&mut self, mark: &str, role: Role) -> bool {
        let Some(after) = self.rest.strip_prefix(mark) else { return false };
        let Some(end) = after.find(mark) else { return false };
        let inner = &after[..end];
        let touches = !inner.is_empty() && inner.trim() == inner && !inner.starts_with('*');
        if touches {
            self.push(role, inner);
            self.skip(mark.len() * 2 + inner.len());
        }
        touches
    }

    fn link(&mut self) -> bool {
        let Some(after) = self.rest.strip_prefix('[') else { return false };
        let Some((text, after_text)) = after.split_once("](") else { return false };
        let Some((address, _)) = after_text.split_once(')') else { return false };
        if text.contains(['[', ']']) || address.contains(' ') {
            return false;
        }
        if text != address {
            self.push(Role::Plain, &format!("{text} "));
        }
        let shown = if text == address { address.to_owned() } else { format!("({address})") };
        self.push(Role::Code, &shown);
        self.skip("[](".len() + text.len() + address.len() + ")".len());
        true
    }

    fn push(&mut self, role: Role, text: &str) {
        self.flush();
        self.row.push(Span::new(role, text));
    }

    fn skip(&mut self, bytes: usize) {
        let (skipped, rest) = self.rest.split_at(bytes);
        self.last = skipped.chars().next_back();
        self.rest = rest;
    }

    fn flush(&mut self) {
        if !self.plain.is_empty() {
            self.row.push(Span::plain(&std::mem::take(&mut self.plain)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::talk::text::paint;

    fn plain(line: &str) -> String {
        paint(&spans(line, Style::Plain), Style::Plain)
    }

    #[test]
    fn marks_become_roles() {
        let roles = |line| spans(line, Style::Colour).into_iter().map(|span| span.role).collect::<Vec<_>>();
        assert_eq!(
            roles("a **b** `c` *d*"),
            [Role::Plain, Role::Strong, Role::Plain, Role::Code, Role::Plain, Role::Strong]
        );
        assert_eq!(paint(&spans("`a`", Style::Colour), Style::Plain), "a");
    }

    #[test]
    fn without_colour_it_reads_well() {
        assert_eq!(plain("run **this**: `ls -l`"), "run this: `ls -l`");
        assert_eq!(plain("[docs](https://a.b/c) and [x](x)"), "docs (https://a.b/c) and x");
    }

    #[test]
    fn what_is_no_markdown_stays_as_it_is() {
        for line in ["2 * 3 * 4", "a ** b", "f(*args)", "a[0](", "[x] done", "snake_case_name", "`unfinished", "**"] {
            assert_eq!(plain(line), line);
        }
        assert_eq!(plain("\\*not\\*"), "*not*");
    }
}
