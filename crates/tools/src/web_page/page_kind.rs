//! Decides by content type whether a page can be read.

/// How to read a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PageKind {
    /// Convert it to Markdown.
    Html,
    /// Leave it as it is.
    Text,
    /// Decide by its bytes.
    Unknown,
}

/// How to read a page of this content type; the error says why it cannot be read.
pub(crate) fn page_kind(content_type: Option<&str>) -> Result<PageKind, String> {
    let essence = content_type.unwrap_or_default().split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let (group, name) = essence.split_once('/').unwrap_or((&essence, ""));
    match (group, name) {
        ("text", "html") | ("application", "xhtml+xml") => Ok(PageKind::Html),
        ("text", _) => Ok(PageKind::Text),
        ("", _) | ("application", "octet-stream" | "binary" | "x-download") => Ok(PageKind::Unknown),
        ("application", "pdf") => {
            Err("it is a PDF, which web_fetch cannot read; download it with the shell and use `pdftotext`".into())
        }
        ("application", name) if is_text(name) => Ok(PageKind::Text),
        (_, name) if name.ends_with("+json") || name.ends_with("+xml") => Ok(PageKind::Text),
        _ => {
            let shown: String = essence.chars().filter(|letter| !letter.is_control()).take(80).collect();
            Err(format!("it is `{shown}`, and web_fetch reads only text; download it with the shell if you need it"))
        }
    }
}

/// Whether an `application` subtype is text.
fn is_text(name: &str) -> bool {
    let plain = name.strip_prefix("x-").unwrap_or(name);
    let known = [
        "json",
        "jsonlines",
        "ndjson",
        "json5",
        "xml",
        "xml-dtd",
        "javascript",
        "ecmascript",
        "typescript",
        "yaml",
        "toml",
        "markdown",
        "sh",
        "shellscript",
        "python",
        "perl",
        "ruby",
        "php",
        "sql",
        "graphql",
        "tex",
        "latex",
        "troff",
        "www-form-urlencoded",
    ];
    known.contains(&plain) || ["+json", "+xml", "+yaml"].iter().any(|ending| plain.ends_with(ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_kinds_are_decided_by_content_type() {
        for (content_type, expected) in [
            (Some("text/html; charset=utf-8"), Ok(PageKind::Html)),
            (Some("TEXT/HTML"), Ok(PageKind::Html)),
            (Some("text/markdown"), Ok(PageKind::Text)),
            (Some("application/json"), Ok(PageKind::Text)),
            (Some("application/ld+json;x=y"), Ok(PageKind::Text)),
            (Some("image/svg+xml"), Ok(PageKind::Text)),
            (Some("application/x-yaml"), Ok(PageKind::Text)),
            (Some("application/octet-stream"), Ok(PageKind::Unknown)),
            (Some(""), Ok(PageKind::Unknown)),
            (None, Ok(PageKind::Unknown)),
            (Some("application/pdf"), Err("pdftotext")),
            (Some("image/png"), Err("`image/png`")),
            (Some("video/mp4\r\nx"), Err("`video/mp4x`")),
            (Some("application/zip"), Err("only text")),
        ] {
            match (page_kind(content_type), expected) {
                (Ok(kind), Ok(expected)) => assert_eq!(kind, expected, "{content_type:?}"),
                (Err(why), Err(part)) => assert!(why.contains(part), "{content_type:?}: {why}"),
                (kind, expected) => panic!("{content_type:?}: {kind:?}, not {expected:?}"),
            }
        }
    }
}
