//! The layers of settings for a folder, and the policy that comes of them.

use std::fmt::Display;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};

use config::{
    ConfigError, Entrusted, File, Layer, Layers, Limits, Lists, Mode, Origin, Permissions, Places, Project, Spending,
    Standing, Usd, Weight, Workspace,
};
use host::Home;
use policy::Policy;
use protocol::Budget;
use protocol::api::SessionView;
use store::Trust;

use super::{Found, Setup, folder, real_folder};
use crate::args::{DefinitionArgs, PermitArgs, RunArgs};
use crate::failure::Failure;
use crate::print;

impl Setup {
    /// Every layer that counts in a folder, which is given without links: files, the environment, the session that
    /// goes on, and what was typed.
    pub(crate) fn layers(
        &self,
        permit: &PermitArgs,
        typed: File,
        before: Option<&SessionView>,
        cwd: &Path,
    ) -> Result<Layers, Failure> {
        let project = Project::find(cwd);
        let (config_file, top) = (project.config_file(), project.top.clone());
        let places = Places {
            home: self.home.root(),
            user: self.env.user.as_deref(),
            managed: self.env.managed.as_deref(),
            standing: self.standing(&project),
            project,
            read: &permit.choices(),
        };
        let read = || -> Result<Layers, ConfigError> {
            let mut layers = Layers::read(&places)?;
            layers.add_environment(&self.env)?;
            layers.add(Layer { origin: Origin::Flag, file: typed })?;
            if let Some(given) = permit.settings.as_deref() {
                layers.add(given_layer(given)?)?;
            }
            Ok(layers)
        };
        let mut layers = read().map_err(|error| {
            let is_foreign = |path: &Path| path.extension().is_some_and(|end| end == "json");
            let hint = match error.path() {
                Some(path) if path == config_file || (path.starts_with(&top) && is_foreign(path)) => {
                    Some("--setting-sources user,local leaves the project's settings out")
                }
                Some(path) if is_foreign(path) => Some("--setting-sources project,local leaves your own settings out"),
                Some(_) | None => None,
            };
            let failure = refused(error);
            match hint {
                Some(hint) => failure.hint(hint),
                None => failure,
            }
        })?;
        if let Some(before) = before {
            layers.add_session(
                File::of_session(before).map_err(|error| refused(format!("session {}: {error}", before.id)))?,
            );
        }
        layers.check().map_err(|error| match before {
            Some(_) => refused(error).hint("--permission-mode gives a session another mode"),
            None => refused(error),
        })?;
        Ok(layers)
    }

    /// Every layer that counts in the working folder, without a session.
    pub(crate) fn here(&self) -> Result<Layers, Failure> {
        self.layers(&PermitArgs::default(), File::default(), None, &folder(None)?)
    }

    /// What calls may do in a folder.
    pub(crate) fn policy(
        &self,
        permit: &PermitArgs,
        before: Option<&SessionView>,
        cwd: &Path,
    ) -> Result<Policy, Failure> {
        let layers = self.layers(permit, permit.file()?, before, cwd)?;
        let found = self.found(&layers, &permit.choices(), &DefinitionArgs::default())?;
        self.policy_of(&layers, &found, cwd, &self.roots(&layers)?)
    }

    /// How a project stands.
    pub(crate) fn standing(&self, project: &Project) -> Standing {
        standing(&self.home, project)
    }

    pub(super) fn policy_of(
        &self,
        layers: &Layers,
        found: &Found,
        cwd: &Path,
        roots: &[PathBuf],
    ) -> Result<Policy, Failure> {
        let top = layers.project.top.clone();
        let folders: Vec<&Path> = [top.as_path(), cwd].into_iter().chain(roots.iter().map(PathBuf::as_path)).collect();
        let user = self.env.user.as_deref();
        let mut controls = config::all_controls(self.home.root(), user, layers, &folders);
        controls.extend(found.programs(&folders, user));
        controls.sort();
        controls.dedup();
        Ok(Policy {
            mode: layers.config().mode,
            rules: layers.rules().map_err(refused)?,
            top,
            roots: roots.to_vec(),
            user: self.env.user.clone(),
            controls,
            spared: Vec::new(),
        })
    }

    /// More folders of the workspace, as they really are. A session goes on without one that is gone.
    pub(super) fn roots(&self, layers: &Layers) -> Result<Vec<PathBuf>, Failure> {
        let mut roots = Vec::new();
        for (path, origin) in layers.roots(self.env.user.as_deref()) {
            let real = match real_folder(&path) {
                Ok(real) => real,
                Err(error) => {
                    let problem = format!("cannot work in {}, named by {origin}: {error}", path.display());
                    if origin != Origin::Session {
                        return Err(refused(problem));
                    }
                    print::note(print::plain(&problem));
                    continue;
                }
            };
            if !roots.contains(&real) {
                roots.push(real);
            }
        }
        Ok(roots)
    }
}

/// How a project stands with whoever has this home. One that nobody can look up is not trusted.
pub(crate) fn standing(home: &Home, project: &Project) -> Standing {
    if !Entrusted::exist(&project.top, home.root()) {
        return Standing::Untrusted;
    }
    let remembered = project.top.to_str().and_then(|top| {
        let looked_up = Trust::open(home).and_then(|trust| trust.digest(top));
        looked_up.unwrap_or_else(|error| {
            tracing::warn!(%error, "trust cannot be looked up");
            None
        })
    });
    Standing::of(&project.top, home.root(), remembered.as_deref())
}

impl PermitArgs {
    /// Warns of typed rules about tools that do not exist: they match nothing.
    pub(super) fn tell_unknown_tools(&self) {
        for rule in [&self.allow, &self.ask, &self.deny].into_iter().flatten() {
            if let Some(tool) = rule.unknown_tool() {
                let rule = rule.text();
                let text = format!("warning: the rule `{rule}` matches nothing: there is no tool called `{tool}`");
                print::note(print::plain(&text));
            }
        }
    }

    /// What was typed, as a layer of settings.
    pub(crate) fn file(&self) -> Result<File, Failure> {
        let PermitArgs { allow, ask, deny, add_dir, .. } = self;
        let here = |folder: &PathBuf| {
            std::path::absolute(folder)
                .map_err(|error| refused(format!("cannot work in {}: {error}", folder.display())))
        };
        Ok(File {
            permissions: Permissions {
                mode: self.mode().map(Mode),
                allow: allow.clone(),
                ask: ask.clone(),
                deny: deny.clone(),
            },
            workspace: Workspace { add_dirs: add_dir.iter().map(here).collect::<Result<_, _>>()? },
            ..File::default()
        })
    }
}

impl RunArgs {
    /// What was typed, as a layer of settings.
    pub(crate) fn file(&self) -> Result<File, Failure> {
        Ok(File {
            model: self.model.clone(),
            effort: self.effort.map(Into::into),
            max_turns: self.max_turns,
            lists: Lists { chosen: self.list.clone() },
            budget: spending(Budget { tokens: self.max_tokens_total, micros: self.max_budget_usd }),
            limits: Limits {
                live: self.limits.max_agents,
                depth: self.limits.max_depth,
                total: self.limits.max_total_agents,
                continues: self.mode.max_continues,
                ..Limits::default()
            },
            ..self.permit.file()?
        })
    }
}

/// Tells what of the files a person should know at the start of a run.
pub(super) fn tell(layers: &Layers) {
    for notice in layers.notices.iter().filter(|notice| notice.weight == Weight::Warning) {
        print::note(print::plain(&format!("{}: {}", notice.path.display(), notice.text)));
    }
}

/// Settings that cannot be used. What is wrong with them may repeat what a stranger wrote.
pub(crate) fn refused(error: impl Display) -> Failure {
    Failure::usage(print::plain(&error.to_string()))
}

/// The layer of `--settings`.
fn given_layer(given: &str) -> Result<Layer, ConfigError> {
    if given.trim_start().starts_with('{') {
        let file = File::parse(given, Path::new("--settings"))?;
        return Ok(Layer { origin: Origin::Given(None), file });
    }
    let path = Path::new(given);
    let missing = || ConfigError::Missing { named_by: "--settings", path: path.to_owned() };
    let file = File::read_present(path)?.ok_or_else(missing)?;
    Ok(Layer { origin: Origin::Given(Some(path.to_owned())), file })
}

fn spending(budget: Budget) -> Spending {
    Spending { usd: budget.micros.map(Usd), tokens: budget.tokens.and_then(NonZeroU64::new), day_usd: None }
}
