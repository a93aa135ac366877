//! Options that are not served. One that would restrict the session refuses it; the client is told of all others by name.

use protocol::RuleEffect;
use serde_json::Value;
use server::{OpenRefusal, SessionOpener};

use super::args::{ClaudeArgs, MAX_NAME_BYTES, NO_PROMPTS};
use super::initialize::InitializeRequest;
use super::open_request::refusal;
use super::rules;
use super::settings_files::ClaudeSettings;
use crate::managed;

/// Fields of `initialize` that are served, or that matter only to the client.
const SERVED_FIELDS: [&str; 15] = [
    "agents",
    "appendSystemPrompt",
    "forwardSubagentText",
    "hooks",
    "jsonSchema",
    "managedSettings",
    "mcpServers",
    "promptSuggestions",
    "sdkMcpServerConfigs",
    "sdkMcpServerManifests",
    "sdkMcpServers",
    "subtype",
    "supportedDialogKinds",
    "systemPrompt",
    "title",
];

/// Variables with which the SDKs pass options on that have no effect here.
const VARIABLES_WITHOUT_EFFECT: [&str; 1] = ["CLAUDE_CODE_QUESTION_PREVIEW_FORMAT"];

/// Refuses flags that would restrict the session.
pub(super) fn expect_supported(args: &ClaudeArgs) -> Result<(), OpenRefusal> {
    if let Some(flag) = args.refused.first() {
        return Err(refusal(format!("{flag} is not supported"), "leave it out"));
    }
    if let Some(other) = args.permission_prompts.as_deref().filter(|it| !["host", NO_PROMPTS].contains(it)) {
        return Err(refusal(format!("--permission-prompts: unknown value `{other}`"), "use host or none"));
    }
    Ok(())
}

/// The warnings about options without effect.
pub(super) fn warnings(
    args: &ClaudeArgs,
    initialize: &InitializeRequest,
    settings: &ClaudeSettings,
    opener: &dyn SessionOpener,
) -> Result<Vec<String>, OpenRefusal> {
    let variables = VARIABLES_WITHOUT_EFFECT.iter().filter(|name| opener.variable(name).is_some());
    let flags = args.without_effect.iter().cloned().chain(variables.map(|name| (*name).to_owned()));
    let fields = initialize.request.as_object().into_iter().flatten();
    let fields = fields.filter(|(name, value)| !SERVED_FIELDS.contains(&name.as_str()) && managed::has_effect(value));
    let fields = fields.map(|(name, _)| format!("`{}` of initialize", protocol::clip_middle(name, MAX_NAME_BYTES)));
    let names = flags.chain(fields).chain(settings.without_effect());
    let mut warnings: Vec<String> = names.map(|name| format!("{name} has no effect")).collect();
    warnings.extend(hook_warnings(&initialize.hooks));
    let allowed = args.allowed.iter().map(String::as_str).chain(texts(&settings.flag["permissions"]["allow"]));
    let dropped = allowed.filter(|rule| rules::translate_rule(RuleEffect::Allow, rule).is_none());
    warnings.extend(dropped.map(|rule| {
        format!("the permission rule `{}` allows nothing here", protocol::clip_middle(rule, MAX_NAME_BYTES))
    }));
    if args.permission_mode.as_deref() == Some("auto") {
        warnings.push("the permission mode auto is not supported; the mode is default".into());
    }
    if managed::expect_no_sandbox(&settings.flag)? {
        warnings.push("the settings enable a sandbox; commands run without one, because there is none".into());
    }
    Ok(warnings)
}

/// Hooks on events that never happen here.
fn hook_warnings(hooks: &Value) -> impl Iterator<Item = String> {
    let events = hooks.as_object().into_iter().flatten().map(|(event, _)| event);
    let unsupported = events.filter(|event| hooks::event_by_name(event).is_none());
    unsupported.map(|event| format!("hooks on {} are never called", protocol::clip_middle(event, MAX_NAME_BYTES)))
}

fn texts(list: &Value) -> impl Iterator<Item = &str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str)
}
