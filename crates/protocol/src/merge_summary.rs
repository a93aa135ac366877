//! The summary of a fleet's merges, for people and programs.

use std::fmt::Write;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Clip, TodoId};

/// Maximum bytes of the list of changed files.
const MAX_STAT_BYTES: usize = 16 * 1024;

/// Maximum bytes of a check's output, of a list of conflicting files, and of a reason.
const MAX_PRINTED_BYTES: usize = 1_000;

/// Maximum number of checkouts that are named.
const MAX_NAMED_CHECKOUTS: usize = 10;

/// Maximum number of predicted conflicts, of conflicting files of a todo, and of checkouts that stay, in a log.
const MAX_STORED_ENTRIES: usize = 1_000;

/// The summary of a fleet's merges.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MergeSummary {
    /// The work of each todo, in merge order.
    pub todos: Vec<TodoMergeResult>,
    /// Pairs of todos that were known to conflict before anything was merged.
    pub predicted_conflicts: Vec<(TodoId, TodoId)>,
    /// The commit that everything was built on.
    pub base: String,
    /// The commit that holds what was merged.
    pub tip: String,
    /// The changed files, as listed by `git diff --stat`.
    pub stat: String,
    /// Where the result is.
    pub destination: MergeDestination,
    /// The checkouts that stay although everything is merged.
    pub leftover_checkouts: Vec<LeftoverCheckout>,
}

/// A checkout that stays.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LeftoverCheckout {
    /// The task that worked in it.
    pub task: String,
    /// Its path.
    pub path: String,
    /// Why it stays.
    pub why: String,
}

/// The merge result of a todo.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TodoMergeResult {
    /// The todo.
    pub todo: TodoId,
    /// The commit that holds its work.
    pub commit: String,
    /// The outcome of its merge.
    pub outcome: TodoMergeOutcome,
}

/// The outcome of merging a todo's work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum TodoMergeOutcome {
    /// It is in the result.
    Merged,
    /// It conflicts with work that was merged before, and an agent could not resolve it.
    Conflict {
        /// The conflicting files.
        files: Vec<String>,
        /// Why the agent failed.
        tried: String,
    },
    /// It merges, but then the check fails.
    CheckFailed {
        /// How the check failed.
        said: String,
    },
    /// It was built on work that is not in the result.
    Blocked {
        /// The todo of that work.
        on: TodoId,
    },
}

/// Where the result is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum MergeDestination {
    /// Nothing was changed.
    NoChange,
    /// On a new branch.
    Branch {
        /// Its name.
        name: String,
        /// Why the user's branch has not moved, if it should have.
        kept: Option<String>,
    },
    /// On the user's branch.
    Landed {
        /// Its name; `None` for a detached HEAD.
        branch: Option<String>,
    },
    /// Only in a ref: it cannot be separated from the user's uncommitted work.
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
                let files = Clip::new(&files.join(", "), MAX_PRINTED_BYTES);
                Some(format!("its work conflicts with merged work in {files}; {tried}; it is kept in commit {work}"))
            }
            TodoMergeOutcome::CheckFailed { said } => Some(format!(
                "the check fails once its work is merged; it is kept in commit {work}\n{}",
                Clip::new(said, MAX_PRINTED_BYTES)
            )),
            TodoMergeOutcome::Blocked { on } => {
                Some(format!("its work is built on that of {on}, which is not merged; it is kept in commit {work}"))
            }
        }
    }
}

impl MergeSummary {
    /// Limits the texts and lists whose size depends on the work.
    #[must_use]
    pub fn clipped(mut self) -> MergeSummary {
        clip(&mut self.stat, MAX_STAT_BYTES);
        self.predicted_conflicts.truncate(MAX_STORED_ENTRIES);
        self.leftover_checkouts.truncate(MAX_STORED_ENTRIES);
        self.leftover_checkouts.iter_mut().for_each(|checkout| clip(&mut checkout.why, MAX_PRINTED_BYTES));
        for result in &mut self.todos {
            match &mut result.outcome {
                TodoMergeOutcome::Merged | TodoMergeOutcome::Blocked { .. } => {}
                TodoMergeOutcome::Conflict { files, tried } => {
                    files.truncate(MAX_STORED_ENTRIES);
                    clip(tried, MAX_PRINTED_BYTES);
                }
                TodoMergeOutcome::CheckFailed { said } => clip(said, MAX_PRINTED_BYTES),
            }
        }
        self
    }

    /// The todos whose work is not in the result, each with the reason.
    pub fn not_merged(&self) -> Vec<(TodoId, String)> {
        let reason = |result: &TodoMergeResult| Some((result.todo.clone(), result.outcome.reason(&result.commit)?));
        self.todos.iter().filter_map(reason).collect()
    }

    /// The summary as text for the user.
    pub fn text(&self) -> String {
        let merged = self.todos.iter().filter(|result| result.outcome == TodoMergeOutcome::Merged).count();
        let mut text = match self.todos.len() {
            0 => "There was no new work to merge.\n".to_owned(),
            todos => format!("Merged the work of {merged} of {todos} todos.\n"),
        };
        for (todo, reason) in self.not_merged() {
            let _infallible = writeln!(text, "- {todo}: {reason}");
        }
        if !self.stat.is_empty() {
            let _infallible = writeln!(text, "\n{}", Clip::new(&self.stat, MAX_STAT_BYTES));
        }
        text.push('\n');
        text.push_str(&self.destination.describe());
        text.push('\n');
        if !self.leftover_checkouts.is_empty() {
            text.push_str("\nRemaining checkouts (`bosun checkouts` lists them):\n");
        }
        for LeftoverCheckout { path, why, .. } in self.leftover_checkouts.iter().take(MAX_NAMED_CHECKOUTS) {
            let _infallible = writeln!(text, "- {path}: {}", Clip::new(why, MAX_PRINTED_BYTES));
        }
        if let Some(more @ 1..) = self.leftover_checkouts.len().checked_sub(MAX_NAMED_CHECKOUTS) {
            let _infallible = writeln!(text, "- … and {more} more");
        }
        text
    }
}

impl MergeDestination {
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
                format!("{branch} has moved to the result. `git reset --keep ORIG_HEAD` undoes this.")
            }
            MergeDestination::Landed { branch: None } => "HEAD has moved to the result.".into(),
            MergeDestination::RefOnly { name } => format!(
                "The result changes files that you have not committed, so it is not a branch. Commit them, then take \
                 the result with `git merge {name}`."
            ),
        }
    }
}

fn clip(text: &mut String, max_bytes: usize) {
    if text.len() > max_bytes {
        *text = Clip::new(text, max_bytes).into_string();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stored_summary_has_a_limited_size() {
        let result = TodoMergeResult {
            todo: "a".into(),
            commit: "c0ffee".into(),
            outcome: TodoMergeOutcome::Conflict { files: vec!["f".into(); 5_000], tried: "x".repeat(100_000) },
        };
        let leftover = LeftoverCheckout { task: "t".into(), path: "/p".into(), why: "y".repeat(100_000) };
        let summary = MergeSummary {
            todos: vec![result],
            predicted_conflicts: vec![("a".into(), "b".into()); 5_000],
            base: "b".into(),
            tip: "t".into(),
            stat: "z".repeat(100_000),
            destination: MergeDestination::NoChange,
            leftover_checkouts: vec![leftover],
        };
        let text = serde_json::to_string(&summary.clipped()).unwrap();
        assert!(text.len() < 60_000, "{}", text.len());
    }
}
