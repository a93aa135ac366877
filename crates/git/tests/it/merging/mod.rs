//! What many brought becomes one tree.

mod branches;
mod joining;
mod kinds;
mod landing;
mod predicting;
mod queueing;
mod random;
mod torn;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use git::{Commit, Git, Offer, Part, Queue, Signature, Site};

use crate::stage::Stage;

fn signature() -> Signature {
    Signature { name: "Bosun".into(), email: "bosun@example.invalid".into() }
}

async fn head(stage: &Stage) -> Commit {
    Commit::of(&stage.git, "HEAD").await.unwrap()
}

async fn queue(stage: &Stage, name: &str, tip: &Commit) -> Queue {
    let site = Site {
        repository: stage.git.clone(),
        folder: stage.path().join(name),
        pin: "refs/bosun/test/merged".into(),
        by: signature(),
    };
    Queue::begin(site, tip.clone()).await.unwrap()
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

/// Every file of the user's folder and its repository, but for objects and our own refs.
fn everything(stage: &Stage) -> BTreeMap<PathBuf, Vec<u8>> {
    let root = stage.git.folder();
    let mut found = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(root).unwrap().to_owned();
            if [".git/objects", ".git/refs/bosun"].iter().any(|own| name == Path::new(own)) {
                continue;
            }
            let kind = std::fs::symlink_metadata(&path).unwrap();
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_symlink() {
                found.insert(name, std::fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes());
            } else {
                found.insert(name, std::fs::read(&path).unwrap());
            }
        }
    }
    found
}
