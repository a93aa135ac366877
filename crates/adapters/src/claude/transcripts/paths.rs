//! Where the Claude SDK stores its session files.

use std::path::{Path, PathBuf};

/// A folder's name is cut to this many characters before a digest is appended.
const MAX_NAME_CHARS: usize = 200;

/// The folder for all projects: below `CLAUDE_CONFIG_DIR` if it is set, or in `.claude` below the user's home.
pub(in crate::claude) fn projects_dir(config: Option<&Path>, home: Option<&Path>) -> Option<PathBuf> {
    let config = config.filter(|path| !path.as_os_str().is_empty()).map(Path::to_owned);
    Some(config.or_else(|| home.map(|home| home.join(".claude")))?.join("projects"))
}

/// The name of a project's folder: its path with `-` for every character that is not an ASCII letter or digit. If that
/// is too long, it is cut, and a digest of the path is appended.
pub(super) fn folder_name(cwd: &str) -> String {
    let plain: String = cwd.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    match plain.get(..MAX_NAME_CHARS) {
        Some(head) if plain.len() > MAX_NAME_CHARS => format!("{head}-{}", digest(cwd)),
        Some(_) | None => plain,
    }
}

/// Claude's digest of a text: a signed 32-bit hash (`hash * 31 + unit` for each UTF-16 unit), as absolute value in base
/// 36.
fn digest(text: &str) -> String {
    let hash = text.encode_utf16().fold(0_i32, |hash, unit| hash.wrapping_mul(31).wrapping_add(i32::from(unit)));
    let mut rest = hash.unsigned_abs();
    let mut digits = Vec::new();
    while rest > 0 || digits.is_empty() {
        digits.extend(char::from_digit(rest % 36, 36));
        rest /= 36;
    }
    digits.iter().rev().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn project_folders_are_named_as_claude_names_them() {
        assert_eq!(folder_name("/home/ann/my_app.v2"), "-home-ann-my-app-v2");
        let long = format!("/{}", "a".repeat(250));
        let named = folder_name(&long);
        assert!(named.starts_with(&format!("-{}", "a".repeat(199))) && named.len() > 201, "{named}");
        assert_eq!(digest("hello"), "1n1e4y");
        assert_eq!(digest(""), "0");
    }

    #[test]
    fn config_variable_overrides_home() {
        let (config, home) = (Path::new("/c"), Path::new("/h"));
        assert_eq!(projects_dir(Some(config), Some(home)), Some("/c/projects".into()));
        assert_eq!(projects_dir(Some(Path::new("")), Some(home)), Some("/h/.claude/projects".into()));
        assert_eq!(projects_dir(None, None), None);
    }
}
