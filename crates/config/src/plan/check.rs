//! What only a whole machine knows of a plan: whether its agents and models are there, and its patterns and schemas can
//! be used.

use std::collections::BTreeMap;

use serde_json::Value;

use super::FleetPlan;
use super::keys::{Located, PlanProblems};
use crate::catalog::{DefinitionProblem, FilePosition};

/// Knows what can be used; each answer says in words why something cannot.
pub trait PlanChecker {
    /// Whether there is an agent of this type that can be started.
    fn agent(&self, name: &str) -> Result<(), String>;
    /// Whether this model can be asked.
    fn model(&self, spec: &str) -> Result<(), String>;
    /// Whether a pattern of files can be read.
    fn pattern(&self, glob: &str) -> Result<(), String>;
    /// Whether an answer can be held against this JSON Schema.
    fn schema(&self, schema: &Value) -> Result<(), String>;
}

impl FleetPlan {
    /// Everything in the plan that cannot be used on this machine.
    pub fn check(&self, judge: &dyn PlanChecker) -> Vec<DefinitionProblem> {
        let mut report = PlanProblems::new(&self.file);
        let (mut agents, mut models) = (ValidationCache::default(), ValidationCache::default());
        for (todo, places) in self.todos.iter().zip(&self.places) {
            let mut tell = |at: Option<FilePosition>, words: String, remedy: &str| {
                report.error(at, format!("todo `{}`: {words}", todo.id), remedy);
            };
            if let Some(name) = &places.agent {
                agents.check(
                    name,
                    |name| judge.agent(name),
                    |words| {
                        tell(name.at, words, "name another `agent`; `bosun catalog list` shows what there is");
                    },
                );
            }
            if let Some(spec) = &places.model {
                models.check(
                    spec,
                    |spec| judge.model(spec),
                    |words| {
                        tell(spec.at, words, "name another `model`; `bosun models` shows what there is");
                    },
                );
            }
            for (glob, at) in todo.files.iter().zip(&places.files) {
                if let Err(words) = judge.pattern(glob) {
                    tell(*at, words, "write a path or a pattern such as `src/**/*.rs`");
                }
            }
            if let Some(schema) = &places.expects
                && let Err(words) = judge.schema(&schema.value)
            {
                tell(schema.at, words, "write a JSON Schema that stands for itself in `expects`");
            }
        }
        report.problems
    }
}

/// What was asked already: thousands of todos name the same few agents.
#[derive(Default)]
struct ValidationCache(BTreeMap<String, Result<(), String>>);

impl ValidationCache {
    fn check(
        &mut self,
        name: &Located<String>,
        judge: impl FnOnce(&str) -> Result<(), String>,
        tell: impl FnOnce(String),
    ) {
        let answer = self.0.entry(name.value.clone()).or_insert_with(|| judge(&name.value));
        if let Err(words) = answer {
            tell(words.clone());
        }
    }
}
