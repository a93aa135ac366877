//! Conditions: what a request must look like for a rule to answer it.

use protocol::{Answer, AnswerStatus, Block};
use schemars::JsonSchema;
use serde::Deserialize;

use super::given::given;
use super::pattern::{Groups, NamePattern, Pattern, PatternError};
use super::scope;
use super::timing::Count;
use crate::{Message, Part, Request};

/// Conditions that must all hold.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct When {
    /// The agent's name, such as `main`; the expression must match all of it.
    #[serde(deserialize_with = "given")]
    agent: Option<NamePattern>,
    /// The task's path, such as `/root/tests`; the expression must match all of it.
    #[serde(deserialize_with = "given")]
    path: Option<NamePattern>,
    /// The turn: the model's answers so far in this conversation, plus one.
    #[serde(deserialize_with = "given")]
    turn: Option<Count>,
    /// Which try at this turn it is.
    #[serde(deserialize_with = "given")]
    attempt: Option<Count>,
    /// Something in the system prompt.
    #[serde(deserialize_with = "given")]
    system: Option<Pattern>,
    /// Something in the newest user message.
    #[serde(deserialize_with = "given")]
    prompt: Option<Pattern>,
    /// Something the model said before.
    #[serde(deserialize_with = "given")]
    said: Option<Pattern>,
    /// One of the answers to the model's last tool calls.
    #[serde(deserialize_with = "given")]
    answered: Option<Answered>,
    /// Something anywhere in the conversation: prompts, words, tool inputs and answers.
    #[serde(deserialize_with = "given")]
    contains: Option<Pattern>,
    /// The name of a tool that is offered; the expression must match all of it.
    #[serde(deserialize_with = "given")]
    tools: Option<NamePattern>,
    /// Conditions that must not all hold.
    #[serde(deserialize_with = "given")]
    not: Option<Box<When>>,
}

impl When {
    /// The conditions for one turn of one agent.
    pub(super) fn turn_of(agent: &str, turn: u32) -> Result<When, PatternError> {
        let agent = Some(NamePattern::exactly(agent)?);
        Ok(When { agent, turn: Some(Count::only(turn)), ..When::default() })
    }

    /// Whether `request` fulfils every condition, with the groups of the first one that captured any.
    pub(super) fn holds(&self, request: &Request) -> Option<Groups> {
        let When { agent, path, turn, attempt, system, prompt, said, answered, contains, tools, not } = self;
        let mut groups = Groups::default();
        groups.or_take(test(agent, |name| name.find(&request.agent))?);
        groups.or_take(test(path, |name| name.find(&request.path))?);
        groups.or_take(test(turn, |count| count.holds(request.turn).then(Groups::default))?);
        groups.or_take(test(attempt, |count| count.holds(request.attempt).then(Groups::default))?);
        groups.or_take(test(system, |pattern| pattern.find(&request.system))?);
        groups.or_take(test(prompt, |pattern| pattern.find(&request.prompt()))?);
        groups.or_take(test(said, |pattern| said_texts(request).find_map(|text| pattern.find(text)))?);
        groups.or_take(test(answered, |answered| answered.holds(request))?);
        groups.or_take(test(contains, |pattern| all_texts(request).find_map(|text| pattern.find(text)))?);
        groups.or_take(test(tools, |name| request.tools.iter().find_map(|tool| name.find(&tool.name)))?);
        groups.or_take(test(not, |when| when.holds(request).is_none().then(Groups::default))?);
        Some(groups)
    }

    /// How many groups the first condition that captures any has.
    pub(super) fn groups(&self) -> usize {
        let When { agent, path, turn: _, attempt: _, system, prompt, said, answered, contains, tools, not: _ } = self;
        let name = |name: &Option<NamePattern>| name.as_ref().map_or(0, NamePattern::groups);
        let pattern = |pattern: &Option<Pattern>| pattern.as_ref().map_or(0, Pattern::groups);
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

/// One tool answer that fulfils all of these.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct Answered {
    /// The tool's name; the expression must match all of it.
    #[serde(deserialize_with = "given")]
    tool: Option<NamePattern>,
    /// Something in the answer's text.
    #[serde(deserialize_with = "given")]
    matches: Option<Pattern>,
    /// How the call went.
    #[serde(deserialize_with = "given")]
    status: Option<Status>,
}

impl Answered {
    fn holds(&self, request: &Request) -> Option<Groups> {
        scope::answers(request).into_iter().find_map(|(tool, answer)| self.fits(tool, answer))
    }

    fn fits(&self, tool: &str, answer: &Answer) -> Option<Groups> {
        let mut groups = Groups::default();
        groups.or_take(test(&self.tool, |name| name.find(tool))?);
        groups.or_take(test(&self.matches, |pattern| pattern.find(&answer.text))?);
        groups.or_take(test(&self.status, |status| status.is(answer.status).then(Groups::default))?);
        Some(groups)
    }
}

/// How a tool call went.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Status {
    Done,
    Refused,
    Denied,
    Broken,
    Interrupted,
    Cancelled,
}

impl Status {
    fn is(self, status: AnswerStatus) -> bool {
        status
            == match self {
                Status::Done => AnswerStatus::Done,
                Status::Refused => AnswerStatus::Refused,
                Status::Denied => AnswerStatus::Denied,
                Status::Broken => AnswerStatus::Broken,
                Status::Interrupted => AnswerStatus::Interrupted,
                Status::Cancelled => AnswerStatus::Cancelled,
            }
    }
}

/// An absent condition holds and captures nothing.
fn test<T>(condition: &Option<T>, holds: impl FnOnce(&T) -> Option<Groups>) -> Option<Groups> {
    condition.as_ref().map_or_else(|| Some(Groups::default()), holds)
}

fn said_texts(request: &Request) -> impl Iterator<Item = &str> {
    request.messages.iter().flat_map(|message| match message {
        Message::Assistant { content } => content.iter().filter_map(words).collect(),
        Message::User { .. } | Message::Answers { .. } => Vec::new(),
    })
}

fn words(block: &Block) -> Option<&str> {
    match block {
        Block::Text { text } => Some(text),
        Block::Thinking { .. } | Block::Call(_) | Block::Opaque { .. } => None,
    }
}

fn all_texts(request: &Request) -> impl Iterator<Item = &str> {
    request.messages.iter().flat_map(texts)
}

fn texts(message: &Message) -> Vec<&str> {
    match message {
        Message::User { parts } => parts.iter().filter_map(Part::text).collect(),
        Message::Assistant { content } => content.iter().filter_map(words_or_input).collect(),
        Message::Answers { answers } => answers.iter().map(|(_, answer)| answer.text.as_str()).collect(),
    }
}

fn words_or_input(block: &Block) -> Option<&str> {
    match block {
        Block::Call(call) => Some(&call.input),
        Block::Text { .. } | Block::Thinking { .. } | Block::Opaque { .. } => words(block),
    }
}
