//! The layers of settings for one folder: which there are, what counts of them, and what comes of all together.

use std::path::{Path, PathBuf};

use policy::{Rule, RuleError};
use protocol::{PermissionMode, RuleEffect, RuleText};

use crate::config::Config;
use crate::file::{Feature, File, Permissions};
use crate::foreign::{self, Foreign};
use crate::origin::Origin;
use crate::project::{CONFIG, Project, local_file};
use crate::read::ConfigError;
use crate::trust::{Standing, is_home};
use crate::values::{Value, flat};

/// Where whoever manages the machine puts settings.
pub const MANAGED_FILE: &str = "/etc/bosun/managed.toml";

/// One layer.
#[derive(Debug, Clone, PartialEq)]
pub struct Layer {
    /// Where it came from.
    pub origin: Origin,
    /// What it says.
    pub file: File,
}

/// Where layers are looked for.
#[derive(Debug, Clone)]
pub struct Places<'a> {
    /// Bosun's home.
    pub home: &'a Path,
    /// The user's own folder.
    pub user: Option<&'a Path>,
    /// A file that adds to the machine's managed settings.
    pub managed: Option<&'a Path>,
    /// The project.
    pub project: Project,
    /// How it stands.
    pub standing: Standing,
    /// Which files are read.
    pub read: &'a [Choice],
}

/// Files that can be left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// Those of the user.
    User,
    /// Those of the project.
    Project,
    /// That of the user for the project.
    Local,
}

impl Choice {
    /// Every one.
    pub const ALL: [Choice; 3] = [Choice::User, Choice::Project, Choice::Local];
}

/// Something about a file that a person should know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// The file.
    pub path: PathBuf,
    /// What.
    pub text: String,
    /// How much it matters.
    pub weight: Weight,
}

/// How much a notice matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weight {
    /// It is told at the start of a run.
    Warning,
    /// It is told to those who ask.
    Remark,
}

impl Notice {
    pub(crate) fn warning(path: &Path, text: String) -> Notice {
        Notice { path: path.to_owned(), text, weight: Weight::Warning }
    }

    pub(crate) fn remark(path: &Path, text: String) -> Notice {
        Notice { path: path.to_owned(), text, weight: Weight::Remark }
    }
}

/// The layers of settings for one folder.
#[derive(Debug, Clone)]
pub struct Layers {
    /// Strongest first.
    layers: Vec<Layer>,
    /// The project.
    pub project: Project,
    /// How it stands.
    pub standing: Standing,
    /// The keys of the project's file that do not count, since it is not trusted.
    pub ignored: Vec<String>,
    /// What a person should know.
    pub notices: Vec<Notice>,
}

impl Layers {
    /// Reads every file that is there.
    pub fn read(places: &Places<'_>) -> Result<Layers, ConfigError> {
        let Places { home, user, managed, project, standing, read } = places;
        let mut layers = Layers {
            layers: Vec::new(),
            project: project.clone(),
            standing: *standing,
            ignored: Vec::new(),
            notices: Vec::new(),
        };
        layers.add_managed(*managed)?;
        if let Some(stranger) = &project.stranger {
            let text = "this repository belongs to another user, so nothing of it but this folder is looked at";
            layers.notices.push(Notice::warning(stranger, text.into()));
        }
        for choice in *read {
            match choice {
                Choice::Local => {
                    let path = local_file(home, &project.top);
                    layers.add_present(File::read_present(&path)?, Origin::Local(path))?;
                }
                Choice::Project => layers.add_project(home)?,
                Choice::User => {
                    let path = home.join("config.toml");
                    layers.add_present(File::read_present(&path)?, Origin::User(path))?;
                    user.map(foreign::of_user).into_iter().for_each(|foreign| layers.add_foreign(foreign));
                }
            }
        }
        Ok(layers)
    }

    /// Adds a layer where its strength belongs.
    pub fn add(&mut self, layer: Layer) -> Result<(), ConfigError> {
        let Layer { origin, file } = &layer;
        match (origin, &file.managed) {
            (Origin::Managed(_), _) | (_, None) => {}
            (_, Some(_)) => return Err(ConfigError::NotManaged { origin: origin.to_string() }),
        }
        let place = self.layers.partition_point(|other| other.origin.rank() <= origin.rank());
        self.layers.insert(place, layer);
        Ok(())
    }

    /// Adds what a session was begun with. Its budget is its own: files of weaker layers speak of new sessions.
    pub fn add_session(&mut self, file: File) {
        let session = Layer { origin: Origin::Session, file };
        let place = self.layers.partition_point(|other| other.origin.rank() <= session.origin.rank());
        for weaker in self.layers.iter_mut().skip(place) {
            weaker.file.budget = crate::file::Spending::default();
        }
        self.layers.insert(place, session);
    }

    /// Everything that counts, with what no layer says filled in.
    pub fn config(&self) -> Config {
        let files = self.layers.iter().map(|layer| layer.file.clone());
        files.reduce(File::over).unwrap_or_default().resolve()
    }

    /// Every rule, strongest first.
    pub fn rules(&self) -> Result<Vec<Rule>, RuleError> {
        let all = self.layers.iter().flat_map(|layer| written(&layer.file).map(|rule| (rule, layer.origin.source())));
        all.map(|((effect, text), source)| Rule::parse(effect, text, source)).collect()
    }

    /// The rules that belong to the session from now on: its own, and those of the command line.
    pub fn session_rules(&self) -> Vec<RuleText> {
        let mut rules = Vec::new();
        for layer in self.layers.iter().rev().filter(|layer| layer.origin.is_of_session()) {
            for (effect, text) in written(&layer.file) {
                let rule = RuleText { effect, rule: text.to_owned() };
                if !rules.contains(&rule) {
                    rules.push(rule);
                }
            }
        }
        rules
    }

    /// More folders of the workspace, each with where it was named. In a file they begin at the project's top.
    pub fn roots(&self, user: Option<&Path>) -> Vec<(PathBuf, Origin)> {
        let full = |path: &Path| match (path.strip_prefix("~"), user) {
            (Ok(below), Some(user)) => user.join(below),
            (Ok(_), None) | (Err(_), _) => self.project.top.join(path),
        };
        let named = |layer: &Layer| {
            let origin = layer.origin.clone();
            layer.file.workspace.add_dirs.iter().map(|path| (full(path), origin.clone())).collect::<Vec<_>>()
        };
        self.layers.iter().flat_map(named).collect()
    }

    /// Every setting that counts, by key.
    pub fn values(&self) -> Vec<Value> {
        let built_in = Layer { origin: Origin::BuiltIn, file: File::built_in() };
        let mut values: Vec<Value> = Vec::new();
        for Layer { origin, file } in self.layers.iter().chain([&built_in]) {
            for (key, value) in flat(file) {
                let origin = origin.clone();
                match value {
                    serde_json::Value::Array(list) => {
                        values.extend(list.into_iter().map(|value| Value {
                            key: key.clone(),
                            value,
                            origin: origin.clone(),
                        }));
                    }
                    _scalar if values.iter().any(|stronger| stronger.key == key) => {}
                    value => values.push(Value { key, value, origin }),
                }
            }
        }
        values.sort_by(|a, b| a.key.cmp(&b.key));
        values
    }

    /// The managed file that forbids something.
    pub fn forbids(&self, feature: Feature) -> Option<&Path> {
        let forbids =
            |layer: &&Layer| layer.file.managed.as_ref().is_some_and(|managed| managed.forbid.contains(&feature));
        self.layers.iter().find(forbids).and_then(|layer| layer.origin.file())
    }

    /// Fails when a layer asks for what a managed file forbids.
    pub fn check(&self) -> Result<(), ConfigError> {
        let Some(by) = self.forbids(Feature::AllowAll) else { return Ok(()) };
        let allows_all =
            |layer: &&Layer| layer.file.permissions.mode.is_some_and(|mode| mode.0 == PermissionMode::AllowAll);
        match self.layers.iter().find(allows_all) {
            None => Ok(()),
            Some(layer) => Err(ConfigError::Forbidden { by: by.to_owned(), origin: layer.origin.to_string() }),
        }
    }

    fn add_managed(&mut self, named: Option<&Path>) -> Result<(), ConfigError> {
        let usual = Path::new(MANAGED_FILE);
        self.add_present(File::read_present(usual)?, Origin::Managed(usual.to_owned()))?;
        if let Some(path) = named {
            let missing = || ConfigError::Missing { named_by: crate::env::MANAGED, path: path.to_owned() };
            let file = File::read_present(path)?.ok_or_else(missing)?;
            self.add(Layer { origin: Origin::Managed(path.to_owned()), file })?;
        }
        Ok(())
    }

    /// Adds what may count of the project's files: all of it when it is trusted, else only what narrows.
    fn add_project(&mut self, home: &Path) -> Result<(), ConfigError> {
        let top = self.project.top.clone();
        if !is_home(&top.join(".bosun"), home) {
            let path = top.join(CONFIG);
            let file = File::read_below(&top, CONFIG)?;
            let counts = match (file, self.standing) {
                (Some(file), Standing::Changed | Standing::Untrusted) => Some(self.narrow(file, &path)),
                (file, Standing::Trusted) | (file @ None, _) => file,
            };
            self.add_present(counts, Origin::Project(path))?;
        }
        for below in [".claude/settings.local.json", ".claude/settings.json"] {
            self.add_foreign(foreign::of_project(&top, below));
        }
        Ok(())
    }

    /// What of an untrusted file counts.
    fn narrow(&mut self, file: File, path: &Path) -> File {
        let Permissions { ask, deny, .. } = file.permissions.clone();
        let narrow = File { permissions: Permissions { ask, deny, ..Permissions::default() }, ..File::default() };
        let kept: Vec<String> = flat(&narrow).into_iter().map(|(key, _)| key).collect();
        self.ignored = flat(&file).into_iter().map(|(key, _)| key).filter(|key| !kept.contains(key)).collect();
        if !self.ignored.is_empty() {
            let why = match self.standing {
                Standing::Changed => "the project has changed since you trusted it",
                Standing::Untrusted | Standing::Trusted => "you have not trusted the project",
            };
            let keys = self.ignored.join(", ");
            self.notices.push(Notice::warning(path, format!("ignored, since {why}: {keys}; `bosun trust` shows more")));
        }
        // It stays, so that a table that belongs elsewhere is an error in any case.
        File { managed: file.managed, ..narrow }
    }

    fn add_present(&mut self, file: Option<File>, origin: Origin) -> Result<(), ConfigError> {
        file.map_or(Ok(()), |file| self.add(Layer { origin, file }))
    }

    fn add_foreign(&mut self, foreign: Foreign) {
        self.notices.extend(foreign.notices);
        // It has no managed table, so nothing of it can be refused.
        self.layers.extend(foreign.layer);
        self.layers.sort_by_key(|layer| layer.origin.rank());
    }
}

/// The rules of a file.
fn written(file: &File) -> impl Iterator<Item = (RuleEffect, &str)> {
    let Permissions { mode: _, allow, ask, deny } = &file.permissions;
    let lists = [(RuleEffect::Deny, deny), (RuleEffect::Ask, ask), (RuleEffect::Allow, allow)];
    lists.into_iter().flat_map(|(effect, rules)| rules.iter().map(move |rule| (effect, rule.text())))
}
