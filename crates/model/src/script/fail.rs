//! Scripted failures, one per class that the runtime distinguishes.

use std::time::Duration;

use protocol::ModelFault;
use schemars::JsonSchema;
use serde::Deserialize;

use super::given::given;
use super::scope::{AnswerTooLong, TemplateScope};
use super::template::Template;
use super::timing::ScriptDuration;
use crate::ModelError;

/// A failure instead of the rest of an answer.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(try_from = "FailForm")]
#[schemars(with = "FailForm")]
pub(super) struct ScriptFailure {
    fault: ScriptFault,
    message: Option<Template>,
}

#[derive(Debug, Clone, Copy)]
enum ScriptFault {
    Transient,
    RetryAfter(Duration),
    QuotaFor(Duration),
    Auth,
    Terminal,
}

impl ScriptFailure {
    /// The error as a model reports it.
    pub(super) fn error(&self, scope: &mut TemplateScope<'_>) -> Result<ModelError, AnswerTooLong> {
        let (fault, default) = match self.fault {
            ScriptFault::Transient => (ModelFault::Transient, "the script fails here temporarily"),
            ScriptFault::RetryAfter(after) => {
                let millis = u64::try_from(after.as_millis()).unwrap_or(u64::MAX);
                (ModelFault::RetryAfter { millis }, "the script asks for a retry later")
            }
            ScriptFault::QuotaFor(after) => (
                ModelFault::QuotaUntil { until_at: scope.request.requested_at.plus(after) },
                "the script's quota is used up",
            ),
            ScriptFault::Auth => (ModelFault::Auth, "the script refuses the key"),
            ScriptFault::Terminal => (ModelFault::Terminal, "the script fails here permanently"),
        };
        let message = match &self.message {
            Some(template) => template.fill(scope)?,
            None => default.to_owned(),
        };
        Ok(ModelError::new(fault, message))
    }

    /// The highest group that its message refers to.
    pub(super) fn highest_group(&self) -> usize {
        self.message.as_ref().map_or(0, Template::highest_group)
    }
}

/// A failure instead of the rest of an answer.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Fail")]
struct FailForm {
    /// The kind of failure.
    class: FaultClass,
    /// With `retry-after` and `quota-until`: how long, counted from the request.
    #[serde(default, deserialize_with = "given")]
    after: Option<ScriptDuration>,
    /// The error message.
    #[serde(default, deserialize_with = "given")]
    message: Option<Template>,
}

/// The kind of failure; it decides what the runtime does next.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum FaultClass {
    Transient,
    RetryAfter,
    QuotaUntil,
    Auth,
    Terminal,
}

impl TryFrom<FailForm> for ScriptFailure {
    type Error = &'static str;

    fn try_from(form: FailForm) -> Result<ScriptFailure, &'static str> {
        let fault = match (form.class, form.after) {
            (FaultClass::RetryAfter, Some(ScriptDuration(after))) => ScriptFault::RetryAfter(after),
            (FaultClass::QuotaUntil, Some(ScriptDuration(after))) => ScriptFault::QuotaFor(after),
            (FaultClass::RetryAfter | FaultClass::QuotaUntil, None) => {
                return Err("this class needs a duration; add `after: 2s`");
            }
            (FaultClass::Transient, None) => ScriptFault::Transient,
            (FaultClass::Auth, None) => ScriptFault::Auth,
            (FaultClass::Terminal, None) => ScriptFault::Terminal,
            (FaultClass::Transient | FaultClass::Auth | FaultClass::Terminal, Some(_)) => {
                return Err("this class has no duration; remove `after`, or use retry-after or quota-until");
            }
        };
        Ok(ScriptFailure { fault, message: form.message })
    }
}
