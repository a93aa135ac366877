//! Inline Markdown (code, emphasis and links), parsed into spans that a page or a terminal renders in its own way.

/// How far to search for a closing delimiter, so that a text full of delimiters parses in linear time.
const MAX_LOOKAHEAD_BYTES: usize = 4096;

/// Delimiters nested deeper than this are text.
const MAX_DEPTH: usize = 6;

/// A span of a line.
#[derive(Debug, PartialEq, Eq)]
pub enum InlineSpan<'a> {
    /// Plain text.
    Text(String),
    /// Code, with and without its backticks.
    Code {
        /// With the backticks.
        whole: &'a str,
        /// Without them.
        inner: &'a str,
    },
    /// Text between two delimiters, and the spans in it.
    Styled {
        /// The style.
        mark: InlineStyle,
        /// With the delimiters.
        whole: &'a str,
        /// The spans between them.
        inner: Vec<InlineSpan<'a>>,
    },
    /// A link or an image: its text as written and as parsed, and its target.
    Link {
        /// The text as written.
        words: &'a str,
        /// The text as parsed.
        shown: Vec<InlineSpan<'a>>,
        /// The target.
        address: &'a str,
    },
    /// A URL in the text.
    BareUrl(&'a str),
}

/// The style that a delimiter stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InlineStyle {
    /// Strong.
    Strong,
    /// Emphasised.
    Emphasis,
    /// Struck through.
    Strikethrough,
}

const DELIMITERS: [(&str, InlineStyle); 4] = [
    ("**", InlineStyle::Strong),
    ("~~", InlineStyle::Strikethrough),
    ("*", InlineStyle::Emphasis),
    ("_", InlineStyle::Emphasis),
];

/// Parses a line or a paragraph into spans.
pub fn parse_inline(text: &str) -> Vec<InlineSpan<'_>> {
    parse_nested(text, MAX_DEPTH)
}

fn parse_nested(text: &str, depth_left: usize) -> Vec<InlineSpan<'_>> {
    let mut parser = InlineParser { rest: text, last: None, plain: String::new(), spans: Vec::new(), depth_left };
    while !parser.rest.is_empty() {
        parser.step();
    }
    parser.flush();
    parser.spans
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
        let is_taken = is_mark
            && (self.take_escape() || self.take_code() || self.take_styled() || self.take_link() || self.take_url());
        if !is_taken {
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

    fn take_escape(&mut self) -> bool {
        let Some(rest) = self.rest.strip_prefix('\\') else { return false };
        let is_escape = rest.starts_with(|c: char| c.is_ascii_punctuation());
        if is_escape {
            self.rest = rest;
            self.take_plain();
        }
        is_escape
    }

    fn take_code(&mut self) -> bool {
        let ticks = self.rest.bytes().take_while(|byte| *byte == b'`').count();
        if ticks == 0 {
            return false;
        }
        let (mark, after) = self.rest.split_at(ticks);
        match search_window(after).find(mark) {
            Some(end) => {
                let whole = &self.rest[..ticks + end + ticks];
                self.push(InlineSpan::Code { whole, inner: after[..end].trim() }, whole.len());
            }
            // Without a closing delimiter, all the backticks are text.
            None => {
                self.plain.push_str(mark);
                self.skip(ticks);
            }
        }
        true
    }

    /// Text between two delimiters that touch it.
    fn take_styled(&mut self) -> bool {
        let within_word = self.last.is_some_and(char::is_alphanumeric);
        for (mark, style) in DELIMITERS {
            let Some(after) = self.rest.strip_prefix(mark).filter(|_| self.depth_left > 0) else { continue };
            if within_word && mark != "**" {
                return false;
            }
            let Some(end) = search_window(after).find(mark) else { continue };
            let inner = &after[..end];
            let next = after[end + mark.len()..].chars().next();
            // Names such as `snake_case` and `__init__` are not emphasis.
            let in_name = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
            let ends_in_word = mark == "_" && (in_name(next) || in_name(self.last));
            let touches_text = !inner.is_empty() && inner.trim() == inner && !inner.starts_with(['*', '_']);
            if touches_text && !ends_in_word {
                let whole = &self.rest[..mark.len() * 2 + inner.len()];
                let inner = parse_nested(inner, self.depth_left - 1);
                self.push(InlineSpan::Styled { mark: style, whole, inner }, whole.len());
                return true;
            }
        }
        false
    }

    /// A link or an image. Only its text and target are shown; nothing is fetched.
    fn take_link(&mut self) -> bool {
        let (image_mark, after) = match self.rest.strip_prefix("![") {
            Some(after) => ("!", after),
            None => match self.rest.strip_prefix('[') {
                Some(after) => ("", after),
                None => return false,
            },
        };
        let Some((words, after_words)) = search_window(after).split_once("](") else { return false };
        let Some((address, _)) = after_words.split_once(')') else { return false };
        if words.contains(['[', ']']) || address.contains(char::is_whitespace) || self.depth_left == 0 {
            return false;
        }
        let shown = parse_nested(words, self.depth_left - 1);
        let length = image_mark.len() + "[](".len() + words.len() + address.len() + ")".len();
        self.push(InlineSpan::Link { words, shown, address }, length);
        true
    }

    /// A URL in the text.
    fn take_url(&mut self) -> bool {
        let is_url = ["https://", "http://"].iter().any(|scheme| self.rest.starts_with(scheme));
        if !is_url || self.last.is_some_and(char::is_alphanumeric) {
            return false;
        }
        let ends_url = |c: char| c.is_whitespace() || c.is_control() || "<>\"'`|\\^{}()[]*".contains(c);
        let whole = search_window(self.rest);
        let address = &whole[..whole.find(ends_url).unwrap_or(whole.len())];
        let address = address.trim_end_matches(['.', ',', ';', ':', '!', '?', '_', '~']);
        self.push(InlineSpan::BareUrl(address), address.len());
        true
    }

    fn push(&mut self, span: InlineSpan<'a>, bytes: usize) {
        self.flush();
        self.spans.push(span);
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

/// The start of a text, in which a closing delimiter is searched for.
fn search_window(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_LOOKAHEAD_BYTES)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_delimiters_become_nested_spans() {
        let text = |text: &str| InlineSpan::Text(text.into());
        let code = InlineSpan::Code { whole: "`b`", inner: "b" };
        let strong =
            InlineSpan::Styled { mark: InlineStyle::Strong, whole: "**a `b`**", inner: vec![text("a "), code] };
        assert_eq!(parse_inline("**a `b`** c"), [strong, text(" c")]);
        let link = InlineSpan::Link { words: "w", shown: vec![text("w")], address: "x" };
        assert_eq!(parse_inline("![w](x)"), [link]);
        assert_eq!(parse_inline("see https://a.b/c."), [text("see "), InlineSpan::BareUrl("https://a.b/c"), text(".")]);
    }
}
