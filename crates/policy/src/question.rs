//! A call as a person writes it down to ask about: a tool, and what it would be given.

use std::path::Path;

use crate::pattern::Kind;
use crate::{Act, Request, Seen, pattern};

/// Why a text is no call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no call: {problem}")]
pub struct CallError {
    /// The text.
    pub text: String,
    /// What is wrong with it.
    pub problem: String,
}

impl Request {
    /// Reads a call such as `shell(git push)` or `edit(src/a.rs)`. Relative paths begin in `cwd`; where they really
    /// lead is for the caller to find out.
    pub fn parse(text: &str, cwd: &Path) -> Result<Request, CallError> {
        let text = text.trim();
        match text.split_once('(') {
            Some((tool, rest)) => match rest.strip_suffix(')') {
                Some(given) => Request::of(tool.trim_end(), Some(given), cwd),
                None => Err(problem(text, "its last parenthesis is missing")),
            },
            None => Request::of(text, None, cwd),
        }
    }

    /// A call of a tool with what it is given: a command, a path, an address.
    pub fn of(tool: &str, given: Option<&str>, cwd: &Path) -> Result<Request, CallError> {
        let (kind, tool) = pattern::tool(tool).map_err(|why| problem(tool, &why))?;
        let given = given.filter(|given| !given.trim().is_empty());
        let missing = |what: &str| problem(&tool, &format!("it does not say {what}"));
        let acts = match (kind, given) {
            (Kind::Shell, Some(command)) => {
                vec![Act::Shell { command: command.into(), cwd: cwd.into(), seen: Seen::default() }]
            }
            (Kind::Read, Some(path)) => vec![Act::Read(cwd.join(path))],
            (Kind::Edit, Some(path)) if tool == "create" => vec![Act::Edit(cwd.join(path))],
            // What a file is changed in is shown.
            (Kind::Edit, Some(path)) => vec![Act::Read(cwd.join(path)), Act::Edit(cwd.join(path))],
            (Kind::Fetch, Some(address)) if address.contains("://") => vec![Act::Fetch(address.into())],
            (Kind::Fetch, Some(host)) => vec![Act::Fetch(format!("https://{host}"))],
            (Kind::Agent, Some(name)) => vec![Act::Agent(name.trim().into())],
            (Kind::Session, _) => vec![Act::Session],
            (Kind::Other, _) => vec![Act::Other],
            (Kind::Shell, None) => return Err(missing("which command")),
            (Kind::Read | Kind::Edit, None) => return Err(missing("which file")),
            (Kind::Fetch, None) => return Err(missing("which address")),
            (Kind::Agent, None) => return Err(missing("which type of agent")),
        };
        Ok(Request { tool, acts })
    }
}

fn problem(text: &str, why: &str) -> CallError {
    CallError { text: text.chars().filter(|c| !c.is_control()).take(80).collect(), problem: why.into() }
}
