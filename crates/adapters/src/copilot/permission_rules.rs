//! The Copilot SDK's permission rules and approvals, as Bosun's rules.

use protocol::{RuleEffect, find_tool, mcp_tool_name};
use rpc::ErrorObject;
use serde_json::{Value, json};

/// Maximum rules in one call.
pub(crate) const MAX_RULES: usize = 1_000;

/// A rule of the SDK: a kind of act, and what the act is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ClientRule {
    kind: String,
    argument: Option<String>,
}

impl ClientRule {
    /// Reads a list of rules.
    pub(crate) fn read_list(list: &Value) -> Result<Vec<ClientRule>, ErrorObject> {
        let rules = list.as_array().map(Vec::as_slice).unwrap_or_default();
        if rules.len() > MAX_RULES {
            return Err(ErrorObject::bad_params(format!("more than {MAX_RULES} rules in one call")));
        }
        let read = |rule: &Value| {
            let kind = rule["kind"].as_str().filter(|kind| !kind.is_empty());
            let kind = kind.ok_or_else(|| ErrorObject::bad_params("a rule has no `kind`"))?;
            Ok(ClientRule::new(kind, rule["argument"].as_str()))
        };
        rules.iter().map(read).collect()
    }

    /// The rules that an approval stands for.
    pub(crate) fn of_approval(approval: &Value) -> Result<Vec<ClientRule>, ErrorObject> {
        let text = |name: &str| approval[name].as_str();
        Ok(match text("kind").unwrap_or_default() {
            "commands" => {
                let commands = approval["commandIdentifiers"].as_array().map(Vec::as_slice).unwrap_or_default();
                commands.iter().filter_map(Value::as_str).map(|it| ClientRule::new("shell", Some(it))).collect()
            }
            kind @ ("read" | "write") => vec![ClientRule::new(kind, None)],
            "mcp" => vec![ClientRule::new(text("serverName").unwrap_or_default(), text("toolName"))],
            "custom-tool" => vec![ClientRule::new("custom-tool", text("toolName"))],
            other => return Err(ErrorObject::bad_params(format!("approvals of the kind `{other}` are not supported"))),
        })
    }

    fn new(kind: &str, argument: Option<&str>) -> ClientRule {
        let argument = argument.filter(|argument| !argument.is_empty()).map(str::to_owned);
        ClientRule { kind: kind.to_owned(), argument }
    }

    /// The rule in the SDK's format.
    pub(crate) fn view(&self) -> Value {
        json!({ "kind": self.kind, "argument": self.argument })
    }

    /// A rule about an address.
    pub(crate) fn of_url(url: &str) -> ClientRule {
        ClientRule::new("url", Some(url))
    }

    /// Bosun's rules for the same calls. A rule that cannot be expressed is widened if it denies, and otherwise refused.
    pub(crate) fn texts(&self, effect: RuleEffect) -> Result<Vec<String>, ErrorObject> {
        let family = |name: &str| match &self.argument {
            Some(argument) => vec![format!("{name}({argument})")],
            None => vec![name.to_owned()],
        };
        Ok(match (self.kind.as_str(), &self.argument) {
            ("read", _) => family("read"),
            ("write", _) => family("edit"),
            ("url", None) => vec!["fetch".to_owned()],
            ("url", Some(url)) => {
                let (host, path) = split_url(url);
                if !path.is_empty() && effect == RuleEffect::Allow {
                    let why = format!("`{url}` names a path, and Bosun allows whole hosts only: name `{host}`");
                    return Err(ErrorObject::bad_params(why));
                }
                vec![format!("fetch({host})")]
            }
            ("shell" | "commands", None) => vec!["shell".to_owned()],
            ("shell" | "commands", Some(command)) => {
                // The name of a command stands for its calls with any arguments.
                let command = command.strip_suffix(":*").unwrap_or(command);
                vec![format!("shell({command})"), format!("shell({command} *)")]
            }
            ("custom-tool", Some(tool)) if find_tool(tool).is_none() => vec![tool.clone()],
            ("custom-tool" | "memory" | "hook", _) => {
                let why = format!("rules of the kind `{}` cannot be applied to this tool", self.kind);
                return Err(ErrorObject::bad_params(why));
            }
            (server, Some(tool)) => vec![mcp_tool_name(server, tool)],
            (server, None) => vec![format!("{}*", mcp_tool_name(server, ""))],
        })
    }
}

/// The host and the path of an address, which may have no scheme.
fn split_url(url: &str) -> (&str, &str) {
    let address = url.split_once("://").map_or(url, |(_scheme, address)| address);
    let (host, path) = address.split_once('/').unwrap_or((address, ""));
    (host.split_once(':').map_or(host, |(host, _port)| host), path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(kind: &str, argument: Option<&str>) -> Vec<String> {
        ClientRule::new(kind, argument).texts(RuleEffect::Allow).unwrap()
    }

    #[test]
    fn rules_of_every_kind_have_a_counterpart() {
        assert_eq!(texts("read", None), ["read"]);
        assert_eq!(texts("write", Some("/a/b")), ["edit(/a/b)"]);
        assert_eq!(texts("shell", Some("git:*")), ["shell(git)", "shell(git *)"]);
        assert_eq!(texts("commands", Some("git push")), ["shell(git push)", "shell(git push *)"]);
        assert_eq!(texts("url", Some("example.org")), ["fetch(example.org)"]);
        assert_eq!(texts("db", Some("query")), ["mcp__db__query"]);
        assert_eq!(texts("db", None), ["mcp__db__*"]);
        assert_eq!(texts("custom-tool", Some("weather")), ["weather"]);
        for (kind, argument) in [("custom-tool", Some("shell")), ("memory", None)] {
            let rule = ClientRule::new(kind, argument);
            assert!(rule.texts(RuleEffect::Allow).is_err(), "{kind} would match one of Bosun's tools");
        }
        let page = ClientRule::of_url("https://example.org/docs");
        assert!(page.texts(RuleEffect::Allow).is_err(), "it must not allow the whole host");
        assert_eq!(page.texts(RuleEffect::Deny).unwrap(), ["fetch(example.org)"]);
    }

    #[test]
    fn approvals_stand_for_rules() {
        let rules = ClientRule::of_approval(&json!({ "kind": "commands", "commandIdentifiers": ["a", "b"] })).unwrap();
        assert_eq!(
            rules.iter().map(ClientRule::view).collect::<Vec<_>>(),
            [json!({ "kind": "shell", "argument": "a" }), json!({ "kind": "shell", "argument": "b" }),]
        );
        let server = json!({ "kind": "mcp", "serverName": "db", "toolName": null });
        let rules = ClientRule::of_approval(&server).unwrap();
        assert_eq!(rules[0].texts(RuleEffect::Allow).unwrap(), ["mcp__db__*"]);
        assert!(ClientRule::of_approval(&json!({ "kind": "factory" })).is_err());
    }
}
