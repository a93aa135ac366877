//! Markdown within a line: code, weight and links, as pieces that a page or a terminal shows in its own way.

/// How far the end of a mark is looked for: a text of marks alone takes no longer than one of words.
const MAX_LOOKAHEAD: usize = 4096;

/// Marks deeper than this within each other are text.
const MAX_DEPTH: usize = 6;

/// A piece of a line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum InlineSpan<'a> {
    /// Words.
    Text(String),
    /// Code, with its marks and without.
    Code { whole: &'a str, inner: &'a str },
    /// What stands between two marks, and what is in it.
    Styled { mark: InlineStyle, whole: &'a str, inner: Vec<InlineSpan<'a>> },
    /// A link or a picture: its words as they are written and as they are meant, and where it leads.
    Link { words: &'a str, shown: Vec<InlineSpan<'a>>, address: &'a str },
    /// An address that stands in the text.
    BareUrl(&'a str),
}

/// A mark around words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InlineStyle {
    Strong,
    Emphasis,
    Strikethrough,
}

const DELIMITERS: [(&str, InlineStyle); 4] = [
    ("**", InlineStyle::Strong),
    ("~~", InlineStyle::Strikethrough),
    ("*", InlineStyle::Emphasis),
    ("_", InlineStyle::Emphasis),
];

/// The pieces of a line or a paragraph.
pub(crate) fn parse_inline(words: &str) -> Vec<InlineSpan<'_>> {
    parse_nested(words, MAX_DEPTH)
}

fn parse_nested(words: &str, deep: usize) -> Vec<InlineSpan<'_>> {
    let mut reader =
        InlineParser { rest: words, last: None, plain: String::new(), spans: Vec::new(), depth_left: deep };
    while !reader.rest.is_empty() {
        reader.step();
    }
    reader.flush();
    reader.spans
}

struct InlineParser<'a> {
    rest: &'a str,
    /// The character before the rest.
    last: Option<char>,
    plain: String,
    spans: Vec<InlineSpan<'a>>,
    depth_left: usize,
}

impl<'a> InlineParser<'a> {
    fn step(&mut self) {
        let is_mark = self.rest.starts_with(['\\', '`', '*', '_', '~', '[', '!', 'h']);
        let done = is_mark && (self.escape() || self.code() || self.styled() || self.link() || self.address());
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
                let whole = &self.rest[..ticks + end + ticks];
                self.push(InlineSpan::Code { whole, inner: after[..end].trim() }, whole.len());
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
    fn styled(&mut self) -> bool {
        let within_word = self.last.is_some_and(char::is_alphanumeric);
        for (mark, meaning) in DELIMITERS {
            let Some(after) = self.rest.strip_prefix(mark).filter(|_| self.depth_left > 0) else { continue };
            if within_word && mark != "**" {
                return false;
            }
            let Some(end) = window(after).find(mark) else { continue };
            let inner = &after[..end];
            let next = after[end + mark.len()..].chars().next();
            // Names such as `snake_case` and `__init__` are no marks.
            let in_name = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
            let ends_in_word = mark == "_" && (in_name(next) || in_name(self.last));
            let touches = !inner.is_empty() && inner.trim() == inner && !inner.starts_with(['*', '_']);
            if touches && !ends_in_word {
                let whole = &self.rest[..mark.len() * 2 + inner.len()];
                let inner = parse_nested(inner, self.depth_left - 1);
                self.push(InlineSpan::Styled { mark: meaning, whole, inner }, whole.len());
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
        if words.contains(['[', ']']) || address.contains(char::is_whitespace) || self.depth_left == 0 {
            return false;
        }
        let shown = parse_nested(words, self.depth_left - 1);
        let length = bang.len() + "[](".len() + words.len() + address.len() + ")".len();
        self.push(InlineSpan::Link { words, shown, address }, length);
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
        let address = &whole[..whole.find(ends).unwrap_or(whole.len())];
        let address = address.trim_end_matches(['.', ',', ';', ':', '!', '?', '_', '~']);
        self.push(InlineSpan::BareUrl(address), address.len());
        true
    }

    fn push(&mut self, piece: InlineSpan<'a>, bytes: usize) {
        self.flush();
        self.spans.push(piece);
        self.skip(bytes);
    }

    fn skip(&mut self, bytes: usize) {
        let (skipped, rest) = self.rest.split_at(bytes);
        self.last = skipped.chars().next_back();
        self.rest = rest;
    }

    fn flush(&mut self) {
        if !self.plain.is_empty() {
            self.spans.push(InlineSpan::Text(std::mem::take(&mut self.plain)));
        }
    }
}

/// The beginning of a text, in which the end of a mark is looked for.
fn window(words: &str) -> &str {
    &words[..words.floor_char_boundary(MAX_LOOKAHEAD)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_within_marks_are_pieces_of_pieces() {
        let text = |words: &str| InlineSpan::Text(words.into());
        let code = InlineSpan::Code { whole: "`b`", inner: "b" };
        let strong =
            InlineSpan::Styled { mark: InlineStyle::Strong, whole: "**a `b`**", inner: vec![text("a "), code] };
        assert_eq!(parse_inline("**a `b`** c"), [strong, text(" c")]);
        let link = InlineSpan::Link { words: "w", shown: vec![text("w")], address: "x" };
        assert_eq!(parse_inline("![w](x)"), [link]);
        assert_eq!(parse_inline("see https://a.b/c."), [text("see "), InlineSpan::BareUrl("https://a.b/c"), text(".")]);
    }
}
