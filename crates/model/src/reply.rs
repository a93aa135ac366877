//! Collects deltas into an answer.
//!
//! A reply is bounded, and exists only for a completed answer.

use futures_util::StreamExt;
use protocol::{ContentBlock, ModelFault, StopReason, Usage};

use crate::{Delta, Deltas, ModelError};

/// A complete answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelReply {
    /// The content.
    pub content: Vec<ContentBlock>,
    /// Why it stopped.
    pub stop: StopReason,
    /// The tokens it used.
    pub usage: Usage,
    /// The model that answered, as its provider named it.
    pub model: String,
}

impl ModelReply {
    /// Maximum bytes of an answer.
    pub const MAX_BYTES: usize = 16 << 20;

    /// Reads a stream to its end.
    pub async fn collect(mut deltas: Deltas) -> Result<ModelReply, ModelError> {
        let mut builder = ReplyBuilder::default();
        while let Some(delta) = deltas.next().await {
            builder.push(delta?)?;
        }
        builder.finish()
    }
}

/// An answer that is still arriving.
#[derive(Debug, Default)]
pub struct ReplyBuilder {
    content: Vec<ContentBlock>,
    bytes: usize,
    end: Option<ReplyEnd>,
}

#[derive(Debug)]
struct ReplyEnd {
    stop: StopReason,
    usage: Usage,
    model: String,
}

impl ReplyBuilder {
    /// The content so far.
    pub fn content(&self) -> &[ContentBlock] {
        &self.content
    }

    /// Adds a delta; adjacent texts become one block.
    pub fn push(&mut self, delta: Delta) -> Result<(), ModelError> {
        self.bytes = self.bytes.saturating_add(delta.counted_bytes());
        if self.bytes > ModelReply::MAX_BYTES {
            let message = format!("the answer is larger than {} bytes", ModelReply::MAX_BYTES);
            return Err(ModelError::new(ModelFault::Terminal, message).after_start());
        }
        match delta {
            Delta::Text(more) => self.push_text(more),
            Delta::Thinking(more) => self.push_thinking(more),
            Delta::Call(call) => self.content.push(ContentBlock::Call(call)),
            Delta::Opaque { provider, json } => self.content.push(ContentBlock::Opaque { provider, json }),
            Delta::Done { stop, usage, model } => self.end = Some(ReplyEnd { stop, usage, model }),
        }
        Ok(())
    }

    /// The complete answer, or the error that it was cut off.
    pub fn finish(self) -> Result<ModelReply, ModelError> {
        let Some(ReplyEnd { stop, usage, model }) = self.end else {
            return Err(ModelError::new(ModelFault::Transient, "the answer was cut").after_start());
        };
        Ok(ModelReply { content: self.content, stop, usage, model })
    }

    fn push_text(&mut self, more: String) {
        if let Some(ContentBlock::Text { text }) = self.content.last_mut() {
            text.push_str(&more);
        } else if !more.is_empty() {
            self.content.push(ContentBlock::Text { text: more });
        }
    }

    fn push_thinking(&mut self, more: String) {
        if let Some(ContentBlock::Thinking { text }) = self.content.last_mut() {
            text.push_str(&more);
        } else if !more.is_empty() {
            self.content.push(ContentBlock::Thinking { text: more });
        }
    }
}

#[cfg(test)]
mod tests {
    use protocol::{CallId, ToolCallRequest};

    use super::*;

    fn call() -> ToolCallRequest {
        ToolCallRequest { id: CallId("1".into()), tool: "view".into(), input: "{}".into() }
    }

    fn done() -> Delta {
        Delta::Done { stop: StopReason::End, usage: Usage::default(), model: "m".into() }
    }

    fn fold(deltas: impl IntoIterator<Item = Delta>) -> Result<ModelReply, ModelError> {
        let mut builder = ReplyBuilder::default();
        for delta in deltas {
            builder.push(delta)?;
        }
        builder.finish()
    }

    #[test]
    fn adjacent_texts_merge_and_order_is_kept() {
        let text = |text: &str| Delta::Text(text.into());
        let think = |text: &str| Delta::Thinking(text.into());
        let opaque = Delta::Opaque { provider: "p".into(), json: "{}".into() };
        let deltas =
            [think("h"), think("m"), opaque, text("a"), text(""), text("b"), Delta::Call(call()), text("c"), done()];
        let expected = [
            ContentBlock::Thinking { text: "hm".into() },
            ContentBlock::Opaque { provider: "p".into(), json: "{}".into() },
            ContentBlock::Text { text: "ab".into() },
            ContentBlock::Call(call()),
            ContentBlock::Text { text: "c".into() },
        ];
        assert_eq!(fold(deltas).unwrap().content, expected);
    }

    #[test]
    fn an_empty_text_makes_no_block() {
        assert_eq!(fold([Delta::Text(String::new()), Delta::Thinking(String::new()), done()]).unwrap().content, []);
    }

    #[test]
    fn an_answer_without_an_end_is_an_error() {
        let error = fold([Delta::Text("half".into())]).unwrap_err();
        assert_eq!(error, ModelError::new(ModelFault::Transient, "the answer was cut").after_start());
    }

    #[test]
    fn an_endless_answer_is_an_error() {
        let error = fold(std::iter::repeat_with(|| Delta::Text("x".repeat(1 << 20)))).unwrap_err();
        assert_eq!(
            (error.fault, error.message.as_str()),
            (ModelFault::Terminal, "the answer is larger than 16777216 bytes")
        );
    }
}
