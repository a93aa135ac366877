//! The pattern of a rule, parsed once from its text.

mod command;
mod host;
pub(crate) mod interpreters;
mod path;
mod tool_names;
mod word_pattern;

pub(crate) use command::{CommandPattern, known_words, without_system_folder};
pub(crate) use host::HostPattern;
pub(crate) use path::{FoldedPath, PathPattern, PatternBase, escape_path};
pub(crate) use word_pattern::{WordPattern, quote_word};

use protocol::{MCP_TOOL_PREFIX, ToolClass, mcp_name_pattern, rule_family};
use tool_names::RuleToolName;

use crate::request::RequestPart;
use crate::rule::RulePolarity;

/// The calls that a rule matches.
#[derive(Debug, Clone)]
pub(crate) struct RulePattern {
    /// The only tool it matches; any tool of its class when absent.
    tool: Option<WordPattern>,
    /// The tools of the MCP server that the rule's name may mean instead, as the Copilot CLI writes them:
    /// `server(tool)`, or `server`.
    server_tools: Option<WordPattern>,
    target: RuleTarget,
}

/// What a call must do to match.
#[derive(Debug, Clone)]
enum RuleTarget {
    /// Anything.
    Anything,
    Shell(Option<CommandPattern>),
    Read(Option<PathPattern>),
    Edit(Option<PathPattern>),
    Fetch(Option<HostPattern>),
    Agent(Option<WordPattern>),
    /// Something that only an unknown tool could interpret.
    Opaque,
}

impl RuleTarget {
    /// The class of the calls it matches, if known.
    fn class(&self) -> Option<ToolClass> {
        match self {
            RuleTarget::Anything | RuleTarget::Opaque => None,
            RuleTarget::Shell(_) => Some(ToolClass::Shell),
            RuleTarget::Read(_) => Some(ToolClass::Read),
            RuleTarget::Edit(_) => Some(ToolClass::Edit),
            RuleTarget::Fetch(_) => Some(ToolClass::Fetch),
            RuleTarget::Agent(_) => Some(ToolClass::Agent),
        }
    }

    /// Whether it matches every call of its class.
    fn is_unrestricted(&self) -> bool {
        matches!(
            self,
            RuleTarget::Anything
                | RuleTarget::Shell(None)
                | RuleTarget::Read(None)
                | RuleTarget::Edit(None)
                | RuleTarget::Fetch(None)
                | RuleTarget::Agent(None)
        )
    }
}

/// Whether a rule matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum RuleMatch {
    No,
    /// It might match: that is only known when the call runs.
    Possible,
    Certain,
    /// It matches this command and no other.
    Exact,
}

impl RuleMatch {
    pub(crate) fn certain_if(yes: bool) -> RuleMatch {
        if yes { RuleMatch::Certain } else { RuleMatch::No }
    }
}

/// Whether Bosun has a tool or family of tools with this name.
pub(crate) fn is_known_tool(tool: &str) -> bool {
    tool_names::class_of(tool).is_some()
}

/// Parses a tool and the text in its parentheses. Returns the pattern and the rule in canonical form.
pub(crate) fn parse(tool: &str, inner: Option<&str>) -> Result<(RulePattern, String), String> {
    if let Some(name) = mcp_rule_name(tool, inner) {
        let name = RuleToolName::parse(&name)?;
        let (tool, target) = (name.single_tool, RuleTarget::Anything);
        return Ok((RulePattern { tool, server_tools: None, target }, name.canonical));
    }
    let name = RuleToolName::parse(tool)?;
    let inner = inner.map(str::trim);
    if inner == Some("") {
        return Err(format!("its parentheses are empty; leave them out to mean every use of {}", name.canonical));
    }
    let host = |text: &str| HostPattern::parse(text.strip_prefix("domain:").unwrap_or(text));
    let what = match (name.class, inner) {
        (ToolClass::Session | ToolClass::Other, None) => RuleTarget::Anything,
        (ToolClass::Session | ToolClass::Other, Some(_)) => RuleTarget::Opaque,
        (ToolClass::Shell, None | Some("*" | ":*")) => RuleTarget::Shell(None),
        (ToolClass::Shell, Some(text)) => RuleTarget::Shell(Some(CommandPattern::parse(text)?)),
        (ToolClass::Read, text) => RuleTarget::Read(text.map(PathPattern::parse).transpose()?),
        (ToolClass::Edit, text) => RuleTarget::Edit(text.map(PathPattern::parse).transpose()?),
        (ToolClass::Fetch, text) => RuleTarget::Fetch(text.map(host).transpose()?),
        (ToolClass::Agent, text) => RuleTarget::Agent(text.map(WordPattern::glob)),
    };
    let shown = match (name.class, inner) {
        (_, None) => name.canonical,
        (ToolClass::Fetch, Some(text)) => {
            format!("{}({})", name.canonical, text.strip_prefix("domain:").unwrap_or(text))
        }
        (_, Some(text)) => format!("{}({text})", name.canonical),
    };
    let server_tools = server_tools(tool, name.class, inner);
    Ok((RulePattern { tool: name.single_tool, server_tools, target: what }, shown))
}

/// The tools of an MCP server that a rule means if its name is that of the server.
fn server_tools(name: &str, class: ToolClass, tool: Option<&str>) -> Option<WordPattern> {
    let is_plain = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || "_-.*".contains(c));
    let may_be_server = class == ToolClass::Other && !is_known_tool(name) && !name.contains(['*', '/']);
    let tool = Some(tool.unwrap_or("*")).filter(|tool| may_be_server && is_plain(tool))?;
    let is_mcp = name.starts_with(MCP_TOOL_PREFIX);
    (!is_mcp).then(|| WordPattern::glob(&mcp_name_pattern(&format!("{MCP_TOOL_PREFIX}{name}__{tool}"))))
}

/// The names of the tools of MCP servers that a rule means, if it is one about them: `mcp` for all of them,
/// `mcp(server)` and `mcp__server` for those of one server, `mcp(server.tool)` for one tool.
fn mcp_rule_name(tool: &str, inner: Option<&str>) -> Option<String> {
    match (tool, inner.map(str::trim)) {
        ("mcp", None) => Some(format!("{MCP_TOOL_PREFIX}*")),
        ("mcp", Some("")) => None,
        ("mcp", Some(inner)) => {
            let (server, tool) = inner.split_once(['.', '/']).unwrap_or((inner, "*"));
            Some(mcp_name_pattern(&format!("{MCP_TOOL_PREFIX}{server}__{tool}")))
        }
        (name, None) => {
            let server = name.strip_prefix(MCP_TOOL_PREFIX)?;
            (!server.contains("__") && !server.contains('*')).then(|| mcp_name_pattern(&format!("{name}__*")))
        }
        (_, Some(_)) => None,
    }
}

/// Returns the class of a tool's calls, and a tool of that class.
pub(crate) fn tool_for_name(name: &str) -> Result<(ToolClass, String), String> {
    let RuleToolName { class, single_tool, canonical } = RuleToolName::parse(name)?;
    let family = rule_family(&canonical).filter(|_| single_tool.is_none());
    Ok((class, family.map_or(canonical, |family| family.example.to_owned())))
}

/// Whether a rule with this name covers several tools.
pub(crate) fn is_family(name: &str) -> bool {
    RuleToolName::parse(name).is_ok_and(|name| name.single_tool.is_none())
}

impl RulePattern {
    /// Whether the pattern matches a part of a call of this tool.
    pub(crate) fn matches(
        &self,
        tool: &str,
        part: &RequestPart<'_>,
        base: &PatternBase<'_>,
        polarity: RulePolarity,
    ) -> RuleMatch {
        if self.server_tools.as_ref().is_some_and(|tools| tools.matches(tool)) {
            return RuleMatch::Certain;
        }
        if self.tool.as_ref().is_some_and(|only| !only.matches(tool)) {
            return RuleMatch::No;
        }
        match (&self.target, part) {
            (RuleTarget::Anything, _) => RuleMatch::Certain,
            (RuleTarget::Opaque, _) => RuleMatch::certain_if(polarity == RulePolarity::Forbids),
            (
                RuleTarget::Shell(None),
                RequestPart::Command(..) | RequestPart::ReadOnlyCommand(..) | RequestPart::Unparsed,
            )
            | (RuleTarget::Read(None), RequestPart::Read(_) | RequestPart::ReadUnknown)
            | (RuleTarget::Edit(None), RequestPart::Edit(_) | RequestPart::EditUnknown)
            | (RuleTarget::Agent(None), RequestPart::Agent(_)) => RuleMatch::Certain,
            (RuleTarget::Agent(Some(pattern)), RequestPart::Agent(name)) => {
                RuleMatch::certain_if(pattern.matches(name))
            }
            (
                RuleTarget::Shell(Some(pattern)),
                RequestPart::Command(simple, scope) | RequestPart::ReadOnlyCommand(simple, scope),
            ) => match polarity {
                RulePolarity::Permits => pattern.permits(simple, *scope),
                RulePolarity::Forbids => pattern.forbids(simple),
            },
            (RuleTarget::Read(Some(pattern)), RequestPart::Read(file))
            | (RuleTarget::Edit(Some(pattern)), RequestPart::Edit(file)) => RuleMatch::certain_if(match polarity {
                RulePolarity::Permits => pattern.permits(file, base),
                RulePolarity::Forbids => pattern.forbids(file, base),
            }),
            (RuleTarget::Shell(Some(_)), RequestPart::Unparsed)
            | (RuleTarget::Read(Some(_)), RequestPart::ReadUnknown)
            | (RuleTarget::Edit(Some(_)), RequestPart::EditUnknown) => match polarity {
                RulePolarity::Permits => RuleMatch::No,
                RulePolarity::Forbids => RuleMatch::Possible,
            },
            (RuleTarget::Fetch(pattern), RequestPart::Fetch(address)) => {
                RuleMatch::certain_if(match (pattern, polarity) {
                    (None, RulePolarity::Permits) => address.is_public(),
                    (None, RulePolarity::Forbids) => true,
                    (Some(pattern), RulePolarity::Permits) => pattern.permits(address),
                    (Some(pattern), RulePolarity::Forbids) => pattern.forbids(address),
                })
            }
            // A client defined a tool of this name, and only the client knows what a call does.
            (what, RequestPart::Other) if what.class() == tool_names::class_of(tool) => {
                match (what.is_unrestricted(), polarity) {
                    (true, _) => RuleMatch::Certain,
                    (false, RulePolarity::Forbids) => RuleMatch::Possible,
                    (false, RulePolarity::Permits) => RuleMatch::No,
                }
            }
            (
                RuleTarget::Shell(_)
                | RuleTarget::Read(_)
                | RuleTarget::Edit(_)
                | RuleTarget::Fetch(_)
                | RuleTarget::Agent(_),
                _,
            ) => RuleMatch::No,
        }
    }

    /// Whether it matches reading files.
    pub(crate) fn matches_reads(&self) -> bool {
        matches!(self.target, RuleTarget::Read(_))
    }

    /// The hosts it matches, if it names any.
    pub(crate) fn host(&self) -> Option<&HostPattern> {
        match &self.target {
            RuleTarget::Fetch(Some(pattern)) => Some(pattern),
            RuleTarget::Anything
            | RuleTarget::Shell(_)
            | RuleTarget::Read(_)
            | RuleTarget::Edit(_)
            | RuleTarget::Fetch(None)
            | RuleTarget::Agent(_)
            | RuleTarget::Opaque => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_about_mcp_servers_become_names_of_tools() {
        let name = |tool: &str, inner: Option<&str>| parse(tool, inner).map(|(_, canonical)| canonical);
        for (tool, inner, expected) in [
            ("mcp", None, "mcp__*"),
            ("mcp", Some("db"), "mcp__db__*"),
            ("mcp", Some("db.query"), "mcp__db__query"),
            ("mcp", Some("my db/run it"), "mcp__my_db__run_it"),
            ("mcp", Some("db.read_*"), "mcp__db__read_*"),
            ("mcp__db", None, "mcp__db__*"),
            ("mcp__db__query", None, "mcp__db__query"),
            ("mcp__*", None, "mcp__*"),
        ] {
            assert_eq!(name(tool, inner).as_deref(), Ok(expected), "{tool} {inner:?}");
        }
        assert!(name("mcp", Some(" ")).is_err());
    }
}
