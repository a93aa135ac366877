//! Asks a small model what the user may want to say next.

use std::sync::Arc;

use model::ModelMessage;
use protocol::{ContentBlock, ModelPreference, TaskId};

use crate::context_view::part_text;
use crate::prompt;
use crate::session_context::SessionContext;
use crate::side_question::{SideQuestion, SideQuestionError, ask_model};
use crate::supervisor::Supervisor;

/// The name of the question.
const PURPOSE: &str = "prompt-suggestion";

/// The system prompt of the question.
const SYSTEM: &str = include_str!("prompts/suggestion.md");

/// How many of the latest messages the question has.
const MAX_MESSAGES: usize = 8;

/// Maximum bytes of one of them.
const MAX_MESSAGE_BYTES: usize = 1024;

/// Maximum tokens of the answer.
const MAX_OUTPUT: u32 = 64;

/// Maximum characters of a suggestion.
const MAX_CHARS: usize = 200;

/// What the user may want to say next; `None` if nothing is obvious.
pub(crate) async fn suggest_prompt(
    context: &Arc<SessionContext>,
    supervisor: &Supervisor,
    root: TaskId,
) -> Result<Option<String>, SideQuestionError> {
    let conversation = context.log.conversation(root)?;
    let messages: Vec<String> =
        conversation.messages().iter().rev().filter_map(quote_message).take(MAX_MESSAGES).collect();
    if messages.is_empty() {
        return Ok(None);
    }
    let question = SideQuestion {
        purpose: PURPOSE,
        model: context.catalog.models.preferred(ModelPreference::Small),
        system: SYSTEM.trim_end(),
        prompt: messages.into_iter().rev().collect::<Vec<_>>().join("\n"),
        max_output: MAX_OUTPUT,
    };
    Ok(clean(&ask_model(context, supervisor, question).await?))
}

/// A message of the user or of the agent, without its calls.
fn quote_message(message: &ModelMessage) -> Option<String> {
    let (who, text) = match message {
        ModelMessage::User { parts } => ("The user", parts.iter().rev().find_map(part_text)?),
        ModelMessage::Assistant { content } => ("The agent", content.iter().find_map(block_text)?),
        ModelMessage::Answers { .. } => return None,
    };
    Some(format!("{who} said:\n{}", prompt::quote_within(text, MAX_MESSAGE_BYTES)))
}

fn block_text(block: &ContentBlock) -> Option<&str> {
    match block {
        ContentBlock::Text { text } => Some(text),
        ContentBlock::Call(_) | ContentBlock::Thinking { .. } | ContentBlock::Opaque { .. } => None,
    }
}

/// The first line of an answer, without quotes; `None` if nothing is left.
fn clean(answer: &str) -> Option<String> {
    let line = answer.lines().map(str::trim).find(|line| !line.is_empty())?.trim_matches(['"', '`']);
    let text: String = line.chars().filter(|c| !c.is_control()).take(MAX_CHARS).collect();
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suggestion_is_one_line() {
        assert_eq!(clean("\n \"run the tests\"\nor not").as_deref(), Some("run the tests"));
        assert_eq!(clean(&"x".repeat(500)).map(|text| text.len()), Some(MAX_CHARS));
        assert_eq!(clean(" \n"), None);
    }
}
