//! Which session is meant, and which of its tasks.

use std::collections::BTreeMap;

use host::Home;
use protocol::api::{SessionView, TaskView, TasksParams};
use protocol::{Called, SessionId, TaskId, Unclear, find_task};
use store::{Index, Reader, StoreError};

use crate::args::TaskArgs;
use crate::failure::Failure;
use crate::run::{find, latest};
use crate::{print, setup};

/// More sessions than one task is of.
const MANY: u32 = 2;

/// Most paths that an error lists.
const LISTED: usize = 20;

/// The paths of tasks.
pub(super) type Paths = BTreeMap<TaskId, String>;

/// A task of a session.
#[derive(Debug)]
pub(super) struct Chosen {
    pub(super) session: SessionId,
    pub(super) reader: Reader,
    pub(super) task: TaskView,
}

impl Chosen {
    /// The task that is meant. One that is named by its id may be of any session.
    pub(super) fn find(home: &Home, args: &TaskArgs) -> Result<Chosen, Failure> {
        let session = match &args.session {
            Some(prefix) => find(home, prefix)?,
            None => match of_folder(home) {
                Ok(session) => session,
                Err(failure) => return anywhere(home, &args.task).unwrap_or(Err(failure)),
            },
        };
        let elsewhere = || if args.session.is_none() { anywhere(home, &args.task) } else { None };
        of_session(home, session, &args.task).or_else(|failure| elsewhere().unwrap_or(Err(failure)))
    }

    /// The paths of all tasks of the session.
    pub(super) fn paths(&self) -> Result<Paths, StoreError> {
        let tasks = self.reader.tasks(&TasksParams { all: true, ..TasksParams::every() })?.tasks;
        Ok(tasks.into_iter().map(|task| (task.id, task.path)).collect())
    }

    /// What the session is.
    pub(super) fn session_view(&self) -> Result<SessionView, StoreError> {
        self.reader.session_view()
    }
}

/// The newest session of this folder.
pub(super) fn of_folder(home: &Home) -> Result<SessionId, Failure> {
    let cwd = setup::folder(None)?.display().to_string();
    latest(home, &cwd)?.ok_or_else(|| {
        Failure::usage(format!("no session was begun in {cwd}"))
            .hint("`bosun tasks --all` looks into every session, --session into one")
    })
}

fn of_session(home: &Home, session: SessionId, given: &str) -> Result<Chosen, Failure> {
    let reader = Reader::open(home, session)?;
    let tasks = reader.tasks(&TasksParams { all: true, ..TasksParams::every() })?.tasks;
    match pick(&tasks, given) {
        Ok(task) => Ok(Chosen { session, reader, task: task.clone() }),
        Err(unclear) => Err(explain(&unclear, &tasks, session, given)),
    }
}

/// A task that an id names, in whichever session.
fn anywhere(home: &Home, given: &str) -> Option<Result<Chosen, Failure>> {
    let hex = given.strip_prefix("task-").unwrap_or(given);
    if hex.len() < 6 || !hex.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let sessions = Index::current(home).and_then(|index| index.sessions_of_task(hex, MANY)).ok()?;
    let mut found: Vec<Chosen> = sessions.into_iter().filter_map(|id| of_session(home, id, given).ok()).collect();
    match found.len() {
        0 => None,
        1 => found.pop().map(Ok),
        _more => Some(Err(Failure::usage(format!("several sessions have a task that begins with `{given}`"))
            .hint("give more of the id, or the session with --session"))),
    }
}

/// The task that is meant, first among those that were not removed.
fn pick<'a>(tasks: &'a [TaskView], given: &str) -> Result<&'a TaskView, Unclear> {
    let called = |task: &'a TaskView| Called { id: task.id, parent: task.parent, name: &*task.name, path: &*task.path };
    let Some(root) = tasks.iter().find(|task| task.parent.is_none()).map(called) else { return Err(Unclear::Nobody) };
    let kept: Vec<Called<&str>> = tasks.iter().filter(|task| !task.forgotten).map(called).collect();
    let id = match find_task(&kept, &root, given) {
        Err(Unclear::Nobody) => find_task(&tasks.iter().map(called).collect::<Vec<_>>(), &root, given)?,
        found => found?,
    };
    tasks.iter().find(|task| task.id == id).ok_or(Unclear::Nobody)
}

fn explain(unclear: &Unclear, tasks: &[TaskView], session: SessionId, given: &str) -> Failure {
    let given = print::plain(given);
    match unclear {
        Unclear::Several(paths) => Failure::usage(format!("`{given}` may be any of {}", listed(paths.iter())))
            .hint("give the path, or more of the id"),
        Unclear::Nobody => {
            let paths = listed(tasks.iter().filter(|task| !task.forgotten).map(|task| &task.path));
            Failure::usage(format!("no task of {session} is called `{given}`; there are: {paths}"))
                .hint("`bosun tasks --all` lists those of every session")
        }
    }
}

fn listed<'a>(paths: impl Iterator<Item = &'a String>) -> String {
    let mut paths: Vec<String> = paths.take(LISTED + 1).map(|path| print::plain(path)).collect();
    if paths.len() > LISTED {
        paths[LISTED] = "…".into();
    }
    paths.join(", ")
}
