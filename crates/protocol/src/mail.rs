//! Mail: everything that reaches an agent from outside its own turns.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Activation, Image, TaskId};

/// Who sent mail or made a change. Only `User` has the user's authority.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum Principal {
    /// A person, or a program that acts for one.
    User,
    /// Another task of the session.
    Task {
        /// Which one.
        id: TaskId,
    },
    /// The runtime itself.
    Runtime,
}

/// When mail may join its reader's conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum MailDelivery {
    /// At the next safe boundary, between two turns; wakes an idle reader.
    Steer,
    /// When the reader's activation would end; wakes an idle reader.
    FollowUp,
    /// At once: the running turn is stopped first; wakes an idle reader.
    Interrupt,
}

/// The content of mail.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum MailBody {
    /// Text, with images.
    Text {
        /// The text.
        text: String,
        /// The images.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        images: Vec<Image>,
        /// What the user typed, shown instead of the text if it differs.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        display: Option<String>,
    },
    /// An activation of another task ended; its result is in that task's log.
    Result {
        /// The task that ended an activation.
        task: TaskId,
        /// Which activation.
        activation: Activation,
    },
}

impl MailBody {
    /// Text without images.
    pub fn text(text: impl Into<String>) -> MailBody {
        MailBody::Text { text: text.into(), images: Vec::new(), display: None }
    }

    /// The text to show to the user, if there is any.
    pub fn display_text(&self) -> Option<&str> {
        match self {
            MailBody::Text { text, display, .. } => Some(display.as_deref().unwrap_or(text)),
            MailBody::Result { .. } => None,
        }
    }
}
