//! Lists of tools as clients write them.

use hooks::names;
use protocol::HookDialect;
use serde_json::Value;

/// A list of tools: names, alone or after where they are from.
#[derive(Debug, Default)]
pub(crate) struct Filter(Vec<(Option<String>, String)>);

impl Filter {
    pub(crate) fn read(given: &Value) -> Filter {
        let entry = |text: &str| match text.split_once(':') {
            Some((source, name)) => (Some(source.to_owned()), ours(name).to_owned()),
            None => (None, ours(text).to_owned()),
        };
        Filter(given.as_array().into_iter().flatten().filter_map(Value::as_str).map(entry).collect())
    }

    pub(crate) fn allows(&self, source: &str, name: &str) -> bool {
        self.0.iter().any(|(from, wanted)| {
            from.as_deref().is_none_or(|from| from == source) && (wanted == name || wanted == "*")
        })
    }
}

/// A tool of Bosun's own by the name that the family has for it.
pub(crate) fn ours(name: &str) -> &str {
    names::ours(name, HookDialect::Camel)
}
