//! Events about mail: pending messages, and messages and results that were delivered.

use protocol::{MailBody, MailDelivery, MailId, Principal, TaskId};
use serde_json::json;

use super::EventTranslator;
use super::event::CopilotEvent;
use super::tasks::TrackedTask;
use super::user_shell::user_command_started;

/// Mail that its task has not read yet.
#[derive(Debug)]
pub(super) struct UnreadMail {
    from: Principal,
    delivery: &'static str,
    body: MailBody,
}

impl EventTranslator {
    pub(super) fn mail_admitted(
        &mut self,
        task: TaskId,
        mail: MailId,
        from: Principal,
        delivery: MailDelivery,
        body: MailBody,
    ) -> Vec<CopilotEvent> {
        if let (true, MailBody::Text { text, .. }) = (self.is_user_command(task), &body) {
            return user_command_started(task, text);
        }
        let is_running = self.agents.get(&task).is_some_and(TrackedTask::is_running);
        let delivery = match delivery {
            _ if !is_running => "idle",
            MailDelivery::Steer | MailDelivery::Interrupt => "steering",
            MailDelivery::FollowUp => "queued",
        };
        if self.root == Some(task) && from == Principal::Runtime && std::mem::take(&mut self.continuation_due) {
            self.continuations.insert(mail);
        }
        self.mail.insert(mail, UnreadMail { from, delivery, body });
        match self.subagent_id(task) {
            None => vec![CopilotEvent::transient("pending_messages.modified", json!({}))],
            Some(_) => Vec::new(),
        }
    }

    pub(super) fn mail_delivered(&mut self, task: TaskId, mail: MailId) -> Option<CopilotEvent> {
        let UnreadMail { from, delivery, body } = self.mail.remove(&mail)?;
        let agent = self.subagent_id(task);
        let (text, display) = match body {
            MailBody::Text { text, display, .. } => (text, display),
            MailBody::Result { task, .. } => return self.notification(task).map(|event| event.for_agent(agent)),
        };
        let is_continuation = self.continuations.remove(&mail);
        let visible = if is_continuation { String::new() } else { display.unwrap_or_else(|| text.clone()) };
        let mut content = json!({
            "content": visible,
            "transformedContent": text,
            "messageId": mail.to_string(),
            "delivery": delivery,
            "agentMode": self.mode.to_string(),
        });
        match from {
            Principal::User => {}
            Principal::Task { id } => content["source"] = format!("agent-{id}").into(),
            Principal::Runtime => content["source"] = "system".into(),
        }
        if is_continuation {
            content["isAutopilotContinuation"] = true.into();
        }
        self.root_messages += u64::from(agent.is_none());
        Some(CopilotEvent::persistent("user.message", content).for_agent(agent))
    }
}
