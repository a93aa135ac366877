//! Which task a model means: an id, the beginning of one, a name, or a path.

use std::collections::BTreeSet;
use std::sync::Arc;

use protocol::{Clip, Kind, TaskId};
use tools::ToolError;

use super::Crew;
use crate::roster::Roster;

/// The fewest characters that an id may be shortened to.
const PREFIX: usize = 6;

impl Crew {
    /// A task below the calling agent.
    pub(super) fn find_below(&self, given: &str) -> Result<TaskId, ToolError> {
        pick(&self.desk.roster, self.own(), &self.below(), given)
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

/// The one task among `known` that is meant.
fn pick(roster: &Roster, own: TaskId, known: &[TaskId], given: &str) -> Result<TaskId, ToolError> {
    let given = given.trim();
    let path = roster.path(own);
    let full = if given.starts_with('/') { given.to_owned() } else { format!("{path}/{given}") };
    let hex = given.strip_prefix("task-").unwrap_or(given);
    let name = |id: &TaskId| roster.known(*id, |known| known.spec.name.clone()).unwrap_or_default();
    // The surest way of naming comes first.
    let ways: [&dyn Fn(&TaskId) -> bool; 4] = [
        &|id| id.to_string() == given || *roster.path(*id) == *full,
        &|id| roster.known(*id, |known| known.spec.parent) == Some(Some(own)) && name(id) == given,
        &|id| name(id) == given,
        &|id| hex.len() >= PREFIX && id.uuid().as_simple().to_string().starts_with(hex),
    ];
    for way in ways {
        let found: BTreeSet<TaskId> = known.iter().filter(|id| way(id)).copied().collect();
        match found.len() {
            0 => {}
            1 => return found.into_iter().next().ok_or_else(|| ToolError::refused("the agent is gone")),
            _ => {
                let paths: Vec<Arc<str>> = found.iter().map(|id| roster.path(*id)).collect();
                return Err(ToolError::refused(format!(
                    "`{}` may be any of {}; use a path",
                    clip(given),
                    list(&paths)
                )));
            }
        }
    }
    let paths: Vec<Arc<str>> = known.iter().map(|id| roster.path(*id)).collect();
    let known = if paths.is_empty() { "none was started".into() } else { format!("there are: {}", list(&paths)) };
    Err(ToolError::refused(format!("no agent or command is called `{}`; {known}", clip(given))))
}

fn list(paths: &[Arc<str>]) -> Clip {
    Clip::new(&paths.join(", "), 2_000)
}

fn clip(text: &str) -> Clip {
    Clip::new(text, 100)
}
