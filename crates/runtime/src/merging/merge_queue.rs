//! The queue that all work goes through when everything is done.

use std::collections::BTreeSet;

use git::{Commit, ConflictOutcome, MergeCandidate, MergeCandidateOutcome, MergeConflict, MergePart, MergeQueue};
use protocol::TodoId;

use super::fleet_work::FleetWork;
use super::join::{describe_marks, signature};
use super::merge_session::{self, MergeSession};
use super::order::MergeOrder;
use super::summary::TodoMergeOutcome;

/// What is to be merged, and what is known of it.
pub(super) struct MergeInput<'a> {
    pub(super) work: &'a FleetWork,
    pub(super) order: &'a MergeOrder,
    pub(super) session: &'a dyn MergeSession,
}

impl MergeInput<'_> {
    /// The parts in the order of the graph.
    pub(super) fn parts(&self) -> Vec<MergePart> {
        let mut todos: Vec<TodoId> = self.work.commits.keys().cloned().collect();
        self.order.sort(&mut todos);
        let part = |todo: &TodoId| {
            let (name, title) = (todo.0.clone(), self.session.title(todo));
            Some(MergePart { name, title, commit: self.work.commits.get(todo)?.clone() })
        };
        todos.iter().filter_map(part).collect()
    }

    /// Takes every part through the queue. An error ends it where it is, and whoever goes on begins there.
    pub(super) async fn run(
        &self,
        queue: &mut MergeQueue,
        parts: &[MergePart],
    ) -> Result<Vec<TodoMergeOutcome>, String> {
        let mut out: Vec<(TodoId, Commit)> = Vec::new();
        let mut fits = Vec::new();
        for part in parts {
            let todo = TodoId(part.name.clone());
            let fit = self.merge_part(queue, part, &todo, &out).await?;
            if fit != TodoMergeOutcome::Merged {
                out.push((todo, part.commit.clone()));
            }
            fits.push(fit);
        }
        Ok(fits)
    }

    async fn merge_part(
        &self,
        queue: &mut MergeQueue,
        part: &MergePart,
        todo: &TodoId,
        out: &[(TodoId, Commit)],
    ) -> Result<TodoMergeOutcome, String> {
        if self.work.merged.contains_key(todo) {
            return Ok(TodoMergeOutcome::Merged);
        }
        let above: BTreeSet<TodoId> = self.order.all_dependencies(todo);
        if let Some((on, _)) = out.iter().find(|(missing, _)| above.contains(missing)) {
            return Ok(TodoMergeOutcome::Blocked { on: on.clone() });
        }
        match queue.offer(part).await.map_err(error_text)? {
            MergeCandidateOutcome::Held => {
                self.session.record_merged(todo, queue.tip()).await?;
                Ok(TodoMergeOutcome::Merged)
            }
            MergeCandidateOutcome::Candidate(candidate) => self.accept_checked(queue, todo, candidate).await,
            MergeCandidateOutcome::Conflict(conflict) => self.resolve_conflict(queue, todo, &conflict, out).await,
        }
    }

    /// Accepts a candidate if the check holds.
    async fn accept_checked(
        &self,
        queue: &mut MergeQueue,
        todo: &TodoId,
        candidate: MergeCandidate,
    ) -> Result<TodoMergeOutcome, String> {
        // Files are put there only for a check that looks at them.
        match self.session.has_check(todo).await {
            Ok(false) => {}
            Ok(true) => {
                let folder = queue.show(&candidate).await.map_err(error_text)?;
                if let Err(said) = self.session.check(todo, folder).await {
                    return Ok(TodoMergeOutcome::CheckFailed { said });
                }
            }
            Err(said) => return Ok(TodoMergeOutcome::CheckFailed { said }),
        }
        let tip = queue.accept(candidate).await.map_err(error_text)?;
        self.session.record_merged(todo, tip).await?;
        Ok(TodoMergeOutcome::Merged)
    }

    /// Takes what an agent made of the same conflict before, or lets one try.
    async fn resolve_conflict(
        &self,
        queue: &mut MergeQueue,
        todo: &TodoId,
        conflict: &MergeConflict,
        out: &[(TodoId, Commit)],
    ) -> Result<TodoMergeOutcome, String> {
        let unfit = |tried: String| TodoMergeOutcome::Conflict { files: conflict.files.clone(), tried };
        if let Some(candidate) = self.reuse_resolution(queue, conflict, out).await? {
            return self.accept_checked(queue, todo, candidate).await;
        }
        let git = &queue.workspace().repository;
        let begun = conflict.begun(git, &signature()).await.map_err(error_text)?;
        let done = match self.session.resolve(conflict, &begun).await {
            Ok(done) => done,
            Err(why) => return Ok(unfit(why)),
        };
        match queue.settle(conflict, &done).await.map_err(error_text)? {
            ConflictOutcome::Marked(files) => Ok(unfit(describe_marks(&files))),
            ConflictOutcome::Candidate(candidate) => match self.accept_checked(queue, todo, candidate).await? {
                TodoMergeOutcome::CheckFailed { said } => {
                    Ok(unfit(format!("what the agent made of it does not pass the check: {said}")))
                }
                fit => Ok(fit),
            },
        }
    }

    /// The merge of what an agent made of this work when it was joined for another worker, if that fits as well and
    /// brings nothing along that was left out.
    async fn reuse_resolution(
        &self,
        queue: &MergeQueue,
        conflict: &MergeConflict,
        out: &[(TodoId, Commit)],
    ) -> Result<Option<MergeCandidate>, String> {
        let todo = merge_session::conflict_todo(conflict);
        for resolver in self.work.resolvers.iter().filter(|resolver| resolver.todo == todo) {
            let Some(done) = self.work.sealed(resolver.task) else { continue };
            let git = &queue.workspace().repository;
            let Some(commit) = conflict.again(git, &resolver.base, done, &signature()).await.map_err(error_text)?
            else {
                continue;
            };
            let mut brings = false;
            for (_, left_out) in out {
                brings |= git::holds(git, &commit, left_out).await.map_err(error_text)?;
            }
            if brings {
                continue;
            }
            if let MergeCandidateOutcome::Candidate(candidate) = queue
                .offer(&MergePart { name: todo.0.clone(), title: self.session.title(&todo), commit })
                .await
                .map_err(error_text)?
            {
                return Ok(Some(candidate));
            }
        }
        Ok(None)
    }
}

fn error_text(error: git::GitError) -> String {
    error.to_string()
}
