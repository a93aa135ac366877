//! What many brought becomes one tree.

mod branches;
mod joining;
mod keeping;
mod kinds;
mod landing;
mod predicting;
mod queueing;
mod random;
mod torn;

use git::{Commit, Git, Offer, Order, Part, Queue, Repository, Scratch, Signature, Yard};

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

async fn scratch(stage: &Stage, base: &Commit) -> Scratch {
    let repository = Repository::find(&stage.git).await.unwrap();
    let root = stage.home.make_checkouts(stage.session).unwrap();
    Scratch::make(
        &repository,
        &root,
        Order { id: stage.id(), name: "merging".into(), title: String::new(), base: base.clone() },
    )
    .await
    .unwrap()
}

async fn queue(stage: &Stage, tip: &Commit) -> Queue {
    let scratch = scratch(stage, tip).await;
    let (repository, pin) = (stage.git.clone(), "refs/bosun/test/merged".into());
    Queue::new(Yard { repository, scratch, pin, by: signature() }, tip.clone())
}

/// Offers a part and accepts what comes of it; tells the files otherwise.
async fn take(queue: &mut Queue, part: &Part) -> Result<Commit, Vec<String>> {
    match queue.offer(part).await.unwrap() {
        Offer::Held => Ok(queue.tip().clone()),
        Offer::Candidate(candidate) => Ok(queue.accept(candidate).await.unwrap().clone()),
        Offer::Conflict(conflict) => Err(conflict.files),
    }
}

async fn tree(git: &Git, commit: &Commit) -> String {
    git.text(&["rev-parse", &format!("{commit}^{{tree}}")]).await.unwrap()
}

async fn file(git: &Git, commit: &Commit, path: &str) -> String {
    git.text(&["show", &format!("{commit}:{path}")]).await.unwrap()
}
