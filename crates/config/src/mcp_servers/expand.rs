//! Variables in the definitions of MCP servers: `${NAME}`, and `${NAME:-default}`.

use std::collections::BTreeSet;

use protocol::{McpOAuthSpec, McpServerSpec};

/// The variables that a definition may use, and those that it used although they are not set.
pub(super) struct VariableExpander<'a> {
    value: &'a dyn Fn(&str) -> Option<String>,
    missing: BTreeSet<String>,
}

impl<'a> VariableExpander<'a> {
    pub(super) fn new(value: &'a dyn Fn(&str) -> Option<String>) -> VariableExpander<'a> {
        VariableExpander { value, missing: BTreeSet::new() }
    }

    /// The variables that are used, have no default and are not set.
    pub(super) fn missing(self) -> BTreeSet<String> {
        self.missing
    }

    /// The definition with its variables expanded.
    pub(super) fn expand_server(&mut self, spec: &McpServerSpec) -> McpServerSpec {
        let mut expanded = spec.clone();
        let texts = expanded.command.iter_mut().chain(&mut expanded.args).chain(&mut expanded.url);
        for text in texts.chain(expanded.env.values_mut()).chain(expanded.headers.values_mut()) {
            *text = self.expand(text);
        }
        if let Some(oauth) = &mut expanded.oauth {
            let McpOAuthSpec { client_id, client_secret, private_key, client_metadata_url, .. } = oauth;
            let texts = client_id.iter_mut().chain(client_secret).chain(private_key).chain(client_metadata_url);
            texts.for_each(|text| *text = self.expand(text));
        }
        if let Some(cwd) = &mut expanded.cwd {
            *cwd = self.expand(&cwd.to_string_lossy()).into();
        }
        expanded
    }

    /// Expands the variables in a text. Values are not expanded again.
    pub(super) fn expand(&mut self, text: &str) -> String {
        let (mut expanded, mut rest) = (String::new(), text);
        while let Some((before, after)) = rest.split_once("${") {
            expanded.push_str(before);
            match after.split_once('}').filter(|(inner, _)| is_variable(inner)) {
                Some((inner, after)) => {
                    expanded.push_str(&self.value_of(inner));
                    rest = after;
                }
                None => {
                    expanded.push_str("${");
                    rest = after;
                }
            }
        }
        expanded.push_str(rest);
        expanded
    }

    fn value_of(&mut self, inner: &str) -> String {
        let (name, default) = match inner.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (inner, None),
        };
        match ((self.value)(name).filter(|value| !value.is_empty() || default.is_none()), default) {
            (Some(value), _) => value,
            (None, Some(default)) => default.to_owned(),
            (None, None) => {
                self.missing.insert(name.to_owned());
                String::new()
            }
        }
    }
}

fn is_variable(inner: &str) -> bool {
    let name = inner.split_once(":-").map_or(inner, |(name, _)| name);
    let mut chars = name.chars();
    let starts_well = chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    starts_well && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn value(name: &str) -> Option<String> {
        match name {
            "A" => Some("1".into()),
            "EMPTY" => Some(String::new()),
            "NESTED" => Some("${A}".into()),
            _other => None,
        }
    }

    #[test]
    fn variables_are_expanded_once() {
        let mut expander = VariableExpander::new(&value);
        for (text, expected) in [
            ("x${A}y${A}", "x1y1"),
            ("${NONE:-d}${EMPTY:-e}${EMPTY}", "de"),
            ("${NONE:-}", ""),
            ("${NESTED}", "${A}"),
            ("$A ${} ${1} ${a-b} ${A", "$A ${} ${1} ${a-b} ${A"),
            ("${A:-x}${A}", "11"),
        ] {
            assert_eq!(expander.expand(text), expected, "{text}");
        }
        assert!(expander.missing().is_empty());
        let mut expander = VariableExpander::new(&value);
        assert_eq!(expander.expand("a${NONE}b${OTHER}"), "ab");
        assert_eq!(expander.missing().into_iter().collect::<Vec<_>>(), ["NONE", "OTHER"]);
    }

    proptest! {
        #[test]
        fn text_without_variables_stays_as_it_is(text in "[^$]*") {
            prop_assert_eq!(VariableExpander::new(&value).expand(&text), text);
        }

        #[test]
        fn any_text_is_expanded(text in "[${}:A-C_ -]*") {
            VariableExpander::new(&value).expand(&text);
        }
    }
}
