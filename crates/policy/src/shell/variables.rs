//! Variables: those that change nothing about which program runs, and those that may.

use super::ShellWord;

/// Names that change how programs print, and nothing else.
#[rustfmt::skip]
const HARMLESS: [&str; 22] = [
    "CARGO_TERM_COLOR", "CI", "CLICOLOR", "CLICOLOR_FORCE", "COLORTERM", "COLUMNS", "DEBIAN_FRONTEND",
    "FORCE_COLOR", "LANGUAGE", "LINES", "NEXTEST_PROFILE", "NO_COLOR", "PYTHONDONTWRITEBYTECODE",
    "PYTHONHASHSEED", "PYTHONUNBUFFERED", "RUST_BACKTRACE", "RUST_LIB_BACKTRACE", "RUST_LOG", "RUST_TEST_THREADS",
    "SOURCE_DATE_EPOCH", "TERM", "TZ",
];

/// Whether a program that starts with this variable still does what its name says, for some of its values at least.
fn is_harmless(name: &str) -> bool {
    HARMLESS.contains(&name) || is_locale(name)
}

/// Whether a variable says in which language and letters programs read and write.
pub(super) fn is_locale(name: &str) -> bool {
    name == "LANG" || name.starts_with("LC_")
}

/// Whether a locale reads text as it is read here. In others two bytes of a letter may swallow a quote after them.
fn reads_alike(locale: &str) -> bool {
    let letters = locale.split('@').next().unwrap_or(locale).rsplit_once('.').map(|(_, letters)| letters);
    matches!(locale, "C" | "POSIX")
        || letters.is_some_and(|letters| ["utf-8", "utf8"].contains(&letters.to_ascii_lowercase().as_str()))
}

/// Whether a variable and its value are harmless. A path could name a file to load.
pub(super) fn is_harmless_set(name: &str, value: &ShellWord) -> bool {
    let ShellWord::Known(text) = value else { return false };
    let plain = !text.starts_with(['/', '.', ':']) && !text.contains("..") && !text.contains('/');
    plain && is_harmless(name) && (!is_locale(name) || reads_alike(text))
}

/// Whether the shell may keep something under this name, whatever it is. No program listens to names such as `i` or
/// `file`.
pub(super) fn is_private(name: &str) -> bool {
    let short = name.len() <= 16 && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    short && name.starts_with(|c: char| c.is_ascii_lowercase()) && name != "histchars"
}

/// Whether the shell may keep this value under this name.
pub(super) fn is_private_set(name: &str, value: &ShellWord) -> bool {
    is_private(name) || is_harmless_set(name, value)
}

/// Whether a text is a variable's name.
pub(super) fn is_name(text: &str) -> bool {
    !text.starts_with(|c: char| c.is_ascii_digit())
        && !text.is_empty()
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}
