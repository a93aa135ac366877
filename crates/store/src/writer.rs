//! The one writer of a session's file: a thread that turns whatever waits for it into one transaction.
//!
//! A batch is acknowledged only after it is durable. A transaction that fails leaves the file as it was, every
//! batch in it gets the error, and the writer can be asked again.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use protocol::api::CommandOutcome;
use protocol::{Fence, LogEntry, Timestamp};
use rusqlite::wal::CheckpointMode;
use rusqlite::{Connection, Transaction, TransactionBehavior, params};
use tokio::sync::{mpsc, oneshot};

use crate::error::{fault, os_fault};
use crate::log_digest::{LogDigest, LogDigestFile};
use crate::{StoreError, event, lease, project};

/// Most batches in one transaction.
const GROUP: usize = 256;

/// What must become durable together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WriteBatch {
    /// The events, in order.
    pub entries: Vec<LogEntry>,
    /// The commands of other processes that these events carry out, and those that were refused.
    pub applied_commands: Vec<(i64, CommandOutcome)>,
}

/// A receipt for a batch that is durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommitReceipt {
    /// The number of the batch's last event; of the log's, when it had none.
    pub last_seq: u64,
}

/// A place in the writer's work where a test can make it fail or die.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriterPoint {
    /// Everything is written, and nothing is durable.
    BeforeCommit {
        /// The number the last event will have.
        last_seq: u64,
    },
    /// Everything is durable, and nobody knows it.
    AfterCommit {
        /// The number of the last event.
        last_seq: u64,
    },
}

/// What a test does at such a place.
pub trait WriterProbe: Send + Sync {
    /// Is called on the writer's thread. An error before the commit fails it; one after it changes nothing, since
    /// what is committed is committed.
    fn at(&self, point: WriterPoint) -> Result<(), io::Error>;

    /// Is told of each event of a commit before it comes to [`WriterPoint::BeforeCommit`].
    fn on_event(&self, _entry: &LogEntry) {}
}

/// Lets everything pass.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoWriterProbe;

impl WriterProbe for NoWriterProbe {
    fn at(&self, _point: WriterPoint) -> Result<(), io::Error> {
        Ok(())
    }
}

/// The handle to a session's writer. Dropping it writes what is waiting and ends the thread, but keeps the lease:
/// the process still counts as the owner until it releases the session or ends.
#[derive(Debug)]
pub struct SessionWriter {
    path: PathBuf,
    waiting: Option<mpsc::Sender<QueuedBatch>>,
    thread: Option<JoinHandle<WriterConnection>>,
}

impl SessionWriter {
    /// Makes a batch durable.
    pub async fn commit(&self, batch: WriteBatch) -> Result<CommitReceipt, StoreError> {
        let closed = || StoreError::Closed { path: self.path.clone() };
        let (ack, answer) = oneshot::channel();
        let waiting = self.waiting.as_ref().ok_or_else(closed)?;
        waiting.send(QueuedBatch { batch, ack }).await.map_err(|_gone| closed())?;
        answer.await.map_err(|_gone| closed())?
    }

    /// Ends the ownership: writes what is waiting, clears the lease, and folds the log into the file. It blocks
    /// for as long as the disk does.
    pub fn release(mut self) -> Result<(), StoreError> {
        match self.end() {
            Some(pen) => pen.release(),
            None => Err(StoreError::Closed { path: self.path.clone() }),
        }
    }

    pub(crate) fn start(pen: WriterConnection) -> Result<SessionWriter, StoreError> {
        let path = pen.path.clone();
        let (sender, receiver) = mpsc::channel(GROUP);
        let thread = thread::Builder::new().name("store-writer".into()).spawn(move || pen.run(receiver));
        let thread = thread.map_err(os_fault(&path))?;
        Ok(SessionWriter { path, waiting: Some(sender), thread: Some(thread) })
    }

    /// Closes the channel and waits for the thread, which first writes what is waiting.
    fn end(&mut self) -> Option<WriterConnection> {
        self.waiting = None;
        self.thread.take()?.join().ok()
    }
}

impl Drop for SessionWriter {
    fn drop(&mut self) {
        self.end();
    }
}

#[derive(Debug)]
struct QueuedBatch {
    batch: WriteBatch,
    ack: oneshot::Sender<Result<CommitReceipt, StoreError>>,
}

/// The connection that may write, as long as its fence is the file's.
pub(crate) struct WriterConnection {
    pub(crate) conn: Connection,
    pub(crate) path: PathBuf,
    pub(crate) fence: Fence,
    pub(crate) probe: Arc<dyn WriterProbe>,
    /// What is in the log.
    pub(crate) log_digest: LogDigest,
    pub(crate) file: LogDigestFile,
}

impl std::fmt::Debug for WriterConnection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WriterConnection").field("path", &self.path).field("fence", &self.fence).finish_non_exhaustive()
    }
}

impl WriterConnection {
    fn run(mut self, mut waiting: mpsc::Receiver<QueuedBatch>) -> WriterConnection {
        let mut group = Vec::with_capacity(GROUP);
        while waiting.blocking_recv_many(&mut group, GROUP) > 0 {
            let written = self.write(&group);
            acknowledge(group.drain(..), written);
        }
        self
    }

    /// Writes a group in one transaction; the receipts are in the group's order.
    fn write(&mut self, group: &[QueuedBatch]) -> Result<Vec<CommitReceipt>, StoreError> {
        let fault = fault(&self.path);
        if self.file.is_removed() {
            return Err(StoreError::Removed { path: self.path.clone() });
        }
        let change = self.conn.transaction_with_behavior(TransactionBehavior::Immediate).map_err(&fault)?;
        let theirs = lease::fence(&change).map_err(&fault)?;
        if theirs != self.fence {
            return Err(StoreError::Fenced { ours: self.fence, theirs });
        }
        if event::last_seq(&change).map_err(&fault)? != self.log_digest.seq {
            return Err(StoreError::Altered { path: self.path.clone(), upto: self.log_digest.seq });
        }
        let batches = group.iter().map(|waiting| &waiting.batch);
        let (receipts, log_digest) = append(&change, self.log_digest, batches).map_err(&fault)?;
        let last_seq = receipts.last().map_or(0, |receipt| receipt.last_seq);
        group.iter().flat_map(|waiting| &waiting.batch.entries).for_each(|entry| self.probe.on_event(entry));
        self.probe.at(WriterPoint::BeforeCommit { last_seq }).map_err(os_fault(&self.path))?;
        change.commit().map_err(&fault)?;
        self.log_digest = log_digest;
        // What is committed is committed; the next commit says it again.
        let _unsaid = self.file.write(log_digest);
        self.probe.at(WriterPoint::AfterCommit { last_seq }).unwrap_or_default();
        Ok(receipts)
    }

    fn release(mut self) -> Result<(), StoreError> {
        let fault = fault(&self.path);
        if self.file.is_removed() {
            return Err(StoreError::Removed { path: self.path.clone() });
        }
        // Folding the log in forces it to the disk; where that fails, the lease ends with its process all the same.
        self.conn.pragma_update(None, "synchronous", "NORMAL").map_err(&fault)?;
        let change = self.conn.transaction_with_behavior(TransactionBehavior::Immediate).map_err(&fault)?;
        if lease::fence(&change).map_err(&fault)? == self.fence {
            lease::clear(&change).map_err(&fault)?;
            // Who speaks to an owner does so on its socket: what appeared here meanwhile is nobody's word.
            change.execute("DELETE FROM bosun_commands WHERE applied_at IS NULL", []).map_err(&fault)?;
        }
        change.commit().map_err(&fault)?;
        // A reader that is at work keeps the log from being folded in; then the next owner does it.
        self.conn.busy_timeout(Duration::ZERO).map_err(&fault)?;
        match self.conn.wal_checkpoint_v2(Some(rusqlite::MAIN_DB), CheckpointMode::TRUNCATE).map_err(&fault) {
            Ok(_) | Err(StoreError::Locked { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

fn acknowledge(group: impl Iterator<Item = QueuedBatch>, written: Result<Vec<CommitReceipt>, StoreError>) {
    match written {
        Ok(receipts) => group.zip(receipts).for_each(|(waiting, receipt)| answer(waiting, Ok(receipt))),
        Err(error) => group.for_each(|waiting| answer(waiting, Err(error.clone()))),
    }
}

/// A caller that no longer listens has changed its mind about knowing, not about writing.
fn answer(waiting: QueuedBatch, outcome: Result<CommitReceipt, StoreError>) {
    waiting.ack.send(outcome).unwrap_or_default();
}

fn append<'a>(
    change: &Transaction<'_>,
    mut log_digest: LogDigest,
    batches: impl Iterator<Item = &'a WriteBatch>,
) -> rusqlite::Result<(Vec<CommitReceipt>, LogDigest)> {
    let mut receipts = Vec::new();
    for batch in batches {
        for entry in &batch.entries {
            log_digest = event::insert(change, log_digest, entry)?;
            project::project(change, entry)?;
        }
        mark_applied(change, batch)?;
        receipts.push(CommitReceipt { last_seq: log_digest.seq });
    }
    Ok((receipts, log_digest))
}

/// Marks the commands as applied when the batch's last event was decided. What they said is in the log now, without the
/// keys that it may have held.
fn mark_applied(change: &Transaction<'_>, batch: &WriteBatch) -> rusqlite::Result<()> {
    let at = batch.entries.last().map(|entry| entry.at).map(|Timestamp(at)| at);
    for (id, outcome) in &batch.applied_commands {
        change
            .prepare_cached(
                "UPDATE bosun_commands SET applied_at = ifnull(?2, at), body = '', outcome = ?3 WHERE id = ?1",
            )?
            .execute(params![id, at, event::json(outcome)?])?;
    }
    Ok(())
}
