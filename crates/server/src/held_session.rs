//! A session that this process runs for others. It belongs to one background task, which receives commands for it.

use std::time::Duration;

use client::{SessionHandle, StoreError};
use protocol::SessionId;
use runtime::{InputRejection, Session, SessionStatus};
use serde::{Deserialize, Serialize};
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;

use crate::HostEnd;
use crate::held_record::{HeldRecord, HeldRecords};
use crate::host_end::AnnouncedEnd;

/// How long a session is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum KeepMode {
    /// Until a client closes it.
    UntilClosed,
    /// Until nothing runs in it.
    UntilQuiet,
}

impl KeepMode {
    /// The mode that keeps a session longer.
    pub(crate) fn longer(self, other: KeepMode) -> KeepMode {
        match (self, other) {
            (KeepMode::UntilQuiet, KeepMode::UntilQuiet) => KeepMode::UntilQuiet,
            (KeepMode::UntilClosed, _) | (_, KeepMode::UntilClosed) => KeepMode::UntilClosed,
        }
    }
}

/// The way to a session that is held here; its task holds the session itself.
#[derive(Debug, Clone)]
pub struct HeldSession {
    first_seq: u64,
    commands: mpsc::Sender<HeldCommand>,
    handle: SessionHandle,
    status: watch::Receiver<SessionStatus>,
    /// How many clients are attached.
    attached: watch::Sender<usize>,
}

/// Keeps a session for a client even when nothing runs in it; dropping this value detaches the client.
#[derive(Debug)]
pub struct Attachment(watch::Sender<usize>);

impl Attachment {
    fn new(attached: &watch::Sender<usize>) -> Attachment {
        attached.send_modify(|count| *count += 1);
        Attachment(attached.clone())
    }
}

impl Drop for Attachment {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}

/// A command to a session's task.
#[derive(Debug)]
enum HeldCommand {
    /// Resume interrupted work.
    Resume(oneshot::Sender<Result<(), InputRejection>>),
    /// Keep the session for as long as this; the reply is how long it was kept before.
    Keep(KeepMode, oneshot::Sender<KeepMode>),
    /// Close the session now.
    Close(CloseReply),
}

type CloseReply = oneshot::Sender<Result<(), StoreError>>;

/// How long a session that is handed over may take to get the answers of its models.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

/// How many commands may wait for a session's task.
const COMMAND_BUFFER: usize = 16;

impl HeldSession {
    /// Holds a session until it is closed, with its record for the next host; the returned task must run until it ends.
    pub(crate) fn new(session: Session, record: Option<(HeldRecords, HeldRecord)>) -> (HeldSession, HeldSessionTask) {
        let (sender, commands) = mpsc::channel(COMMAND_BUFFER);
        let attached = watch::Sender::new(0);
        let task =
            HeldSessionTask { commands, keep: KeepMode::UntilClosed, attached: attached.subscribe(), record, session };
        let held = HeldSession {
            first_seq: task.session.first_seq(),
            commands: sender,
            handle: task.session.handle().clone(),
            status: task.session.status(),
            attached,
        };
        (held, task)
    }

    /// The session.
    pub fn id(&self) -> SessionId {
        self.handle.id()
    }

    /// The number of the last event before this process opened the session.
    pub fn first_seq(&self) -> u64 {
        self.first_seq
    }

    /// The session for clients in this process, until it is closed.
    pub fn handle(&self) -> &SessionHandle {
        &self.handle
    }

    /// The session's status, as it changes.
    pub fn status(&self) -> watch::Receiver<SessionStatus> {
        self.status.clone()
    }

    /// Resumes everything that was interrupted; nothing happens to a session that was closed meanwhile.
    pub async fn resume(&self) -> Result<(), InputRejection> {
        let (reply, resumed) = oneshot::channel();
        self.send(HeldCommand::Resume(reply)).await;
        resumed.await.unwrap_or(Ok(()))
    }

    /// Changes how long the session is kept; returns how long it was kept before, or nothing if it is closed.
    pub async fn keep(&self, mode: KeepMode) -> Option<KeepMode> {
        let (reply, kept) = oneshot::channel();
        self.send(HeldCommand::Keep(mode, reply)).await;
        kept.await.ok()
    }

    /// Keeps the session for a client that is attached to it.
    pub(crate) fn attach(&self) -> Attachment {
        Attachment::new(&self.attached)
    }

    /// Closes the session now, and waits until it is closed: running work is interrupted and can be resumed.
    pub async fn close(&self) -> Result<(), StoreError> {
        let (reply, closed) = oneshot::channel();
        self.send(HeldCommand::Close(reply)).await;
        let result = closed.await.unwrap_or(Ok(()));
        self.closed().await;
        result
    }

    /// Whether the session is closed.
    pub fn is_closed(&self) -> bool {
        self.commands.is_closed()
    }

    /// Waits until the session is closed.
    pub async fn closed(&self) {
        self.commands.closed().await;
    }

    /// A command to a task that has ended is dropped, and so is its reply channel.
    async fn send(&self, command: HeldCommand) {
        self.commands.send(command).await.ok();
    }
}

/// Holds a session until a command or the end of its host closes it.
#[derive(Debug)]
pub(crate) struct HeldSessionTask {
    session: Session,
    commands: mpsc::Receiver<HeldCommand>,
    keep: KeepMode,
    attached: watch::Receiver<usize>,
    record: Option<(HeldRecords, HeldRecord)>,
}

/// Why a session is no longer held.
#[derive(Debug)]
enum HoldEnd {
    /// A client closed it, or nothing runs in it any more.
    Done(Option<CloseReply>),
    /// Its host closes.
    HostClosing,
}

impl HeldSessionTask {
    /// Holds the session, then leaves it and calls `released` before anybody learns that it is closed. When the host
    /// closes, the session stays recorded for the next host unless the host was stopped.
    pub(crate) async fn run(
        mut self,
        closing: CancellationToken,
        host_end: AnnouncedEnd,
        released: impl FnOnce() + Send,
    ) {
        let id = self.session.id();
        let end = self.hold(&closing).await;
        let HeldSessionTask { session, commands: _closed_at_the_end, record, .. } = self;
        let (is_released, reply) = match (end, host_end.get()) {
            (HoldEnd::Done(reply), _) => (true, reply),
            (HoldEnd::HostClosing, HostEnd::Stopped) => (true, None),
            (HoldEnd::HostClosing, HostEnd::Idle | HostEnd::Terminated) => (false, None),
            (HoldEnd::HostClosing, HostEnd::HandedOver) => {
                session.finish_turns(ANSWER_TIMEOUT).await;
                (false, None)
            }
        };
        let left = session.leave().await;
        if let Err(error) = &left {
            tracing::warn!(%error, %id, "cannot close the session cleanly");
        }
        if let Some((records, _)) = record.filter(|_| is_released)
            && let Err(error) = records.remove(id).await
        {
            tracing::warn!(%error, %id, "the next host will resume a session that is closed");
        }
        released();
        if let Some(reply) = reply {
            // Fails if the client no longer waits.
            reply.send(left).ok();
        }
    }

    async fn hold(&mut self, closing: &CancellationToken) -> HoldEnd {
        let (mut status, mut attached) = (self.session.status(), self.attached.clone());
        loop {
            tokio::select! {
                command = self.commands.recv() => match command {
                    // A reply fails if the client no longer waits.
                    Some(HeldCommand::Resume(reply)) => drop(reply.send(self.session.resume().await)),
                    Some(HeldCommand::Keep(mode, reply)) => drop(reply.send(self.change_keep(mode).await)),
                    Some(HeldCommand::Close(reply)) => return HoldEnd::Done(Some(reply)),
                    None => return HoldEnd::Done(None),
                },
                () = wait_until_unused(&mut status, &mut attached), if self.keep == KeepMode::UntilQuiet => {
                    return HoldEnd::Done(None);
                }
                () = closing.cancelled() => return HoldEnd::HostClosing,
            }
        }
    }

    /// Changes how long the session is kept; returns how long it was kept before.
    async fn change_keep(&mut self, mode: KeepMode) -> KeepMode {
        if let Some((records, record)) = &mut self.record
            && record.keep != mode
        {
            record.keep = mode;
            if let Err(error) = records.write(record).await {
                tracing::warn!(%error, "the next host will keep a session as before");
            }
        }
        std::mem::replace(&mut self.keep, mode)
    }
}

/// Waits until nothing runs in a session, and no client is attached to it.
async fn wait_until_unused(status: &mut watch::Receiver<SessionStatus>, attached: &mut watch::Receiver<usize>) {
    loop {
        wait_until_quiet(status).await;
        // Without the sender, no client can be attached.
        let _detached = attached.wait_for(|count| *count == 0).await.is_err();
        if status.borrow().phase().is_over() {
            return;
        }
    }
}

/// Waits until nothing runs in a session. A paused session has stopped, but never reports that it is quiet.
async fn wait_until_quiet(status: &mut watch::Receiver<SessionStatus>) {
    // A closed channel counts as quiet.
    let _over = status.wait_for(|status| status.phase().is_over()).await.is_err();
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use protocol::TaskState;

    use super::*;

    #[tokio::test]
    async fn a_session_on_autopilot_is_not_quiet_between_two_steps() {
        let idle = SessionStatus { quiet: true, root: Some(TaskState::Idle), ..SessionStatus::default() };
        let due = SessionStatus { continuation_due: true, ..idle.clone() };
        let (sender, mut status) = watch::channel(due);
        let is_quiet = tokio::select! {
            biased;
            () = wait_until_quiet(&mut status) => true,
            () = std::future::ready(()) => false,
        };
        assert!(!is_quiet, "the root is about to be told to continue");
        sender.send_replace(idle);
        tokio::time::timeout(Duration::from_secs(20), wait_until_quiet(&mut status)).await.unwrap();
    }

    #[tokio::test]
    async fn a_quiet_session_is_kept_while_a_client_is_attached() {
        let idle = SessionStatus { quiet: true, root: Some(TaskState::Idle), ..SessionStatus::default() };
        let (_sender, mut status) = watch::channel(idle);
        let attached = watch::Sender::new(0);
        let (first, second) = (Attachment::new(&attached), Attachment::new(&attached));
        let mut receiver = attached.subscribe();
        let mut unused = Box::pin(wait_until_unused(&mut status, &mut receiver));
        for attachment in [first, second] {
            let is_unused = tokio::select! {
                biased;
                () = &mut unused => true,
                () = std::future::ready(()) => false,
            };
            assert!(!is_unused, "a client is attached");
            drop(attachment);
        }
        tokio::time::timeout(Duration::from_secs(20), unused).await.unwrap();
    }
}
