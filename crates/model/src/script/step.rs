//! The steps of an answer, as written in the file.

use std::num::NonZeroUsize;

use protocol::StopReason;
use schemars::JsonSchema;
use serde::Deserialize;

use super::fail::ScriptFailure;
use super::given::given;
use super::input::InputTemplate;
use super::template::Template;
use super::timing::ScriptDuration;

/// One step of an answer.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum ScriptStep {
    /// Says a text.
    Say(Template),
    /// Thinks a text.
    Think(Template),
    /// Calls a tool.
    Call(CallStep),
    /// Calls a tool with arguments that may be anything, such as malformed JSON.
    RawCall(RawCallStep),
    /// Waits.
    Wait(ScriptDuration),
    /// Makes every later text of the answer arrive in small pieces.
    Drip(DripStep),
    /// Ends the answer for this reason; last step.
    Stop(ScriptStop),
    /// Ends the stream as if the connection broke; last step.
    Cut(LiteralTrue),
    /// Never ends; last step.
    Hang(LiteralTrue),
    /// Fails; last step.
    Fail(ScriptFailure),
}

impl ScriptStep {
    /// The step's name, if it ends the answer.
    pub(super) fn ending_name(&self) -> Option<&'static str> {
        match self {
            ScriptStep::Stop(_) => Some("stop"),
            ScriptStep::Cut(LiteralTrue) => Some("cut"),
            ScriptStep::Hang(LiteralTrue) => Some("hang"),
            ScriptStep::Fail(_) => Some("fail"),
            ScriptStep::Say(_)
            | ScriptStep::Think(_)
            | ScriptStep::Call(_)
            | ScriptStep::RawCall(_)
            | ScriptStep::Wait(_)
            | ScriptStep::Drip(_) => None,
        }
    }

    /// The highest group that a template in it refers to.
    pub(super) fn highest_group(&self) -> usize {
        let id_and_tool = |id: &Option<Template>, tool: &Template| {
            id.as_ref().map_or(0, Template::highest_group).max(tool.highest_group())
        };
        match self {
            ScriptStep::Say(text) | ScriptStep::Think(text) => text.highest_group(),
            ScriptStep::Call(CallStep { id, tool, input }) => id_and_tool(id, tool).max(input.highest_group()),
            ScriptStep::RawCall(RawCallStep { id, tool, input }) => id_and_tool(id, tool).max(input.highest_group()),
            ScriptStep::Fail(fail) => fail.highest_group(),
            ScriptStep::Wait(_)
            | ScriptStep::Drip(_)
            | ScriptStep::Stop(_)
            | ScriptStep::Cut(LiteralTrue)
            | ScriptStep::Hang(LiteralTrue) => 0,
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
    pub(super) input: InputTemplate,
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
    pub(super) every: ScriptDuration,
    /// The characters of a piece.
    pub(super) size: NonZeroUsize,
}

/// Why the model stops.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum ScriptStop {
    /// The answer is complete.
    End,
    /// It waits for the results of its tool calls.
    Calls,
    /// It reached the output limit.
    Length,
    /// It declines.
    Refusal,
}

impl From<ScriptStop> for StopReason {
    fn from(stop: ScriptStop) -> StopReason {
        match stop {
            ScriptStop::End => StopReason::End,
            ScriptStop::Calls => StopReason::Calls,
            ScriptStop::Length => StopReason::Length,
            ScriptStop::Refusal => StopReason::Refusal,
        }
    }
}

/// The value `true`; an unwanted step is left out instead.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(try_from = "bool")]
#[schemars(with = "bool", extend("const" = true))]
pub(super) struct LiteralTrue;

impl TryFrom<bool> for LiteralTrue {
    type Error = &'static str;

    fn try_from(yes: bool) -> Result<LiteralTrue, &'static str> {
        if yes { Ok(LiteralTrue) } else { Err("only `true` makes sense here; remove the step instead") }
    }
}
