//! A question of the user about the conversation that does not become part of it.

use model::{MessagePart, ModelMessage};
use protocol::{ContentBlock, TaskId, quote_within};

use crate::session_context::SessionContext;
use crate::side_question::{SideQuestion, SideQuestionError, ask_model};
use crate::supervisor::Supervisor;

/// The name of the question in the task tree and in the costs.
const PURPOSE: &str = "aside";

/// The system prompt of the question.
const SYSTEM: &str = include_str!("prompts/aside.md");

/// Maximum bytes of the question.
const MAX_QUESTION_BYTES: usize = 32 << 10;

/// Maximum bytes of the conversation that the model sees with the question.
const MAX_CONVERSATION_BYTES: usize = 48 << 10;

/// Maximum tokens of the answer.
const MAX_OUTPUT: u32 = 2048;

/// Why a question is not answered.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AsideError {
    #[error("the question is empty")]
    Empty,
    #[error("the question has more than {MAX_QUESTION_BYTES} bytes")]
    TooLong,
    #[error(transparent)]
    Question(#[from] SideQuestionError),
}

/// Asks the session's model about the conversation of a task.
pub(crate) async fn ask_aside(
    context: &SessionContext,
    supervisor: &Supervisor,
    task: TaskId,
    question: &str,
) -> Result<String, AsideError> {
    let question = question.trim();
    if question.is_empty() {
        return Err(AsideError::Empty);
    }
    if question.len() > MAX_QUESTION_BYTES {
        return Err(AsideError::TooLong);
    }
    let conversation = context.log.conversation(task).map_err(SideQuestionError::from)?;
    let latest = latest_lines(conversation.messages().iter().rev());
    let prompt = match latest.is_empty() {
        true => question.to_owned(),
        false => {
            let quoted = quote_within(&latest, MAX_CONVERSATION_BYTES);
            format!("The conversation so far:\n{quoted}\nThe question about it:\n{question}")
        }
    };
    let asked =
        SideQuestion { purpose: PURPOSE, model: None, system: SYSTEM.trim_end(), prompt, max_output: MAX_OUTPUT };
    Ok(ask_model(context, supervisor, asked).await?)
}

/// The texts of the latest messages, oldest first, as many as the question may show.
fn latest_lines<'a>(newest_first: impl Iterator<Item = &'a ModelMessage>) -> String {
    let mut room = MAX_CONVERSATION_BYTES;
    let fitting = newest_first.filter_map(line_of).map_while(|line| {
        room = room.checked_sub(line.len())?;
        Some(line)
    });
    let mut lines: Vec<String> = fitting.collect();
    lines.reverse();
    lines.join("\n")
}

/// What a message says; nothing for results of tools.
fn line_of(message: &ModelMessage) -> Option<String> {
    let (speaker, texts): (_, Vec<&str>) = match message {
        ModelMessage::User { parts } => ("User", parts.iter().filter_map(part_text).collect()),
        ModelMessage::Assistant { content } => ("Assistant", content.iter().filter_map(block_text).collect()),
        ModelMessage::Answers { .. } => return None,
    };
    (!texts.is_empty()).then(|| format!("{speaker}: {}", texts.join("\n")))
}

fn part_text(part: &MessagePart) -> Option<&str> {
    match part {
        MessagePart::Text(text) => Some(text),
        MessagePart::Image(_) => None,
    }
}

fn block_text(block: &ContentBlock) -> Option<&str> {
    match block {
        ContentBlock::Text { text } => Some(text),
        ContentBlock::Call(_) | ContentBlock::Thinking { .. } | ContentBlock::Opaque { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(text: &str) -> ModelMessage {
        ModelMessage::User { parts: vec![MessagePart::Text(text.into())] }
    }

    #[test]
    fn a_question_shows_the_latest_messages_that_fit() {
        let answer = ModelMessage::Assistant { content: vec![ContentBlock::Text { text: "Four.".into() }] };
        let conversation = [user("two and two?"), answer];
        assert_eq!(latest_lines(conversation.iter().rev()), "User: two and two?\nAssistant: Four.");
        let long = [user(&"x".repeat(MAX_CONVERSATION_BYTES)), user("short")];
        assert_eq!(latest_lines(long.iter().rev()), "User: short");
        assert_eq!(latest_lines([].iter()), "");
    }
}
