//! Sealing keeps the agent's work, whatever the agent did with its repository.

use std::fs;

use git::{Checkout, GitError};

use crate::stage::Stage;

#[tokio::test]
async fn seal_contains_all_files_and_leaves_the_users_work_unchanged() {
    let stage = Stage::new().await;
    let mut checkout = stage.checkout("x").await;
    let before = stage.belongings().await;
    assert_eq!(&checkout.seal().await.unwrap().commit, checkout.base(), "nothing was made");
    let put = |name: &str, text: &str| fs::write(checkout.path().join(name), text).unwrap();
    put("a.txt", "two\n");
    put("new.txt", "new\n");
    put("kept.txt", "committed\n");
    put(".gitignore", "*.log\n");
    put("left.log", "ignored\n");
    put("forced.log", "staged though ignored\n");
    stage.run(&checkout, &["add kept.txt", "commit -q -m mine", "add -f forced.log"]).await;
    let sealed = checkout.seal().await.unwrap();
    assert!(sealed.is_whole);
    assert_eq!(sealed.files, [".gitignore", "a.txt", "forced.log", "kept.txt", "new.txt"]);
    assert_eq!(stage.file(&sealed.commit, "a.txt").await.as_deref(), Some("two\n"));
    assert_eq!(stage.file(&sealed.commit, "left.log").await, None);
    let history = stage.git.text(&["log", "--format=%s %an", sealed.commit.as_str()]).await.unwrap();
    assert_eq!(history, "Work of x someone\nmine someone\nfirst someone");
    assert_eq!(stage.git.text(&["rev-parse", &sealed.pinned]).await.unwrap(), sealed.commit.as_str());
    assert_eq!(checkout.seal().await.unwrap(), sealed, "a second seal finds the same");
    assert_eq!(stage.belongings().await, before);
    let status = stage.git.in_folder(checkout.path()).text(&["status", "--porcelain"]).await.unwrap();
    assert!(status.contains("?? new.txt"), "the agent's own index stays as it was: {status}");
}

#[tokio::test]
async fn files_staged_earlier_but_never_committed_are_sealed() {
    let stage = Stage::new().await;
    let mut checkout = stage.checkout("x").await;
    let long_ago = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    for (name, text) in [("a.txt", "staged\n"), ("new.txt", "new\n")] {
        fs::write(checkout.path().join(name), text).unwrap();
        let file = fs::File::options().write(true).open(checkout.path().join(name)).unwrap();
        file.set_modified(long_ago).unwrap();
    }
    stage.run(&checkout, &["add a.txt new.txt"]).await;
    let sealed = checkout.seal().await.unwrap();
    assert_eq!(sealed.files, ["a.txt", "new.txt"]);
    assert_eq!(stage.file(&sealed.commit, "new.txt").await.as_deref(), Some("new\n"));
    fs::remove_dir_all(checkout.path()).unwrap();
    stage.git.run_checked(&["fsck", "--connectivity-only", "--no-dangling"], &[]).await.unwrap();
}

/// Commands of an agent, and the texts that the kept commits must contain afterwards.
async fn kept(commands: &[&str], words: &[&str]) {
    let stage = Stage::new().await;
    let mut checkout = stage.checkout("x").await;
    for command in commands {
        match command.split_once('=') {
            Some((name, text)) => fs::write(checkout.path().join(name), text).unwrap(),
            None => stage.run(&checkout, &[command]).await,
        }
    }
    let sealed = checkout.seal().await.unwrap();
    let descends = ["merge-base", "--is-ancestor", checkout.base().as_str(), sealed.commit.as_str()];
    assert_eq!(stage.git.run(&descends, &[]).await.unwrap().code, 0, "{commands:?}");
    fs::remove_dir_all(checkout.path()).unwrap();
    stage.git.run_checked(&["gc", "-q", "--prune=now"], &[]).await.unwrap();
    let patches = stage.git.text(&["log", "-p", "-m", "--glob=refs/bosun", "--format="]).await.unwrap();
    for word in words {
        assert!(patches.contains(&format!("+{word}")), "{word} of {commands:?} is lost:\n{patches}");
    }
}

#[tokio::test]
async fn branches_stashes_resets_and_a_detached_head_are_kept() {
    kept(&["b=first", "add b", "stash -q", "b=second", "add b", "stash -q", "c=third"], &["first", "second", "third"])
        .await;
    kept(
        &["b=side", "checkout -q -b side", "add b", "commit -q -m side", "checkout -q bosun/x", "b=here"],
        &["side", "here"],
    )
    .await;
    kept(&["b=lost", "add b", "commit -q -m lost", "reset -q --hard HEAD~1", "c=new"], &["lost", "new"]).await;
    kept(&["checkout -q --detach", "b=one", "add b", "commit -q -m one", "c=two"], &["one", "two"]).await;
    kept(&["checkout -q --orphan alone", "b=orphan", "add b", "commit -q -m orphan"], &["orphan"]).await;
    kept(&["checkout -q --orphan alone", "b=unborn"], &["unborn"]).await;
    kept(&["b=gone", "add b", "commit -q -m gone", "branch -q other", "gc -q", "c=more"], &["gone", "more"]).await;
}

#[tokio::test]
async fn index_flags_and_settings_of_the_agent_hide_nothing_and_run_nothing() {
    let stage = Stage::new().await;
    let mut checkout = stage.checkout("x").await;
    stage.run(&checkout, &["update-index --assume-unchanged a.txt", "config core.fsmonitor ./evil"]).await;
    stage.run(&checkout, &["config filter.evil.clean ./evil", "config core.hooksPath ."]).await;
    fs::write(checkout.path().join("a.txt"), "hidden\n").unwrap();
    fs::write(checkout.path().join(".gitattributes"), "* filter=evil\n").unwrap();
    fs::write(checkout.path().join("evil"), format!("#!/bin/sh\ntouch {}/ran\n", stage.path().display())).unwrap();
    fs::set_permissions(checkout.path().join("evil"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let sealed = checkout.seal().await.unwrap();
    assert_eq!(stage.file(&sealed.commit, "a.txt").await.as_deref(), Some("hidden\n"));
    assert!(!stage.path().join("ran").exists());
}

#[tokio::test]
async fn files_outside_a_sparse_checkout_do_not_count_as_removed() {
    let stage = Stage::new().await;
    fs::create_dir(stage.git.folder().join("deep")).unwrap();
    stage.write("deep/b.txt", "deep\n");
    stage.git.run_checked(&["add", "-A"], &[]).await.unwrap();
    stage.git.run_checked(&["commit", "-q", "-m", "deep"], &[]).await.unwrap();
    let mut checkout = stage.checkout("x").await;
    stage.run(&checkout, &["sparse-checkout set nothing"]).await;
    assert!(!checkout.path().join("deep").exists());
    fs::write(checkout.path().join("a.txt"), "two\n").unwrap();
    assert_eq!(checkout.seal().await.unwrap().files, ["a.txt"]);
}

#[tokio::test]
async fn unfinished_merge_is_reported() {
    let stage = Stage::new().await;
    let mut checkout = stage.checkout("x").await;
    let put = |text: &str| fs::write(checkout.path().join("a.txt"), text).unwrap();
    put("here\n");
    stage.run(&checkout, &["commit -q -a -m here", "checkout -q -b side HEAD~1"]).await;
    put("there\n");
    stage.run(&checkout, &["commit -q -a -m there"]).await;
    stage.git.in_folder(checkout.path()).run(&["merge", "-q", "bosun/x"], &[]).await.unwrap();
    let sealed = checkout.seal().await;
    assert!(matches!(&sealed, Err(GitError::Unmerged { files, .. }) if files == &["a.txt"]), "{sealed:?}");
}

#[tokio::test]
async fn checkout_without_its_repository_is_sealed_on_its_base_commit() {
    let stage = Stage::new().await;
    let mut checkout = stage.checkout("x").await;
    fs::remove_dir_all(checkout.path().join(".git")).unwrap();
    fs::write(checkout.path().join("b.txt"), "made\n").unwrap();
    let sealed = checkout.seal().await.unwrap();
    assert_eq!((sealed.files, sealed.is_whole), (vec!["b.txt".to_owned()], false));
}

#[tokio::test]
async fn reopened_checkout_knows_its_last_seal() {
    let stage = Stage::new().await;
    let mut checkout = stage.checkout("x").await;
    fs::write(checkout.path().join("b.txt"), "made\n").unwrap();
    let sealed = checkout.seal().await.unwrap();
    let root = checkout.path().parent().unwrap();
    let again = Checkout::open(&stage.git, root, checkout.id()).await.unwrap();
    assert_eq!(again.sealed(), Some(&sealed.commit));
}

#[tokio::test]
async fn unchanged_checkout_is_sealed_only_once() {
    let stage = Stage::new().await;
    let mut checkout = stage.checkout("x").await;
    fs::write(checkout.path().join("a.txt"), "two\n").unwrap();
    let sealed = checkout.seal().await.unwrap();
    stage.git.run_checked(&["config", "user.name", "another"], &[]).await.unwrap();
    assert_eq!(checkout.seal().await.unwrap().commit, sealed.commit);
    fs::write(checkout.path().join("a.txt"), "three\n").unwrap();
    assert_ne!(checkout.seal().await.unwrap().commit, sealed.commit);
}

/// The files that git has read since the last call, as recorded by a filter of the user.
fn reads(stage: &Stage) -> Vec<String> {
    let log = stage.path().join("reads");
    let text = fs::read_to_string(&log).unwrap_or_default();
    let _none = fs::remove_file(log);
    let names: std::collections::BTreeSet<&str> = text.lines().filter_map(|line| line.rsplit('/').next()).collect();
    names.into_iter().map(str::to_owned).collect()
}

/// Files that make an index large, since their paths are long.
const MANY: u32 = 1_600;

fn file(n: u32) -> String {
    format!("{}/file-{n}.txt", vec!["x".repeat(240); 12].join("/"))
}

/// Commits many files with one text.
async fn commit_many(stage: &Stage, text: &str) {
    fs::create_dir_all(stage.git.folder().join(file(0)).parent().unwrap()).unwrap();
    (0..MANY).for_each(|n| stage.write(&file(n), text));
    stage.git.run_checked(&["add", "-A"], &[]).await.unwrap();
    stage.git.run_checked(&["commit", "-q", "-m", "many"], &[]).await.unwrap();
}

#[tokio::test]
async fn sealing_reads_only_the_files_that_changed() {
    let stage = Stage::new().await;
    stage.write(".gitattributes", "*.txt filter=seen\n");
    commit_many(&stage, "the same\n").await;
    let seen = format!("[filter \"seen\"]\n\tclean = \"echo %f >> {}/reads; cat\"\n", stage.path().display());
    fs::write(stage.path().join(".gitconfig"), seen).unwrap();
    let mut checkout = stage.checkout("x").await;
    fs::write(checkout.path().join(file(7)), "another\n").unwrap();
    reads(&stage);
    assert_eq!(checkout.seal().await.unwrap().files, [file(7)]);
    assert_eq!(reads(&stage), ["file-7.txt"]);
    stage.run(&checkout, &["status", &format!("add {}", file(7)), "commit -q -m mine"]).await;
    fs::write(checkout.path().join(file(8)), "another\n").unwrap();
    reads(&stage);
    assert_eq!(checkout.seal().await.unwrap().files, [file(7), file(8)]);
    assert_eq!(reads(&stage), ["file-7.txt", "file-8.txt"], "whatever the agent's own index says");
}

#[tokio::test]
async fn changes_right_after_creating_a_large_checkout_are_sealed() {
    let stage = Stage::new().await;
    commit_many(&stage, "old\n").await;
    // Changed at once, in place and with the same size: in whole seconds, its times are those that git recorded.
    let mut checkout = stage.checkout("x").await;
    let written: Vec<String> = (0..MANY).step_by(100).map(file).collect();
    for file in &written {
        fs::write(checkout.path().join(file), "new\n").unwrap();
    }
    let sealed = checkout.seal().await.unwrap();
    assert_eq!(sealed.files.len(), written.len(), "{:?}", sealed.files);
    // So many files that git reads each again.
    for n in 0..MANY {
        fs::write(checkout.path().join(file(n)), "all\n").unwrap();
    }
    assert_eq!(checkout.seal().await.unwrap().files.len(), 1_000, "as many as are named");
}

/// The tree that git writes for a folder if it reads every file, based on the commit of the checkout.
async fn looked_at_closely(stage: &Stage, checkout: &Checkout) -> String {
    let index = stage.path().join("closely");
    let git = stage.git.in_folder(checkout.path()).with_env("GIT_INDEX_FILE", &index);
    git.run_checked(&["read-tree", checkout.base().as_str()], &[]).await.unwrap();
    git.run_checked(&["add", "--all", "--", "."], &[]).await.unwrap();
    let tree = git.text(&["write-tree"]).await.unwrap();
    fs::remove_file(index).unwrap();
    tree
}

#[tokio::test]
async fn every_change_in_a_large_checkout_is_sealed() {
    let stage = Stage::new().await;
    let there = ["a/x", "a/deep/y", "b/x", "top", "a file: [*] \n\u{e4}", "kept/build/tracked", "plain"];
    for name in there {
        fs::create_dir_all(stage.git.folder().join(name).parent().unwrap()).unwrap();
        stage.write(name, name);
    }
    stage.write(".gitignore", "build/\n*.log\n");
    stage.git.run_checked(&["add", "-f", "kept/build/tracked"], &[]).await.unwrap();
    commit_many(&stage, "old\n").await;
    let outside = stage.path().join("outside");
    for commands in [
        "true",
        "echo new > top",
        "echo new > new; echo new > a/new; mkdir n empty && echo new > n/n && touch plain",
        "mkdir ':(top)' && echo new > ':(top)/*' && echo new > \"$(printf 'line\\nend')\"",
        "rm top; rm a/x; rm -r b",
        "mv a c; mv b a; mv c b",
        "mv \"$OUTSIDE\" a/moved; chmod +x plain; echo new >> a*\\[*",
        "mv \"$OUTSIDE\" moved",
        "rm -r a && mv \"$OUTSIDE\" a",
        "rm -r a && echo file > a; rm top && mkdir top && echo in > top/in",
        "mv a c && ln -s c a",
        "mkdir build a/build && echo o > build/o && echo o > a/build/o && echo l > x.log; rm kept/build/tracked",
        "echo > .gitignore; mkdir build && echo o > build/o; echo new > kept/build/tracked",
        "git rm -q --cached top",
        "echo new > x.log && git add -f x.log && git rm -q --cached b/x && git status",
    ] {
        fs::create_dir_all(outside.join("in")).unwrap();
        fs::write(outside.join("in/file"), "outside\n").unwrap();
        let mut checkout = stage.checkout("x").await;
        let mut shell = std::process::Command::new("sh");
        shell.args(["-ec", commands]).env("OUTSIDE", &outside).current_dir(checkout.path());
        assert!(shell.status().unwrap().success(), "{commands}");
        let sealed = checkout.seal().await.unwrap();
        let tree = stage.git.text(&["rev-parse", &format!("{}^{{tree}}", sealed.commit)]).await.unwrap();
        let by_index = commands.contains("git add -f");
        assert!(by_index || tree == looked_at_closely(&stage, &checkout).await, "{commands}: {:?}", sealed.files);
        assert!(!by_index || sealed.files == ["x.log"], "{:?}", sealed.files);
        checkout.discard(&stage.home, protocol::Timestamp(1)).await.unwrap();
    }
}

/// Forges an index entry, as an agent can, so that the first file seems unchanged.
fn forge(checkout: &Checkout) {
    use std::os::unix::fs::MetadataExt;
    let index = checkout.path().join(".git/index");
    let mut bytes = fs::read(&index).unwrap();
    let found = fs::metadata(checkout.path().join("a.txt")).unwrap();
    let fields = [
        found.ctime(),
        found.ctime_nsec(),
        found.mtime(),
        found.mtime_nsec(),
        found.dev() as i64,
        found.ino() as i64,
        i64::from(found.mode()),
        i64::from(found.uid()),
        i64::from(found.gid()),
        found.size() as i64,
    ];
    // A header of twelve bytes, then the entries.
    for (n, field) in fields.into_iter().enumerate() {
        bytes[12 + 4 * n..16 + 4 * n].copy_from_slice(&(field as u32).to_be_bytes());
    }
    fs::write(&index, bytes).unwrap();
    let file = fs::File::options().write(true).open(&index).unwrap();
    file.set_modified(std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(4_000_000_000)).unwrap();
}

#[tokio::test]
async fn neither_forged_times_nor_a_forged_index_hide_a_change() {
    let stage = Stage::new().await;
    let mut checkout = stage.checkout("x").await;
    let (path, first) = (checkout.path().join("a.txt"), "two\n");
    let modified = fs::metadata(&path).unwrap().modified().unwrap();
    // In place, of the same size, and with the time that the file had.
    let change = |text: &str| {
        fs::write(&path, text).unwrap();
        fs::File::options().write(true).open(&path).unwrap().set_modified(modified).unwrap();
    };
    change(first);
    let sealed = checkout.seal().await.unwrap();
    assert_eq!(stage.file(&sealed.commit, "a.txt").await.as_deref(), Some(first), "a forged time");
    change("six\n");
    forge(&checkout);
    let own = stage.git.in_folder(checkout.path()).text(&["status", "--porcelain"]).await.unwrap();
    assert_eq!(own, "", "the forged index hides the change from the checkout's own repository");
    let sealed = checkout.seal().await.unwrap();
    assert_eq!(stage.file(&sealed.commit, "a.txt").await.as_deref(), Some("six\n"), "a forged index");
    // User settings that make git check less do not hide the change either.
    stage.git.run_checked(&["config", "core.trustctime", "false"], &[]).await.unwrap();
    stage.git.run_checked(&["config", "core.checkStat", "minimal"], &[]).await.unwrap();
    change("ten\n");
    forge(&checkout);
    let sealed = checkout.seal().await.unwrap();
    assert_eq!(stage.file(&sealed.commit, "a.txt").await.as_deref(), Some("ten\n"));
}

#[tokio::test]
async fn file_removed_from_the_index_and_ignored_is_not_sealed() {
    let stage = Stage::new().await;
    let mut checkout = stage.checkout("x").await;
    fs::write(checkout.path().join(".gitignore"), "a.txt\n").unwrap();
    stage.run(&checkout, &["rm -q --cached a.txt"]).await;
    let sealed = checkout.seal().await.unwrap();
    assert_eq!(sealed.files, [".gitignore", "a.txt"]);
    assert_eq!(stage.file(&sealed.commit, "a.txt").await, None);
}
