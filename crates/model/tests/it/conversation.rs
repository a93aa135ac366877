//! Short ways to write requests and answers.

use std::sync::Arc;

use bosun_model::{
    Delta, Model, ModelError, ModelMessage, ModelReply, ModelRequest, ScriptModel, ToolCallPolicy, ToolSpec,
};
use futures_util::StreamExt;
use protocol::{CallId, ContentBlock, Timestamp, ToolCallRequest, ToolResult, ToolResultStatus};

/// A first request of the root with one prompt.
pub(crate) fn prompt(text: &str) -> ModelRequest {
    ModelRequest {
        agent: "main".into(),
        path: "/root".into(),
        requested_at: Timestamp(1000),
        turn: 1,
        attempt: 1,
        system: "You help.".into(),
        messages: vec![ModelMessage::user(text)].into(),
        tools: Arc::default(),
        max_output_tokens: None,
        effort: None,
        call_policy: ToolCallPolicy::Allowed,
    }
}

/// Extends a request.
pub(crate) trait Then: Sized {
    fn push(self, message: ModelMessage) -> Self;

    fn user(self, text: &str) -> Self {
        self.push(ModelMessage::user(text))
    }

    fn says(self, text: &str) -> Self {
        self.push(ModelMessage::Assistant { content: vec![ContentBlock::Text { text: text.into() }] })
    }

    fn calls(self, tool: &str, input: &str) -> Self {
        let call = ToolCallRequest { id: CallId(format!("id-{tool}")), tool: tool.into(), input: input.into() };
        self.push(ModelMessage::Assistant { content: vec![ContentBlock::Call(call)] })
    }

    fn answered(self, tool: &str, status: ToolResultStatus, text: &str) -> Self {
        let answer = ToolResult { status, text: text.into() };
        self.push(ModelMessage::Answers { answers: vec![(CallId(format!("id-{tool}")), answer)] })
    }
}

impl Then for ModelRequest {
    fn push(mut self, message: ModelMessage) -> ModelRequest {
        self.turn += u32::from(matches!(message, ModelMessage::Assistant { .. }));
        self.messages.push(message);
        self
    }
}

/// `request` with a tool on offer.
pub(crate) fn offering(mut request: ModelRequest, tool: &str) -> ModelRequest {
    let tool = ToolSpec { name: tool.into(), description: String::new(), schema: serde_json::json!({}) };
    request.tools = request.tools.iter().cloned().chain([tool]).collect();
    request
}

/// A script whose rules are `rules`.
pub(crate) fn script(rules: &str) -> ScriptModel {
    ScriptModel::parse(&format!("version: 1\nrules:\n{rules}"), "test.yaml").unwrap()
}

/// Everything a model sends.
pub(crate) async fn sent(model: &dyn Model, request: ModelRequest) -> Vec<Result<Delta, ModelError>> {
    model.send(request).collect().await
}

/// The whole answer of a model.
pub(crate) async fn reply(model: &dyn Model, request: ModelRequest) -> Result<ModelReply, ModelError> {
    ModelReply::collect(model.send(request)).await
}

/// The text of a model's answer.
pub(crate) async fn words(model: &dyn Model, request: ModelRequest) -> String {
    let content = reply(model, request).await.unwrap().content;
    let text = |block| if let ContentBlock::Text { text } = block { text } else { String::new() };
    content.into_iter().map(text).collect()
}
