//! The layout of `$BOSUN_HOME`. It belongs to one user (0700), and only this module knows its paths.

use std::collections::HashSet;
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use protocol::{SessionId, TaskId};
use rustix::process::Pid;

use crate::files::make_below;
use crate::guardian::{RecordedPrograms, Survivors, end_marked, kill_guardian, wake_guardian};

/// Why Bosun's folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum HomeError {
    /// Its path is not a folder.
    #[error("{} is not a directory; remove it or set BOSUN_HOME to another path", .0.display())]
    NotDirectory(PathBuf),
    /// Its file system is read-only.
    #[error("{} is on a read-only file system; set BOSUN_HOME to a writable path", .0.display())]
    ReadOnly(PathBuf),
    /// It belongs to another user.
    #[error("no permission to use {}; change its owner or set BOSUN_HOME to a folder of your own", .0.display())]
    Forbidden(PathBuf),
    /// It contains files that are not Bosun's and that other users may use; Bosun would close it to them.
    #[error("{} is open to other users and contains other files; `chmod 700` it if only Bosun uses it, or set BOSUN_HOME to a separate folder", .0.display())]
    Shared(PathBuf),
    /// The disk is full.
    #[error("no space left to create {}; free some or set BOSUN_HOME to another disk", .0.display())]
    Full(PathBuf),
    /// Its socket paths would be longer than the system allows.
    #[error("{} is too long a path for sockets; set BOSUN_HOME to one of at most {most} bytes", path.display())]
    TooLong {
        /// The path.
        path: PathBuf,
        /// The maximum bytes.
        most: usize,
    },
    /// Another process holds a lock for too long.
    #[error("{} is still locked after {} s; end the other bosun process that holds it", path.display(), waited.as_secs())]
    Locked {
        /// The lock's file.
        path: PathBuf,
        /// How long this process waited.
        waited: Duration,
    },
    /// Processes of an earlier owner do not end.
    #[error("processes that this session started earlier do not end: {0}; end them before you resume it")]
    Leftovers(Survivors),
    /// Anything else.
    #[error("cannot use {}; set BOSUN_HOME to another path if this persists: {source}", path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

impl HomeError {
    fn from(path: &Path, source: io::Error) -> HomeError {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists => HomeError::NotDirectory(path),
            io::ErrorKind::ReadOnlyFilesystem => HomeError::ReadOnly(path),
            io::ErrorKind::PermissionDenied => HomeError::Forbidden(path),
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => HomeError::Full(path),
            _ => HomeError::Io { path, source },
        }
    }
}

/// Bosun's folder, which exists and belongs only to this user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Home {
    root: PathBuf,
}

/// Maximum bytes of a socket path: an address has 108 bytes, of which the last is 0.
const MAX_SOCKET_PATH_BYTES: usize = 107;
/// Bytes of a socket's path below Bosun's folder.
const SOCKET_NAME_BYTES: usize = "/run/0123456789abcdef.sock".len();
/// Files and folders that identify a folder as Bosun's.
const PRODUCT_NAMES: [&str; 2] = ["sessions", "config.toml"];
/// Files and folders that users put there before the first run.
const DEFINITION_NAMES: [&str; 6] = ["agents", "skills", "hooks", "commands", "plugins", "AGENTS.md"];
const CHECKOUTS: &str = "checkouts";
const TRASH: &str = "trash";
const HELD: &str = "held";
const MCP_MARK: &str = "mcp-client";
const OWNER_LOCK: &str = "owner.lock";
const PROGRAMS_RECORD: &str = "programs";
/// Time limit for a guardian without an owner to end everything.
const MAX_GUARDIAN_WAIT: Duration = Duration::from_secs(5);
const MAX_LOCK_WAIT: Duration = Duration::from_secs(30);
const LOCK_POLL: Duration = Duration::from_millis(5);

impl Home {
    /// Opens the folder and creates missing parts. Any number of processes may do this at once.
    pub fn open(root: PathBuf) -> Result<Home, HomeError> {
        let root = check_path_length(&root)?;
        if let Some(parent) = root.parent() {
            fs::create_dir_all(parent).map_err(|source| HomeError::from(parent, source))?;
        }
        require_own(&root)?;
        make_private(&root)?;
        for part in ["sessions", "run", "logs"] {
            make_private(&root.join(part))?;
        }
        require_writable(&root)?;
        Ok(Home { root })
    }

    /// Opens the folder for reading: a read-only one is used as it is.
    pub fn open_to_read(root: PathBuf) -> Result<Home, HomeError> {
        match (Home::open(root.clone()), Home::open_as_is(&root)) {
            (Err(HomeError::ReadOnly(_)), Some(home)) => Ok(home),
            (opened, _) => opened,
        }
    }

    /// Checks whether [`Home::open`] could create or use the folder. Nothing is created or changed.
    pub fn check(root: &Path) -> Result<(), HomeError> {
        let root = check_path_length(root)?;
        let existing = root.ancestors().find(|path| path.exists()).unwrap_or(Path::new("/"));
        if !existing.is_dir() {
            return Err(HomeError::NotDirectory(existing.to_owned()));
        }
        if existing == root {
            require_own(&root)?;
        }
        require_writable(existing)
    }

    /// The folder as it is, if it exists. Nothing is created or changed, so any part of it may be missing.
    pub fn open_as_is(root: &Path) -> Option<Home> {
        let root = std::path::absolute(root).ok()?;
        root.is_dir().then_some(Home { root })
    }

    /// The folder itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The database of data shared by sessions.
    pub fn index_db(&self) -> PathBuf {
        self.root.join("bosun.db")
    }

    /// A backup of the data that exists only there.
    pub fn index_backup(&self) -> PathBuf {
        self.root.join("bosun.backup.jsonl")
    }

    /// The log files.
    pub fn logs_dir(&self) -> PathBuf {
        self.root.join("logs")
    }

    /// The folder of all sessions.
    pub fn sessions_dir(&self) -> PathBuf {
        self.root.join("sessions")
    }

    /// The folder of one session.
    pub fn session_dir(&self, session: SessionId) -> PathBuf {
        self.sessions_dir().join(session.to_string())
    }

    /// One session's log and projections.
    pub fn session_db(&self, session: SessionId) -> PathBuf {
        self.session_dir(session).join("session.db")
    }

    /// One session's plan.
    pub fn plan_file(&self, session: SessionId) -> PathBuf {
        self.session_dir(session).join("plan.md")
    }

    /// Command output of one session that was too long for its log.
    pub fn output_dir(&self, session: SessionId) -> PathBuf {
        self.session_dir(session).join("output")
    }

    /// The output of one background command.
    pub fn spool_dir(&self, session: SessionId, task: TaskId) -> PathBuf {
        self.output_dir(session).join(task.to_string())
    }

    /// What the tools of one session changed in files.
    pub fn file_history_dir(&self, session: SessionId) -> PathBuf {
        self.session_dir(session).join("files")
    }

    /// The folder of all checkouts.
    pub fn checkouts_dir(&self) -> PathBuf {
        self.root.join(CHECKOUTS)
    }

    /// The trash, from which files can be restored.
    pub fn trash_dir(&self) -> PathBuf {
        self.root.join(TRASH)
    }

    /// Creates the folder of one session's checkouts. A link in its way is an error.
    pub fn make_checkouts(&self, session: SessionId) -> Result<PathBuf, HomeError> {
        let below = Path::new(CHECKOUTS).join(session.to_string());
        make_below(&self.root, &below).map_err(|source| HomeError::from(&self.root.join(below), source))
    }

    /// The socket of one session's owner. Named by the random half of the id, since socket paths are short.
    pub fn socket(&self, session: SessionId) -> PathBuf {
        let (_, random) = session.uuid().as_u64_pair();
        self.root.join("run").join(format!("{random:016x}.sock"))
    }

    /// The socket of the process that keeps sessions which no terminal holds.
    pub fn host_socket(&self) -> PathBuf {
        self.root.join("run").join("host.sock")
    }

    /// Whether a session is kept, or waits to be resumed, by the process that keeps sessions.
    pub fn is_held(&self, session: SessionId) -> bool {
        self.held_record(session).exists()
    }

    /// Writes what the next process that keeps sessions must know about one of them; a crash leaves the old or the new
    /// record.
    pub fn write_held_record(&self, session: SessionId, record: &[u8]) -> io::Result<()> {
        let folder = self.root.join(HELD);
        make_private(&folder).map_err(io::Error::other)?;
        replace_private_file(&self.held_record(session), &folder, record)
    }

    /// Writes a file of the folder that only this user can read; a crash leaves the old or the new content.
    pub fn write_private_file(&self, name: &str, content: &[u8]) -> io::Result<()> {
        replace_private_file(&self.root.join(name), &self.root, content)
    }

    /// Removes a session's record, if there is one.
    pub fn remove_held_record(&self, session: SessionId) -> io::Result<()> {
        match fs::remove_file(self.held_record(session)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// The records of all sessions that are kept or wait to be resumed, oldest session first.
    pub fn held_records(&self) -> io::Result<Vec<(SessionId, Vec<u8>)>> {
        let entries = match fs::read_dir(self.root.join(HELD)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut records = Vec::new();
        for entry in entries {
            let path = entry?.path();
            let is_record = path.extension().is_some_and(|end| end == "json");
            let session = path.file_stem().and_then(|name| name.to_str()?.parse().ok()).filter(|_| is_record);
            if let Some(session) = session {
                records.push((session, fs::read(&path)?));
            }
        }
        records.sort_by_key(|(session, _)| *session);
        Ok(records)
    }

    fn held_record(&self, session: SessionId) -> PathBuf {
        self.root.join(HELD).join(format!("{session}.json"))
    }

    /// Marks a session as one that a client of an MCP server started.
    pub fn mark_mcp_session(&self, session: SessionId) -> io::Result<()> {
        let marked = OpenOptions::new().append(true).create(true).mode(0o600).open(self.mcp_mark(session))?;
        marked.sync_all()
    }

    /// Whether a client of an MCP server started a session.
    pub fn is_mcp_session(&self, session: SessionId) -> bool {
        self.mcp_mark(session).exists()
    }

    fn mcp_mark(&self, session: SessionId) -> PathBuf {
        self.session_dir(session).join(MCP_MARK)
    }

    /// The sockets of live and of dead owners.
    pub fn sockets(&self) -> HashSet<PathBuf> {
        let entries = fs::read_dir(self.root.join("run")).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|end| end == "sock")).collect()
    }

    /// Creates one session's folders.
    pub fn make_session(&self, session: SessionId) -> Result<PathBuf, HomeError> {
        let folder = self.session_dir(session);
        make_private(&folder)?;
        make_private(&self.output_dir(session))?;
        Ok(folder)
    }

    /// Waits for the lock of this name, which one process holds at a time; blocks the thread meanwhile.
    pub fn lock(&self, name: &str) -> Result<FileLock, HomeError> {
        self.lock_within(name, MAX_LOCK_WAIT)
    }

    /// Takes the lock of this name; none if another process holds it.
    pub fn try_lock(&self, name: &str) -> Result<Option<FileLock>, HomeError> {
        match self.lock_within(name, Duration::ZERO) {
            Err(HomeError::Locked { .. }) => Ok(None),
            locked => locked.map(Some),
        }
    }

    /// Locks a session without an owner: waits until no process of an earlier owner runs, and ends the processes of an
    /// owner that was killed together with its guardian. Blocks the thread meanwhile.
    pub fn take_idle_session(&self, session: SessionId) -> Result<IdleSession, HomeError> {
        let path = self.session_dir(session).join(OWNER_LOCK);
        let record = path.with_file_name(PROGRAMS_RECORD);
        let lock = match lock_within(path.clone(), Duration::ZERO) {
            Err(HomeError::Locked { .. }) => {
                // Owner and guardian share the lock. The owner is gone, so the guardian holds it and ends soon, unless
                // it was stopped.
                wake_guardian(&record);
                match lock_within(path.clone(), MAX_GUARDIAN_WAIT) {
                    Err(HomeError::Locked { .. }) => {
                        kill_guardian(&record);
                        lock_within(path, MAX_LOCK_WAIT)?
                    }
                    locked => locked?,
                }
            }
            locked => locked?,
        };
        let ran = end_marked(&record).map_err(|source| HomeError::from(&record, source))?;
        let ran = ran.map_err(|left| HomeError::Leftovers(Survivors(left.iter().map(pid_number).collect())))?;
        Ok(IdleSession { lock, record, recorded_programs: ran })
    }

    /// Locks a session without an owner, if there is nothing to wait for and nothing to end; none otherwise.
    pub fn try_take_idle_session(&self, session: SessionId) -> Result<Option<IdleSession>, HomeError> {
        let path = self.session_dir(session).join(OWNER_LOCK);
        let record = path.with_file_name(PROGRAMS_RECORD);
        match lock_within(path, Duration::ZERO) {
            Ok(lock) if !record.exists() => {
                Ok(Some(IdleSession { lock, record, recorded_programs: RecordedPrograms::Nothing }))
            }
            Ok(_) | Err(HomeError::Locked { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn lock_within(&self, name: &str, timeout: Duration) -> Result<FileLock, HomeError> {
        lock_within(self.root.join("run").join(format!("{name}.lock")), timeout)
    }
}

/// Replaces a file of a folder.
fn replace_private_file(path: &Path, folder: &Path, content: &[u8]) -> io::Result<()> {
    let draft = path.with_extension("new");
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
    file.write_all(content)?;
    file.sync_all()?;
    fs::rename(&draft, path)?;
    File::open(folder)?.sync_all()
}

fn pid_number(pid: &Pid) -> u32 {
    pid.as_raw_pid().unsigned_abs()
}

/// A session without running processes, locked against other owners.
#[derive(Debug)]
pub struct IdleSession {
    /// Its lock.
    pub lock: FileLock,
    record: PathBuf,
    recorded_programs: RecordedPrograms,
}

impl IdleSession {
    /// Whether programs ran since the session was last settled: files in its folder may be theirs.
    pub fn had_programs(&self) -> bool {
        self.recorded_programs == RecordedPrograms::Programs
    }

    /// Marks the session as one without programs, after their possible leftovers have been handled.
    pub fn clear_programs_record(&mut self) -> Result<(), HomeError> {
        self.recorded_programs = RecordedPrograms::Nothing;
        match fs::remove_file(&self.record) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => Err(HomeError::from(&self.record, source)),
            Ok(()) | Err(_) => Ok(()),
        }
    }
}

fn lock_within(path: PathBuf, timeout: Duration) -> Result<FileLock, HomeError> {
    let failed = |source| HomeError::from(&path, source);
    let file = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&path).map_err(failed)?;
    let began = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(FileLock { file, path }),
            Err(TryLockError::WouldBlock) if began.elapsed() < timeout => thread::sleep(LOCK_POLL),
            Err(TryLockError::WouldBlock) => return Err(HomeError::Locked { path, waited: began.elapsed() }),
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
    }
}

/// A lock among processes; it is released when dropped, or when the process ends.
#[derive(Debug)]
#[must_use = "the lock is released when this is dropped"]
pub struct FileLock {
    // The file stays when the lock is released: removing it would let two processes lock two files of one name.
    file: File,
    path: PathBuf,
}

impl FileLock {
    /// A copy for another process: the lock is free when both have released it.
    pub(crate) fn share(&self) -> io::Result<File> {
        self.file.try_clone()
    }

    /// The path where a guardian with this lock records that programs run.
    pub(crate) fn programs_record(&self) -> PathBuf {
        self.path.with_file_name(PROGRAMS_RECORD)
    }
}

/// The absolute path, if socket paths below it are short enough.
fn check_path_length(root: &Path) -> Result<PathBuf, HomeError> {
    let root = std::path::absolute(root).map_err(|source| HomeError::from(root, source))?;
    let most = MAX_SOCKET_PATH_BYTES - SOCKET_NAME_BYTES;
    if root.as_os_str().as_bytes().len() > most {
        return Err(HomeError::TooLong { path: root, most });
    }
    Ok(root)
}

/// Checks that other users lose nothing if the folder is closed to them: it does not exist, is already closed, is
/// empty, or belongs to Bosun.
fn require_own(path: &Path) -> Result<(), HomeError> {
    let Ok(folder) = fs::metadata(path) else { return Ok(()) };
    if !folder.is_dir() || folder.mode() & 0o077 == 0 {
        return Ok(());
    }
    let is_empty = fs::read_dir(path).map(|mut entries| entries.next().is_none());
    // Another process may be at its first start: it closes an empty folder before it fills it, so the content is
    // Bosun's if the folder is closed by now.
    let is_closed = || fs::metadata(path).is_ok_and(|folder| folder.mode() & 0o077 == 0);
    match is_empty {
        Ok(true) => Ok(()),
        Ok(false) if has_bosun_files(path, &folder) || is_closed() => Ok(()),
        Ok(false) => Err(HomeError::Shared(path.to_owned())),
        Err(source) => Err(HomeError::from(path, source)),
    }
}

/// Whether the folder contains Bosun's files.
fn has_bosun_files(path: &Path, folder: &fs::Metadata) -> bool {
    let any = |names: &[&str]| names.iter().any(|name| path.join(name).exists());
    let is_mine = folder.uid() == crate::user_id() && folder.mode() & 0o002 == 0;
    any(&PRODUCT_NAMES) || (is_mine && any(&DEFINITION_NAMES))
}

/// Creates a folder that only its user can enter, or changes an existing one to be such a folder.
fn make_private(path: &Path) -> Result<(), HomeError> {
    let failed = |source| HomeError::from(path, source);
    match DirBuilder::new().mode(0o700).create(path) {
        Ok(()) => {}
        Err(_) if path.is_dir() => {}
        Err(error) => return Err(failed(error)),
    }
    if fs::metadata(path).map_err(failed)?.mode() & 0o777 != 0o700 {
        fs::set_permissions(path, Permissions::from_mode(0o700)).map_err(failed)?;
    }
    Ok(())
}

/// Checks that the folder is writable, at the start rather than in the middle of work.
fn require_writable(path: &Path) -> Result<(), HomeError> {
    rustix::fs::access(path, rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK)
        .map_err(|errno| HomeError::from(path, errno.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o777
    }

    #[test]
    fn thirty_concurrent_first_starts_succeed() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("deep/home");
        thread::scope(|scope| {
            for _ in 0..30 {
                scope.spawn(|| Home::open(root.clone()).unwrap());
            }
        });
        for part in ["", "sessions", "run", "logs"] {
            assert_eq!(mode(&root.join(part)), 0o700, "{part}");
        }
    }

    #[test]
    fn concurrent_first_starts_succeed_in_an_open_empty_folder() {
        for _ in 0..100 {
            let folder = tempfile::tempdir().unwrap();
            fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
            thread::scope(|scope| {
                for _ in 0..8 {
                    scope.spawn(|| Home::open(folder.path().to_owned()).unwrap());
                }
            });
            assert_eq!(mode(folder.path()), 0o700);
        }
    }

    #[test]
    fn open_empty_folder_is_made_private() {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
        Home::open(folder.path().to_owned()).unwrap();
        assert_eq!(mode(folder.path()), 0o700);
    }

    #[test]
    fn folder_with_definitions_is_made_private_on_first_run() {
        for name in ["agents", "skills", "hooks", "commands", "plugins", "AGENTS.md"] {
            let folder = tempfile::tempdir().unwrap();
            fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
            fs::write(folder.path().join(name), "").unwrap();
            fs::write(folder.path().join("notes"), "").unwrap();
            assert!(Home::check(folder.path()).is_ok(), "{name}");
            Home::open(folder.path().to_owned()).unwrap();
            assert_eq!(mode(folder.path()), 0o700, "{name}");
        }
    }

    #[test]
    fn folder_that_other_users_use_is_refused_unchanged() {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), Permissions::from_mode(0o1777)).unwrap();
        fs::write(folder.path().join("theirs"), "").unwrap();
        let error = Home::open(folder.path().to_owned()).unwrap_err();
        assert!(matches!(error, HomeError::Shared(_)), "{error:?}");
        assert!(error.to_string().contains("BOSUN_HOME"));
        assert_eq!(mode(folder.path()), 0o777);
        fs::write(folder.path().join("config.toml"), "").unwrap();
        Home::open(folder.path().to_owned()).unwrap();
        assert_eq!(mode(folder.path()), 0o700);
    }

    #[test]
    fn file_in_place_of_the_folder_is_reported_with_a_remedy() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("home");
        fs::write(&root, "").unwrap();
        for path in [root.clone(), root.join("below")] {
            let error = Home::open(path).unwrap_err();
            assert!(matches!(error, HomeError::NotDirectory(_)), "{error:?}");
            assert!(error.to_string().contains("BOSUN_HOME"));
        }
    }

    #[test]
    fn home_is_refused_if_its_socket_paths_would_be_too_long() {
        let folder = tempfile::tempdir().unwrap();
        let session = SessionId::new(uuid::Uuid::now_v7());
        let room = MAX_SOCKET_PATH_BYTES - SOCKET_NAME_BYTES - folder.path().as_os_str().len() - 1;
        let home = Home::open(folder.path().join("h".repeat(room))).unwrap();
        assert_eq!(home.socket(session).as_os_str().len(), MAX_SOCKET_PATH_BYTES);
        std::os::unix::net::UnixListener::bind(home.socket(session)).unwrap();
        let error = Home::open(folder.path().join("h".repeat(room + 1))).unwrap_err();
        assert!(matches!(error, HomeError::TooLong { .. }), "{error:?}");
    }

    #[test]
    fn check_reports_what_open_would_and_creates_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let (root, file) = (folder.path().join("deep/home"), folder.path().join("file"));
        Home::check(&root).unwrap();
        assert!(!root.exists() && Home::open_as_is(&root).is_none());
        fs::write(&file, "").unwrap();
        assert!(matches!(Home::check(&file).unwrap_err(), HomeError::NotDirectory(_)));
        assert!(matches!(Home::check(&file.join("below")).unwrap_err(), HomeError::NotDirectory(_)));
        let long = folder.path().join("h".repeat(MAX_SOCKET_PATH_BYTES));
        assert!(matches!(Home::check(&long).unwrap_err(), HomeError::TooLong { .. }));
        let home = Home::open(root.clone()).unwrap();
        assert_eq!(Home::open_as_is(&root), Some(home));
        Home::check(&root).unwrap();
    }

    #[test]
    fn lock_is_exclusive_until_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path().to_owned()).unwrap();
        let held = home.lock("index").unwrap();
        let error = home.lock_within("index", Duration::ZERO).unwrap_err();
        assert!(matches!(error, HomeError::Locked { .. }), "{error:?}");
        assert!(home.try_lock("index").unwrap().is_none());
        let other = home.try_lock("other").unwrap().unwrap();
        drop((held, other));
        drop(home.lock_within("index", Duration::ZERO).unwrap());
    }

    #[test]
    fn records_of_held_sessions_are_private_and_replaced_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path().to_owned()).unwrap();
        let session = SessionId::new(uuid::Uuid::now_v7());
        assert!(!home.is_held(session) && home.held_records().unwrap().is_empty());
        for record in [b"one", b"two"] {
            home.write_held_record(session, record).unwrap();
            assert_eq!(mode(&home.held_record(session)), 0o600);
            assert_eq!(home.held_records().unwrap(), [(session, record.to_vec())]);
        }
        assert!(home.is_held(session));
        home.remove_held_record(session).unwrap();
        assert!(!home.is_held(session) && home.held_records().unwrap().is_empty());
    }

    #[test]
    fn sessions_of_mcp_clients_are_marked() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path().to_owned()).unwrap();
        let session = SessionId::new(uuid::Uuid::now_v7());
        assert!(home.mark_mcp_session(session).is_err(), "there is no such session");
        home.make_session(session).unwrap();
        assert!(!home.is_mcp_session(session));
        for _ in 0..2 {
            home.mark_mcp_session(session).unwrap();
            assert!(home.is_mcp_session(session));
        }
    }

    #[test]
    fn a_session_has_its_own_folders() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path().to_owned()).unwrap();
        let session = SessionId::new(uuid::Uuid::now_v7());
        let made = home.make_session(session).unwrap();
        assert_eq!(home.make_session(session).unwrap(), made);
        assert_eq!(home.session_db(session), made.join("session.db"));
        assert!(home.output_dir(session).is_dir());
    }
}
