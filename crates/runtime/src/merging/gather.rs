//! The queue that all work goes through when everything is done.

use std::collections::BTreeSet;

use git::{Commit, ConflictOutcome, MergeCandidate, MergeCandidateOutcome, MergeConflict, MergePart, MergeQueue};
use protocol::TodoId;

use super::aide::{self, Aide};
use super::join::{left, signature};
use super::order::Order;
use super::summary::Fit;
use super::works::Works;

/// What is to be merged, and what is known of it.
pub(super) struct Crop<'a> {
    pub(super) works: &'a Works,
    pub(super) order: &'a Order,
    pub(super) aide: &'a dyn Aide,
}

impl Crop<'_> {
    /// The parts in the order of the graph.
    pub(super) fn parts(&self) -> Vec<MergePart> {
        let mut todos: Vec<TodoId> = self.works.brought.keys().cloned().collect();
        self.order.sort(&mut todos);
        let part = |todo: &TodoId| {
            let (name, title) = (todo.0.clone(), self.aide.title(todo));
            Some(MergePart { name, title, commit: self.works.brought.get(todo)?.clone() })
        };
        todos.iter().filter_map(part).collect()
    }

    /// Takes every part through the queue. An error ends it where it is, and whoever goes on begins there.
    pub(super) async fn run(&self, queue: &mut MergeQueue, parts: &[MergePart]) -> Result<Vec<Fit>, String> {
        let mut out: Vec<(TodoId, Commit)> = Vec::new();
        let mut fits = Vec::new();
        for part in parts {
            let todo = TodoId(part.name.clone());
            let fit = self.fit(queue, part, &todo, &out).await?;
            if fit != Fit::Merged {
                out.push((todo, part.commit.clone()));
            }
            fits.push(fit);
        }
        Ok(fits)
    }

    async fn fit(
        &self,
        queue: &mut MergeQueue,
        part: &MergePart,
        todo: &TodoId,
        out: &[(TodoId, Commit)],
    ) -> Result<Fit, String> {
        if self.works.merged.contains_key(todo) {
            return Ok(Fit::Merged);
        }
        let above: BTreeSet<TodoId> = self.order.above(todo);
        if let Some((on, _)) = out.iter().find(|(missing, _)| above.contains(missing)) {
            return Ok(Fit::Waits { on: on.clone() });
        }
        match queue.offer(part).await.map_err(words)? {
            MergeCandidateOutcome::Held => {
                self.aide.merged(todo, queue.tip()).await?;
                Ok(Fit::Merged)
            }
            MergeCandidateOutcome::Candidate(candidate) => self.look(queue, todo, candidate).await,
            MergeCandidateOutcome::Conflict(conflict) => self.resolve(queue, todo, &conflict, out).await,
        }
    }

    /// Accepts a candidate if the check holds.
    async fn look(&self, queue: &mut MergeQueue, todo: &TodoId, candidate: MergeCandidate) -> Result<Fit, String> {
        // Files are put there only for a check that looks at them.
        match self.aide.has_check(todo).await {
            Ok(false) => {}
            Ok(true) => {
                let folder = queue.show(&candidate).await.map_err(words)?;
                if let Err(said) = self.aide.check(todo, folder).await {
                    return Ok(Fit::Unchecked { said });
                }
            }
            Err(said) => return Ok(Fit::Unchecked { said }),
        }
        let tip = queue.accept(candidate).await.map_err(words)?;
        self.aide.merged(todo, tip).await?;
        Ok(Fit::Merged)
    }

    /// Takes what an agent made of the same conflict before, or lets one try.
    async fn resolve(
        &self,
        queue: &mut MergeQueue,
        todo: &TodoId,
        conflict: &MergeConflict,
        out: &[(TodoId, Commit)],
    ) -> Result<Fit, String> {
        let unfit = |tried: String| Fit::Conflict { files: conflict.files.clone(), tried };
        if let Some(candidate) = self.mended(queue, conflict, out).await? {
            return self.look(queue, todo, candidate).await;
        }
        let git = &queue.yard().repository;
        let begun = conflict.begun(git, &signature()).await.map_err(words)?;
        let done = match self.aide.mend(conflict, &begun).await {
            Ok(done) => done,
            Err(why) => return Ok(unfit(why)),
        };
        match queue.settle(conflict, &done).await.map_err(words)? {
            ConflictOutcome::Marked(files) => Ok(unfit(left(&files))),
            ConflictOutcome::Candidate(candidate) => match self.look(queue, todo, candidate).await? {
                Fit::Unchecked { said } => {
                    Ok(unfit(format!("what the agent made of it does not pass the check: {said}")))
                }
                fit => Ok(fit),
            },
        }
    }

    /// The merge of what an agent made of this work when it was joined for another worker, if that fits as well and
    /// brings nothing along that was left out.
    async fn mended(
        &self,
        queue: &MergeQueue,
        conflict: &MergeConflict,
        out: &[(TodoId, Commit)],
    ) -> Result<Option<MergeCandidate>, String> {
        let todo = aide::todo(conflict);
        for mender in self.works.menders.iter().filter(|mender| mender.todo == todo) {
            let Some(done) = self.works.sealed(mender.task) else { continue };
            let git = &queue.yard().repository;
            let Some(commit) = conflict.again(git, &mender.begun, done, &signature()).await.map_err(words)? else {
                continue;
            };
            let mut brings = false;
            for (_, left_out) in out {
                brings |= git::holds(git, &commit, left_out).await.map_err(words)?;
            }
            if brings {
                continue;
            }
            if let MergeCandidateOutcome::Candidate(candidate) = queue
                .offer(&MergePart { name: todo.0.clone(), title: self.aide.title(&todo), commit })
                .await
                .map_err(words)?
            {
                return Ok(Some(candidate));
            }
        }
        Ok(None)
    }
}

fn words(error: git::GitError) -> String {
    error.to_string()
}
