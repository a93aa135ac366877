//! Variables: those that change nothing about which program runs, and those that may.

use super::Word;

/// Names that change how programs print, and nothing else.
#[rustfmt::skip]
const HARMLESS: [&str; 24] = [
    "CARGO_TERM_COLOR", "CI", "CLICOLOR", "CLICOLOR_FORCE", "COLORTERM", "COLUMNS", "DEBIAN_FRONTEND",
    "FORCE_COLOR", "LANG", "LANGUAGE", "LC_ALL", "LINES", "NEXTEST_PROFILE", "NO_COLOR", "PYTHONDONTWRITEBYTECODE",
    "PYTHONHASHSEED", "PYTHONUNBUFFERED", "RUST_BACKTRACE", "RUST_LIB_BACKTRACE", "RUST_LOG", "RUST_TEST_THREADS",
    "SOURCE_DATE_EPOCH", "TERM", "TZ",
];

/// Whether a program that starts with this variable still does what its name says, whatever the value.
pub(super) fn is_harmless(name: &str) -> bool {
    let category = ["CTYPE", "COLLATE", "MESSAGES", "NUMERIC", "TIME", "MONETARY"];
    HARMLESS.contains(&name) || name.strip_prefix("LC_").is_some_and(|rest| category.contains(&rest))
}

/// Whether a variable and its value are harmless. A path could name a file to load.
pub(super) fn is_harmless_set(name: &str, value: &Word) -> bool {
    let plain = matches!(value, Word::Known(text) if !text.starts_with(['/', '.', ':']) && !text.contains(".."));
    plain && is_harmless(name)
}

/// Whether the shell may keep something under this name. No program listens to names such as `i` or `file`.
pub(super) fn is_private(name: &str) -> bool {
    let short = name.len() <= 16 && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    is_harmless(name) || short && name.starts_with(|c: char| c.is_ascii_lowercase()) && name != "histchars"
}

/// Whether the shell may keep this value under this name.
pub(super) fn is_private_set(name: &str, value: &Word) -> bool {
    is_private(name) && (!is_harmless(name) || is_harmless_set(name, value))
}

/// Whether a text is a variable's name.
pub(super) fn is_name(text: &str) -> bool {
    !text.starts_with(|c: char| c.is_ascii_digit())
        && !text.is_empty()
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}
