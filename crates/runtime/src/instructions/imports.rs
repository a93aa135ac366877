//! `@path` imports in a `CLAUDE.md`: the named file is part of the text.

use std::path::{Path, PathBuf};

use super::InstructionPlaces;
use super::open::{normalize_path, project_top};
use super::read::InstructionOwner;

/// A project file imports a file outside the project.
pub(super) struct OutsideProjectError;

/// Whether imports in this file are read: only Claude's files have them.
pub(super) fn has_imports(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    name != "AGENTS.md" && !path.ends_with(".github/copilot-instructions.md") && !name.ends_with(".instructions.md")
}

/// The names that a text imports, in order. Code and e-mail addresses are not imports.
pub(super) fn import_names(text: &str) -> Vec<&str> {
    let (mut names, mut fence) = (Vec::new(), None);
    for line in text.lines() {
        let mark = ["```", "~~~"].into_iter().find(|mark| line.trim_start().starts_with(mark));
        match (fence, mark) {
            (None, None) => names.extend(imports_in_line(line)),
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => fence = None,
            (Some(_), _) => {}
        }
    }
    names
}

fn imports_in_line(line: &str) -> impl Iterator<Item = &str> {
    // Every second piece between backticks is code.
    let plain = line.split('`').step_by(2);
    let words = plain.flat_map(str::split_whitespace);
    let named = words.filter_map(|word| word.trim_start_matches('(').strip_prefix('@'));
    let named = named.map(|name| name.trim_end_matches(['.', ',', ';', ':', '!', '?', ')', '"', '\'']));
    named.filter(|name| !name.is_empty() && !name.starts_with('@'))
}

/// The path of an import, if a file of this owner may import it.
pub(super) fn import_target(
    places: &InstructionPlaces<'_>,
    from: &Path,
    owner: InstructionOwner,
    name: &str,
) -> Result<PathBuf, OutsideProjectError> {
    let in_home = name.strip_prefix("~/").and_then(|below| Some(places.user_home?.join(below)));
    let folder = from.parent().unwrap_or(Path::new("/"));
    let file = normalize_path(&in_home.unwrap_or_else(|| folder.join(name)));
    match owner {
        InstructionOwner::User => Ok(file),
        InstructionOwner::Project if file.starts_with(project_top(places)) => Ok(file),
        InstructionOwner::Project => Err(OutsideProjectError),
    }
}
