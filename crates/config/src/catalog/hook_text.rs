//! Texts that define hooks, as found, and the hooks in them.

use std::path::{Path, PathBuf};

use hooks::HookFileLocation;
use protocol::{HookAction, HookSpec};

use super::{DefinitionProblem, FilePosition, Severity};
use crate::hook_files::{self, HookFileRole};

/// A text that defines hooks: JSON, in Claude's or Copilot's format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookText {
    /// The file it was found in.
    pub file: PathBuf,
    /// The kind of file.
    pub holder: HookHolder,
    /// The plugin's folder, if a plugin provides it.
    pub plugin: Option<PathBuf>,
    /// The top of the project, if the project provides it.
    pub project_dir: Option<PathBuf>,
    /// The text.
    pub text: String,
}

/// The kind of file that a text with hooks comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookHolder {
    /// A hook file.
    File,
    /// A settings file with a `hooks` key.
    Settings,
    /// The `hooks` value of an agent's frontmatter, with the agent's name.
    Agent(String),
}

impl HookText {
    /// Returns its hooks and problems. A project's hooks are pinned to the project's files as they are now.
    pub fn read(&self) -> (Vec<HookSpec>, Vec<DefinitionProblem>) {
        let place = self
            .plugin
            .as_ref()
            .map_or(HookFileLocation::Folder, |root| HookFileLocation::Plugin { root: root.clone() });
        let file = self.file.display().to_string();
        let (mut specs, problems) = match &self.holder {
            HookHolder::File | HookHolder::Settings => hooks::read(&self.text, &file, &place),
            HookHolder::Agent(_) => match serde_json::from_str(&self.text) {
                Ok(value) => hooks::read_value(&value, &file, &place),
                // Unreachable in practice: the text was serialised from parsed JSON.
                Err(_no_json) => hooks::read(&self.text, &file, &place),
            },
        };
        if let Some(top) = &self.project_dir {
            specs.iter_mut().for_each(|spec| spec.programs = hook_files::pinned_programs(spec, top));
        }
        (specs, problems.into_iter().map(|problem| self.to_problem(problem)).collect())
    }

    /// Whether it disables all hooks, including those of other files.
    pub fn disables_all(&self) -> bool {
        hooks::disables_all(&self.text)
    }

    fn to_problem(&self, problem: hooks::HookProblem) -> DefinitionProblem {
        let position = |at: hooks::TextPosition| {
            let number = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
            FilePosition { line: number(at.line), column: number(at.column) }
        };
        DefinitionProblem {
            file: self.file.clone(),
            at: problem.position.map(position),
            severity: Severity::Warning,
            message: problem.message,
            remedy: problem.remedy,
        }
    }
}

/// The scripts in the workspace and the user's folder that a hook runs, which agents may not change. Agents may change
/// files that define tasks, such as `package.json`; hooks do not run with changed ones.
pub fn hook_programs(spec: &HookSpec, folders: &[&Path], user: Option<&Path>) -> Vec<PathBuf> {
    let HookAction::Command { cwd, .. } = &spec.action else { return Vec::new() };
    let mut paths = Vec::new();
    for folder in folders {
        let from = cwd.as_ref().map_or_else(|| (*folder).to_owned(), |cwd| folder.join(cwd));
        let files = hook_files::files_run(&spec.action, folder, user).into_iter();
        let paths_of_scripts =
            files.filter(|program| program.role == HookFileRole::Script).map(|program| program.full_path(&from));
        let is_in_workspace = |path: &PathBuf| folders.iter().any(|folder| path.starts_with(folder));
        let is_users = |path: &PathBuf| user.is_some_and(|user| path.starts_with(user) && hook_files::is_script(path));
        paths.extend(paths_of_scripts.filter(|path| is_in_workspace(path) || is_users(path)));
    }
    paths
}
