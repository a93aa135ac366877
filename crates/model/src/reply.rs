//! Folds deltas into the answer they make.
//!
//! A reply is bounded, and exists only for an answer that was completed.

use futures_util::StreamExt;
use protocol::{Block, ModelFault, StopReason, Usage};

use crate::{Delta, Deltas, ModelError};

/// A complete answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// What the model said.
    pub content: Vec<Block>,
    /// Why it stopped.
    pub stop: StopReason,
    /// What it used.
    pub usage: Usage,
    /// The model that answered, as its provider named it.
    pub model: String,
}

impl Reply {
    /// Most bytes an answer may have.
    pub const MAX_BYTES: usize = 16 << 20;

    /// Reads a stream to its end.
    pub async fn collect(mut deltas: Deltas) -> Result<Reply, ModelError> {
        let mut draft = Draft::default();
        while let Some(delta) = deltas.next().await {
            draft.push(delta?)?;
        }
        draft.finish()
    }
}

/// An answer that is still arriving.
#[derive(Debug, Default)]
pub struct Draft {
    content: Vec<Block>,
    bytes: usize,
    done: Option<Done>,
}

#[derive(Debug)]
struct Done {
    stop: StopReason,
    usage: Usage,
    model: String,
}

impl Draft {
    /// What has arrived so far.
    pub fn content(&self) -> &[Block] {
        &self.content
    }

    /// Adds a delta; neighbouring texts become one block.
    pub fn push(&mut self, delta: Delta) -> Result<(), ModelError> {
        self.bytes = self.bytes.saturating_add(delta.bytes());
        if self.bytes > Reply::MAX_BYTES {
            let message = format!("the answer is larger than {} bytes", Reply::MAX_BYTES);
            return Err(ModelError::new(ModelFault::Terminal, message).begun());
        }
        match delta {
            Delta::Text(more) => self.push_text(more),
            Delta::Thinking(more) => self.push_thinking(more),
            Delta::Call(call) => self.content.push(Block::Call(call)),
            Delta::Opaque { provider, json } => self.content.push(Block::Opaque { provider, json }),
            Delta::Done { stop, usage, model } => self.done = Some(Done { stop, usage, model }),
        }
        Ok(())
    }

    /// The complete answer, or the error that it was cut.
    pub fn finish(self) -> Result<Reply, ModelError> {
        let Some(Done { stop, usage, model }) = self.done else {
            return Err(ModelError::new(ModelFault::Transient, "the answer was cut").begun());
        };
        Ok(Reply { content: self.content, stop, usage, model })
    }

    fn push_text(&mut self, more: String) {
        if let Some(Block::Text { text }) = self.content.last_mut() {
            text.push_str(&more);
        } else if !more.is_empty() {
            self.content.push(Block::Text { text: more });
        }
    }

    fn push_thinking(&mut self, more: String) {
        if let Some(Block::Thinking { text }) = self.content.last_mut() {
            text.push_str(&more);
        } else if !more.is_empty() {
            self.content.push(Block::Thinking { text: more });
        }
    }
}

#[cfg(test)]
mod tests {
    use protocol::{Call, CallId};

    use super::*;

    fn call() -> Call {
        Call { id: CallId("1".into()), tool: "view".into(), input: "{}".into() }
    }

    fn done() -> Delta {
        Delta::Done { stop: StopReason::End, usage: Usage::default(), model: "m".into() }
    }

    fn fold(deltas: impl IntoIterator<Item = Delta>) -> Result<Reply, ModelError> {
        let mut draft = Draft::default();
        for delta in deltas {
            draft.push(delta)?;
        }
        draft.finish()
    }

    #[test]
    fn neighbouring_texts_merge_and_others_keep_their_order() {
        let text = |text: &str| Delta::Text(text.into());
        let think = |text: &str| Delta::Thinking(text.into());
        let opaque = Delta::Opaque { provider: "p".into(), json: "{}".into() };
        let deltas =
            [think("h"), think("m"), opaque, text("a"), text(""), text("b"), Delta::Call(call()), text("c"), done()];
        let expected = [
            Block::Thinking { text: "hm".into() },
            Block::Opaque { provider: "p".into(), json: "{}".into() },
            Block::Text { text: "ab".into() },
            Block::Call(call()),
            Block::Text { text: "c".into() },
        ];
        assert_eq!(fold(deltas).unwrap().content, expected);
    }

    #[test]
    fn an_empty_text_makes_no_block() {
        assert_eq!(fold([Delta::Text(String::new()), Delta::Thinking(String::new()), done()]).unwrap().content, []);
    }

    #[test]
    fn an_answer_without_its_end_was_cut() {
        let error = fold([Delta::Text("half".into())]).unwrap_err();
        assert_eq!(error, ModelError::new(ModelFault::Transient, "the answer was cut").begun());
    }

    #[test]
    fn an_endless_answer_ends() {
        let error = fold(std::iter::repeat_with(|| Delta::Text("x".repeat(1 << 20)))).unwrap_err();
        assert_eq!(
            (error.fault, error.message.as_str()),
            (ModelFault::Terminal, "the answer is larger than 16777216 bytes")
        );
    }
}
