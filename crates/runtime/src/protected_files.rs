//! Files that control Bosun itself, recognised by identity and not only by name: a symbolic or hard link to such a file
//! counts as that file.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::fs::{self, Metadata};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The files and folders that no call may reach.
#[derive(Debug)]
pub(crate) struct ControlFiles {
    names: Vec<PathBuf>,
    /// Folders inside them that calls may use.
    exempt: Vec<PathBuf>,
    /// Folders inside them whose files are not checked for hard links.
    unsearched: Vec<PathBuf>,
    /// The paths as named and as resolved, found on first use.
    paths: OnceLock<Vec<PathBuf>>,
    /// The files among them that have hard links, found on first use.
    hard_links: OnceLock<HardLinks>,
}

#[derive(Debug)]
enum HardLinks {
    Known(HashSet<(u64, u64)>),
    /// There are too many files to check: any file with hard links may be one of them.
    TooMany,
}

/// Maximum number of files and folders that are checked for hard links.
const MAX_SCANNED: usize = 200_000;

impl ControlFiles {
    /// The control files of these names.
    pub(crate) fn new(names: &[PathBuf], exempt: &[PathBuf], unsearched: Vec<PathBuf>) -> ControlFiles {
        let (names, exempt) = (names.to_owned(), exempt.to_owned());
        ControlFiles { names, exempt, unsearched, paths: OnceLock::new(), hard_links: OnceLock::new() }
    }

    /// Whether this is a control file, or below a control folder; the path must be absolute and free of links.
    pub(crate) fn contains(&self, path: &Path) -> bool {
        self.contains_path(path) || fs::symlink_metadata(path).is_ok_and(|file| self.contains_file(&file))
    }

    /// Whether the path is a control path or below one, even if no file exists there. A search checks every file with
    /// this, so paths are compared as bytes.
    pub(crate) fn contains_path(&self, path: &Path) -> bool {
        let normal = normalized(path);
        self.paths().iter().any(|control| is_within(&normal, control) && !self.is_exempt(path, control))
    }

    /// Whether a file is a hard link to a control file.
    pub(crate) fn contains_file(&self, file: &Metadata) -> bool {
        has_hard_links(file)
            && match self.hard_links.get_or_init(|| find_hard_links(self.paths(), &self.unsearched)) {
                HardLinks::Known(linked) => linked.contains(&identity(file)),
                HardLinks::TooMany => true,
            }
    }

    fn is_exempt(&self, path: &Path, control: &Path) -> bool {
        self.exempt.iter().any(|exempt| path.starts_with(exempt) && exempt.starts_with(control) && exempt != control)
    }

    fn paths(&self) -> &[PathBuf] {
        self.paths.get_or_init(|| {
            let mut resolver = PathResolver::default();
            let both = self.names.iter().flat_map(|path| [Some(path.clone()), resolver.resolve(path)]).flatten();
            both.map(|path| normalized(&path).into_owned()).collect()
        })
    }
}

/// The path without redundant parts: repeated and trailing slashes, and `.`.
fn normalized(path: &Path) -> Cow<'_, Path> {
    let bytes = path.as_os_str().as_bytes();
    let is_normal = !bytes.ends_with(b"/") && !bytes.windows(2).any(|two| matches!(two, b"//" | b"/."));
    if is_normal { Cow::Borrowed(path) } else { Cow::Owned(path.components().collect()) }
}

/// Whether a normalized path is the folder or lies below it.
fn is_within(path: &Path, folder: &Path) -> bool {
    let (path, folder) = (path.as_os_str().as_bytes(), folder.as_os_str().as_bytes());
    path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/") || folder == b"/")
}

/// Resolves many paths; a folder that several of them share is resolved once.
#[derive(Debug, Default)]
pub(crate) struct PathResolver(HashMap<PathBuf, Option<PathBuf>>);

impl PathResolver {
    /// The same as [`resolve_links`].
    pub(crate) fn resolve(&mut self, path: &Path) -> Option<PathBuf> {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return resolve_links(path) };
        if !self.0.contains_key(folder) {
            self.0.insert(folder.to_owned(), resolve_links(folder));
        }
        let resolved = self.0.get(folder)?.as_ref()?.join(name);
        if resolved.read_link().is_ok() { resolve_links(path) } else { Some(resolved) }
    }
}

/// The path with links resolved, as far as it exists. A dangling link resolves to the file that would be created.
pub(crate) fn resolve_links(path: &Path) -> Option<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        match follow_link(&path)? {
            LinkStep::Resolved(real) => return Some(real),
            LinkStep::Target(next) => path = next,
        }
    }
    None
}

/// Maximum number of dangling links followed one after the other.
const MAX_LINKS: usize = 40;

enum LinkStep {
    Resolved(PathBuf),
    Target(PathBuf),
}

fn follow_link(path: &Path) -> Option<LinkStep> {
    path.ancestors().find_map(|part| {
        let rest = path.strip_prefix(part).ok()?;
        // Joining an empty path would add a slash.
        let join = |base: PathBuf| if rest.as_os_str().is_empty() { base } else { base.join(rest) };
        if let Ok(real) = part.canonicalize() {
            return Some(LinkStep::Resolved(join(real)));
        }
        let target = part.read_link().ok()?;
        Some(LinkStep::Target(join(part.parent()?.join(target))))
    })
}

fn find_hard_links(controls: &[PathBuf], unsearched: &[PathBuf]) -> HardLinks {
    let mut linked = HashSet::new();
    let mut pending: Vec<PathBuf> = controls.to_vec();
    let mut scanned = 0;
    while let Some(path) = pending.pop() {
        scanned += 1;
        if scanned > MAX_SCANNED {
            return HardLinks::TooMany;
        }
        match fs::symlink_metadata(&path) {
            Ok(metadata) if metadata.is_dir() && !unsearched.contains(&path) => {
                pending.extend(
                    fs::read_dir(&path).into_iter().flatten().flatten().take(MAX_SCANNED).map(|entry| entry.path()),
                );
            }
            Ok(metadata) if has_hard_links(&metadata) => drop(linked.insert(identity(&metadata))),
            Ok(_) | Err(_) => {}
        }
    }
    HardLinks::Known(linked)
}

fn has_hard_links(file: &Metadata) -> bool {
    file.is_file() && file.nlink() > 1
}

fn identity(file: &Metadata) -> (u64, u64) {
    (file.dev(), file.ino())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_control_file_is_recognised_by_every_name() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        let path = |name: &str| top.join(name);
        fs::create_dir_all(path("home/deep")).unwrap();
        fs::write(path("home/deep/config.toml"), "x").unwrap();
        fs::write(path("other"), "x").unwrap();
        fs::hard_link(path("home/deep/config.toml"), path("second")).unwrap();
        fs::hard_link(path("other"), path("another")).unwrap();
        symlink(path("home"), path("link")).unwrap();
        symlink("planned/later", path("dangling")).unwrap();
        symlink("circle", path("circle")).unwrap();
        let controls =
            ControlFiles::new(&["link", "missing/folder", "dangling/x", "circle"].map(path), &[], Vec::new());
        let controlled =
            ["link", "home", "home/deep/config.toml", "home/new", "second", "missing/folder", "missing/folder/x"];
        let controlled = controlled.iter().chain(&["dangling/x", "planned/later/x", "circle"]);
        assert_eq!(controlled.clone().find(|name| !controls.contains(&path(name))), None);
        let free = ["other", "another", "homely", "missing", "nothing", "planned/later"];
        assert_eq!(free.iter().find(|name| controls.contains(&path(name))), None);
    }

    #[test]
    fn a_control_path_is_recognised_however_it_is_written() {
        let controls = ControlFiles::new(&["/none/of//these/".into(), "/none/x/./y".into()], &[], Vec::new());
        let controlled =
            ["/none/of/these", "/none//of/these/", "/none/./of/these/z", "//none/of/these/.z", "/none/x/y/"];
        assert_eq!(controlled.iter().find(|path| !controls.contains_path(Path::new(path))), None);
        let free = ["/none/of/these.txt", "/none/of", "/none/x/yy", "/", "/none/x"];
        assert_eq!(free.iter().find(|path| controls.contains_path(Path::new(path))), None);
        assert!(ControlFiles::new(&["/".into()], &[], Vec::new()).contains_path(Path::new("/anything")));
    }

    #[test]
    fn an_open_file_is_recognised_without_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().canonicalize().unwrap().join(name);
        fs::create_dir(path("home")).unwrap();
        fs::write(path("home/key"), "x").unwrap();
        fs::hard_link(path("home/key"), path("second")).unwrap();
        let controls = ControlFiles::new(&[path("home")], &[], Vec::new());
        let open = fs::File::open(path("second")).unwrap();
        fs::remove_file(path("second")).unwrap();
        fs::hard_link(path("home/key"), path("third")).unwrap();
        assert!(controls.contains_file(&open.metadata().unwrap()) && !controls.contains_path(&path("second")));
    }

    #[test]
    fn a_single_control_file_is_recognised() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().canonicalize().unwrap().join(name);
        fs::write(path(".mcp.json"), "{}").unwrap();
        fs::hard_link(path(".mcp.json"), path("harmless")).unwrap();
        let controls = ControlFiles::new(&[path(".mcp.json")], &[], Vec::new());
        assert!(controls.contains(&path(".mcp.json")) && controls.contains(&path("harmless")));
    }

    #[test]
    fn the_path_resolver_agrees_with_resolve_links() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        fs::create_dir_all(top.join("a/b")).unwrap();
        fs::write(top.join("a/file"), "").unwrap();
        for (link, target) in
            [("link", "a/b"), ("a/up", ".."), ("lost", "a/none/x"), ("round", "round"), ("to", "a/file")]
        {
            symlink(target, top.join(link)).unwrap();
        }
        let names = ". .. a a/ a/b a/b/.. a/file a/file/x a/none a/none/x link link/ link/x link/.. \
                     link/../file a/up a/up/a a/up/link/y lost lost/x round round/x to to/x none/none/none";
        let mut resolver = PathResolver::default();
        for path in names.split(' ').map(|name| top.join(name)).chain(["/".into(), "x".into(), top.join("")]) {
            assert_eq!(resolver.resolve(&path), resolve_links(&path), "{}", path.display());
        }
    }
}
