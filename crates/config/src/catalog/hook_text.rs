//! Texts that hold hooks, as they were found, and the hooks in them.

use std::path::{Path, PathBuf};

use hooks::HookFileLocation;
use protocol::{HookAction, HookSpec};

use super::{DefinitionProblem, FilePosition, Severity};
use crate::hook_files::{self, HookFileRole};

/// A text that holds hooks: JSON, in either family's form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookText {
    /// The file it was found in.
    pub file: PathBuf,
    /// What else the text is.
    pub holder: HookHolder,
    /// The plugin's folder, if it is one's.
    pub plugin: Option<PathBuf>,
    /// The project's top, if it is the project's.
    pub top: Option<PathBuf>,
    /// The text.
    pub text: String,
}

/// What a text with hooks is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookHolder {
    /// A file of hooks.
    File,
    /// A file of settings, whose `hooks` they are.
    Settings,
    /// The head of an agent's file, of which this is what `hooks` says.
    Agent(String),
}

impl HookText {
    /// The hooks in it, and what is wrong with it. Those of a project run with the files of the project as they are now,
    /// and with no others.
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
                // It was made from what was read.
                Err(_no_json) => hooks::read(&self.text, &file, &place),
            },
        };
        if let Some(top) = &self.top {
            specs.iter_mut().for_each(|spec| spec.programs = hook_files::pinned_programs(spec, top));
        }
        (specs, problems.into_iter().map(|problem| self.to_problem(problem)).collect())
    }

    /// Whether it says that no hooks are to run, wherever they are written.
    pub fn disables_all(&self) -> bool {
        hooks::disables_all(&self.text)
    }

    fn to_problem(&self, problem: hooks::HookProblem) -> DefinitionProblem {
        let spot = |at: hooks::TextPosition| {
            let number = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
            FilePosition { line: number(at.line), column: number(at.column) }
        };
        DefinitionProblem {
            file: self.file.clone(),
            at: problem.at.map(spot),
            severity: Severity::Warning,
            message: problem.message,
            remedy: problem.remedy,
        }
    }
}

/// The files in a workspace that a hook runs there, and those of the user: no agent may change them. Files that say what
/// tasks are, such as `package.json`, stay open to agents; hooks do not run with changed ones.
pub fn hook_programs(spec: &HookSpec, folders: &[&Path], user: Option<&Path>) -> Vec<PathBuf> {
    let HookAction::Command { cwd, .. } = &spec.action else { return Vec::new() };
    let mut paths = Vec::new();
    for folder in folders {
        let from = cwd.as_ref().map_or_else(|| (*folder).to_owned(), |cwd| folder.join(cwd));
        let run = hook_files::programs(&spec.action, folder, user).into_iter();
        let places = run.filter(|program| program.role == HookFileRole::Script).map(|program| program.at(&from));
        let is_near = |path: &PathBuf| folders.iter().any(|folder| path.starts_with(folder));
        let is_users = |path: &PathBuf| user.is_some_and(|user| path.starts_with(user) && hook_files::is_script(path));
        paths.extend(places.filter(|path| is_near(path) || is_users(path)));
    }
    paths
}
