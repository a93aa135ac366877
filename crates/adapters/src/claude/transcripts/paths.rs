//! Where the Claude SDK stores its session files.

use std::path::{Path, PathBuf};

/// The maximum length of a folder's name before it is cut.
const NAME: usize = 200;

/// The folder for all projects: below `CLAUDE_CONFIG_DIR` if it is set, or in `.claude` below the user's home.
pub(in crate::claude) fn projects_dir(config: Option<&Path>, home: Option<&Path>) -> Option<PathBuf> {
    let config = config.filter(|path| !path.as_os_str().is_empty()).map(Path::to_owned);
    Some(config.or_else(|| home.map(|home| home.join(".claude")))?.join("projects"))
}

/// The name of a project's folder: its path in plain characters, cut and with a digest if it is long.
pub(super) fn folder_name(cwd: &str) -> String {
    let plain: String = cwd.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    match plain.get(..NAME) {
        Some(head) if plain.len() > NAME => format!("{head}-{}", digest(cwd)),
        Some(_) | None => plain,
    }
}

/// Claude's digest of a text: 31 times the sum so far, in 32 bits with a sign, and its absolute value in base 36.
fn digest(text: &str) -> String {
    let sum = text.encode_utf16().fold(0_i32, |sum, unit| sum.wrapping_mul(31).wrapping_add(i32::from(unit)));
    let mut rest = sum.unsigned_abs();
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
    fn folders_are_named_as_the_family_names_them() {
        assert_eq!(folder_name("/home/ann/my_app.v2"), "-home-ann-my-app-v2");
        let long = format!("/{}", "a".repeat(250));
        let named = folder_name(&long);
        assert!(named.starts_with(&format!("-{}", "a".repeat(199))) && named.len() > 201, "{named}");
        assert_eq!(digest("hello"), "1n1e4y");
        assert_eq!(digest(""), "0");
    }

    #[test]
    fn the_variable_comes_before_the_home() {
        let (config, home) = (Path::new("/c"), Path::new("/h"));
        assert_eq!(projects_dir(Some(config), Some(home)), Some("/c/projects".into()));
        assert_eq!(projects_dir(Some(Path::new("")), Some(home)), Some("/h/.claude/projects".into()));
        assert_eq!(projects_dir(None, None), None);
    }
}
