//! Helpers: homes, owners, events, and running a test again in another process.

use std::path::{Path, PathBuf};
use std::process::Command;

use host::{Home, ProcessIdentity};
use protocol::{
    Budget, CompletionPolicy, Cost, Event, ListName, LogEntry, MailBody, MailDelivery, MailId, PermissionMode,
    Principal, SessionConfig, SessionId, TaskId, TaskMode, TaskSpec, TaskType, Timestamp, Turn,
};
use store::{CommitReceipt, OwnedSession, SessionFile, SessionReader, SessionWriter, StoreError, WriteBatch};
use tempfile::TempDir;
use uuid::Uuid;

/// A home that is removed at the end of the test.
pub(crate) struct StoreFixture {
    pub(crate) home: Home,
    _folder: TempDir,
}

pub(crate) fn fixture() -> StoreFixture {
    let folder = tempfile::tempdir().unwrap();
    StoreFixture { home: Home::open(folder.path().join("home")).unwrap(), _folder: folder }
}

pub(crate) fn session(n: u128) -> SessionId {
    SessionId::new(Uuid::from_u128((0x7 << 76) | n))
}

pub(crate) fn task(n: u128) -> TaskId {
    TaskId::new(Uuid::from_u128(n))
}

/// This process, which is alive.
pub(crate) fn this_process() -> ProcessIdentity {
    ProcessIdentity::current().unwrap()
}

/// A process of another boot, which is not alive.
pub(crate) fn dead_process() -> ProcessIdentity {
    ProcessIdentity { boot: "an earlier boot".into(), pid: 1, start_ticks: 1 }
}

pub(crate) fn create(home: &Home, id: SessionId) -> OwnedSession {
    SessionFile::create(home, id, &dead_process(), Timestamp(1)).unwrap()
}

pub(crate) fn adopt(home: &Home, id: SessionId) -> OwnedSession {
    SessionFile::adopt(home, id, &dead_process(), Timestamp(2)).unwrap()
}

pub(crate) fn reader(home: &Home, id: SessionId) -> SessionReader {
    SessionReader::open(home, id).unwrap()
}

pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

pub(crate) fn commit(writer: &SessionWriter, entries: Vec<LogEntry>) -> Result<CommitReceipt, StoreError> {
    block_on(writer.commit(WriteBatch { entries, applied_commands: Vec::new() }))
}

pub(crate) fn entry(at: u64, event: Event) -> LogEntry {
    LogEntry { task: task(1), at: Timestamp(at), event }
}

/// An event that contains its number.
pub(crate) fn intent(n: u64) -> LogEntry {
    entry(n, Event::IntentReported { intent: format!("step {n}") })
}

/// The configuration of every session.
pub(crate) fn session_config() -> SessionConfig {
    SessionConfig {
        cwd: "/src".into(),
        model: "script/demo".into(),
        permission: PermissionMode::AllowAll,
        rules: Vec::new(),
        roots: Vec::new(),
        ask_user: true,
        max_turns: Some(7),
        root_turns: None,
        limits: protocol::AgentLimits::default(),
        budget: Budget::default(),
        effort: None,
        list: ListName::Session,
        version: "0.1.0".into(),
    }
}

/// The first events of every session.
pub(crate) fn first_entries() -> Vec<LogEntry> {
    let body = MailBody::text("\n  Count the tests\nplease");
    vec![
        entry(10, Event::SessionOpened(session_config())),
        entry(11, Event::TaskCreated(Box::new(spec(None, "root")))),
        entry(12, Event::MailAdmitted { mail: MailId(1), from: Principal::User, delivery: MailDelivery::Steer, body }),
    ]
}

pub(crate) fn spec(parent: Option<TaskId>, name: &str) -> TaskSpec {
    let kind = if parent.is_some() { TaskType::Agent } else { TaskType::Main };
    let description = format!("what {name} is for");
    TaskSpec {
        parent,
        description,
        mode: TaskMode::Sync,
        on_complete: CompletionPolicy::Idle,
        ..TaskSpec::new(kind, "general", name)
    }
}

pub(crate) fn turn_begun(turn: u32) -> Event {
    Event::TurnBegun {
        turn: Turn(turn),
        model: "script/demo".into(),
        reserved: Cost::ZERO,
        price: None,
        max_output: None,
        quoted: protocol::QuotedTokens::default(),
    }
}

/// Every row of every runtime table, to check that nothing changed.
pub(crate) fn runtime_rows(home: &Home, id: SessionId) -> Vec<String> {
    let conn = raw_connection(&home.session_db(id));
    let names = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 'bosun%' ORDER BY name";
    let mut rows = Vec::new();
    for table in strings(&conn, names) {
        let columns = strings(&conn, &format!("SELECT name FROM pragma_table_xinfo('{table}')"));
        let row = columns.iter().map(|column| format!("quote({column})")).collect::<Vec<_>>().join(" || ',' || ");
        rows.push(table.clone());
        rows.extend(strings(&conn, &format!("SELECT {row} FROM {table} ORDER BY 1")));
    }
    rows.extend(strings(&conn, "SELECT sql FROM sqlite_schema WHERE tbl_name LIKE 'bosun%' AND sql IS NOT NULL"));
    rows
}

pub(crate) fn strings(conn: &rusqlite::Connection, sql: &str) -> Vec<String> {
    conn.prepare(sql).unwrap().query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

/// A connection that bypasses the store.
#[expect(clippy::disallowed_methods, reason = "tests look at and damage files behind the store's back")]
pub(crate) fn raw_connection(path: &Path) -> rusqlite::Connection {
    rusqlite::Connection::open(path).unwrap()
}

const CHILD: &str = "BOSUN_STORE_CHILD";

/// A command that runs one test of this binary in another process, where `child_argument` returns `argument`.
pub(crate) fn child_command(program: &Path, case: &str, argument: &Path) -> Command {
    let mut command = command(program);
    command.args([case, "--exact", "--nocapture", "--test-threads=1"]).env(CHILD, argument);
    command
}

#[expect(clippy::disallowed_methods, reason = "tests run themselves again as other processes and users")]
pub(crate) fn command(program: &Path) -> Command {
    Command::new(program)
}

pub(crate) fn this_binary() -> PathBuf {
    std::env::current_exe().unwrap()
}

/// The argument from the parent process, if this is a child.
#[expect(clippy::disallowed_methods, reason = "the parent's word to a child of the same test")]
pub(crate) fn child_argument() -> Option<PathBuf> {
    std::env::var_os(CHILD).map(PathBuf::from)
}

/// Whether golden files are to be written instead of compared.
#[expect(clippy::disallowed_methods, reason = "asked for by hand")]
pub(crate) fn blessing() -> bool {
    std::env::var_os("BOSUN_BLESS").is_some()
}

#[track_caller]
pub(crate) fn assert_succeeds(mut command: Command) {
    let output = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{}\n{}", text(&output.stdout), text(&output.stderr));
}
