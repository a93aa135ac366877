//! The scripted model itself.

use std::path::Path;

use futures_util::{StreamExt, stream};
use protocol::{ModelFault, StopReason, Usage, clip_middle};

use super::ScriptError;
use super::answer::ScriptPlan;
use super::file::{self, ScriptRules};
use super::playback::{self, ScriptAction};
use crate::{Delta, Deltas, Model, ModelError, ModelFacts, ModelRequest};

/// A model that answers by the rules of a file.
#[derive(Debug)]
pub struct ScriptModel {
    name: String,
    file: String,
    rules: ScriptRules,
    facts: ModelFacts,
}

impl ScriptModel {
    /// Reads a script from its file.
    pub fn load(path: &Path) -> Result<ScriptModel, ScriptError> {
        ScriptModel::parse(&file::read_text(path)?, &path.display().to_string())
    }

    /// Parses a script from `text`; errors call it `file`.
    pub fn parse(text: &str, file: &str) -> Result<ScriptModel, ScriptError> {
        let rules = ScriptRules::parse(text, file)?;
        let facts = ModelFacts { price: rules.price.or(ModelFacts::FILE.price), ..ModelFacts::FILE };
        Ok(ScriptModel {
            name: protocol::model_display_name(&format!("script/{file}")),
            file: file.into(),
            rules,
            facts,
        })
    }

    /// The stop reason and usage of the answer to `request`; none when it will not be complete.
    pub fn ending(&self, request: &ModelRequest) -> Option<(StopReason, Usage)> {
        match self.plan(request).ok()?.pop_back()? {
            ScriptAction::Send(Delta::Done { stop, usage, .. }) => Some((stop, usage)),
            ScriptAction::Send(_)
            | ScriptAction::Drip { .. }
            | ScriptAction::Wait(_)
            | ScriptAction::Fail(_)
            | ScriptAction::Hang => None,
        }
    }

    fn plan(&self, request: &ModelRequest) -> Result<ScriptPlan, ModelError> {
        let Some(plan) = self.rules.rules.iter().find_map(|rule| rule.plan(request, &self.name)) else {
            return Err(self.unmatched(request));
        };
        plan.map_err(|error| ModelError::new(ModelFault::Terminal, format!("{}: {error}", self.file)))
    }

    fn unmatched(&self, request: &ModelRequest) -> ModelError {
        let ScriptModel { file, .. } = self;
        let ModelRequest { agent, path, .. } = request;
        let (turn, prompt) = (request.turn, clip_middle(&request.prompt(), 300));
        let message = format!("no rule of {file} matches agent `{agent}` at {path}, turn {turn}, prompt {prompt:?}");
        let hint = "add a rule for it, or a last rule without `when` that answers everything";
        ModelError::new(ModelFault::Terminal, message).with_hint(hint)
    }
}

impl Model for ScriptModel {
    fn name(&self) -> &str {
        &self.name
    }

    fn facts(&self) -> &ModelFacts {
        &self.facts
    }

    fn send(&self, request: ModelRequest) -> Deltas {
        match self.plan(&request) {
            Ok(plan) => playback::play(plan),
            Err(error) => stream::iter([Err(error)]).boxed(),
        }
    }
}
