//! Conversation content: the model's output, its tool calls and their results.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A tool call's id, as the model gave it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct CallId(pub String);

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One block of a model's output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum ContentBlock {
    /// Text for the reader.
    Text {
        /// The text.
        text: String,
    },
    /// The model's reasoning, as far as its provider shows it.
    Thinking {
        /// The text.
        text: String,
    },
    /// A tool call.
    Call(ToolCallRequest),
    /// An item that its provider must get back byte for byte.
    Opaque {
        /// The wire protocol it belongs to.
        provider: String,
        /// The item's JSON, untouched.
        json: String,
    },
}

impl ContentBlock {
    /// The whole text for the reader.
    pub fn text_of(content: &[ContentBlock]) -> String {
        let texts = content.iter().filter_map(|block| match block {
            ContentBlock::Text { text } => Some(text.as_str()),
            ContentBlock::Thinking { .. } | ContentBlock::Call(_) | ContentBlock::Opaque { .. } => None,
        });
        texts.collect()
    }
}

/// A model's request to run a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolCallRequest {
    /// The model's id for it, unique within its task.
    pub id: CallId,
    /// The tool's name.
    pub tool: String,
    /// The arguments as JSON text, exactly as the model wrote them; it may be malformed.
    pub input: String,
}

/// An image for a model.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Image {
    /// Its media type: `image/png`, `image/jpeg`, `image/gif` or `image/webp`.
    pub media: String,
    /// Its bytes in base64.
    pub data: String,
}

impl Image {
    /// Maximum bytes of one image; every provider accepts this size.
    pub const MAX_BYTES: usize = 5_000_000;

    /// Maximum number of images in one message.
    pub const MAX_PER_MESSAGE: usize = 10;

    /// Detects an image's media type from its first bytes, since its name may be wrong. None for unsupported formats.
    pub fn detect_media_type(bytes: &[u8]) -> Option<&'static str> {
        match bytes {
            [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1A, b'\n', ..] => Some("image/png"),
            [0xFF, 0xD8, 0xFF, ..] => Some("image/jpeg"),
            [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
            _other => None,
        }
    }
}

impl fmt::Debug for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} base64 bytes", self.media, self.data.len())
    }
}

/// How hard a model should think before it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ReasoningEffort {
    /// As little as it can.
    Low,
    /// Somewhat.
    Medium,
    /// As much as it can.
    High,
}

impl ReasoningEffort {
    /// The effort in one word.
    pub fn as_str(self) -> &'static str {
        match self {
            ReasoningEffort::Low => "low",
            ReasoningEffort::Medium => "medium",
            ReasoningEffort::High => "high",
        }
    }
}

/// Why a model stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum StopReason {
    /// Its answer is complete.
    End,
    /// It wants its tool calls answered.
    Calls,
    /// It reached the output limit.
    Length,
    /// It declined.
    Refusal,
}

/// The result of a tool call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolResult {
    /// How the call went.
    pub status: ToolResultStatus,
    /// The text for the model, already clipped.
    pub text: String,
}

/// How a tool call went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ToolResultStatus {
    /// It ran.
    Done,
    /// It could not run as asked; the text says what to do instead.
    Refused,
    /// Permission was not given.
    Denied,
    /// The tool itself failed.
    Broken,
    /// Its owner died while it ran; it may or may not have taken effect.
    Interrupted,
    /// It was cancelled before it ended.
    Cancelled,
}

impl ToolResultStatus {
    /// The status in one word.
    pub fn as_str(self) -> &'static str {
        match self {
            ToolResultStatus::Done => "done",
            ToolResultStatus::Refused => "refused",
            ToolResultStatus::Denied => "denied",
            ToolResultStatus::Broken => "broken",
            ToolResultStatus::Interrupted => "interrupted",
            ToolResultStatus::Cancelled => "cancelled",
        }
    }

    /// Whether the model should read the answer as an error.
    pub fn is_error(self) -> bool {
        match self {
            ToolResultStatus::Done => false,
            ToolResultStatus::Refused
            | ToolResultStatus::Denied
            | ToolResultStatus::Broken
            | ToolResultStatus::Interrupted
            | ToolResultStatus::Cancelled => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_media_type_of_an_image_is_detected_from_its_first_bytes() {
        let known: [(&[u8], &str); 4] = [
            (b"\x89PNG\r\n\x1a\n...", "image/png"),
            (b"\xff\xd8\xff\xe0", "image/jpeg"),
            (b"GIF89a", "image/gif"),
            (b"RIFF\0\0\0\0WEBPVP8 ", "image/webp"),
        ];
        assert!(known.iter().all(|(bytes, media_type)| Image::detect_media_type(bytes) == Some(*media_type)));
        let others: [&[u8]; 4] = [b"", b"<svg>", b"RIFF\0\0\0\0WAVE", b"\x89PNG"];
        assert!(others.iter().all(|bytes| Image::detect_media_type(bytes).is_none()));
    }
}
