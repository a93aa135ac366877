//! The messages that clients of a session receive: every event, streamed text, and each status after the events that led
//! to it.

use std::time::Duration;

use client::{InProcessMessages, NextMessage, SessionMessage};
use protocol::api::StatusView;
use store::StoreError;
use tokio::sync::watch;
use tokio::time::Instant;

use super::SessionStatus;
use crate::bus::{BusMessage, Subscription};

/// A client's position in the messages of a session.
#[derive(Debug)]
pub(crate) struct ClientMessages {
    subscription: Subscription,
    status: watch::Receiver<SessionStatus>,
    /// A status whose events were not all returned yet.
    pending_status: Option<StatusView>,
    /// The least time between two batches of messages.
    pause: Duration,
    /// Whether messages were returned since the last pause.
    is_pause_due: bool,
    /// The end of the current pause.
    paused_until: Option<Instant>,
}

impl ClientMessages {
    /// The messages after the subscription's last event.
    pub(crate) fn new(
        subscription: Subscription,
        mut status: watch::Receiver<SessionStatus>,
        pause: Duration,
    ) -> ClientMessages {
        let pending_status = Some(status.borrow_and_update().view());
        ClientMessages { subscription, status, pending_status, pause, is_pause_due: false, paused_until: None }
    }

    /// The next message; none once the supervisor has ended and every event was returned. Dropping the future loses
    /// nothing.
    pub(crate) async fn next(&mut self) -> Result<Option<SessionMessage>, StoreError> {
        loop {
            let last = self.subscription.last_seq();
            if let Some(view) = self.pending_status.take_if(|view| view.seq <= last) {
                return Ok(Some(SessionMessage::Status(view)));
            }
            if let Some(end) = self.paused_until {
                tokio::time::sleep_until(end).await;
                self.paused_until = None;
            }
            let message = tokio::select! {
                biased;
                message = self.subscription.next() => message?,
                changed = self.status.changed() => match changed {
                    Ok(()) => {
                        self.pending_status = Some(self.status.borrow_and_update().view());
                        continue;
                    }
                    Err(_ended) => None,
                },
                () = std::future::ready(()), if self.is_pause_due => {
                    self.is_pause_due = false;
                    self.paused_until = Some(Instant::now() + self.pause);
                    continue;
                }
            };
            self.is_pause_due = !self.pause.is_zero();
            return Ok(message.map(|message| match message {
                BusMessage::Event(envelope) => SessionMessage::Event(envelope),
                BusMessage::Text { task, turn, text } => SessionMessage::Text { task, turn, text },
            }));
        }
    }
}

impl InProcessMessages for ClientMessages {
    fn next(&mut self) -> NextMessage<'_> {
        Box::pin(ClientMessages::next(self))
    }

    fn status(&self) -> StatusView {
        self.status.borrow().view()
    }
}
