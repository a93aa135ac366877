//! Conditions: what a request must look like for a rule to apply.

use protocol::{ContentBlock, ToolResult, ToolResultStatus};
use schemars::JsonSchema;
use serde::Deserialize;

use super::given::given;
use super::pattern::{CaptureGroups, NameRegex, RegexError, TextRegex};
use super::scope;
use super::timing::CountRange;
use crate::{MessagePart, ModelMessage, ModelRequest};

/// Conditions that must all hold.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RuleConditions {
    /// The agent's name, such as `main`; the expression must match all of it.
    #[serde(deserialize_with = "given")]
    agent: Option<NameRegex>,
    /// The task's path, such as `/root/tests`; the expression must match all of it.
    #[serde(deserialize_with = "given")]
    path: Option<NameRegex>,
    /// The turn: the model's answers so far in this conversation, plus one.
    #[serde(deserialize_with = "given")]
    turn: Option<CountRange>,
    /// The number of this try at the turn.
    #[serde(deserialize_with = "given")]
    attempt: Option<CountRange>,
    /// Something in the system prompt.
    #[serde(deserialize_with = "given")]
    system: Option<TextRegex>,
    /// Something in the newest user message.
    #[serde(deserialize_with = "given")]
    prompt: Option<TextRegex>,
    /// Something in an earlier answer of the model.
    #[serde(deserialize_with = "given")]
    said: Option<TextRegex>,
    /// One of the results of the model's last tool calls.
    #[serde(deserialize_with = "given")]
    answered: Option<AnswerCondition>,
    /// Something anywhere in the conversation: prompts, answers, tool inputs and results.
    #[serde(deserialize_with = "given")]
    contains: Option<TextRegex>,
    /// The name of a tool that is offered; the expression must match all of it.
    #[serde(deserialize_with = "given")]
    tools: Option<NameRegex>,
    /// Conditions that must not all hold.
    #[serde(deserialize_with = "given")]
    not: Option<Box<RuleConditions>>,
}

impl RuleConditions {
    /// The conditions for one turn of one agent.
    pub(super) fn turn_of(agent: &str, turn: u32) -> Result<RuleConditions, RegexError> {
        let agent = Some(NameRegex::exactly(agent)?);
        Ok(RuleConditions { agent, turn: Some(CountRange::single(turn)), ..RuleConditions::default() })
    }

    /// Whether `request` fulfils every condition; returns the groups of the first one that captured any.
    pub(super) fn holds(&self, request: &ModelRequest) -> Option<CaptureGroups> {
        let RuleConditions { agent, path, turn, attempt, system, prompt, said, answered, contains, tools, not } = self;
        let mut groups = CaptureGroups::default();
        groups.or_replace_with(check_if_present(agent, |name| name.find(&request.agent))?);
        groups.or_replace_with(check_if_present(path, |name| name.find(&request.path))?);
        groups.or_replace_with(check_if_present(turn, |count| {
            count.contains(request.turn).then(CaptureGroups::default)
        })?);
        groups.or_replace_with(check_if_present(attempt, |count| {
            count.contains(request.attempt).then(CaptureGroups::default)
        })?);
        groups.or_replace_with(check_if_present(system, |pattern| pattern.find(&request.system))?);
        groups.or_replace_with(check_if_present(prompt, |pattern| pattern.find(&request.prompt()))?);
        groups.or_replace_with(check_if_present(said, |pattern| {
            said_texts(request).find_map(|text| pattern.find(text))
        })?);
        groups.or_replace_with(check_if_present(answered, |answered| answered.holds(request))?);
        groups.or_replace_with(check_if_present(contains, |pattern| {
            all_texts(request).find_map(|text| pattern.find(text))
        })?);
        groups.or_replace_with(check_if_present(tools, |name| {
            request.tools.iter().find_map(|tool| name.find(&tool.name))
        })?);
        groups
            .or_replace_with(check_if_present(not, |when| when.holds(request).is_none().then(CaptureGroups::default))?);
        Some(groups)
    }

    /// The number of groups of the first condition that captures any.
    pub(super) fn groups(&self) -> usize {
        let RuleConditions {
            agent,
            path,
            turn: _,
            attempt: _,
            system,
            prompt,
            said,
            answered,
            contains,
            tools,
            not: _,
        } = self;
        let name = |name: &Option<NameRegex>| name.as_ref().map_or(0, NameRegex::groups);
        let pattern = |pattern: &Option<TextRegex>| pattern.as_ref().map_or(0, TextRegex::groups);
        let (tool, matches) = answered.as_ref().map_or((0, 0), |one| (name(&one.tool), pattern(&one.matches)));
        let in_order = [
            name(agent),
            name(path),
            pattern(system),
            pattern(prompt),
            pattern(said),
            tool,
            matches,
            pattern(contains),
            name(tools),
        ];
        in_order.into_iter().find(|groups| *groups > 0).unwrap_or(0)
    }
}

/// One tool result that fulfils all of these.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct AnswerCondition {
    /// The tool's name; the expression must match all of it.
    #[serde(deserialize_with = "given")]
    tool: Option<NameRegex>,
    /// Something in the result's text.
    #[serde(deserialize_with = "given")]
    matches: Option<TextRegex>,
    /// The status of the call.
    #[serde(deserialize_with = "given")]
    status: Option<StatusCondition>,
}

impl AnswerCondition {
    fn holds(&self, request: &ModelRequest) -> Option<CaptureGroups> {
        scope::last_tool_results(request).into_iter().find_map(|(tool, answer)| self.matches_result(tool, answer))
    }

    fn matches_result(&self, tool: &str, answer: &ToolResult) -> Option<CaptureGroups> {
        let mut groups = CaptureGroups::default();
        groups.or_replace_with(check_if_present(&self.tool, |name| name.find(tool))?);
        groups.or_replace_with(check_if_present(&self.matches, |pattern| pattern.find(&answer.text))?);
        groups.or_replace_with(check_if_present(&self.status, |status| {
            status.is(answer.status).then(CaptureGroups::default)
        })?);
        Some(groups)
    }
}

/// The status of a tool call.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum StatusCondition {
    Done,
    Refused,
    Denied,
    Broken,
    Interrupted,
    Cancelled,
}

impl StatusCondition {
    fn is(self, status: ToolResultStatus) -> bool {
        status
            == match self {
                StatusCondition::Done => ToolResultStatus::Done,
                StatusCondition::Refused => ToolResultStatus::Refused,
                StatusCondition::Denied => ToolResultStatus::Denied,
                StatusCondition::Broken => ToolResultStatus::Broken,
                StatusCondition::Interrupted => ToolResultStatus::Interrupted,
                StatusCondition::Cancelled => ToolResultStatus::Cancelled,
            }
    }
}

/// Checks a condition. An absent one holds and captures nothing.
fn check_if_present<T>(
    condition: &Option<T>,
    holds: impl FnOnce(&T) -> Option<CaptureGroups>,
) -> Option<CaptureGroups> {
    condition.as_ref().map_or_else(|| Some(CaptureGroups::default()), holds)
}

fn said_texts(request: &ModelRequest) -> impl Iterator<Item = &str> {
    request.messages.iter().flat_map(|message| match message {
        ModelMessage::Assistant { content } => content.iter().filter_map(text_of_block).collect(),
        ModelMessage::User { .. } | ModelMessage::Answers { .. } => Vec::new(),
    })
}

fn text_of_block(block: &ContentBlock) -> Option<&str> {
    match block {
        ContentBlock::Text { text } => Some(text),
        ContentBlock::Thinking { .. } | ContentBlock::Call(_) | ContentBlock::Opaque { .. } => None,
    }
}

fn all_texts(request: &ModelRequest) -> impl Iterator<Item = &str> {
    request.messages.iter().flat_map(message_texts)
}

fn message_texts(message: &ModelMessage) -> Vec<&str> {
    match message {
        ModelMessage::User { parts } => parts.iter().filter_map(MessagePart::text).collect(),
        ModelMessage::Assistant { content } => content.iter().filter_map(text_or_input).collect(),
        ModelMessage::Answers { answers } => answers.iter().map(|(_, answer)| answer.text.as_str()).collect(),
    }
}

fn text_or_input(block: &ContentBlock) -> Option<&str> {
    match block {
        ContentBlock::Call(call) => Some(&call.input),
        ContentBlock::Text { .. } | ContentBlock::Thinking { .. } | ContentBlock::Opaque { .. } => text_of_block(block),
    }
}
