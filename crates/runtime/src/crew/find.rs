//! Which task a model means: an id, the beginning of one, a name, or a path.

use std::sync::Arc;

use protocol::{Called, Clip, Kind, TaskId, Unclear, find_task};
use tools::ToolError;

use super::Crew;
use crate::roster::{Known, Roster};

impl Crew {
    /// A task below the calling agent.
    pub(super) fn find_below(&self, given: &str) -> Result<TaskId, ToolError> {
        pick(&self.desk.roster, self.own(), &self.below(), given)
    }

    /// A task below the calling agent, or why it is not clear which.
    pub(crate) fn seek(&self, given: &str) -> Result<TaskId, Unclear> {
        let known = called(&self.desk.roster, &self.below());
        called(&self.desk.roster, &[self.own()])
            .first()
            .map_or(Err(Unclear::Nobody), |from| find_task(&known, from, given))
    }

    /// Any task of the session that goes by this.
    pub(crate) fn anybody(&self, given: &str) -> Option<TaskId> {
        let roster = &self.desk.roster;
        let above = |task: &TaskId| roster.known(*task, |known| known.spec.parent).flatten();
        let root = std::iter::successors(Some(self.own()), above).last()?;
        let all: Vec<TaskId> = std::iter::once(root).chain(roster.below(root)).collect();
        find_task(&called(roster, &all), called(roster, &[self.own()]).first()?, given).ok()
    }

    /// A task that the calling agent may write to: below it, beside it, or its parent.
    pub(super) fn find_near(&self, given: &str) -> Result<TaskId, ToolError> {
        let roster = &self.desk.roster;
        let parent = roster.known(self.own(), |known| known.spec.parent).flatten();
        if given == "parent" {
            return parent.ok_or_else(|| ToolError::refused("the session's own agent has no parent"));
        }
        let mut near = self.below();
        near.extend(self.siblings());
        near.extend(parent);
        pick(roster, self.own(), &near, given)
    }

    /// The agents that the same parent started.
    pub(super) fn siblings(&self) -> Vec<TaskId> {
        let roster = &self.desk.roster;
        let Some(parent) = roster.known(self.own(), |known| known.spec.parent).flatten() else { return Vec::new() };
        let own = self.own();
        agents(roster, &roster.known(parent, |known| known.children.clone()).unwrap_or_default())
            .into_iter()
            .filter(|id| *id != own)
            .collect()
    }

    /// The agents that the calling one started.
    pub(super) fn children(&self) -> Vec<TaskId> {
        let roster = &self.desk.roster;
        agents(roster, &roster.known(self.own(), |known| known.children.clone()).unwrap_or_default())
    }

    /// Everything below the calling agent, parents before their children.
    pub(super) fn below(&self) -> Vec<TaskId> {
        self.desk.roster.below(self.own())
    }
}

fn agents(roster: &Roster, tasks: &[TaskId]) -> Vec<TaskId> {
    let is_agent = |id: &&TaskId| roster.known(**id, |known| known.spec.kind == Kind::Agent) == Some(true);
    tasks.iter().filter(is_agent).copied().collect()
}

/// What tasks go by.
fn called(roster: &Roster, tasks: &[TaskId]) -> Vec<Called<Arc<str>>> {
    let of = |known: &Known| (known.spec.parent, Arc::from(&*known.spec.name), Arc::clone(&known.path));
    let called = |id: &TaskId| roster.known(*id, of).map(|(parent, name, path)| Called { id: *id, parent, name, path });
    tasks.iter().filter_map(called).collect()
}

/// The one task among `known` that is meant.
fn pick(roster: &Roster, own: TaskId, known: &[TaskId], given: &str) -> Result<TaskId, ToolError> {
    let from = called(roster, &[own]).pop().ok_or_else(|| ToolError::refused("the agent is gone"))?;
    let known = called(roster, known);
    find_task(&known, &from, given).map_err(|unclear| match unclear {
        Unclear::Several(paths) => {
            ToolError::refused(format!("`{}` may be any of {}; use a path", clip(given), list(&paths)))
        }
        Unclear::Nobody if known.is_empty() => {
            ToolError::refused(format!("no agent or command is called `{}`; none was started", clip(given)))
        }
        Unclear::Nobody => {
            let paths: Vec<&str> = known.iter().map(|task| &*task.path).collect();
            ToolError::refused(format!("no agent or command is called `{}`; there are: {}", clip(given), list(&paths)))
        }
    })
}

fn list(paths: &[impl AsRef<str>]) -> Clip {
    let paths: Vec<&str> = paths.iter().map(AsRef::as_ref).collect();
    Clip::new(&paths.join(", "), 2_000)
}

fn clip(text: &str) -> Clip {
    Clip::new(text, 100)
}
