//! Decodes the bytes of a page.

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};

use super::PageKind;
use super::element::HtmlElement;
use super::tokens::{HtmlToken, HtmlTokens};

/// Bytes of a page searched for its declared encoding.
const SNIFFED_BYTES: usize = 4096;

/// The text of a page. A byte order mark takes precedence, then the server's content type, then the page's own
/// declaration; the default is UTF-8. Invalid bytes become replacement characters.
pub(super) fn decode(bytes: &[u8], content_type: Option<&str>, kind: PageKind) -> String {
    let by_server = || Encoding::for_label_no_replacement(charset_label(content_type?)?.as_bytes());
    let by_page = || match kind {
        PageKind::Html => declared_encoding(bytes),
        PageKind::Text | PageKind::Unknown => None,
    };
    let encoding = by_server().or_else(by_page).unwrap_or(UTF_8);
    // `decode` lets a byte order mark override all of it.
    encoding.decode(bytes).0.into_owned()
}

/// The encoding that a page declares, in characters that all web encodings share.
fn declared_encoding(bytes: &[u8]) -> Option<&'static Encoding> {
    let start = String::from_utf8_lossy(&bytes[..bytes.len().min(SNIFFED_BYTES)]);
    let name = HtmlTokens::new(&start).find_map(|token| match token {
        HtmlToken::Open(tag) if tag.element == HtmlElement::Meta => {
            tag.attribute("charset").or_else(|| charset_label(&tag.attribute("content")?))
        }
        HtmlToken::Open(_) | HtmlToken::Close(_) | HtmlToken::Text(_) | HtmlToken::Title(_) => None,
    })?;
    match Encoding::for_label_no_replacement(name.as_bytes())? {
        // A page that declares it in single-byte characters is mistaken.
        encoding if encoding == UTF_16LE || encoding == UTF_16BE => Some(UTF_8),
        encoding => Some(encoding),
    }
}

/// The `charset` of a content type.
fn charset_label(content_type: &str) -> Option<String> {
    let lower = content_type.to_ascii_lowercase();
    let value =
        lower.split(';').find_map(|part| part.trim().strip_prefix("charset")?.trim_start().strip_prefix('='))?;
    Some(value.trim().trim_matches(['"', '\'']).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_decoded_with_the_right_encoding() {
        let table: &[(&[u8], Option<&str>, &str)] = &[
            (b"caf\xc3\xa9", None, "café"),
            (b"caf\xe9", None, "caf\u{fffd}"),
            (b"caf\xe9", Some("text/html; charset=ISO-8859-1"), "café"),
            (b"caf\xe9", Some("text/html;x=1; Charset = \"latin1\""), "café"),
            (b"caf\xc3\xa9", Some("text/html; charset=nonsense"), "café"),
            (b"\xef\xbb\xbfcaf\xc3\xa9", Some("text/html; charset=latin1"), "café"),
            (b"\xff\xfeh\0i\0", None, "hi"),
            (b"<meta charset=latin1>\xe9", None, "<meta charset=latin1>é"),
            (b"<META content='text/html; charset=latin1'>\xe9", None, "<META content='text/html; charset=latin1'>é"),
            (b"<meta charset=utf-16>\xc3\xa9", None, "<meta charset=utf-16>é"),
            (b"<meta charset=latin1>\xc3\xa9", Some("text/html; charset=utf-8"), "<meta charset=latin1>é"),
        ];
        for (bytes, content_type, text) in table {
            assert_eq!(decode(bytes, *content_type, PageKind::Html), *text, "{}", bytes.escape_ascii());
        }
        assert_eq!(decode(b"<meta charset=latin1>\xc3\xa9", None, PageKind::Text), "<meta charset=latin1>é");
    }
}
