//! HTML elements, by their effect on a page's text.

/// The effect of an element on the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HtmlElement {
    /// A heading of this level.
    Heading(usize),
    /// A block with empty lines around it.
    Apart,
    /// A block on its own lines.
    Block,
    /// A line break.
    Break,
    /// A horizontal rule.
    Rule,
    /// A list, numbered or not.
    List(ListNumbering),
    /// An item of a list.
    Item,
    /// A quotation.
    Quote,
    /// Preformatted text.
    Pre,
    /// Code within a line.
    Code,
    /// A link.
    Link,
    /// An image.
    Image,
    /// A table.
    Table,
    /// A row of a table.
    Row,
    /// A cell of a row.
    Cell,
    /// The base of relative links.
    Base,
    /// Metadata.
    Meta,
    /// The page's title, which holds text only.
    Title,
    /// Raw text that is not for reading.
    Raw,
    /// Not for reading, with all its content.
    Hidden,
    /// No effect on the text.
    Inline,
}

/// Whether the items of a list are numbered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ListNumbering {
    /// Numbered.
    Numbered,
    /// Not numbered.
    Bulleted,
}

/// Maximum length of a known element's name.
const MAX_NAME_LENGTH: usize = 10;

impl HtmlElement {
    /// The element of this name, in any case.
    pub(super) fn from_name(name: &str) -> HtmlElement {
        if name.len() > MAX_NAME_LENGTH {
            return HtmlElement::Inline;
        }
        match name.to_ascii_lowercase().as_str() {
            "h1" => HtmlElement::Heading(1),
            "h2" => HtmlElement::Heading(2),
            "h3" => HtmlElement::Heading(3),
            "h4" => HtmlElement::Heading(4),
            "h5" => HtmlElement::Heading(5),
            "h6" => HtmlElement::Heading(6),
            "p" | "section" | "article" | "main" | "header" | "footer" | "nav" | "aside" | "figure" | "form" | "dl"
            | "fieldset" | "details" | "address" | "body" | "caption" => HtmlElement::Apart,
            "div" | "dt" | "dd" | "figcaption" | "summary" | "legend" | "option" | "center" => HtmlElement::Block,
            "br" => HtmlElement::Break,
            "hr" => HtmlElement::Rule,
            "ul" | "menu" => HtmlElement::List(ListNumbering::Bulleted),
            "ol" => HtmlElement::List(ListNumbering::Numbered),
            "li" => HtmlElement::Item,
            "blockquote" => HtmlElement::Quote,
            "pre" | "listing" => HtmlElement::Pre,
            "code" | "kbd" | "samp" | "tt" => HtmlElement::Code,
            "a" => HtmlElement::Link,
            "img" => HtmlElement::Image,
            "table" => HtmlElement::Table,
            "tr" => HtmlElement::Row,
            "td" | "th" => HtmlElement::Cell,
            "base" => HtmlElement::Base,
            "meta" => HtmlElement::Meta,
            "title" => HtmlElement::Title,
            "script" | "style" | "noscript" | "iframe" | "textarea" | "xmp" | "noembed" | "noframes" => {
                HtmlElement::Raw
            }
            "svg" | "template" => HtmlElement::Hidden,
            _ => HtmlElement::Inline,
        }
    }
}
