//! Where definitions are looked for, strongest first.

use std::path::{Path, PathBuf};

use protocol::Source;

use super::Remote;
use super::commands::Naming;
use super::walk::Links;
use crate::gather::Choice;
use crate::trust::{Standing, is_home};

/// Where definitions are looked for.
#[derive(Debug)]
pub struct CatalogPlaces<'a> {
    /// Bosun's home.
    pub home: &'a Path,
    /// The user's own folder.
    pub user: Option<&'a Path>,
    /// The project's top.
    pub top: &'a Path,
    /// How the project stands.
    pub standing: Standing,
    /// Whose files are read.
    pub read: &'a [Choice],
    /// Plugins that the command line names.
    pub plugins: &'a [PathBuf],
    /// Definitions that the command line gives.
    pub given: Option<Given<'a>>,
    /// What is known of the remote catalogue.
    pub remote: Remote,
    /// The managed file that forbids hooks, if one does.
    pub no_hooks: Option<PathBuf>,
}

/// Definitions that the command line gives, as JSON.
#[derive(Debug, Clone, Copy)]
pub struct Given<'a> {
    /// What to call it when something is wrong with it.
    pub name: &'a Path,
    /// The JSON.
    pub text: &'a str,
}

/// Whose folder it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    Project,
    User,
}

/// A folder, or a file, that may be there.
#[derive(Debug, Clone)]
pub(super) struct Spot {
    pub(super) path: PathBuf,
    pub(super) owner: Owner,
}

impl Owner {
    /// Where a definition in such a folder was written.
    pub(super) fn source(self, file: &Path) -> Source {
        let path = file.display().to_string();
        match self {
            Owner::Project => Source::Project { path },
            Owner::User => Source::User { path },
        }
    }

    pub(super) fn links(self) -> Links {
        match self {
            Owner::Project => Links::Refused,
            Owner::User => Links::Followed,
        }
    }
}

impl CatalogPlaces<'_> {
    /// Folders of agents.
    pub(super) fn agents(&self) -> Vec<Spot> {
        self.folders(
            &[".bosun/agents", ".github/agents", ".claude/agents"],
            "agents",
            &[".copilot/agents", ".claude/agents"],
        )
    }

    /// Folders of skills.
    pub(super) fn skills(&self) -> Vec<Spot> {
        self.folders(
            &[".bosun/skills", ".github/skills", ".claude/skills", ".agents/skills"],
            "skills",
            &[".copilot/skills", ".claude/skills", ".agents/skills"],
        )
    }

    /// Folders of slash commands, with how their files are named.
    pub(super) fn commands(&self) -> Vec<(Spot, Naming)> {
        let project = [".bosun/commands", ".github/prompts", ".claude/commands"];
        let naming = |spot: Spot| match spot.path.ends_with(".github/prompts") {
            true => (spot, Naming::Prompt),
            false => (spot, Naming::Plain),
        };
        self.folders(&project, "commands", &[".claude/commands"]).into_iter().map(naming).collect()
    }

    /// Folders of files of hooks.
    pub(super) fn hooks(&self) -> Vec<Spot> {
        self.folders(&[".bosun/hooks", ".github/hooks"], "hooks", &[".copilot/hooks"])
    }

    /// Files of other programs' settings, which may hold hooks.
    pub(super) fn settings(&self) -> Vec<Spot> {
        let project = [".claude/settings.local.json", ".claude/settings.json"];
        self.folders(&project, "no-such-file", &[".claude/settings.json"])
    }

    fn folders(&self, project: &[&str], own: &str, user: &[&str]) -> Vec<Spot> {
        let mut users = Vec::new();
        if self.read.contains(&Choice::User) {
            users.push(self.home.join(own));
            users.extend(self.user.into_iter().flat_map(|folder| user.iter().map(|below| folder.join(below))));
        }
        let mut spots = Vec::new();
        if self.read.contains(&Choice::Project) {
            // In the user's own folder the project's files are the user's.
            let is_own =
                |path: &PathBuf| users.contains(path) || path.parent().is_some_and(|it| is_home(it, self.home));
            let paths = project.iter().map(|below| self.top.join(below)).filter(|path| !is_own(path));
            spots.extend(paths.map(|path| Spot { path, owner: Owner::Project }));
        }
        spots.extend(users.into_iter().map(|path| Spot { path, owner: Owner::User }));
        spots
    }
}
