//! Parses requests as strictly as the provider.

use model::{MessagePart, ModelMessage, ModelRequest, ToolSpec};
use protocol::{CallId, ContentBlock, ToolCallRequest};
use serde_json::Value;

use crate::server::wire::field::{self, BodyProblem};
use crate::server::wire::question::{self, ConversationQuestion};
use crate::server::wire::seal::seal;
use crate::server::wire::{AnswerForm, Extras, ParsedRequest};

/// Minimum tokens of an answer.
const MIN_OUTPUT: u32 = 16;

/// Parses a body of `POST /v1/responses`.
pub(in crate::server::wire) fn read(body: &Value) -> Result<ParsedRequest, BodyProblem> {
    let model = field::text(body, "model")?.to_owned();
    let system = body.get("instructions").and_then(Value::as_str).unwrap_or_default().to_owned();
    let mut draft = ResponsesDraft { system, messages: Vec::new(), reasoning: None };
    draft.input(body)?;
    let max_output = field::count(body, "max_output_tokens")?;
    if max_output.is_some_and(|max| max < MIN_OUTPUT) {
        return Err(BodyProblem::new(format!("must be at least {MIN_OUTPUT}")).within("max_output_tokens"));
    }
    let tools = field::each_if_given(body, "tools", tool)?;
    let ResponsesDraft { system, messages, .. } = draft;
    let question = ConversationQuestion { system, messages, tools, calls: question::choice(body)?, max_output };
    let form = if field::is_on(body, "stream")? { AnswerForm::Stream } else { AnswerForm::Whole };
    Ok(ParsedRequest { request: ModelRequest::from(question), model, form, extras: extras(body)? })
}

fn extras(body: &Value) -> Result<Extras, BodyProblem> {
    let wanted = field::each_if_given(body, "include", |name| Ok(name.as_str().unwrap_or_default()))?;
    Ok(Extras { encrypted: wanted.contains(&"reasoning.encrypted_content"), ..Extras::default() })
}

/// A conversation while it is parsed.
#[derive(Debug)]
struct ResponsesDraft {
    system: String,
    messages: Vec<ModelMessage>,
    /// Reasoning that another output item must follow.
    reasoning: Option<String>,
}

impl ResponsesDraft {
    fn input(&mut self, body: &Value) -> Result<(), BodyProblem> {
        if body.get("input").is_some_and(Value::is_string) {
            let text = field::words(body, "input")?;
            self.messages.push(ModelMessage::user(text));
            return Ok(());
        }
        if field::each(body, "input", |item| self.item(item))?.is_empty() {
            return Err(BodyProblem::new("must not be empty").within("input"));
        }
        self.no_reasoning()
    }

    fn item(&mut self, item: &Value) -> Result<(), BodyProblem> {
        let kind = if item.get("type").is_none() { "message" } else { field::text(item, "type")? };
        match kind {
            "message" => self.message(item)?,
            "function_call" => {
                let id = CallId(field::words(item, "call_id")?.into());
                let (tool, input) = (field::tool_name(item, "name")?.into(), field::text(item, "arguments")?.into());
                self.said(vec![ContentBlock::Call(ToolCallRequest { id, tool, input })]);
            }
            "function_call_output" => {
                self.no_reasoning()?;
                let id = field::words(item, "call_id")?;
                question::push_answer(&mut self.messages, id, question::done(output(item)?));
            }
            "reasoning" => {
                let (id, text) = reasoning(item)?;
                self.said(vec![ContentBlock::Thinking { text }]);
                self.reasoning = Some(id);
            }
            other => return Err(field::unknown("type", other)),
        }
        Ok(())
    }

    fn message(&mut self, item: &Value) -> Result<(), BodyProblem> {
        match field::text(item, "role")? {
            "assistant" => {
                let texts = texts(item, &["output_text", "refusal"])?;
                self.said(texts.into_iter().map(|text| ContentBlock::Text { text }).collect());
            }
            "user" => {
                self.no_reasoning()?;
                self.messages.push(ModelMessage::User { parts: parts(item)? });
            }
            "system" | "developer" => {
                question::push_line(&mut self.system, &texts(item, &["input_text"])?.join("\n"));
            }
            other => return Err(field::unknown("role", other)),
        }
        Ok(())
    }

    fn said(&mut self, blocks: Vec<ContentBlock>) {
        self.reasoning = None;
        question::push_output(&mut self.messages, blocks);
    }

    fn no_reasoning(&mut self) -> Result<(), BodyProblem> {
        match self.reasoning.take() {
            Some(id) => {
                Err(BodyProblem::new(format!("item `{id}` of type `reasoning` lacks its required following item")))
            }
            None => Ok(()),
        }
    }
}

/// Reasoning signed by this server, with its id.
fn reasoning(item: &Value) -> Result<(String, String), BodyProblem> {
    let id = field::words(item, "id")?;
    let summary = |part: &Value| match field::text(part, "type")? {
        "summary_text" => Ok(field::text(part, "text")?.to_owned()),
        other => Err(field::unknown("type", other)),
    };
    let text = field::each(item, "summary", summary)?.concat();
    if item.get("encrypted_content").is_none_or(Value::is_null) {
        return Err(BodyProblem::new(format!(
            "item `{id}` is not found: nothing is stored, and it has no encrypted_content"
        )));
    }
    if field::text(item, "encrypted_content")? != seal(&text) {
        return Err(BodyProblem::new(format!("the encrypted_content of item `{id}` could not be verified")));
    }
    Ok((id.to_owned(), text))
}

/// The texts of a message's parts, which must be of these types.
fn texts(item: &Value, kinds: &[&str]) -> Result<Vec<String>, BodyProblem> {
    if item.get("content").is_some_and(Value::is_string) {
        return Ok(vec![field::words(item, "content")?.into()]);
    }
    field::each(item, "content", |part| match field::text(part, "type")? {
        kind if !kinds.contains(&kind) => Err(field::unknown("type", kind)),
        "refusal" => Ok(field::words(part, "refusal")?.into()),
        _ => Ok(field::words(part, "text")?.into()),
    })
}

fn parts(item: &Value) -> Result<Vec<MessagePart>, BodyProblem> {
    if item.get("content").is_some_and(Value::is_string) {
        return Ok(vec![MessagePart::Text(field::words(item, "content")?.into())]);
    }
    field::each(item, "content", |part| match field::text(part, "type")? {
        "input_text" => Ok(MessagePart::Text(field::words(part, "text")?.into())),
        "input_image" => question::image_from_url(field::text(part, "image_url")?),
        other => Err(field::unknown("type", other)),
    })
}

fn output(item: &Value) -> Result<String, BodyProblem> {
    if item.get("output").is_some_and(Value::is_string) {
        return Ok(field::text(item, "output")?.into());
    }
    let text = |part: &Value| match field::text(part, "type")? {
        "input_text" => Ok(field::words(part, "text")?.to_owned()),
        other => Err(field::unknown("type", other)),
    };
    Ok(field::each(item, "output", text)?.join("\n"))
}

fn tool(tool: &Value) -> Result<ToolSpec, BodyProblem> {
    match field::text(tool, "type")? {
        "function" => question::function(tool),
        other => Err(field::unknown("type", other)),
    }
}
