//! Lists of tools as clients write them.

use hooks::tool_names;
use protocol::HookDialect;
use serde_json::Value;

/// A list of tools: names, alone or after where they are from.
#[derive(Debug, Default)]
pub(crate) struct ToolFilter(Vec<(Option<String>, String)>);

impl ToolFilter {
    pub(crate) fn read(given: &Value) -> ToolFilter {
        let entry = |text: &str| match text.split_once(':') {
            Some((source, name)) => (Some(source.to_owned()), name.to_owned()),
            None => (None, text.to_owned()),
        };
        ToolFilter(given.as_array().into_iter().flatten().filter_map(Value::as_str).map(entry).collect())
    }

    /// Whether it lists a tool of Bosun's own, by our name for it.
    pub(crate) fn has_own(&self, name: &str) -> bool {
        self.names("builtin").any(|wanted| wanted == "*" || own_tool_name(wanted) == name)
    }

    /// Whether it lists a tool of the client's, which only the client has a name for.
    pub(crate) fn has_custom(&self, name: &str) -> bool {
        self.names("custom").any(|wanted| wanted == "*" || wanted == name)
    }

    fn names(&self, source: &str) -> impl Iterator<Item = &str> {
        let counts = move |from: &Option<String>| from.as_deref().is_none_or(|from| from == source);
        self.0.iter().filter(move |(from, _)| counts(from)).map(|(_, name)| name.as_str())
    }
}

/// A tool of Bosun's own by the name that the family has for it.
pub(crate) fn own_tool_name(name: &str) -> &str {
    tool_names::own_tool_name(name, HookDialect::Camel)
}
