//! What a client says about itself: in `initialize`, or in the `_meta` of each request.

use mcp::AGENT_MARK;
use serde_json::{Map, Value, json};

use super::McpFault;
use super::revision::{CAPABILITIES_META, CLIENT_META, TASKS_EXTENSION};

/// What a client says about itself.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct McpClientProfile {
    /// Its name; empty if it does not say.
    pub name: String,
    capabilities: Map<String, Value>,
}

/// What a server may ask a client for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum InputMethod {
    Elicitation,
    Sampling,
    Roots,
}

impl InputMethod {
    fn from_name(method: &str) -> Option<InputMethod> {
        match method {
            "elicitation/create" => Some(InputMethod::Elicitation),
            "sampling/createMessage" => Some(InputMethod::Sampling),
            "roots/list" => Some(InputMethod::Roots),
            _other => None,
        }
    }

    fn capability(self) -> &'static str {
        match self {
            InputMethod::Elicitation => "elicitation",
            InputMethod::Sampling => "sampling",
            InputMethod::Roots => "roots",
        }
    }
}

impl McpClientProfile {
    /// Reads the parameters of `initialize`.
    pub(crate) fn of_initialize(params: &Map<String, Value>) -> McpClientProfile {
        McpClientProfile::read(params.get("clientInfo"), params.get("capabilities"))
    }

    /// Reads the `_meta` of a request.
    pub(crate) fn of_meta(meta: &Value) -> McpClientProfile {
        McpClientProfile::read(meta.get(CLIENT_META), meta.get(CAPABILITIES_META))
    }

    fn read(info: Option<&Value>, capabilities: Option<&Value>) -> McpClientProfile {
        let name = info.and_then(|info| info["name"].as_str()).unwrap_or_default();
        let capabilities = capabilities.and_then(Value::as_object).cloned().unwrap_or_default();
        McpClientProfile { name: protocol::clip_middle(name, 100), capabilities }
    }

    /// Whether it declared a capability, such as `sampling`.
    pub fn has(&self, capability: &str) -> bool {
        self.capabilities.get(capability).is_some_and(Value::is_object)
    }

    /// Whether it acts for an agent of Bosun, which never decides for the user.
    pub fn is_agent(&self) -> bool {
        ["experimental", "extensions"].iter().any(|kind| self.has_extension(kind, AGENT_MARK))
    }

    /// Whether it shows forms to its user.
    pub fn can_elicit(&self) -> bool {
        let elicitation = self.capabilities.get("elicitation").and_then(Value::as_object);
        elicitation.is_some_and(|modes| modes.is_empty() || modes.contains_key("form"))
    }

    /// Whether it follows calls that become tasks, in the form of 2026-07-28.
    pub(crate) fn has_tasks(&self) -> bool {
        self.has_extension("extensions", TASKS_EXTENSION)
    }

    fn has_extension(&self, kind: &str, name: &str) -> bool {
        self.capabilities.get(kind).and_then(|extensions| extensions.get(name)).is_some_and(Value::is_object)
    }

    /// Whether it can answer a request with this method.
    pub(crate) fn require_input(&self, method: &str) -> Result<(), McpFault> {
        let input = InputMethod::from_name(method)
            .ok_or_else(|| McpFault::internal(format!("a client cannot be asked for `{method}`")))?;
        let is_declared = match input {
            InputMethod::Elicitation => self.can_elicit(),
            InputMethod::Sampling | InputMethod::Roots => self.has(input.capability()),
        };
        let required = json!({ input.capability(): {} });
        if is_declared { Ok(()) } else { Err(McpFault::missing_capability(required)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(capabilities: Value) -> McpClientProfile {
        McpClientProfile::of_meta(&json!({ CAPABILITIES_META: capabilities }))
    }

    #[test]
    fn a_client_is_asked_only_for_what_it_declared() {
        for forms in [json!({ "elicitation": {} }), json!({ "elicitation": { "form": {}, "url": {} } })] {
            assert!(profile(forms).require_input("elicitation/create").is_ok());
        }
        for no_forms in [json!({}), json!({ "elicitation": { "url": {} } }), json!({ "elicitation": true }), json!(5)] {
            let fault = profile(no_forms).require_input("elicitation/create").unwrap_err();
            assert_eq!(fault.http_status(), 400);
            let error = fault.into_error();
            let required = json!({ "requiredCapabilities": { "elicitation": {} } });
            assert_eq!((error.code, error.data), (-32021, Some(required)));
        }
        assert!(profile(json!({ "sampling": {} })).require_input("sampling/createMessage").is_ok());
        assert!(profile(json!({ "roots": {} })).require_input("sampling/createMessage").is_err());
        assert!(profile(json!({ "extensions": { TASKS_EXTENSION: {} } })).has_tasks());
        assert!(!profile(json!({ "tasks": {} })).has_tasks());
    }

    #[test]
    fn an_agent_of_bosun_is_known_by_its_mark_and_not_by_its_name() {
        let named = json!({ "clientInfo": { "name": "bosun", "version": "1" }, "capabilities": {} });
        assert!(!McpClientProfile::of_initialize(named.as_object().unwrap()).is_agent());
        assert!(profile(json!({ "extensions": { AGENT_MARK: {} } })).is_agent());
        let session = json!({ "capabilities": { "experimental": { AGENT_MARK: {} } } });
        assert!(McpClientProfile::of_initialize(session.as_object().unwrap()).is_agent());
    }
}
