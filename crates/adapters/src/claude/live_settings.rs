//! Settings that a client changes while its session runs: those that can change apply at once, and a request with any
//! other changes nothing.

use protocol::api::{Method, ModelParams, RuleChange, RulesParams};
use protocol::{ReasoningEffort, RuleEffect, clip_middle};
use serde_json::{Map, Value, json};

use super::args::MAX_NAME_BYTES;
use super::background::error_text;
use super::conversation::ClientConversation;
use super::mode::ClaudePermissionMode;
use super::rules;
use super::session_options::effort_of_tokens;
use super::wire::ClientGone;
use crate::effort::bosun_effort;

/// Settings that can change while a session runs.
const LIVE_SETTINGS: [&str; 3] = ["effortLevel", "model", "permissions"];

/// Keys of `permissions` that can change while a session runs.
const LIVE_PERMISSIONS: [&str; 4] = ["allow", "ask", "defaultMode", "deny"];

/// Changes of a running session, all of which are valid.
#[derive(Debug, Default, PartialEq, Eq)]
struct LiveSettings {
    /// The model; the one at the start of the session if it is empty.
    model: Option<String>,
    effort: Option<ReasoningEffort>,
    mode: Option<ClaudePermissionMode>,
    rules: Vec<RuleChange>,
}

impl LiveSettings {
    fn read(settings: &Value) -> Result<LiveSettings, String> {
        let settings = settings.as_object().ok_or("`settings` must be an object")?;
        expect_known(settings, &LIVE_SETTINGS, "")?;
        let empty = Map::new();
        let permissions = settings.get("permissions").and_then(Value::as_object).unwrap_or(&empty);
        expect_known(permissions, &LIVE_PERMISSIONS, "permissions.")?;
        let mode = permissions.get("defaultMode").and_then(Value::as_str).map(|name| {
            ClaudePermissionMode::parse(name).ok_or_else(|| format!("unknown permission mode `{}`", clip(name)))
        });
        let effort = settings
            .get("effortLevel")
            .and_then(Value::as_str)
            .map(|name| bosun_effort(name).ok_or_else(|| format!("unknown effort `{}`", clip(name))));
        let mut changes = Vec::new();
        for (key, effect) in [("allow", RuleEffect::Allow), ("ask", RuleEffect::Ask), ("deny", RuleEffect::Deny)] {
            changes.extend(read_rules(permissions.get(key), effect)?);
        }
        let model = settings.get("model").map(|model| model.as_str().unwrap_or_default().to_owned());
        Ok(LiveSettings { model, effort: effort.transpose()?, mode: mode.transpose()?, rules: changes })
    }
}

fn clip(name: &str) -> String {
    clip_middle(name, MAX_NAME_BYTES)
}

fn expect_known(settings: &Map<String, Value>, known: &[&str], prefix: &str) -> Result<(), String> {
    let unknown = settings.keys().filter(|key| !known.contains(&key.as_str()));
    let names: Vec<String> = unknown.map(|key| format!("`{prefix}{}`", clip(key))).collect();
    match names.is_empty() {
        true => Ok(()),
        false => Err(format!("these settings cannot change while a session runs: {}", names.join(", "))),
    }
}

/// The change that replaces the rules with an effect that were added while the session ran.
fn read_rules(rules: Option<&Value>, effect: RuleEffect) -> Result<Option<RuleChange>, String> {
    let Some(rules) = rules else { return Ok(None) };
    let texts = rules.as_array().ok_or("permission rules must be a list")?;
    let mut translated = Vec::new();
    for text in texts {
        let text = text.as_str().unwrap_or_default();
        match rules::translate_rule(effect, text) {
            Some(rule) => translated.push(rule),
            None => return Err(format!("invalid permission rule `{}`", clip(text))),
        }
    }
    Ok(Some(RuleChange::Replace { effect, rules: translated }))
}

impl ClientConversation {
    /// Applies settings to the running session, and answers the request.
    pub(super) async fn apply_flag_settings(&mut self, id: &str, request: &Value) -> Result<(), ClientGone> {
        let applied = match LiveSettings::read(&request["settings"]) {
            Ok(settings) => self.apply_live_settings(settings).await,
            Err(why) => Err(why),
        };
        let (answer, mode) = match applied {
            Ok(mode) => (Ok(json!({})), mode),
            Err(why) => (Err(why), None),
        };
        self.control.respond(id, answer).await;
        match mode {
            Some(mode) => self.report_mode(mode).await,
            None => Ok(()),
        }
    }

    async fn apply_live_settings(&mut self, settings: LiveSettings) -> Result<Option<ClaudePermissionMode>, String> {
        if settings.mode == Some(ClaudePermissionMode::Bypass) && self.options.forbids_bypass {
            return Err("managed settings forbid the permission mode bypassPermissions".into());
        }
        // What restricts the session comes first.
        if !settings.rules.is_empty() {
            let changes = RulesParams { changes: settings.rules };
            let _set: Value = self.call(Method::RulesSet, changes).await.map_err(error_text)?;
        }
        if let Some(model) = settings.model {
            self.set_model(Some(model.as_str()).filter(|model| !model.is_empty())).await?;
        }
        if let Some(effort) = settings.effort {
            self.set_effort(Some(effort)).await?;
        }
        if let Some(mode) = settings.mode {
            self.apply_mode(mode).await.map_err(error_text)?;
        }
        Ok(settings.mode)
    }

    /// Answers `set_max_thinking_tokens`: the effort is the nearest one. Without a number it is that of the start.
    pub(super) async fn set_thinking(&mut self, request: &Value) -> Result<Value, String> {
        match request.get("max_thinking_tokens") {
            None => Ok(json!({})),
            Some(Value::Null) => self.set_effort(self.options.effort).await,
            Some(tokens) => {
                let tokens = tokens.as_u64().ok_or("max_thinking_tokens must be a whole number, or null")?;
                let tokens = u32::try_from(tokens).unwrap_or(u32::MAX);
                // Models that think always do so; the lowest effort is the least.
                self.set_effort(effort_of_tokens(tokens).or(Some(ReasoningEffort::Low))).await
            }
        }
    }

    /// Changes the reasoning effort from the next turn on; without one it stays.
    async fn set_effort(&self, effort: Option<ReasoningEffort>) -> Result<Value, String> {
        if effort.is_some() {
            let params = ModelParams { model: self.info.model.clone(), effort };
            let _changed: ModelParams = self.call(Method::ModelSet, params).await.map_err(error_text)?;
        }
        Ok(json!({}))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_cannot_change_are_refused_by_name() {
        let why = |settings: Value| LiveSettings::read(&settings).unwrap_err();
        let refused = why(json!({ "model": "x", "env": {}, "hooks": {} }));
        assert_eq!(refused, "these settings cannot change while a session runs: `env`, `hooks`");
        assert!(why(json!({ "permissions": { "additionalDirectories": [] } })).contains("`permissions.additionalDir"));
        assert!(why(json!({ "permissions": { "allow": ["Skill(pdf)"] } })).contains("invalid permission rule"));
        assert!(why(json!({ "effortLevel": "deep" })).contains("unknown effort `deep`"));
        assert!(why(json!([])).contains("must be an object"));
    }

    #[test]
    fn rules_of_an_effect_replace_those_that_were_added() {
        let settings = json!({
            "permissions": { "deny": ["Bash(rm *)"], "defaultMode": "acceptEdits" }, "effortLevel": "low", "model": null,
        });
        let expected = LiveSettings {
            model: Some(String::new()),
            effort: Some(ReasoningEffort::Low),
            mode: Some(ClaudePermissionMode::AcceptEdits),
            rules: vec![RuleChange::Replace { effect: RuleEffect::Deny, rules: vec!["shell(rm *)".into()] }],
        };
        assert_eq!(LiveSettings::read(&settings).unwrap(), expected);
    }
}
