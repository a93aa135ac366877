//! Lists of tools in the SDK's format.

use hooks::tool_names;
use protocol::HookDialect;
use serde_json::Value;

/// A list of tool names, each with an optional source before a colon.
#[derive(Debug, Default)]
pub(crate) struct ToolFilter(Vec<(Option<String>, String)>);

impl ToolFilter {
    pub(crate) fn parse(list: &Value) -> ToolFilter {
        let entry = |text: &str| match text.split_once(':') {
            Some((source, name)) => (Some(source.to_owned()), name.to_owned()),
            None => (None, text.to_owned()),
        };
        ToolFilter(list.as_array().into_iter().flatten().filter_map(Value::as_str).map(entry).collect())
    }

    /// Whether it lists one of Bosun's tools, given by Bosun's name.
    pub(crate) fn has_own(&self, name: &str) -> bool {
        self.names_from("builtin").any(|listed| listed == "*" || own_tool_name(listed) == name)
    }

    /// Whether it lists all of Bosun's tools.
    pub(crate) fn has_all_own(&self) -> bool {
        self.names_from("builtin").any(|listed| listed == "*")
    }

    /// Whether it lists a tool of the client.
    pub(crate) fn has_custom(&self, name: &str) -> bool {
        self.names_from("custom").any(|listed| listed == "*" || listed == name)
    }

    /// Whether it lists all tools of MCP servers.
    pub(crate) fn has_all_mcp(&self) -> bool {
        self.0.iter().any(|(source, name)| source.as_deref() == Some("mcp") && name == "*")
    }

    /// The names that may mean tools of MCP servers, each a server and a tool with a dash between them.
    pub(crate) fn mcp_names(&self) -> impl Iterator<Item = &str> {
        self.names_from("mcp")
    }

    fn names_from(&self, source: &str) -> impl Iterator<Item = &str> {
        let has_source = move |from: &Option<String>| from.as_deref().is_none_or(|from| from == source);
        self.0.iter().filter(move |(from, _)| has_source(from)).map(|(_, name)| name.as_str())
    }
}

/// Bosun's name for a tool of the SDK.
pub(crate) fn own_tool_name(name: &str) -> &str {
    tool_names::own_tool_name(name, HookDialect::Camel)
}
