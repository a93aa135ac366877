//! Converts HTML to Markdown in one pass over the tokens.

use url::Url;

use super::element::HtmlElement;
use super::entities::decode;
use super::inline_marks::InlineMarks;
use super::tables::{self, TableState};
use super::tags::HtmlTag;
use super::tokens::{HtmlToken, HtmlTokens};
use super::writer::{BlockEnd, MarkdownWriter, WordGap};
use crate::text::is_visible;

/// Maximum characters of a title.
const MAX_TITLE_CHARS: usize = 300;

/// Maximum bytes of a link's address.
const MAX_ADDRESS_BYTES: usize = 2048;

/// Maximum characters of an image's description.
const MAX_ALT_CHARS: usize = 500;

/// A page as Markdown.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct MarkdownPage {
    pub(super) title: Option<String>,
    pub(super) text: String,
}

/// Converts a page to Markdown. Relative links are resolved against `base`.
pub(super) fn markdown(html: &str, base: Option<Url>) -> MarkdownPage {
    let mut converter =
        MarkdownConverter { base, tables: tables::visible_tables(html).into_iter(), ..MarkdownConverter::default() };
    for token in HtmlTokens::new(html) {
        if converter.writer.is_full() {
            break;
        }
        converter.convert_token(token);
    }
    converter.end_pre();
    converter.end_inline();
    MarkdownPage { title: converter.title.filter(|title| !title.is_empty()), text: converter.writer.finish() }
}

/// The conversion of a page.
#[derive(Debug, Default)]
pub(super) struct MarkdownConverter {
    pub(super) writer: MarkdownWriter,
    title: Option<String>,
    base: Option<Url>,
    /// The nesting depth of hidden elements.
    hidden: usize,
    pub(super) marks: InlineMarks,
    /// Whether each of the following tables is shown as a table.
    tables: std::vec::IntoIter<bool>,
    /// Whether the last table is shown as a table.
    pub(super) shows_table: bool,
    pub(super) grid: Option<TableState>,
}

impl MarkdownConverter {
    fn convert_token(&mut self, token: HtmlToken<'_>) {
        if let HtmlToken::Open(tag) = token
            && tag.element == HtmlElement::Table
        {
            self.shows_table = self.tables.next().unwrap_or(false);
        }
        match token {
            HtmlToken::Open(tag) if tag.element == HtmlElement::Hidden => self.hidden += usize::from(!tag.is_closed()),
            HtmlToken::Close(HtmlElement::Hidden) => self.hidden = self.hidden.saturating_sub(1),
            _ if self.hidden > 0 => {}
            HtmlToken::Text(text) => self.convert_text(&decode(text)),
            HtmlToken::Title(text) => {
                self.title.get_or_insert_with(|| one_line(&decode(text), MAX_TITLE_CHARS));
            }
            HtmlToken::Open(tag) if self.is_in_pre() => self.open_in_pre(&tag),
            HtmlToken::Open(tag) => self.open(&tag),
            HtmlToken::Close(HtmlElement::Pre) => self.end_pre(),
            HtmlToken::Close(_) if self.is_in_pre() => {}
            HtmlToken::Close(element) => self.close(element),
        }
    }

    fn convert_text(&mut self, text: &str) {
        if self.is_in_pre() {
            return self.verbatim(text);
        }
        let words = text.trim_start();
        if words.len() < text.len() {
            self.writer.gap(WordGap::Space);
        }
        if words.is_empty() {
            return;
        }
        self.begin_inline();
        if self.is_in_cell() {
            self.writer.write_words(&words.replace('|', "\\|"));
        } else {
            self.writer.write_words(words);
        }
    }

    fn open(&mut self, tag: &HtmlTag<'_>) {
        match tag.element {
            HtmlElement::Table => self.open_table(),
            HtmlElement::Row => self.end_row(),
            HtmlElement::Cell => self.open_cell(),
            HtmlElement::Link => {
                let address = tag.attribute("href").filter(|href| !href.trim().starts_with('#'));
                self.open_link(address.and_then(|href| self.resolve_link(&href)));
            }
            HtmlElement::Code => self.open_code(),
            HtmlElement::Image => {
                let alt = one_line(&tag.attribute("alt").unwrap_or_default(), MAX_ALT_CHARS);
                if !alt.is_empty() {
                    self.convert_text(&format!("[image: {alt}]"));
                }
            }
            HtmlElement::Base => {
                let base = tag.attribute("href").and_then(|href| self.resolve_link(&href));
                self.base = base.or_else(|| self.base.take());
            }
            element if self.is_in_cell() => self.space_in_cell(element),
            HtmlElement::Heading(level) => {
                self.gap(WordGap::EmptyLine);
                self.writer.lead(["# ", "## ", "### ", "#### ", "##### ", "###### "][level.clamp(1, 6) - 1]);
            }
            HtmlElement::List(numbers) => {
                self.gap(WordGap::Line);
                let first = tag.attribute("start").and_then(|start| start.trim().parse().ok()).unwrap_or(1);
                self.writer.open_list(numbers, first);
            }
            HtmlElement::Item => {
                self.end_inline();
                self.writer.open_item();
            }
            HtmlElement::Quote => {
                self.gap(WordGap::EmptyLine);
                self.writer.open_quote();
            }
            HtmlElement::Pre => {
                self.gap(WordGap::EmptyLine);
                self.open_pre(tag);
            }
            HtmlElement::Rule => {
                self.gap(WordGap::EmptyLine);
                self.writer.write_mark("---");
                self.gap(WordGap::EmptyLine);
            }
            HtmlElement::Apart => self.gap(WordGap::EmptyLine),
            HtmlElement::Block | HtmlElement::Break => self.gap(WordGap::Line),
            HtmlElement::Meta | HtmlElement::Title | HtmlElement::Raw | HtmlElement::Hidden | HtmlElement::Inline => {}
        }
    }

    fn close(&mut self, element: HtmlElement) {
        match element {
            HtmlElement::Table => self.close_table(),
            HtmlElement::Row => self.end_row(),
            HtmlElement::Cell => self.close_cell(),
            HtmlElement::Link => self.end_link(),
            HtmlElement::Code => self.close_code(),
            element if self.is_in_cell() => self.space_in_cell(element),
            HtmlElement::Heading(_) => {
                self.gap(WordGap::EmptyLine);
                self.writer.lead("");
            }
            HtmlElement::List(_) => {
                self.gap(WordGap::Line);
                self.writer.close(BlockEnd::List);
                self.gap(if self.writer.is_in_item() { WordGap::Line } else { WordGap::EmptyLine });
            }
            HtmlElement::Item => {
                self.end_inline();
                self.writer.close_item();
                self.gap(WordGap::Line);
            }
            HtmlElement::Quote => {
                self.end_inline();
                self.writer.close(BlockEnd::Quote);
                self.gap(WordGap::EmptyLine);
            }
            HtmlElement::Apart => self.gap(WordGap::EmptyLine),
            HtmlElement::Block | HtmlElement::Break => self.gap(WordGap::Line),
            HtmlElement::Pre
            | HtmlElement::Rule
            | HtmlElement::Image
            | HtmlElement::Base
            | HtmlElement::Meta
            | HtmlElement::Title
            | HtmlElement::Raw
            | HtmlElement::Hidden
            | HtmlElement::Inline => {}
        }
    }

    /// Ends the marks that cannot continue on the next line, and requests a gap.
    pub(super) fn gap(&mut self, gap: WordGap) {
        self.end_inline();
        self.writer.gap(gap);
    }

    fn resolve_link(&self, href: &str) -> Option<Url> {
        let url = match &self.base {
            Some(base) => base.join(href.trim()).ok()?,
            None => Url::parse(href.trim()).ok()?,
        };
        (matches!(url.scheme(), "http" | "https" | "mailto") && url.as_str().len() <= MAX_ADDRESS_BYTES).then_some(url)
    }
}

/// The text in one line, cut to `max_chars` characters.
fn one_line(text: &str, max_chars: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().filter(|&letter| is_visible(letter)).take(max_chars).collect()
}
