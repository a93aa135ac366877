//! Merging the work of many workers into one tree.

mod branches;
mod joining;
mod keeping;
mod kinds;
mod landing;
mod predicting;
mod queueing;
mod random;
mod torn;

use git::{
    CheckoutRequest, Commit, Git, MergeCandidateOutcome, MergePart, MergeQueue, MergeWorkspace, Repository,
    ScratchCheckout, Signature,
};

use crate::stage::Stage;

fn signature() -> Signature {
    Signature { name: "Bosun".into(), email: "bosun@example.invalid".into() }
}

async fn named(git: &Git, name: &str) -> Commit {
    Repository::find(git).await.unwrap().commit(name).await.unwrap()
}

async fn head(stage: &Stage) -> Commit {
    named(&stage.git, "HEAD").await
}

async fn scratch(stage: &Stage, base: &Commit) -> ScratchCheckout {
    let repository = Repository::find(&stage.git).await.unwrap();
    let root = stage.home.make_checkouts(stage.session).unwrap();
    ScratchCheckout::create(
        &repository,
        &root,
        CheckoutRequest { id: stage.id(), name: "merging".into(), title: String::new(), base: base.clone() },
    )
    .await
    .unwrap()
}

async fn queue(stage: &Stage, tip: &Commit) -> MergeQueue {
    let scratch = scratch(stage, tip).await;
    let (repository, pin) = (stage.git.clone(), "refs/bosun/test/merged".into());
    MergeQueue::new(MergeWorkspace { repository, scratch, pin, author: signature() }, tip.clone())
}

/// Merges a part and accepts the result; returns the files in conflict otherwise.
async fn take(queue: &mut MergeQueue, part: &MergePart) -> Result<Commit, Vec<String>> {
    match queue.try_merge(part).await.unwrap() {
        MergeCandidateOutcome::AlreadyContained => Ok(queue.tip().clone()),
        MergeCandidateOutcome::Candidate(candidate) => Ok(queue.accept(candidate).await.unwrap().clone()),
        MergeCandidateOutcome::Conflict(conflict) => Err(conflict.files),
    }
}

async fn tree(git: &Git, commit: &Commit) -> String {
    git.text(&["rev-parse", &format!("{commit}^{{tree}}")]).await.unwrap()
}

async fn file(git: &Git, commit: &Commit, path: &str) -> String {
    git.text(&["show", &format!("{commit}:{path}")]).await.unwrap()
}
