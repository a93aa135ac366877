//! Detects the kind of a binary file.

/// The kind of a file that begins with `start`; none when it looks like text.
pub(crate) fn binary_kind(start: &[u8]) -> Option<&'static str> {
    let known = SIGNATURES.iter().find(|(signature, _)| start.starts_with(signature)).map(|(_, kind)| *kind);
    known.or_else(|| start.contains(&0).then_some("binary data"))
}

/// The first bytes of well-known file types.
const SIGNATURES: &[(&[u8], &str)] = &[
    (b"\x89PNG\r\n\x1a\n", "PNG image"),
    (b"\xff\xd8\xff", "JPEG image"),
    (b"GIF8", "GIF image"),
    (b"%PDF-", "PDF document"),
    (b"PK\x03\x04", "ZIP archive"),
    (b"\x1f\x8b", "gzip archive"),
    (b"\xfd7zXZ\0", "xz archive"),
    (b"\x28\xb5\x2f\xfd", "Zstandard archive"),
    (b"\x7fELF", "ELF program or library"),
    (b"SQLite format 3\0", "SQLite database"),
    (b"\0asm", "WebAssembly module"),
    (b"\xff\xfe", "UTF-16 text"),
    (b"\xfe\xff", "UTF-16 text"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binary_kinds_are_detected() {
        for (start, expected) in [
            (&b""[..], None),
            (b"plain\n", None),
            (b"caf\xe9", None),
            (b"a\0b", Some("binary data")),
            (b"\x7fELF\x02", Some("ELF program or library")),
            (b"%PDF-1.7", Some("PDF document")),
        ] {
            assert_eq!(binary_kind(start), expected, "{}", start.escape_ascii());
        }
    }
}
