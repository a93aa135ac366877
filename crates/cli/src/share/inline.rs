//! Markdown within a line, as HTML: code, weight and links. Every word is escaped, and a link leads only to the web or to
//! a mailbox.

use super::escape::text;

/// How far the end of a mark is looked for: a text of marks alone takes no longer than one of words.
const WINDOW: usize = 4096;

/// Marks deeper than this within each other are text.
const DEEP: usize = 6;

/// The HTML of a line or a paragraph.
pub(super) fn html(words: &str) -> String {
    spans(words, DEEP)
}

fn spans(words: &str, deep: usize) -> String {
    let mut reader = Reader { rest: words, last: None, plain: String::new(), html: String::new(), deep };
    while !reader.rest.is_empty() {
        reader.step();
    }
    reader.flush();
    reader.html
}

struct Reader<'a> {
    rest: &'a str,
    /// The character before the rest.
    last: Option<char>,
    plain: String,
    html: String,
    deep: usize,
}

impl Reader<'_> {
    fn step(&mut self) {
        let is_mark = self.rest.starts_with(['\\', '`', '*', '_', '~', '[', '!', 'h']);
        let done = is_mark && (self.escape() || self.code() || self.marked() || self.link() || self.address());
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
        let Some(rest) = self.rest.strip_prefix('\\') else { return false };
        let is_one = rest.starts_with(|c: char| c.is_ascii_punctuation());
        if is_one {
            self.rest = rest;
            self.take_plain();
        }
        is_one
    }

    fn code(&mut self) -> bool {
        let ticks = self.rest.bytes().take_while(|byte| *byte == b'`').count();
        if ticks == 0 {
            return false;
        }
        let (mark, after) = self.rest.split_at(ticks);
        match window(after).find(mark) {
            Some(end) => {
                let inner = after.get(..end).unwrap_or_default().trim();
                self.push(&format!("<code>{}</code>", text(inner)), ticks + end + ticks);
            }
            // An unfinished one: the marks are text, all of them at once.
            None => {
                self.plain.push_str(mark);
                self.skip(ticks);
            }
        }
        true
    }

    /// Text between two marks that touch it.
    fn marked(&mut self) -> bool {
        const MARKS: [(&str, &str); 4] = [("**", "strong"), ("~~", "del"), ("*", "em"), ("_", "em")];
        let within_word = self.last.is_some_and(char::is_alphanumeric);
        for (mark, tag) in MARKS {
            let Some(after) = self.rest.strip_prefix(mark).filter(|_| self.deep > 0) else { continue };
            if within_word && mark != "**" {
                return false;
            }
            let Some(end) = window(after).find(mark) else { continue };
            let inner = after.get(..end).unwrap_or_default();
            let next = after.get(end + mark.len()..).and_then(|rest| rest.chars().next());
            // Names such as `snake_case` and `__init__` are no marks.
            let in_name = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
            let ends_in_word = mark == "_" && (in_name(next) || in_name(self.last));
            let touches = !inner.is_empty() && inner.trim() == inner && !inner.starts_with(['*', '_']);
            if touches && !ends_in_word {
                let html = format!("<{tag}>{}</{tag}>", spans(inner, self.deep - 1));
                self.push(&html, mark.len() * 2 + inner.len());
                return true;
            }
        }
        false
    }

    /// A link, or a picture, of which only the words and the place are shown: nothing is fetched.
    fn link(&mut self) -> bool {
        let (bang, after) = match self.rest.strip_prefix("![") {
            Some(after) => ("!", after),
            None => match self.rest.strip_prefix('[') {
                Some(after) => ("", after),
                None => return false,
            },
        };
        let Some((words, after_words)) = window(after).split_once("](") else { return false };
        let Some((address, _)) = after_words.split_once(')') else { return false };
        if words.contains(['[', ']']) || address.contains(char::is_whitespace) || self.deep == 0 {
            return false;
        }
        let shown = spans(words, self.deep - 1);
        let html = match is_safe(address) {
            true => anchor(address, &shown),
            false => format!("{shown} ({})", text(address)),
        };
        let length = bang.len() + "[](".len() + words.len() + address.len() + ")".len();
        self.push(&html, length);
        true
    }

    /// An address that stands in the text.
    fn address(&mut self) -> bool {
        let begins = ["https://", "http://"].iter().any(|scheme| self.rest.starts_with(scheme));
        if !begins || self.last.is_some_and(char::is_alphanumeric) {
            return false;
        }
        let ends = |c: char| c.is_whitespace() || c.is_control() || "<>\"'`|\\^{}()[]*".contains(c);
        let whole = window(self.rest);
        let address = whole.get(..whole.find(ends).unwrap_or(whole.len())).unwrap_or_default();
        let address = address.trim_end_matches(['.', ',', ';', ':', '!', '?', '_', '~']);
        let html = anchor(address, &text(address));
        self.push(&html, address.len());
        true
    }

    fn push(&mut self, html: &str, bytes: usize) {
        self.flush();
        self.html.push_str(html);
        self.skip(bytes);
    }

    fn skip(&mut self, bytes: usize) {
        let (skipped, rest) = self.rest.split_at(bytes);
        self.last = skipped.chars().next_back();
        self.rest = rest;
    }

    fn flush(&mut self) {
        self.html.push_str(&text(&std::mem::take(&mut self.plain)));
    }
}

/// The beginning of a text, in which the end of a mark is looked for.
fn window(words: &str) -> &str {
    let mut end = words.len().min(WINDOW);
    while !words.is_char_boundary(end) {
        end -= 1;
    }
    words.get(..end).unwrap_or(words)
}

/// Whether a link may lead there.
fn is_safe(address: &str) -> bool {
    let lower = address.to_ascii_lowercase();
    ["https://", "http://", "mailto:"].iter().any(|scheme| lower.starts_with(scheme))
        && !address.contains(|c: char| c.is_control())
}

fn anchor(address: &str, shown: &str) -> String {
    format!("<a href=\"{}\" rel=\"noopener noreferrer nofollow\">{shown}</a>", text(address))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_become_tags_and_what_is_no_markdown_stays_as_it_is() {
        assert_eq!(html("a **b** `c<d` *e* ~~f~~"), "a <strong>b</strong> <code>c&lt;d</code> <em>e</em> <del>f</del>");
        for line in
            ["2 * 3 * 4", "f(*args)", "a[0](", "[x] done", "snake_case_name", "`unfinished", "**", "__init__.py"]
        {
            assert_eq!(html(line), line);
        }
        assert_eq!(html("\\*not\\*"), "*not*");
    }

    #[test]
    fn links_lead_to_the_web_only() {
        let to = |address: &str| format!("<a href=\"{address}\" rel=\"noopener noreferrer nofollow\">");
        assert_eq!(html("[docs](https://a.b/c?d=1&e)"), format!("{}docs</a>", to("https://a.b/c?d=1&amp;e")));
        assert_eq!(html("see https://a.b/c."), format!("see {}https://a.b/c</a>.", to("https://a.b/c")));
        for hostile in [
            "[x](javascript:alert(1))",
            "[x](JAVASCRIPT:alert)",
            "[x](data:text/html,y)",
            "[x](/local)",
            "![x](file:///etc/passwd)",
        ] {
            let shown = html(hostile);
            assert!(!shown.contains("<a ") && !shown.contains("<img"), "{shown}");
        }
        let quoted = html("[x](https://a\"onclick=\"y)");
        assert!(quoted.contains("https://a&quot;onclick=&quot;y"), "{quoted}");
        let broken = html("[x](https://a\" onclick=\"y)");
        assert!(broken.contains("&quot; onclick=&quot;y") && broken.contains("href=\"https://a\""), "{broken}");
    }

    #[test]
    fn a_text_of_marks_alone_does_not_take_long() {
        let shown = html(&"[*_`~~![".repeat(50_000));
        assert!(shown.len() >= 50_000);
    }
}
