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

/// Maximum number of batches in one transaction.
const MAX_GROUP_BATCHES: usize = 256;

/// Events and command outcomes that must become durable together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WriteBatch {
    /// The events, in order.
    pub entries: Vec<LogEntry>,
    /// The commands of other processes that these events carry out or that were refused, by number.
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

/// The handle to a session's writer. Dropping it writes the waiting batches and ends the thread, but keeps the lease:
/// the process still counts as the owner until it releases the session or ends.
#[derive(Debug)]
pub struct SessionWriter {
    path: PathBuf,
    queue: Option<mpsc::Sender<QueuedBatch>>,
    thread: Option<JoinHandle<WriterConnection>>,
}

impl SessionWriter {
    /// Makes a batch durable.
    pub async fn commit(&self, batch: WriteBatch) -> Result<CommitReceipt, StoreError> {
        let closed = || StoreError::Closed { path: self.path.clone() };
        let (ack, answer) = oneshot::channel();
        let waiting = self.queue.as_ref().ok_or_else(closed)?;
        waiting.send(QueuedBatch { batch, ack }).await.map_err(|_gone| closed())?;
        answer.await.map_err(|_gone| closed())?
    }

    /// Ends the ownership: writes waiting batches, clears the lease, and checkpoints the write-ahead log. It blocks
    /// while the disk is busy.
    pub fn release(mut self) -> Result<(), StoreError> {
        match self.join_thread() {
            Some(connection) => connection.release(),
            None => Err(StoreError::Closed { path: self.path.clone() }),
        }
    }

    pub(crate) fn start(connection: WriterConnection) -> Result<SessionWriter, StoreError> {
        let path = connection.path.clone();
        let (sender, receiver) = mpsc::channel(MAX_GROUP_BATCHES);
        let thread = thread::Builder::new().name("store-writer".into()).spawn(move || connection.run(receiver));
        let thread = thread.map_err(io_error(&path))?;
        Ok(SessionWriter { path, queue: Some(sender), thread: Some(thread) })
    }

    /// Closes the channel and waits for the thread, which first writes the waiting batches.
    fn join_thread(&mut self) -> Option<WriterConnection> {
        self.queue = None;
        self.thread.take()?.join().ok()
    }
}

impl Drop for SessionWriter {
    fn drop(&mut self) {
        self.join_thread();
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
    pub(crate) digest_file: LogDigestFile,
}

impl std::fmt::Debug for WriterConnection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WriterConnection").field("path", &self.path).field("fence", &self.fence).finish_non_exhaustive()
    }
}

impl WriterConnection {
    fn run(mut self, mut waiting: mpsc::Receiver<QueuedBatch>) -> WriterConnection {
        let mut group = Vec::with_capacity(MAX_GROUP_BATCHES);
        while waiting.blocking_recv_many(&mut group, MAX_GROUP_BATCHES) > 0 {
            let written = self.write(&group);
            acknowledge(group.drain(..), written);
        }
        self
    }

    /// Writes a group in one transaction; the receipts are in the group's order.
    fn write(&mut self, group: &[QueuedBatch]) -> Result<Vec<CommitReceipt>, StoreError> {
        let to_error = sqlite_error(&self.path);
        if self.digest_file.is_removed() {
            return Err(StoreError::Removed { path: self.path.clone() });
        }
        let transaction = self.conn.transaction_with_behavior(TransactionBehavior::Immediate).map_err(&to_error)?;
        let theirs = lease::fence(&transaction).map_err(&to_error)?;
        if theirs != self.fence {
            return Err(StoreError::Fenced { ours: self.fence, theirs });
        }
        if event::last_seq(&transaction).map_err(&to_error)? != self.log_digest.seq {
            return Err(StoreError::Altered { path: self.path.clone(), upto: self.log_digest.seq });
        }
        let batches = group.iter().map(|queued| &queued.batch);
        let (receipts, log_digest) = append(&transaction, self.log_digest, batches).map_err(&to_error)?;
        let last_seq = receipts.last().map_or(0, |receipt| receipt.last_seq);
        group.iter().flat_map(|queued| &queued.batch.entries).for_each(|entry| self.probe.on_event(entry));
        self.probe.at(WriterPoint::BeforeCommit { last_seq }).map_err(io_error(&self.path))?;
        transaction.commit().map_err(&to_error)?;
        self.log_digest = log_digest;
        // The commit is valid even if this fails; the next commit writes the digest again.
        let _ignored = self.digest_file.write(log_digest);
        self.probe.at(WriterPoint::AfterCommit { last_seq }).unwrap_or_default();
        Ok(receipts)
    }

    fn release(mut self) -> Result<(), StoreError> {
        let to_error = sqlite_error(&self.path);
        if self.digest_file.is_removed() {
            return Err(StoreError::Removed { path: self.path.clone() });
        }
        // The checkpoint syncs the log to disk. If it fails, the lease still ends with this process.
        self.conn.pragma_update(None, "synchronous", "NORMAL").map_err(&to_error)?;
        let transaction = self.conn.transaction_with_behavior(TransactionBehavior::Immediate).map_err(&to_error)?;
        if lease::fence(&transaction).map_err(&to_error)? == self.fence {
            lease::clear(&transaction).map_err(&to_error)?;
            // An owner takes commands on its socket, so commands that were written to the file meanwhile are not valid.
            transaction.execute("DELETE FROM bosun_commands WHERE applied_at IS NULL", []).map_err(&to_error)?;
        }
        transaction.commit().map_err(&to_error)?;
        // An active reader prevents the checkpoint; then the next owner does it.
        self.conn.busy_timeout(Duration::ZERO).map_err(&to_error)?;
        match self.conn.wal_checkpoint_v2(Some(rusqlite::MAIN_DB), CheckpointMode::TRUNCATE).map_err(&to_error) {
            Ok(_) | Err(StoreError::Locked { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

fn acknowledge(group: impl Iterator<Item = QueuedBatch>, written: Result<Vec<CommitReceipt>, StoreError>) {
    match written {
        Ok(receipts) => group.zip(receipts).for_each(|(queued, receipt)| send_receipt(queued, Ok(receipt))),
        Err(error) => group.for_each(|queued| send_receipt(queued, Err(error.clone()))),
    }
}

/// Answers the caller. A caller that no longer waits is ignored.
fn send_receipt(queued: QueuedBatch, outcome: Result<CommitReceipt, StoreError>) {
    queued.ack.send(outcome).unwrap_or_default();
}

fn append<'a>(
    transaction: &Transaction<'_>,
    mut log_digest: LogDigest,
    batches: impl Iterator<Item = &'a WriteBatch>,
) -> rusqlite::Result<(Vec<CommitReceipt>, LogDigest)> {
    let mut receipts = Vec::new();
    for batch in batches {
        for entry in &batch.entries {
            log_digest = event::insert(transaction, log_digest, entry)?;
            project::project(transaction, entry)?;
        }
        mark_applied(transaction, batch)?;
        receipts.push(CommitReceipt { last_seq: log_digest.seq });
    }
    Ok((receipts, log_digest))
}

/// Marks the commands as applied, with the time of the batch's last event. Their content is removed: the log has it
/// now, without any keys it may have contained.
fn mark_applied(transaction: &Transaction<'_>, batch: &WriteBatch) -> rusqlite::Result<()> {
    let at = batch.entries.last().map(|entry| entry.at).map(|Timestamp(at)| at);
    for (id, outcome) in &batch.applied_commands {
        transaction
            .prepare_cached(
                "UPDATE bosun_commands SET applied_at = ifnull(?2, at), body = '', outcome = ?3 WHERE id = ?1",
            )?
            .execute(params![id, at, event::to_json(outcome)?])?;
    }
    Ok(())
}
