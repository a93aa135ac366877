//! Finds the task that a model names by an id, an id prefix, a name or a path.

use std::sync::Arc;

use protocol::{Clip, NamedTask, TaskId, TaskLookupError, find_task};
use tools::ToolError;

use super::AgentSubagents;
use crate::roster::{Roster, RosterEntry};

impl AgentSubagents {
    /// Finds a task below the calling agent.
    pub(super) fn find_below(&self, name: &str) -> Result<TaskId, ToolError> {
        find_among(&self.context.log.roster, self.caller_task(), &self.tasks_below(), name)
    }

    /// Finds a task below the calling agent, or returns why it was not found.
    pub(crate) fn look_up_below(&self, name: &str) -> Result<TaskId, TaskLookupError> {
        let candidates = task_names(&self.context.log.roster, &self.tasks_below());
        task_names(&self.context.log.roster, &[self.caller_task()])
            .first()
            .map_or(Err(TaskLookupError::NotFound), |from| find_task(&candidates, from, name))
    }

    /// Finds a task anywhere in the session.
    pub(crate) fn find_in_session(&self, name: &str) -> Option<TaskId> {
        let roster = &self.context.log.roster;
        let parent_of = |task: &TaskId| roster.with_task(*task, |entry| entry.spec.parent).flatten();
        let root = std::iter::successors(Some(self.caller_task()), parent_of).last()?;
        let all: Vec<TaskId> = std::iter::once(root).chain(roster.descendants(root)).collect();
        find_task(&task_names(roster, &all), task_names(roster, &[self.caller_task()]).first()?, name).ok()
    }

    /// Finds a task that the calling agent may write to: below it, beside it, or its parent.
    pub(super) fn find_near(&self, name: &str) -> Result<TaskId, ToolError> {
        let roster = &self.context.log.roster;
        let parent = roster.with_task(self.caller_task(), |entry| entry.spec.parent).flatten();
        if name == "parent" {
            return parent.ok_or_else(|| ToolError::refused("the root agent has no parent"));
        }
        let mut near = self.tasks_below();
        near.extend(self.siblings());
        near.extend(parent);
        find_among(roster, self.caller_task(), &near, name)
    }

    /// The agents that the same parent started.
    pub(super) fn siblings(&self) -> Vec<TaskId> {
        let roster = &self.context.log.roster;
        let Some(parent) = roster.with_task(self.caller_task(), |entry| entry.spec.parent).flatten() else {
            return Vec::new();
        };
        let own = self.caller_task();
        only_agents(roster, &roster.with_task(parent, |entry| entry.child_states.clone()).unwrap_or_default())
            .into_iter()
            .filter(|id| *id != own)
            .collect()
    }

    /// The agents that the calling agent started.
    pub(super) fn children(&self) -> Vec<TaskId> {
        let roster = &self.context.log.roster;
        only_agents(
            roster,
            &roster.with_task(self.caller_task(), |entry| entry.child_states.clone()).unwrap_or_default(),
        )
    }

    /// Everything below the calling agent, parents before their children.
    pub(super) fn tasks_below(&self) -> Vec<TaskId> {
        let roster = &self.context.log.roster;
        let is_hidden = |id: &TaskId| roster.with_task(*id, |entry| entry.spec.kind.is_hidden()) == Some(true);
        roster.descendants(self.caller_task()).into_iter().filter(|id| !is_hidden(id)).collect()
    }
}

fn only_agents(roster: &Roster, tasks: &[TaskId]) -> Vec<TaskId> {
    let is_agent = |id: &&TaskId| roster.with_task(**id, |entry| entry.spec.kind.is_subagent()) == Some(true);
    tasks.iter().filter(is_agent).copied().collect()
}

/// The names of tasks.
fn task_names(roster: &Roster, tasks: &[TaskId]) -> Vec<NamedTask<Arc<str>>> {
    let names_of = |entry: &RosterEntry| (entry.spec.parent, Arc::from(&*entry.spec.name), Arc::clone(&entry.path));
    let named = |id: &TaskId| {
        roster.with_task(*id, names_of).map(|(parent, name, path)| NamedTask { id: *id, parent, name, path })
    };
    tasks.iter().filter_map(named).collect()
}

/// Finds the named task among `candidates`.
fn find_among(roster: &Roster, own: TaskId, candidates: &[TaskId], name: &str) -> Result<TaskId, ToolError> {
    let from = task_names(roster, &[own]).pop().ok_or_else(|| ToolError::refused("the agent is gone"))?;
    let candidates = task_names(roster, candidates);
    find_task(&candidates, &from, name).map_err(|error| match error {
        TaskLookupError::Ambiguous(paths) => {
            ToolError::refused(format!("`{}` may be any of {}; use a path", clip(name), joined_paths(&paths)))
        }
        TaskLookupError::NotFound if candidates.is_empty() => {
            ToolError::refused(format!("no agent or command is called `{}`; none was started", clip(name)))
        }
        TaskLookupError::NotFound => {
            let paths: Vec<&str> = candidates.iter().map(|task| &*task.path).collect();
            ToolError::refused(format!(
                "no agent or command is called `{}`; available: {}",
                clip(name),
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
