//! Whether a call would be allowed, asked about or denied, why, and what would change that.

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use policy::{AgentRole, Explanation, PermissionRequest, RequestedAct};
use protocol::{Refusal, SessionOptions};
use runtime::InspectionScope;

use super::error::SettingsMethodError;
use crate::assemble::SettingsSources;
use crate::permissions::RuleLine;

impl SettingsSources<'_> {
    /// Explains what would happen to a call in a folder; returns its tool too. The call is one word, such as
    /// `shell(git push)`, or a tool and its argument.
    pub fn explain(
        &self,
        options: &SessionOptions,
        call: &[String],
        cwd: &Path,
    ) -> Result<(String, Explanation), SettingsMethodError> {
        let policy = self.policy(options, cwd)?;
        let path = self.env.text("PATH");
        let path = path.as_deref().map(OsStr::new);
        let scope = InspectionScope { roots: &policy.work_folders, controls: &policy.control_paths, path };
        let request = parse_request(call, cwd, scope)?;
        let explanation =
            policy.explain_outside(&request, cwd).unwrap_or_else(|| policy.explain(&AgentRole::default(), &request));
        Ok((request.tool, explanation))
    }
}

fn parse_request(call: &[String], cwd: &Path, scope: InspectionScope<'_>) -> Result<PermissionRequest, Refusal> {
    let request = match call {
        [tool, argument] => PermissionRequest::for_tool(tool, Some(argument), cwd),
        [call] => PermissionRequest::parse(call, cwd),
        _more => return Err(Refusal::new("a call is a tool and its argument")),
    };
    let hint = "for example: bosun explain 'shell(git push)', or bosun explain edit src/main.rs";
    let PermissionRequest { tool, acts } = request.map_err(|error| Refusal::new(error).with_hint(hint))?;
    if RuleLine::parse(&tool).is_ok_and(|rule| rule.unknown_tool().is_some()) {
        return Err(Refusal::new(format!("there is no tool called `{tool}`"))
            .with_hint("a tool of an MCP server is written mcp(SERVER.TOOL)"));
    }
    Ok(PermissionRequest { tool, acts: acts.into_iter().flat_map(|act| resolve_paths(act, scope)).collect() })
}

/// Resolves links in the paths of an act.
fn resolve_paths(act: RequestedAct, scope: InspectionScope<'_>) -> Vec<RequestedAct> {
    match act {
        RequestedAct::Read(path) => vec![RequestedAct::Read(real_path(&path))],
        RequestedAct::Edit(path) => vec![RequestedAct::Edit(real_path(&path))],
        RequestedAct::Shell { command, cwd, facts: _ } => {
            let redirects = runtime::resolved_redirects(&command, &cwd);
            let facts = runtime::inspect_command(&command, &cwd, scope);
            std::iter::once(RequestedAct::Shell { command, cwd, facts }).chain(redirects).collect()
        }
        RequestedAct::Fetch(_) | RequestedAct::Agent(_) | RequestedAct::Session | RequestedAct::Other => vec![act],
    }
}

/// Resolves the links of the existing part of a path; missing components keep their names.
fn real_path(path: &Path) -> PathBuf {
    let mut missing = Vec::new();
    for folder in path.ancestors() {
        if let Ok(real) = folder.canonicalize() {
            return missing.into_iter().rev().fold(real, append_component);
        }
        missing.extend(folder.components().next_back());
    }
    path.to_owned()
}

fn append_component(mut folder: PathBuf, part: Component<'_>) -> PathBuf {
    if part == Component::ParentDir {
        folder.pop();
    } else {
        folder.push(part);
    }
    folder
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_calls_of_tools_that_may_exist_are_explained() {
        let scope = InspectionScope { roots: &[], controls: &[], path: None };
        let parse = |call: &[&str]| {
            let call: Vec<String> = call.iter().map(|word| (*word).to_owned()).collect();
            parse_request(&call, Path::new("/"), scope).map(|request| request.tool)
        };
        for unknown in [&["foo(x)"][..], &["foo"], &["foo", "x"]] {
            assert_eq!(parse(unknown).unwrap_err().message, "there is no tool called `foo`", "{unknown:?}");
        }
        for known in [&["shell(ls)"][..], &["Bash", "ls"], &["mcp(docs.find)"], &["mcp__docs__find"], &["sql"]] {
            assert!(parse(known).is_ok(), "{known:?}");
        }
    }

    #[test]
    fn links_are_resolved_as_far_as_paths_exist() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        std::os::unix::fs::symlink("/etc", top.join("link")).unwrap();
        let real = |path: &str| real_path(&top.join(path));
        assert_eq!(real("link/new.conf"), Path::new("/etc/new.conf"));
        assert_eq!(real("new/er/a.rs"), top.join("new/er/a.rs"));
        assert_eq!(real("new/../a.rs"), top.join("a.rs"));
        assert_eq!(real("link/../x"), Path::new("/x"));
    }
}
