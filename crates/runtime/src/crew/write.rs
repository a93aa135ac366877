//! Sends messages, with a receipt for each reader.

use std::collections::BTreeSet;

use kernel::{Input, Letter};
use protocol::{Body, Origin, TaskId};
use tools::{Readers, ToolError, WriteOrder};

use super::Crew;
use crate::supervisor::Rejected;

impl Crew {
    pub(super) async fn write_agents(&self, order: WriteOrder) -> Result<String, ToolError> {
        if order.message.trim().is_empty() {
            return Err(ToolError::refused("`message` is empty"));
        }
        let readers = match &order.to {
            Readers::Named(names) => names.iter().map(|name| self.find_near(name)).collect::<Result<Vec<_>, _>>()?,
            Readers::Siblings => self.siblings(),
            Readers::Children => self.children(),
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
    async fn send(&self, to: TaskId, order: &WriteOrder) -> Result<String, ToolError> {
        let path = self.desk.roster.path(to);
        let from = Origin::Task { id: self.own() };
        let letter = Letter { to, from, delivery: order.delivery, body: Body::text(order.message.clone()) };
        match self.caller.supervisor.submit(Input::Send(letter)).await {
            Ok(receipt) => {
                let mail = receipt.mail.map(|mail| mail.to_string()).unwrap_or_default();
                Ok(format!("{path}: accepted as {mail}, now {}", self.state(to).await?))
            }
            Err(Rejected::Refused(refusal)) => Ok(format!("{path}: not accepted: {refusal}")),
            Err(rejected) => Err(ToolError::broken(rejected)),
        }
    }
}
