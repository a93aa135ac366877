//! Parses tags and attributes as browsers do: anything that begins like a tag and ends is a tag.

use super::element::HtmlElement;
use super::entities::decode;

/// An opening tag.
#[derive(Debug, Clone, Copy)]
pub(super) struct HtmlTag<'a> {
    pub(super) element: HtmlElement,
    /// The text after its name.
    attributes: &'a str,
}

impl<'a> HtmlTag<'a> {
    /// Reads the tag after a `<`; also returns its name and its length in bytes with the `>`. `None` if it is unclosed.
    pub(super) fn parse(text: &'a str) -> Option<(HtmlTag<'a>, &'a str, usize)> {
        let name = tag_name(text);
        let mut cursor = AttributeCursor { text, at: name.len() };
        loop {
            match cursor.next_token()? {
                AttributeToken::Attribute { .. } => {}
                AttributeToken::End => {
                    let tag =
                        HtmlTag { element: HtmlElement::from_name(name), attributes: &text[name.len()..cursor.at] };
                    return Some((tag, name, cursor.at));
                }
            }
        }
    }

    /// The value of the first attribute of that name.
    pub(super) fn attribute(&self, wanted: &str) -> Option<String> {
        let mut cursor = AttributeCursor { text: self.attributes, at: 0 };
        loop {
            match cursor.next_token()? {
                AttributeToken::Attribute { name, value } if name.eq_ignore_ascii_case(wanted) => {
                    return Some(decode(value).into_owned());
                }
                AttributeToken::Attribute { .. } => {}
                AttributeToken::End => return None,
            }
        }
    }

    /// Whether it is self-closing. Only foreign elements, such as SVG, can be.
    pub(super) fn is_closed(&self) -> bool {
        self.attributes.ends_with("/>")
    }
}

/// The name that a tag begins with.
pub(super) fn tag_name(text: &str) -> &str {
    let end = text.bytes().position(|byte| byte.is_ascii_whitespace() || matches!(byte, b'/' | b'>'));
    &text[..end.unwrap_or(text.len())]
}

struct AttributeCursor<'a> {
    text: &'a str,
    at: usize,
}

enum AttributeToken<'a> {
    Attribute { name: &'a str, value: &'a str },
    End,
}

impl<'a> AttributeCursor<'a> {
    /// The next attribute, or the tag's end; none if there is neither. Every byte is examined once: all delimiters are
    /// ASCII, so parts end between characters.
    fn next_token(&mut self) -> Option<AttributeToken<'a>> {
        self.take_while(|byte| byte.is_ascii_whitespace() || byte == b'/');
        if self.peek()? == b'>' {
            self.at += 1;
            return Some(AttributeToken::End);
        }
        let start = self.at;
        // A name may begin with `=`, and then does not end there.
        self.at += usize::from(self.peek()? == b'=');
        self.take_while(|byte| !byte.is_ascii_whitespace() && !matches!(byte, b'/' | b'>' | b'='));
        let name = &self.text[start..self.at];
        self.take_while(|byte| byte.is_ascii_whitespace());
        if self.peek()? != b'=' {
            return Some(AttributeToken::Attribute { name, value: "" });
        }
        self.at += 1;
        self.take_while(|byte| byte.is_ascii_whitespace());
        let value = match self.peek()? {
            quote @ (b'"' | b'\'') => self.quoted(quote)?,
            _ => self.take_while(|byte| !byte.is_ascii_whitespace() && byte != b'>'),
        };
        Some(AttributeToken::Attribute { name, value })
    }

    fn quoted(&mut self, quote: u8) -> Option<&'a str> {
        let start = self.at + 1;
        let length = memchr::memchr(quote, &self.text.as_bytes()[start..])?;
        self.at = start + length + 1;
        Some(&self.text[start..start + length])
    }

    fn take_while(&mut self, matches: impl Fn(u8) -> bool) -> &'a str {
        let rest = &self.text[self.at..];
        let length = rest.bytes().position(|byte| !matches(byte)).unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }
}
