//! Trust: the files of a project that can control Bosun, and a digest of exactly those.

use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;
use host::{Home, PlainError};
use protocol::api::TrustState;
use protocol::{HookAction, HookEvent, HookSpec, SettingsFileScope};
use sha2::{Digest, Sha256};

use crate::catalog::{CatalogListing, CatalogLocations, HookText, RemoteDefinitions, gather_catalog};
use crate::hook_files;
use crate::mcp_servers::{project_server_commands, trusted_command};
use crate::project::{Project, claude_settings_files};

/// Files and folders that control Bosun, now or in later versions. A project is trusted with all of them or none.
const TRUSTED_PATHS: [&str; 11] = [
    ".bosun",
    ".claude/agents",
    ".claude/skills",
    ".claude/commands",
    ".claude/hooks",
    ".github/agents",
    ".github/skills",
    ".github/hooks",
    ".github/prompts",
    ".agents/skills",
    ".mcp.json",
];

/// Maximum number of files.
const MAX_FILES: usize = 1_000;

/// Maximum size of all files together, in bytes.
const MAX_BYTES: u64 = 16 << 20;

/// Why a project cannot be trusted.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// There are too many files.
    #[error("{} has more than {MAX_FILES} files that would control Bosun, which is too many to review", .0.display())]
    Many(PathBuf),
    /// The files are too large.
    #[error("files that would control Bosun in {} have over {MAX_BYTES} bytes, which is too much to review", .0.display())]
    Large(PathBuf),
    /// One of them cannot be read as a file.
    #[error("{}: {source}; remove it", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: PlainError,
    },
}

/// The contents of a project that the user trusts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustedContents {
    /// The files and links, relative to the project's top, sorted.
    pub files: Vec<PathBuf>,
    /// A digest of their names and contents.
    pub digest: String,
    /// Their hooks.
    pub hooks: Vec<TrustedHook>,
}

/// A hook of a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustedHook {
    /// The file it is in.
    pub source: String,
    /// The event that triggers it.
    pub event: HookEvent,
    /// The command, or the address it posts to.
    pub action: String,
}

/// Whether a project is trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrustStatus {
    /// It is trusted with its current files.
    Trusted,
    /// It was trusted, and its files have changed since.
    Changed,
    /// It is not trusted.
    Untrusted,
}

impl TrustStatus {
    /// The status of a project that was trusted with this digest, if any.
    pub fn check(top: &Path, home: &Path, remembered: Option<&str>) -> TrustStatus {
        let Some(remembered) = remembered else { return TrustStatus::Untrusted };
        match TrustedContents::read(top, home) {
            Ok(contents) if contents.digest == remembered => TrustStatus::Trusted,
            Ok(_) | Err(_) => TrustStatus::Changed,
        }
    }

    /// The status of a project in a home. A project whose trust cannot be looked up is not trusted.
    pub fn look_up(home: &Home, project: &Project) -> TrustStatus {
        if !TrustedContents::has_any(&project.dir, home.root()) {
            return TrustStatus::Untrusted;
        }
        let remembered = project.dir.to_str().and_then(|top| {
            let digest = client::trust::digest(home, top);
            digest.unwrap_or_else(|error| {
                tracing::warn!(%error, "cannot look up trust");
                None
            })
        });
        TrustStatus::check(&project.dir, home.root(), remembered.as_deref())
    }

    /// The status as the API shows it.
    pub fn view(self) -> TrustState {
        match self {
            TrustStatus::Trusted => TrustState::Trusted,
            TrustStatus::Changed => TrustState::Changed,
            TrustStatus::Untrusted => TrustState::Untrusted,
        }
    }
}

impl TrustedContents {
    /// Whether the project has any file that controls Bosun.
    pub fn has_any(top: &Path, home: &Path) -> bool {
        let exists = |below: &str| {
            let path = top.join(below);
            path.symlink_metadata().is_ok() && !is_home(&path, home)
        };
        TRUSTED_PATHS.into_iter().any(exists) || claude_settings_files(top).next().is_some()
    }

    /// Reads everything below a project's top that controls Bosun, except for Bosun's home, which is the user's own.
    /// The content of a link is its target path.
    pub fn read(top: &Path, home: &Path) -> Result<TrustedContents, TrustError> {
        let mut scan = TrustScan { project_dir: top, bytes_left: MAX_BYTES, entries_seen: 0, found: Vec::new() };
        for below in TRUSTED_PATHS.into_iter().filter(|below| !is_home(&top.join(below), home)) {
            scan.add_path(Path::new(below))?;
        }
        for path in claude_settings_files(top) {
            scan.add_path(path.strip_prefix(top).unwrap_or(&path))?;
        }
        let ProjectPrograms { hooks, mut servers } = project_programs(top, home);
        let hook_actions = hooks.iter().map(|hook| &hook.action);
        servers.extend(project_server_commands(top));
        scan.add_programs(hook_actions.chain(&servers))?;
        scan.found.sort();
        scan.found.dedup();
        let mut digest = Sha256::new();
        for (path, content) in &scan.found {
            let name = path.as_os_str().as_bytes();
            // The length prefix keeps a name from being mistaken for part of a file's content.
            digest.update((name.len() as u64).to_be_bytes());
            digest.update(name);
            digest.update(content);
        }
        let digest = HEXLOWER.encode(&digest.finalize());
        let files =
            scan.found.into_iter().map(|(path, _)| path).filter(|path| top.join(path).symlink_metadata().is_ok());
        let shown = |spec: HookSpec| {
            let runs = match spec.action {
                HookAction::Command { command, .. } => command,
                HookAction::Http { url, .. } => url,
                HookAction::Client { id } => id,
            };
            TrustedHook { source: spec.source, event: spec.event, action: runs }
        };
        Ok(TrustedContents { files: files.collect(), digest, hooks: hooks.into_iter().map(shown).collect() })
    }
}

/// What the definitions in a project's files run.
#[derive(Default)]
struct ProjectPrograms {
    hooks: Vec<HookSpec>,
    /// The programs of agents' own MCP servers.
    servers: Vec<HookAction>,
}

/// Every hook in a project's files, and every MCP server of its agents, as if the project were trusted.
fn project_programs(top: &Path, home: &Path) -> ProjectPrograms {
    let places = CatalogLocations {
        home,
        user_home: None,
        project_dir: top,
        trust: TrustStatus::Trusted,
        scopes: &[SettingsFileScope::Project],
        plugins: &[],
        skill_dirs: &[],
        inline: &[],
        remote: RemoteDefinitions::default(),
        hooks_forbidden_by: None,
    };
    // Only definitions on the command line make this fail.
    let Ok(CatalogListing { agents, hooks, .. }) = gather_catalog(&places) else { return ProjectPrograms::default() };
    let servers = agents.iter().flat_map(|agent| &agent.mcp_servers);
    let servers = servers.filter_map(|server| trusted_command(&server.spec, top)).collect();
    let own = agents.into_iter().filter_map(|agent| agent.hooks);
    let texts: Vec<HookText> = hooks.into_iter().chain(own).collect();
    ProjectPrograms { hooks: texts.iter().flat_map(|text| text.read().0).collect(), servers }
}

/// Whether a project's folder is Bosun's home, as `.bosun` is in the user's home folder.
pub(crate) fn is_home(folder: &Path, home: &Path) -> bool {
    folder == home || folder.canonicalize().is_ok_and(|real| home.canonicalize().is_ok_and(|home| home == real))
}

/// A scan of a project's files.
struct TrustScan<'a> {
    project_dir: &'a Path,
    /// Bytes that may still be read.
    bytes_left: u64,
    /// Number of entries seen, including folders.
    entries_seen: usize,
    /// The paths found so far, with the digests of their contents.
    found: Vec<(PathBuf, [u8; 32])>,
}

impl TrustScan<'_> {
    /// Adds a file, a link, or everything in a folder.
    fn add_path(&mut self, below: &Path) -> Result<(), TrustError> {
        let mut pending = vec![below.to_owned()];
        while let Some(below) = pending.pop() {
            let path = self.project_dir.join(&below);
            let Some(facts) = metadata_of(&path)? else { continue };
            self.entries_seen += 1;
            if self.entries_seen > MAX_FILES {
                return Err(TrustError::Many(self.project_dir.to_owned()));
            }
            if facts.is_dir() {
                pending.extend(folder_names(&path, MAX_FILES)?.into_iter().map(|name| below.join(name)));
            } else {
                let content = self.content_digest(&below, &facts)?;
                self.found.push((below, content));
            }
        }
        Ok(())
    }

    /// Adds the files that hooks and MCP servers run. A missing file is included, since one could be created later.
    fn add_programs<'a>(&mut self, actions: impl Iterator<Item = &'a HookAction>) -> Result<(), TrustError> {
        for action in actions {
            let HookAction::Command { cwd, .. } = action else { continue };
            let folder = cwd.as_ref().map_or_else(|| self.project_dir.to_owned(), |cwd| self.project_dir.join(cwd));
            for program in hook_files::files_run(action, self.project_dir, None) {
                let path = program.full_path(&folder);
                let Ok(below) = path.strip_prefix(self.project_dir) else { continue };
                self.entries_seen += 1;
                if self.entries_seen > MAX_FILES {
                    return Err(TrustError::Many(self.project_dir.to_owned()));
                }
                let content = Sha256::new().chain_update(b"program ").chain_update(hooks::program_digest(&path));
                if !self.found.iter().any(|(known, _)| known == below) {
                    self.found.push((below.to_owned(), content.finalize().into()));
                }
            }
        }
        Ok(())
    }

    fn content_digest(&mut self, below: &Path, facts: &Metadata) -> Result<[u8; 32], TrustError> {
        let unreadable = |source| TrustError::Unreadable { path: self.project_dir.join(below), source };
        if facts.is_symlink() {
            let target =
                fs::read_link(self.project_dir.join(below)).map_err(|error| unreadable(PlainError::Io(error)))?;
            return Ok(Sha256::new()
                .chain_update(b"link ")
                .chain_update(target.as_os_str().as_bytes())
                .finalize()
                .into());
        }
        match host::read_below(self.project_dir, below, self.bytes_left) {
            Ok(bytes) => {
                let bytes = bytes.unwrap_or_default();
                self.bytes_left -= bytes.len() as u64;
                Ok(Sha256::new().chain_update(b"file ").chain_update(bytes).finalize().into())
            }
            Err(PlainError::TooLarge { .. }) => Err(TrustError::Large(self.project_dir.to_owned())),
            Err(source) => Err(unreadable(source)),
        }
    }
}

fn metadata_of(path: &Path) -> Result<Option<Metadata>, TrustError> {
    match path.symlink_metadata() {
        Ok(facts) => Ok(Some(facts)),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(TrustError::Unreadable { path: path.to_owned(), source: PlainError::Io(error) }),
    }
}

/// The names in a folder, at most one more than `most`.
fn folder_names(folder: &Path, max: usize) -> Result<Vec<OsString>, TrustError> {
    let unreadable = |error| TrustError::Unreadable { path: folder.to_owned(), source: PlainError::Io(error) };
    let entries = fs::read_dir(folder).map_err(unreadable)?.take(max + 1);
    entries.map(|entry| entry.map(|entry| entry.file_name()).map_err(unreadable)).collect()
}
