//! Translates `session.create` and `session.resume` into Bosun's options.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use protocol::{HookDialect, McpServerSpec, RULE_FAMILIES, RuleEffect, SessionId, SessionOptions, TOOLS, tool_name};
use rpc::ErrorObject;
use runtime::{ClientExtensions, SessionStart, SystemText, ToolOffer};
use serde_json::{Map, Value, json};
use tools::{McpTokenSource, Tool};

use super::client_tools::{ClientTool, PendingToolCalls};
use super::hooks::{ClientHooks, hook_specs};
use super::hosted_session::{ClientAgentName, HostedSession};
use super::methods::provider;
use super::session_clients::{ClientCapabilities, SessionClients};
use super::system_sections::{ClientSectionEditor, section_edits};
use super::tool_filter::{ToolFilter, own_tool_name};
use super::unsupported::tool_names;
use super::{instruction_dirs, mcp_servers};
use crate::effort::bosun_effort;
use crate::managed::{self, ManagedPolicy};
use server::OpenRequest;

/// The parameters of `session.create` or `session.resume`.
pub(crate) struct CopilotSessionParams<'a>(pub(crate) &'a Value);

impl CopilotSessionParams<'_> {
    pub(crate) fn capabilities(&self) -> ClientCapabilities {
        let flag = |name: &str| self.0[name].as_bool().unwrap_or(false);
        ClientCapabilities {
            user_input: flag("requestUserInput"),
            exit_plan: flag("requestExitPlanMode"),
            hooks: flag("hooks"),
            forms: flag("requestElicitation"),
            streaming: flag("streaming"),
            transforms_system_message: self.transforms_system_message(),
        }
    }

    /// The requested model, unless the client leaves the choice to Bosun.
    pub(crate) fn model(&self) -> Option<&str> {
        self.0["model"].as_str().filter(|model| !model.is_empty() && *model != "auto")
    }

    /// Whether another model may be used if the requested one is not available: clients name models of a service that
    /// may not be configured in Bosun.
    pub(crate) fn allows_other_model(&self) -> bool {
        self.0["provider"].is_null() && self.model().is_some_and(|model| !model.contains('/'))
    }

    /// The token of the client's GitHub account.
    pub(crate) fn github_token(&self) -> Option<&str> {
        self.0["gitHubToken"].as_str().filter(|token| !token.is_empty())
    }

    /// Whether the client supplies a token for each request to its provider.
    pub(crate) fn supplies_tokens(&self) -> bool {
        supplies_tokens(&self.0["provider"])
    }

    /// The providers with names for which the client supplies a token for each request.
    pub(crate) fn named_token_providers(&self) -> impl Iterator<Item = &str> {
        items(&self.0["providers"]).filter(|provider| supplies_tokens(provider)).filter_map(|it| it["name"].as_str())
    }

    /// The folders in which files may be used: the session's own first.
    pub(crate) fn folders(&self, cwd: &str) -> Vec<PathBuf> {
        let folders = std::iter::once(cwd).chain(non_empty_texts(&self.0["additionalDirectories"])).map(PathBuf::from);
        folders.map(|folder| folder.canonicalize().unwrap_or(folder)).collect()
    }

    /// Builds the request to open the session with this model.
    pub(crate) fn open_request(
        &self,
        start: SessionStart,
        id: SessionId,
        name: &str,
        model: Option<&str>,
        clients: &Arc<SessionClients>,
        tool_calls: &Arc<PendingToolCalls>,
    ) -> Result<OpenRequest, ErrorObject> {
        let mut request = OpenRequest::new(start);
        if start == SessionStart::New {
            request.id = Some(id);
        }
        request.options = self.options(model);
        self.add_policy_rules(&mut request.options)?;
        request.client_extensions = ClientExtensions {
            tools: self.tools(name, tool_calls)?,
            catalog: None,
            hooks: hook_specs(),
            hook_driver: Some(Arc::new(ClientHooks::new(name.to_owned(), Arc::clone(clients)))),
            mcp_tokens: Some(Arc::clone(&tool_calls.mcp_tokens) as Arc<dyn McpTokenSource>),
            sql_observer: None,
            system_text: self.system(),
            system_editor: Some(Arc::new(ClientSectionEditor::new(name.to_owned(), Arc::clone(clients)))),
            offer: self.offer(),
            tool_dialect: Some(HookDialect::Camel),
            joined_tools: tool_calls.joined.clone(),
            joined_providers: tool_calls.joined_providers.clone(),
            agent_overrides: tool_calls.agent_overrides.clone(),
        };
        request.client_name = self.0["clientName"].as_str().map(str::to_owned);
        provider::apply(&mut request, self.0)?;
        Ok(request)
    }

    fn options(&self, model: Option<&str>) -> SessionOptions {
        SessionOptions {
            cwd: self.0["workingDirectory"].as_str().map(PathBuf::from),
            model: model.map(str::to_owned),
            effort: self.0["reasoningEffort"].as_str().and_then(bosun_effort),
            agent: self.0["agent"].as_str().filter(|name| !name.is_empty()).map(str::to_owned),
            ask_reads: self.0["requestPermission"] == true,
            ask_user: Some(self.capabilities().user_input),
            add_dirs: non_empty_texts(&self.0["additionalDirectories"]).map(PathBuf::from).collect(),
            plugin_dirs: non_empty_texts(&self.0["pluginDirectories"]).map(PathBuf::from).collect(),
            skill_dirs: non_empty_texts(&self.0["skillDirectories"]).map(PathBuf::from).collect(),
            disabled_skills: non_empty_texts(&self.0["disabledSkills"]).map(str::to_owned).collect(),
            agents: self.agents(),
            deny: mcp_servers::denied_tools(&self.filters().1),
            mcp_servers: self.mcp_servers(),
            only_these_mcp_servers: self.filters().0.is_some_and(|available| !available.has_all_mcp()),
            disabled_mcp_servers: non_empty_texts(&self.0["disabledMcpServers"]).map(str::to_owned).collect(),
            ..SessionOptions::default()
        }
    }

    /// The client's managed settings.
    pub(crate) fn managed_policy(&self) -> Result<ManagedPolicy, ErrorObject> {
        match &self.0["managedSettings"] {
            Value::Null if self.0["enableManagedSettings"] == true => {
                let why =
                    "`enableManagedSettings` without `managedSettings` is not supported: there is no policy to load";
                Err(ErrorObject::internal(managed::refusal(why.into())))
            }
            Value::Null => Ok(ManagedPolicy::default()),
            settings => ManagedPolicy::read(settings).map_err(ErrorObject::internal),
        }
    }

    /// Adds the rules of the managed settings.
    fn add_policy_rules(&self, options: &mut SessionOptions) -> Result<(), ErrorObject> {
        let ManagedPolicy { deny, ask, .. } = self.managed_policy()?;
        let policies = [(&mut options.deny, RuleEffect::Deny, deny), (&mut options.ask, RuleEffect::Ask, ask)];
        for (rules, effect, texts) in policies {
            for text in texts {
                let why = || managed::refusal(format!("invalid managed rule `{text}`"));
                rules.push(translate_policy_rule(effect, &text).ok_or_else(|| ErrorObject::internal(why()))?);
            }
        }
        Ok(())
    }

    /// The client's agents.
    fn agents(&self) -> Option<Map<String, Value>> {
        let agents: Map<String, Value> = items(&self.0["customAgents"])
            .filter_map(|agent| Some((agent["name"].as_str()?.to_owned(), agent_definition(agent))))
            .collect();
        (!agents.is_empty()).then_some(agents)
    }

    /// The names of the client's agents, in its order.
    pub(crate) fn agent_names(&self) -> impl Iterator<Item = ClientAgentName> {
        items(&self.0["customAgents"]).filter_map(|agent| {
            let title = agent["displayName"].as_str().map(str::to_owned);
            Some(ClientAgentName { name: agent["name"].as_str()?.to_owned(), title })
        })
    }

    /// The client's MCP servers, with the tools that it makes available.
    fn mcp_servers(&self) -> BTreeMap<String, McpServerSpec> {
        let (mut servers, _problems) = mcp_servers::read_servers(&self.0["mcpServers"]);
        if let (Some(available), _) = self.filters() {
            servers.iter_mut().for_each(|(name, server)| mcp_servers::restrict_tools(name, server, &available));
        }
        servers
    }

    /// The tools that the client's agents have: some of Bosun's, and the client's.
    fn offer(&self) -> ToolOffer {
        let (available, excluded) = self.filters();
        let names = |is_meant: &dyn Fn(&str) -> bool| -> BTreeSet<String> {
            let custom = tool_names(self.0).filter(|name| is_meant(name));
            let own = TOOLS.iter().map(|tool| tool.name).filter(|name| is_meant(name));
            own.chain(custom).map(str::to_owned).collect()
        };
        let of_root = ToolFilter::parse(&self.0["defaultAgent"]["excludedTools"]);
        let custom: BTreeSet<&str> = tool_names(self.0).collect();
        ToolOffer {
            only: available.filter(|available| !available.has_all_own()).map(|available| {
                TOOLS.iter().map(|tool| tool.name).filter(|name| available.has_own(name)).map(str::to_owned).collect()
            }),
            without: names(&|name| {
                (excluded.has_own(name) && !custom.contains(name)) || (self.has_no_skills() && name == tool_name::SKILL)
            }),
            without_for_root: names(&|name| of_root.has_own(name) || of_root.has_custom(name)),
            without_agents: non_empty_texts(&self.0["excludedBuiltinAgents"]).map(str::to_owned).collect(),
        }
    }

    /// The client's own tools.
    pub(crate) fn tools(
        &self,
        session: &str,
        tool_calls: &Arc<PendingToolCalls>,
    ) -> Result<Vec<Arc<dyn Tool>>, ErrorObject> {
        let (available, excluded) = self.filters();
        let cwd = self.0["workingDirectory"].as_str().map(str::to_owned);
        let mut tools: Vec<Arc<dyn Tool>> = Vec::new();
        for tool in items(&self.0["tools"]) {
            let name = tool["name"].as_str().unwrap_or_default();
            let is_valid = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
            if name.is_empty() || name.len() > 64 || !name.chars().all(is_valid) {
                let why = format!("invalid tool name `{name}`: use letters, digits, _ and -, at most 64");
                return Err(ErrorObject::bad_params(why));
            }
            let is_available = available.as_ref().is_none_or(|available| available.has_custom(name));
            if is_available && !excluded.has_custom(name) {
                tools.push(Arc::new(ClientTool::new(tool, session.to_owned(), cwd.clone(), Arc::clone(tool_calls))));
            }
        }
        Ok(tools)
    }

    /// The client's own tools that a running session does not have.
    pub(crate) fn joined_tools(&self, session: &HostedSession) -> Result<Vec<Arc<dyn Tool>>, ErrorObject> {
        let mut tools = self.tools(session.name_for_clients(), &session.tool_calls)?;
        tools.retain(|tool| session.is_local() && !session.has_tool(&tool.spec().name));
        Ok(tools)
    }

    /// Whether models have no skills at all.
    fn has_no_skills(&self) -> bool {
        self.0["enableSkills"] == false
    }

    fn filters(&self) -> (Option<ToolFilter>, ToolFilter) {
        let available = self.0["availableTools"].as_array().map(|_| ToolFilter::parse(&self.0["availableTools"]));
        (available, ToolFilter::parse(&self.0["excludedTools"]))
    }

    fn system(&self) -> SystemText {
        let message = &self.0["systemMessage"];
        let content = message["content"].as_str().unwrap_or_default();
        let instructions = instruction_dirs::read_texts(self.0);
        match message["mode"].as_str() {
            Some("replace") if !content.is_empty() => SystemText::Replaced(content.to_owned()),
            Some("customize") => SystemText::Customized(section_edits(message, instructions.into_iter())),
            _append => appended(instructions.iter().map(String::as_str).chain([content])),
        }
    }

    /// Whether the client rewrites sections of the system message.
    fn transforms_system_message(&self) -> bool {
        let sections = self.0["systemMessage"]["sections"].as_object().into_iter().flat_map(Map::values);
        sections.into_iter().any(|section| section["action"] == "transform")
    }
}

/// Translates an ask or deny rule of either SDK family. A rule that cannot be translated exactly becomes stricter.
fn translate_policy_rule(effect: RuleEffect, text: &str) -> Option<String> {
    let (name, pattern) = text.split_once('(').map_or((text, None), |(name, rest)| (name, Some(rest)));
    let name = name.trim();
    let family = RULE_FAMILIES.iter().find(|family| family.managed.contains(&name));
    let name = family.and_then(|family| family.claude.first()).map_or(name, |claude| claude);
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
        definition["tools"] = non_empty_texts(&agent["tools"]).map(own_tool_name).collect();
    }
    if let Some(model) = agent["model"].as_str().filter(|model| model.contains('/')) {
        definition["model"] = model.into();
    }
    if agent["skills"].is_array() {
        definition["skills"] = non_empty_texts(&agent["skills"]).collect();
    }
    if let Some(servers) = mcp_servers::agent_servers(&agent["mcpServers"]) {
        definition["mcp-servers"] = servers;
    }
    if agent["infer"] == false {
        definition["disable-model-invocation"] = true.into();
    }
    definition
}

fn supplies_tokens(provider: &Value) -> bool {
    provider["hasBearerTokenProvider"] == true
}

fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn non_empty_texts(value: &Value) -> impl Iterator<Item = &str> {
    items(value).filter_map(Value::as_str).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use protocol::ReasoningEffort;
    use runtime::{SectionEdit, SystemEdits, SystemSection};

    use super::*;

    fn options(params: Value) -> SessionOptions {
        CopilotSessionParams(&params).options(CopilotSessionParams(&params).model())
    }

    #[test]
    fn client_options_become_session_options() {
        let read = options(json!({
            "model": "script/x.yaml", "reasoningEffort": "xhigh", "requestUserInput": true,
            "tools": [{ "name": "a", "skipPermission": true }, { "name": "b" }],
            "excludedTools": ["bash"], "additionalDirectories": ["/more"],
            "customAgents": [{ "name": "scout", "prompt": "Look.", "tools": ["bash", "view"], "infer": false }],
        }));
        let scout = json!({
            "description": "an agent of the client", "disable-model-invocation": true, "prompt": "Look.",
            "tools": ["shell", "view"],
        });
        let expected = SessionOptions {
            model: Some("script/x.yaml".into()),
            effort: Some(ReasoningEffort::High),
            ask_user: Some(true),
            add_dirs: vec!["/more".into()],
            agents: Some(Map::from_iter([("scout".to_owned(), scout)])),
            ..SessionOptions::default()
        };
        assert_eq!(read, expected);
        let asks_user = |asks| SessionOptions { ask_user: Some(asks), ..SessionOptions::default() };
        assert_eq!(options(json!({})), asks_user(false));
        assert_eq!(options(json!({ "model": "auto", "requestUserInput": true })), asks_user(true));
    }

    #[test]
    fn a_managed_rule_on_an_act_covers_all_its_tools() {
        let deny = |text: &str| translate_policy_rule(RuleEffect::Deny, text).unwrap();
        let names = ["bash", "shell(rm *)", "url", "web_fetch(x.org)", "create", "write(a)", "view", "read(b)"];
        let rules = ["shell", "shell(rm *)", "fetch", "fetch(x.org)", "edit", "edit(a)", "read", "read(b)"];
        assert_eq!(names.map(deny), rules);
        assert_eq!(["grep", "task(explore)", "sql"].map(deny), ["grep", "task", "sql"]);
    }

    #[test]
    fn only_available_tools_are_left() {
        let offer = |mut params: Value| {
            params["tools"] = json!([{ "name": "mine" }, { "name": "bash" }]);
            CopilotSessionParams(&params).offer()
        };
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
        let some = offer(json!({ "availableTools": ["builtin:view", "custom:mine"] }));
        assert_eq!(some.only, Some(names(&["view"])));
        assert_eq!(offer(json!({ "availableTools": ["builtin:*"] })).only, None);
        let excluded = offer(json!({ "excludedTools": ["grep", "read_bash"] }));
        assert_eq!((excluded.only, excluded.without), (None, names(&["grep", "read_shell"])));
        let hidden = offer(json!({ "defaultAgent": { "excludedTools": ["mine", "view"] } }));
        assert_eq!(hidden.without_for_root, names(&["mine", "view"]));
    }

    #[test]
    fn client_tools_are_filtered_by_their_own_names() {
        let tools = |lists: Value| {
            let mut params = lists;
            params["tools"] = json!([{ "name": "bash" }, { "name": "mine" }]);
            let created = CopilotSessionParams(&params).tools("a session", &Arc::default()).unwrap();
            created.iter().map(|tool| tool.spec().name.to_string()).collect::<Vec<_>>()
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
            json!({ "tone": { "action": "replace", "content": "Kind." }, "safety": { "action": "nothing" } });
        let customized = json!({ "mode": "customize", "sections": sections, "content": "Short." });
        let edits = SystemEdits {
            sections: [(SystemSection::Tone, SectionEdit::Replace("Kind.".into()))].into(),
            appended: "Short.".into(),
        };
        assert_eq!(system(customized), SystemText::Customized(edits));
    }
}
