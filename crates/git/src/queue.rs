//! The merge queue: parts are merged one after the other, and each merge is checked in a scratch checkout before the
//! next one is based on it.

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

/// The workspace of a queue.
#[derive(Debug)]
pub struct MergeWorkspace {
    /// The repository, which gets the merges.
    pub repository: Git,
    /// The checkout in which a merge is checked.
    pub scratch: ScratchCheckout,
    /// The ref that keeps the accepted merges.
    pub pin: String,
    /// The author of the merges.
    pub author: Signature,
}

/// The outcome of merging a part into the tip.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MergeCandidateOutcome {
    /// The tip already contains it.
    AlreadyContained,
    /// A merge that can be accepted.
    Candidate(MergeCandidate),
    /// It conflicts with the tip.
    Conflict(Box<MergeConflict>),
}

/// A merge that is not accepted yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeCandidate(Commit);

impl MergeQueue {
    /// A queue on top of `tip`: the base, or the tip of an earlier queue.
    pub fn new(workspace: MergeWorkspace, tip: Commit) -> MergeQueue {
        MergeQueue { workspace, tip }
    }

    /// The merged commits so far.
    pub fn tip(&self) -> &Commit {
        &self.tip
    }

    /// Its workspace.
    pub fn workspace(&self) -> &MergeWorkspace {
        &self.workspace
    }

    /// Merges a part for checking; the tip stays.
    pub async fn try_merge(&self, part: &MergePart) -> Result<MergeCandidateOutcome, GitError> {
        Ok(match merge(&self.workspace.repository, &self.tip, part, &self.workspace.author).await? {
            MergeOutcome::Merged(commit) if commit == self.tip => MergeCandidateOutcome::AlreadyContained,
            MergeOutcome::Merged(commit) => MergeCandidateOutcome::Candidate(MergeCandidate(commit)),
            MergeOutcome::Conflict(conflict) => MergeCandidateOutcome::Conflict(conflict),
        })
    }

    /// Accepts the resolution of a conflict as a candidate, unless it has markers left.
    pub async fn try_resolution(
        &self,
        conflict: &MergeConflict,
        resolution: &Commit,
    ) -> Result<ConflictOutcome, GitError> {
        Ok(match conflict.resolve(&self.workspace.repository, resolution, &self.workspace.author).await? {
            ResolveOutcome::Merged(commit) => ConflictOutcome::Candidate(MergeCandidate(commit)),
            ResolveOutcome::MarkersLeft(files) => ConflictOutcome::MarkersLeft(files),
        })
    }

    /// Checks out a candidate; returns the folder.
    pub async fn check_out(&self, candidate: &MergeCandidate) -> Result<&Path, GitError> {
        self.workspace.scratch.check_out(&candidate.0).await?;
        Ok(self.workspace.scratch.folder())
    }

    /// Moves the tip, once the repository keeps it.
    pub async fn accept(&mut self, candidate: MergeCandidate) -> Result<&Commit, GitError> {
        self.workspace.repository.run_checked(&["update-ref", &self.workspace.pin, candidate.0.as_str()], &[]).await?;
        self.tip = candidate.0;
        Ok(&self.tip)
    }

    /// Ends the queue; returns its workspace and tip.
    pub fn into_parts(self) -> (MergeWorkspace, Commit) {
        (self.workspace, self.tip)
    }
}

/// The outcome of resolving a conflict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConflictOutcome {
    /// A merge that can be accepted.
    Candidate(MergeCandidate),
    /// These files still have conflict markers.
    MarkersLeft(Vec<String>),
}
