//! The merge queue: parts are merged one after the other, and each merge is looked at in a throw-away checkout before the
//! next one builds on it.

use std::path::Path;

use crate::{
    Commit, Git, GitError, MergeConflict, MergeOutcome, MergePart, ResolveOutcome, ScratchCheckout, Signature, merge,
};

/// A merge queue. Its tip moves only by merges that were accepted.
#[derive(Debug)]
pub struct MergeQueue {
    workspace: MergeWorkspace,
    tip: Commit,
}

/// Where a queue works.
#[derive(Debug)]
pub struct MergeWorkspace {
    /// The repository, which gets the merges.
    pub repository: Git,
    /// Where a merge is looked at.
    pub scratch: ScratchCheckout,
    /// The ref that keeps what is accepted.
    pub pin: String,
    /// Who makes the merges.
    pub by: Signature,
}

/// What a part would make of the tip.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MergeCandidateOutcome {
    /// All of it is in the tip.
    Held,
    /// This, if whoever looks at it accepts it.
    Candidate(MergeCandidate),
    /// It does not fit what is merged already.
    Conflict(Box<MergeConflict>),
}

/// A merge that nobody has accepted yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeCandidate(Commit);

impl MergeQueue {
    /// A queue on top of `tip`: the base, or what an earlier one had accepted.
    pub fn new(workspace: MergeWorkspace, tip: Commit) -> MergeQueue {
        MergeQueue { workspace, tip }
    }

    /// What is merged so far.
    pub fn tip(&self) -> &Commit {
        &self.tip
    }

    /// Where it works.
    pub fn workspace(&self) -> &MergeWorkspace {
        &self.workspace
    }

    /// Merges a part for a look at it; the tip stays.
    pub async fn offer(&self, part: &MergePart) -> Result<MergeCandidateOutcome, GitError> {
        Ok(match merge(&self.workspace.repository, &self.tip, part, &self.workspace.by).await? {
            MergeOutcome::Whole(commit) if commit == self.tip => MergeCandidateOutcome::Held,
            MergeOutcome::Whole(commit) => MergeCandidateOutcome::Candidate(MergeCandidate(commit)),
            MergeOutcome::Conflict(conflict) => MergeCandidateOutcome::Conflict(conflict),
        })
    }

    /// Takes what somebody made of a conflict, unless marks are left in it.
    pub async fn settle(&self, conflict: &MergeConflict, done: &Commit) -> Result<ConflictOutcome, GitError> {
        Ok(match conflict.resolve(&self.workspace.repository, done, &self.workspace.by).await? {
            ResolveOutcome::Whole(commit) => ConflictOutcome::Candidate(MergeCandidate(commit)),
            ResolveOutcome::Marked(files) => ConflictOutcome::Marked(files),
        })
    }

    /// Checks a candidate out, and tells where.
    pub async fn show(&self, candidate: &MergeCandidate) -> Result<&Path, GitError> {
        self.workspace.scratch.show(&candidate.0).await?;
        Ok(self.workspace.scratch.folder())
    }

    /// Moves the tip, once the repository keeps it.
    pub async fn accept(&mut self, candidate: MergeCandidate) -> Result<&Commit, GitError> {
        self.workspace.repository.done(&["update-ref", &self.workspace.pin, candidate.0.as_str()], &[]).await?;
        self.tip = candidate.0;
        Ok(&self.tip)
    }

    /// What it worked with, when it is over.
    pub fn end(self) -> (MergeWorkspace, Commit) {
        (self.workspace, self.tip)
    }
}

/// What became of a conflict that somebody worked on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConflictOutcome {
    /// A merge, if whoever looks at it accepts it.
    Candidate(MergeCandidate),
    /// These files still have marks.
    Marked(Vec<String>),
}
