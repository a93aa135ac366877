//! From HTML to Markdown, one token after the other. Nothing is looked at again once it is written.

use url::Url;

use super::element::Element;
use super::entities::decode;
use super::marks::Marks;
use super::tables::{self, Grid};
use super::tags::Tag;
use super::tokens::{Token, Tokens};
use super::writer::{Close, Gap, Writer};
use crate::text::is_shown;

/// Most letters of a title.
const TITLE: usize = 300;

/// Most bytes of the address of a link.
const ADDRESS: usize = 2048;

/// Most letters of what a picture shows.
const ALT: usize = 500;

/// A page as Markdown.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Document {
    pub(super) title: Option<String>,
    pub(super) text: String,
}

/// Makes a page Markdown. Links are made absolute from `base`.
pub(super) fn markdown(html: &str, base: Option<Url>) -> Document {
    let mut page = Converter { base, tables: tables::shown(html).into_iter(), ..Converter::default() };
    for token in Tokens::new(html) {
        if page.writer.is_full() {
            break;
        }
        page.read(token);
    }
    page.end_pre();
    page.end_inline();
    Document { title: page.title.filter(|title| !title.is_empty()), text: page.writer.finish() }
}

/// A page on its way to Markdown.
#[derive(Debug, Default)]
pub(super) struct Converter {
    pub(super) writer: Writer,
    title: Option<String>,
    base: Option<Url>,
    /// How deep it is in what is not for reading.
    hidden: usize,
    pub(super) marks: Marks,
    /// Whether each of the tables to come is to be shown as such.
    tables: std::vec::IntoIter<bool>,
    /// Whether the last one is.
    pub(super) is_table: bool,
    pub(super) grid: Option<Grid>,
}

impl Converter {
    fn read(&mut self, token: Token<'_>) {
        if let Token::Open(tag) = token
            && tag.element == Element::Table
        {
            self.is_table = self.tables.next().unwrap_or(false);
        }
        match token {
            Token::Open(tag) if tag.element == Element::Hidden => self.hidden += usize::from(!tag.is_closed()),
            Token::Close(Element::Hidden) => self.hidden = self.hidden.saturating_sub(1),
            _ if self.hidden > 0 => {}
            Token::Text(text) => self.text(&decode(text)),
            Token::Title(text) => {
                self.title.get_or_insert_with(|| one_line(&decode(text), TITLE));
            }
            Token::Open(tag) if self.is_in_pre() => self.open_in_pre(&tag),
            Token::Open(tag) => self.open(&tag),
            Token::Close(Element::Pre) => self.end_pre(),
            Token::Close(_) if self.is_in_pre() => {}
            Token::Close(element) => self.close(element),
        }
    }

    fn text(&mut self, text: &str) {
        if self.is_in_pre() {
            return self.verbatim(text);
        }
        let words = text.trim_start();
        if words.len() < text.len() {
            self.writer.gap(Gap::Space);
        }
        if words.is_empty() {
            return;
        }
        self.begin_inline();
        if self.is_in_cell() {
            self.writer.words(&words.replace('|', "\\|"));
        } else {
            self.writer.words(words);
        }
    }

    fn open(&mut self, tag: &Tag<'_>) {
        match tag.element {
            Element::Table => self.open_table(),
            Element::Row => self.end_row(),
            Element::Cell => self.open_cell(),
            Element::Link => {
                let address = tag.attribute("href").filter(|href| !href.trim().starts_with('#'));
                self.open_link(address.and_then(|href| self.absolute(&href)));
            }
            Element::Code => self.open_code(),
            Element::Image => {
                let alt = one_line(&tag.attribute("alt").unwrap_or_default(), ALT);
                if !alt.is_empty() {
                    self.text(&format!("[image: {alt}]"));
                }
            }
            Element::Base => {
                let base = tag.attribute("href").and_then(|href| self.absolute(&href));
                self.base = base.or_else(|| self.base.take());
            }
            element if self.is_in_cell() => self.space_in_cell(element),
            Element::Heading(level) => {
                self.gap(Gap::Apart);
                self.writer.lead(["# ", "## ", "### ", "#### ", "##### ", "###### "][level.clamp(1, 6) - 1]);
            }
            Element::List(numbers) => {
                self.gap(Gap::Line);
                let first = tag.attribute("start").and_then(|start| start.trim().parse().ok()).unwrap_or(1);
                self.writer.open_list(numbers, first);
            }
            Element::Item => {
                self.end_inline();
                self.writer.open_item();
            }
            Element::Quote => {
                self.gap(Gap::Apart);
                self.writer.open_quote();
            }
            Element::Pre => {
                self.gap(Gap::Apart);
                self.open_pre(tag);
            }
            Element::Rule => {
                self.gap(Gap::Apart);
                self.writer.mark("---");
                self.gap(Gap::Apart);
            }
            Element::Apart => self.gap(Gap::Apart),
            Element::Block | Element::Break => self.gap(Gap::Line),
            Element::Meta | Element::Title | Element::Raw | Element::Hidden | Element::Inline => {}
        }
    }

    fn close(&mut self, element: Element) {
        match element {
            Element::Table => self.close_table(),
            Element::Row => self.end_row(),
            Element::Cell => self.close_cell(),
            Element::Link => self.end_link(),
            Element::Code => self.close_code(),
            element if self.is_in_cell() => self.space_in_cell(element),
            Element::Heading(_) => {
                self.gap(Gap::Apart);
                self.writer.lead("");
            }
            Element::List(_) => {
                self.gap(Gap::Line);
                self.writer.close(Close::List);
                self.gap(if self.writer.is_in_item() { Gap::Line } else { Gap::Apart });
            }
            Element::Item => {
                self.end_inline();
                self.writer.close_item();
                self.gap(Gap::Line);
            }
            Element::Quote => {
                self.end_inline();
                self.writer.close(Close::Quote);
                self.gap(Gap::Apart);
            }
            Element::Apart => self.gap(Gap::Apart),
            Element::Block | Element::Break => self.gap(Gap::Line),
            Element::Pre
            | Element::Rule
            | Element::Image
            | Element::Base
            | Element::Meta
            | Element::Title
            | Element::Raw
            | Element::Hidden
            | Element::Inline => {}
        }
    }

    /// Ends what cannot go on in the next line, and asks for one.
    pub(super) fn gap(&mut self, gap: Gap) {
        self.end_inline();
        self.writer.gap(gap);
    }

    fn absolute(&self, href: &str) -> Option<Url> {
        let url = match &self.base {
            Some(base) => base.join(href.trim()).ok()?,
            None => Url::parse(href.trim()).ok()?,
        };
        (matches!(url.scheme(), "http" | "https" | "mailto") && url.as_str().len() <= ADDRESS).then_some(url)
    }
}

/// The text in one line, cut to so many letters.
fn one_line(text: &str, most: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().filter(|&letter| is_shown(letter)).take(most).collect()
}
