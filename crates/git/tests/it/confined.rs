//! A repository with someone else's settings: Bosun runs no program that they name.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use git::{BaseCommit, Checkout, Git, LandRequest, MergePart, Repository, Signature};

use crate::stage::Stage;

/// Ways to make git run `EVIL`: lines of the repository's config and of its attributes file.
#[rustfmt::skip]
const TRICKS: &[(&str, &str, &[u8])] = &[
    ("a clean filter", "[filter \"x\"]\n\tclean = EVIL\n", b"*.txt filter=x\n"),
    ("a smudge filter", "[filter \"x\"]\n\tsmudge = EVIL\n", b"*.txt filter=x\n"),
    ("a process filter", "[filter \"x\"]\n\tprocess = EVIL\n", b"*.txt filter=x\n"),
    ("a required filter", "[filter \"x\"]\n\tclean = EVIL\n\tsmudge = EVIL\n\trequired\n", b"*.txt filter=x\n"),
    ("a filter with an equals sign", "[filter \"x=y\"]\n\tclean = EVIL\n\tsmudge = EVIL\n", b"*.txt filter=x=y\n"),
    ("a filter with dots", "[filter \"a.b.c\"]\n\tclean = EVIL\n\tsmudge = EVIL\n", b"*.txt filter=a.b.c\n"),
    ("a filter in capitals", "[FILTER \"X\"]\n\tCLEAN = EVIL\n\tSmudge = EVIL\n", b"*.txt filter=X\n"),
    ("a filter that looks like git-lfs", "[filter \"lfs\"]\n\tclean = git-lfs; EVIL\n\tsmudge = EVIL git-lfs\n", b"*.txt filter=lfs\n"),
    ("a filter set twice", "[filter \"x\"]\n\tclean = cat\n[filter \"x\"]\n\tclean = EVIL\n\tsmudge = EVIL\n", b"*.txt filter=x\n"),
    ("a filter of an included file", "[include]\n\tpath = more\n", b"*.txt filter=x\n"),
    ("a filter of a file included for this folder", "[includeIf \"gitdir:**/.git\"]\n\tpath = more\n", b"*.txt filter=x\n"),
    ("a filter of a file included for this branch", "[includeIf \"onbranch:**\"]\n\tpath = more\n", b"*.txt filter=x\n"),
    ("a filter of the worktree's settings", "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tworktreeConfig = true\n", b"*.txt filter=x\n"),
    ("a merge driver", "[merge \"x\"]\n\tname = x\n\tdriver = EVIL %A %O %B\n", b"*.txt merge=x\n"),
    ("a recursive merge driver", "[merge \"x\"]\n\tdriver = EVIL\n\trecursive = x\n", b"*.txt merge=x\n"),
    ("a merge driver called text", "[merge \"text\"]\n\tdriver = EVIL\n", b"*.txt merge=text\n"),
    ("a merge driver with an equals sign", "[merge \"x=y\"]\n\tdriver = EVIL\n", b"*.txt merge=x=y\n"),
    ("a usual merge driver", "[merge]\n\tdefault = x\n[merge \"x\"]\n\tdriver = EVIL\n", b""),
    ("an included merge driver", "[include]\n\tpath = more\n", b"*.txt merge=x\n"),
    ("a textconv", "[diff \"x\"]\n\ttextconv = EVIL\n\tcachetextconv = true\n", b"*.txt diff=x\n"),
    ("a diff command", "[diff \"x\"]\n\tcommand = EVIL\n[diff]\n\texternal = EVIL\n", b"*.txt diff=x\n"),
    ("a watcher", "[core]\n\tfsmonitor = EVIL\n", b""),
    ("hooks", "[core]\n\thooksPath = evil-hooks\n", b""),
    ("alternate refs", "[core]\n\talternateRefsCommand = EVIL\n", b""),
    ("an ssh command", "[core]\n\tsshCommand = EVIL\n[remote \"origin\"]\n\turl = ssh://nowhere/x\n\tpromisor = true\n[extensions]\n\tpartialClone = origin\n[core]\n\trepositoryformatversion = 1\n", b""),
    ("a program that is fetched from", "[remote \"origin\"]\n\turl = /nowhere\n\tuploadpack = EVIL\n\tpromisor = true\n[extensions]\n\tpartialClone = origin\n[core]\n\trepositoryformatversion = 1\n", b""),
    ("an ext remote", "[protocol \"ext\"]\n\tallow = always\n[remote \"origin\"]\n\turl = ext::EVIL\n\tpromisor = true\n[extensions]\n\tpartialClone = origin\n[core]\n\trepositoryformatversion = 1\n", b""),
    ("a url that stands for every path", "[protocol]\n\tallow = always\n[url \"ext::EVIL \"]\n\tinsteadOf = /\n", b""),
    ("a signing program", "[gpg]\n\tprogram = EVIL\n[commit]\n\tgpgSign = true\n[tag]\n\tgpgSign = true\n", b""),
    ("an editor and a pager", "[core]\n\teditor = EVIL\n\tpager = EVIL\n\taskPass = EVIL\n[sequence]\n\teditor = EVIL\n", b""),
    ("aliases", "[alias]\n\tstatus = !EVIL\n\tadd = !EVIL\n\tmerge-tree = !EVIL\n", b""),
    ("upkeep", "[gc]\n\tauto = 1\n\trecentObjectsHook = EVIL\n[maintenance]\n\tauto = true\n", b""),
];

fn script(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// A repository with someone else's settings, and two workers' commits to merge.
async fn hostile(settings: &str, attributes: &[u8]) -> (Stage, std::path::PathBuf) {
    let stage = Stage::new().await;
    let (top, ran) = (stage.git.folder().to_owned(), stage.path().join("ran"));
    let evil = stage.path().join("evil");
    script(&evil, &format!("echo \"$0 $@\" >> {}; cat", ran.display()));
    for hook in ["post-checkout", "reference-transaction", "post-index-change", "pre-commit", "post-merge"] {
        script(&top.join("evil-hooks").join(hook), &format!("touch {}", ran.display()));
    }
    fs::write(top.join(".gitattributes"), attributes).unwrap();
    fs::write(top.join(".git/info/attributes"), attributes).unwrap();
    stage.write("a.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
    stage.git.run_checked(&["add", "-A"], &[]).await.unwrap();
    stage.git.run_checked(&["commit", "-q", "-m", "second"], &[]).await.unwrap();
    // An alternate object store, for commands that ask alternates for their refs.
    fs::create_dir_all(stage.path().join("lender/objects")).unwrap();
    fs::write(top.join(".git/objects/info/alternates"), format!("{}\n", stage.path().join("lender/objects").display()))
        .unwrap();
    let evil = evil.display().to_string();
    let own =
        "[filter \"x\"]\n\tclean = EVIL\n\tsmudge = EVIL\n[merge \"x\"]\n\tdriver = EVIL\n".replace("EVIL", &evil);
    fs::write(top.join(".git/more"), &own).unwrap();
    fs::write(top.join(".git/config.worktree"), &own).unwrap();
    let mut config = fs::read(top.join(".git/config")).unwrap();
    config.extend_from_slice(settings.replace("EVIL", &evil).as_bytes());
    fs::write(top.join(".git/config"), config).unwrap();
    (stage, ran)
}

/// Does everything that Bosun does in a repository. Failures do not matter here.
async fn work(stage: &Stage) -> Option<()> {
    let git = &stage.git;
    // Makes git read the files again.
    let touched = fs::File::options().write(true).open(git.folder().join("a.txt")).unwrap();
    touched.set_modified(std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(4_000_000_000)).unwrap();
    let repository = Repository::find(git).await.ok()?;
    let base_commit = BaseCommit::current(git).await.ok()?;
    let _not_committed = repository.snapshot_dirty(&stage.path().join("index"), "refs/bosun/test/dirty").await;
    let mut parts = Vec::new();
    for (name, text) in [("one", "one\n2\n3\n4\n5\n6\n7\n8\n9\n"), ("two", "1\n2\n3\n4\n5\n6\n7\n8\ntwo\n")] {
        let Ok(mut checkout) = stage.make(stage.id(), name).await else { continue };
        let _remarks = checkout.notes().await;
        fs::write(checkout.path().join("a.txt"), text).unwrap();
        let own: Git = git.in_folder(checkout.path());
        let _committed = own.run(&["commit", "-q", "-a", "-m", "x"], &[]).await;
        if let Ok(sealed) = checkout.seal().await {
            parts.push(MergePart { name: name.into(), title: String::new(), commit: sealed.commit });
        }
    }
    let by = Signature { name: "b".into(), email: "b@example.invalid".into() };
    let _clashes = git::predict(repository.git(), &base_commit.base, &parts).await;
    let joined = git::merge_all(repository.git(), &base_commit.base, &parts, &by).await.ok()?;
    let git::MergeOutcome::Merged(tip) = joined else { return None };
    let order = git::CheckoutRequest {
        id: stage.id(),
        name: "look".into(),
        title: String::new(),
        base: base_commit.base.clone(),
    };
    let root = stage.home.make_checkouts(stage.session).unwrap();
    let scratch = git::ScratchCheckout::create(&repository, &root, order).await.ok()?;
    let _shown = scratch.check_out(&tip).await;
    let landing =
        LandRequest { base_commit: &base_commit, tip: &tip, scratch: &scratch, mark_ref: "refs/bosun/test/landing" };
    let _landed = landing.land(git).await;
    for checkout in Checkout::all(git, &stage.home) {
        let _discarded = checkout.discard(&stage.home, protocol::Timestamp(1)).await;
    }
    Some(())
}

#[tokio::test]
async fn programs_named_only_by_a_repository_are_not_run() {
    for (name, settings, attributes) in TRICKS {
        let (stage, ran) = hostile(settings, attributes).await;
        let _as_far_as_it_gets = work(&stage).await;
        assert!(!ran.exists(), "{name}: {}", fs::read_to_string(&ran).unwrap());
    }
}

#[tokio::test]
async fn filter_whose_name_is_not_utf8_is_not_run() {
    let (stage, ran) = hostile("", b"*.txt filter=x\xff\n").await;
    let evil = stage.path().join("evil");
    let config = stage.git.folder().join(".git/config");
    let section = [&b"[filter \"x\xff\"]\n\tclean = "[..], evil.as_os_str().as_bytes(), b"\n"].concat();
    fs::write(&config, [fs::read(&config).unwrap(), section].concat()).unwrap();
    let _as_far_as_it_gets = work(&stage).await;
    assert!(!ran.exists());
}

#[tokio::test]
async fn filters_that_the_user_configured_still_run() {
    let (stage, ran) = hostile("", b"*.txt filter=mine\n").await;
    fs::write(
        stage.path().join(".gitconfig"),
        format!("[filter \"mine\"]\n\tsmudge = {}\n", stage.path().join("evil").display()),
    )
    .unwrap();
    stage.checkout("x").await;
    assert!(ran.exists(), "a filter of the user's own settings is the user's");
}

#[tokio::test]
async fn merges_work_without_the_merge_driver_of_the_repository() {
    let (stage, ran) = hostile("[merge \"x\"]\n\tdriver = EVIL\n", b"*.txt merge=x\n").await;
    work(&stage).await.unwrap();
    assert!(!ran.exists());
    let text = fs::read_to_string(stage.git.folder().join("a.txt")).unwrap();
    assert!(text.starts_with("one\n") && text.ends_with("two\n"), "{text}");
}

#[tokio::test]
async fn files_that_need_an_unsafe_filter_do_not_land() {
    let (stage, ran) = hostile("[filter \"x\"]\n\tsmudge = EVIL\n", b"*.txt filter=x\n").await;
    let base_commit = BaseCommit::current(&stage.git).await.unwrap();
    let mut checkout = stage.checkout("w").await;
    fs::write(checkout.path().join("b.txt"), "made\n").unwrap();
    let tip = checkout.seal().await.unwrap().commit;
    let order = git::CheckoutRequest {
        id: stage.id(),
        name: "look".into(),
        title: String::new(),
        base: base_commit.base.clone(),
    };
    let root = stage.home.make_checkouts(stage.session).unwrap();
    let repository = Repository::find(&stage.git).await.unwrap();
    let scratch = git::ScratchCheckout::create(&repository, &root, order).await.unwrap();
    let before = stage.belongings().await;
    let landing =
        LandRequest { base_commit: &base_commit, tip: &tip, scratch: &scratch, mark_ref: "refs/bosun/test/landing" };
    let error = landing.land(&stage.git).await.unwrap_err();
    assert_eq!(error, git::LandError::Filtered { filter: "x".into(), files: vec!["b.txt".into()] });
    assert!(stage.belongings().await == before && !ran.exists());
}

#[tokio::test]
async fn settings_with_another_work_tree_are_refused() {
    for folder in ["/", "../..", "../../elsewhere"] {
        let stage = Stage::new().await;
        fs::create_dir_all(stage.path().join("elsewhere")).unwrap();
        let folder = folder.replace("../../elsewhere", stage.path().join("elsewhere").to_str().unwrap());
        stage.git.run_checked(&["config", "core.worktree", &folder], &[]).await.unwrap();
        assert!(Repository::find(&stage.git).await.is_err(), "{folder}");
    }
}
