//! The files of a project that its MCP servers run: trust covers them, and a server runs no other version of them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use protocol::{HookAction, McpServerSpec};

use super::expand::VariableExpander;
use super::json_file::ServerFile;
use super::sources::PROJECT_FILE;
use crate::hook_files;
use crate::read::MAX_SETTINGS_BYTES;

/// The servers that a project's files define, as commands that hooks would run: their files are trusted with them.
pub(crate) fn project_server_commands(top: &Path) -> Vec<HookAction> {
    let mut specs = Vec::new();
    if let Ok(Some(bytes)) = host::read_below(top, Path::new(PROJECT_FILE), MAX_SETTINGS_BYTES)
        && let Ok(file) = ServerFile::parse(&String::from_utf8_lossy(&bytes))
    {
        specs.extend(file.servers.into_values());
    }
    if let Ok(Some(file)) = crate::file::SettingsFile::read_below(top, crate::project::CONFIG) {
        specs.extend(file.mcp.servers.into_values());
    }
    specs.iter().filter_map(|spec| trusted_command(spec, top)).collect()
}

/// A server's program as the user sees it when trusting the project: variables have their defaults, since a session may
/// be started with others.
pub(crate) fn trusted_command(spec: &McpServerSpec, top: &Path) -> Option<HookAction> {
    let value = |name: &str| ["CLAUDE_PROJECT_DIR", "PWD"].contains(&name).then(|| top.display().to_string());
    as_command(&VariableExpander::new(&value).expand_server(spec))
}

/// The project's files that a server runs, with their digests. Fails if trust does not cover one of them.
pub(super) fn pinned_files(
    top: &Path,
    written: &McpServerSpec,
    spec: &McpServerSpec,
    cwd: &Path,
) -> Result<Vec<(PathBuf, String)>, String> {
    let trusted = trusted_command(written, top).map(|action| project_files(&action, top)).unwrap_or_default();
    let Some(action) = as_command(spec) else { return Ok(Vec::new()) };
    let files = hook_files::files_run(&action, top, None).into_iter().map(|file| file.full_path(cwd));
    let pin = |path: PathBuf| match trusted.contains(&path) {
        true => Ok((path.clone(), hooks::program_digest(&path))),
        false => Err(format!(
            "its variables make it run {}, which trust does not cover; write that path without variables",
            path.display()
        )),
    };
    files.filter(|path| path.starts_with(top)).map(pin).collect()
}

/// The files of a project that a command of it runs.
fn project_files(action: &HookAction, top: &Path) -> BTreeSet<PathBuf> {
    let HookAction::Command { cwd, .. } = action else { return BTreeSet::new() };
    let folder = cwd.as_ref().map_or_else(|| top.to_owned(), |cwd| top.join(cwd));
    hook_files::files_run(action, top, None).into_iter().map(|file| file.full_path(&folder)).collect()
}

/// A server's program as the command of a hook, whose files are known.
fn as_command(spec: &McpServerSpec) -> Option<HookAction> {
    let words = spec.command.iter().chain(&spec.args);
    let quoted: Vec<String> = words.map(|word| format!("'{}'", word.replace('\'', r"'\''"))).collect();
    let cwd = spec.cwd.as_ref().map(|cwd| cwd.display().to_string());
    let env = spec.env.clone();
    (!quoted.is_empty()).then(|| HookAction::Command { command: quoted.join(" "), cwd, env })
}
