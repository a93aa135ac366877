//! What clients are told of mail: messages as they join a conversation, and results that reach it.

use protocol::{Body, Delivery, MailId, Origin, TaskId};
use serde_json::json;

use super::Translator;
use super::tasks::Agent;
use super::wire::Wire;

/// Mail that nobody has read yet.
#[derive(Debug)]
pub(super) struct Letter {
    from: Origin,
    delivery: &'static str,
    body: Body,
}

impl Translator {
    pub(super) fn admitted(
        &mut self,
        task: TaskId,
        mail: MailId,
        from: Origin,
        delivery: Delivery,
        body: Body,
    ) -> Vec<Wire> {
        let is_running = self.agents.get(&task).is_some_and(Agent::is_running);
        let delivery = match delivery {
            _ if !is_running => "idle",
            Delivery::Steer | Delivery::Interrupt => "steering",
            Delivery::FollowUp => "queued",
        };
        if self.root == Some(task) && from == Origin::Runtime && std::mem::take(&mut self.continuation_due) {
            self.continuations.insert(mail);
        }
        self.mail.insert(mail, Letter { from, delivery, body });
        match self.whose(task) {
            None => vec![Wire::told("pending_messages.modified", json!({}))],
            Some(_) => Vec::new(),
        }
    }

    pub(super) fn delivered(&mut self, task: TaskId, mail: MailId) -> Option<Wire> {
        let Letter { from, delivery, body } = self.mail.remove(&mail)?;
        let whose = self.whose(task);
        let (text, display) = match body {
            Body::Text { text, display, .. } => (text, display),
            Body::Result { task, .. } => return self.notification(task).map(|wire| wire.of(whose)),
        };
        let is_continuation = self.continuations.remove(&mail);
        let shown = if is_continuation { String::new() } else { display.unwrap_or_else(|| text.clone()) };
        let mut content = json!({
            "content": shown,
            "transformedContent": text,
            "messageId": mail.to_string(),
            "delivery": delivery,
            "agentMode": self.mode.to_string(),
        });
        match from {
            Origin::User => {}
            Origin::Task { id } => content["source"] = format!("agent-{id}").into(),
            Origin::Runtime => content["source"] = "system".into(),
        }
        if is_continuation {
            content["isAutopilotContinuation"] = true.into();
        }
        Some(Wire::kept("user.message", content).of(whose))
    }
}
