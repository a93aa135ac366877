//! `bosun sdk install`: creates links to this program under the names of its adapters.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::{fs, io};

use serde_json::json;
use tui::print;

use crate::error::CliError;
use crate::exit::CommandExit;

/// The program names of the adapters.
const PROGRAM_NAMES: [&str; 2] = ["bosun-claude", "bosun-copilot"];

/// Creates the links, and prints how to pass them to the SDKs.
pub(super) fn install(folder: &Path, json: bool) -> Result<CommandExit, CliError> {
    let program = std::env::current_exe()?;
    let unusable = |error: io::Error| {
        CliError::failed(format!("cannot write to {}: {error}", folder.display())).with_hint("choose another folder")
    };
    fs::create_dir_all(folder).map_err(unusable)?;
    let folder = folder.canonicalize().map_err(unusable)?;
    let links =
        PROGRAM_NAMES.map(|name| link(&program, folder.join(name))).into_iter().collect::<Result<Vec<_>, _>>()?;
    match json {
        true => print::json(&json!({ "claude": links[0], "copilot": links[1] })),
        false => {
            print::row(links[0].display());
            print::row(links[1].display());
            print::note("give the first to the Claude Agent SDKs as pathToClaudeCodeExecutable or cli_path,");
            print::note("and the second to the Copilot SDKs as COPILOT_CLI_PATH or as the path of their connection");
        }
    }
    Ok(CommandExit::Success)
}

/// Creates one link. Replaces an existing link; any other file in the way stays.
fn link(program: &Path, path: PathBuf) -> Result<PathBuf, CliError> {
    let refused = |error: io::Error| CliError::failed(format!("cannot create {}: {error}", path.display()));
    match fs::symlink_metadata(&path) {
        Ok(existing) if existing.is_symlink() => fs::remove_file(&path).map_err(refused)?,
        Ok(_) => {
            return Err(CliError::usage(format!("{} already exists and is not a link", path.display()))
                .with_hint("move it away, or choose another folder"));
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(refused(error)),
    }
    symlink(program, &path).map_err(refused)?;
    Ok(path)
}
