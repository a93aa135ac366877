//! Requests and answers, shortly written.

use std::sync::Arc;

use bosun_model::{Calls, Delta, Message, Model, ModelError, Reply, Request, Script, ToolSpec};
use futures_util::StreamExt;
use protocol::{Answer, AnswerStatus, At, Block, Call, CallId};

/// A first request of the root with one prompt.
pub(crate) fn prompt(text: &str) -> Request {
    Request {
        agent: "main".into(),
        path: "/root".into(),
        at: At(1000),
        turn: 1,
        attempt: 1,
        system: "You help.".into(),
        messages: vec![Message::user(text)].into(),
        tools: Arc::default(),
        max_output: None,
        effort: None,
        calls: Calls::Allowed,
    }
}

/// What makes a request a longer one.
pub(crate) trait Then: Sized {
    fn push(self, message: Message) -> Self;

    fn user(self, text: &str) -> Self {
        self.push(Message::user(text))
    }

    fn says(self, text: &str) -> Self {
        self.push(Message::Assistant { content: vec![Block::Text { text: text.into() }] })
    }

    fn calls(self, tool: &str, input: &str) -> Self {
        let call = Call { id: CallId(format!("id-{tool}")), tool: tool.into(), input: input.into() };
        self.push(Message::Assistant { content: vec![Block::Call(call)] })
    }

    fn answered(self, tool: &str, status: AnswerStatus, text: &str) -> Self {
        let answer = Answer { status, text: text.into() };
        self.push(Message::Answers { answers: vec![(CallId(format!("id-{tool}")), answer)] })
    }
}

impl Then for Request {
    fn push(mut self, message: Message) -> Request {
        self.turn += u32::from(matches!(message, Message::Assistant { .. }));
        self.messages.push(message);
        self
    }
}

/// `request` with a tool on offer.
pub(crate) fn offering(mut request: Request, tool: &str) -> Request {
    let tool = ToolSpec { name: tool.into(), about: String::new(), schema: serde_json::json!({}) };
    request.tools = request.tools.iter().cloned().chain([tool]).collect();
    request
}

/// A script whose rules are `rules`.
pub(crate) fn script(rules: &str) -> Script {
    Script::parse(&format!("version: 1\nrules:\n{rules}"), "test.yaml").unwrap()
}

/// Everything a model sends.
pub(crate) async fn sent(model: &dyn Model, request: Request) -> Vec<Result<Delta, ModelError>> {
    model.ask(request).collect().await
}

/// The whole answer of a model.
pub(crate) async fn reply(model: &dyn Model, request: Request) -> Result<Reply, ModelError> {
    Reply::collect(model.ask(request)).await
}

/// The words of a model's answer.
pub(crate) async fn words(model: &dyn Model, request: Request) -> String {
    let content = reply(model, request).await.unwrap().content;
    let text = |block| if let Block::Text { text } = block { text } else { String::new() };
    content.into_iter().map(text).collect()
}
