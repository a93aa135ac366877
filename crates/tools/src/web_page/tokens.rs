//! Splits a page into tags and text. Every page can be split: what is not a tag is text, and an unclosed element ends
//! with the page.

use memchr::{memchr, memchr_iter, memmem};

use super::element::HtmlElement;
use super::tags::{HtmlTag, tag_name};

/// A token of a page.
#[derive(Debug, Clone, Copy)]
pub(super) enum HtmlToken<'a> {
    /// Raw text, with entities.
    Text(&'a str),
    /// The text of a title.
    Title(&'a str),
    /// An element begins.
    Open(HtmlTag<'a>),
    /// An element ends.
    Close(HtmlElement),
}

/// The tokens of a page. Each byte is examined a fixed number of times.
#[derive(Debug, Clone)]
pub(super) struct HtmlTokens<'a> {
    rest: &'a str,
}

impl<'a> HtmlTokens<'a> {
    pub(super) fn new(html: &'a str) -> HtmlTokens<'a> {
        HtmlTokens { rest: html }
    }

    fn take(&mut self, length: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(length);
        self.rest = rest;
        taken
    }

    /// Skips to after the next `>`.
    fn skip_past_tag_end(&mut self) {
        let end = memchr(b'>', self.rest.as_bytes()).map_or(self.rest.len(), |end| end + 1);
        self.take(end);
    }

    fn open(&mut self) -> Option<HtmlToken<'a>> {
        let Some((tag, name, length)) = HtmlTag::parse(&self.rest[1..]) else {
            // An unclosed tag is dropped with the rest.
            self.rest = "";
            return None;
        };
        self.take(1 + length);
        match tag.element {
            HtmlElement::Raw => {
                self.take_raw_text(name);
                None
            }
            HtmlElement::Title => Some(HtmlToken::Title(self.take_raw_text(name))),
            _ => Some(HtmlToken::Open(tag)),
        }
    }

    /// The text up to the closing tag of this name; skips that tag.
    fn take_raw_text(&mut self, wanted: &str) -> &'a str {
        let rest = self.rest;
        let closes = |&at: &usize| {
            let after = rest[at..].strip_prefix("</").unwrap_or_default();
            // Only this much is compared, so that one long name is not read repeatedly.
            after.get(..wanted.len()).is_some_and(|start| start.eq_ignore_ascii_case(wanted))
                && tag_name(after.get(wanted.len()..wanted.len() + 1).unwrap_or_default()).is_empty()
        };
        let end = memchr_iter(b'<', rest.as_bytes()).find(closes);
        let text = self.take(end.unwrap_or(rest.len()));
        self.skip_past_tag_end();
        text
    }
}

impl<'a> Iterator for HtmlTokens<'a> {
    type Item = HtmlToken<'a>;

    fn next(&mut self) -> Option<HtmlToken<'a>> {
        while !self.rest.is_empty() {
            let token = match markup_kind(self.rest.as_bytes()) {
                HtmlMarkup::None => {
                    let starts = memchr_iter(b'<', self.rest.as_bytes());
                    let next = starts.filter(|&at| at > 0).find(|&at| is_markup(&self.rest.as_bytes()[at..]));
                    Some(HtmlToken::Text(self.take(next.unwrap_or(self.rest.len()))))
                }
                HtmlMarkup::Open => self.open(),
                HtmlMarkup::Close => {
                    let element = HtmlElement::from_name(tag_name(&self.rest[2..]));
                    self.skip_past_tag_end();
                    Some(HtmlToken::Close(element))
                }
                HtmlMarkup::Comment => {
                    // The shortest one is `<!-->`.
                    let end = memmem::find(&self.rest.as_bytes()[2..], b"-->");
                    self.take(end.map_or(self.rest.len(), |end| end + 5));
                    None
                }
                HtmlMarkup::Other => {
                    self.skip_past_tag_end();
                    None
                }
            };
            if token.is_some() {
                return token;
            }
        }
        None
    }
}

enum HtmlMarkup {
    Open,
    Close,
    Comment,
    Other,
    None,
}

fn markup_kind(bytes: &[u8]) -> HtmlMarkup {
    match bytes {
        [b'<', b'!', b'-', b'-', ..] => HtmlMarkup::Comment,
        [b'<', b'/', letter, ..] if letter.is_ascii_alphabetic() => HtmlMarkup::Close,
        [b'<', b'!' | b'?' | b'/', ..] => HtmlMarkup::Other,
        [b'<', letter, ..] if letter.is_ascii_alphabetic() => HtmlMarkup::Open,
        _ => HtmlMarkup::None,
    }
}

fn is_markup(bytes: &[u8]) -> bool {
    !matches!(markup_kind(bytes), HtmlMarkup::None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(html: &str) -> String {
        let shown = |token: HtmlToken<'_>| match token {
            HtmlToken::Text(text) => format!("{text:?}"),
            HtmlToken::Title(text) => format!("title {text:?}"),
            HtmlToken::Open(tag) => format!("<{:?} {:?}>", tag.element, tag.attribute("href")),
            HtmlToken::Close(element) => format!("</{element:?}>"),
        };
        HtmlTokens::new(html).map(shown).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn pages_are_tokenized_as_in_browsers() {
        for (html, expected) in [
            ("a < b > c", r#""a < b > c""#),
            ("1<2 <p>x", r#""1<2 " <Apart None> "x""#),
            ("<a href=x>y</A >z", r#"<Link Some("x")> "y" </Link> "z""#),
            ("<a\nHREF = 'a>b' >", r#"<Link Some("a>b")>"#),
            ("<a title=it's href=\"q&amp;r\">", r#"<Link Some("q&r")>"#),
            ("<a href=1 href=2>", r#"<Link Some("1")>"#),
            ("<a/href=x/>", r#"<Link Some("x/")>"#),
            ("<a =href=x href=y>", r#"<Link Some("y")>"#),
            ("<a href>", r#"<Link Some("")>"#),
            ("<!-- <p> -- > -->x<!-->y<!--->z", r#""x" "y" "z""#),
            ("<!doctype html><?xml x?>x</ y>z", r#""x" "z""#),
            ("<script>if (a<b) '</p>'</scripty></SCRIPT >x", r#""x""#),
            ("<title>a <b> &amp;</title>x", r#"title "a <b> &amp;" "x""#),
            ("<script>never ends <p>", ""),
            ("x<a href='never ends>", r#""x""#),
            ("x<!-- never ends -- >", r#""x""#),
            ("<ä>é</ä>", r#""<ä>é""#),
            ("<p ä=é>ö", r#"<Apart None> "ö""#),
            ("<", r#""<""#),
            ("</", ""),
            ("<a", ""),
            ("", ""),
        ] {
            assert_eq!(tokens(html), expected, "{html}");
        }
    }
}
