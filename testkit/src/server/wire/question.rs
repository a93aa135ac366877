//! A question as it is read out of a body, piece by piece.

use host::{Clock, SystemClock};
use model::{Calls, Message, Part, Request, ToolSpec};
use protocol::{Answer, AnswerStatus, Block, CallId, Image};
use serde_json::Value;

use super::field::{self, BodyProblem};

/// What a body says of the conversation.
#[derive(Debug)]
pub(super) struct ConversationQuestion {
    pub(super) system: String,
    pub(super) messages: Vec<Message>,
    pub(super) tools: Vec<ToolSpec>,
    pub(super) calls: Calls,
    pub(super) max_output: Option<u32>,
}

impl From<ConversationQuestion> for Request {
    fn from(ConversationQuestion { system, messages, tools, calls, max_output }: ConversationQuestion) -> Request {
        let spoken = messages.iter().filter(|message| matches!(message, Message::Assistant { .. })).count();
        Request {
            agent: "main".into(),
            path: "/root".into(),
            at: SystemClock.now(),
            turn: u32::try_from(spoken + 1).unwrap_or(u32::MAX),
            attempt: 1,
            system: system.into(),
            messages: messages.into(),
            tools: tools.into(),
            calls,
            max_output,
            effort: None,
        }
    }
}

/// Adds an answer; neighbours are one message.
pub(super) fn push_answer(messages: &mut Vec<Message>, id: &str, answer: Answer) {
    let pair = (CallId(id.into()), answer);
    if let Some(Message::Answers { answers }) = messages.last_mut() {
        answers.push(pair);
    } else {
        messages.push(Message::Answers { answers: vec![pair] });
    }
}

/// Adds what the model said; neighbours are one message.
pub(super) fn push_said(messages: &mut Vec<Message>, mut blocks: Vec<Block>) {
    if let Some(Message::Assistant { content }) = messages.last_mut() {
        content.append(&mut blocks);
    } else {
        messages.push(Message::Assistant { content: blocks });
    }
}

/// An answer on a wire that does not tell how the call went.
pub(super) fn done(text: impl Into<String>) -> Answer {
    Answer { status: AnswerStatus::Done, text: text.into() }
}

/// Adds words above the conversation.
pub(super) fn push_line(system: &mut String, more: &str) {
    if !system.is_empty() {
        system.push('\n');
    }
    system.push_str(more);
}

/// A picture out of a `data:` address.
pub(super) fn picture(address: &str) -> Result<Part, BodyProblem> {
    let wrong = || BodyProblem::new("only data:image/…;base64,… addresses are served");
    let (media, data) = address.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,")).ok_or_else(wrong)?;
    image(media, data)
}

/// A picture of a known kind.
pub(super) fn image(media: &str, data: &str) -> Result<Part, BodyProblem> {
    if !["image/png", "image/jpeg", "image/gif", "image/webp"].contains(&media) {
        return Err(BodyProblem::new(format!("unknown media type `{media}`")));
    }
    if data.is_empty() {
        return Err(BodyProblem::new("the picture is empty"));
    }
    Ok(Part::Image(Image { media: media.into(), data: data.into() }))
}

/// A function as OpenAI's wires describe it.
pub(super) fn function(function: &Value) -> Result<ToolSpec, BodyProblem> {
    let about = function.get("description").and_then(Value::as_str).unwrap_or_default().into();
    let schema = field::object(function, "parameters")?.clone();
    Ok(ToolSpec { name: field::tool_name(function, "name")?.into(), about, schema })
}

/// Whether tools may be called, as OpenAI's wires say it.
pub(super) fn choice(body: &Value) -> Result<Calls, BodyProblem> {
    match body.get("tool_choice") {
        None | Some(Value::Object(_)) => Ok(Calls::Allowed),
        Some(_) => match field::text(body, "tool_choice")? {
            "auto" | "required" => Ok(Calls::Allowed),
            "none" => Ok(Calls::Forbidden),
            other => Err(field::unknown("choice", other).within("tool_choice")),
        },
    }
}
