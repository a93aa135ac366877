//! What an element of a page means for its text.

/// What an element means for the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Element {
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
    List(Numbers),
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
pub(super) enum Numbers {
    /// They are.
    Counted,
    /// They are not.
    Plain,
}

/// Longest name of an element that means anything.
const LONGEST: usize = 10;

impl Element {
    /// The element of this name, in whichever case.
    pub(super) fn named(name: &str) -> Element {
        if name.len() > LONGEST {
            return Element::Inline;
        }
        match name.to_ascii_lowercase().as_str() {
            "h1" => Element::Heading(1),
            "h2" => Element::Heading(2),
            "h3" => Element::Heading(3),
            "h4" => Element::Heading(4),
            "h5" => Element::Heading(5),
            "h6" => Element::Heading(6),
            "p" | "section" | "article" | "main" | "header" | "footer" | "nav" | "aside" | "figure" | "form" | "dl"
            | "fieldset" | "details" | "address" | "body" | "caption" => Element::Apart,
            "div" | "dt" | "dd" | "figcaption" | "summary" | "legend" | "option" | "center" => Element::Block,
            "br" => Element::Break,
            "hr" => Element::Rule,
            "ul" | "menu" => Element::List(Numbers::Plain),
            "ol" => Element::List(Numbers::Counted),
            "li" => Element::Item,
            "blockquote" => Element::Quote,
            "pre" | "listing" => Element::Pre,
            "code" | "kbd" | "samp" | "tt" => Element::Code,
            "a" => Element::Link,
            "img" => Element::Image,
            "table" => Element::Table,
            "tr" => Element::Row,
            "td" | "th" => Element::Cell,
            "base" => Element::Base,
            "meta" => Element::Meta,
            "title" => Element::Title,
            "script" | "style" | "noscript" | "iframe" | "textarea" | "xmp" | "noembed" | "noframes" => Element::Raw,
            "svg" | "template" => Element::Hidden,
            _ => Element::Inline,
        }
    }
}
