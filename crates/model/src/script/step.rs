//! The steps of an answer, as the file writes them.

use std::num::NonZeroUsize;

use protocol::StopReason;
use schemars::JsonSchema;
use serde::Deserialize;

use super::fail::Fail;
use super::given::given;
use super::input::Input;
use super::template::Template;
use super::timing::Span;

/// One step of an answer.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Step {
    /// Says a text.
    Say(Template),
    /// Thinks a text.
    Think(Template),
    /// Calls a tool.
    Call(CallStep),
    /// Calls a tool with arguments that may be anything, such as malformed JSON.
    RawCall(RawCallStep),
    /// Waits.
    Wait(Span),
    /// Makes every later text of the answer arrive in small pieces.
    Drip(DripStep),
    /// Ends the answer for this reason; last step.
    Stop(Stop),
    /// Ends the stream as if the connection broke; last step.
    Cut(Yes),
    /// Never ends; last step.
    Hang(Yes),
    /// Fails; last step.
    Fail(Fail),
}

impl Step {
    /// The step's word, when it ends the answer.
    pub(super) fn ends(&self) -> Option<&'static str> {
        match self {
            Step::Stop(_) => Some("stop"),
            Step::Cut(Yes) => Some("cut"),
            Step::Hang(Yes) => Some("hang"),
            Step::Fail(_) => Some("fail"),
            Step::Say(_) | Step::Think(_) | Step::Call(_) | Step::RawCall(_) | Step::Wait(_) | Step::Drip(_) => None,
        }
    }

    /// The highest group that a template in it refers to.
    pub(super) fn highest_group(&self) -> usize {
        let id_and_tool = |id: &Option<Template>, tool: &Template| {
            id.as_ref().map_or(0, Template::highest_group).max(tool.highest_group())
        };
        match self {
            Step::Say(text) | Step::Think(text) => text.highest_group(),
            Step::Call(CallStep { id, tool, input }) => id_and_tool(id, tool).max(input.highest_group()),
            Step::RawCall(RawCallStep { id, tool, input }) => id_and_tool(id, tool).max(input.highest_group()),
            Step::Fail(fail) => fail.highest_group(),
            Step::Wait(_) | Step::Drip(_) | Step::Stop(_) | Step::Cut(Yes) | Step::Hang(Yes) => 0,
        }
    }
}

/// A tool call.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Call")]
pub(super) struct CallStep {
    /// The call's id; `call-TURN-NUMBER` unless given.
    #[serde(default, deserialize_with = "given")]
    pub(super) id: Option<Template>,
    /// The tool's name.
    pub(super) tool: Template,
    /// The arguments; none unless given.
    #[serde(default)]
    pub(super) input: Input,
}

/// A tool call with arguments as text.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "RawCall")]
pub(super) struct RawCallStep {
    /// The call's id; `call-TURN-NUMBER` unless given.
    #[serde(default, deserialize_with = "given")]
    pub(super) id: Option<Template>,
    /// The tool's name.
    pub(super) tool: Template,
    /// The arguments, sent as they are.
    pub(super) input: Template,
}

/// How texts arrive in small pieces.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Drip")]
pub(super) struct DripStep {
    /// The time before each piece.
    pub(super) every: Span,
    /// How many characters a piece has.
    pub(super) size: NonZeroUsize,
}

/// Why the model stops.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Stop {
    /// It has said all.
    End,
    /// It wants its tool calls answered.
    Calls,
    /// It reached the output limit.
    Length,
    /// It declines.
    Refusal,
}

impl From<Stop> for StopReason {
    fn from(stop: Stop) -> StopReason {
        match stop {
            Stop::End => StopReason::End,
            Stop::Calls => StopReason::Calls,
            Stop::Length => StopReason::Length,
            Stop::Refusal => StopReason::Refusal,
        }
    }
}

/// The word `true`; a step that should not happen is left out.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(try_from = "bool")]
#[schemars(with = "bool", extend("const" = true))]
pub(super) struct Yes;

impl TryFrom<bool> for Yes {
    type Error = &'static str;

    fn try_from(yes: bool) -> Result<Yes, &'static str> {
        if yes { Ok(Yes) } else { Err("only `true` makes sense here; remove the step instead") }
    }
}
