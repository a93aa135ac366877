//! Removing and moving below a root, with links and other obstacles in the way.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use bosun_host::{make_below, move_below, remove_below};

#[test]
fn nothing_outside_is_removed_through_links() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir_all(at("root/one/inner")).unwrap();
    fs::create_dir_all(at("outside/deep")).unwrap();
    fs::write(at("outside/deep/kept"), "kept").unwrap();
    fs::write(at("root/one/inner/file"), "12345").unwrap();
    symlink(at("outside"), at("root/one/inner/link")).unwrap();
    symlink(at("outside"), at("root/away")).unwrap();
    let removed = remove_below(&at("root"), Path::new("one")).unwrap();
    assert_eq!(removed.entries, 4);
    remove_below(&at("root"), Path::new("away")).unwrap();
    symlink(at("outside"), at("root/away")).unwrap();
    for below in ["away/deep", "../outside", "/etc", "", ".", "one/../../outside"] {
        assert!(remove_below(&at("root"), Path::new(below)).is_err(), "{below}");
    }
    assert!(move_below(&at("root"), Path::new("away/deep"), Path::new("here")).is_err());
    assert!(make_below(&at("root"), Path::new("away/new")).is_err());
    assert_eq!(fs::read_to_string(at("outside/deep/kept")).unwrap(), "kept");
    assert!(!at("outside/new").exists());
}

#[test]
fn folders_of_any_depth_and_mode_are_removed() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("root");
    let mut deep = root.join("one");
    for _ in 0..300 {
        deep.push("d");
    }
    fs::create_dir_all(&deep).unwrap();
    fs::write(deep.join("file"), "x").unwrap();
    fs::create_dir(root.join("one/closed")).unwrap();
    fs::write(root.join("one/closed/file"), "x").unwrap();
    fs::set_permissions(root.join("one/closed"), fs::Permissions::from_mode(0o000)).unwrap();
    let removed = remove_below(&root, Path::new("one")).unwrap();
    assert_eq!((removed.entries, removed.bytes), (304, 2));
    assert_eq!(fs::read_dir(&root).unwrap().count(), 0, "nothing is left where deep folders were brought to");
}

#[test]
fn move_does_not_replace_an_existing_path() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    make_below(root, Path::new("a/b")).unwrap();
    make_below(root, Path::new("trash/b")).unwrap();
    assert!(move_below(root, Path::new("a/b"), Path::new("trash/b")).is_err());
    move_below(root, Path::new("a/b"), Path::new("trash/c")).unwrap();
    assert!(root.join("trash/c").is_dir() && !root.join("a/b").exists());
}
