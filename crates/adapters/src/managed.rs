//! Managed settings: a policy that the client's administrator sets for a session. It can only restrict. An unsupported
//! setting is refused, never silently ignored.

use serde_json::{Map, Value};

use server::OpenRefusal;

/// A policy that a session must follow.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ManagedPolicy {
    /// Rules for calls that may never run, as the client writes them.
    pub(crate) deny: Vec<String>,
    /// Rules for calls that a person decides on, as the client writes them.
    pub(crate) ask: Vec<String>,
    /// Whether modes that allow every call are forbidden.
    pub(crate) forbids_bypass: bool,
}

impl ManagedPolicy {
    /// Reads a policy; refuses it if any part is not supported.
    pub(crate) fn read(settings: &Value) -> Result<ManagedPolicy, OpenRefusal> {
        let settings = as_object(settings, "managed settings")?;
        let mut managed = ManagedPolicy::default();
        let mut unsupported = Vec::new();
        for (name, value) in settings.iter().filter(|(_, value)| has_effect(value)) {
            match name.as_str() {
                "$schema" => {}
                "permissions" => managed.read_permissions(as_object(value, "`permissions`")?, &mut unsupported)?,
                other => unsupported.push(other.to_owned()),
            }
        }
        match unsupported.is_empty() {
            true => Ok(managed),
            false => Err(refusal(format!("unsupported managed settings: {}", unsupported.join(", ")))),
        }
    }

    fn read_permissions(
        &mut self,
        permissions: &Map<String, Value>,
        unsupported: &mut Vec<String>,
    ) -> Result<(), OpenRefusal> {
        for (name, value) in permissions.iter().filter(|(_, value)| has_effect(value)) {
            match (name.as_str(), value) {
                ("deny", rules) => self.deny.extend(rule_texts(rules, "`permissions.deny`")?),
                ("ask", rules) => self.ask.extend(rule_texts(rules, "`permissions.ask`")?),
                // A policy only restricts: settings that allow more have no effect. There is no auto mode to disable.
                ("allow" | "additionalDirectories" | "disableAutoMode", _) => {}
                ("defaultMode", Value::String(mode)) if mode == "default" => {}
                ("disableBypassPermissionsMode", Value::String(value)) if value == "disable" => {
                    self.forbids_bypass = true
                }
                ("disableBypassPermissionsMode", Value::Bool(true)) => self.forbids_bypass = true,
                (other, _) => unsupported.push(format!("permissions.{other}")),
            }
        }
        Ok(())
    }

    /// Whether it restricts nothing.
    pub(crate) fn is_empty(&self) -> bool {
        *self == ManagedPolicy::default()
    }
}

/// Refuses settings that require a sandbox for commands: Bosun has none. Returns whether they enable one.
pub(crate) fn expect_no_sandbox(settings: &Value) -> Result<bool, OpenRefusal> {
    let sandbox = &settings["sandbox"];
    if sandbox["enabled"] != true {
        return Ok(false);
    }
    if sandbox["failIfUnavailable"] == true || sandbox["allowUnsandboxedCommands"] == false {
        return Err(refusal("the settings require a sandbox for commands, and there is none".into()));
    }
    Ok(true)
}

/// Whether a setting has an effect.
pub(crate) fn has_effect(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::Array(list) => !list.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        Value::Bool(true) | Value::Number(_) | Value::String(_) => true,
    }
}

fn as_object<'a>(value: &'a Value, what: &str) -> Result<&'a Map<String, Value>, OpenRefusal> {
    value.as_object().ok_or_else(|| refusal(format!("{what} cannot be read: it is not an object")))
}

fn rule_texts(value: &Value, what: &str) -> Result<Vec<String>, OpenRefusal> {
    let texts = value.as_array().map(|list| list.iter().map(|text| text.as_str().map(str::to_owned)).collect());
    texts.flatten().ok_or_else(|| refusal(format!("{what} cannot be read: it is not a list of rules")))
}

/// The refusal of a session whose policy cannot be followed.
pub(crate) fn refusal(words: String) -> OpenRefusal {
    let hint = Some("the session is refused: a policy is followed in full or not at all".to_owned());
    OpenRefusal { words, hint }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn policies_are_followed_in_full_or_refused() {
        let rules = |deny: &[&str], ask: &[&str], forbids_bypass| {
            let owned = |rules: &[&str]| rules.iter().map(|rule| (*rule).to_owned()).collect();
            Some(ManagedPolicy { deny: owned(deny), ask: owned(ask), forbids_bypass })
        };
        let cases = [
            (json!({}), rules(&[], &[], false)),
            (json!({ "permissions": { "deny": ["Bash(touch *)"] } }), rules(&["Bash(touch *)"], &[], false)),
            (json!({ "permissions": { "ask": ["Read"], "deny": [] } }), rules(&[], &["Read"], false)),
            (json!({ "permissions": { "allow": ["Bash"] } }), rules(&[], &[], false)),
            (json!({ "permissions": { "disableBypassPermissionsMode": "disable" } }), rules(&[], &[], true)),
            (json!({ "permissions": { "disableBypassPermissionsMode": true } }), rules(&[], &[], true)),
            (json!({ "permissions": { "defaultMode": "default" }, "$schema": "x" }), rules(&[], &[], false)),
            (json!({ "allowManagedHooksOnly": false, "sandbox": {} }), rules(&[], &[], false)),
            (json!({ "allowManagedHooksOnly": true }), None),
            (json!({ "allowManagedPermissionRulesOnly": true }), None),
            (json!({ "sandbox": { "enabled": true } }), None),
            (json!({ "hooks": { "PreToolUse": [] } }), None),
            (json!({ "somethingNew": 1 }), None),
            (json!({ "permissions": { "defaultMode": "plan" } }), None),
            (json!({ "permissions": { "blockWritesOutsideWorkingDirectories": true } }), None),
            (json!({ "permissions": { "disableBypassPermissionsMode": "maybe" } }), None),
            (json!({ "permissions": { "deny": "Bash" } }), None),
            (json!({ "permissions": { "deny": ["Bash", 5] } }), None),
            (json!({ "permissions": ["Bash"] }), None),
            (json!("Bash"), None),
            (json!([]), None),
            (json!(null), None),
        ];
        for (settings, expected) in cases {
            assert_eq!(ManagedPolicy::read(&settings).ok(), expected, "{settings}");
        }
    }

    #[test]
    fn required_sandboxes_are_refused() {
        let sandbox = |sandbox: Value| expect_no_sandbox(&json!({ "sandbox": sandbox })).is_ok();
        assert!(sandbox(json!(null)) && sandbox(json!({})) && sandbox(json!({ "enabled": true })));
        assert!(sandbox(json!({ "enabled": false, "failIfUnavailable": true })));
        assert!(!sandbox(json!({ "enabled": true, "failIfUnavailable": true })));
        assert!(!sandbox(json!({ "enabled": true, "allowUnsandboxedCommands": false })));
    }
}
