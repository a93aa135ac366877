//! Sends messages, with a receipt for each reader.

use std::collections::BTreeSet;

use kernel::{KernelInput, NewMail};
use protocol::{MailBody, Principal, TaskId};
use tools::{MessageAgentsRequest, MessageRecipients, ToolError};

use super::AgentSubagents;
use crate::supervisor::InputRejection;

impl AgentSubagents {
    pub(super) async fn write_agents(&self, order: MessageAgentsRequest) -> Result<String, ToolError> {
        if order.message.trim().is_empty() {
            return Err(ToolError::refused("`message` is empty"));
        }
        let readers = match &order.to {
            MessageRecipients::Named(names) => {
                names.iter().map(|name| self.find_near(name)).collect::<Result<Vec<_>, _>>()?
            }
            MessageRecipients::Siblings => self.siblings(),
            MessageRecipients::Children => self.children(),
        };
        if readers.is_empty() {
            return Err(ToolError::refused("there is nobody to write to; list_agents shows who there is"));
        }
        let (mut receipts, mut told) = (Vec::new(), BTreeSet::new());
        // Whoever is named twice reads it once.
        for reader in readers.into_iter().filter(|reader| told.insert(*reader)) {
            receipts.push(self.send(reader, &order).await?);
        }
        Ok(receipts.join("\n"))
    }

    /// Sends one message; what became of it is told, whether or not it was taken.
    async fn send(&self, to: TaskId, order: &MessageAgentsRequest) -> Result<String, ToolError> {
        let path = self.context.roster.path(to);
        let from = Principal::Task { id: self.caller_task() };
        let letter = NewMail { to, from, delivery: order.delivery, body: MailBody::text(order.message.clone()) };
        match self.caller.supervisor.submit(KernelInput::Send(letter)).await {
            Ok(receipt) => {
                let mail = receipt.mail.map(|mail| mail.to_string()).unwrap_or_default();
                Ok(format!("{path}: accepted as {mail}, now {}", self.state(to).await?))
            }
            Err(InputRejection::Refused(refusal)) => Ok(format!("{path}: not accepted: {refusal}")),
            Err(rejected) => Err(ToolError::broken(rejected)),
        }
    }
}
