//! Tasks as a tree.

use std::collections::{HashMap, HashSet};

use host::{Clock, Home, SystemClock};
use protocol::api::{SessionView, TaskView, TasksParams};
use protocol::{At, Kind, Outcome, SessionId, TaskId, TaskState};
use serde::Serialize;
use store::{Index, Reader, StoreError};
use unicode_width::UnicodeWidthStr;

use super::place::of_folder;
use crate::args::TaskListArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::money::Money;
use crate::run::find;
use crate::{print, time};

const HEADS: [&str; 8] = ["task", "state", "agent", "model", "turns", "tokens", "cost", "age"];

/// A name keeps so many columns at most.
const LONGEST: usize = 40;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Listed {
    session: SessionId,
    title: String,
    /// The process that runs it now.
    owner_pid: Option<u32>,
    tasks: Vec<TaskView>,
    #[serde(skip)]
    model: String,
}

pub(super) fn list(home: &Home, options: &TaskListArgs) -> Result<Exit, Failure> {
    if options.all {
        return list_all(home, options);
    }
    let session = options.session.as_ref().map_or_else(|| of_folder(home), |prefix| find(home, prefix))?;
    let listed = read(home, session, options)?;
    if options.json {
        print::json(&listed);
    } else {
        table(&[listed], SystemClock.now());
    }
    Ok(Exit::Success)
}

/// Lists the tasks of every session, newest session first.
fn list_all(home: &Home, options: &TaskListArgs) -> Result<Exit, Failure> {
    let (mut all, mut exit) = (Vec::new(), Exit::Success);
    for row in Index::open(home)?.agree(home)?.list(None)? {
        match read(home, row.id, options) {
            Ok(listed) if listed.tasks.is_empty() => {}
            Ok(listed) => all.push(listed),
            Err(error) => {
                print::error(&format!("{} is left out: {error}", row.id));
                exit = Exit::Failed;
            }
        }
    }
    if options.json {
        print::json(&all);
    } else {
        table(&all, SystemClock.now());
    }
    Ok(exit)
}

fn read(home: &Home, session: SessionId, options: &TaskListArgs) -> Result<Listed, StoreError> {
    let reader = Reader::open(home, session)?;
    let SessionView { title, owner_pid, model, .. } = reader.session_view()?;
    let wanted = TasksParams {
        state: options.state.clone(),
        kind: options.kind.map(Kind::from),
        below: options.below.as_ref().map(|path| absolute(path)),
        all: options.removed,
        ..TasksParams::every()
    };
    Ok(Listed { session, title, owner_pid, tasks: reader.tasks(&wanted)?.tasks, model })
}

/// A path from the root, however it was written.
fn absolute(path: &str) -> String {
    let path = path.trim_end_matches('/');
    if path.starts_with('/') { path.to_owned() } else { format!("/root/{path}") }
}

fn table(all: &[Listed], now: At) {
    if all.iter().all(|listed| listed.tasks.is_empty()) {
        return print::note("no tasks");
    }
    let mut rows = vec![(HEADS.map(str::to_owned), "doing".to_owned())];
    for listed in all {
        rows.extend(tree(&listed.tasks).into_iter().map(|task| (cells(task, &listed.model, now), doing(task))));
    }
    let widths: [usize; 8] =
        std::array::from_fn(|column| rows.iter().map(|(cells, _)| cells[column].width()).max().unwrap_or(0));
    let line = |(cells, doing): &([String; 8], String)| {
        let aligned: Vec<String> = (0..8)
            .map(|column| match column {
                0..4 => print::cell(&cells[column], widths[column]),
                _numbers => format!("{:>1$}", cells[column], widths[column]),
            })
            .collect();
        format!("{}  {doing}", aligned.join("  ")).trim_end().to_owned()
    };
    let mut rows = rows.iter();
    rows.next().into_iter().map(line).for_each(print::row);
    for listed in all {
        let owner = listed.owner_pid.map_or_else(|| "not running".to_owned(), |pid| format!("process {pid}"));
        let title = print::plain(&print::one_line(&listed.title, 60));
        print::row(format_args!("{}  {owner}  {title}", listed.session));
        rows.by_ref().take(listed.tasks.len()).map(line).for_each(print::row);
    }
}

/// Parents before their children, and children in the order they were made.
fn tree(tasks: &[TaskView]) -> Vec<&TaskView> {
    let known: HashSet<TaskId> = tasks.iter().map(|task| task.id).collect();
    let mut below: HashMap<Option<TaskId>, Vec<&TaskView>> = HashMap::new();
    for task in tasks.iter().rev() {
        below.entry(task.parent.filter(|parent| known.contains(parent))).or_default().push(task);
    }
    let mut open = below.remove(&None).unwrap_or_default();
    let mut ordered = Vec::with_capacity(tasks.len());
    while let Some(task) = open.pop() {
        ordered.push(task);
        open.extend(below.remove(&Some(task.id)).unwrap_or_default());
    }
    ordered
}

fn cells(task: &TaskView, session_model: &str, now: At) -> [String; 8] {
    let indent = "  ".repeat(usize::try_from(task.depth.min(12)).unwrap_or(0));
    let stalled = if task.stalled_since_at.is_some() { ", stalled" } else { "" };
    let removed = if task.forgotten { ", removed" } else { "" };
    let model = match task.kind {
        Kind::Shell => "",
        Kind::Main | Kind::Agent => task.model.as_ref().map_or(session_model, |model| &model.effective),
    };
    let cost = if task.turns == 0 && task.cost_micros == 0 {
        String::new()
    } else {
        Money::new(task.cost_micros, task.priced).to_string()
    };
    [
        format!("{indent}{}", print::plain(&print::one_line(&task.name, LONGEST))),
        format!("{}{stalled}{removed}", task.state.word()),
        print::plain(&task.agent),
        print::plain(&print::one_line(short_model(model), 28)),
        task.turns.to_string(),
        task.usage.total().to_string(),
        cost,
        time::ago(task.created_at, now),
    ]
}

/// A file is known by its last name.
fn short_model(model: &str) -> &str {
    match model.split_once('/') {
        Some((provider, path)) if crate::setup::is_file(provider) => path.rsplit('/').next().unwrap_or(path),
        _named => model,
    }
}

/// What a task says that it does, or what it is for; once it has failed, why.
fn doing(task: &TaskView) -> String {
    if let TaskState::Finished { outcome: Outcome::Failed { message, .. } } = &task.state {
        return print::plain(&print::one_line(message, 80));
    }
    let words = task.intent.as_deref().filter(|intent| !intent.is_empty());
    let prompt = task.prompt.as_deref().filter(|_| task.description.is_empty());
    print::plain(&print::one_line(words.or(prompt).unwrap_or(&task.description), 80))
}
