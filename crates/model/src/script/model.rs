//! The scripted model itself.

use std::path::Path;

use futures_util::{StreamExt, stream};
use protocol::{ModelFault, StopReason, Usage, clip_middle};

use super::ScriptError;
use super::answer::Plan;
use super::file::{self, Rules};
use super::play::{self, Act};
use crate::{Delta, Deltas, Facts, Model, ModelError, Request};

/// A model that answers by the rules of a file.
#[derive(Debug)]
pub struct Script {
    name: String,
    file: String,
    rules: Rules,
    facts: Facts,
}

impl Script {
    /// Reads a script from its file.
    pub fn load(path: &Path) -> Result<Script, ScriptError> {
        Script::parse(&file::read(path)?, &path.display().to_string())
    }

    /// Reads a script out of `text`; errors call it `file`.
    pub fn parse(text: &str, file: &str) -> Result<Script, ScriptError> {
        let rules = Rules::parse(text, file)?;
        let short = Path::new(file).file_name().map_or(file.into(), |name| name.to_string_lossy());
        let facts = Facts { price: rules.price, ..Facts::UNKNOWN };
        Ok(Script { name: format!("script/{short}"), file: file.into(), rules, facts })
    }

    /// How the answer to `request` will end, and what it will count as; none when it will not be complete.
    pub fn ending(&self, request: &Request) -> Option<(StopReason, Usage)> {
        match self.plan(request).ok()?.pop_back()? {
            Act::Send(Delta::Done { stop, usage, .. }) => Some((stop, usage)),
            Act::Send(_) | Act::Drip { .. } | Act::Wait(_) | Act::Fail(_) | Act::Hang => None,
        }
    }

    fn plan(&self, request: &Request) -> Result<Plan, ModelError> {
        let Some(plan) = self.rules.rules.iter().find_map(|rule| rule.plan(request, &self.name)) else {
            return Err(self.unmatched(request));
        };
        plan.map_err(|error| ModelError::new(ModelFault::Terminal, format!("{}: {error}", self.file)))
    }

    fn unmatched(&self, request: &Request) -> ModelError {
        let Script { file, .. } = self;
        let Request { agent, path, .. } = request;
        let (turn, prompt) = (request.turn, clip_middle(&request.prompt(), 300));
        let message = format!("no rule of {file} matches agent `{agent}` at {path}, turn {turn}, prompt {prompt:?}");
        let hint = "add a rule for it, or a last rule without `when` that answers everything";
        ModelError::new(ModelFault::Terminal, message).with_hint(hint)
    }
}

impl Model for Script {
    fn name(&self) -> &str {
        &self.name
    }

    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn ask(&self, request: Request) -> Deltas {
        match self.plan(&request) {
            Ok(plan) => play::play(plan),
            Err(error) => stream::iter([Err(error)]).boxed(),
        }
    }
}
