//! Rules: conditions with the answer to give when they hold.
//!
//! Every group that an answer refers to is one that its conditions capture.

use protocol::Usage;
use schemars::JsonSchema;
use serde::Deserialize;

use super::answer::{Answer, Plan};
use super::fail::Fail;
use super::given::given;
use super::pattern::PatternError;
use super::scope::{Scope, TooLong};
use super::when::When;
use crate::Request;

/// Conditions with what to do when they hold: either `answer` or `fail`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(try_from = "RuleForm")]
#[schemars(with = "RuleForm")]
pub(super) struct Rule {
    when: When,
    answer: Answer,
    usage: Option<Usage>,
}

impl Rule {
    /// A rule for one turn of one agent.
    pub(super) fn for_turn(agent: &str, turn: u32, answer: Answer) -> Result<Rule, PatternError> {
        Ok(Rule { when: When::turn_of(agent, turn)?, answer, usage: None })
    }

    /// What it does about `request`, when its conditions hold.
    pub(super) fn plan(&self, request: &Request, model: &str) -> Option<Result<Plan, TooLong>> {
        let groups = self.when.holds(request)?;
        Some(self.answer.plan(&mut Scope::new(request, groups), self.usage, model))
    }
}

/// Conditions with what to do when they hold: either `answer` or `fail`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Rule", extend("oneOf" = [{ "required": ["answer"] }, { "required": ["fail"] }]))]
struct RuleForm {
    /// The conditions; a rule without any always holds.
    #[serde(default)]
    when: When,
    /// The steps of the answer.
    #[serde(default, deserialize_with = "given")]
    answer: Option<Answer>,
    /// A failure instead of an answer.
    #[serde(default, deserialize_with = "given")]
    fail: Option<Fail>,
    /// What the answer uses; estimated unless given.
    #[serde(default, deserialize_with = "given")]
    usage: Option<UsageForm>,
}

/// Tokens of an answer.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "Usage")]
struct UsageForm {
    /// Input tokens that no cache held.
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

impl TryFrom<RuleForm> for Rule {
    type Error = String;

    fn try_from(form: RuleForm) -> Result<Rule, String> {
        let answer = match (form.answer, form.fail) {
            (Some(answer), None) => answer,
            (None, Some(_)) if form.usage.is_some() => {
                return Err("a failure uses nothing; remove `usage`".into());
            }
            (None, Some(fail)) => Answer::failing(fail),
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
        Ok(Rule { when: form.when, answer, usage: form.usage.map(Usage::from) })
    }
}
