//! Parses a call as written by a person: a tool and its argument.

use std::path::Path;

use protocol::{ToolClass, mcp_tool_name, tool_name};

use crate::{FilesystemFacts, PermissionRequest, RequestedAct, pattern};

/// Why a text is not a call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a call: {problem}")]
pub struct RequestParseError {
    /// The text.
    pub text: String,
    /// What is wrong with it.
    pub problem: String,
}

impl PermissionRequest {
    /// Parses a call such as `shell(git push)` or `edit(src/a.rs)`. Paths are relative to `cwd`; the caller must
    /// resolve their links.
    pub fn parse(text: &str, cwd: &Path) -> Result<PermissionRequest, RequestParseError> {
        let text = text.trim();
        match text.split_once('(') {
            Some((tool, rest)) => match rest.strip_suffix(')') {
                Some(argument) => PermissionRequest::for_tool(tool.trim_end(), Some(argument), cwd),
                None => Err(parse_error(text, "the closing parenthesis is missing")),
            },
            None => PermissionRequest::for_tool(text, None, cwd),
        }
    }

    /// A call of a tool with its argument: a command, a path, an address.
    pub fn for_tool(tool: &str, argument: Option<&str>, cwd: &Path) -> Result<PermissionRequest, RequestParseError> {
        if tool == "mcp" {
            let tool = argument.and_then(mcp_tool).ok_or_else(|| parse_error(tool, "write mcp(SERVER.TOOL)"))?;
            return Ok(PermissionRequest { tool, acts: vec![RequestedAct::Other] });
        }
        let (class, tool) = pattern::tool_for_name(tool).map_err(|why| parse_error(tool, &why))?;
        let argument = argument.filter(|argument| !argument.trim().is_empty());
        let missing = |what: &str| parse_error(&tool, &format!("it does not say {what}"));
        let acts = match (class, argument) {
            (ToolClass::Shell, Some(command)) => {
                vec![RequestedAct::Shell {
                    command: command.into(),
                    cwd: cwd.into(),
                    facts: FilesystemFacts::default(),
                }]
            }
            (ToolClass::Read, Some(path)) => vec![RequestedAct::Read(cwd.join(path))],
            (ToolClass::Edit, Some(path)) if tool == tool_name::CREATE => vec![RequestedAct::Edit(cwd.join(path))],
            // An edit shows the text around the change.
            (ToolClass::Edit, Some(path)) => {
                vec![RequestedAct::Read(cwd.join(path)), RequestedAct::Edit(cwd.join(path))]
            }
            (ToolClass::Fetch, Some(address)) if address.contains("://") => {
                vec![RequestedAct::Fetch(address.into())]
            }
            (ToolClass::Fetch, Some(host)) => vec![RequestedAct::Fetch(format!("https://{host}"))],
            (ToolClass::Agent, Some(name)) => vec![RequestedAct::Agent(name.trim().into())],
            (ToolClass::Session, _) => vec![RequestedAct::Session],
            (ToolClass::Other, _) => vec![RequestedAct::Other],
            (ToolClass::Shell, None) => return Err(missing("which command")),
            (ToolClass::Read | ToolClass::Edit, None) => return Err(missing("which file")),
            (ToolClass::Fetch, None) => return Err(missing("which address")),
            (ToolClass::Agent, None) => return Err(missing("which type of agent")),
        };
        Ok(PermissionRequest { tool, acts })
    }
}

/// The name of the tool in `server.tool`, which the tool's input may follow.
fn mcp_tool(text: &str) -> Option<String> {
    let name = text.split_once('{').map_or(text, |(name, _input)| name);
    let (server, tool) = name.trim().split_once(['.', '/'])?;
    (!server.is_empty() && !tool.is_empty()).then(|| mcp_tool_name(server, tool))
}

fn parse_error(text: &str, why: &str) -> RequestParseError {
    RequestParseError { text: text.chars().filter(|c| !c.is_control()).take(80).collect(), problem: why.into() }
}
