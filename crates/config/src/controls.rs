//! Files that control Bosun, which no tool call may reach: its home, settings, hooks, definitions, and the token files
//! of its servers.

use std::fs;
use std::io::{self, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::gather::MANAGED_FILE;
use crate::layers::SettingsLayers;
use crate::project::claude_settings_files;

/// Controls in a project or another workspace folder, relative to it.
const FOLDER_CONTROLS: [&str; 6] =
    [".bosun", ".claude/settings.json", ".claude/settings.local.json", ".claude/hooks", ".mcp.json", ".github/hooks"];

/// Controls in the user's home folder, relative to it. These apply in every project without being trusted first: hooks
/// run, agents bring hooks, commands run shell commands, and instructions reach every agent. Skills are not included:
/// agents must read and run their files.
const USER_CONTROLS: [&str; 14] = [
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".claude/hooks",
    ".claude/agents",
    ".claude/commands",
    ".claude/rules",
    ".claude/plugins",
    ".claude/CLAUDE.md",
    ".copilot/hooks",
    ".copilot/agents",
    ".copilot/copilot-instructions.md",
    ".bosun",
    // The location used in the documentation.
    ".bosun-token",
    ".claude.json",
];

/// The file in Bosun's home that lists token files, one per line.
const TOKEN_FILES: &str = "token-files";

/// Maximum size of that file, in bytes.
const MAX_TOKEN_LIST_BYTES: u64 = 1 << 20;

/// All control files for a session that works in these folders, sorted.
pub fn all_controls(home: &Path, user: Option<&Path>, layers: &SettingsLayers, folders: &[&Path]) -> Vec<PathBuf> {
    let mut controls = vec![home.canonicalize().unwrap_or_else(|_unreadable| home.to_owned()), MANAGED_FILE.into()];
    controls.extend(layers.files().filter_map(|file| file.canonicalize().ok()));
    controls.extend(folders.iter().flat_map(|folder| controls_of_folder(folder)));
    controls.extend(user.into_iter().flat_map(controls_of_user));
    controls.extend(token_files(home));
    controls.sort();
    controls.dedup();
    controls
}

/// The control files below a workspace folder.
fn controls_of_folder(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = FOLDER_CONTROLS.iter().map(|control| folder.join(control)).collect();
    paths.extend(claude_settings_files(folder));
    paths.sort();
    paths.dedup();
    paths
}

fn controls_of_user(user: &Path) -> Vec<PathBuf> {
    let named = USER_CONTROLS.iter().map(|control| user.join(control));
    named.chain(claude_settings_files(user)).collect()
}

/// Records a server's token file, so that agents cannot read it.
pub fn remember_token_file(home: &Path, file: &Path) -> io::Result<()> {
    let file = file.canonicalize()?;
    if token_files(home).contains(&file) {
        return Ok(());
    }
    let mut line = file.into_os_string().into_vec();
    line.push(b'\n');
    let mut list = fs::OpenOptions::new().append(true).create(true).mode(0o600).open(home.join(TOKEN_FILES))?;
    list.write_all(&line)
}

fn token_files(home: &Path) -> Vec<PathBuf> {
    let bytes = host::read_plain(&home.join(TOKEN_FILES), MAX_TOKEN_LIST_BYTES).ok().flatten().unwrap_or_default();
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| PathBuf::from(std::ffi::OsStr::from_bytes(line))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_claude_settings_file_is_a_control() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join(".claude")).unwrap();
        fs::write(folder.path().join(".claude/settings.mine.json"), "{}").unwrap();
        fs::write(folder.path().join(".claude/notes.md"), "").unwrap();
        let below: Vec<_> = controls_of_folder(folder.path())
            .iter()
            .map(|path| path.strip_prefix(folder.path()).unwrap().display().to_string())
            .collect();
        assert_eq!(
            below,
            [
                ".bosun",
                ".claude/hooks",
                ".claude/settings.json",
                ".claude/settings.local.json",
                ".claude/settings.mine.json",
                ".github/hooks",
                ".mcp.json"
            ]
        );
    }

    #[test]
    fn a_token_file_is_remembered_once() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().canonicalize().unwrap().join("token");
        fs::write(&file, "").unwrap();
        assert_eq!(token_files(home.path()), Vec::<PathBuf>::new());
        remember_token_file(home.path(), &file).unwrap();
        remember_token_file(home.path(), &file).unwrap();
        assert_eq!(token_files(home.path()), [file]);
    }
}
