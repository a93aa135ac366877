//! Parses requests as strictly as the provider.

use model::{MessagePart, ModelMessage, ModelRequest, ToolSpec};
use protocol::{CallId, ContentBlock, ToolCallRequest};
use serde_json::Value;

use crate::server::wire::field::{self, BodyProblem};
use crate::server::wire::question::{self, ConversationQuestion};
use crate::server::wire::{AnswerForm, Extras, ParsedRequest};

/// Parses a body of `POST /v1/chat/completions`.
pub(in crate::server::wire) fn read(body: &Value) -> Result<ParsedRequest, BodyProblem> {
    let model = field::text(body, "model")?.to_owned();
    let mut draft = ChatDraft::default();
    if field::each(body, "messages", |message| draft.message(message))?.is_empty() {
        return Err(BodyProblem::new("must not be empty").within("messages"));
    }
    let max_output = field::count(body, "max_completion_tokens")?.or(field::count(body, "max_tokens")?);
    let tools = field::each_if_given(body, "tools", tool)?;
    let ChatDraft { system, messages } = draft;
    let question = ConversationQuestion { system, messages, tools, calls: question::choice(body)?, max_output };
    let form = if field::is_on(body, "stream")? { AnswerForm::Stream } else { AnswerForm::Whole };
    Ok(ParsedRequest { request: ModelRequest::from(question), model, form, extras: extras(body, form)? })
}

fn extras(body: &Value, form: AnswerForm) -> Result<Extras, BodyProblem> {
    let Some(options) = body.get("stream_options") else {
        return Ok(Extras::default());
    };
    if form == AnswerForm::Whole {
        return Err(BodyProblem::new("only allowed when `stream` is true").within("stream_options"));
    }
    let usage = field::is_on(options, "include_usage").map_err(|wrong| wrong.within("stream_options"))?;
    Ok(Extras { usage, ..Extras::default() })
}

/// A conversation while it is parsed.
#[derive(Debug, Default)]
struct ChatDraft {
    system: String,
    messages: Vec<ModelMessage>,
}

impl ChatDraft {
    fn message(&mut self, message: &Value) -> Result<(), BodyProblem> {
        match field::text(message, "role")? {
            "system" | "developer" => question::push_line(&mut self.system, &words(message)?),
            "user" => self.messages.push(ModelMessage::User { parts: parts(message)? }),
            "assistant" => self.messages.push(ModelMessage::Assistant { content: said(message)? }),
            "tool" => {
                let id = field::text(message, "tool_call_id")?;
                question::push_answer(&mut self.messages, id, question::done(answer(message)?));
            }
            other => return Err(field::unknown("role", other)),
        }
        Ok(())
    }
}

/// The text of a message, which must not be empty.
fn words(message: &Value) -> Result<String, BodyProblem> {
    if message.get("content").is_some_and(Value::is_string) {
        return Ok(field::words(message, "content")?.into());
    }
    Ok(field::each(message, "content", |part| typed(part, "text"))?.join("\n"))
}

/// The text of an answer, which may be empty.
fn answer(message: &Value) -> Result<String, BodyProblem> {
    if message.get("content").is_some_and(Value::is_string) {
        return Ok(field::text(message, "content")?.into());
    }
    words(message)
}

fn typed<'a>(part: &'a Value, kind: &str) -> Result<&'a str, BodyProblem> {
    match field::text(part, "type")? {
        found if found == kind => field::words(part, "text"),
        other => Err(field::unknown("type", other)),
    }
}

fn parts(message: &Value) -> Result<Vec<MessagePart>, BodyProblem> {
    if message.get("content").is_some_and(Value::is_string) {
        return Ok(vec![MessagePart::Text(words(message)?)]);
    }
    field::each(message, "content", |part| match field::text(part, "type")? {
        "image_url" => {
            let image = field::object(part, "image_url")?;
            question::image_from_url(field::text(image, "url")?).map_err(|wrong| wrong.within("image_url"))
        }
        _ => Ok(MessagePart::Text(typed(part, "text")?.into())),
    })
}

fn said(message: &Value) -> Result<Vec<ContentBlock>, BodyProblem> {
    let calls = field::each_if_given(message, "tool_calls", call)?;
    let text = match message.get("content") {
        None | Some(Value::Null) if calls.is_empty() => {
            return Err(BodyProblem::new("field required unless there are tool_calls").within("content"));
        }
        None | Some(Value::Null) => None,
        Some(_) => Some(ContentBlock::Text { text: words(message)? }),
    };
    Ok(text.into_iter().chain(calls).collect())
}

fn call(call: &Value) -> Result<ContentBlock, BodyProblem> {
    match field::text(call, "type")? {
        "function" => {}
        other => return Err(field::unknown("type", other)),
    }
    let id = CallId(field::words(call, "id")?.into());
    let function = field::object(call, "function")?;
    let read = || Ok((field::tool_name(function, "name")?.into(), field::text(function, "arguments")?.into()));
    let (tool, input) = read().map_err(|wrong: BodyProblem| wrong.within("function"))?;
    Ok(ContentBlock::Call(ToolCallRequest { id, tool, input }))
}

fn tool(tool: &Value) -> Result<ToolSpec, BodyProblem> {
    match field::text(tool, "type")? {
        "function" => {}
        other => return Err(field::unknown("type", other)),
    }
    question::function(field::object(tool, "function")?).map_err(|wrong| wrong.within("function"))
}
