//! Folds names that a file system may treat as equal: upper and lower case, and composed or decomposed accents.

use std::path::{Component, Path, PathBuf};

use icu_normalizer::ComposingNormalizerBorrowed;

/// Folds a text to one case and one Unicode form.
pub(crate) fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    // Upper case first: it unites letters that lower case keeps apart, such as ß and ss.
    let lower = text.to_uppercase().to_lowercase();
    ComposingNormalizerBorrowed::new_nfc().normalize(&lower).into_owned()
}

/// Folds a path to one case and one Unicode form, without a trailing slash.
pub(crate) fn fold_path(path: &Path) -> String {
    let tidy: PathBuf = path.components().collect();
    fold(&tidy.to_string_lossy())
}

/// Whether a path equals another or is below it, ignoring case and Unicode form.
pub(crate) fn is_within(path: &Path, other: &Path) -> bool {
    let (path_bytes, other_bytes) = (trimmed(path), trimmed(other));
    if path_bytes.is_ascii() && other_bytes.is_ascii() {
        let (Some(prefix), rest) = (path_bytes.get(..other_bytes.len()), path_bytes.get(other_bytes.len())) else {
            return false;
        };
        return prefix.eq_ignore_ascii_case(other_bytes) && rest.is_none_or(|next| *next == b'/');
    }
    let (path, other) = (fold_path(path), fold_path(other));
    path.strip_prefix(other.trim_end_matches('/')).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn trimmed(path: &Path) -> &[u8] {
    let bytes = path.as_os_str().as_encoded_bytes();
    bytes.strip_suffix(b"/").unwrap_or(bytes)
}

/// Removes `.` and `..` from a path. Returns `None` if a `..` leaves a folder that may be a link, since only the file
/// system knows where that leads. The base has no links.
pub(crate) fn resolve(base: &Path, path: &Path) -> Option<PathBuf> {
    let mut resolved = base.to_path_buf();
    let mut entered = false;
    for component in path.components() {
        match component {
            Component::RootDir | Component::Prefix(_) => resolved = PathBuf::from("/"),
            Component::CurDir => {}
            Component::ParentDir if entered => return None,
            Component::ParentDir => {
                resolved.pop();
            }
            Component::Normal(name) => {
                resolved.push(name);
                entered = true;
            }
        }
    }
    Some(resolved)
}

/// Removes `.` and `..` from a path, as if no folder were a link.
pub(crate) fn normalize_path(base: &Path, path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in base.join(path).components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                normal.pop();
            }
            Component::RootDir | Component::Prefix(_) | Component::Normal(_) => normal.push(component),
        }
    }
    normal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equivalent_names_fold_to_the_same_text() {
        assert_eq!(fold("Caf\u{e9}"), fold("CAFE\u{301}"));
        assert_eq!(fold("STRASSE"), fold("stra\u{df}e"));
        assert_ne!(fold("a"), fold("\u{430}"), "a Cyrillic a is another letter");
    }

    #[test]
    fn is_within_ignores_case_and_unicode_form() {
        let within = |path: &str, other: &str| is_within(Path::new(path), Path::new(other));
        assert!(within("/a/B/c", "/A/b") && within("/a/", "/a") && within("/a", "/a/") && within("/x", "/"));
        assert!(within("/caf\u{e9}/x", "/CAFE\u{301}") && within("/\u{e9}", "/"));
        assert!(!within("/ab", "/a") && !within("/a", "/a/b") && !within("/caf\u{e9}s", "/caf\u{e9}"));
    }

    #[test]
    fn leaving_a_folder_that_may_be_a_link_is_not_resolved() {
        let resolved = |path: &str| resolve(Path::new("/work/app"), Path::new(path));
        assert_eq!(resolved("../x/./y"), Some("/work/x/y".into()));
        assert_eq!(resolved("/../etc"), Some("/etc".into()));
        assert_eq!(resolved("link/../x"), None);
        assert_eq!(normalize_path(Path::new("/work"), Path::new("a/../../../b/")), Path::new("/b"));
    }
}
