//! Fifty concurrent workers that use their repositories in every way.

use std::fs;

use futures_util::future::join_all;

use crate::stage::Stage;

#[tokio::test]
async fn fifty_workers_do_not_affect_the_users_repository() {
    let stage = Stage::new().await;
    stage.write("stashed.txt", "mine\n");
    stage.git.run_checked(&["add", "-A"], &[]).await.unwrap();
    stage.git.run_checked(&["stash", "-q"], &[]).await.unwrap();
    stage.git.run_checked(&["tag", "v1"], &[]).await.unwrap();
    stage.write(".git/hooks/pre-commit", "#!/bin/sh\nexit 1\n");
    stage.write("a.txt", "half done\n");
    stage.write("untracked.txt", "mine\n");
    stage.git.run_checked(&["status"], &[]).await.unwrap();
    let before = stage.belongings().await;

    let work = async |number: usize| {
        let mut checkout = stage.checkout(&format!("worker {number}")).await;
        let path = checkout.path().to_owned();
        let put = |name: &str| fs::write(path.join(name), format!("{name} of {number}\n")).unwrap();
        assert_eq!(fs::read_to_string(path.join("a.txt")).unwrap(), "one\n");
        put("stashed.txt");
        stage.run(&checkout, &["add -A", "stash -q", "config user.name other", "config core.autocrlf input"]).await;
        put("branch.txt");
        stage.run(&checkout, &["checkout -q -b main", "add -A", "commit -q -m branch", "tag v1"]).await;
        fs::create_dir_all(path.join(".git/hooks")).unwrap();
        put(".git/hooks/pre-commit");
        match number % 4 {
            0 => stage.run(&checkout, &["checkout -q --detach HEAD~1"]).await,
            1 => stage.run(&checkout, &["reset -q --hard HEAD~1"]).await,
            2 => stage.run(&checkout, &["gc -q", "pack-refs --all"]).await,
            _ => stage.run(&checkout, &[&format!("branch -q -D bosun/worker-{number}")]).await,
        }
        put("result.txt");
        let sealed = checkout.seal().await.unwrap();
        let result = stage.file(&sealed.commit, "result.txt").await;
        assert_eq!(result.as_deref(), Some(format!("result.txt of {number}\n").as_str()));
        sealed.commit
    };
    let mut commits = join_all((0..50).map(work)).await;
    commits.sort();
    commits.dedup();
    assert_eq!(commits.len(), 50);
    assert_eq!(stage.belongings().await, before);
    stage.git.run_checked(&["fsck", "--connectivity-only", "--no-dangling"], &[]).await.unwrap();
    let refs = stage.git.text(&["for-each-ref", "--format=%(refname)", "refs/bosun/"]).await.unwrap();
    assert_eq!(refs.lines().filter(|name| name.contains("/work/")).count(), 50);
    let patches = stage.git.text(&["log", "-p", "-m", "--glob=refs/bosun", "--format="]).await.unwrap() + "\n";
    for number in 0..50 {
        for name in ["stashed.txt", "branch.txt", "result.txt"] {
            assert!(patches.contains(&format!("+{name} of {number}\n")), "{name} of {number} is lost");
        }
    }
}
