//! The one writer of a session's file: a thread that writes all waiting batches in one transaction.
//!
//! A batch is acknowledged only after it is durable. A failed transaction leaves the file as it was, every batch in it
//! gets the error, and the writer can be used again.

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

use crate::error::{io_error, sqlite_error};
use crate::log_digest::{LogDigest, LogDigestFile};
use crate::{StoreError, event, lease, project};

/// Most batches in one transaction.
const GROUP: usize = 256;

/// Events and command outcomes that must become durable together.
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
    /// The number of the batch's last event; the log's last event when the batch had none.
    pub last_seq: u64,
}

/// A point in the writer's work at which a test can make it fail or die.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriterPoint {
    /// Everything is written, and nothing is durable.
    BeforeCommit {
        /// The number the last event will have.
        last_seq: u64,
    },
    /// Everything is durable, and nothing is acknowledged.
    AfterCommit {
        /// The number of the last event.
        last_seq: u64,
    },
}

/// Lets a test act at a [`WriterPoint`].
pub trait WriterProbe: Send + Sync {
    /// Called on the writer's thread. An error before the commit makes it fail; an error after it has no effect.
    fn at(&self, point: WriterPoint) -> Result<(), io::Error>;

    /// Called for each event of a commit, before [`WriterPoint::BeforeCommit`].
    fn on_event(&self, _entry: &LogEntry) {}
}

/// A probe that does nothing.
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

    /// Ends the ownership: writes waiting batches, clears the lease, and checkpoints the write-ahead log. It blocks
    /// while the disk is busy.
    pub fn release(mut self) -> Result<(), StoreError> {
        match self.end() {
            Some(connection) => connection.release(),
            None => Err(StoreError::Closed { path: self.path.clone() }),
        }
    }

    pub(crate) fn start(connection: WriterConnection) -> Result<SessionWriter, StoreError> {
        let path = connection.path.clone();
        let (sender, receiver) = mpsc::channel(GROUP);
        let thread = thread::Builder::new().name("store-writer".into()).spawn(move || connection.run(receiver));
        let thread = thread.map_err(io_error(&path))?;
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

/// The connection that may write as long as its fence matches the file's.
pub(crate) struct WriterConnection {
    pub(crate) conn: Connection,
    pub(crate) path: PathBuf,
    pub(crate) fence: Fence,
    pub(crate) probe: Arc<dyn WriterProbe>,
    /// The digest of the log.
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
        let fault = sqlite_error(&self.path);
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
        self.probe.at(WriterPoint::BeforeCommit { last_seq }).map_err(io_error(&self.path))?;
        change.commit().map_err(&fault)?;
        self.log_digest = log_digest;
        // The commit stands even if this fails; the next commit writes the digest again.
        let _ignored = self.file.write(log_digest);
        self.probe.at(WriterPoint::AfterCommit { last_seq }).unwrap_or_default();
        Ok(receipts)
    }

    fn release(mut self) -> Result<(), StoreError> {
        let fault = sqlite_error(&self.path);
        if self.file.is_removed() {
            return Err(StoreError::Removed { path: self.path.clone() });
        }
        // The checkpoint forces the log to disk; if that fails, the lease still ends with its process.
        self.conn.pragma_update(None, "synchronous", "NORMAL").map_err(&fault)?;
        let change = self.conn.transaction_with_behavior(TransactionBehavior::Immediate).map_err(&fault)?;
        if lease::fence(&change).map_err(&fault)? == self.fence {
            lease::clear(&change).map_err(&fault)?;
            // Commands to a living owner come on its socket: what was written here in the meantime is not valid.
            change.execute("DELETE FROM bosun_commands WHERE applied_at IS NULL", []).map_err(&fault)?;
        }
        change.commit().map_err(&fault)?;
        // An active reader prevents the checkpoint; then the next owner does it.
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

/// Answers a caller; one that no longer listens is ignored, since its batch is written in any case.
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

/// Marks the commands as applied, with the time of the batch's last event. Their content is removed: the log has it
/// now, without any keys it may have contained.
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
