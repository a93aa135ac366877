//! Sends messages, with a receipt for each recipient.

use std::collections::BTreeSet;

use kernel::{KernelInput, NewMail};
use protocol::{MailBody, Principal, TaskId};
use tools::{MessageAgentsRequest, MessageRecipients, ToolError};

use super::AgentSubagents;
use crate::supervisor::InputRejection;

impl AgentSubagents {
    pub(super) async fn message_agents(&self, request: MessageAgentsRequest) -> Result<String, ToolError> {
        if request.message.trim().is_empty() {
            return Err(ToolError::refused("`message` is empty"));
        }
        let recipients = match &request.to {
            MessageRecipients::Named(names) => {
                names.iter().map(|name| self.find_near(name)).collect::<Result<Vec<_>, _>>()?
            }
            MessageRecipients::Siblings => self.siblings(),
            MessageRecipients::Children => self.children(),
        };
        if recipients.is_empty() {
            return Err(ToolError::refused("there are no recipients; `list_agents` lists the agents"));
        }
        let (mut receipts, mut seen) = (Vec::new(), BTreeSet::new());
        // A recipient that is named twice gets the message once.
        for recipient in recipients.into_iter().filter(|recipient| seen.insert(*recipient)) {
            receipts.push(self.send(recipient, &request).await?);
        }
        Ok(receipts.join("\n"))
    }

    /// Sends one message; returns a receipt, accepted or not.
    async fn send(&self, to: TaskId, request: &MessageAgentsRequest) -> Result<String, ToolError> {
        let path = self.context.log.roster.path(to);
        let from = Principal::Task { id: self.caller_task() };
        let mail = NewMail { to, from, delivery: request.delivery, body: MailBody::text(request.message.clone()) };
        match self.caller.supervisor.submit(KernelInput::Send(mail)).await {
            Ok(receipt) => {
                let mail = receipt.mail.map(|mail| mail.to_string()).unwrap_or_default();
                Ok(format!("{path}: accepted as {mail}, now {}", self.state(to).await?))
            }
            Err(InputRejection::Refused(refusal)) => Ok(format!("{path}: not accepted: {refusal}")),
            Err(rejected) => Err(ToolError::failed(rejected)),
        }
    }
}
