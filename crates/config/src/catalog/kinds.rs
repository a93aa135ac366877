//! Decides which files in a folder are definitions.

use std::path::{Path, PathBuf};

use super::DefinitionProblem;

/// Whether a file in an agents folder defines an agent. A README, for example, does not.
pub(super) fn is_markdown_definition(file: &Path) -> bool {
    let name = file.file_name().map(|name| name.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    name.ends_with(".md") && !matches!(name.as_str(), "readme.md" | "agents.md" | "claude.md")
}

/// The skills among the files of a folder. Reports other Markdown files: the author probably meant them as skills.
pub(super) fn skill_files(folder: &Path, files: &[PathBuf], problems: &mut Vec<DefinitionProblem>) -> Vec<PathBuf> {
    let name = |file: &Path| file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let mut skills = Vec::new();
    for file in files {
        match name(file).as_str() {
            "SKILL.md" => skills.push(file.clone()),
            other if other.eq_ignore_ascii_case("skill.md") => {
                let message = "it is not named SKILL.md, so it is not a skill";
                problems.push(DefinitionProblem::error(file, message, "name it SKILL.md"));
            }
            other if file.parent() == Some(folder) && other.ends_with(".md") && other != "README.md" => {
                let message = "it is not in a folder of its own, so it is not a skill";
                problems.push(DefinitionProblem::error(file, message, "move it to a folder of its own, as SKILL.md"));
            }
            _other => {}
        }
    }
    skills
}
