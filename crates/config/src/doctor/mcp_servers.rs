//! Checks of the definitions of MCP servers. None is started.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::{CatalogListing, McpServerSet, McpServerState};
use host::Home;
use mcp::{LoginStatus, LoginStore, McpAddress, McpProgram, StoredLogins};
use protocol::SessionOptions;

use protocol::text::shell_quote;

use super::{DoctorCheck, DoctorContext, agents};

pub(super) fn checks(context: &DoctorContext) -> Vec<DoctorCheck> {
    let Some(layers) = &context.layers else { return Vec::new() };
    let found = agents::find_definitions(context, layers);
    let catalog = found.map_or_else(CatalogListing::default, |found| found.listing);
    let options = SessionOptions::default();
    match layers.mcp_servers(&options, &context.env, &context.cwd, &catalog) {
        Ok(set) => check(&set, context).into_iter().collect(),
        Err(refusal) => vec![DoctorCheck::warn("mcp", refusal.message, "correct the file that it names")],
    }
}

fn check(set: &McpServerSet, context: &DoctorContext) -> Option<DoctorCheck> {
    let logins = read_logins(context);
    let problems: Vec<String> = set
        .servers
        .iter()
        .filter_map(|server| match &server.state {
            McpServerState::Unusable(why) => Some(format!("`{}` is not used: {why}", server.name)),
            McpServerState::Ready(settings) => match &settings.address {
                McpAddress::Program(program) if !exists(program, context) => {
                    Some(format!("`{}`: there is no program {}", server.name, program.command))
                }
                McpAddress::Url { url, .. } if logins.status(&server.name, url) == LoginStatus::Needed => {
                    let name = shell_quote(&server.name);
                    Some(format!("`{}` needs a login: run `bosun mcp login {name}`", server.name))
                }
                McpAddress::Program(_) | McpAddress::Url { .. } => None,
            },
            McpServerState::Disabled(_) => None,
        })
        .collect();
    let problems: Vec<String> = set.problems.iter().cloned().chain(problems).collect();
    let names: Vec<&str> = set.ready().map(|server| server.name.as_str()).collect();
    match (problems.is_empty(), names.is_empty()) {
        (true, true) => None,
        (true, false) => {
            let text = format!("{}; `bosun mcp test NAME` starts one and lists its tools", names.join(", "));
            Some(DoctorCheck::ok("mcp", text))
        }
        (false, _) => Some(DoctorCheck::warn("mcp", problems.join("; "), "`bosun mcp list` shows every server")),
    }
}

/// The user's logins; none if they cannot be read.
fn read_logins(context: &DoctorContext) -> StoredLogins {
    let home = context.home.as_deref().and_then(Home::open_as_is);
    home.and_then(|home| LoginStore::new(home).read_all().ok()).unwrap_or_default()
}

/// Whether the program of a server is there.
fn exists(program: &McpProgram, context: &DoctorContext) -> bool {
    let own_path = program.env.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.reveal().to_owned());
    match program.command.contains('/') {
        true => program.cwd.join(&program.command).is_file(),
        false => {
            let path = own_path.or_else(|| context.env.text("PATH")).unwrap_or_default();
            is_in_path(OsStr::new(&path), &program.command)
        }
    }
}

fn is_in_path(path: &OsStr, command: &str) -> bool {
    std::env::split_paths(path).any(|folder: PathBuf| Path::new(&folder).join(command).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_looked_up_in_the_path() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("server"), "").unwrap();
        let path = std::env::join_paths([Path::new("/nonexistent"), folder.path()]).unwrap();
        assert!(is_in_path(&path, "server"));
        assert!(!is_in_path(&path, "other"));
    }
}
