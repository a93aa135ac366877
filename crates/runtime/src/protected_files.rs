//! What controls Bosun itself, told by what files are and not only by what they are called: a link to such a file is
//! that file, and so is a second name of it.

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
    /// Folders inside them that may be worked in.
    exempt: Vec<PathBuf>,
    /// Folders inside them whose files are not looked at for a second name.
    unsearched: Vec<PathBuf>,
    /// As they were named, and as they really are, looked for when it first matters.
    paths: OnceLock<Vec<PathBuf>>,
    /// Those of their files that have another name somewhere, looked for when it first matters.
    hard_links: OnceLock<HardLinks>,
}

#[derive(Debug)]
enum HardLinks {
    Known(HashSet<(u64, u64)>),
    /// There are too many files to look at: any file of several names may be one of them.
    TooMany,
}

/// Most files and folders that are looked at for a second name.
const MAX_SCANNED: usize = 200_000;

impl ControlFiles {
    /// The controls that go by these names.
    pub(crate) fn new(named: &[PathBuf], spared: &[PathBuf], unsearched: Vec<PathBuf>) -> ControlFiles {
        let (named, spared) = (named.to_owned(), spared.to_owned());
        ControlFiles { names: named, exempt: spared, unsearched, paths: OnceLock::new(), hard_links: OnceLock::new() }
    }

    /// Whether this is one of them, or below one; the path is absolute and without links.
    pub(crate) fn contains(&self, path: &Path) -> bool {
        self.contains_path(path) || fs::symlink_metadata(path).is_ok_and(|file| self.contains_file(&file))
    }

    /// Whether the path is one of theirs, or below one, whatever is there. A search asks this of every file, so names
    /// are compared as bytes.
    pub(crate) fn contains_path(&self, path: &Path) -> bool {
        let tidy = tidied(path);
        self.paths().iter().any(|control| is_within(&tidy, control) && !self.is_exempt(path, control))
    }

    /// Whether a file is one of them under another name. Only a file of several names can be.
    pub(crate) fn contains_file(&self, file: &Metadata) -> bool {
        has_hard_links(file)
            && match self.hard_links.get_or_init(|| find_hard_links(self.paths(), &self.unsearched)) {
                HardLinks::Known(twins) => twins.contains(&identity(file)),
                HardLinks::TooMany => true,
            }
    }

    fn is_exempt(&self, path: &Path, control: &Path) -> bool {
        self.exempt.iter().any(|spared| path.starts_with(spared) && spared.starts_with(control) && spared != control)
    }

    fn paths(&self) -> &[PathBuf] {
        self.paths.get_or_init(|| {
            let mut leads = PathResolver::default();
            let both = self.names.iter().flat_map(|path| [Some(path.clone()), leads.resolve(path)]).flatten();
            both.map(|path| tidied(&path).into_owned()).collect()
        })
    }
}

/// The path without what has no meaning in it: slashes that follow each other or end it, and `.`.
fn tidied(path: &Path) -> Cow<'_, Path> {
    let bytes = path.as_os_str().as_bytes();
    let is_tidy = !bytes.ends_with(b"/") && !bytes.windows(2).any(|two| matches!(two, b"//" | b"/."));
    if is_tidy { Cow::Borrowed(path) } else { Cow::Owned(path.components().collect()) }
}

/// Whether one tidy path is the other or lies below it.
fn is_within(path: &Path, folder: &Path) -> bool {
    let (path, folder) = (path.as_os_str().as_bytes(), folder.as_os_str().as_bytes());
    path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/") || folder == b"/")
}

/// Where many paths really lead, looked up together: a folder that several stand in is looked for once.
#[derive(Debug, Default)]
pub(crate) struct PathResolver(HashMap<PathBuf, Option<PathBuf>>);

impl PathResolver {
    /// The same as [`real`].
    pub(crate) fn resolve(&mut self, path: &Path) -> Option<PathBuf> {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return real(path) };
        if !self.0.contains_key(folder) {
            self.0.insert(folder.to_owned(), real(folder));
        }
        let there = self.0.get(folder)?.as_ref()?.join(name);
        if there.read_link().is_ok() { real(path) } else { Some(there) }
    }
}

/// The path without links, as far as it exists. Where a link leads to nothing, what would be made there counts.
pub(crate) fn real(path: &Path) -> Option<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        match follow_link(&path)? {
            LinkStep::Resolved(real) => return Some(real),
            LinkStep::Target(next) => path = next,
        }
    }
    None
}

/// Most links to nothing that are followed one after the other.
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
    let mut twins = HashSet::new();
    let mut open: Vec<PathBuf> = controls.to_vec();
    let mut looks = 0;
    while let Some(path) = open.pop() {
        looks += 1;
        if looks > MAX_SCANNED {
            return HardLinks::TooMany;
        }
        match fs::symlink_metadata(&path) {
            Ok(found) if found.is_dir() && !unsearched.contains(&path) => {
                open.extend(
                    fs::read_dir(&path).into_iter().flatten().flatten().take(MAX_SCANNED).map(|entry| entry.path()),
                );
            }
            Ok(found) if has_hard_links(&found) => drop(twins.insert(identity(&found))),
            Ok(_) | Err(_) => {}
        }
    }
    HardLinks::Known(twins)
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
    fn a_control_is_known_by_every_name_it_has() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        let at = |name: &str| top.join(name);
        fs::create_dir_all(at("home/deep")).unwrap();
        fs::write(at("home/deep/config.toml"), "x").unwrap();
        fs::write(at("other"), "x").unwrap();
        fs::hard_link(at("home/deep/config.toml"), at("second")).unwrap();
        fs::hard_link(at("other"), at("another")).unwrap();
        symlink(at("home"), at("link")).unwrap();
        symlink("planned/later", at("dangling")).unwrap();
        symlink("circle", at("circle")).unwrap();
        let controls = ControlFiles::new(&["link", "missing/folder", "dangling/x", "circle"].map(at), &[], Vec::new());
        let held =
            ["link", "home", "home/deep/config.toml", "home/new", "second", "missing/folder", "missing/folder/x"];
        let held = held.iter().chain(&["dangling/x", "planned/later/x", "circle"]);
        assert_eq!(held.clone().find(|name| !controls.contains(&at(name))), None);
        let free = ["other", "another", "homely", "missing", "nothing", "planned/later"];
        assert_eq!(free.iter().find(|name| controls.contains(&at(name))), None);
    }

    #[test]
    fn a_control_is_known_however_its_path_is_written() {
        let controls = ControlFiles::new(&["/none/of//these/".into(), "/none/x/./y".into()], &[], Vec::new());
        let held = ["/none/of/these", "/none//of/these/", "/none/./of/these/z", "//none/of/these/.z", "/none/x/y/"];
        assert_eq!(held.iter().find(|path| !controls.contains_path(Path::new(path))), None);
        let free = ["/none/of/these.txt", "/none/of", "/none/x/yy", "/", "/none/x"];
        assert_eq!(free.iter().find(|path| controls.contains_path(Path::new(path))), None);
        assert!(ControlFiles::new(&["/".into()], &[], Vec::new()).contains_path(Path::new("/anything")));
    }

    #[test]
    fn an_open_file_is_known_without_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().canonicalize().unwrap().join(name);
        fs::create_dir(at("home")).unwrap();
        fs::write(at("home/key"), "x").unwrap();
        fs::hard_link(at("home/key"), at("second")).unwrap();
        let controls = ControlFiles::new(&[at("home")], &[], Vec::new());
        let open = fs::File::open(at("second")).unwrap();
        fs::remove_file(at("second")).unwrap();
        fs::hard_link(at("home/key"), at("third")).unwrap();
        assert!(controls.contains_file(&open.metadata().unwrap()) && !controls.contains_path(&at("second")));
    }

    #[test]
    fn a_control_that_is_one_file_is_known_too() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().canonicalize().unwrap().join(name);
        fs::write(at(".mcp.json"), "{}").unwrap();
        fs::hard_link(at(".mcp.json"), at("harmless")).unwrap();
        let controls = ControlFiles::new(&[at(".mcp.json")], &[], Vec::new());
        assert!(controls.contains(&at(".mcp.json")) && controls.contains(&at("harmless")));
    }

    #[test]
    fn paths_lead_to_the_same_place_together_as_alone() {
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
        let mut leads = PathResolver::default();
        for path in names.split(' ').map(|name| top.join(name)).chain(["/".into(), "x".into(), top.join("")]) {
            assert_eq!(leads.resolve(&path), real(&path), "{}", path.display());
        }
    }
}
