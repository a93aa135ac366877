//! Which options of `session.create`, `session.resume` and `session.send` are served. Every other one is named to the
//! client, so that none is ignored in silence.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use rpc::ErrorObject;
use serde_json::Value;

use crate::managed::has_effect;

/// Options of a session that are served, or that say only what the client can do.
const SESSION_OPTIONS: &[&str] = &[
    "additionalDirectories",
    "agent",
    "availableTools",
    "canvasProvider",
    "canvases",
    "clientName",
    "commands",
    "continuePendingWork",
    "customAgents",
    "defaultAgent",
    "disableResume",
    "disabledMcpServers",
    "disabledSkills",
    "enableGitHubTelemetryForwarding",
    "enableManagedSettings",
    "enableSkills",
    "excludedBuiltinAgents",
    "excludedTools",
    // What it says about itself is reported when the session is opened.
    "gitHubToken",
    "hooks",
    "instructionDirectories",
    "managedSettings",
    "mcpServers",
    "model",
    "models",
    "pluginDirectories",
    "provider",
    "providers",
    "reasoningEffort",
    "requestElicitation",
    "requestExitPlanMode",
    "requestPermission",
    "requestUserInput",
    "sessionId",
    // In credits of the vendor, and no session here spends any.
    "sessionLimits",
    "skillDirectories",
    "streaming",
    "systemMessage",
    "tools",
    "workingDirectory",
];

/// Options that apply only when a session is opened, and not when a client joins one that runs.
const OPENING_OPTIONS: &[&str] = &[
    "additionalDirectories",
    "agent",
    "availableTools",
    "customAgents",
    "defaultAgent",
    "disabledMcpServers",
    "disabledSkills",
    "enableSkills",
    "excludedBuiltinAgents",
    "excludedTools",
    "instructionDirectories",
    "mcpServers",
    "model",
    "models",
    "pluginDirectories",
    "provider",
    "providers",
    "reasoningEffort",
    "skillDirectories",
    "systemMessage",
    "workingDirectory",
];

/// Values, as JSON, that ask for what is done in any case. `false` and what is empty need no entry, unless they would
/// switch off what is done.
const DONE_ANYWAY: &[(&str, &[&str])] = &[
    ("askUserVariant", &[r#""legacy""#]),
    ("contextTier", &[r#""default""#]),
    ("customAgentsLocalOnly", &["true"]),
    ("embeddingCacheStorage", &[r#""in-memory""#]),
    ("enableConfigDiscovery", &["true"]),
    ("enableFileHooks", &["true"]),
    ("enableHostGitOperations", &["true"]),
    ("envValueMode", &[r#""direct""#]),
    ("imageGeneration", &[r#"{"enabled":false}"#]),
    ("includeSubAgentStreamingEvents", &["true"]),
    ("infiniteSessions", &[r#"{"enabled":true}"#]),
    ("memory", &[r#"{"enabled":false}"#]),
    ("mcpOAuthTokenStorage", &[r#""persistent""#]),
    ("remoteSession", &[r#""off""#]),
    ("sandboxConfig", &[r#"{"enabled":false}"#]),
    ("skipEmbeddingRetrieval", &["true"]),
    ("toolFilterPrecedence", &[r#""excluded""#]),
    ("toolSearch", &[r#"{"enabled":true}"#]),
];

/// Options of a session for which `false` is a wish too.
const ALWAYS_ON: &[&str] =
    &["enableConfigDiscovery", "enableFileHooks", "enableHostGitOperations", "includeSubAgentStreamingEvents"];

/// Options of a message that are served.
const MESSAGE_OPTIONS: &[&str] =
    &["agentMode", "attachments", "displayPrompt", "mode", "prompt", "requestHeaders", "responseFormat", "sessionId"];

/// Properties of an agent that are served.
const AGENT_OPTIONS: &[&str] =
    &["description", "displayName", "infer", "mcpServers", "model", "name", "prompt", "skills", "tools"];

/// Properties of a tool that are served.
const TOOL_OPTIONS: &[&str] = &["description", "name", "parameters", "skipPermission"];

/// Fields of `connect` that are served, or that only describe the client.
const CONNECT_OPTIONS: &[&str] = &["clientInfo", "enableGitHubTelemetryForwarding", "supportedTaskKinds", "token"];

/// Maximum bytes of a name in a message.
const MAX_NAME_BYTES: usize = 80;

/// Refuses options that change what a session may do, or where it runs, and that are not served.
pub(crate) fn expect_supported(params: &Value) -> Result<(), ErrorObject> {
    if params["sandboxConfig"]["enabled"] == true {
        let why = "`sandboxConfig` is not supported: there is no sandbox for commands. Leave it out, or restrict the \
                   session with permission rules";
        return Err(ErrorObject::internal(why));
    }
    if !params["cloud"].is_null() {
        return Err(ErrorObject::internal("`cloud` is not supported: sessions run on this machine. Leave it out"));
    }
    Ok(())
}

/// One line for each option of a session that has no effect.
pub(crate) fn session_options_without_effect(params: &Value) -> Vec<String> {
    let mut lines: Vec<String> = unserved(params, SESSION_OPTIONS).map(|name| has_none(&name)).collect();
    for agent in list(&params["customAgents"]) {
        let name = clipped(agent["name"].as_str().unwrap_or_default());
        lines.extend(unserved(agent, AGENT_OPTIONS).map(|option| has_none_of(&option, "the agent", &name)));
        if agent["model"].as_str().is_some_and(|model| !model.is_empty() && !model.contains('/')) {
            let why = "names no model of Bosun, which are PROVIDER/NAME: it uses the session's";
            lines.push(format!("`model` of the agent {name} {why}"));
        }
    }
    for tool in list(&params["tools"]) {
        let name = clipped(tool["name"].as_str().unwrap_or_default());
        lines.extend(unserved(tool, TOOL_OPTIONS).map(|option| has_none_of(&option, "the tool", &name)));
    }
    lines
}

/// The fields of `connect` that have no effect.
pub(crate) fn connect_options_without_effect(params: &Value) -> Vec<String> {
    unserved(params, CONNECT_OPTIONS).collect()
}

/// The options that a session was opened with, as digests: they may contain keys.
#[derive(Debug, Default)]
pub(crate) struct OpenedOptions(BTreeMap<String, u64>);

impl OpenedOptions {
    pub(crate) fn of(params: &Value) -> OpenedOptions {
        let options = OPENING_OPTIONS.iter().filter(|name| has_effect(&params[**name]));
        OpenedOptions(options.map(|name| ((*name).to_owned(), digest(&params[*name]))).collect())
    }

    /// The notice about options of a client that joins the running session and wants it to be another.
    pub(crate) fn ignored_when_joining(&self, params: &Value) -> Option<String> {
        let OpenedOptions(wanted) = OpenedOptions::of(params);
        let ignored: Vec<String> = wanted
            .into_iter()
            .filter(|(name, digest)| self.0.get(name) != Some(digest))
            .map(|(name, _)| name)
            .collect();
        let notice = || format!("the session is running, so these options have no effect: {}", ignored.join(", "));
        (!ignored.is_empty()).then(notice)
    }
}

fn digest(value: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.to_string().hash(&mut hasher);
    hasher.finish()
}

/// One line for each option of a message that has no effect.
pub(crate) fn message_options_without_effect(params: &Value) -> Vec<String> {
    unserved(params, MESSAGE_OPTIONS).map(|name| has_none(&name)).collect()
}

/// The names of options that are not served and whose value asks for something.
fn unserved<'a>(options: &'a Value, served: &'a [&str]) -> impl Iterator<Item = String> + 'a {
    let options = options.as_object().into_iter().flatten();
    let options = options.filter(|(name, value)| !served.contains(&name.as_str()) && is_wish(name, value));
    options.map(|(name, _)| clipped(name))
}

/// Whether a value asks for something that is not done anyway.
fn is_wish(name: &str, value: &Value) -> bool {
    let done = DONE_ANYWAY.iter().find(|(known, _)| *known == name).map_or(&[][..], |(_, values)| values);
    let is_done = done.contains(&value.to_string().as_str());
    let is_off = *value == false && ALWAYS_ON.contains(&name);
    !is_done && (is_off || has_effect(value))
}

fn has_none(option: &str) -> String {
    format!("`{option}` is not supported and has no effect")
}

fn has_none_of(option: &str, what: &str, name: &str) -> String {
    format!("`{option}` of {what} {name} is not supported and has no effect")
}

fn clipped(name: &str) -> String {
    protocol::clip_middle(name, MAX_NAME_BYTES)
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn options_that_ask_for_something_else_are_named() {
        let silent = json!({
            "sessionId": "s", "model": "m", "enableSkills": true, "enableCitations": false, "memory": { "enabled": false },
            "remoteSession": "off", "featureFlags": {}, "largeOutput": null, "toolFilterPrecedence": "excluded",
            "tools": [{ "name": "t", "parameters": {}, "isTerminal": false }], "customAgents": [{ "name": "a", "infer": true }],
        });
        assert!(session_options_without_effect(&silent).is_empty());
        let named = json!({
            "memory": { "enabled": true }, "madeUp": 1, "remoteSession": "on",
            "tools": [{ "name": "t", "isTerminal": true }],
            "customAgents": [{ "name": "a", "color": "red", "model": "gpt" }],
        });
        let expected = [
            "`madeUp` is not supported and has no effect",
            "`memory` is not supported and has no effect",
            "`remoteSession` is not supported and has no effect",
            "`color` of the agent a is not supported and has no effect",
            "`model` of the agent a names no model of Bosun, which are PROVIDER/NAME: it uses the session's",
            "`isTerminal` of the tool t is not supported and has no effect",
        ];
        assert_eq!(session_options_without_effect(&named), expected);
        let message = json!({ "prompt": "p", "requestHeaders": { "a": "b" }, "source": "system" });
        let expected = ["`source` is not supported and has no effect"];
        assert_eq!(message_options_without_effect(&message), expected);
    }

    #[test]
    fn a_client_that_joins_is_told_what_it_cannot_change() {
        let opened = OpenedOptions::of(&json!({ "model": "m", "excludedTools": ["bash"], "streaming": true }));
        let same = json!({ "sessionId": "s", "model": "m", "excludedTools": ["bash"], "availableTools": null });
        assert_eq!(opened.ignored_when_joining(&same), None);
        let other = json!({ "model": "m", "excludedTools": ["view"], "systemMessage": { "content": "c" } });
        let notice = opened.ignored_when_joining(&other).unwrap();
        assert!(notice.ends_with(": excludedTools, systemMessage"), "{notice}");
    }

    #[test]
    fn what_would_restrict_a_session_refuses_it() {
        for params in [json!({ "sandboxConfig": { "enabled": true } }), json!({ "cloud": {} })] {
            assert!(expect_supported(&params).is_err(), "{params}");
        }
        assert!(expect_supported(&json!({ "sandboxConfig": { "enabled": false }, "cloud": null })).is_ok());
    }
}
