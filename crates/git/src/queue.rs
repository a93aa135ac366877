//! The merge queue: parts are merged one after the other in a throw-away checkout, and each merge is looked at before
//! the next one builds on it.

use std::path::{Path, PathBuf};

use crate::{Commit, Conflict, Git, GitError, Merged, Part, Resolved, Scratch, Signature, merge};

/// A merge queue. Its tip moves only by merges that were accepted.
#[derive(Debug)]
pub struct Queue {
    repository: Git,
    scratch: Scratch,
    /// The ref that keeps the tip in the repository.
    pin: String,
    by: Signature,
    tip: Commit,
}

/// What a part would make of the tip.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Offer {
    /// All of it is in the tip.
    Held,
    /// This, if whoever looks at it accepts it.
    Candidate(Candidate),
    /// It does not fit what is merged already.
    Conflict(Box<Conflict>),
}

/// A merge that nobody has accepted yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    commit: Commit,
}

impl Candidate {
    /// Its commit.
    pub fn commit(&self) -> &Commit {
        &self.commit
    }
}

/// Where a queue works.
#[derive(Debug)]
pub struct Site {
    /// The repository, which gets objects and the ref.
    pub repository: Git,
    /// Where the throw-away checkout is made.
    pub folder: PathBuf,
    /// The ref that keeps the tip in the repository.
    pub pin: String,
    /// Who makes the merges.
    pub by: Signature,
}

impl Queue {
    /// A queue on top of `tip`: the base, or what an earlier one had accepted.
    pub async fn begin(site: Site, tip: Commit) -> Result<Queue, GitError> {
        let Site { repository, folder, pin, by } = site;
        let scratch = Scratch::make(&repository, folder).await?;
        Ok(Queue { repository, scratch, pin, by, tip })
    }

    /// What is merged so far.
    pub fn tip(&self) -> &Commit {
        &self.tip
    }

    /// The checkout that it works in.
    pub fn scratch(&self) -> &Scratch {
        &self.scratch
    }

    /// Merges a part for a look at it; the tip stays.
    pub async fn offer(&self, part: &Part) -> Result<Offer, GitError> {
        Ok(match merge(self.scratch.git(), &self.tip, part, &self.by).await? {
            Merged::Whole(commit) if commit == self.tip => Offer::Held,
            Merged::Whole(commit) => Offer::Candidate(Candidate { commit }),
            Merged::Conflict(conflict) => Offer::Conflict(conflict),
        })
    }

    /// Takes what somebody made of a conflict; tells which files still have marks otherwise.
    pub async fn settle(
        &self,
        conflict: &Conflict,
        done: &Commit,
    ) -> Result<Result<Candidate, Vec<String>>, GitError> {
        Ok(match conflict.resolve(self.scratch.git(), done, &self.by).await? {
            Resolved::Whole(commit) => Ok(Candidate { commit }),
            Resolved::Marked(files) => Err(files),
        })
    }

    /// Checks a candidate out, and tells where.
    pub async fn show(&self, candidate: &Candidate) -> Result<&Path, GitError> {
        self.scratch.show(&candidate.commit).await?;
        Ok(self.scratch.folder())
    }

    /// Moves the tip, once the repository has it.
    pub async fn accept(&mut self, candidate: Candidate) -> Result<&Commit, GitError> {
        self.scratch.publish(&self.repository, &candidate.commit, &self.pin).await?;
        self.tip = candidate.commit;
        Ok(&self.tip)
    }
}
