//! Every kind of change, merged as git merges it.

use git::{Commit, Git, MergePart};

use super::branches::{Branch, Edit, import, write};
use super::{head, queue, take, tree};
use crate::stage::Stage;

/// The result of `git merge` for the parts, one after the other, in a clone with a work tree.
pub(super) async fn merged_by_hand(stage: &Stage, name: &str, base: &Commit, parts: &[MergePart]) -> (Git, Vec<bool>) {
    let folder = stage.path().join(name);
    let origin = stage.git.folder().to_str().unwrap();
    stage.git.run_checked(&["clone", "-q", "--shared", origin, folder.to_str().unwrap()], &[]).await.unwrap();
    let git = stage.git.in_folder(folder).with_env("GIT_COMMITTER_NAME", "hand").with_env("GIT_AUTHOR_NAME", "hand");
    let git = git
        .with_env("GIT_COMMITTER_EMAIL", "hand@example.invalid")
        .with_env("GIT_AUTHOR_EMAIL", "hand@example.invalid");
    git.run_checked(&["checkout", "-q", "--detach", base.as_str()], &[]).await.unwrap();
    let mut clean = Vec::new();
    for part in parts {
        let said = git.run(&["merge", "-q", "--no-edit", part.commit.as_str()], &[]).await.unwrap();
        clean.push(said.code == 0);
        if said.code != 0 {
            git.run_checked(&["merge", "--abort"], &[]).await.unwrap();
        }
    }
    (git, clean)
}

#[tokio::test]
async fn every_kind_of_change_is_merged_like_git() {
    let stage = Stage::new().await;
    let folder = stage.git.folder().join("folder");
    std::fs::create_dir(&folder).unwrap();
    let long: String = (0..40).map(|n| format!("line {n}\n")).collect();
    for (name, text) in
        [("tool.sh", "#!/bin/sh\n"), ("crlf.txt", "one\r\ntwo\r\n"), ("gone.txt", "x\n"), ("moves.txt", &long)]
    {
        stage.write(name, text);
    }
    std::fs::write(folder.join("in.txt"), &long).unwrap();
    std::fs::write(stage.git.folder().join("picture"), [0, 159, 146, 150, 0, 1]).unwrap();
    std::os::unix::fs::symlink("a.txt", stage.git.folder().join("link")).unwrap();
    stage.git.run_checked(&["config", "core.autocrlf", "false"], &[]).await.unwrap();
    stage.git.run_checked(&["add", "-A"], &[]).await.unwrap();
    stage.git.run_checked(&["commit", "-q", "-m", "kinds"], &[]).await.unwrap();
    let base = head(&stage).await;
    let changed = long.replace("line 7\n", "line seven\n");
    let kinds: Vec<(&str, Vec<Edit>)> = vec![
        ("deletes", vec![Edit::Remove("gone.txt".into())]),
        ("renames", vec![Edit::Rename("moves.txt".into(), "moved/to.txt".into())]),
        ("edits what was renamed", vec![write("moves.txt", &changed)]),
        ("mode", vec![Edit::Program("tool.sh".into(), b"#!/bin/sh\n".to_vec())]),
        ("edits the program", vec![write("tool.sh", "#!/bin/sh\necho hi\n")]),
        ("binary", vec![Edit::Write("new picture".into(), vec![0, 255, 0, 254])]),
        ("link", vec![Edit::Link("link".into(), "tool.sh".into())]),
        ("submodule", vec![Edit::Submodule("sub".into(), "1234567890123456789012345678901234567890".into())]),
        ("crlf", vec![write("crlf.txt", "one\r\ntwo\r\nthree\r\n")]),
        ("crlf at the top", vec![write("crlf.txt", "zero\r\none\r\ntwo\r\n")]),
        ("renames a folder", vec![Edit::Rename("folder".into(), "other".into())]),
        ("adds to the folder", vec![write("folder/new.txt", "x\n")]),
        ("edits what was deleted", vec![write("gone.txt", "y\n")]),
        ("binary, otherwise", vec![Edit::Write("new picture".into(), vec![0, 255, 0, 253])]),
        ("link, otherwise", vec![Edit::Link("link".into(), "nowhere".into())]),
        ("a folder instead of a file", vec![Edit::Remove("a.txt".into()), write("a.txt/in", "x\n")]),
        ("edits that file", vec![write("a.txt", "two\n")]),
        ("odd names", vec![write("\"-n \\t\\\"\\303\\244\"", "x\n"), write("--force", "x\n")]),
    ];
    let branches: Vec<Branch> = kinds
        .into_iter()
        .map(|(name, edits)| Branch { name: name.replace([' ', ','], "-"), from: base.clone(), edits })
        .collect();
    let parts = import(&stage, &branches).await;
    let mut queue = queue(&stage, &base).await;
    let mut clean = Vec::new();
    for part in &parts {
        clean.push(take(&mut queue, part).await.is_ok());
        queue.workspace().scratch.check_out(queue.tip()).await.unwrap();
    }
    let (git, by_hand) = merged_by_hand(&stage, "hand", &base, &parts).await;
    assert_eq!(clean, by_hand);
    assert!(clean.iter().any(|clean| !clean) && clean[..8].iter().all(|clean| *clean), "{clean:?}");
    let hand = super::named(&git, "HEAD").await;
    assert_eq!(tree(&stage.git, queue.tip()).await, tree(&git, &hand).await);
}
