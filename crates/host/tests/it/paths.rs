//! Paths that an attacker would try: whether or not they work, nothing outside is read or changed.

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use bosun_host::{CheckedPath, EntryKind, ExpectedContent, FileError, PathError, Workspace};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use tempfile::TempDir;

/// A text that only the files outside contain.
const SECRET: &[u8] = b"secret";

/// A workspace with links that lead outside, and their targets.
struct Maze {
    _folder: TempDir,
    inside: PathBuf,
    outside: PathBuf,
    workspace: Workspace,
}

fn maze() -> Maze {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().canonicalize().unwrap();
    let (inside, outside) = (base.join("inside"), base.join("outside"));
    fs::create_dir_all(inside.join("dir/deep")).unwrap();
    fs::create_dir_all(outside.join("dir")).unwrap();
    for (path, bytes) in [("file", "ours"), ("dir/secret", "ours"), ("dir/deep/file", "ours")] {
        fs::write(inside.join(path), bytes).unwrap();
    }
    for path in ["secret", "file", "dir/secret"] {
        fs::write(outside.join(path), SECRET).unwrap();
    }
    let links = [
        ("to-file", outside.join("secret")),
        ("to-dir", outside.clone()),
        ("chain", "chain-2".into()),
        ("chain-2", "dir/chain-3".into()),
        ("dir/chain-3", "../../outside/secret".into()),
        ("loop", "loop-2".into()),
        ("loop-2", "loop".into()),
        ("dangling", outside.join("new")),
        ("system", "/proc/self/root".into()),
        ("here", "/proc/self/cwd".into()),
        ("stdin", "/dev/fd/0".into()),
        ("up", "..".into()),
        ("dir/top", "..".into()),
    ];
    for (link, target) in links {
        symlink(target, inside.join(link)).unwrap();
    }
    let workspace = Workspace::new(&inside, &[]).unwrap();
    Maze { _folder: folder, inside, outside, workspace }
}

impl Maze {
    /// All files outside, with their content and change time.
    fn outside(&self) -> Vec<(PathBuf, Vec<u8>, i64, i64)> {
        let mut open = vec![self.outside.clone()];
        let mut seen = Vec::new();
        while let Some(path) = open.pop() {
            let found = path.symlink_metadata().unwrap();
            if found.is_dir() {
                open.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            }
            let bytes = fs::read(&path).unwrap_or_default();
            seen.push((path, bytes, found.mtime(), found.mtime_nsec()));
        }
        seen.sort();
        seen
    }

    /// Reads and lists the path, if it resolves.
    fn look(&self, path: impl AsRef<Path>) {
        let path = path.as_ref();
        if let Ok(place) = self.workspace.resolve(path) {
            assert!(place.path().starts_with(&self.inside), "{} leads to {}", path.display(), place.path().display());
            assert!(!reads_secret(&place), "{}", path.display());
            let listed: Vec<_> = place.open_folder_to_list().into_iter().flatten().flatten().collect();
            assert!(listed.iter().all(|entry| entry.name != "inside"), "{}: {listed:?}", path.display());
        }
    }

    /// Writes the path and removes it again, if it resolves.
    fn change(&self, path: impl AsRef<Path>) {
        if let Ok(place) = self.workspace.resolve(path) {
            let before = place.read(1024).ok();
            // It may fail.
            let _made = self.workspace.create_parents(&place);
            let _written = place.write(b"changed", ExpectedContent::Any);
            match before {
                Some(before) => drop(place.write(&before.bytes, ExpectedContent::Any)),
                None => drop(place.remove(ExpectedContent::Any)),
            }
        }
    }
}

fn reads_secret(place: &CheckedPath) -> bool {
    place.read(1024).is_ok_and(|file| file.bytes == SECRET)
}

/// Every path of up to four of these parts.
fn combinations() -> impl Iterator<Item = String> {
    const PARTS: [&str; 12] =
        ["..", ".", "", "dir", "deep", "file", "secret", "outside", "inside", "to-dir", "up", "top"];
    (1..=4_u32).flat_map(|length| {
        (0..PARTS.len().pow(length)).map(move |mut number| {
            let part = |_| {
                let part = PARTS[number % PARTS.len()];
                number /= PARTS.len();
                part
            };
            (0..length).map(part).collect::<Vec<_>>().join("/")
        })
    })
}

#[test]
fn no_combination_of_path_parts_leads_outside() {
    let maze = maze();
    for path in combinations().filter(|path| !path.starts_with('/')) {
        maze.look(&path);
    }
}

/// Paths that are not combinations of parts.
fn tricks(maze: &Maze) -> Vec<String> {
    let (inside, outside) = (maze.inside.display(), maze.outside.display());
    let deep = "dir/".repeat(1250);
    let climb = "../".repeat(1666);
    let mut tricks: Vec<String> = [
        "to-file",
        "to-dir",
        "to-dir/secret",
        "to-dir/new",
        "to-dir/../outside/secret",
        "to-dir/dir/../secret",
        "chain",
        "chain-2",
        "dir/chain-3",
        "chain/..",
        "loop",
        "loop/secret",
        "loop-2/../file",
        "dangling",
        "dangling/new",
        "system",
        "system/etc/passwd",
        "here",
        "here/Cargo.toml",
        "stdin",
        "stdin/..",
        "up/outside/secret",
        "dir/top/../outside/secret",
        "file/",
        "file/.",
        "file/..",
        "file/../../outside/secret",
        "dir/",
        "dir/.",
        "dir//",
        "dir/./.",
        "...",
        "..file",
        "dir/...",
        ". ./file",
        " ../outside/secret",
        "../outside/secret ",
        "~",
        "~/secret",
        "~root/x",
        "$HOME",
        "%2e%2e/outside/secret",
        "..%2foutside",
        "..\\outside\\secret",
        "file:///etc/passwd",
        "\u{ff0e}\u{ff0e}/outside/secret",
        "\u{2025}/outside/secret",
        "..\u{2215}outside",
        "..\u{200b}/outside/secret",
        "FILE",
        "Dir/Secret",
        "f\u{131}le",
        "fi\u{301}le",
        "\u{fb01}le",
        "file\u{0}",
        "file\n",
        "new\nline",
        "\u{1b}[2Jx",
        "\u{202e}txt",
        "\r",
        "\t",
        "-rf",
        "*",
        "?",
        "[a-z]",
        "{a,b}",
        "/",
        "//",
        "/..",
        "/../..",
        "/dev/fd/0",
        "/dev/stdin",
        "/proc/self/cwd/../..",
        "/proc/self/exe",
        "/proc/1/root/etc/passwd",
        "/etc/passwd",
    ]
    .map(str::to_owned)
    .to_vec();
    tricks.extend([
        format!("/proc/self/root{outside}/secret"),
        format!("/proc/self/root{inside}/to-file"),
        format!("/proc/self/root/proc/self/root{outside}/secret"),
        format!("/proc/thread-self/root{outside}/secret"),
        format!("{inside}/../outside/secret"),
        format!("{inside}/./to-dir/secret"),
        format!("{inside}x/secret"),
        format!("/{outside}/secret"),
        format!("{outside}/secret"),
        format!("{outside}/../inside/to-file"),
        format!("{deep}file"),
        format!("{climb}etc/passwd"),
        "n".repeat(300),
        format!("dir/{}", "n".repeat(300)),
        "n".repeat(5000),
        "dir/../".repeat(600) + "../outside/secret",
    ]);
    tricks
}

#[test]
fn no_path_trick_leads_outside() {
    let maze = maze();
    let before = maze.outside();
    for path in tricks(&maze) {
        maze.look(&path);
        maze.change(&path);
        assert_eq!(maze.outside(), before, "{path:?}");
    }
    assert_eq!(fs::read(maze.inside.join("file")).unwrap(), b"ours");
}

#[test]
fn path_that_leaves_and_reenters_the_workspace_is_allowed() {
    let maze = maze();
    let inside = maze.inside.display();
    for path in [format!("/proc/self/root{inside}/file"), "dir/top/file".into(), "up/inside/dir/../file".into()] {
        let place = maze.workspace.resolve(&path).unwrap();
        assert_eq!(place.path(), maze.inside.join("file"), "{path}");
    }
}

/// Exchanges a file or folder and a link to the outside, again and again, while `attempt` is made.
fn race(maze: &Maze, name: &str, target: &str, mut attempt: impl FnMut()) {
    let (real, link) = (maze.inside.join(name), maze.inside.join("decoy"));
    symlink(maze.outside.join(target), &link).unwrap();
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                renameat_with(CWD, &real, CWD, &link, RenameFlags::EXCHANGE).unwrap();
            }
        });
        let began = Instant::now();
        for _ in 0..ATTEMPTS {
            attempt();
            if began.elapsed() > LONGEST {
                break;
            }
        }
        is_over.store(true, Ordering::Relaxed);
    });
}

const ATTEMPTS: usize = 20_000;
const LONGEST: Duration = Duration::from_secs(2);

#[test]
fn swapping_a_file_for_a_link_never_leads_outside() {
    let maze = maze();
    let before = maze.outside();
    let mut read = 0;
    race(&maze, "file", "secret", || {
        if let Ok(place) = maze.workspace.resolve("file") {
            assert!(!reads_secret(&place));
            read += usize::from(place.read(1024).is_ok());
            let _written = place.write(b"ours", ExpectedContent::Any);
        }
    });
    assert!(read > 0, "the file itself can be read");
    assert_eq!(maze.outside(), before);
}

#[test]
fn swapping_a_folder_for_a_link_never_leads_outside() {
    let maze = maze();
    let before = maze.outside();
    let mut read = 0;
    race(&maze, "dir", "dir", || {
        let Ok(place) = maze.workspace.resolve("dir/secret") else { return };
        assert!(!reads_secret(&place));
        read += usize::from(place.read(1024).is_ok());
        if let Ok(new) = maze.workspace.resolve("dir/sub/new") {
            let _made = maze.workspace.create_parents(&new);
            let _written = new.write(b"new", ExpectedContent::Any);
            let _removed = new.remove(ExpectedContent::Any);
        }
        let listed = maze.workspace.resolve("dir").map(|place| place.open_folder_to_list());
        // The folder outside has no folder in it.
        if let Ok(Ok(folder)) = listed {
            assert!(folder.flatten().any(|entry| entry.kind == EntryKind::Folder));
        }
    });
    assert!(read > 0, "the file itself can be read");
    assert_eq!(maze.outside(), before);
}

#[test]
fn writing_through_a_hard_link_creates_a_separate_file() {
    // A hard link is no way out that could be seen: what it names is in the workspace as much as anywhere else. So it
    // can be read, by whoever was able to make it; writing it puts another file there and leaves the first as it was.
    let maze = maze();
    fs::hard_link(maze.outside.join("secret"), maze.inside.join("second")).unwrap();
    let place = maze.workspace.resolve("second").unwrap();
    assert_eq!(place.read(1024).unwrap().bytes, SECRET);
    place.write(b"changed", ExpectedContent::Any).unwrap();
    assert_eq!(fs::read(maze.outside.join("secret")).unwrap(), SECRET);
    assert_eq!(fs::read(maze.inside.join("second")).unwrap(), b"changed");
    fs::hard_link(maze.outside.join("file"), maze.inside.join("third")).unwrap();
    maze.workspace.resolve("third").unwrap().remove(ExpectedContent::Any).unwrap();
    assert_eq!(fs::read(maze.outside.join("file")).unwrap(), SECRET);
}

#[test]
fn workspace_replaced_by_a_link_is_not_followed() {
    let maze = maze();
    let before = maze.outside();
    let earlier = maze.workspace.resolve("file").unwrap();
    fs::rename(&maze.inside, maze.inside.with_file_name("moved")).unwrap();
    symlink(&maze.outside, &maze.inside).unwrap();
    assert_eq!(earlier.read(1024).unwrap().bytes, b"ours", "the folder stays what it was");
    assert!(matches!(maze.workspace.resolve("file"), Err(PathError::Outside { .. })));
    let walked = maze.workspace.checked_path(&maze.inside.join("dir/secret")).unwrap();
    assert!(!reads_secret(&walked));
    earlier.write(b"later", ExpectedContent::Any).unwrap();
    assert_eq!(maze.outside(), before);
}

#[test]
fn folder_listing_has_names_and_kinds_and_follows_no_link() {
    let maze = maze();
    let folder = maze.workspace.resolve("dir").unwrap();
    let mut listed: Vec<_> = folder.open_folder_to_list().unwrap().map(|entry| entry.unwrap()).collect();
    listed.sort_by(|a, b| a.name.cmp(&b.name));
    let listed: Vec<_> = listed.iter().map(|entry| (entry.name.to_str().unwrap(), entry.kind)).collect();
    let link = EntryKind::Link;
    assert_eq!(listed, [("chain-3", link), ("deep", EntryKind::Folder), ("secret", EntryKind::File), ("top", link)]);
    assert!(maze.workspace.resolve("file").unwrap().open_folder_to_list().is_err());
    fs::rename(maze.inside.join("dir"), maze.inside.join("away")).unwrap();
    symlink(&maze.outside, maze.inside.join("dir")).unwrap();
    assert!(matches!(folder.open_folder_to_list(), Err(FileError::Replaced(_))));
    assert!(folder.exists(), "something is there, and cannot be used");
    assert!(!maze.workspace.resolve("nothing").unwrap().exists());
}
