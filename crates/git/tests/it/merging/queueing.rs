//! The merge queue, with a check after every step.

use std::path::Path;
use std::process::Command;

use git::{Commit, ConflictOutcome, MergeCandidateOutcome, MergePart, MergeQueue};

use super::branches::{Branch, Edit, import, write};
use super::{file, head, queue, take};
use crate::stage::Stage;

/// Twenty branches: most are clean, four change the same line, one removes a function that another calls.
fn edits(n: usize) -> Vec<Edit> {
    let own = write(&format!("parts/{n:02}.sh"), format!("shout {n}\n"));
    match n {
        3 | 8 | 13 | 18 => vec![write("version", format!("{n}\n")), own],
        5 => vec![write("lib.sh", "say() { echo \"$@\"; }\n"), own],
        6 => vec![write("parts/06.sh", "say 6\n")],
        _ => vec![own],
    }
}

/// A project whose check runs every part.
async fn project(stage: &Stage) -> Commit {
    std::fs::create_dir(stage.git.folder().join("parts")).unwrap();
    stage.write("version", "0\n");
    stage.write("lib.sh", "shout() { echo \"$@\"; }\nsay() { echo \"$@\"; }\n");
    stage.write(
        "check.sh",
        "set -e\ngrep -qx '[0-9]*' version\n. ./lib.sh\nfor part in parts/*.sh; do . ./$part; done\n",
    );
    stage.write("parts/first.sh", "say first\n");
    stage.git.run_checked(&["add", "-A"], &[]).await.unwrap();
    stage.git.run_checked(&["commit", "-q", "-m", "project"], &[]).await.unwrap();
    head(stage).await
}

fn check(folder: &Path) -> Result<(), String> {
    let ran = Command::new("sh").arg("check.sh").current_dir(folder).output().unwrap();
    if ran.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&ran.stderr).into_owned()) }
}

#[derive(Debug, PartialEq, Eq)]
enum End {
    Merged(Commit),
    Conflict(Vec<String>),
    Failed(String),
}

async fn step(queue: &mut MergeQueue, part: &MergePart) -> End {
    match queue.try_merge(part).await.unwrap() {
        MergeCandidateOutcome::AlreadyContained => End::Merged(queue.tip().clone()),
        MergeCandidateOutcome::Conflict(conflict) => End::Conflict(conflict.files),
        MergeCandidateOutcome::Candidate(candidate) => match check(queue.check_out(&candidate).await.unwrap()) {
            Ok(()) => End::Merged(queue.accept(candidate).await.unwrap().clone()),
            Err(said) => End::Failed(said),
        },
    }
}

#[tokio::test]
async fn clean_branches_of_twenty_land_and_pass_the_check_after_every_step() {
    let stage = Stage::new().await;
    let base = project(&stage).await;
    let branches: Vec<Branch> =
        (0..20).map(|n| Branch { name: format!("{n:02}"), from: base.clone(), edits: edits(n) }).collect();
    let parts = import(&stage, &branches).await;
    let before = stage.belongings().await;
    let mut queue = queue(&stage, &base).await;
    let mut ends = Vec::new();
    for part in &parts {
        ends.push(step(&mut queue, part).await);
        queue.workspace().scratch.check_out(queue.tip()).await.unwrap();
        assert_eq!(check(queue.workspace().scratch.folder()), Ok(()), "after {}", part.name);
    }
    for (n, end) in ends.iter().enumerate() {
        match (n, end) {
            (8 | 13 | 18, End::Conflict(files)) => assert_eq!(files, &["version"]),
            (5, End::Failed(said)) => assert!(said.contains("shout: not found"), "{said}"),
            (8 | 13 | 18 | 5, end) => panic!("{n}: {end:?}"),
            (_, end) => assert!(matches!(end, End::Merged(_)), "{n}: {end:?}"),
        }
    }
    let tip = queue.tip().clone();
    assert_eq!(file(&stage.git, &tip, "version").await, "3");
    let names = stage.git.text(&["ls-tree", "--name-only", &format!("{tip}:parts")]).await.unwrap();
    assert_eq!(names.lines().count(), 1 + 20 - 4);
    assert_eq!(super::named(&stage.git, "refs/bosun/test/merged").await, tip);
    assert!(stage.belongings().await == before, "what is the user's is as it was");

    // A process that continues in the middle gets the same commits.
    for stop in [1, 9, 14] {
        let done = ends[..stop].iter().rev().find_map(|end| match end {
            End::Merged(commit) => Some(commit.clone()),
            End::Conflict(_) | End::Failed(_) => None,
        });
        let mut again = super::queue(&stage, &done.unwrap()).await;
        for (part, end) in parts.iter().zip(&ends).skip(stop) {
            assert_eq!(&step(&mut again, part).await, end);
        }
        assert_eq!(again.tip(), &tip);
    }
}

#[tokio::test]
async fn files_left_by_a_check_are_removed_unless_ignored() {
    let stage = Stage::new().await;
    stage.write(".gitignore", "target\n");
    stage.git.run_checked(&["add", "-A"], &[]).await.unwrap();
    stage.git.run_checked(&["commit", "-q", "-m", "ignore"], &[]).await.unwrap();
    let base = head(&stage).await;
    let queue = queue(&stage, &base).await;
    queue.workspace().scratch.check_out(&base).await.unwrap();
    let folder = queue.workspace().scratch.folder();
    for name in ["a.txt", "left", "target"] {
        std::fs::write(folder.join(name), "by a check\n").unwrap();
    }
    stage.git.in_folder(folder).run_checked(&["init", "-q", "nested"], &[]).await.unwrap();
    stage.git.in_folder(folder).run_checked(&["config", "core.sparseCheckout", "true"], &[]).await.unwrap();
    queue.workspace().scratch.check_out(&base).await.unwrap();
    let mut names: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, [".git", ".gitignore", "a.txt", "target"]);
    assert_eq!(std::fs::read_to_string(folder.join("a.txt")).unwrap(), "one\n");
}

#[tokio::test]
async fn resolved_conflict_is_accepted_as_a_merge() {
    let stage = Stage::new().await;
    let base = head(&stage).await;
    let branches = ["a", "b"].map(|name| Branch {
        name: name.into(),
        from: base.clone(),
        edits: vec![write("a.txt", format!("{name}\n"))],
    });
    let [a, b] = import(&stage, &branches).await.try_into().unwrap();
    let mut queue = queue(&stage, &base).await;
    take(&mut queue, &a).await.unwrap();
    let MergeCandidateOutcome::Conflict(conflict) = queue.try_merge(&b).await.unwrap() else { panic!() };
    let begun = conflict.start_commit(&stage.git, &super::signature()).await.unwrap();
    assert_eq!(
        queue.try_resolution(&conflict, &begun).await.unwrap(),
        ConflictOutcome::MarkersLeft(vec!["a.txt".into()])
    );
    let done = super::branches::branch(&stage, &begun, "done", vec![write("a.txt", "a\nb\n")]).await;
    let ConflictOutcome::Candidate(candidate) = queue.try_resolution(&conflict, &done.commit).await.unwrap() else {
        panic!()
    };
    queue.accept(candidate).await.unwrap();
    assert_eq!(file(&stage.git, queue.tip(), "a.txt").await, "a\nb");
    assert_eq!(queue.try_merge(&b).await.unwrap(), MergeCandidateOutcome::AlreadyContained);
}
