//! Hostile and unusual actions in a checkout, in any combination: cleanup removes nothing outside and loses no work.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use git::{Checkout, DiscardOutcome, Git};
use protocol::Timestamp;

use crate::stage::Stage;

/// Actions in a checkout. Each leaves work behind that cleanup must keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Deed {
    /// A link to a folder outside, and one to the user's repository.
    Links,
    /// A link that leads to itself, and one to the folder above.
    Loops,
    /// A repository inside, with a commit.
    Nested,
    /// A repository inside that has no commit.
    Unborn,
    /// A repository inside without files.
    Bare,
    /// A repository in a repository in a folder.
    Deep,
    /// A submodule with a commit of its own.
    Submodule,
    /// A deinitialised submodule: its commit is only in the checkout's repository.
    Deinit,
    /// A commit on a detached HEAD, which then moved away.
    Detached,
    /// A commit that was reset.
    Reset,
    /// A stash.
    Stash,
    /// A branch without common history.
    Orphan,
    /// A linked worktree inside.
    Worktree,
    /// An index that cannot be read.
    BadIndex,
    /// A stale lock of the index.
    Locked,
    /// Settings with another work tree.
    Elsewhere,
    /// The link to the user's objects is removed.
    NoAlternates,
    /// The repository is gone.
    NoRepository,
    /// The repository is a link to the user's.
    UsersRepository,
    /// The repository is a file that refers to the user's.
    UsersFile,
    /// Folders nested deeper than removals go in place.
    Abyss,
    /// A file name with a line break.
    OddName,
}

use Deed::*;

const ALL: [Deed; 22] = [
    Links,
    Loops,
    Nested,
    Unborn,
    Bare,
    Deep,
    Submodule,
    Deinit,
    Detached,
    Reset,
    Stash,
    Orphan,
    Worktree,
    BadIndex,
    Locked,
    Elsewhere,
    NoAlternates,
    NoRepository,
    UsersRepository,
    UsersFile,
    Abyss,
    OddName,
];

/// Work that must be kept.
#[derive(Debug)]
enum Work {
    /// A line in a file.
    Line(String),
    /// A commit.
    Commit(String),
}

/// A checkout and the actions in it.
struct Scene<'a> {
    stage: &'a Stage,
    path: PathBuf,
    number: usize,
    work: Vec<Work>,
    /// The git commands that failed because of an earlier action.
    undone: Vec<String>,
}

impl Scene<'_> {
    fn git(&self, below: &str) -> Git {
        // A repository that was broken on purpose must not lead to one above it.
        self.stage.git.in_folder(self.path.join(below)).with_env("GIT_CEILING_DIRECTORIES", self.path.parent().unwrap())
    }

    /// Runs git commands, with arguments split at spaces. Commands that an earlier action made impossible are recorded.
    async fn run(&mut self, below: &str, commands: &[&str]) -> bool {
        let git = self.git(below);
        if !self.path.join(".git").symlink_metadata().is_ok_and(|found| found.is_dir()) {
            return false;
        }
        for command in commands {
            let args: Vec<&str> =
                ["-c", "user.name=a", "-c", "user.email=a@b"].into_iter().chain(command.split(' ')).collect();
            if let Err(error) = git.run_checked(&args, &[]).await {
                self.undone.push(error.to_string());
                return false;
            }
        }
        true
    }

    /// Writes a line that no other action writes.
    fn write(&mut self, name: &str) {
        let line = format!("line {} of {}", self.work.len(), self.number);
        let path = self.path.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("{line}\n")).unwrap();
        self.work.push(Work::Line(line));
    }

    /// Commits everything in a folder, and remembers the commit.
    async fn commit(&mut self, below: &str) -> bool {
        let done = self.run(below, &["add -A", &format!("commit -q --allow-empty -m {}", self.number)]).await;
        if done && let Ok(commit) = self.git(below).text(&["rev-parse", "HEAD"]).await {
            self.work.push(Work::Commit(commit));
        }
        done
    }

    async fn make_inner(&mut self, below: &str) {
        fs::create_dir_all(self.path.join(below)).unwrap();
        self.run(below, &["init -q"]).await;
        self.write(&format!("{below}/inner.txt"));
        self.commit(below).await;
    }

    async fn add_submodule(&mut self) {
        let from = self.stage.path().join("library");
        let added = self.run("", &[&format!("submodule --quiet add --force {} library", from.display())]).await;
        if added && self.path.join("library/.git").exists() {
            self.commit("library").await;
        }
    }

    async fn act(&mut self, deed: Deed) {
        let (outside, repo) = (self.stage.path().join("outside"), self.stage.git.folder().to_owned());
        let own = self.path.join(".git");
        let link = |to: &Path, name: &str| drop(symlink(to, self.path.join(name)));
        match deed {
            Links => [(&outside, "out"), (&repo, "repo")].into_iter().for_each(|(to, name)| link(to, name)),
            Loops => [("self", "self"), ("..", "up")].into_iter().for_each(|(to, name)| link(Path::new(to), name)),
            Nested => self.make_inner("nested").await,
            Unborn => {
                self.write("unborn/file.txt");
                self.run("unborn", &["init -q"]).await;
            }
            Bare => {
                self.run("", &["init -q --bare bare.git"]).await;
                self.write("bare.git/description");
            }
            Deep => {
                self.make_inner("x/y/outer").await;
                self.make_inner("x/y/outer/z/inner").await;
            }
            Submodule => self.add_submodule().await,
            Deinit => {
                self.add_submodule().await;
                self.run("", &["submodule --quiet deinit --force library"]).await;
            }
            Detached => {
                self.write("detached.txt");
                if self.run("", &["checkout -q --detach"]).await && self.commit("").await {
                    self.run("", &["checkout -q HEAD~1"]).await;
                }
            }
            Reset => {
                self.write("reset.txt");
                if self.commit("").await {
                    self.run("", &["reset -q --hard HEAD~1"]).await;
                }
            }
            Stash => {
                self.write("stash.txt");
                self.run("", &["add -A", "stash -q"]).await;
            }
            Orphan => {
                self.write("orphan.txt");
                self.run("", &["checkout -q --orphan other"]).await;
                self.commit("").await;
            }
            Worktree => {
                self.run("", &["worktree add -q -b side-work side"]).await;
                self.write("side/dirty.txt");
            }
            BadIndex => drop(fs::write(own.join("index"), "no index")),
            Locked => drop(fs::write(own.join("index.lock"), "")),
            Elsewhere => {
                let elsewhere = format!("config core.worktree {}", outside.display());
                self.run("", &[&elsewhere, "config core.excludesFile /dev/null"]).await;
            }
            NoAlternates => drop(fs::remove_file(own.join("objects/info/alternates"))),
            // Commits in it can no longer be found.
            NoRepository | UsersRepository | UsersFile => {
                let moved = self.path.join(format!("moved-{deed:?}"));
                drop(fs::rename(&own, moved));
                match deed {
                    UsersRepository => drop(symlink(repo.join(".git"), &own)),
                    UsersFile => drop(fs::write(&own, format!("gitdir: {}/.git\n", repo.display()))),
                    _ => {}
                }
            }
            Abyss => {
                self.write(&format!("{}bottom.txt", "d/".repeat(150)));
            }
            OddName => self.write("odd\nname\t\"'.txt"),
        }
        self.write(&format!("after-{deed:?}.txt"));
    }
}

/// Every file below a folder; links are not followed.
fn below(folder: &Path, all: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        match path.symlink_metadata() {
            Ok(found) if found.is_dir() => below(&path, all),
            Ok(found) if found.is_file() => all.push(path),
            _ => {}
        }
    }
}

/// Fails unless all work is in the user's repository under Bosun's refs, or in the trash.
async fn check_found(stage: &Stage, work: &[Work], told: &str) {
    let patches =
        stage.git.run_checked(&["log", "-p", "-m", "--root", "--text", "--glob=refs/bosun", "--format=%H"], &[]).await;
    // With the end of its last line, which may be the work.
    let patches = String::from_utf8_lossy(&patches.unwrap().stdout).into_owned();
    let mut files = Vec::new();
    below(&stage.home.trash_dir(), &mut files);
    let texts: Vec<Vec<u8>> = files.iter().map(|file| fs::read(file).unwrap()).collect();
    for work in work {
        let is_found = match work {
            Work::Line(line) => {
                let has = |text: &Vec<u8>| text.windows(line.len()).any(|part| part == line.as_bytes());
                patches.contains(&format!("+{line}\n"))
                    || texts.iter().any(has)
                    || is_object(&files, &blob(stage, line).await)
            }
            Work::Commit(commit) => patches.lines().any(|line| line == commit) || is_object(&files, commit),
        };
        assert!(is_found, "{told}: {work:?} is lost; kept is\n{patches}");
    }
}

/// The object id of a file with this line.
async fn blob(stage: &Stage, line: &str) -> String {
    stage.git.run_checked(&["hash-object", "--stdin"], format!("{line}\n").as_bytes()).await.unwrap().run_for_text()
}

/// Whether one of these files is this object of a repository.
fn is_object(files: &[PathBuf], id: &str) -> bool {
    let end = PathBuf::from(&id[..2]).join(&id[2..]);
    files.iter().any(|file| file.ends_with(&end))
}

/// Runs these actions in a checkout and then removes it.
async fn survives(stage: &Stage, number: usize, deeds: &[Deed]) {
    let checkout = stage.checkout(&format!("worker {number}")).await;
    let path = checkout.path().to_owned();
    let mut scene = Scene { stage, path: path.clone(), number, work: Vec::new(), undone: Vec::new() };
    for deed in deeds {
        scene.act(*deed).await;
    }
    let Scene { work, undone, .. } = scene;
    assert!(deeds.len() > 1 || undone.is_empty(), "{deeds:?}: {undone:?}");
    let mut told = format!("{number}: {deeds:?}");
    let done = checkout.discard(&stage.home, Timestamp(number as u64)).await;
    told += &format!(" -> {done:?}");
    assert!(matches!(done, Ok(DiscardOutcome::Removed(_) | DiscardOutcome::Trashed { .. })), "{told}");
    assert!(path.symlink_metadata().is_err(), "{told}: it is still there");
    check_found(stage, &work, &told).await;
}

/// A stage with files around the repository that must not change.
async fn surrounded() -> Stage {
    let mut stage = Stage::new().await;
    // Commits of one moment: git lists work last that is as old as what it began with.
    stage.git = stage.git.with_env("GIT_COMMITTER_DATE", "2026-01-01T00:00:00Z");
    fs::create_dir(stage.path().join("outside")).unwrap();
    fs::write(stage.path().join("outside/kept"), "kept").unwrap();
    stage.git.run_checked(&["clone", "-q", ".", "../library"], &[]).await.unwrap();
    stage
}

async fn check_surroundings(stage: &Stage, before: &std::collections::BTreeMap<String, Vec<u8>>) {
    assert_eq!(fs::read_to_string(stage.path().join("outside/kept")).unwrap(), "kept");
    assert_eq!(fs::read_dir(stage.path().join("outside")).unwrap().count(), 1);
    assert_eq!(&stage.belongings().await, before);
    assert!(Checkout::all(&stage.git, &stage.home).is_empty());
    stage.git.run_checked(&["fsck", "--connectivity-only", "--no-dangling"], &[]).await.unwrap();
}

#[tokio::test]
async fn each_hostile_action_loses_nothing_and_changes_nothing_outside() {
    let stage = surrounded().await;
    let before = stage.belongings().await;
    for (number, deed) in ALL.into_iter().enumerate() {
        survives(&stage, number, &[deed]).await;
    }
    check_surroundings(&stage, &before).await;
}

#[tokio::test]
async fn any_mix_of_hostile_actions_loses_nothing_and_changes_nothing_outside() {
    let stage = surrounded().await;
    let before = stage.belongings().await;
    let mut dice: u64 = 6;
    let mut roll = |most: usize| {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (dice >> 33) as usize % most
    };
    for number in 0..30 {
        let mut deeds: Vec<Deed> = Vec::new();
        while deeds.len() < 2 + number % 4 {
            let deed = ALL[roll(ALL.len())];
            // Each action once, so that none overwrites the work of another.
            if !deeds.contains(&deed) {
                deeds.push(deed);
            }
        }
        // What the deeds themselves do to the checkout must not be done outside: that is not what is tested.
        deeds.sort_by_key(|deed| matches!(deed, Elsewhere | NoRepository | UsersRepository | UsersFile));
        survives(&stage, number, &deeds).await;
    }
    check_surroundings(&stage, &before).await;
}
