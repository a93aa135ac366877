//! A landing loses no file of the user: neither files at paths of the result, nor files saved meanwhile.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use git::{BaseCommit, LandError, LandOutcome, LandRequest};

use super::branches::{Edit, branch, write};
use super::head;
use crate::stage::Stage;

const MARK: &str = "refs/bosun/test/landing";

/// Files in the user's work tree that are in no commit.
#[derive(Debug, Clone, Copy)]
enum Mine {
    File(&'static str),
    Link(&'static str, &'static str),
    Folder(&'static str),
}
use Mine::{File, Folder, Link};

struct Case {
    name: &'static str,
    mine: &'static [Mine],
    /// The files that a worker wrote and removed.
    writes: &'static [&'static str],
    removes: &'static [&'static str],
    /// The reported obstacles; none if the result lands.
    in_the_way: &'static [&'static str],
}

const NOTHING: Case = Case { name: "", mine: &[], writes: &[], removes: &[], in_the_way: &[] };

#[rustfmt::skip]
const CASES: &[Case] = &[
    Case { name: "an ignored file", mine: &[File(".env")], writes: &[".env"], in_the_way: &[".env"], ..NOTHING },
    Case { name: "an ignored file in a folder", mine: &[File("tmp/a.log")], writes: &["tmp/a.log"], in_the_way: &["tmp/a.log"], ..NOTHING },
    Case { name: "an ignored folder where a file comes", mine: &[File("build/out/a")], writes: &["build"], in_the_way: &["build/out/a"], ..NOTHING },
    Case { name: "an ignored file where a folder comes", mine: &[File("build")], writes: &["build/deep/a"], in_the_way: &["build"], ..NOTHING },
    Case { name: "a file that is not ignored", mine: &[File("new.txt")], writes: &["new.txt"], in_the_way: &["new.txt"], ..NOTHING },
    Case { name: "a folder where a file comes", mine: &[File("new/a")], writes: &["new"], in_the_way: &["new/a"], ..NOTHING },
    Case { name: "a link", mine: &[Link("cache", "/nowhere")], writes: &["cache"], in_the_way: &["cache"], ..NOTHING },
    Case { name: "a link where a folder comes", mine: &[Folder("elsewhere"), Link("build", "elsewhere")], writes: &["build/a"], in_the_way: &["build"], ..NOTHING },
    Case { name: "a link to a file that is tracked", mine: &[Link(".env", "kept.txt")], writes: &[".env"], in_the_way: &[".env"], ..NOTHING },
    Case { name: "a file in a folder that is removed", mine: &[File("dir/secret.log")], writes: &["dir"], removes: &["dir/one.txt", "dir/two.txt"], in_the_way: &["dir/secret.log"] },
    Case { name: "a repository in a folder that becomes a file", mine: &[File("build/.git/HEAD")], writes: &["build"], in_the_way: &["build/.git/HEAD"], ..NOTHING },
    Case { name: "several", mine: &[File(".env"), File("a.log"), File("b.log")], writes: &[".env", "a.log", "b.log"], in_the_way: &[".env", "a.log", "b.log"], ..NOTHING },
    Case { name: "a name with blanks", mine: &[File("x  y.log")], writes: &["x  y.log"], in_the_way: &["x  y.log"], ..NOTHING },
    Case { name: "an empty folder", mine: &[Folder("build/deep/er")], writes: &["build"], ..NOTHING },
    Case { name: "a folder becomes a file", writes: &["dir"], removes: &["dir/one.txt", "dir/two.txt"], ..NOTHING },
    Case { name: "a file becomes a folder", writes: &["kept.txt/inside"], removes: &["kept.txt"], ..NOTHING },
    Case { name: "a removed file beside an ignored one", mine: &[File("dir/secret.log")], removes: &["dir/one.txt", "dir/two.txt"], ..NOTHING },
    Case { name: "a new file beside an ignored one", mine: &[File("build/mine")], writes: &["build/theirs.txt"], ..NOTHING },
    Case { name: "an ignored folder that is not concerned", mine: &[File("build/mine"), File(".env")], writes: &["kept.txt", "new/a"], ..NOTHING },
];

async fn scene() -> Stage {
    let stage = Stage::new().await;
    fs::create_dir(stage.git.folder().join("dir")).unwrap();
    stage.write(".gitignore", ".env\n*.log\nbuild\ncache\ntmp/\nelsewhere\n");
    for name in ["kept.txt", "dir/one.txt", "dir/two.txt"] {
        stage.write(name, "old\n");
    }
    stage.git.run_checked(&["add", "-A"], &[]).await.unwrap();
    stage.git.run_checked(&["commit", "-q", "-m", "second"], &[]).await.unwrap();
    stage
}

fn put(top: &Path, mine: Mine) {
    let (File(name) | Link(name, _) | Folder(name)) = mine;
    let path = top.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    match mine {
        File(_) => fs::write(&path, "mine\n").unwrap(),
        Link(_, to) => symlink(to, &path).unwrap(),
        Folder(_) => fs::create_dir_all(&path).unwrap(),
    }
}

fn is_mine(top: &Path, mine: Mine) -> bool {
    match mine {
        File(name) => fs::read_to_string(top.join(name)).is_ok_and(|text| text == "mine\n"),
        Link(name, to) => fs::read_link(top.join(name)).is_ok_and(|found| found == Path::new(to)),
        Folder(_) => true,
    }
}

/// Fails if a folder of Bosun is left.
fn leftovers(top: &Path) -> Vec<String> {
    let all = [top.to_owned(), top.join(".git")].into_iter().flat_map(|folder| fs::read_dir(folder).unwrap().flatten());
    let names = all.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.contains("bosun-landing") || name.ends_with(".lock")).collect()
}

#[tokio::test]
async fn landing_never_overwrites_untracked_or_ignored_files() {
    for case in CASES {
        let stage = scene().await;
        let (top, name) = (stage.git.folder().to_owned(), case.name);
        let base_commit = BaseCommit::current(&stage.git).await.unwrap();
        let removed = case.removes.iter().map(|path| Edit::Remove((*path).into()));
        let edits: Vec<Edit> = removed.chain(case.writes.iter().map(|path| write(path, "theirs\n"))).collect();
        let part = branch(&stage, &base_commit.base, "work", edits).await;
        let scratch = super::scratch(&stage, &base_commit.head).await;
        case.mine.iter().for_each(|mine| put(&top, *mine));
        let before = stage.belongings().await;
        let landing = LandRequest { base_commit: &base_commit, tip: &part.commit, scratch: &scratch, mark_ref: MARK };
        let landed = landing.land(&stage.git).await;
        assert_eq!(leftovers(&top), Vec::<String>::new(), "{name}");
        for mine in case.mine {
            assert!(is_mine(&top, *mine), "{name}: {mine:?} is lost; {landed:?}");
        }
        if case.in_the_way.is_empty() {
            assert_eq!(landed, Ok(LandOutcome::Moved { from: base_commit.head.clone() }), "{name}");
            assert_eq!(stage.git.text(&["status", "--porcelain"]).await.unwrap(), "", "{name}");
            for path in case.writes {
                assert_eq!(fs::read_to_string(top.join(path)).unwrap(), "theirs\n", "{name}");
            }
            stage.git.run_checked(&["reset", "-q", "--keep", "ORIG_HEAD"], &[]).await.unwrap();
            for mine in case.mine {
                assert!(is_mine(&top, *mine), "{name}: {mine:?} is lost when the user takes it back");
            }
        } else {
            let names = case.in_the_way.iter().map(|path| (*path).to_owned()).collect();
            assert_eq!(landed, Err(LandError::InTheWay(names)), "{name}");
            assert!(stage.belongings().await == before, "{name}: a refused landing changed something");
        }
    }
}

#[tokio::test]
async fn edits_to_files_marked_as_unchanged_are_not_overwritten() {
    for mark in ["--assume-unchanged", "--skip-worktree"] {
        let stage = scene().await;
        let base_commit = BaseCommit::current(&stage.git).await.unwrap();
        let part = branch(&stage, &base_commit.base, "work", vec![write("kept.txt", "theirs\n")]).await;
        let scratch = super::scratch(&stage, &base_commit.head).await;
        stage.git.run_checked(&["update-index", mark, "kept.txt"], &[]).await.unwrap();
        stage.write("kept.txt", "mine\n");
        let landing = LandRequest { base_commit: &base_commit, tip: &part.commit, scratch: &scratch, mark_ref: MARK };
        let landed = landing.land(&stage.git).await;
        assert_eq!(fs::read_to_string(stage.git.folder().join("kept.txt")).unwrap(), "mine\n", "{mark} {landed:?}");
        assert!(landed.is_err(), "{mark}");
        assert_eq!(head(&stage).await, base_commit.head, "{mark}");
    }
}

/// A user who saves files all the time while thousands of them are moved loses none of them: what was saved is in its
/// place, or the whole landing was taken back.
#[tokio::test]
async fn files_saved_during_a_landing_are_kept() {
    const FILES: usize = 1_500;
    let name = |n: usize| format!("many/{n}.txt");
    let stage = scene().await;
    let top = stage.git.folder().to_owned();
    fs::create_dir(top.join("many")).unwrap();
    (0..FILES).for_each(|n| stage.write(&name(n), "old\n"));
    stage.git.run_checked(&["add", "-A"], &[]).await.unwrap();
    stage.git.run_checked(&["commit", "-q", "-m", "many"], &[]).await.unwrap();
    let base_commit = BaseCommit::current(&stage.git).await.unwrap();
    let part =
        branch(&stage, &base_commit.base, "work", (0..FILES).map(|n| write(&name(n), "theirs\n")).collect()).await;
    let scratch = super::scratch(&stage, &base_commit.head).await;
    for round in 0..4 {
        let over = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
        let (user, saver) = (top.clone(), over.clone());
        // Half of the saves write the file in place, the others put a new one there as editors do.
        let saves = std::thread::spawn(move || {
            let mut saved = Vec::new();
            let mut n = round * 7;
            // Begins when files are moved, after the check for changes.
            while !user.join(".git/refs/bosun/test/landing").exists() {
                if saver.load(std::sync::atomic::Ordering::Relaxed) {
                    return saved;
                }
                std::thread::yield_now();
            }
            while !saver.load(std::sync::atomic::Ordering::Relaxed) && saved.len() < 400 {
                n = (n + 601) % FILES;
                let (path, text) = (user.join(format!("many/{n}.txt")), format!("mine {n}\n"));
                let done = if n % 2 == 0 {
                    fs::OpenOptions::new()
                        .write(true)
                        .truncate(true)
                        .open(&path)
                        .and_then(|mut file| std::io::Write::write_all(&mut file, text.as_bytes()))
                } else {
                    let draft = user.join("many/draft.log");
                    fs::write(&draft, &text).and_then(|()| fs::rename(&draft, &path))
                };
                if done.is_ok() {
                    saved.push((path, text));
                }
            }
            saved
        });
        let landing = LandRequest { base_commit: &base_commit, tip: &part.commit, scratch: &scratch, mark_ref: MARK };
        let landed = landing.land(&stage.git).await;
        over.store(true, std::sync::atomic::Ordering::Relaxed);
        let saved = saves.join().unwrap();
        for (path, text) in &saved {
            let found = fs::read_to_string(path).unwrap();
            assert!(found == *text, "{} has {found:?} though {text:?} was saved; {landed:?}", path.display());
        }
        if landed.is_ok() {
            return;
        }
        stage.git.run_checked(&["reset", "-q", "--hard", base_commit.head.as_str()], &[]).await.unwrap();
    }
}

#[tokio::test]
async fn private_file_stays_private_after_a_landing() {
    let stage = scene().await;
    let path = stage.git.folder().join("kept.txt");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    let base_commit = BaseCommit::current(&stage.git).await.unwrap();
    let part = branch(&stage, &base_commit.base, "work", vec![write("kept.txt", "theirs\n")]).await;
    let scratch = super::scratch(&stage, &base_commit.head).await;
    let landing = LandRequest { base_commit: &base_commit, tip: &part.commit, scratch: &scratch, mark_ref: MARK };
    landing.land(&stage.git).await.unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::read_to_string(&path).unwrap(), "theirs\n");
}

#[tokio::test]
async fn linked_worktree_and_interrupted_landing_lose_nothing() {
    let stage = scene().await;
    let other = stage.path().join("linked");
    stage.git.run_checked(&["worktree", "add", "-q", "-b", "other", other.to_str().unwrap()], &[]).await.unwrap();
    let linked = stage.git.in_folder(&other);
    let base_commit = BaseCommit::current(&linked).await.unwrap();
    let part =
        branch(&stage, &base_commit.base, "work", vec![write("kept.txt", "theirs\n"), write("build/a", "x\n")]).await;
    let scratch = super::scratch(&stage, &base_commit.head).await;
    let landing = LandRequest { base_commit: &base_commit, tip: &part.commit, scratch: &scratch, mark_ref: MARK };
    fs::write(other.join("build"), "mine\n").unwrap();
    assert_eq!(landing.land(&linked).await, Err(LandError::InTheWay(vec!["build".into()])));
    // The same after the owner died during the landing.
    linked.run_checked(&["update-ref", MARK, part.commit.as_str()], &[]).await.unwrap();
    assert_eq!(landing.land(&linked).await, Err(LandError::InTheWay(vec!["build".into()])));
    assert_eq!(fs::read_to_string(other.join("build")).unwrap(), "mine\n");
    fs::remove_file(other.join("build")).unwrap();
    landing.land(&linked).await.unwrap();
    assert_eq!(linked.text(&["status", "--porcelain"]).await.unwrap(), "");
    assert_eq!(fs::read_to_string(other.join("kept.txt")).unwrap(), "theirs\n");
}
