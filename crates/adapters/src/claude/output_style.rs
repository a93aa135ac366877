//! Output styles: text of the system prompt that a setting chooses by name.

use std::path::{Path, PathBuf};

use protocol::FrontMatter;

/// The style that adds nothing.
pub(super) const DEFAULT: &str = "default";

/// Built-in styles with their text.
const BUILT_IN: [(&str, &str); 2] = [
    (
        "Explanatory",
        "While you work, explain the reasons for your choices in two or three short points at a time, with what is \
         particular about this code base. Put them into your answers, not into the code.",
    ),
    (
        "Learning",
        "The user wants to learn by doing. Explain your choices briefly, and leave small pieces of code that need a \
         decision to the user: mark each in the file with TODO(human), say what it must do, and wait for it.",
    ),
];

/// Maximum bytes of a style's file.
const MAX_FILE_BYTES: u64 = 256 * 1024;

/// Maximum number of files that are searched for a style.
const MAX_FILES: usize = 200;

/// The names of the styles that every client can use.
pub(super) fn built_in_names() -> impl Iterator<Item = &'static str> {
    [DEFAULT].into_iter().chain(BUILT_IN.iter().map(|(name, _)| *name))
}

/// The text of a style; `None` if there is none with this name. A style in a file is called by the name in its
/// frontmatter or by that of the file.
pub(super) fn style_text(name: &str, folders: &[PathBuf]) -> Option<String> {
    if name.eq_ignore_ascii_case(DEFAULT) {
        return Some(String::new());
    }
    let from_file = folders.iter().find_map(|folder| text_in(folder, name));
    let built_in = || BUILT_IN.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
    from_file.or_else(|| built_in().map(|(_, text)| (*text).to_owned()))
}

fn text_in(folder: &Path, name: &str) -> Option<String> {
    let entries = std::fs::read_dir(folder).ok()?.flatten().take(MAX_FILES);
    let mut files: Vec<PathBuf> =
        entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|end| end == "md")).collect();
    files.sort();
    files.iter().find_map(|file| {
        let bytes = host::read_below(folder, Path::new(file.file_name()?), MAX_FILE_BYTES).ok()??;
        let text = String::from_utf8(bytes).ok()?;
        let (head, body) = match FrontMatter::parse(&text) {
            FrontMatter::Present { head, body } => (head, body),
            FrontMatter::Absent { body } => ("", body),
            FrontMatter::Unterminated => return None,
        };
        let is_named = stated_name(head) == Some(name) || file.file_stem().is_some_and(|stem| stem == name);
        is_named.then(|| body.trim().to_owned())
    })
}

fn stated_name(head: &str) -> Option<&str> {
    let value = head.lines().find_map(|line| line.strip_prefix("name:"))?;
    Some(value.trim().trim_matches(['"', '\'']))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn styles_come_from_files_or_are_built_in() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        write("pirate.md", "---\nname: Sea Speech\n---\nTalk like a pirate.\n");
        write("short.md", "Be brief.");
        write("Learning.md", "My own.");
        write("broken.md", "---\nname: x\n");
        let folders = [PathBuf::from("/nonexistent"), folder.path().to_owned()];
        let text = |name: &str| style_text(name, &folders);
        assert_eq!(text("Sea Speech").as_deref(), Some("Talk like a pirate."));
        assert_eq!(text("pirate").as_deref(), Some("Talk like a pirate."));
        assert_eq!(text("short").as_deref(), Some("Be brief."));
        assert_eq!(text("Learning").as_deref(), Some("My own."));
        assert!(text("explanatory").is_some_and(|text| text.contains("reasons")));
        assert_eq!(text("default").as_deref(), Some(""));
        assert_eq!((text("x"), text("unknown")), (None, None));
    }
}
