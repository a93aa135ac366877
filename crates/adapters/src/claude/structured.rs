//! Structured output: a tool that accepts answers which match the client's schema, and reminders to call it.

use std::collections::HashMap;
use std::sync::Arc;

use protocol::{CallId, ContentBlock, Event, Hinted, ToolResultStatus};
use serde_json::Value;
use tools::{
    BoxFuture, RequiredPermission, Tool, ToolAccess, ToolContext, ToolDescriptor, ToolError, ToolLimits, ToolOutput,
};

/// The tool's name, which clients know.
const TOOL_NAME: &str = "StructuredOutput";

/// Text appended to the root's system prompt.
pub(super) const SYSTEM_TEXT: &str = "When your work is done, call the tool StructuredOutput once. Its input is your answer; nothing \
     else that you write is read. If it refuses your input, correct it and call it again.";

/// The message to an agent that ended without an answer.
const REMINDER: &str = "You ended without an answer. Call the tool StructuredOutput with it now.";

/// How often an agent is reminded before the adapter gives up.
const TRIES: u32 = 5;

/// The state of structured output: the tool, its calls and the answer.
#[derive(Debug)]
pub(super) struct StructuredOutputState {
    tool: Arc<dyn Tool>,
    /// Calls of the tool without a result.
    open_calls: HashMap<CallId, String>,
    answer: Option<Value>,
    reminders: u32,
}

/// Why answers cannot have a schema.
#[derive(Debug, thiserror::Error)]
pub(super) enum OutputSchemaError {
    #[error("the JSON schema of the output must have the type `object`")]
    NotAnObject,
    #[error(transparent)]
    Unusable(#[from] runtime::SchemaError),
}

impl Hinted for OutputSchemaError {
    fn hint(&self) -> Option<String> {
        match self {
            OutputSchemaError::NotAnObject => None,
            OutputSchemaError::Unusable(error) => error.hint(),
        }
    }
}

/// What happens at the end of a turn.
#[derive(Debug, PartialEq)]
pub(super) enum StructuredOutcome {
    /// There is an answer.
    Answer(Value),
    /// Send the agent this reminder, and continue.
    Retry(&'static str),
    /// No reminders are left; the text is for the client.
    GaveUp(String),
}

impl StructuredOutputState {
    /// Creates the state for a schema.
    pub(super) fn new(schema: &Value) -> Result<StructuredOutputState, OutputSchemaError> {
        let mut schema = schema.clone();
        if let Some(fields) = schema.as_object_mut() {
            fields.remove("$schema");
            fields.remove("$id");
        }
        if schema["type"] != "object" {
            return Err(OutputSchemaError::NotAnObject);
        }
        runtime::check_schema(&schema)?;
        let spec = ToolDescriptor {
            name: TOOL_NAME.into(),
            description: "Gives the answer to the user in the requested format. Call it once, at the end.".into(),
            schema,
            access: ToolAccess::Session,
        };
        let tool = Arc::new(StructuredOutputTool { spec });
        Ok(StructuredOutputState { tool, open_calls: HashMap::new(), answer: None, reminders: 0 })
    }

    /// The state for another session with the same schema.
    pub(super) fn restarted(&self) -> StructuredOutputState {
        StructuredOutputState { tool: self.tool(), open_calls: HashMap::new(), answer: None, reminders: 0 }
    }

    /// The tool that accepts the answer.
    pub(super) fn tool(&self) -> Arc<dyn Tool> {
        Arc::clone(&self.tool)
    }

    /// Follows an event of the root; must not be called with events of other tasks.
    pub(super) fn apply_event(&mut self, event: &Event) {
        match event {
            Event::TurnAnswered { content, .. } => {
                let calls = content.iter().filter_map(|block| match block {
                    ContentBlock::Call(call) if call.tool == TOOL_NAME => Some((call.id.clone(), call.input.clone())),
                    ContentBlock::Call(_)
                    | ContentBlock::Text { .. }
                    | ContentBlock::Thinking { .. }
                    | ContentBlock::Opaque { .. } => None,
                });
                self.open_calls = calls.collect();
            }
            Event::CallRewritten { call, input } => {
                if let Some(open_input) = self.open_calls.get_mut(call) {
                    open_input.clone_from(input);
                }
            }
            Event::CallAnswered { call, answer, .. } => {
                if let (Some(input), ToolResultStatus::Done) = (self.open_calls.remove(call), answer.status) {
                    self.answer = serde_json::from_str(&input).ok();
                }
            }
            _other => {}
        }
    }

    /// Decides what happens at the end of a turn.
    pub(super) fn end_turn(&mut self) -> StructuredOutcome {
        if let Some(answer) = self.answer.take() {
            self.reminders = 0;
            return StructuredOutcome::Answer(answer);
        }
        if self.reminders == TRIES {
            self.reminders = 0;
            return StructuredOutcome::GaveUp(format!("no output in the requested format after {TRIES} reminders"));
        }
        self.reminders += 1;
        StructuredOutcome::Retry(REMINDER)
    }
}

/// The tool that accepts the answer.
#[derive(Debug)]
struct StructuredOutputTool {
    spec: ToolDescriptor,
}

impl Tool for StructuredOutputTool {
    fn spec(&self) -> &ToolDescriptor {
        &self.spec
    }

    fn required_permissions(&self, input: &str, limits: &ToolLimits) -> Result<Vec<RequiredPermission>, ToolError> {
        match input.len() <= limits.input_bytes {
            true => Ok(vec![RequiredPermission::Session]),
            false => {
                Err(ToolError::refused(format!("invalid input: at most {} bytes are allowed", limits.input_bytes)))
            }
        }
    }

    fn run<'a>(&'a self, input: &'a str, cx: &'a ToolContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            match runtime::schema_mistakes(self.spec.schema.clone(), input.to_owned()).await {
                Ok(None) => Ok(ToolOutput::text("Accepted. Your work is done.", cx)),
                Ok(Some(mistakes)) => Err(ToolError::Refused(mistakes).clipped(cx.limits.output_bytes)),
                Err(why) => Err(ToolError::failed(why)),
            }
        })
    }
}

/// The schema for answers, from `initialize` or the command line.
pub(super) fn requested_schema(flag: Option<&str>, initialize: &Value) -> Result<Option<Value>, String> {
    match (&initialize["jsonSchema"], flag.filter(|text| !text.trim().is_empty())) {
        (Value::Null, None) => Ok(None),
        (Value::Null, Some(text)) => {
            serde_json::from_str(text).map(Some).map_err(|error| format!("--json-schema is not JSON: {error}"))
        }
        (schema, _) => Ok(Some(schema.clone())),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use protocol::{Cost, StopReason, ToolCallRequest, ToolResult, Turn, Usage};

    use super::*;

    fn call_events(input: &str, status: ToolResultStatus) -> [Event; 2] {
        let call = ToolCallRequest { id: CallId("c".into()), tool: TOOL_NAME.into(), input: input.into() };
        let turn = Event::TurnAnswered {
            turn: Turn(1),
            content: vec![ContentBlock::Call(call)],
            stop: StopReason::Calls,
            usage: Usage::default(),
            cost: Cost::ZERO,
            model: "m".into(),
        };
        let answer = ToolResult { status, text: String::new() };
        let answered = Event::CallAnswered { call: CallId("c".into()), answer, evidence: Vec::new() };
        [turn, answered]
    }

    fn structured() -> StructuredOutputState {
        StructuredOutputState::new(&json!({ "type": "object", "properties": { "n": { "type": "integer" } } })).unwrap()
    }

    #[test]
    fn last_accepted_answer_counts() {
        let mut structured = structured();
        let calls =
            [call_events(r#"{"n":1}"#, ToolResultStatus::Done), call_events(r#"{"n":"x"}"#, ToolResultStatus::Refused)];
        calls.iter().flatten().for_each(|event| structured.apply_event(event));
        assert_eq!(structured.end_turn(), StructuredOutcome::Answer(json!({ "n": 1 })));
        assert!(matches!(structured.end_turn(), StructuredOutcome::Retry(_)));
    }

    #[test]
    fn adapter_gives_up_after_all_reminders() {
        let mut structured = structured();
        for _try in 0..TRIES {
            assert!(matches!(structured.end_turn(), StructuredOutcome::Retry(_)));
        }
        assert!(matches!(structured.end_turn(), StructuredOutcome::GaveUp(_)));
    }

    #[test]
    fn unusable_schemas_are_refused() {
        for schema in [json!({ "type": "string" }), json!(null), json!({ "type": "object", "$ref": "#" })] {
            assert!(StructuredOutputState::new(&schema).is_err(), "{schema}");
        }
        assert_eq!(requested_schema(None, &json!({})), Ok(None));
        assert_eq!(requested_schema(Some("{}"), &json!({})), Ok(Some(json!({}))));
        assert_eq!(requested_schema(Some("{}"), &json!({ "jsonSchema": { "a": 1 } })), Ok(Some(json!({ "a": 1 }))));
        assert!(requested_schema(Some("{"), &json!({})).unwrap_err().starts_with("--json-schema is not JSON"));
    }
}
