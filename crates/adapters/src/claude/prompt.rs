//! A user message of the client: text and images.

use protocol::Image;
use protocol::api::SendParams;
use serde_json::Value;

/// The slash commands that start a new conversation.
const CLEAR_COMMANDS: [&str; 3] = ["clear", "new", "reset"];

/// A user message.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ClientPrompt {
    /// The text.
    pub(super) text: String,
    /// The images.
    pub(super) images: Vec<Image>,
    /// The frame it came in.
    pub(super) frame: Value,
}

impl ClientPrompt {
    /// Reads a `user` frame; `None` if it is empty.
    pub(super) fn read(frame: Value) -> Option<ClientPrompt> {
        let (mut texts, mut images) = (Vec::new(), Vec::new());
        match &frame["message"]["content"] {
            Value::String(text) => texts.push(text.clone()),
            Value::Array(blocks) => blocks.iter().for_each(|block| read_block(block, &mut texts, &mut images)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {}
        }
        let text = texts.join("\n");
        (!text.trim().is_empty() || !images.is_empty()).then_some(ClientPrompt { text, images, frame })
    }

    /// This message after earlier ones that wanted no answer.
    pub(super) fn after(mut self, earlier: Vec<ClientPrompt>) -> ClientPrompt {
        if !earlier.is_empty() {
            let texts: Vec<&str> =
                earlier.iter().map(|prompt| prompt.text.as_str()).chain([self.text.as_str()]).collect();
            self.text = texts.join("\n\n");
            let images = earlier.into_iter().flat_map(|prompt| prompt.images);
            self.images = images.chain(std::mem::take(&mut self.images)).collect();
        }
        self
    }

    /// Its approximate size in bytes.
    pub(super) fn size(&self) -> usize {
        2 * (self.text.len() + self.images.iter().map(|image| image.data.len()).sum::<usize>())
    }

    /// The client's id for it.
    pub(super) fn uuid(&self) -> Option<&str> {
        self.frame["uuid"].as_str()
    }

    /// Who wrote it, as the client marks it.
    pub(super) fn origin(&self) -> Option<Value> {
        Some(self.frame["origin"].clone()).filter(Value::is_object)
    }

    /// Whether it asks the model for an answer, and is not only to be remembered.
    pub(super) fn wants_answer(&self) -> bool {
        self.frame["shouldQuery"] != false
    }

    /// Whether it starts a new conversation.
    pub(super) fn clears_conversation(&self) -> bool {
        self.slash_command().is_some_and(|(name, _)| CLEAR_COMMANDS.contains(&name))
    }

    /// The slash command's name and input, if it is one. A client can mark a message as literal text.
    pub(super) fn slash_command(&self) -> Option<(&str, &str)> {
        let verbatim = self.frame["client_composed"].as_bool().unwrap_or(false);
        let line = self.text.trim().strip_prefix('/').filter(|_| !verbatim && self.images.is_empty())?;
        let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        Some((name, rest.trim()))
    }

    /// The message as parameters of the session's API.
    pub(super) fn send_params(&self) -> SendParams {
        SendParams {
            task: None,
            text: self.text.clone(),
            images: self.images.clone(),
            delivery: protocol::MailDelivery::Steer,
            display: None,
        }
    }
}

fn read_block(block: &Value, texts: &mut Vec<String>, images: &mut Vec<Image>) {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    match (block["type"].as_str(), block["source"]["type"].as_str()) {
        (Some("text"), _) => texts.push(text(&block["text"])),
        (Some("image"), Some("base64")) => {
            images.push(Image { media: text(&block["source"]["media_type"]), data: text(&block["source"]["data"]) });
        }
        (Some("document"), Some("text")) => texts.push(text(&block["source"]["data"])),
        (kind, _) => {
            tracing::warn!(?kind, "ignoring an unknown block of the client's message");
            texts.push(format!("[a block of type {} is left out]", kind.unwrap_or("unknown")));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(content: Value) -> Option<ClientPrompt> {
        ClientPrompt::read(json!({ "type": "user", "uuid": "u", "message": { "role": "user", "content": content } }))
    }

    #[test]
    fn a_message_is_text_or_blocks_of_text_and_images() {
        assert_eq!(read(json!("hello")).unwrap().text, "hello");
        let image = json!({ "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": "AA" } });
        let prompt = read(json!([{ "type": "text", "text": "look" }, image, { "type": "video" }])).unwrap();
        assert_eq!(prompt.text, "look\n[a block of type video is left out]");
        assert_eq!(prompt.images, [Image { media: "image/png".into(), data: "AA".into() }]);
        for empty in [json!(""), json!([]), json!(null), json!({ "a": 1 }), json!(7)] {
            assert_eq!(read(empty), None);
        }
    }

    #[test]
    fn leading_slash_is_a_command_unless_the_message_is_literal() {
        assert_eq!(read(json!(" /plan the work ")).unwrap().slash_command(), Some(("plan", "the work")));
        assert_eq!(read(json!("/compact")).unwrap().slash_command(), Some(("compact", "")));
        assert!(read(json!("/clear")).unwrap().clears_conversation());
        assert!(!read(json!("/clearly")).unwrap().clears_conversation());
        assert_eq!(read(json!("a /b")).unwrap().slash_command(), None);
        let frame = json!({ "message": { "content": "/compact" }, "client_composed": true });
        assert_eq!(ClientPrompt::read(frame).unwrap().slash_command(), None);
    }
}
