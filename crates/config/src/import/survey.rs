//! Collects the findings, and compares them with Bosun's own files.

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

/// The findings so far.
pub(super) struct ImportSurvey<'a> {
    pub(super) places: &'a ImportLocations<'a>,
    pub(super) findings: Vec<ImportFinding>,
    /// The values of the two settings files, including those to be written.
    files: BTreeMap<PathBuf, BTreeMap<String, Value>>,
}

/// Whether a setting lets agents do more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PermissionEffect {
    Widens,
    Narrows,
}

impl<'a> ImportSurvey<'a> {
    pub(super) fn new(places: &'a ImportLocations<'a>) -> Result<ImportSurvey<'a>, ConfigError> {
        let mut files = BTreeMap::new();
        for path in [user_file(places), project_file(places)] {
            let values = flatten(&SettingsFile::parse(&edit::text(&path)?, &path)?).into_iter().collect();
            files.insert(path, values);
        }
        Ok(ImportSurvey { places, findings: Vec::new(), files })
    }

    fn add(&mut self, file: &Path, found: impl Into<String>, outcome: ImportOutcome) {
        self.findings.push(ImportFinding { file: file.to_owned(), subject: found.into(), outcome });
    }

    /// Reports an item that cannot be read.
    pub(super) fn invalid(&mut self, file: &Path, found: impl Into<String>, why: String) {
        self.add(file, found, ImportOutcome::Invalid(why));
    }

    /// Reports an item that Bosun cannot use.
    pub(super) fn not_imported(&mut self, file: &Path, found: impl Into<String>, why: impl Into<String>) {
        self.add(file, found, ImportOutcome::NotImported(why.into()));
    }

    /// Reports an item that Bosun reads in place; from an untrusted project, only those that restrict.
    pub(super) fn in_place(&mut self, source: &ProductFile, found: impl Into<String>) {
        self.add(&source.path, found, ImportOutcome::InPlace(String::new()));
    }

    /// Reports definitions and instructions that Bosun reads in place.
    pub(super) fn read_in_place(&mut self, path: &Path, found: String, needs_trust: bool) {
        let when = match self.places.trust {
            TrustStatus::Untrusted | TrustStatus::Changed if needs_trust => "once you trust the project: `bosun trust`",
            TrustStatus::Trusted | TrustStatus::Untrusted | TrustStatus::Changed => "",
        };
        self.add(path, found, ImportOutcome::InPlace(when.into()));
    }

    /// Imports a rule, in the syntax of any of the products.
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

    /// Imports the permission mode.
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

    /// Imports the model, by the product's name for it.
    pub(super) fn foreign_model(&mut self, source: &ProductFile, name: &str) {
        let found = format!("model {name}");
        match values::model(name) {
            Ok(model) => self.model(source, found, &model),
            Err(why) => self.not_imported(&source.path, found, why),
        }
    }

    /// Imports the model.
    pub(super) fn model(&mut self, source: &ProductFile, found: String, model: &str) {
        self.entry(source, found, text(&["model"], model), PermissionEffect::Widens);
    }

    /// Imports the reasoning effort.
    pub(super) fn effort(&mut self, source: &ProductFile, found: String, effort: &str) {
        let nearest = match effort {
            "minimal" | "none" => "low",
            "xhigh" | "max" => "high",
            other => other,
        };
        if serde_json::from_value::<ReasoningEffort>(nearest.into()).is_ok() {
            return self.entry(source, found, text(&["effort"], nearest), PermissionEffect::Widens);
        }
        self.not_imported(&source.path, found, "Bosun has the efforts low, medium and high");
    }

    /// Imports a folder that tools may reach.
    pub(super) fn folder(&mut self, source: &ProductFile, folder: &str) {
        let found = format!("directory {folder}");
        let keys = vec!["workspace".into(), "add-dirs".into()];
        let full = match (folder.strip_prefix("~/"), self.places.user) {
            (Some(below), Some(user)) => user.join(below),
            (_, _) => self.places.project.top.join(folder),
        };
        let is_relative = !folder.starts_with(['/', '~']);
        if is_relative && matches!(source.owner, SourceOwner::User | SourceOwner::Relocated) {
            let why = "a relative path means a different folder in every project; add it to your file for a project";
            return self.not_imported(&source.path, found, why);
        }
        if !full.is_dir() {
            // A missing folder would stop every run.
            return self.not_imported(&source.path, found, "there is no such folder");
        }
        self.entry(source, found, (keys, SettingsEntry::Listed(folder.into())), PermissionEffect::Widens);
    }

    /// Imports a variable for programs. A value that may be a key is neither shown nor written.
    pub(super) fn variable(&mut self, source: &ProductFile, name: &str, value: &str) {
        let is_secret = may_be_secret(name, value);
        let found = if is_secret { format!("env {name}") } else { format!("env {name} = {value}") };
        if !is_settable(name) {
            return self.not_imported(&source.path, format!("env {name}"), "a variable of this name cannot be set");
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

    /// Imports a pattern of variables to hide from programs.
    pub(super) fn hidden(&mut self, source: &ProductFile, found: String, pattern: &str) {
        let keys = vec!["environment".into(), "hide".into()];
        self.entry(source, found, (keys, SettingsEntry::Listed(pattern.into())), PermissionEffect::Narrows);
    }

    /// Copies a file or folder into Bosun's home.
    pub(super) fn copy(&mut self, from: &Path, below: &Path, found: String) {
        let into = self.places.home.join(below);
        let what =
            if from.is_dir() { ImportContent::Folder(from.to_owned()) } else { ImportContent::File(from.to_owned()) };
        let exists = into.symlink_metadata().is_ok();
        let change = ImportChange { into, what };
        let outcome = match exists {
            true => ImportOutcome::Conflicting { change, kept: "one with that name".into() },
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
        let values = self.files.entry(into.clone()).or_default();
        let prior = values.get(&key).cloned();
        let change = ImportChange { into, what: ImportContent::Entry(keys, entry.clone()) };
        let outcome = match (&entry, prior) {
            (SettingsEntry::Listed(text), Some(Value::Array(list))) if list.contains(&Value::from(text.as_str())) => {
                ImportOutcome::AlreadyPresent(change)
            }
            (SettingsEntry::Listed(text), prior) => {
                let mut list = prior.and_then(|list| list.as_array().cloned()).unwrap_or_default();
                list.push(text.as_str().into());
                values.insert(key, list.into());
                ImportOutcome::Written(change)
            }
            (SettingsEntry::Text(text), Some(prior)) if prior == text.as_str() => ImportOutcome::AlreadyPresent(change),
            (SettingsEntry::Text(_), Some(prior)) => {
                let prior = prior.as_str().map_or_else(|| prior.to_string(), str::to_owned);
                ImportOutcome::Conflicting { change, kept: format!("{key} = {prior}") }
            }
            (SettingsEntry::Text(text), None) => {
                values.insert(key, text.as_str().into());
                ImportOutcome::Written(change)
            }
        };
        self.add(&source.path, found, outcome);
    }

    /// Why a file may not change a setting.
    fn blocked_reason(&self, owner: SourceOwner, effect: PermissionEffect) -> Option<&'static str> {
        match (owner, effect, self.places.trust) {
            (SourceOwner::User | SourceOwner::Relocated | SourceOwner::Local, _, _)
            | (_, PermissionEffect::Narrows, _) => None,
            (SourceOwner::Project, PermissionEffect::Widens, TrustStatus::Trusted) => None,
            (SourceOwner::Project, PermissionEffect::Widens, TrustStatus::Untrusted) => {
                Some("you have not trusted the project; run `bosun trust`, then import again")
            }
            (SourceOwner::Project, PermissionEffect::Widens, TrustStatus::Changed) => {
                Some("the project has changed since you trusted it; run `bosun trust`, then import again")
            }
            (SourceOwner::OutsideTrust, PermissionEffect::Widens, _) => {
                Some("a project's file may not set this; add it to your own settings if you want it")
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
