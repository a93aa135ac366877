//! A page as a model reads it.

use url::Url;

use super::PageKind;
use super::charset::decode;
use super::markdown::{MarkdownPage, markdown};
use crate::text::{binary_kind, visible_text};

/// Bytes at a page's start that decide what it is.
const SNIFFED_BYTES: usize = 8 * 1024;

/// A page as a model reads it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ReadablePage {
    /// Its title, if it has one.
    pub(crate) title: Option<String>,
    /// Its text.
    pub(crate) text: String,
}

/// Reads a page from this address; the error says why it cannot be read.
pub(crate) fn read(
    bytes: &[u8],
    content_type: Option<&str>,
    kind: PageKind,
    address: &str,
) -> Result<ReadablePage, String> {
    let kind = match kind {
        PageKind::Unknown => guess_kind(&bytes[..bytes.len().min(SNIFFED_BYTES)])?,
        known => known,
    };
    let text = decode(bytes, content_type, kind);
    Ok(match kind {
        PageKind::Html => {
            let MarkdownPage { title, text } = markdown(&text, Url::parse(address).ok());
            ReadablePage { title, text }
        }
        PageKind::Text | PageKind::Unknown => ReadablePage { title: None, text: visible_text(&text) },
    })
}

/// The kind of a page that begins like this.
fn guess_kind(start: &[u8]) -> Result<PageKind, String> {
    let is_html = || {
        let text = String::from_utf8_lossy(start.trim_ascii_start()).to_ascii_lowercase();
        text.starts_with("<!doctype html") || text.starts_with("<html")
    };
    match binary_kind(start) {
        Some(kind) if !kind.ends_with("text") => Err(format!("it is not text: {kind}")),
        _ if is_html() => Ok(PageKind::Html),
        _ => Ok(PageKind::Text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_pages_are_recognised_by_their_bytes() {
        let text = |bytes: &[u8]| read(bytes, None, PageKind::Unknown, "http://a.example/").map(|page| page.text);
        assert_eq!(text(b" <!DOCTYPE html><p>a<p>b"), Ok("a\n\nb".into()));
        assert_eq!(text(b"a < b\r\n<p>"), Ok("a < b\n<p>".into()));
        assert_eq!(text(b"\xff\xfea\0\xe9\0"), Ok("aé".into()));
        assert_eq!(text(b"\x89PNG\r\n\x1a\n\0"), Err("it is not text: PNG image".into()));
        assert_eq!(text(b"a\0b"), Err("it is not text: binary data".into()));
    }

    #[test]
    fn invisible_characters_are_removed() {
        let bytes = "a\0\u{1b}[31mb\u{202e}c\u{e0041}d\te\n".as_bytes();
        assert_eq!(read(bytes, None, PageKind::Text, "").unwrap().text, "a[31mbcd\te\n");
    }
}
