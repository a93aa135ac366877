//! Folders of instruction files that may apply to certain files only: `.claude/rules` and `.github/instructions`.

use std::fs;
use std::path::{Path, PathBuf};

use protocol::FrontMatter;

/// The folders, relative to the project's top, with the suffix of their files.
const FOLDERS: [(&str, &str); 2] = [(".claude/rules", ".md"), (".github/instructions", ".instructions.md")];

/// Maximum number of entries that are checked in each of these folders.
const MAX_FILES: usize = 200;

/// Maximum depth of their subfolders.
const MAX_DEPTH: usize = 4;

/// The frontmatter keys for the files that a text applies to.
const SCOPE_KEYS: [&str; 3] = ["applyto", "paths", "globs"];

/// The files in those folders, sorted. Links to folders are not followed; links to files are reported when read.
pub(super) fn scoped_files(top: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for (relative, suffix) in FOLDERS {
        let (mut pending, mut checked) = (vec![(top.join(relative), 0)], 0);
        let mut found = Vec::new();
        while let Some((folder, depth)) = pending.pop() {
            let is_folder = folder.symlink_metadata().is_ok_and(|metadata| metadata.is_dir());
            for entry in fs::read_dir(&folder).into_iter().filter(|_| is_folder).flatten().flatten() {
                checked += 1;
                let kind = entry.file_type();
                if kind.as_ref().is_ok_and(fs::FileType::is_dir) && depth < MAX_DEPTH {
                    pending.push((entry.path(), depth + 1));
                } else if kind.is_ok() && entry.file_name().to_string_lossy().ends_with(suffix) {
                    found.push(entry.path());
                }
                if checked >= MAX_FILES {
                    pending.clear();
                    break;
                }
            }
        }
        found.sort();
        files.append(&mut found);
    }
    files
}

/// The files that a text applies to, and the text without its frontmatter. Only files in those folders have one.
pub(super) fn split_scope<'a>(path: &Path, text: &'a str) -> (Option<String>, &'a str) {
    let is_scoped = FOLDERS.iter().any(|(folder, _)| path.ancestors().any(|above| above.ends_with(folder)));
    match FrontMatter::parse(text) {
        FrontMatter::Present { head, body } if is_scoped => (patterns(head), body),
        FrontMatter::Present { .. } | FrontMatter::Absent { .. } | FrontMatter::Unterminated => (None, text),
    }
}

/// The patterns in frontmatter, on the line of their key or in a list below it.
fn patterns(head: &str) -> Option<String> {
    let clean = |text: &str| text.trim().trim_matches(['[', ']', '"', '\'']).replace(['"', '\''], "");
    let mut lines = head.lines();
    while let Some(line) = lines.next() {
        let Some((key, value)) = line.split_once(':') else { continue };
        if !SCOPE_KEYS.contains(&key.trim().to_ascii_lowercase().as_str()) {
            continue;
        }
        let below = lines.map_while(|line| line.trim_start().strip_prefix("- ").map(clean));
        let all: Vec<String> =
            std::iter::once(clean(value)).chain(below).filter(|pattern| !pattern.is_empty()).collect();
        let all = all.join(", ");
        return Some(all).filter(|all| !all.is_empty() && all != "**" && all != "**/*" && all.len() < 500);
    }
    None
}
