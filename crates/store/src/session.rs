//! A session's file from its creation to its removal.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::sync::Arc;

use host::{Home, ProcessIdentity};
use protocol::{Envelope, Fence, SessionId, Timestamp};
use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, TransactionBehavior, ffi};

use crate::commands::edit_unowned;
use crate::error::{io_error, sqlite_error};
use crate::log_digest::{LogDigest, LogDigestFile};
use crate::schema::{SESSION, SchemaStatus};
use crate::writer::WriterConnection;
use crate::{NoWriterProbe, SessionWriter, StoreError, WriterProbe, connect, event, lease, project};

/// Creates and adopts session files.
#[derive(Debug)]
pub struct SessionFile;

/// A session that this process owns.
#[derive(Debug)]
pub struct OwnedSession {
    /// The session's one writer.
    pub writer: SessionWriter,
    /// The fence of this owner.
    pub fence: Fence,
    /// The log so far.
    pub log: Vec<Envelope>,
    /// The session that this one is a fork of, until its log has the event that says so.
    pub forked_from: Option<SessionId>,
}

impl SessionFile {
    /// Creates a new session and takes ownership of it.
    pub fn create(
        home: &Home,
        id: SessionId,
        owner: &ProcessIdentity,
        now: Timestamp,
    ) -> Result<OwnedSession, StoreError> {
        Self::create_probed(home, id, owner, now, Arc::new(NoWriterProbe))
    }

    /// Like [`SessionFile::create`], with a probe in the writer.
    pub fn create_probed(
        home: &Home,
        id: SessionId,
        owner: &ProcessIdentity,
        now: Timestamp,
        probe: Arc<dyn WriterProbe>,
    ) -> Result<OwnedSession, StoreError> {
        in_new_folder(home, id, |path| {
            let conn = create_file(path)?;
            OwnershipClaim { id, owner, now, probe }.take_ownership(conn, path)
        })
    }

    /// Takes ownership of a session without a living owner.
    pub fn adopt(
        home: &Home,
        id: SessionId,
        owner: &ProcessIdentity,
        now: Timestamp,
    ) -> Result<OwnedSession, StoreError> {
        Self::adopt_probed(home, id, owner, now, Arc::new(NoWriterProbe))
    }

    /// Like [`SessionFile::adopt`], with a probe in the writer.
    pub fn adopt_probed(
        home: &Home,
        id: SessionId,
        owner: &ProcessIdentity,
        now: Timestamp,
        probe: Arc<dyn WriterProbe>,
    ) -> Result<OwnedSession, StoreError> {
        let path = home.session_db(id);
        let conn = open_current(home, id, &path)?;
        OwnershipClaim { id, owner, now, probe }.take_ownership(conn, &path)
    }
}

/// Copies a session to a new one without an owner and without pending commands.
pub fn copy_session(home: &Home, from: SessionId, to: SessionId) -> Result<(), StoreError> {
    copy_marked(home, from, to, |_copy| Ok(()))
}

/// Copies a session to a new one that is marked as a fork from the start, so that nothing that was running continues
/// in it.
pub fn fork_session(home: &Home, from: SessionId, to: SessionId) -> Result<(), StoreError> {
    copy_marked(home, from, to, |copy| project::begin_fork(copy, from))
}

/// Removes a session with everything in its folder, unless a live process owns it.
pub fn remove_session(home: &Home, id: SessionId) -> Result<(), StoreError> {
    let (path, folder) = (home.session_db(id), home.session_dir(id));
    if !folder.exists() {
        return Err(StoreError::Missing { id, path });
    }
    let removed_folder = folder.with_file_name(format!(".removed-{id}"));
    let mut conn = connect::open_writable(&path).ok();
    // A process that tries to adopt it meanwhile waits for this transaction, and then finds no file. A file too damaged
    // to name its owner counts as unowned.
    let lock = conn.as_mut().map(|conn| lock_if_unowned(conn, &path));
    if let Some(Err(error @ (StoreError::Owned { .. } | StoreError::Locked { .. }))) = lock {
        return Err(error);
    }
    remove_folder(&removed_folder)?;
    fs::rename(&folder, &removed_folder).map_err(io_error(&folder))?;
    drop(conn);
    remove_folder(&removed_folder)
}

/// Fails unless the session's file exists.
pub(crate) fn require_file(id: SessionId, path: &Path) -> Result<(), StoreError> {
    match fs::metadata(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(StoreError::Missing { id, path: path.into() }),
        Err(error) => Err(io_error(path)(error)),
    }
}

/// Creates a session in its own folder, or nothing: the process that creates the folder owns the id.
fn in_new_folder<T>(
    home: &Home,
    id: SessionId,
    fill: impl FnOnce(&Path) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    let folder = home.session_dir(id);
    DirBuilder::new().mode(0o700).create(&folder).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => StoreError::Exists { id, path: folder.clone() },
        _ => io_error(&folder)(error),
    })?;
    let created = home
        .make_session(id)
        .map_err(|error| StoreError::Home(error.to_string()))
        .and_then(|_folder| fill(&home.session_db(id)))
        .and_then(|value| sync_folders(&[&folder, &home.sessions_dir()]).map(|()| value));
    if created.is_err() {
        remove_folder(&folder).unwrap_or_default();
    }
    created
}

/// Creates a session's file with tables and no events. Only the file's first page waits for the disk: without it, the
/// write-ahead log, which the commit that takes the lease syncs, is lost. SQLite itself syncs the page, since closing
/// another descriptor of the file would drop the connection's locks, and a connection of another process could then
/// remove the log.
fn create_file(path: &Path) -> Result<Connection, StoreError> {
    let mut conn = connect::create(path)?;
    let set = |conn: &Connection, name, value| conn.pragma_update(None, name, value).map_err(sqlite_error(path));
    // Without a journal in a file, which would be synced too, this writes the first page.
    set(&conn, "journal_mode", "MEMORY")?;
    set(&conn, "journal_mode", "WAL")?;
    set(&conn, "synchronous", "OFF")?;
    SESSION.migrate(&mut conn, path)?;
    set(&conn, "synchronous", "FULL")?;
    Ok(conn)
}

/// Makes the directory entries in these folders durable.
fn sync_folders(folders: &[&Path]) -> Result<(), StoreError> {
    folders.iter().try_for_each(|folder| File::open(folder).and_then(|open| open.sync_all()).map_err(io_error(folder)))
}

/// Opens a session's file for writing, and migrates an older one.
pub(crate) fn open_current(home: &Home, id: SessionId, path: &Path) -> Result<Connection, StoreError> {
    require_file(id, path)?;
    let mut conn = connect::open_writable(path)?;
    if SESSION.status(&conn, path)? == SchemaStatus::Older {
        let _lock = home.lock(&format!("migrate-{id}")).map_err(|error| StoreError::Home(error.to_string()))?;
        SESSION.migrate(&mut conn, path)?;
    }
    SESSION.require(&conn, path)?;
    Ok(conn)
}

/// Opens a session's file for reading, and migrates an older one unless it has an owner.
pub(crate) fn open_to_read(home: &Home, id: SessionId, path: &Path) -> Result<Connection, StoreError> {
    require_file(id, path)?;
    let conn = connect::open_readable(path)?;
    let has_owner =
        |conn| Ok(lease::read(conn).map_err(sqlite_error(path))?.is_some_and(|lease| lease.live_pid().is_some()));
    if SESSION.status(&conn, path)? == SchemaStatus::Older && !has_owner(&conn)? {
        open_current(home, id, path)?;
    }
    SESSION.require(&conn, path)?;
    Ok(conn)
}

/// A request to own a session.
struct OwnershipClaim<'a> {
    id: SessionId,
    owner: &'a ProcessIdentity,
    now: Timestamp,
    probe: Arc<dyn WriterProbe>,
}

impl OwnershipClaim<'_> {
    /// Takes the lease and reads the log in one transaction, so that the previous owner cannot write in between.
    fn take_ownership(self, mut conn: Connection, path: &Path) -> Result<OwnedSession, StoreError> {
        let to_error = sqlite_error(path);
        let transaction = conn.transaction_with_behavior(TransactionBehavior::Immediate).map_err(&to_error)?;
        let previous_lease = lease::read(&transaction).map_err(&to_error)?;
        if let Some(pid) = previous_lease.as_ref().and_then(lease::SessionLease::live_pid) {
            return Err(StoreError::Owned { pid });
        }
        // The file may have been removed while this transaction waited for the lock.
        require_file(self.id, path)?;
        let fence = Fence(previous_lease.map_or(0, |lease| lease.fence.0) + 1);
        let log = event::events_after(&transaction, self.id, 0, usize::MAX).map_err(&to_error)?;
        let forked_from = project::pending_fork(&transaction).map_err(&to_error)?;
        let digest_file = LogDigestFile::open(path)?;
        let log_digest = verify_log(&transaction, path, &digest_file)?;
        lease::take(&transaction, fence, self.owner, self.now).map_err(&to_error)?;
        transaction.commit().map_err(&to_error)?;
        let writer = SessionWriter::start(WriterConnection {
            conn,
            path: path.into(),
            fence,
            probe: self.probe,
            log_digest,
            digest_file,
        })?;
        Ok(OwnedSession { writer, fence, log, forked_from })
    }
}

/// Computes the digest of the log. The log must contain all events that the recorded digest covers, unchanged.
fn verify_log(conn: &Connection, path: &Path, file: &LogDigestFile) -> Result<LogDigest, StoreError> {
    let recorded = file.read()?.unwrap_or(LogDigest::EMPTY);
    let mut matches_recorded = recorded == LogDigest::EMPTY;
    let digest =
        event::digest_log(conn, |digest| matches_recorded |= digest == recorded).map_err(sqlite_error(path))?;
    match matches_recorded {
        true => Ok(digest),
        false if digest.seq < recorded.seq => {
            Err(StoreError::Lost { path: path.into(), found: digest.seq, committed: recorded.seq })
        }
        false => Err(StoreError::Altered { path: path.into(), upto: recorded.seq }),
    }
}

/// Accepts the log of a session without an owner as it is, even if events are missing; returns the last event's number.
pub fn accept_log(home: &Home, id: SessionId) -> Result<u64, StoreError> {
    let path = home.session_db(id);
    edit_unowned(home, id, |conn| event::digest_log(conn, |_step| ())).and_then(|digest| {
        LogDigestFile::open(&path)?.write(digest).map_err(io_error(&path))?;
        Ok(digest.seq)
    })
}

fn copy_marked(
    home: &Home,
    from: SessionId,
    to: SessionId,
    mark: impl Fn(&Connection) -> rusqlite::Result<()>,
) -> Result<(), StoreError> {
    let original = open_to_read(home, from, &home.session_db(from))?;
    in_new_folder(home, to, |path| copy_into(&original, path, mark))
}

/// Copies under another name first, so that an incomplete copy is never taken for a session.
fn copy_into(
    original: &Connection,
    path: &Path,
    mark: impl Fn(&Connection) -> rusqlite::Result<()>,
) -> Result<(), StoreError> {
    let partial = path.with_extension("part");
    let mut copy = connect::create(&partial)?;
    let mut fill_copy = || -> rusqlite::Result<()> {
        if Backup::new(original, &mut copy)?.step(-1)? != StepResult::Done {
            return Err(rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_BUSY), None));
        }
        let transaction = copy.transaction_with_behavior(TransactionBehavior::Immediate)?;
        lease::clear(&transaction)?;
        mark(&transaction)?;
        transaction.execute("DELETE FROM bosun_commands WHERE applied_at IS NULL", [])?;
        transaction.commit()
    };
    fill_copy().map_err(sqlite_error(&partial))?;
    copy.close().map_err(|(_conn, error)| sqlite_error(&partial)(error))?;
    fs::rename(&partial, path).map_err(io_error(path))
}

/// Begins a transaction that locks out every other writer until the connection is dropped.
fn lock_if_unowned(conn: &mut Connection, path: &Path) -> Result<(), StoreError> {
    conn.execute_batch("BEGIN IMMEDIATE").map_err(sqlite_error(path))?;
    match lease::read(conn).map_err(sqlite_error(path))?.and_then(|lease| lease.live_pid()) {
        Some(pid) => Err(StoreError::Owned { pid }),
        None => Ok(()),
    }
}

fn remove_folder(folder: &Path) -> Result<(), StoreError> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(io_error(folder)(error)),
        Ok(()) | Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_file_has_its_first_page_and_is_synced_from_then_on() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.db");
        let conn = create_file(&path).unwrap();
        let number = |pragma| conn.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0)).unwrap();
        assert_eq!((number("synchronous"), SESSION.status(&conn, &path)), (2, Ok(SchemaStatus::Current)));
        assert!(fs::metadata(&path).unwrap().len() > 0);
    }
}
