//! Validates the agents, models, patterns and schemas of a plan on this machine.

use config::PlanChecker;
use fleet::FilePatterns;
use protocol::Hinted as _;
use runtime::{Catalog, ModelResolver};
use serde_json::Value;

/// The agents and models available in a folder.
pub(super) struct LocalPlanValidator<'a> {
    pub(super) catalog: &'a Catalog,
    pub(super) models: &'a dyn ModelResolver,
    /// The session's own model. Only this one may be a file.
    pub(super) model: Option<&'a str>,
}

impl PlanChecker for LocalPlanValidator<'_> {
    fn check_agent(&self, name: &str) -> Result<(), String> {
        let Some(agent) = self.catalog.agent(name).filter(|agent| agent.model_invocable) else {
            return Err(format!("there is no agent `{name}` that a worker can use"));
        };
        match agent.unsupported.as_slice() {
            [] => Ok(()),
            reasons => Err(format!("`{name}` cannot be started: {} (see {})", reasons.join("; "), agent.source)),
        }
    }

    fn check_model(&self, spec: &str) -> Result<(), String> {
        if spec == "inherit" || Some(spec) == self.model {
            return Ok(());
        }
        if spec.split_once('/').is_some_and(|(provider, _)| protocol::is_file_provider(provider)) {
            return Err(format!("`{spec}` is a file, and only --model may name one"));
        }
        self.models.open(spec).map(drop).map_err(|error| error.to_string())
    }

    fn check_pattern(&self, glob: &str) -> Result<(), String> {
        FilePatterns::parse(&[glob.to_owned()]).map(drop).map_err(|error| error.to_string())
    }

    fn check_schema(&self, schema: &Value) -> Result<(), String> {
        runtime::check_schema(schema).map_err(|error| error.in_one_line())
    }
}
