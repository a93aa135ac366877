//! Commits merged onto a base, and resolved conflicts.

use git::{Commit, MergeOutcome, ResolveOutcome, merge, merge_all};

use super::branches::{branch, write};
use super::{file, head, signature, tree};
use crate::stage::Stage;

async fn whole(stage: &Stage, base: &Commit, parts: &[git::MergePart]) -> Commit {
    match merge_all(&stage.git, base, parts, &signature()).await.unwrap() {
        MergeOutcome::Merged(commit) => commit,
        MergeOutcome::Conflict(conflict) => panic!("{conflict:?}"),
    }
}

#[tokio::test]
async fn same_commits_in_the_same_order_give_the_same_merge() {
    let stage = Stage::new().await;
    let base = head(&stage).await;
    let a = branch(&stage, &base, "a", vec![write("a.txt", "one\na\n")]).await;
    let b = branch(&stage, &base, "b", vec![write("b.txt", "b\n")]).await;
    let on_a = branch(&stage, &a.commit, "on-a", vec![write("c.txt", "c\n")]).await;
    let parts = [a.clone(), b.clone(), on_a.clone()];
    let once = whole(&stage, &base, &parts).await;
    assert_eq!(whole(&stage, &base, &parts).await, once);
    assert_eq!(file(&stage.git, &once, "a.txt").await, "one\na");
    assert_eq!(file(&stage.git, &once, "c.txt").await, "c");
    // Another order gives another commit with the same tree.
    let other = whole(&stage, &base, &[b.clone(), on_a.clone(), a.clone()]).await;
    assert_ne!(other, once);
    assert_eq!(tree(&stage.git, &other).await, tree(&stage.git, &once).await);
    // A descendant of the tip needs no merge, and a commit that the tip contains changes nothing.
    assert_eq!(whole(&stage, &base, &[a.clone(), on_a.clone(), a]).await, on_a.commit);
    assert_eq!(whole(&stage, &base, &[]).await, base);
    let said = stage.git.text(&["log", "-1", "--format=%an %ae %cn %at %ct %s", once.as_str()]).await.unwrap();
    assert_eq!(said, "Bosun bosun@example.invalid Bosun 1700000000 1700000000 Merge on-a");
}

#[tokio::test]
async fn conflict_names_its_files_and_is_resolved_once_no_marker_is_left() {
    let stage = Stage::new().await;
    let base = head(&stage).await;
    let a = branch(&stage, &base, "a", vec![write("a.txt", "left\n"), write("own.txt", "a\n")]).await;
    let b = branch(&stage, &base, "b", vec![write("a.txt", "right\n"), write("b.txt", "b\n")]).await;
    let MergeOutcome::Conflict(conflict) = merge(&stage.git, &a.commit, &b, &signature()).await.unwrap() else {
        panic!()
    };
    assert_eq!((conflict.files.as_slice(), &conflict.part), (&["a.txt".to_owned()][..], &b));
    assert!(conflict.messages.iter().any(|words| words.contains("Merge conflict in a.txt")), "{:?}", conflict.messages);

    let begun = conflict.start_commit(&stage.git, &signature()).await.unwrap();
    assert_eq!(conflict.start_commit(&stage.git, &signature()).await.unwrap(), begun);
    let marked = file(&stage.git, &begun, "a.txt").await;
    let (ours, theirs) = (format!("<<<<<<< {}\nleft\n", a.commit), format!("right\n>>>>>>> {}", b.commit));
    assert!(marked.contains(&ours) && marked.contains(&theirs), "{marked}");

    let resolve = async |done| conflict.resolve(&stage.git, done, &signature()).await.unwrap();
    assert_eq!(resolve(&begun).await, ResolveOutcome::MarkersLeft(vec!["a.txt".into()]));
    let moved =
        branch(&stage, &begun, "moved", vec![super::branches::Edit::Rename("a.txt".into(), "z.txt".into())]).await;
    assert_eq!(resolve(&moved.commit).await, ResolveOutcome::MarkersLeft(vec!["z.txt".into()]));
    // Conflict markers that the merge did not write are plain text.
    let text = "<<<<<<< HEAD\nboth\n=======\n>>>>>>> main\n";
    let done = branch(&stage, &begun, "done", vec![write("a.txt", text)]).await;
    let ResolveOutcome::Merged(commit) = resolve(&done.commit).await else { panic!() };
    let parents = stage.git.text(&["log", "-1", "--format=%P", commit.as_str()]).await.unwrap();
    assert_eq!(parents, format!("{} {}", a.commit, b.commit));
    assert_eq!(tree(&stage.git, &commit).await, tree(&stage.git, &done.commit).await);
}

#[tokio::test]
async fn user_settings_do_not_change_a_merge() {
    let stage = Stage::new().await;
    let base = head(&stage).await;
    let a = branch(&stage, &base, "a", vec![super::branches::Edit::Rename("a.txt".into(), "b.txt".into())]).await;
    let b = branch(&stage, &base, "b", vec![write("a.txt", "one\ntwo\n")]).await;
    let before = whole(&stage, &base, &[a.clone(), b.clone()]).await;
    for (name, value) in [
        ("merge.renames", "false"),
        ("merge.conflictStyle", "merge"),
        ("i18n.commitEncoding", "ISO-8859-1"),
        ("user.name", "other"),
        ("commit.gpgSign", "true"),
    ] {
        stage.git.run_checked(&["config", name, value], &[]).await.unwrap();
    }
    assert_eq!(whole(&stage, &base, &[a, b]).await, before);
    assert_eq!(file(&stage.git, &before, "b.txt").await, "one\ntwo");
}

#[tokio::test]
async fn merges_work_in_sha256_and_shallow_repositories() {
    let stage = Stage::new().await;
    stage.write("a.txt", "two\n");
    stage.git.run_checked(&["commit", "-q", "-a", "-m", "second"], &[]).await.unwrap();
    let origin = format!("file://{}", stage.git.folder().display());
    let shallow = stage.path().join("shallow");
    stage.git.run_checked(&["clone", "-q", "--depth=1", &origin, shallow.to_str().unwrap()], &[]).await.unwrap();
    let long = stage.path().join("long");
    std::fs::create_dir(&long).unwrap();
    let git = stage.git.in_folder(&long);
    git.run_checked(&["init", "-q", "--object-format=sha256", "-b", "main"], &[]).await.unwrap();
    std::fs::write(long.join("a.txt"), "two\n").unwrap();
    git.run_checked(&["add", "-A"], &[]).await.unwrap();
    let git = ["AUTHOR", "COMMITTER"].into_iter().fold(git, |git, who| {
        git.with_env(&format!("GIT_{who}_NAME"), "a").with_env(&format!("GIT_{who}_EMAIL"), "a@example.invalid")
    });
    git.run_checked(&["commit", "-q", "-m", "first"], &[]).await.unwrap();
    for repository in [shallow, long] {
        let at = git.in_folder(&repository);
        let mut repository = Stage::new().await;
        repository.git = at;
        let base = head(&repository).await;
        let a = branch(&repository, &base, "a", vec![write("a.txt", "a\n")]).await;
        let b = branch(&repository, &base, "b", vec![write("b.txt", "b\n")]).await;
        let mut queue = super::queue(&repository, &base).await;
        for part in [a, b] {
            super::take(&mut queue, &part).await.unwrap();
        }
        queue.workspace().scratch.check_out(queue.tip()).await.unwrap();
        let shown = |name| std::fs::read_to_string(queue.workspace().scratch.folder().join(name)).unwrap();
        assert_eq!((shown("a.txt").as_str(), shown("b.txt").as_str()), ("a\n", "b\n"));
    }
}
