//! Checks of a plan that depend on the machine: whether its agents, models, patterns and schemas can be used.

use std::collections::BTreeMap;

use serde_json::Value;

use super::FleetPlan;
use super::keys::{Located, PlanProblems};
use crate::catalog::{DefinitionProblem, FilePosition};

/// Checks what can be used on this machine. Each error is a message that says why not.
pub trait PlanChecker {
    /// Checks that an agent of this type can be started.
    fn check_agent(&self, name: &str) -> Result<(), String>;
    /// Checks that this model can be used.
    fn check_model(&self, spec: &str) -> Result<(), String>;
    /// Checks the syntax of a file pattern.
    fn check_pattern(&self, glob: &str) -> Result<(), String>;
    /// Checks that answers can be validated with this JSON Schema.
    fn check_schema(&self, schema: &Value) -> Result<(), String>;
}

impl FleetPlan {
    /// Returns everything in the plan that cannot be used on this machine.
    pub fn check(&self, checker: &dyn PlanChecker) -> Vec<DefinitionProblem> {
        let mut report = PlanProblems::new(&self.file);
        let (mut agents, mut models) = (ValidationCache::default(), ValidationCache::default());
        for (todo, places) in self.todos.iter().zip(&self.positions) {
            let mut report_error = |at: Option<FilePosition>, message: String, remedy: &str| {
                report.error(at, format!("todo `{}`: {message}", todo.id), remedy);
            };
            if let Some(name) = &places.agent {
                agents.check(
                    name,
                    |name| checker.check_agent(name),
                    |message| {
                        report_error(name.at, message, "name another `agent`; see `bosun catalog list`");
                    },
                );
            }
            if let Some(spec) = &places.model {
                models.check(
                    spec,
                    |spec| checker.check_model(spec),
                    |message| {
                        report_error(spec.at, message, "name another `model`; see `bosun models`");
                    },
                );
            }
            for (glob, at) in todo.files.iter().zip(&places.files) {
                if let Err(message) = checker.check_pattern(glob) {
                    report_error(*at, message, "write a path or a pattern such as `src/**/*.rs`");
                }
            }
            if let Some(schema) = &places.expects
                && let Err(message) = checker.check_schema(&schema.value)
            {
                report_error(schema.at, message, "write a self-contained JSON Schema in `expects`");
            }
        }
        report.problems
    }
}

/// Results of earlier checks: thousands of todos name the same few agents.
#[derive(Default)]
struct ValidationCache(BTreeMap<String, Result<(), String>>);

impl ValidationCache {
    fn check(
        &mut self,
        name: &Located<String>,
        checker: impl FnOnce(&str) -> Result<(), String>,
        report_error: impl FnOnce(String),
    ) {
        let answer = self.0.entry(name.value.clone()).or_insert_with(|| checker(&name.value));
        if let Err(message) = answer {
            report_error(message.clone());
        }
    }
}
