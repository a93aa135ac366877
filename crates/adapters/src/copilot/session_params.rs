//! From `session.create` and `session.resume` to options of Bosun's own.

use std::path::PathBuf;
use std::sync::Arc;

use protocol::{RuleEffect, SessionId};
use rpc::ErrorObject;
use runtime::{ClientExtensions, SessionStart, SystemText};
use serde_json::{Map, Value, json};
use tools::Tool;

use super::client_tools::{ClientTool, PendingToolCalls};
use super::hooks::{ClientHooks, hook_specs};
use super::methods::provider;
use super::session_clients::{ClientCapabilities, SessionClients};
use super::tool_filter::{ToolFilter, own_tool_name};
use crate::OpenRequest;
use crate::flags::{RunFlags, effort};
use crate::managed::{self, ManagedPolicy};

/// What a client asks for with a session.
pub(crate) struct CopilotSessionParams<'a>(pub(crate) &'a Value);

impl CopilotSessionParams<'_> {
    pub(crate) fn capabilities(&self) -> ClientCapabilities {
        let wants = |name: &str| self.0[name].as_bool().unwrap_or(false);
        ClientCapabilities {
            user_input: wants("requestUserInput"),
            exit_plan: wants("requestExitPlanMode"),
            hooks: wants("hooks"),
            streaming: wants("streaming"),
        }
    }

    /// The model that is wanted, unless the client leaves that to Bosun.
    pub(crate) fn model(&self) -> Option<&str> {
        self.0["model"].as_str().filter(|model| !model.is_empty() && *model != "auto")
    }

    /// Whether another model may answer when the wanted one is not to be had: clients name models of a service that
    /// Bosun may know nothing of.
    pub(crate) fn allows_other_model(&self) -> bool {
        self.0["provider"].is_null() && self.model().is_some_and(|model| !model.contains('/'))
    }

    /// The order of such a session, with this model.
    pub(crate) fn open_request(
        &self,
        start: SessionStart,
        id: SessionId,
        called: &str,
        model: Option<&str>,
        audience: &Arc<SessionClients>,
        bench: &Arc<PendingToolCalls>,
    ) -> Result<OpenRequest, ErrorObject> {
        let mut order = OpenRequest::new(start);
        if start == SessionStart::New {
            order.id = Some(id);
        }
        order.cwd = self.0["workingDirectory"].as_str().map(PathBuf::from);
        order.flags = self.flags(model);
        order.flags.extend(self.policy()?);
        order.client_extensions = ClientExtensions {
            tools: self.tools(called, bench)?,
            hooks: hook_specs(),
            hook_driver: Some(Arc::new(ClientHooks::new(called.to_owned(), Arc::clone(audience)))),
            system: self.system(),
        };
        provider::apply(&mut order, self.0)?;
        Ok(order)
    }

    fn flags(&self, model: Option<&str>) -> Vec<String> {
        let mut flags = RunFlags::default();
        flags.put("--ask-wait", Some("for-ever"));
        flags.put("--model", model);
        flags.put("--effort", self.0["reasoningEffort"].as_str().and_then(effort));
        flags.put("--agent", self.0["agent"].as_str().filter(|name| !name.is_empty()));
        if !self.capabilities().user_input {
            flags.set("--no-ask-user");
        }
        flags.each("--add-dir", texts(&self.0["additionalDirectories"]));
        flags.each("--plugin-dir", texts(&self.0["pluginDirectories"]));
        flags.put("--agents", self.agents());
        flags.each("--deny", self.denied_tools());
        flags.into_args()
    }

    /// The policy that the client is managed by.
    pub(crate) fn managed_policy(&self) -> Result<ManagedPolicy, ErrorObject> {
        match &self.0["managedSettings"] {
            Value::Null if self.0["enableManagedSettings"] == true => {
                let why =
                    "`enableManagedSettings` without `managedSettings` is not served: there is no policy to be had";
                Err(ErrorObject::internal(managed::refusal(why.into())))
            }
            Value::Null => Ok(ManagedPolicy::default()),
            settings => ManagedPolicy::read(settings).map_err(ErrorObject::internal),
        }
    }

    /// The rules of that policy.
    fn policy(&self) -> Result<Vec<String>, ErrorObject> {
        let ManagedPolicy { deny, ask, .. } = self.managed_policy()?;
        let mut flags = RunFlags::default();
        for (flag, effect, texts) in [("--deny", RuleEffect::Deny, deny), ("--ask", RuleEffect::Ask, ask)] {
            for text in texts {
                let why = || managed::refusal(format!("the managed rule `{text}` cannot be read"));
                let rule = translate_policy_rule(effect, &text).ok_or_else(|| ErrorObject::internal(why()))?;
                flags.put(flag, Some(rule));
            }
        }
        Ok(flags.into_args())
    }

    /// The client's agents, as `--agents` takes them.
    fn agents(&self) -> Option<String> {
        let agents: Map<String, Value> = list(&self.0["customAgents"])
            .filter_map(|agent| Some((agent["name"].as_str()?.to_owned(), agent_definition(agent))))
            .collect();
        (!agents.is_empty()).then(|| Value::Object(agents).to_string())
    }

    /// What the client calls its agents, by the agents' names.
    pub(crate) fn titles(&self) -> impl Iterator<Item = (String, String)> {
        list(&self.0["customAgents"])
            .filter_map(|agent| Some((agent["name"].as_str()?.to_owned(), agent["displayName"].as_str()?.to_owned())))
    }

    /// The tools of Bosun's own that are not to be used.
    fn denied_tools(&self) -> Vec<String> {
        let (available, excluded) = self.filters();
        let own = own_tools();
        let is_wanted = |name: &String| {
            available.as_ref().is_none_or(|available| available.has_own(name)) && !excluded.has_own(name)
        };
        own.into_iter().filter(|name| !is_wanted(name)).collect()
    }

    fn tools(&self, called: &str, bench: &Arc<PendingToolCalls>) -> Result<Vec<Arc<dyn Tool>>, ErrorObject> {
        let (available, excluded) = self.filters();
        let cwd = self.0["workingDirectory"].as_str().map(str::to_owned);
        let mut tools: Vec<Arc<dyn Tool>> = Vec::new();
        for given in list(&self.0["tools"]) {
            let name = given["name"].as_str().unwrap_or_default();
            let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
            if name.is_empty() || name.len() > 64 || !name.chars().all(is_word) {
                let why = format!("`{name}` is not a tool's name: letters, digits, _ and -, at most 64");
                return Err(ErrorObject::bad_params(why));
            }
            let is_available = available.as_ref().is_none_or(|available| available.has_custom(name));
            if is_available && !excluded.has_custom(name) {
                tools.push(Arc::new(ClientTool::new(given, called.to_owned(), cwd.clone(), Arc::clone(bench))));
            }
        }
        Ok(tools)
    }

    fn filters(&self) -> (Option<ToolFilter>, ToolFilter) {
        let available = self.0["availableTools"].as_array().map(|_| ToolFilter::read(&self.0["availableTools"]));
        (available, ToolFilter::read(&self.0["excludedTools"]))
    }

    fn system(&self) -> SystemText {
        let given = &self.0["systemMessage"];
        let content = given["content"].as_str().unwrap_or_default();
        let sections = given["sections"].as_object().into_iter().flat_map(Map::values);
        let added = sections
            .filter(|section| matches!(section["action"].as_str(), Some("replace" | "append" | "prepend")))
            .filter_map(|section| section["content"].as_str());
        match given["mode"].as_str() {
            Some("replace") if !content.is_empty() => SystemText::Replaced(content.to_owned()),
            Some("customize") => appended(added.chain([content])),
            _append => appended([content].into_iter()),
        }
    }
}

/// A rule that forbids, in our words, whichever family's words it is in. One that cannot be kept to the letter is kept
/// on the safe side.
fn translate_policy_rule(effect: RuleEffect, text: &str) -> Option<String> {
    let (name, pattern) = text.split_once('(').map_or((text, None), |(name, rest)| (name, Some(rest)));
    let name = match name.trim() {
        "bash" | "shell" => "Bash",
        "url" | "web_fetch" | "fetch" => "WebFetch",
        "write" | "edit" | "create" => "Edit",
        "read" | "view" => "Read",
        other => other,
    };
    let text = pattern.map_or_else(|| name.to_owned(), |rest| format!("{name}({rest}"));
    crate::claude::translate_rule(effect, &text)
}

fn appended<'a>(texts: impl Iterator<Item = &'a str>) -> SystemText {
    let texts: Vec<&str> = texts.filter(|text| !text.trim().is_empty()).collect();
    if texts.is_empty() { SystemText::BuiltIn } else { SystemText::Appended(texts.join("\n\n")) }
}

fn agent_definition(agent: &Value) -> Value {
    let mut definition = json!({
        "description": agent["description"].as_str().or(agent["displayName"].as_str()).unwrap_or("an agent of the client"),
        "prompt": agent["prompt"],
    });
    if agent["tools"].is_array() {
        definition["tools"] = texts(&agent["tools"]).map(own_tool_name).collect();
    }
    if let Some(model) = agent["model"].as_str().filter(|model| model.contains('/')) {
        definition["model"] = model.into();
    }
    if agent["infer"] == false {
        definition["disable-model-invocation"] = true.into();
    }
    definition
}

/// The tools that work on files, run programs, reach the network or start agents.
fn own_tools() -> Vec<String> {
    let everyday = tools::builtin_tools().into_iter().map(|tool| tool.spec().name.to_string());
    everyday.chain(["task".to_owned(), "ask_user".to_owned()]).collect()
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn texts(value: &Value) -> impl Iterator<Item = &str> {
    list(value).filter_map(Value::as_str).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags(params: Value) -> Vec<String> {
        CopilotSessionParams(&params).flags(CopilotSessionParams(&params).model())
    }

    #[test]
    fn what_a_client_asks_for_becomes_our_own_options() {
        let given = flags(json!({
            "model": "script/x.yaml", "reasoningEffort": "xhigh", "requestUserInput": true,
            "tools": [{ "name": "a", "skipPermission": true }, { "name": "b" }],
            "excludedTools": ["bash"], "additionalDirectories": ["/more"],
            "customAgents": [{ "name": "scout", "prompt": "Look.", "tools": ["bash", "view"], "infer": false }],
        }));
        assert_eq!(
            given,
            [
                "--ask-wait=for-ever",
                "--model=script/x.yaml",
                "--effort=high",
                "--add-dir=/more",
                r#"--agents={"scout":{"description":"an agent of the client","disable-model-invocation":true,"prompt":"Look.","tools":["shell","view"]}}"#,
                "--deny=shell",
            ]
        );
        assert_eq!(flags(json!({})), ["--ask-wait=for-ever", "--no-ask-user"]);
        assert_eq!(flags(json!({ "model": "auto", "requestUserInput": true })), ["--ask-wait=for-ever"]);
    }

    #[test]
    fn only_available_tools_are_left() {
        let denied = flags(json!({ "availableTools": ["bash", "builtin:view", "custom:mine"] }));
        assert!(denied.contains(&"--deny=create".to_owned()) && denied.contains(&"--deny=task".to_owned()));
        assert!(!denied.contains(&"--deny=shell".to_owned()) && !denied.contains(&"--deny=view".to_owned()));
    }

    #[test]
    fn a_tool_of_the_client_goes_by_the_client_s_name_alone() {
        let tools = |lists: Value| {
            let mut params = lists;
            params["tools"] = json!([{ "name": "bash" }, { "name": "mine" }]);
            let made = CopilotSessionParams(&params).tools("a session", &Arc::default()).unwrap();
            made.iter().map(|tool| tool.spec().name.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(tools(json!({ "excludedTools": ["bash"] })), ["mine"]);
        assert_eq!(tools(json!({ "excludedTools": ["builtin:bash"] })), ["bash", "mine"]);
        assert_eq!(tools(json!({ "availableTools": ["custom:bash"] })), ["bash"]);
    }

    #[test]
    fn the_system_text_is_added_to_or_replaced() {
        let system = |message: Value| CopilotSessionParams(&json!({ "systemMessage": message })).system();
        assert_eq!(system(Value::Null), SystemText::BuiltIn);
        assert_eq!(system(json!({ "content": "Be brief." })), SystemText::Appended("Be brief.".into()));
        let replaced = json!({ "mode": "replace", "content": "You are a parrot." });
        assert_eq!(system(replaced), SystemText::Replaced("You are a parrot.".into()));
        let sections =
            json!({ "tone": { "action": "replace", "content": "Kind." }, "safety": { "action": "preserve" } });
        let customized = json!({ "mode": "customize", "sections": sections, "content": "Short." });
        assert_eq!(system(customized), SystemText::Appended("Kind.\n\nShort.".into()));
    }
}
