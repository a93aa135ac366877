//! Rules: conditions and the answer to give when they hold.
//!
//! An answer may only refer to groups that its conditions capture.

use protocol::Usage;
use schemars::JsonSchema;
use serde::Deserialize;

use super::answer::{ScriptAnswer, ScriptPlan};
use super::conditions::RuleConditions;
use super::fail::ScriptFailure;
use super::given::given;
use super::pattern::RegexError;
use super::scope::{AnswerTooLong, TemplateScope};
use crate::ModelRequest;

/// Conditions and an action when they hold: either `answer` or `fail`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(try_from = "RuleForm")]
#[schemars(with = "RuleForm")]
pub(super) struct ScriptRule {
    when: RuleConditions,
    answer: ScriptAnswer,
    usage: Option<Usage>,
}

impl ScriptRule {
    /// A rule for one turn of one agent.
    pub(super) fn for_turn(agent: &str, turn: u32, answer: ScriptAnswer) -> Result<ScriptRule, RegexError> {
        Ok(ScriptRule { when: RuleConditions::turn_of(agent, turn)?, answer, usage: None })
    }

    /// The actions for `request`, when its conditions hold.
    pub(super) fn plan(&self, request: &ModelRequest, model: &str) -> Option<Result<ScriptPlan, AnswerTooLong>> {
        let groups = self.when.holds(request)?;
        Some(self.answer.plan(&mut TemplateScope::new(request, groups), self.usage, model))
    }
}

/// Conditions and an action when they hold: either `answer` or `fail`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Rule", extend("oneOf" = [{ "required": ["answer"] }, { "required": ["fail"] }]))]
struct RuleForm {
    /// The conditions; a rule without any always holds.
    #[serde(default)]
    when: RuleConditions,
    /// The steps of the answer.
    #[serde(default, deserialize_with = "given")]
    answer: Option<ScriptAnswer>,
    /// A failure instead of an answer.
    #[serde(default, deserialize_with = "given")]
    fail: Option<ScriptFailure>,
    /// The tokens that the answer uses; estimated unless given.
    #[serde(default, deserialize_with = "given")]
    usage: Option<UsageForm>,
}

/// Tokens of an answer.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "Usage")]
struct UsageForm {
    /// Input tokens not read from a cache.
    input: u64,
    /// Output tokens.
    output: u64,
    /// Input tokens read from a cache.
    cache_read: u64,
    /// Input tokens written to a cache.
    cache_write: u64,
}

impl From<UsageForm> for Usage {
    fn from(UsageForm { input, output, cache_read, cache_write }: UsageForm) -> Usage {
        Usage { input, output, cache_read, cache_write }
    }
}

impl TryFrom<RuleForm> for ScriptRule {
    type Error = String;

    fn try_from(form: RuleForm) -> Result<ScriptRule, String> {
        let answer = match (form.answer, form.fail) {
            (Some(answer), None) => answer,
            (None, Some(_)) if form.usage.is_some() => {
                return Err("a failure uses nothing; remove `usage`".into());
            }
            (None, Some(fail)) => ScriptAnswer::failing(fail),
            (None, None) => return Err("a rule needs `answer` or `fail`; add one of them".into()),
            (Some(_), Some(_)) => {
                return Err("a rule has either `answer` or `fail`; to fail later, make `fail` its last step".into());
            }
        };
        let (referred, captured) = (answer.highest_group(), form.when.groups());
        if referred > captured {
            return Err(format!(
                "`${{{referred}}}` refers to a group that no condition captures; \
                 the first condition with groups has {captured}"
            ));
        }
        Ok(ScriptRule { when: form.when, answer, usage: form.usage.map(Usage::from) })
    }
}
