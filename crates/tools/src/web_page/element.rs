//! What an element of a page means for its text.

/// What an element means for the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HtmlElement {
    /// A heading of this level.
    Heading(usize),
    /// A block with room around it.
    Apart,
    /// A block on lines of its own.
    Block,
    /// The end of a line.
    Break,
    /// A line across.
    Rule,
    /// A list with or without numbers.
    List(ListNumbering),
    /// An item of a list.
    Item,
    /// What somebody else said.
    Quote,
    /// Text whose white space counts.
    Pre,
    /// Text for machines, within a line.
    Code,
    /// A link.
    Link,
    /// A picture.
    Image,
    /// A table.
    Table,
    /// A row of a table.
    Row,
    /// A cell of a row.
    Cell,
    /// Where relative links begin.
    Base,
    /// What a page says of itself.
    Meta,
    /// The page's title, which holds text only.
    Title,
    /// What holds text that is not for reading.
    Raw,
    /// What is not for reading, with everything inside of it.
    Hidden,
    /// What means nothing for the text.
    Inline,
}

/// Whether the items of a list are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ListNumbering {
    /// They are.
    Numbered,
    /// They are not.
    Bulleted,
}

/// Longest name of an element that means anything.
const MAX_NAME_LENGTH: usize = 10;

impl HtmlElement {
    /// The element of this name, in whichever case.
    pub(super) fn named(name: &str) -> HtmlElement {
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
