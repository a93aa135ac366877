//! Where definitions are searched for, strongest first.

use std::path::{Path, PathBuf};

use protocol::{DefinitionSource, SettingsFileScope};

use super::RemoteDefinitions;
use super::commands::CommandFileNaming;
use super::walk::LinkPolicy;
use crate::trust::{TrustStatus, is_home};

/// Where definitions are searched for.
#[derive(Debug)]
pub struct CatalogLocations<'a> {
    /// Bosun's home.
    pub home: &'a Path,
    /// The user's home folder.
    pub user_home: Option<&'a Path>,
    /// The project's top.
    pub project_dir: &'a Path,
    /// Whether the user trusts the project.
    pub trust: TrustStatus,
    /// The scopes whose files are read.
    pub scopes: &'a [SettingsFileScope],
    /// Plugins named on the command line.
    pub plugins: &'a [PathBuf],
    /// Folders with skills among the session's options.
    pub skill_dirs: &'a [PathBuf],
    /// Definitions among the session's options.
    pub inline: &'a [InlineDefinitions<'a>],
    /// The remote catalogue's definitions and state.
    pub remote: RemoteDefinitions,
    /// The managed file that forbids hooks, if any.
    pub hooks_forbidden_by: Option<PathBuf>,
}

/// Definitions among the options of a session, as JSON.
#[derive(Debug, Clone, Copy)]
pub struct InlineDefinitions<'a> {
    /// Its name in error messages.
    pub name: &'a Path,
    /// The JSON.
    pub text: &'a str,
}

/// Who owns a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FolderOwner {
    Project,
    User,
}

/// A folder or file that may exist.
#[derive(Debug, Clone)]
pub(super) struct CatalogFolder {
    pub(super) path: PathBuf,
    pub(super) owner: FolderOwner,
}

impl FolderOwner {
    /// The source of a definition in such a folder.
    pub(super) fn source(self, file: &Path) -> DefinitionSource {
        let path = file.display().to_string();
        match self {
            FolderOwner::Project => DefinitionSource::Project { path },
            FolderOwner::User => DefinitionSource::User { path },
        }
    }

    pub(super) fn link_policy(self) -> LinkPolicy {
        match self {
            FolderOwner::Project => LinkPolicy::Refused,
            FolderOwner::User => LinkPolicy::Followed,
        }
    }
}

impl CatalogLocations<'_> {
    /// Folders of agents.
    pub(super) fn agents(&self) -> Vec<CatalogFolder> {
        self.folders(
            &[".bosun/agents", ".github/agents", ".claude/agents"],
            "agents",
            &[".copilot/agents", ".claude/agents"],
        )
    }

    /// Folders of skills.
    pub(super) fn skills(&self) -> Vec<CatalogFolder> {
        let named = self.skill_dirs.iter().map(|path| CatalogFolder { path: path.clone(), owner: FolderOwner::User });
        let found = self.folders(
            &[".bosun/skills", ".github/skills", ".claude/skills", ".agents/skills"],
            "skills",
            &[".copilot/skills", ".claude/skills", ".agents/skills"],
        );
        named.chain(found).collect()
    }

    /// Folders of slash commands, with their file naming.
    pub(super) fn commands(&self) -> Vec<(CatalogFolder, CommandFileNaming)> {
        let project = [".bosun/commands", ".github/prompts", ".claude/commands"];
        let naming = |folder: CatalogFolder| match folder.path.ends_with(".github/prompts") {
            true => (folder, CommandFileNaming::Prompt),
            false => (folder, CommandFileNaming::Plain),
        };
        self.folders(&project, "commands", &[".claude/commands"]).into_iter().map(naming).collect()
    }

    /// Folders of hook files.
    pub(super) fn hooks(&self) -> Vec<CatalogFolder> {
        self.folders(&[".bosun/hooks", ".github/hooks"], "hooks", &[".copilot/hooks"])
    }

    /// Settings files of other programs, which may define hooks.
    pub(super) fn settings(&self) -> Vec<CatalogFolder> {
        let project = [".claude/settings.local.json", ".claude/settings.json"];
        self.folders(&project, "no-such-file", &[".claude/settings.json"])
    }

    fn folders(&self, project: &[&str], own: &str, user: &[&str]) -> Vec<CatalogFolder> {
        let mut user_folders = Vec::new();
        if self.scopes.contains(&SettingsFileScope::User) {
            user_folders.push(self.home.join(own));
            user_folders
                .extend(self.user_home.into_iter().flat_map(|folder| user.iter().map(|below| folder.join(below))));
        }
        let mut folders = Vec::new();
        if self.scopes.contains(&SettingsFileScope::Project) {
            // In the user's home folder, the project's files are the user's own.
            let is_own =
                |path: &PathBuf| user_folders.contains(path) || path.parent().is_some_and(|it| is_home(it, self.home));
            let paths = project.iter().map(|below| self.project_dir.join(below)).filter(|path| !is_own(path));
            folders.extend(paths.map(|path| CatalogFolder { path, owner: FolderOwner::Project }));
        }
        folders.extend(user_folders.into_iter().map(|path| CatalogFolder { path, owner: FolderOwner::User }));
        folders
    }
}
