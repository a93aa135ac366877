//! Describes what the next request to the root's model consists of.

use model::{MessagePart, ModelMessage, ToolSpec};
use protocol::api::{ContextInstructions, ContextMessage, ContextRole, ContextTool, ContextView};
use protocol::{ContentBlock, Hinted, TaskId};
use store::StoreError;

use crate::agent::{message_tokens, text_tokens, tool_tokens};
use crate::prepared_agent::PrepareAgentError;
use crate::session_context::SessionContext;

/// How many messages are described.
const DESCRIBED_MESSAGES: usize = 100;

/// Maximum bytes of an excerpt of a message.
const EXCERPT_BYTES: usize = 120;

/// Why the context is not described.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ContextError {
    #[error(transparent)]
    Agent(#[from] PrepareAgentError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Hinted for ContextError {
    fn hint(&self) -> Option<String> {
        match self {
            ContextError::Agent(error) => error.hint(),
            ContextError::Store(_) => None,
        }
    }
}

/// Describes the next request to a task's model.
pub(crate) fn context_view(context: &SessionContext, task: TaskId) -> Result<ContextView, ContextError> {
    let prepared = context.prepared_agent(task)?;
    let conversation = context.log.conversation(task)?;
    let tools = prepared.visible_tools(conversation.added_tools());
    let mut messages: Vec<ContextMessage> = (0..).zip(conversation.messages().iter()).map(describe_message).collect();
    let message_tokens = messages.iter().map(|message| message.tokens).sum();
    let count = messages.len();
    messages.sort_by_key(|message| std::cmp::Reverse(message.tokens));
    messages.truncate(DESCRIBED_MESSAGES);
    let instructions = context.catalog.instructions.files.iter().map(|file| ContextInstructions {
        path: file.path.display().to_string(),
        scope: file.scope.clone(),
        text: file.text.clone(),
        tokens: text_tokens(&file.text),
    });
    Ok(ContextView {
        model: prepared.model_spec.to_string(),
        window: prepared.model.facts().context_tokens,
        system_tokens: text_tokens(&prepared.system_prompt),
        tool_tokens: tools.iter().map(tool_tokens).sum(),
        message_tokens,
        messages: u64::try_from(count).unwrap_or(u64::MAX),
        largest_messages: messages,
        tools: tools.iter().map(describe_tool).collect(),
        instructions: instructions.collect(),
    })
}

fn describe_message((place, message): (u64, &ModelMessage)) -> ContextMessage {
    let (role, text) = match message {
        ModelMessage::User { parts } => (ContextRole::User, parts.iter().find_map(part_text)),
        ModelMessage::Assistant { content } => (ContextRole::Assistant, content.iter().find_map(block_text)),
        ModelMessage::Answers { answers } => {
            (ContextRole::Tool, answers.first().map(|(_, answer)| answer.text.as_str()))
        }
    };
    let excerpt = crate::compact::one_line(text.unwrap_or_default(), EXCERPT_BYTES);
    ContextMessage { place, role, excerpt, tokens: message_tokens(message) }
}

/// The text of a part, if it is text.
pub(crate) fn part_text(part: &MessagePart) -> Option<&str> {
    match part {
        MessagePart::Text(text) => Some(text),
        MessagePart::Image(_) => None,
    }
}

fn block_text(block: &ContentBlock) -> Option<&str> {
    match block {
        ContentBlock::Text { text } => Some(text),
        ContentBlock::Call(call) => Some(&call.tool),
        ContentBlock::Thinking { .. } | ContentBlock::Opaque { .. } => None,
    }
}

fn describe_tool(tool: &ToolSpec) -> ContextTool {
    let ToolSpec { name, description, schema } = tool.clone();
    ContextTool { name, description, schema, tokens: tool_tokens(tool) }
}
