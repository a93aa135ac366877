//! Which of the files in a folder are definitions.

use std::path::{Path, PathBuf};

use super::DefinitionProblem;

/// Whether a file in a folder of agents is one. Notes for people are not.
pub(super) fn is_agent(file: &Path) -> bool {
    let name = file.file_name().map(|name| name.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    name.ends_with(".md") && !matches!(name.as_str(), "readme.md" | "agents.md" | "claude.md")
}

/// The skills among the files of a folder. What lies about there and is not a skill is told: somebody meant it as one.
pub(super) fn skill_files(folder: &Path, files: &[PathBuf], problems: &mut Vec<DefinitionProblem>) -> Vec<PathBuf> {
    let name = |file: &Path| file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let mut skills = Vec::new();
    for file in files {
        match name(file).as_str() {
            "SKILL.md" => skills.push(file.clone()),
            other if other.eq_ignore_ascii_case("skill.md") => {
                let words = "it is not named SKILL.md, so it is not a skill";
                problems.push(DefinitionProblem::error(file, words, "name it SKILL.md"));
            }
            other if file.parent() == Some(folder) && other.ends_with(".md") && other != "README.md" => {
                let words = "it lies beside the folders of skills, so it is not a skill";
                problems.push(DefinitionProblem::error(file, words, "move it to a folder of its own, as SKILL.md"));
            }
            _other => {}
        }
    }
    skills
}
