//! Finds the task that a model names by an id, an id prefix, a name or a path.

use std::sync::Arc;

use protocol::{Clip, NamedTask, TaskId, TaskLookupError, TaskType, find_task};
use tools::ToolError;

use super::AgentSubagents;
use crate::roster::{Roster, RosterEntry};

impl AgentSubagents {
    /// A task below the calling agent.
    pub(super) fn find_below(&self, given: &str) -> Result<TaskId, ToolError> {
        find_among(&self.context.roster, self.caller_task(), &self.below(), given)
    }

    /// A task below the calling agent, or why it was not found.
    pub(crate) fn find_or_unclear(&self, given: &str) -> Result<TaskId, TaskLookupError> {
        let known = task_names(&self.context.roster, &self.below());
        task_names(&self.context.roster, &[self.caller_task()])
            .first()
            .map_or(Err(TaskLookupError::NotFound), |from| find_task(&known, from, given))
    }

    /// Any task of the session with this name.
    pub(crate) fn find_in_session(&self, given: &str) -> Option<TaskId> {
        let roster = &self.context.roster;
        let above = |task: &TaskId| roster.with_task(*task, |known| known.spec.parent).flatten();
        let root = std::iter::successors(Some(self.caller_task()), above).last()?;
        let all: Vec<TaskId> = std::iter::once(root).chain(roster.descendants(root)).collect();
        find_task(&task_names(roster, &all), task_names(roster, &[self.caller_task()]).first()?, given).ok()
    }

    /// A task that the calling agent may write to: below it, beside it, or its parent.
    pub(super) fn find_near(&self, given: &str) -> Result<TaskId, ToolError> {
        let roster = &self.context.roster;
        let parent = roster.with_task(self.caller_task(), |known| known.spec.parent).flatten();
        if given == "parent" {
            return parent.ok_or_else(|| ToolError::refused("the root agent has no parent"));
        }
        let mut near = self.below();
        near.extend(self.siblings());
        near.extend(parent);
        find_among(roster, self.caller_task(), &near, given)
    }

    /// The agents that the same parent started.
    pub(super) fn siblings(&self) -> Vec<TaskId> {
        let roster = &self.context.roster;
        let Some(parent) = roster.with_task(self.caller_task(), |known| known.spec.parent).flatten() else {
            return Vec::new();
        };
        let own = self.caller_task();
        agents(roster, &roster.with_task(parent, |known| known.children.clone()).unwrap_or_default())
            .into_iter()
            .filter(|id| *id != own)
            .collect()
    }

    /// The agents that the calling agent started.
    pub(super) fn children(&self) -> Vec<TaskId> {
        let roster = &self.context.roster;
        agents(roster, &roster.with_task(self.caller_task(), |known| known.children.clone()).unwrap_or_default())
    }

    /// Everything below the calling agent, parents before their children.
    pub(super) fn below(&self) -> Vec<TaskId> {
        self.context.roster.descendants(self.caller_task())
    }
}

fn agents(roster: &Roster, tasks: &[TaskId]) -> Vec<TaskId> {
    let is_agent = |id: &&TaskId| roster.with_task(**id, |known| known.spec.kind == TaskType::Agent) == Some(true);
    tasks.iter().filter(is_agent).copied().collect()
}

/// The names of tasks.
fn task_names(roster: &Roster, tasks: &[TaskId]) -> Vec<NamedTask<Arc<str>>> {
    let of = |known: &RosterEntry| (known.spec.parent, Arc::from(&*known.spec.name), Arc::clone(&known.path));
    let named =
        |id: &TaskId| roster.with_task(*id, of).map(|(parent, name, path)| NamedTask { id: *id, parent, name, path });
    tasks.iter().filter_map(named).collect()
}

/// Finds the named task among `known`.
fn find_among(roster: &Roster, own: TaskId, known: &[TaskId], given: &str) -> Result<TaskId, ToolError> {
    let from = task_names(roster, &[own]).pop().ok_or_else(|| ToolError::refused("the agent is gone"))?;
    let known = task_names(roster, known);
    find_task(&known, &from, given).map_err(|unclear| match unclear {
        TaskLookupError::Ambiguous(paths) => {
            ToolError::refused(format!("`{}` may be any of {}; use a path", clip(given), joined_paths(&paths)))
        }
        TaskLookupError::NotFound if known.is_empty() => {
            ToolError::refused(format!("no agent or command is called `{}`; none was started", clip(given)))
        }
        TaskLookupError::NotFound => {
            let paths: Vec<&str> = known.iter().map(|task| &*task.path).collect();
            ToolError::refused(format!(
                "no agent or command is called `{}`; there are: {}",
                clip(given),
                joined_paths(&paths)
            ))
        }
    })
}

fn joined_paths(paths: &[impl AsRef<str>]) -> Clip {
    let paths: Vec<&str> = paths.iter().map(AsRef::as_ref).collect();
    Clip::new(&paths.join(", "), 2_000)
}

fn clip(text: &str) -> Clip {
    Clip::new(text, 100)
}
