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
            let values = flatten(&SettingsFile::parse(&edit::read_text(&path)?, &path)?).into_iter().collect();
            files.insert(path, values);
        }
        Ok(ImportSurvey { places, findings: Vec::new(), files })
    }

    fn add(&mut self, file: &Path, subject: impl Into<String>, outcome: ImportOutcome) {
        self.findings.push(ImportFinding { file: file.to_owned(), subject: subject.into(), outcome });
    }

    /// Reports an item that cannot be read.
    pub(super) fn report_invalid(&mut self, file: &Path, subject: impl Into<String>, why: String) {
        self.add(file, subject, ImportOutcome::Invalid(why));
    }

    /// Reports an item that Bosun cannot use.
    pub(super) fn report_not_imported(&mut self, file: &Path, subject: impl Into<String>, why: impl Into<String>) {
        self.add(file, subject, ImportOutcome::NotImported(why.into()));
    }

    /// Reports an item that Bosun reads in place; from an untrusted project, only those that restrict.
    pub(super) fn report_setting_in_place(&mut self, source: &ProductFile, subject: impl Into<String>) {
        self.add(&source.path, subject, ImportOutcome::InPlace(String::new()));
    }

    /// Reports definitions and instructions that Bosun reads in place.
    pub(super) fn report_files_in_place(&mut self, path: &Path, subject: String, needs_trust: bool) {
        let when = match self.places.trust {
            TrustStatus::Untrusted | TrustStatus::Changed if needs_trust => "once you trust the project: `bosun trust`",
            TrustStatus::Trusted | TrustStatus::Untrusted | TrustStatus::Changed => "",
        };
        self.add(path, subject, ImportOutcome::InPlace(when.into()));
    }

    /// Imports a rule, in the syntax of any of the products.
    pub(super) fn import_rule(&mut self, source: &ProductFile, subject: String, effect: RuleEffect, text: &str) {
        let rule = match RuleLine::parse(text) {
            Ok(rule) => rule,
            Err(error) => {
                let position = source.line_of(text).map(|line| format!("line {line}: ")).unwrap_or_default();
                let why = format!("{position}{}; correct or remove it", protocol::clip_middle(&error.to_string(), 400));
                return self.report_invalid(&source.path, subject, why);
            }
        };
        if let Some(tool) = rule.unknown_tool() {
            let why = format!("Bosun has no tool called `{tool}`, so the rule would match nothing");
            return self.report_not_imported(&source.path, subject, why);
        }
        let permission_effect = match effect {
            RuleEffect::Allow => PermissionEffect::Widens,
            RuleEffect::Ask | RuleEffect::Deny => PermissionEffect::Narrows,
        };
        let keys = vec!["permissions".into(), effect.as_str().into()];
        self.import_entry(source, subject, (keys, SettingsEntry::Listed(rule.text().into())), permission_effect);
    }

    /// Imports the permission mode.
    pub(super) fn import_mode(&mut self, source: &ProductFile, subject: String, mode: PermissionMode) {
        match (mode, self.places.allow_all_forbidden_by) {
            (PermissionMode::AllowAll, Some(by)) => {
                let why = format!("{} forbids the mode allow-all", by.display());
                self.report_not_imported(&source.path, subject, why);
            }
            (mode, _) => {
                let effect = match mode {
                    PermissionMode::Default | PermissionMode::Plan => PermissionEffect::Narrows,
                    PermissionMode::AcceptEdits | PermissionMode::AllowAll => PermissionEffect::Widens,
                };
                self.import_entry(source, subject, text_entry(&["permissions", "mode"], mode.as_str()), effect);
            }
        }
    }

    /// Imports the model, by the product's name for it.
    pub(super) fn import_foreign_model(&mut self, source: &ProductFile, name: &str) {
        let subject = format!("model {name}");
        match values::to_bosun_model(name) {
            Ok(model) => self.import_model(source, subject, &model),
            Err(why) => self.report_not_imported(&source.path, subject, why),
        }
    }

    /// Imports the model.
    pub(super) fn import_model(&mut self, source: &ProductFile, subject: String, model: &str) {
        self.import_entry(source, subject, text_entry(&["model"], model), PermissionEffect::Widens);
    }

    /// Imports the reasoning effort.
    pub(super) fn import_effort(&mut self, source: &ProductFile, subject: String, effort: &str) {
        let nearest = match effort {
            "minimal" | "none" => "low",
            "xhigh" | "max" => "high",
            other => other,
        };
        if serde_json::from_value::<ReasoningEffort>(nearest.into()).is_ok() {
            return self.import_entry(source, subject, text_entry(&["effort"], nearest), PermissionEffect::Widens);
        }
        self.report_not_imported(&source.path, subject, "Bosun has the efforts low, medium and high");
    }

    /// Imports a folder that tools may reach.
    pub(super) fn import_folder(&mut self, source: &ProductFile, folder: &str) {
        let subject = format!("directory {folder}");
        let keys = vec!["workspace".into(), "add-dirs".into()];
        let full = match (folder.strip_prefix("~/"), self.places.user_home) {
            (Some(below), Some(user)) => user.join(below),
            (_, _) => self.places.project.dir.join(folder),
        };
        let is_relative = !folder.starts_with(['/', '~']);
        if is_relative && matches!(source.owner, SourceOwner::User | SourceOwner::Relocated) {
            let why = "a relative path means a different folder in every project; add it to your file for a project";
            return self.report_not_imported(&source.path, subject, why);
        }
        if !full.is_dir() {
            // A missing folder would stop every run.
            return self.report_not_imported(&source.path, subject, "there is no such folder");
        }
        self.import_entry(source, subject, (keys, SettingsEntry::Listed(folder.into())), PermissionEffect::Widens);
    }

    /// Imports a variable for programs. A value that may be a key is neither shown nor written.
    pub(super) fn import_variable(&mut self, source: &ProductFile, name: &str, value: &str) {
        let is_secret = may_be_secret(name, value);
        let subject = if is_secret { format!("env {name}") } else { format!("env {name} = {value}") };
        if !is_settable(name) {
            return self.report_not_imported(
                &source.path,
                format!("env {name}"),
                "a variable of this name cannot be set",
            );
        }
        if !is_secret {
            let keys = vec!["environment".into(), "set".into(), name.into()];
            return self.import_entry(
                source,
                subject,
                (keys, SettingsEntry::Text(value.into())),
                PermissionEffect::Widens,
            );
        }
        let keys = vec!["environment".into(), "pass".into()];
        self.import_entry(
            source,
            format!("{subject} (name only: set it where you start bosun)"),
            (keys, SettingsEntry::Listed(name.into())),
            PermissionEffect::Widens,
        );
    }

    /// Imports a pattern of variables to hide from programs.
    pub(super) fn import_hidden_pattern(&mut self, source: &ProductFile, subject: String, pattern: &str) {
        let keys = vec!["environment".into(), "hide".into()];
        self.import_entry(source, subject, (keys, SettingsEntry::Listed(pattern.into())), PermissionEffect::Narrows);
    }

    /// Copies a file or folder into Bosun's home.
    pub(super) fn import_copy(&mut self, from: &Path, below: &Path, subject: String) {
        let into = self.places.home.join(below);
        let what =
            if from.is_dir() { ImportContent::Folder(from.to_owned()) } else { ImportContent::File(from.to_owned()) };
        let exists = into.symlink_metadata().is_ok();
        let change = ImportChange { into, content: what };
        let outcome = match exists {
            true => ImportOutcome::Conflicting { change, kept: "one with that name".into() },
            false => ImportOutcome::Written(change),
        };
        self.add(from, subject, outcome);
    }

    fn import_entry(
        &mut self,
        source: &ProductFile,
        subject: String,
        (keys, entry): (KeyPath, SettingsEntry),
        effect: PermissionEffect,
    ) {
        if let Some(why) = self.blocked_reason(source.owner, effect) {
            return self.report_not_imported(&source.path, subject, why);
        }
        let into = match source.owner {
            SourceOwner::User | SourceOwner::Relocated => user_file(self.places),
            SourceOwner::Local | SourceOwner::Project | SourceOwner::OutsideTrust => project_file(self.places),
        };
        let key = key_of(&keys);
        let values = self.files.entry(into.clone()).or_default();
        let prior = values.get(&key).cloned();
        let change = ImportChange { into, content: ImportContent::Entry(keys, entry.clone()) };
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
        self.add(&source.path, subject, outcome);
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

fn text_entry(keys: &[&str], text: &str) -> (KeyPath, SettingsEntry) {
    (keys.iter().map(|key| (*key).to_owned()).collect(), SettingsEntry::Text(text.into()))
}

fn user_file(places: &ImportLocations<'_>) -> PathBuf {
    places.home.join("config.toml")
}

fn project_file(places: &ImportLocations<'_>) -> PathBuf {
    local_file(places.home, &places.project.dir)
}
