//! Tools that a client runs: each call is told to the session's clients, and waits for one of them to answer.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use tokio::sync::oneshot;
use tools::{Access, BoxFuture, Context, Limits, Need, Output, Spec, Tool, ToolError};

use super::audience::{Aside, Audience};

/// The calls that wait for a client to answer, and how clients are told of them.
#[derive(Debug, Default)]
pub(crate) struct Workbench {
    audience: Arc<Audience>,
    calls: Mutex<HashMap<String, Waiting>>,
}

#[derive(Debug)]
struct Waiting {
    told: Aside,
    answer: oneshot::Sender<Answer>,
}

/// What a model is told of a tool that threw. The exception is the client's, and may hold anything.
const NO_DETAILS: &str = "the tool failed, and its program gives no details";

/// What a client made of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answer {
    Done(String),
    Failed(String),
}

impl Workbench {
    pub(crate) fn new(audience: Arc<Audience>) -> Workbench {
        Workbench { audience, calls: Mutex::default() }
    }

    /// Answers a call; says whether it waited for that.
    pub(crate) fn answer(&self, request: &str, answer: Answer) -> bool {
        let waiting = self.calls().remove(request);
        waiting.is_some_and(|waiting| waiting.answer.send(answer).is_ok())
    }

    /// What a client that comes later must be told.
    pub(crate) fn waiting(&self) -> Vec<Aside> {
        self.calls().values().map(|waiting| waiting.told.clone()).collect()
    }

    fn calls(&self) -> MutexGuard<'_, HashMap<String, Waiting>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Answer {
    /// Reads `session.tools.handlePendingToolCall`.
    pub(crate) fn read(params: &Value) -> Answer {
        if !params["error"].is_null() {
            return Answer::Failed(NO_DETAILS.to_owned());
        }
        let result = &params["result"];
        let text = match result {
            Value::String(text) => text.clone(),
            Value::Null => String::new(),
            Value::Object(fields) => match fields.get("textResultForLlm").and_then(Value::as_str) {
                Some(text) => text.to_owned(),
                None => result.to_string(),
            },
            other => other.to_string(),
        };
        match result["resultType"].as_str() {
            None | Some("success") => Answer::Done(text),
            Some(_failed) if text.is_empty() => Answer::Failed(NO_DETAILS.to_owned()),
            Some(_failed) => Answer::Failed(text),
        }
    }
}

/// One tool that a client runs.
#[derive(Debug)]
pub(crate) struct ClientTool {
    spec: Spec,
    /// What clients call the session.
    session: String,
    cwd: Option<String>,
    bench: Arc<Workbench>,
    /// What a call of it does, as far as anybody here can tell.
    need: Need,
}

impl ClientTool {
    pub(crate) fn new(given: &Value, session: String, cwd: Option<String>, bench: Arc<Workbench>) -> ClientTool {
        let schema = match &given["parameters"] {
            schema @ Value::Object(_) => schema.clone(),
            _absent => json!({ "type": "object", "properties": {} }),
        };
        let text = |name: &str| given[name].as_str().unwrap_or_default().to_owned();
        let spec = Spec { name: text("name").into(), about: text("description").into(), schema, access: Access::Other };
        // No rule says this: one with the tool's name could mean tools of ours too.
        let need = if given["skipPermission"] == true { Need::Session } else { Need::Other };
        ClientTool { spec, session, cwd, bench, need }
    }

    async fn ask(&self, input: &str, cx: &Context) -> Result<Answer, ToolError> {
        let request = format!("{}/{}", cx.place.task, cx.place.call);
        let arguments: Value = serde_json::from_str(input).unwrap_or_else(|_| Value::String(input.to_owned()));
        let mut content = json!({
            "requestId": request,
            "sessionId": self.session,
            "toolCallId": cx.place.call.to_string(),
            "toolName": self.spec.name,
            "arguments": arguments,
        });
        if let Some(cwd) = &self.cwd {
            content["workingDirectory"] = cwd.clone().into();
        }
        let mut told = Aside::new("external_tool.requested", content);
        told.after = Some((cx.place.task, cx.place.call.clone()));
        let (answer, answered) = oneshot::channel();
        self.bench.calls().insert(request.clone(), Waiting { told: told.clone(), answer });
        let _place = Place { bench: &self.bench, request: &request };
        // The client takes as long as it takes.
        let _resting = cx.pulse.rest();
        self.bench.audience.tell(&told);
        let answer = tokio::select! {
            answer = answered => answer.map_err(|_| ToolError::refused("nobody answers this call any more"))?,
            () = cx.cancel.cancelled() => return Err(ToolError::refused("the call was cancelled")),
        };
        self.bench.audience.tell(&Aside::new("external_tool.completed", json!({ "requestId": request })));
        Ok(answer)
    }
}

/// A call's place among those that wait; dropping it gives the place back.
struct Place<'a> {
    bench: &'a Workbench,
    request: &'a str,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.bench.calls().remove(self.request);
    }
}

impl Tool for ClientTool {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn needs(&self, _input: &str, _limits: &Limits) -> Result<Vec<Need>, ToolError> {
        Ok(vec![self.need.clone()])
    }

    fn run<'a>(&'a self, input: &'a str, cx: &'a Context) -> BoxFuture<'a, Result<Output, ToolError>> {
        Box::pin(async move {
            match self.ask(input, cx).await? {
                Answer::Done(text) => Ok(Output::text(&text, cx)),
                Answer::Failed(text) => Err(ToolError::refused(text).clipped(cx.limits.output)),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_a_text_an_object_or_an_error() {
        let read = |params: Value| Answer::read(&params);
        assert_eq!(read(json!({ "result": "yes" })), Answer::Done("yes".into()));
        let object = json!({ "result": { "textResultForLlm": "yes", "resultType": "success" } });
        assert_eq!(read(object), Answer::Done("yes".into()));
        let failed = json!({ "result": { "textResultForLlm": "", "resultType": "failure", "error": "broke" } });
        assert_eq!(read(failed), Answer::Failed(NO_DETAILS.into()));
        for thrown in [json!("broke: key=s3cret"), json!({ "message": "s3cret" }), json!(["s3cret"]), json!(5)] {
            assert_eq!(read(json!({ "error": thrown })), Answer::Failed(NO_DETAILS.into()));
            assert_eq!(read(json!({ "error": thrown, "result": "s3cret" })), Answer::Failed(NO_DETAILS.into()));
        }
        let told =
            json!({ "result": { "textResultForLlm": "no such city", "resultType": "failure", "error": "s3cret" } });
        assert_eq!(read(told), Answer::Failed("no such city".into()));
        assert_eq!(read(json!({ "result": { "other": 1 } })), Answer::Done(r#"{"other":1}"#.into()));
        assert_eq!(read(json!({})), Answer::Done(String::new()));
    }
}
