//! Variables: which of them may change what programs run.

use super::ShellWord;

/// Variables that only affect how programs print.
#[rustfmt::skip]
const HARMLESS: [&str; 22] = [
    "CARGO_TERM_COLOR", "CI", "CLICOLOR", "CLICOLOR_FORCE", "COLORTERM", "COLUMNS", "DEBIAN_FRONTEND",
    "FORCE_COLOR", "LANGUAGE", "LINES", "NEXTEST_PROFILE", "NO_COLOR", "PYTHONDONTWRITEBYTECODE",
    "PYTHONHASHSEED", "PYTHONUNBUFFERED", "RUST_BACKTRACE", "RUST_LIB_BACKTRACE", "RUST_LOG", "RUST_TEST_THREADS",
    "SOURCE_DATE_EPOCH", "TERM", "TZ",
];

/// Whether a program with this variable still does what its name says, at least for some values.
fn is_harmless(name: &str) -> bool {
    HARMLESS.contains(&name) || is_locale(name)
}

/// Whether a variable sets the locale.
pub(super) fn is_locale(name: &str) -> bool {
    name == "LANG" || name.starts_with("LC_")
}

/// Whether a locale decodes text as we do. In others, a multi-byte character may include a quote after it.
fn is_compatible_locale(locale: &str) -> bool {
    let encoding = locale.split('@').next().unwrap_or(locale).rsplit_once('.').map(|(_, encoding)| encoding);
    matches!(locale, "C" | "POSIX")
        || encoding.is_some_and(|encoding| ["utf-8", "utf8"].contains(&encoding.to_ascii_lowercase().as_str()))
}

/// Whether a variable and its value are harmless. A path could name a file to load.
pub(super) fn is_harmless_assignment(name: &str, value: &ShellWord) -> bool {
    let ShellWord::Known(text) = value else { return false };
    let plain = !text.starts_with(['/', '.', ':']) && !text.contains("..") && !text.contains('/');
    plain && is_harmless(name) && (!is_locale(name) || is_compatible_locale(text))
}

/// Whether the shell may set this variable to any value. No program reads names such as `i` or `file`.
pub(super) fn is_private(name: &str) -> bool {
    let short = name.len() <= 16 && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    short && name.starts_with(|c: char| c.is_ascii_lowercase()) && name != "histchars"
}

/// Whether the shell may set this variable to this value.
pub(super) fn is_private_assignment(name: &str, value: &ShellWord) -> bool {
    is_private(name) || is_harmless_assignment(name, value)
}

/// Whether a text is a variable's name.
pub(super) fn is_name(text: &str) -> bool {
    !text.starts_with(|c: char| c.is_ascii_digit())
        && !text.is_empty()
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}
