//! Takes all work of a fleet through the merge queue.

use std::collections::BTreeSet;

use git::{Commit, ConflictOutcome, MergeCandidate, MergeCandidateOutcome, MergeConflict, MergePart, MergeQueue};
use protocol::{Hinted, TodoId, TodoMergeOutcome};

use super::error::{MergeError, Unresolved};
use super::fleet_work::FleetWork;
use super::join::signature;
use super::merge_session::{self, MergeSession};
use super::order::MergeOrder;

/// The work to merge.
pub(super) struct MergeInput<'a> {
    pub(super) work: &'a FleetWork,
    pub(super) order: &'a MergeOrder,
    pub(super) session: &'a dyn MergeSession,
}

impl MergeInput<'_> {
    /// The parts in dependency order.
    pub(super) fn parts(&self) -> Vec<MergePart> {
        let mut todos: Vec<TodoId> = self.work.commits.keys().cloned().collect();
        self.order.sort(&mut todos);
        let part = |todo: &TodoId| {
            let (name, title) = (todo.0.clone(), self.session.title(todo));
            Some(MergePart { name, title, commit: self.work.commits.get(todo)?.clone() })
        };
        todos.iter().filter_map(part).collect()
    }

    /// Takes every part through the queue. After an error, the next call continues where this one stopped.
    pub(super) async fn run(
        &self,
        queue: &mut MergeQueue,
        parts: &[MergePart],
    ) -> Result<Vec<TodoMergeOutcome>, MergeError> {
        let mut left_out: Vec<(TodoId, Commit)> = Vec::new();
        let mut outcomes = Vec::new();
        for part in parts {
            let todo = TodoId(part.name.clone());
            let outcome = self.merge_part(queue, part, &todo, &left_out).await?;
            if outcome != TodoMergeOutcome::Merged {
                left_out.push((todo, part.commit.clone()));
            }
            outcomes.push(outcome);
        }
        Ok(outcomes)
    }

    async fn merge_part(
        &self,
        queue: &mut MergeQueue,
        part: &MergePart,
        todo: &TodoId,
        left_out: &[(TodoId, Commit)],
    ) -> Result<TodoMergeOutcome, MergeError> {
        if self.work.merged.contains_key(todo) {
            return Ok(TodoMergeOutcome::Merged);
        }
        let dependencies: BTreeSet<TodoId> = self.order.all_dependencies(todo);
        if let Some((on, _)) = left_out.iter().find(|(missing, _)| dependencies.contains(missing)) {
            return Ok(TodoMergeOutcome::Blocked { on: on.clone() });
        }
        match queue.try_merge(part).await? {
            MergeCandidateOutcome::AlreadyContained => {
                self.session.record_merged(todo, queue.tip()).await?;
                Ok(TodoMergeOutcome::Merged)
            }
            MergeCandidateOutcome::Candidate(candidate) => self.accept_checked(queue, todo, candidate).await,
            MergeCandidateOutcome::Conflict(conflict) => self.resolve_conflict(queue, todo, &conflict, left_out).await,
        }
    }

    /// Accepts a candidate if it passes the check.
    async fn accept_checked(
        &self,
        queue: &mut MergeQueue,
        todo: &TodoId,
        candidate: MergeCandidate,
    ) -> Result<TodoMergeOutcome, MergeError> {
        // Files are checked out only if there is a check.
        match self.session.has_check(todo).await {
            Ok(false) => {}
            Ok(true) => {
                let folder = queue.check_out(&candidate).await?;
                if let Err(error) = self.session.check(todo, folder).await {
                    return Ok(TodoMergeOutcome::CheckFailed { said: error.in_one_line() });
                }
            }
            Err(error) => return Ok(TodoMergeOutcome::CheckFailed { said: error.in_one_line() }),
        }
        let tip = queue.accept(candidate).await?;
        self.session.record_merged(todo, tip).await?;
        Ok(TodoMergeOutcome::Merged)
    }

    /// Resolves a conflict with an earlier resolution of the same conflict, or with an agent.
    async fn resolve_conflict(
        &self,
        queue: &mut MergeQueue,
        todo: &TodoId,
        conflict: &MergeConflict,
        left_out: &[(TodoId, Commit)],
    ) -> Result<TodoMergeOutcome, MergeError> {
        let unresolved = |why: Unresolved| {
            let (files, tried) = (conflict.files.clone(), why.in_one_line());
            TodoMergeOutcome::Conflict { files, tried }
        };
        if let Some(candidate) = self.reuse_resolution(queue, conflict, left_out).await? {
            return self.accept_checked(queue, todo, candidate).await;
        }
        let git = &queue.workspace().repository;
        let start = conflict.start_commit(git, &signature()).await?;
        let resolution = match self.session.resolve(conflict, &start).await {
            Ok(resolution) => resolution,
            Err(why) => return Ok(unresolved(why)),
        };
        match queue.try_resolution(conflict, &resolution).await? {
            ConflictOutcome::MarkersLeft(files) => Ok(unresolved(Unresolved::MarkersLeft(files))),
            ConflictOutcome::Candidate(candidate) => match self.accept_checked(queue, todo, candidate).await? {
                TodoMergeOutcome::CheckFailed { said } => Ok(unresolved(Unresolved::CheckFailed(said))),
                outcome => Ok(outcome),
            },
        }
    }

    /// The merge of an earlier resolution, made when this work was joined for another worker, if it merges cleanly and
    /// contains no work that was left out.
    async fn reuse_resolution(
        &self,
        queue: &MergeQueue,
        conflict: &MergeConflict,
        left_out: &[(TodoId, Commit)],
    ) -> Result<Option<MergeCandidate>, MergeError> {
        let todo = merge_session::conflict_todo(conflict);
        for resolver in self.work.resolvers.iter().filter(|resolver| resolver.todo == todo) {
            let Some(resolution) = self.work.sealed(resolver.task) else { continue };
            let git = &queue.workspace().repository;
            let Some(commit) = conflict.reuse_resolution(git, &resolver.base, resolution, &signature()).await? else {
                continue;
            };
            let mut has_left_out = false;
            for (_, unmerged) in left_out {
                has_left_out |= git::contains_commit(git, &commit, unmerged).await?;
            }
            if has_left_out {
                continue;
            }
            if let MergeCandidateOutcome::Candidate(candidate) =
                queue.try_merge(&MergePart { name: todo.0.clone(), title: self.session.title(&todo), commit }).await?
            {
                return Ok(Some(candidate));
            }
        }
        Ok(None)
    }
}
