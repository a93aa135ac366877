//! The merge queue: parts are merged one after the other, and each merge is looked at in a throw-away checkout before the
//! next one builds on it.

use std::path::Path;

use crate::{Commit, Conflict, Git, GitError, Merged, Part, Resolved, Scratch, Signature, merge};

/// A merge queue. Its tip moves only by merges that were accepted.
#[derive(Debug)]
pub struct Queue {
    site: Site,
    tip: Commit,
}

/// Where a queue works.
#[derive(Debug)]
pub struct Site {
    /// The repository, which gets the merges.
    pub repository: Git,
    /// Where a merge is looked at.
    pub scratch: Scratch,
    /// The ref that keeps what is accepted.
    pub pin: String,
    /// Who makes the merges.
    pub by: Signature,
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
pub struct Candidate(Commit);

impl Queue {
    /// A queue on top of `tip`: the base, or what an earlier one had accepted.
    pub fn new(site: Site, tip: Commit) -> Queue {
        Queue { site, tip }
    }

    /// What is merged so far.
    pub fn tip(&self) -> &Commit {
        &self.tip
    }

    /// Where it works.
    pub fn site(&self) -> &Site {
        &self.site
    }

    /// Merges a part for a look at it; the tip stays.
    pub async fn offer(&self, part: &Part) -> Result<Offer, GitError> {
        Ok(match merge(&self.site.repository, &self.tip, part, &self.site.by).await? {
            Merged::Whole(commit) if commit == self.tip => Offer::Held,
            Merged::Whole(commit) => Offer::Candidate(Candidate(commit)),
            Merged::Conflict(conflict) => Offer::Conflict(conflict),
        })
    }

    /// Takes what somebody made of a conflict, unless marks are left in it.
    pub async fn settle(&self, conflict: &Conflict, done: &Commit) -> Result<Settled, GitError> {
        Ok(match conflict.resolve(&self.site.repository, done, &self.site.by).await? {
            Resolved::Whole(commit) => Settled::Candidate(Candidate(commit)),
            Resolved::Marked(files) => Settled::Marked(files),
        })
    }

    /// Checks a candidate out, and tells where.
    pub async fn show(&self, candidate: &Candidate) -> Result<&Path, GitError> {
        self.site.scratch.show(&candidate.0).await?;
        Ok(self.site.scratch.folder())
    }

    /// Moves the tip, once the repository keeps it.
    pub async fn accept(&mut self, candidate: Candidate) -> Result<&Commit, GitError> {
        self.site.repository.done(&["update-ref", &self.site.pin, candidate.0.as_str()], &[]).await?;
        self.tip = candidate.0;
        Ok(&self.tip)
    }

    /// What it worked with, when it is over.
    pub fn end(self) -> (Site, Commit) {
        (self.site, self.tip)
    }
}

/// What became of a conflict that somebody worked on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settled {
    /// A merge, if whoever looks at it accepts it.
    Candidate(Candidate),
    /// These files still have marks.
    Marked(Vec<String>),
}
