//! What became of the work of a fleet, for people and programs.

use std::fmt::Write;

use protocol::{Clip, TodoId};
use serde::Serialize;

use crate::result_cache::WorkLocation;

/// Most bytes of the list of changed files, and of what a check printed.
const LISTED: usize = 16 * 1024;
const PRINTED: usize = 1_000;

/// Most checkouts that are named.
const NAMED: usize = 10;

/// What became of the work of a fleet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MergeSummary {
    /// The work of each todo, in the order that it was merged.
    pub todos: Vec<TodoMergeResult>,
    /// Pairs of todos that were known not to fit each other before anything was merged.
    pub predicted_conflicts: Vec<(TodoId, TodoId)>,
    /// The commit that everything was built on.
    pub base: String,
    /// The commit that holds what was merged.
    pub tip: String,
    /// The changed files, as `git diff --stat` tells them.
    pub stat: String,
    /// Where the result is.
    pub destination: MergeDestination,
    /// The checkouts that stay although everything is merged.
    pub leftover_checkouts: Vec<LeftoverCheckout>,
}

/// A checkout that stays.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LeftoverCheckout {
    /// The task that worked in it.
    pub task: String,
    /// Where it is.
    pub path: String,
    /// Why it stays.
    pub why: String,
}

/// What became of one todo's work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TodoMergeResult {
    /// The todo.
    pub todo: TodoId,
    /// The commit that holds its work.
    pub commit: String,
    /// What became of it.
    pub outcome: TodoMergeOutcome,
}

/// What became of work that was to be merged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum TodoMergeOutcome {
    /// It is in the result.
    Merged,
    /// It does not fit what was merged before, and the agent that tried could not change that.
    Conflict {
        /// The files.
        files: Vec<String>,
        /// What the agent's try came to.
        tried: String,
    },
    /// It fits, but the check does not hold with it.
    CheckFailed {
        /// What the check said.
        said: String,
    },
    /// It was built on work that is not in the result.
    Blocked {
        /// The todo whose work that is.
        on: TodoId,
    },
}

/// Where the result is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum MergeDestination {
    /// Nothing was changed.
    NoChange,
    /// On a branch of its own.
    Branch {
        /// Its name.
        name: String,
        /// Why the user's branch has not moved, if it was to.
        kept: Option<String>,
    },
    /// On the user's branch.
    Landed {
        /// Its name; none when HEAD is on no branch.
        branch: Option<String>,
    },
    /// Only in a ref: it cannot be told apart from work of the user that is not committed.
    RefOnly {
        /// The ref.
        name: String,
    },
}

impl TodoMergeOutcome {
    /// Why the work is not in the result, if it is not.
    pub fn reason(&self, work: &str) -> Option<String> {
        match self {
            TodoMergeOutcome::Merged => None,
            TodoMergeOutcome::Conflict { files, tried } => {
                let files = Clip::new(&files.join(", "), PRINTED);
                Some(format!("its work does not fit what is merged already, in {files}; {tried}; it is kept as {work}"))
            }
            TodoMergeOutcome::CheckFailed { said } => Some(format!(
                "the check does not hold once its work is merged; it is kept as {work}\n{}",
                Clip::new(said, PRINTED)
            )),
            TodoMergeOutcome::Blocked { on } => {
                Some(format!("its work is built on that of {on}, which is not merged; it is kept as {work}"))
            }
        }
    }
}

impl MergeSummary {
    /// The todos whose work is not in the result, each with why.
    pub fn not_merged(&self) -> Vec<(TodoId, String)> {
        let reason = |fitted: &TodoMergeResult| Some((fitted.todo.clone(), fitted.outcome.reason(&fitted.commit)?));
        self.todos.iter().filter_map(reason).collect()
    }

    /// All of it in words for people.
    pub fn text(&self) -> String {
        let merged = self.todos.iter().filter(|fitted| fitted.outcome == TodoMergeOutcome::Merged).count();
        let mut text = format!("Merged the work of {merged} of {} todos.\n", self.todos.len());
        for (todo, reason) in self.not_merged() {
            let _infallible = writeln!(text, "- {todo}: {reason}");
        }
        if !self.stat.is_empty() {
            let _infallible = writeln!(text, "\n{}", Clip::new(&self.stat, LISTED));
        }
        text.push('\n');
        text.push_str(&self.destination.describe());
        text.push('\n');
        if !self.leftover_checkouts.is_empty() {
            text.push_str("\nCheckouts that stay; `bosun checkouts` lists them:\n");
        }
        for LeftoverCheckout { path, why, .. } in self.leftover_checkouts.iter().take(NAMED) {
            let _infallible = writeln!(text, "- {path}: {}", Clip::new(why, PRINTED));
        }
        if let Some(more @ 1..) = self.leftover_checkouts.len().checked_sub(NAMED) {
            let _infallible = writeln!(text, "- … and {more} more");
        }
        text
    }
}

impl MergeDestination {
    /// Where the work is.
    pub(super) fn work_location(&self) -> WorkLocation {
        match self {
            MergeDestination::NoChange | MergeDestination::Landed { .. } => WorkLocation::InWorkspace,
            MergeDestination::Branch { .. } | MergeDestination::RefOnly { .. } => WorkLocation::InCommits,
        }
    }

    fn describe(&self) -> String {
        match self {
            MergeDestination::NoChange => "Nothing was changed.".into(),
            MergeDestination::Branch { name, kept: None } => {
                format!(
                    "The result is the branch {name}. Look at it with `git diff HEAD...{name}`, take it with `git merge {name}`."
                )
            }
            MergeDestination::Branch { name, kept: Some(why) } => format!(
                "Your branch was not moved: {why}. The result is the branch {name}; take it with `git merge {name}`."
            ),
            MergeDestination::Landed { branch: Some(branch) } => {
                format!("{branch} has moved to the result. `git reset --keep ORIG_HEAD` takes it back.")
            }
            MergeDestination::Landed { branch: None } => "HEAD has moved to the result.".into(),
            MergeDestination::RefOnly { name } => format!(
                "The result changes what you have not committed, so it is not a branch. Commit that, then take the result with \
                 `git merge {name}`."
            ),
        }
    }
}
