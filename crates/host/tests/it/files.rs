//! Files in a workspace: no access outside, no blocking, no partly written file.

use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use bosun_host::{ExpectedContent, FileError, Home, HomeError, PathError, Workspace};
use tempfile::TempDir;

use crate::machine::{as_ordinary_user, on_small_disks};

/// A workspace with `inside`, and `outside` beside it.
struct Scene {
    _folder: TempDir,
    inside: PathBuf,
    outside: PathBuf,
    workspace: Workspace,
}

fn scene() -> Scene {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().canonicalize().unwrap();
    let (inside, outside) = (base.join("inside"), base.join("outside"));
    fs::create_dir_all(inside.join("dir")).unwrap();
    fs::create_dir(&outside).unwrap();
    fs::write(inside.join("file"), "content").unwrap();
    fs::write(outside.join("secret"), "secret").unwrap();
    let workspace = Workspace::new(&inside, &[]).unwrap();
    Scene { _folder: folder, inside, outside, workspace }
}

impl Scene {
    fn read(&self, path: &str) -> Result<Vec<u8>, FileError> {
        self.workspace.resolve(path).unwrap().read(1024).map(|file| file.bytes)
    }

    fn refusal(&self, path: impl AsRef<Path>) -> PathError {
        self.workspace.resolve(path).unwrap_err()
    }

    /// The files in the workspace, temporary ones included.
    fn names(&self) -> Vec<String> {
        let names = fs::read_dir(&self.inside).unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<String> = names.map(|name| name.to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

#[test]
fn every_spelling_of_a_path_resolves_to_the_same_file() {
    let scene = scene();
    symlink("dir/..", scene.inside.join("here")).unwrap();
    let absolute = scene.inside.join("file");
    for path in ["file", "./file", "dir/../file", "here/file", "../inside/file", absolute.to_str().unwrap()] {
        let place = scene.workspace.resolve(path).unwrap();
        assert_eq!(place.path(), absolute, "{path}");
        assert_eq!(place.read(1024).unwrap().bytes, b"content", "{path}");
    }
}

#[test]
fn path_outside_is_refused_with_the_allowed_folders() {
    let scene = scene();
    symlink(scene.outside.join("secret"), scene.inside.join("to-file")).unwrap();
    symlink(&scene.outside, scene.inside.join("to-dir")).unwrap();
    symlink("/dev/zero", scene.inside.join("to-device")).unwrap();
    let absolute = scene.outside.join("secret");
    let paths = [
        "..",
        "../outside/secret",
        "../outside/new",
        "to-file",
        "to-dir",
        "to-dir/secret",
        "to-dir/new/deep",
        "to-device",
        "/",
        "/etc/passwd",
        "/proc/self/root/etc/passwd",
        "/proc/self/cwd/Cargo.toml",
        absolute.to_str().unwrap(),
    ];
    for path in paths {
        let error = scene.refusal(path);
        assert!(matches!(error, PathError::Outside { .. }), "{path}: {error:?}");
        assert!(error.to_string().ends_with(scene.inside.to_str().unwrap()), "{error}");
    }
}

#[test]
fn another_root_may_be_used_too() {
    let scene = scene();
    let workspace = Workspace::new(&scene.inside, std::slice::from_ref(&scene.outside)).unwrap();
    assert_eq!(workspace.resolve("../outside/secret").unwrap().read(1024).unwrap().bytes, b"secret");
    assert!(matches!(workspace.resolve("../else").unwrap_err(), PathError::Outside { .. }));
    assert!(Workspace::new(&scene.inside, &[scene.inside.join("missing")]).is_err());
}

#[test]
fn invalid_paths_are_refused_with_specific_errors() {
    let scene = scene();
    symlink("nowhere", scene.inside.join("dangling")).unwrap();
    symlink("loop", scene.inside.join("loop")).unwrap();
    assert!(matches!(scene.refusal(""), PathError::Invalid(_)));
    assert!(matches!(scene.refusal("a\0b"), PathError::Invalid(_)));
    assert!(matches!(scene.refusal("dangling"), PathError::Dangling(_)));
    assert!(matches!(scene.refusal("dangling/below"), PathError::Dangling(_)));
    assert!(matches!(scene.refusal("loop"), PathError::LinkLoop(_)));
    assert!(matches!(scene.refusal("file/below"), PathError::NotDirectory(_)));
    assert!(matches!(scene.refusal("missing/../file"), PathError::Missing(_)));
    assert!(matches!(scene.refusal("x".repeat(300)), PathError::TooLong(_)));
    assert!(matches!(scene.refusal("x/".repeat(3000)), PathError::TooLong(_)));
}

#[test]
fn link_created_after_the_check_is_not_followed() {
    let scene = scene();
    fs::write(scene.inside.join("dir/secret"), "harmless").unwrap();
    let (file, below) = (scene.workspace.resolve("file").unwrap(), scene.workspace.resolve("dir/secret").unwrap());
    let new = scene.workspace.resolve("dir/sub/new").unwrap();
    fs::remove_file(scene.inside.join("file")).unwrap();
    symlink(scene.outside.join("secret"), scene.inside.join("file")).unwrap();
    fs::remove_dir_all(scene.inside.join("dir")).unwrap();
    symlink(&scene.outside, scene.inside.join("dir")).unwrap();

    for place in [&file, &below] {
        assert!(matches!(place.read(1024).unwrap_err(), FileError::Replaced(_)));
        assert!(matches!(place.stamp().unwrap_err(), FileError::Replaced(_)));
        assert!(matches!(place.write(b"evil", ExpectedContent::Any).unwrap_err(), FileError::Replaced(_)));
        assert!(matches!(place.remove(ExpectedContent::Any).unwrap_err(), FileError::Replaced(_)));
    }
    assert!(matches!(scene.workspace.create_parents(&new).unwrap_err(), FileError::Replaced(_)));
    assert_eq!(fs::read_to_string(scene.outside.join("secret")).unwrap(), "secret");
    assert_eq!(fs::read_dir(&scene.outside).unwrap().count(), 1);
}

#[test]
fn only_regular_files_are_read_and_nothing_blocks() {
    let scene = scene();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        scene.inside.join("pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(scene.inside.join("socket")).unwrap();
    for (path, expected) in [("pipe", "named pipe"), ("socket", "socket")] {
        let error = scene.read(path).unwrap_err();
        assert!(matches!(error, FileError::Special { kind, .. } if kind == expected), "{error:?}");
        let error = scene.workspace.resolve(path).unwrap().write(b"x", ExpectedContent::Any).unwrap_err();
        assert!(matches!(error, FileError::Special { kind, .. } if kind == expected), "{error:?}");
    }
    assert!(matches!(scene.read("dir").unwrap_err(), FileError::Directory(_)));
    assert!(matches!(scene.read(".").unwrap_err(), FileError::Directory(_)));
    assert!(matches!(scene.read("missing").unwrap_err(), FileError::Missing(_)));
    let devices = Workspace::new(Path::new("/dev"), &[]).unwrap();
    let error = devices.resolve("zero").unwrap().read(1024).unwrap_err();
    assert!(matches!(error, FileError::Special { kind: "device", .. }), "{error:?}");
}

#[test]
fn too_large_file_is_refused_with_its_size() {
    let scene = scene();
    fs::write(scene.inside.join("empty"), "").unwrap();
    assert_eq!(scene.read("empty").unwrap(), b"");
    let place = scene.workspace.resolve("file").unwrap();
    assert_eq!(place.read(7).unwrap().bytes, b"content");
    let error = place.read(6).unwrap_err();
    assert!(matches!(error, FileError::TooLarge { size: 7, most: 6, .. }), "{error:?}");
    let system = Workspace::new(Path::new("/proc/sys/kernel"), &[]).unwrap();
    let error = system.resolve("version").unwrap().read(3).unwrap_err();
    assert!(matches!(error, FileError::TooLarge { .. }), "a file that hides its size is bounded too: {error:?}");
}

#[test]
fn file_names_need_not_be_utf8() {
    let scene = scene();
    let name = Path::new(OsStr::from_bytes(b"odd-\xff\xfe"));
    let place = scene.workspace.resolve(name).unwrap();
    place.write(b"odd", ExpectedContent::New).unwrap();
    assert_eq!(fs::read(scene.inside.join(name)).unwrap(), b"odd");
    assert_eq!(place.read(9).unwrap().bytes, b"odd");
    let longest = "n".repeat(255);
    scene.workspace.resolve(&longest).unwrap().write(b"long", ExpectedContent::New).unwrap();
    assert_eq!(scene.read(&longest).unwrap(), b"long");
}

#[test]
fn write_fails_unless_the_expected_content_is_there() {
    let scene = scene();
    let place = scene.workspace.resolve("file").unwrap();
    assert!(matches!(place.write(b"x", ExpectedContent::New).unwrap_err(), FileError::Exists(_)));
    let read = place.read(1024).unwrap();
    assert_eq!(place.stamp().unwrap(), read.stamp);
    let second = place.write(b"second", ExpectedContent::Unchanged(read.stamp)).unwrap();
    assert_eq!(place.read(1024).unwrap().stamp, second);
    assert!(matches!(
        place.write(b"third", ExpectedContent::Unchanged(read.stamp)).unwrap_err(),
        FileError::Changed(_)
    ));
    assert_eq!(scene.read("file").unwrap(), b"second");

    place.remove(ExpectedContent::Unchanged(second)).unwrap();
    assert!(matches!(place.remove(ExpectedContent::Any).unwrap_err(), FileError::Missing(_)));
    assert!(matches!(place.write(b"x", ExpectedContent::Unchanged(second)).unwrap_err(), FileError::Changed(_)));
    place.write(b"fourth", ExpectedContent::New).unwrap();
    place.write(b"fifth", ExpectedContent::Any).unwrap();
    assert_eq!(scene.read("file").unwrap(), b"fifth");
    assert_eq!(scene.names(), ["dir", "file"], "no draft is left");
}

#[test]
fn change_of_the_same_size_is_detected() {
    let scene = scene();
    let place = scene.workspace.resolve("file").unwrap();
    let stamp = place.read(1024).unwrap().stamp;
    fs::write(scene.inside.join("replacement"), "CONTENT").unwrap();
    fs::rename(scene.inside.join("replacement"), place.path()).unwrap();
    assert!(matches!(place.write(b"x", ExpectedContent::Unchanged(stamp)).unwrap_err(), FileError::Changed(_)));
}

#[test]
fn rewritten_file_keeps_its_mode_and_owner() {
    let scene = scene();
    let path = scene.inside.join("file");
    for mode in [0o755, 0o600, 0o644] {
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        scene.workspace.resolve("file").unwrap().write(b"new", ExpectedContent::Any).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, mode);
    }
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(&path, Some(65534), Some(65534)).unwrap();
        scene.workspace.resolve("file").unwrap().write(b"new", ExpectedContent::Any).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().uid(), 65534);
    }
}

#[test]
fn new_file_never_has_another_mode() {
    let scene = scene();
    let place = scene.workspace.resolve("fresh").unwrap();
    let stamp = place.write_new(b"secret", 0o4600).unwrap();
    assert_eq!(fs::metadata(place.path()).unwrap().mode() & 0o7777, 0o600, "and no set-user-id");
    assert_eq!(place.stamp().unwrap(), stamp);
    assert_eq!(place.read(100).unwrap().mode, 0o600);
    assert!(matches!(place.write_new(b"other", 0o644), Err(FileError::Exists(_))));
    assert_eq!(scene.read("fresh").unwrap(), b"secret");
}

#[test]
fn parent_folders_are_created_only_on_request() {
    let scene = scene();
    let place = scene.workspace.resolve("a/b/../b/c").unwrap_err();
    assert!(matches!(place, PathError::Missing(_)));
    let place = scene.workspace.resolve("a/b/c").unwrap();
    assert!(matches!(place.write(b"x", ExpectedContent::New).unwrap_err(), FileError::FolderMissing(_)));
    scene.workspace.create_parents(&place).unwrap();
    scene.workspace.create_parents(&place).unwrap();
    place.write(b"deep", ExpectedContent::New).unwrap();
    assert_eq!(scene.read("a/b/c").unwrap(), b"deep");
    assert!(matches!(
        scene.workspace.resolve(".").unwrap().write(b"x", ExpectedContent::Any),
        Err(FileError::Directory(_))
    ));
}

#[test]
fn a_deleted_workspace_is_an_error() {
    let scene = scene();
    let place = scene.workspace.resolve("file").unwrap();
    fs::remove_dir_all(&scene.inside).unwrap();
    assert!(matches!(scene.refusal("file"), PathError::WorkspaceGone(_)));
    assert!(matches!(place.read(1024).unwrap_err(), FileError::Missing(_)));
    assert!(Workspace::new(&scene.inside, &[]).is_err());
}

#[test]
fn full_or_read_only_disk_leaves_the_old_file_intact() {
    on_small_disks("files::full_or_read_only_disk_leaves_the_old_file_intact", |small, read_only| {
        let workspace = Workspace::new(small, &[read_only.to_owned()]).unwrap();
        let place = workspace.resolve("file").unwrap();
        place.write(b"content", ExpectedContent::New).unwrap();
        let error = place.write(&vec![b'x'; 1024 * 1024], ExpectedContent::Any).unwrap_err();
        assert!(matches!(error, FileError::Full(_)), "{error:?}");
        assert_eq!(place.read(1024).unwrap().bytes, b"content");
        let drafts = fs::read_dir(small).unwrap().filter(|entry| entry.as_ref().unwrap().path().extension().is_some());
        assert_eq!(drafts.count(), 0);

        let place = workspace.resolve(read_only.join("file")).unwrap();
        let error = place.write(b"x", ExpectedContent::Any).unwrap_err();
        assert!(matches!(error, FileError::ReadOnly(_)), "{error:?}");
        let error = Home::open(read_only.join("home")).unwrap_err();
        assert!(matches!(error, HomeError::ReadOnly(_)) && error.to_string().contains("BOSUN_HOME"), "{error:?}");
    });
}

#[test]
fn missing_permissions_are_reported() {
    as_ordinary_user("files::missing_permissions_are_reported", || {
        let scene = scene();
        let set =
            |path: &str, mode| fs::set_permissions(scene.inside.join(path), Permissions::from_mode(mode)).unwrap();
        let place = scene.workspace.resolve("file").unwrap();
        set("file", 0o000);
        assert!(matches!(place.read(1024).unwrap_err(), FileError::Forbidden(_)));
        set("file", 0o444);
        assert!(matches!(place.write(b"x", ExpectedContent::Any).unwrap_err(), FileError::Forbidden(_)));
        assert_eq!(scene.read("file").unwrap(), b"content");

        let below = scene.workspace.resolve("dir/new").unwrap();
        set("dir", 0o555);
        assert!(matches!(below.write(b"x", ExpectedContent::New).unwrap_err(), FileError::Forbidden(_)));
        let deep = scene.workspace.resolve("dir/deep/new").unwrap();
        assert!(matches!(scene.workspace.create_parents(&deep).unwrap_err(), FileError::Forbidden(_)));
        set("dir", 0o000);
        assert!(matches!(scene.refusal("dir/new"), PathError::Forbidden(_)));
        set("dir", 0o555);
        let error = Home::open(scene.inside.join("dir/home")).unwrap_err();
        assert!(matches!(error, HomeError::Forbidden(_)), "{error:?}");
        let error = Home::open("/".into()).unwrap_err();
        assert!(matches!(error, HomeError::Shared(_)), "everybody's folder: {error:?}");
        set("dir", 0o700);
    });
}

#[test]
fn walked_path_replaced_by_a_link_is_not_followed() {
    let outside = tempfile::tempdir().unwrap();
    let inside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("secret"), "secret").unwrap();
    fs::create_dir(inside.path().join("folder")).unwrap();
    fs::write(inside.path().join("folder/secret"), "ours").unwrap();
    let workspace = Workspace::new(inside.path(), &[]).unwrap();
    let walked = workspace.cwd().join("folder/secret");
    assert!(workspace.checked_path(&walked).unwrap().open().is_ok());
    fs::remove_dir_all(inside.path().join("folder")).unwrap();
    std::os::unix::fs::symlink(outside.path(), inside.path().join("folder")).unwrap();
    assert!(matches!(workspace.checked_path(&walked).unwrap().open(), Err(FileError::Replaced(_))));
    assert!(workspace.checked_path(&outside.path().join("secret")).is_none());
    assert!(workspace.checked_path(&workspace.cwd().join("../secret")).is_none_or(|place| place.open().is_err()));
}
