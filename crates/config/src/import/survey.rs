//! Gathers what is found, and compares it with what Bosun's own files say.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use protocol::{PermissionMode, ReasoningEffort, RuleEffect};
use serde_json::Value;

use super::ImportLocations;
use super::finding::{ImportChange, ImportContent, ImportFinding, ImportOutcome};
use super::product_file::{ProductFile, SourceOwner};
use super::values;
use crate::edit::{self, KeyPath, SettingsEntry};
use crate::file::SettingsFile;
use crate::permissions::RuleLine;
use crate::project::local_file;
use crate::read::ConfigError;
use crate::trust::TrustStatus;
use crate::values::{flatten, key_of};
use crate::variables::{is_settable, may_be_secret};

/// What was found so far.
pub(super) struct ImportSurvey<'a> {
    pub(super) places: &'a ImportLocations<'a>,
    pub(super) findings: Vec<ImportFinding>,
    /// What each of the two files of settings says, with what is to be written to it.
    files: BTreeMap<PathBuf, BTreeMap<String, Value>>,
}

/// Whether something lets agents do more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PermissionEffect {
    Widens,
    Narrows,
}

impl<'a> ImportSurvey<'a> {
    pub(super) fn new(places: &'a ImportLocations<'a>) -> Result<ImportSurvey<'a>, ConfigError> {
        let mut files = BTreeMap::new();
        for path in [user_file(places), project_file(places)] {
            let says = flatten(&SettingsFile::parse(&edit::text(&path)?, &path)?).into_iter().collect();
            files.insert(path, says);
        }
        Ok(ImportSurvey { places, findings: Vec::new(), files })
    }

    fn add(&mut self, file: &Path, found: impl Into<String>, outcome: ImportOutcome) {
        self.findings.push(ImportFinding { file: file.to_owned(), subject: found.into(), outcome });
    }

    /// Something that cannot be read.
    pub(super) fn invalid(&mut self, file: &Path, found: impl Into<String>, why: String) {
        self.add(file, found, ImportOutcome::Invalid(why));
    }

    /// Something that has no place in Bosun.
    pub(super) fn not_imported(&mut self, file: &Path, found: impl Into<String>, why: impl Into<String>) {
        self.add(file, found, ImportOutcome::NotImported(why.into()));
    }

    /// Something that Bosun reads where it is; of a project only what narrows, until it is trusted.
    pub(super) fn in_place(&mut self, source: &ProductFile, found: impl Into<String>) {
        self.add(&source.path, found, ImportOutcome::InPlace(String::new()));
    }

    /// Definitions and instructions that Bosun reads where they are.
    pub(super) fn read_in_place(&mut self, path: &Path, found: String, needs_trust: bool) {
        let when = match self.places.trust {
            TrustStatus::Untrusted | TrustStatus::Changed if needs_trust => "once you trust the project: `bosun trust`",
            TrustStatus::Trusted | TrustStatus::Untrusted | TrustStatus::Changed => "",
        };
        self.add(path, found, ImportOutcome::InPlace(when.into()));
    }

    /// A rule, in the words of any of the products.
    pub(super) fn rule(&mut self, source: &ProductFile, found: String, effect: RuleEffect, text: &str) {
        let rule = match RuleLine::parse(text) {
            Ok(rule) => rule,
            Err(error) => {
                let at = source.line(text).map(|line| format!("line {line}: ")).unwrap_or_default();
                let why = format!("{at}{}; correct or remove it", protocol::clip_middle(&error.to_string(), 400));
                return self.invalid(&source.path, found, why);
            }
        };
        if let Some(tool) = rule.unknown_tool() {
            let why = format!("Bosun has no tool called `{tool}`, so the rule would match nothing");
            return self.not_imported(&source.path, found, why);
        }
        let widens = match effect {
            RuleEffect::Allow => PermissionEffect::Widens,
            RuleEffect::Ask | RuleEffect::Deny => PermissionEffect::Narrows,
        };
        let keys = vec!["permissions".into(), effect.as_str().into()];
        self.entry(source, found, (keys, SettingsEntry::Listed(rule.text().into())), widens);
    }

    /// The mode that sessions begin in.
    pub(super) fn mode(&mut self, source: &ProductFile, found: String, mode: PermissionMode) {
        match (mode, self.places.no_allow_all) {
            (PermissionMode::AllowAll, Some(by)) => {
                let why = format!("{} forbids the mode allow-all", by.display());
                self.not_imported(&source.path, found, why);
            }
            (mode, _) => {
                let effect = match mode {
                    PermissionMode::Default | PermissionMode::Plan => PermissionEffect::Narrows,
                    PermissionMode::AcceptEdits | PermissionMode::AllowAll => PermissionEffect::Widens,
                };
                self.entry(source, found, text(&["permissions", "mode"], mode.as_str()), effect);
            }
        }
    }

    /// The model that sessions ask, by the name that it has elsewhere.
    pub(super) fn foreign_model(&mut self, source: &ProductFile, name: &str) {
        let found = format!("model {name}");
        match values::model(name) {
            Ok(model) => self.model(source, found, &model),
            Err(why) => self.not_imported(&source.path, found, why),
        }
    }

    /// The model that sessions ask.
    pub(super) fn model(&mut self, source: &ProductFile, found: String, model: &str) {
        self.entry(source, found, text(&["model"], model), PermissionEffect::Widens);
    }

    /// How hard the model thinks.
    pub(super) fn effort(&mut self, source: &ProductFile, found: String, effort: &str) {
        let nearest = match effort {
            "minimal" | "none" => "low",
            "xhigh" | "max" => "high",
            other => other,
        };
        if serde_json::from_value::<ReasoningEffort>(nearest.into()).is_ok() {
            return self.entry(source, found, text(&["effort"], nearest), PermissionEffect::Widens);
        }
        self.not_imported(&source.path, found, "Bosun knows the efforts low, medium and high");
    }

    /// A folder that tools may reach.
    pub(super) fn folder(&mut self, source: &ProductFile, folder: &str) {
        let found = format!("directory {folder}");
        let keys = vec!["workspace".into(), "add-dirs".into()];
        let full = match (folder.strip_prefix("~/"), self.places.user) {
            (Some(below), Some(user)) => user.join(below),
            (_, _) => self.places.project.top.join(folder),
        };
        let is_relative = !folder.starts_with(['/', '~']);
        if is_relative && matches!(source.owner, SourceOwner::User | SourceOwner::Relocated) {
            let why = "a relative path means another folder in every project; write it into your file for a project";
            return self.not_imported(&source.path, found, why);
        }
        if !full.is_dir() {
            // A folder that is missing would stop every run.
            return self.not_imported(&source.path, found, "there is no such folder");
        }
        self.entry(source, found, (keys, SettingsEntry::Listed(folder.into())), PermissionEffect::Widens);
    }

    /// A variable for programs. The value of one that may be a key is neither shown nor written.
    pub(super) fn variable(&mut self, source: &ProductFile, name: &str, value: &str) {
        let is_secret = may_be_secret(name, value);
        let found = if is_secret { format!("env {name}") } else { format!("env {name} = {value}") };
        if !is_settable(name) {
            return self.not_imported(&source.path, format!("env {name}"), "it is not a name that can be set");
        }
        if !is_secret {
            let keys = vec!["environment".into(), "set".into(), name.into()];
            return self.entry(source, found, (keys, SettingsEntry::Text(value.into())), PermissionEffect::Widens);
        }
        let keys = vec!["environment".into(), "pass".into()];
        self.entry(
            source,
            format!("{found} (name only: set it where you start bosun)"),
            (keys, SettingsEntry::Listed(name.into())),
            PermissionEffect::Widens,
        );
    }

    /// Variables that programs do not get.
    pub(super) fn hidden(&mut self, source: &ProductFile, found: String, pattern: &str) {
        let keys = vec!["environment".into(), "hide".into()];
        self.entry(source, found, (keys, SettingsEntry::Listed(pattern.into())), PermissionEffect::Narrows);
    }

    /// A file or folder that is copied into Bosun's home.
    pub(super) fn copy(&mut self, from: &Path, below: &Path, found: String) {
        let into = self.places.home.join(below);
        let what =
            if from.is_dir() { ImportContent::Folder(from.to_owned()) } else { ImportContent::File(from.to_owned()) };
        let is_there = into.symlink_metadata().is_ok();
        let change = ImportChange { into, what };
        let outcome = match is_there {
            true => ImportOutcome::Conflicting { change, kept: "one of that name".into() },
            false => ImportOutcome::Written(change),
        };
        self.add(from, found, outcome);
    }

    fn entry(
        &mut self,
        source: &ProductFile,
        found: String,
        (keys, entry): (KeyPath, SettingsEntry),
        effect: PermissionEffect,
    ) {
        if let Some(why) = self.blocked_reason(source.owner, effect) {
            return self.not_imported(&source.path, found, why);
        }
        let into = match source.owner {
            SourceOwner::User | SourceOwner::Relocated => user_file(self.places),
            SourceOwner::Local | SourceOwner::Project | SourceOwner::OutsideTrust => project_file(self.places),
        };
        let key = key_of(&keys);
        let says = self.files.entry(into.clone()).or_default();
        let there = says.get(&key).cloned();
        let change = ImportChange { into, what: ImportContent::Entry(keys, entry.clone()) };
        let outcome = match (&entry, there) {
            (SettingsEntry::Listed(text), Some(Value::Array(list))) if list.contains(&Value::from(text.as_str())) => {
                ImportOutcome::AlreadyPresent(change)
            }
            (SettingsEntry::Listed(text), there) => {
                let mut list = there.and_then(|list| list.as_array().cloned()).unwrap_or_default();
                list.push(text.as_str().into());
                says.insert(key, list.into());
                ImportOutcome::Written(change)
            }
            (SettingsEntry::Text(text), Some(there)) if there == text.as_str() => ImportOutcome::AlreadyPresent(change),
            (SettingsEntry::Text(_), Some(there)) => {
                let there = there.as_str().map_or_else(|| there.to_string(), str::to_owned);
                ImportOutcome::Conflicting { change, kept: format!("{key} = {there}") }
            }
            (SettingsEntry::Text(text), None) => {
                says.insert(key, text.as_str().into());
                ImportOutcome::Written(change)
            }
        };
        self.add(&source.path, found, outcome);
    }

    /// Why what a file says may not count here.
    fn blocked_reason(&self, owner: SourceOwner, effect: PermissionEffect) -> Option<&'static str> {
        match (owner, effect, self.places.trust) {
            (SourceOwner::User | SourceOwner::Relocated | SourceOwner::Local, _, _)
            | (_, PermissionEffect::Narrows, _) => None,
            (SourceOwner::Project, PermissionEffect::Widens, TrustStatus::Trusted) => None,
            (SourceOwner::Project, PermissionEffect::Widens, TrustStatus::Untrusted) => {
                Some("you have not trusted the project; `bosun trust`, then import again")
            }
            (SourceOwner::Project, PermissionEffect::Widens, TrustStatus::Changed) => {
                Some("the project has changed since you trusted it; `bosun trust`, then import again")
            }
            (SourceOwner::OutsideTrust, PermissionEffect::Widens, _) => {
                Some("a file of the project may not decide this; write it into your own settings if you want it")
            }
        }
    }
}

fn text(keys: &[&str], text: &str) -> (KeyPath, SettingsEntry) {
    (keys.iter().map(|key| (*key).to_owned()).collect(), SettingsEntry::Text(text.into()))
}

fn user_file(places: &ImportLocations<'_>) -> PathBuf {
    places.home.join("config.toml")
}

fn project_file(places: &ImportLocations<'_>) -> PathBuf {
    local_file(places.home, &places.project.top)
}
