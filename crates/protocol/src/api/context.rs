//! What the next request to the root's model consists of, and how the conversation in it is cut.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the next request to the root's model consists of. Token counts are estimates, very likely not too low.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContextView {
    /// The model, as for `--model`.
    pub model: String,
    /// The most tokens that a request and its answer may have together, if known.
    pub window: Option<u64>,
    /// The tokens of the system prompt.
    pub system_tokens: u64,
    /// The tokens of the descriptions of the tools.
    pub tool_tokens: u64,
    /// The tokens of all messages.
    pub message_tokens: u64,
    /// The number of messages.
    pub messages: u64,
    /// The messages with the most tokens, largest first.
    pub largest_messages: Vec<ContextMessage>,
    /// The tools that the model sees.
    pub tools: Vec<ContextTool>,
    /// The instruction files in the system prompt.
    pub instructions: Vec<ContextInstructions>,
}

/// A message of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContextMessage {
    /// Its place in the conversation, from 0.
    pub place: u64,
    /// Whose it is.
    pub role: ContextRole,
    /// The beginning of its text.
    pub excerpt: String,
    /// Its tokens.
    pub tokens: u64,
}

/// Whose a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ContextRole {
    /// From outside the agent.
    User,
    /// The model's.
    Assistant,
    /// The results of tool calls.
    Tool,
}

impl ContextRole {
    /// The role in one word.
    pub fn as_str(self) -> &'static str {
        match self {
            ContextRole::User => "user",
            ContextRole::Assistant => "assistant",
            ContextRole::Tool => "tool",
        }
    }
}

/// A tool that a model sees.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContextTool {
    /// Its name.
    pub name: String,
    /// Its description for the model.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub schema: serde_json::Value,
    /// The tokens of all that.
    pub tokens: u64,
}

/// An instruction file in a system prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContextInstructions {
    /// The file.
    pub path: String,
    /// The files that it applies to, as a pattern; all when absent.
    pub scope: Option<String>,
    /// Its text, clipped.
    pub text: String,
    /// Its tokens.
    pub tokens: u64,
}

/// Removes the end of the root's conversation: the model does not get it any more, but the log keeps it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CutConversationParams {
    /// The number of the last event that still counts. The next one must have delivered mail to the root.
    pub after: u64,
}

/// A question to the session's model, outside of the conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AskModelParams {
    /// The question.
    pub question: String,
}

/// The answer to a question outside of the conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AskModelResult {
    /// The answer.
    pub answer: String,
}
