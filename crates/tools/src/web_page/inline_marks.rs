//! Marks for links, code and verbatim text. A mark is written together with its first word, so that empty elements
//! leave no mark, and ends with its line.

use url::Url;

use super::element::HtmlElement;
use super::markdown::MarkdownConverter;
use super::tags::HtmlTag;
use super::writer::WordGap;

/// Maximum length of a language's name.
const MAX_LANGUAGE_BYTES: usize = 20;

/// The marks of the following text.
#[derive(Debug, Default)]
pub(super) struct InlineMarks {
    link: Option<LinkMark>,
    code: CodeMark,
    pre: Option<PreMark>,
}

#[derive(Debug)]
struct LinkMark {
    address: String,
    /// Whether its first word has been written.
    is_open: bool,
}

#[derive(Debug, Default)]
struct CodeMark {
    depth: usize,
    /// Whether its first word has been written.
    is_open: bool,
}

#[derive(Debug)]
struct PreMark {
    language: String,
    /// Whether its fence has been written.
    is_open: bool,
}

impl MarkdownConverter {
    pub(super) fn open_link(&mut self, address: Option<Url>) {
        self.end_link();
        self.marks.link = address.map(|address| LinkMark { address: address.into(), is_open: false });
    }

    pub(super) fn end_link(&mut self) {
        if let Some(LinkMark { address, is_open: true }) = self.marks.link.take() {
            self.writer.write_attached(&format!("]({address})"));
        }
    }

    pub(super) fn open_code(&mut self) {
        self.marks.code.depth += 1;
    }

    pub(super) fn close_code(&mut self) {
        self.marks.code.depth = self.marks.code.depth.saturating_sub(1);
        if self.marks.code.depth == 0 {
            self.end_code();
        }
    }

    /// Writes the pending marks before a word.
    pub(super) fn begin_inline(&mut self) {
        if let Some(link @ LinkMark { is_open: false, .. }) = &mut self.marks.link {
            link.is_open = true;
            self.writer.write_mark("[");
        }
        if let code @ CodeMark { depth: 1.., is_open: false } = &mut self.marks.code {
            code.is_open = true;
            self.writer.write_mark("`");
        }
    }

    /// Ends the marks that cannot continue on the next line.
    pub(super) fn end_inline(&mut self) {
        self.end_code();
        if matches!(self.marks.link, Some(LinkMark { is_open: true, .. })) {
            self.end_link();
        }
    }

    pub(super) fn is_in_pre(&self) -> bool {
        self.marks.pre.is_some()
    }

    pub(super) fn open_pre(&mut self, tag: &HtmlTag<'_>) {
        self.marks.pre = Some(PreMark { language: language(tag), is_open: false });
    }

    /// Tags within verbatim text have no effect, except line breaks and the name of the language.
    pub(super) fn open_in_pre(&mut self, tag: &HtmlTag<'_>) {
        match (tag.element, &mut self.marks.pre) {
            (HtmlElement::Break, _) => self.verbatim("\n"),
            (HtmlElement::Code, Some(pre)) if pre.language.is_empty() => pre.language = language(tag),
            _ => {}
        }
    }

    pub(super) fn verbatim(&mut self, text: &str) {
        let Some(pre) = &mut self.marks.pre else { return };
        if pre.is_open {
            return self.writer.verbatim(text);
        }
        if !text.trim().is_empty() {
            pre.is_open = true;
            self.writer.write_mark(&format!("```{}", pre.language));
            self.writer.gap(WordGap::Line);
            let first = text.strip_prefix("\r\n").or_else(|| text.strip_prefix('\n'));
            self.writer.verbatim(first.unwrap_or(text));
        }
    }

    pub(super) fn end_pre(&mut self) {
        if let Some(PreMark { is_open: true, .. }) = self.marks.pre.take() {
            self.writer.end_verbatim();
            self.writer.gap(WordGap::Line);
            self.writer.write_mark("```");
            self.writer.gap(WordGap::EmptyLine);
        }
    }

    fn end_code(&mut self) {
        if std::mem::take(&mut self.marks.code.is_open) {
            self.writer.write_attached("`");
        }
    }
}

/// The language named by the class of a block.
fn language(tag: &HtmlTag<'_>) -> String {
    let class = tag.attribute("class").unwrap_or_default();
    let named = class.split_whitespace().find_map(|class| {
        ["language-", "lang-", "highlight-source-"].iter().find_map(|start| class.strip_prefix(start))
    });
    let is_plain = |name: &&str| {
        name.len() <= MAX_LANGUAGE_BYTES
            && name.chars().all(|letter| letter.is_ascii_alphanumeric() || "+#-".contains(letter))
    };
    named.filter(is_plain).unwrap_or_default().to_owned()
}
