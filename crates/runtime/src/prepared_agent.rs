//! Prepared agents: definitions resolved into what is needed to run them. Agents that share a definition share one.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use hooks::tool_names;
use model::{Model, ModelTier, ToolSpec};
use policy::AgentRole;
use protocol::{
    AgentSpec, Clip, Hinted, HookDialect, MCP_TOOL_PREFIX, PermissionMode, ReasoningEffort, SessionMode, SpawnPolicy,
    TaskId, ToolGroup, find_tool, mcp_tool_name, tool_name,
};
use serde_json::{Map, Value};
use tools::{Tool, ToolAccess, ToolCatalog};

use crate::client_extensions::ClientExtensions;
use crate::conversation::AddedTools;
use crate::models::ModelResolveError;
use crate::prompt;
use crate::run_requests::TaskProfile;
use crate::session_context::{AgentCatalog, SessionFacts};
use crate::skill::{self, TextFileError};
use crate::system_text::{SystemSections, SystemTextError};
use crate::task_workspaces::{TaskWorkspace, TaskWorkspaceError};

/// Maximum bytes of a skill's text in a system prompt.
const MAX_SKILL_BYTES: usize = 32 * 1024;

/// An agent's definition, ready to run.
#[derive(Debug)]
pub(crate) struct PreparedAgent {
    pub(crate) definition: Arc<AgentSpec>,
    pub(crate) system_prompt: Arc<str>,
    /// All tools that it may call.
    pub(crate) toolbox: Vec<Arc<dyn Tool>>,
    /// The tools that its model sees from the start.
    pub(crate) initial_tools: Arc<[ToolSpec]>,
    /// The tools that its model must search for.
    pub(crate) deferred_tools: Vec<ToolSpec>,
    /// Further tools of the root, which its model sees in the mode that they are for.
    mode_tools: Vec<ModeTool>,
    /// Tools of programs outside, found when the model searches for them.
    pub(crate) tool_catalog: Option<Arc<dyn ToolCatalog>>,
    pub(crate) role: AgentRole,
    pub(crate) model: Arc<dyn Model>,
    /// The model's name, as `--model` takes it.
    pub(crate) model_spec: Arc<str>,
    pub(crate) effort: Option<ReasoningEffort>,
    /// The workspace that it works in.
    pub(crate) task_workspace: Arc<TaskWorkspace>,
}

/// A tool of one session mode.
#[derive(Debug)]
struct ModeTool {
    mode: SessionMode,
    tool: Arc<dyn Tool>,
    spec: ToolSpec,
}

impl PreparedAgent {
    /// The tool with this name, if the agent has it.
    pub(crate) fn tool(&self, name: &str) -> Option<Arc<dyn Tool>> {
        let mode_tools = self.mode_tools.iter().map(|mode_tool| &mode_tool.tool);
        let own = self.toolbox.iter().chain(mode_tools).find(|tool| tool.spec().name == name);
        own.cloned().or_else(|| self.tool_catalog.as_ref().filter(|_| self.has_tool(name))?.tool(name))
    }

    /// Whether its definition gives it this tool.
    pub(crate) fn has_tool(&self, name: &str) -> bool {
        has_tool(&self.definition, name)
    }

    /// The tools that its model sees, including added ones.
    pub(crate) fn visible_tools(&self, added: &[AddedTools]) -> Arc<[ToolSpec]> {
        if added.is_empty() {
            return Arc::clone(&self.initial_tools);
        }
        self.initial_tools.iter().chain(self.added_tools(added)).cloned().collect()
    }

    /// The tools that were added since the start.
    pub(crate) fn added_tools<'a>(&'a self, added: &'a [AddedTools]) -> impl Iterator<Item = &'a ToolSpec> {
        added.iter().flat_map(|tools| {
            let described = match tools {
                AddedTools::Described(spec) => Some(spec),
                AddedTools::Loaded(_) | AddedTools::Mode(_) => None,
            };
            let loaded = self.deferred_tools.iter().filter(move |spec| *tools == AddedTools::Loaded(spec.name.clone()));
            let of_mode = self.mode_tools.iter().filter(move |tool| *tools == AddedTools::Mode(tool.mode));
            described.into_iter().chain(loaded).chain(of_mode.map(|tool| &tool.spec))
        })
    }
}

/// The prepared agents in use, by their keys.
#[derive(Debug, Default)]
pub(crate) struct PreparedAgents(Mutex<HashMap<PreparedAgentKey, Arc<PreparedAgent>>>);

/// Why a task has no agent that can run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PrepareAgentError {
    #[error("unknown task {0}")]
    UnknownTask(TaskId),
    #[error(transparent)]
    Workspace(#[from] TaskWorkspaceError),
    #[error(transparent)]
    Model(#[from] ModelResolveError),
    #[error("there is no skill `{0}`")]
    NoSkill(String),
    #[error("{file} cannot be read: {source}")]
    Skill { file: String, source: TextFileError },
}

impl Hinted for PrepareAgentError {
    fn hint(&self) -> Option<String> {
        match self {
            PrepareAgentError::Workspace(error) => error.hint(),
            PrepareAgentError::UnknownTask(_)
            | PrepareAgentError::Model(_)
            | PrepareAgentError::NoSkill(_)
            | PrepareAgentError::Skill { .. } => None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct PreparedAgentKey {
    definition: Option<String>,
    model: Arc<str>,
    /// What the task requests, and what the user chose.
    effort: [Option<ReasoningEffort>; 2],
    root: bool,
    may_spawn: bool,
    /// Its own permission mode, or a stricter one of an agent above it.
    mode: Option<PermissionMode>,
    /// The version of the tools of programs that joined.
    joined_tools: u64,
    /// The version of the providers of programs.
    joined_providers: u64,
    /// The version of what the program decided about agents.
    agent_overrides: u64,
}

impl AgentCatalog {
    /// The prepared agent of a task that works in this workspace.
    pub(crate) fn prepared_agent(
        &self,
        facts: &SessionFacts,
        profile: &TaskProfile,
        workspace: Arc<TaskWorkspace>,
    ) -> Result<Arc<PreparedAgent>, PrepareAgentError> {
        let spec = &profile.spec;
        let key = PreparedAgentKey {
            definition: spec.definition.as_ref().map(ToString::to_string),
            model: Arc::clone(&profile.model),
            effort: [spec.effort, profile.effort],
            root: spec.kind.is_root(),
            may_spawn: profile.depth < facts.limits.depth,
            mode: profile.mode,
            joined_tools: self.client_extensions.joined_tools.version(),
            joined_providers: self.client_extensions.joined_providers.version(),
            agent_overrides: self.client_extensions.agent_overrides.version(),
        };
        if workspace.is_checkout() {
            // No other agent shares a checkout.
            return self.prepare_agent(facts, profile, &key, workspace).map(Arc::new);
        }
        if let Some(prepared) = self.prepared_agents.0.lock().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return Ok(Arc::clone(prepared));
        }
        let prepared = Arc::new(self.prepare_agent(facts, profile, &key, workspace)?);
        self.prepared_agents.0.lock().unwrap_or_else(PoisonError::into_inner).insert(key, Arc::clone(&prepared));
        Ok(prepared)
    }

    fn prepare_agent(
        &self,
        facts: &SessionFacts,
        profile: &TaskProfile,
        key: &PreparedAgentKey,
        workspace: Arc<TaskWorkspace>,
    ) -> Result<PreparedAgent, PrepareAgentError> {
        let definition = profile.definition.clone().unwrap_or_else(|| Arc::new(main_agent()));
        let model = self.model_by_spec(&key.model)?;
        let toolbox = self.toolbox(facts, &definition, key);
        let (initial, deferred) = match self.client_extensions.offer.only {
            Some(_) => (toolbox.clone(), Vec::new()),
            None => split_initial_tools(&toolbox, &definition, key.root, model.facts().tier),
        };
        let tool_catalog = self.tools_for(Some(&definition));
        let sources = tool_catalog.as_deref().map(|tools| sources_of(tools, &definition)).unwrap_or_default();
        let search =
            (!deferred.is_empty() || !sources.is_empty()).then(|| tools::tool_search(&names(&deferred), &sources));
        let dialect = self.client_extensions.tool_dialect;
        let types: Vec<&str> = self.startable(&definition).map(|agent| agent.name.as_str()).collect();
        let spec_of = |tool: &Arc<dyn Tool>| spec_in_dialect(tool, dialect, &types);
        let specs = initial.iter().chain(&search).map(spec_of).collect();
        let toolbox: Vec<_> = toolbox.into_iter().chain(search).collect();
        let mut mode_tools = if key.root { mode_tools(&definition) } else { Vec::new() };
        mode_tools.retain(|mode_tool| !self.client_extensions.offer.without.contains(&mode_tool.spec.name));
        let names = toolbox
            .iter()
            .chain(mode_tools.iter().map(|mode_tool| &mode_tool.tool))
            .map(|tool| tool.spec().name.to_string());
        Ok(PreparedAgent {
            system_prompt: self.system_prompt(facts, &definition, key.root, &workspace)?.into(),
            role: AgentRole {
                tools: Some(names.collect()),
                prefixes: if tool_catalog.is_some() { outside_prefixes(&definition) } else { Vec::new() },
                denied: definition.denied.iter().cloned().collect(),
                mode: key.mode,
            },
            initial_tools: specs,
            deferred_tools: deferred.iter().map(spec_of).collect(),
            mode_tools,
            toolbox,
            tool_catalog,
            model,
            model_spec: Arc::clone(&key.model),
            effort: self.effort_of(facts, profile, &definition),
            definition,
            task_workspace: workspace,
        })
    }

    /// Has the program rewrite the root's system prompt as far as it wants to, before an agent is prepared with it.
    pub(crate) async fn transform_system_text(
        &self,
        facts: &SessionFacts,
        profile: &TaskProfile,
        workspace: &TaskWorkspace,
    ) -> Result<(), SystemTextError> {
        if !profile.spec.kind.is_root() {
            return Ok(());
        }
        let definition = profile.definition.clone().unwrap_or_else(|| Arc::new(main_agent()));
        let sections = self.system_sections(facts, &definition, true, workspace);
        let ClientExtensions { system_text, system_editor, .. } = &self.client_extensions;
        if system_text.transform(&sections, system_editor.as_deref(), &self.transformed_sections).await? {
            self.forget_prepared_agents();
        }
        Ok(())
    }

    fn system_sections(
        &self,
        facts: &SessionFacts,
        definition: &AgentSpec,
        root: bool,
        workspace: &TaskWorkspace,
    ) -> SystemSections {
        prompt::system_sections(workspace, &self.instructions, definition, root.then_some(facts.features))
    }

    /// The system prompt of an agent of this definition, with the text of its skills.
    fn system_prompt(
        &self,
        facts: &SessionFacts,
        definition: &AgentSpec,
        root: bool,
        workspace: &TaskWorkspace,
    ) -> Result<String, PrepareAgentError> {
        let sections = self.system_sections(facts, definition, root, workspace);
        let mut system = match root {
            true => self.client_extensions.system_text.apply(sections, &self.transformed_sections),
            false => sections.into_text(),
        };
        for name in &definition.skills {
            let skill_spec = match self.skills.get(name) {
                Some(skill) => skill,
                None if self.skills.has(name) => continue,
                None => return Err(PrepareAgentError::NoSkill(name.clone())),
            };
            let text = skill::read(&skill_spec).map_err(|source| {
                let file = skill_spec.file.clone();
                PrepareAgentError::Skill { file, source }
            })?;
            let text = skill::skill_text(&text);
            system.push_str(&format!(
                "\nSkill {name}, from {}:\n{}\n",
                skill_spec.file,
                Clip::new(&text, MAX_SKILL_BYTES)
            ));
        }
        Ok(system)
    }

    /// The programs outside whose tools an agent of this definition may find.
    pub(crate) fn sources_of(&self, definition: &AgentSpec) -> Vec<String> {
        self.tools_for(Some(definition)).map(|tools| sources_of(&*tools, definition)).unwrap_or_default()
    }

    /// The tools of programs outside, as agents of a definition see them.
    pub(crate) fn tools_for(&self, definition: Option<&AgentSpec>) -> Option<Arc<dyn ToolCatalog>> {
        let tools = Arc::clone(self.tool_catalog.as_ref()?);
        Some(tools.for_agent(definition.map(|definition| definition.name.as_str()).unwrap_or_default()))
    }

    /// Has agents prepared anew from their next activation on: the programs outside have changed.
    pub(crate) fn forget_prepared_agents(&self) {
        self.prepared_agents.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// The agents that an agent of this definition may start.
    fn startable<'a>(&'a self, definition: &'a AgentSpec) -> impl Iterator<Item = &'a AgentSpec> {
        let overrides = &self.client_extensions.agent_overrides;
        self.definitions.startable(&definition.spawns).filter(|agent| !overrides.is_disabled(&agent.name))
    }

    /// The reasoning effort of an agent. What the user chose while the session ran applies to the root, and to agents
    /// for which nothing else is requested.
    fn effort_of(
        &self,
        facts: &SessionFacts,
        profile: &TaskProfile,
        definition: &AgentSpec,
    ) -> Option<ReasoningEffort> {
        let chosen = profile.effort;
        let decided = self.client_extensions.agent_overrides.of(&definition.name).effort;
        let requested = profile.spec.effort.or(decided).or(definition.effort);
        if profile.spec.kind.is_root() { chosen.or(requested) } else { requested.or(chosen) }.or(facts.effort)
    }

    /// All tools that an agent of this definition may call, in a stable order.
    fn toolbox(&self, facts: &SessionFacts, definition: &AgentSpec, key: &PreparedAgentKey) -> Vec<Arc<dyn Tool>> {
        let types: Vec<(String, String)> = match key.may_spawn {
            true => self.startable(definition).map(|it| (it.name.clone(), it.description.clone())).collect(),
            false => Vec::new(),
        };
        let subagents = if types.is_empty() && !key.root { Vec::new() } else { tools::subagent_tools() };
        let skills = self.skills.enabled().into_iter().filter(|skill| skill.model_invocable);
        let skills: Vec<(String, String)> = skills.map(|skill| (skill.name, skill.description)).collect();
        let all = tools::builtin_tools()
            .into_iter()
            .chain((key.root && facts.can_ask_user).then(tools::ask_user))
            .chain((!types.is_empty()).then(|| tools::task(&types)))
            .chain((!skills.is_empty()).then(|| tools::skill(&skills)))
            .chain(subagents)
            .chain(tools::shared_list_tools())
            .chain(if self.sources_of(definition).is_empty() { Vec::new() } else { tools::mcp_resource_tools() });
        let extensions = self.client_extensions.all_tools();
        // If a program replaces our `shell` with its `bash`, the model must not see both.
        let is_replaced = |tool: &Arc<dyn Tool>| {
            let mut names = extensions.iter().map(|extension| &extension.spec().name);
            names.any(|name| tool_names::is_name_of(&tool.spec().name, name, HookDialect::Camel))
        };
        let all = all.filter(|tool| !is_replaced(tool)).chain(extensions.to_vec());
        let offer = &self.client_extensions.offer;
        let is_offered = |name: &str| has_tool(definition, name) && offer.has(name, key.root);
        all.filter(|tool| is_offered(&tool.spec().name)).collect()
    }
}

/// The programs outside whose tools an agent of this definition may find.
fn sources_of(tools: &dyn ToolCatalog, definition: &AgentSpec) -> Vec<String> {
    let prefixes = outside_prefixes(definition);
    let may_have = |source: &String| {
        let start = mcp_tool_name(source, "");
        prefixes.iter().any(|prefix| start.starts_with(prefix) || prefix.starts_with(&start))
            && !definition.denied.contains(&format!("{start}*"))
    };
    tools.sources().into_iter().filter(may_have).collect()
}

/// The root's tools for each mode. They belong to the session, so its definition need not list them.
fn mode_tools(definition: &AgentSpec) -> Vec<ModeTool> {
    let for_mode = |mode: SessionMode, tools: AgentTools| {
        tools.into_iter().map(move |tool| ModeTool { mode, spec: spec_of(&tool), tool })
    };
    let all = for_mode(SessionMode::Plan, tools::plan_mode_tools())
        .chain(for_mode(SessionMode::Autopilot, tools::autopilot_tools()));
    all.filter(|mode_tool| !definition.denied.contains(&mode_tool.spec.name)).collect()
}

/// The beginnings of the names of tools that an agent of this definition may have from programs outside.
fn outside_prefixes(definition: &AgentSpec) -> Vec<String> {
    match &definition.tools {
        None => vec![MCP_TOOL_PREFIX.to_owned()],
        Some(listed) => {
            let outside = listed.iter().filter(|name| name.starts_with(MCP_TOOL_PREFIX));
            outside.map(|name| name.strip_suffix('*').unwrap_or(name).to_owned()).collect()
        }
    }
}

/// Whether a name in a definition means this tool. Names of tools of programs outside may end in `*`.
fn means_tool(listed: &str, name: &str) -> bool {
    match listed.strip_suffix('*').filter(|prefix| prefix.starts_with(MCP_TOOL_PREFIX)) {
        Some(prefix) => name.starts_with(prefix),
        None => listed == name,
    }
}

/// Whether a definition has a tool. Subagent tools come with `task`; `until`, which runs commands, also needs `shell`.
fn has_tool(definition: &AgentSpec, name: &str) -> bool {
    let is_denied = |name: &str| definition.denied.iter().any(|denied| means_tool(denied, name));
    let is_listed =
        |name: &str| definition.tools.as_ref().is_none_or(|listed| listed.iter().any(|tool| means_tool(tool, name)));
    let comes_with_task = find_tool(name).is_some_and(|tool| tool.group == ToolGroup::Subagent);
    let is_included = is_listed(name) || (comes_with_task && is_listed(tool_name::TASK));
    let has_shell = || is_listed(tool_name::SHELL) && !is_denied(tool_name::SHELL);
    is_included && !is_denied(name) && (name != tool_name::UNTIL || has_shell())
}

type AgentTools = Vec<Arc<dyn Tool>>;

/// Splits the tools into those that a model sees from the start and those that it must search for.
fn split_initial_tools(
    toolbox: &[Arc<dyn Tool>],
    definition: &AgentSpec,
    root: bool,
    tier: ModelTier,
) -> (AgentTools, AgentTools) {
    toolbox.iter().cloned().partition(|tool| {
        let name = tool.spec().name.as_ref();
        let known = find_tool(name).map(|tool| tool.at_once);
        let is_of_client = tool.spec().access == ToolAccess::Other;
        match &definition.tools {
            Some(listed) => listed.iter().any(|known| known == name),
            None if tier == ModelTier::Small => known.is_some_and(|known| known.small_model) || is_of_client,
            None if root => known.is_none_or(|known| known.root),
            None => known.is_some_and(|known| known.subagent) || is_of_client,
        }
    })
}

fn names(tools: &[Arc<dyn Tool>]) -> Vec<&str> {
    tools.iter().map(|tool| tool.spec().name.as_ref()).collect()
}

/// A tool as described to a model that knows it by its name in a dialect, with the arguments of that dialect. A call with
/// these names is translated when it arrives. A tool that shares its name with another keeps its own.
fn spec_in_dialect(tool: &Arc<dyn Tool>, dialect: Option<HookDialect>, agent_types: &[&str]) -> ToolSpec {
    let spec = spec_of(tool);
    let Some(dialect) = dialect.filter(|_| find_tool(&spec.name).is_some()) else { return spec };
    let name = tool_names::dialect_tool_name(&spec.name, dialect);
    if tool_names::own_tool_name(name, dialect) != spec.name {
        return spec;
    }
    let mut schema = spec.schema;
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        *properties = rename_arguments(&spec.name, dialect, std::mem::take(properties));
    }
    if let Some(Value::Array(required)) = schema.get_mut("required") {
        for argument in required {
            let renamed = argument
                .as_str()
                .map(|name| rename_arguments(&spec.name, dialect, Map::from_iter([(name.to_owned(), Value::Null)])));
            if let Some((name, _)) = renamed.and_then(|renamed| renamed.into_iter().next()) {
                *argument = name.into();
            }
        }
    }
    if spec.name == tool_name::TASK
        && let Some(Value::Object(agent_type)) = schema.pointer_mut("/properties/agent_type")
    {
        // Programs of these dialects read the types here.
        agent_type.insert("enum".to_owned(), agent_types.into());
    }
    ToolSpec { name: name.to_owned(), description: spec.description, schema }
}

/// The arguments of a tool with their names in a dialect. The descriptions of those that a dialect encodes differently
/// would be wrong, so these keep their names.
fn rename_arguments(tool: &str, dialect: HookDialect, arguments: Map<String, Value>) -> Map<String, Value> {
    let rename = |(name, description): (String, Value)| match tool_names::renamed_argument(tool, dialect, &name) {
        Some(renamed) => (renamed.to_owned(), description),
        None => (name, description),
    };
    arguments.into_iter().map(rename).collect()
}

/// A tool as described to a model.
fn spec_of(tool: &Arc<dyn Tool>) -> ToolSpec {
    let spec = tool.spec();
    ToolSpec {
        name: spec.name.to_string(),
        description: spec.description.clone().into_owned(),
        schema: spec.schema.clone(),
    }
}

/// The default agent of the root: it has every tool and may start any agent.
pub(crate) fn main_agent() -> AgentSpec {
    AgentSpec { name: "main".into(), spawns: SpawnPolicy::Any, ..AgentSpec::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all_tools() -> Vec<Arc<dyn Tool>> {
        let single = [tools::ask_user(), tools::task(&[]), tools::skill(&[])];
        let more = tools::subagent_tools().into_iter().chain(tools::shared_list_tools());
        tools::builtin_tools().into_iter().chain(single).chain(more).collect()
    }

    fn first_seen(root: bool, tier: ModelTier) -> String {
        let (initial, _) = split_initial_tools(&all_tools(), &main_agent(), root, tier);
        names(&initial).join(" ")
    }

    #[test]
    fn first_requests_show_few_tools() {
        assert_eq!(
            first_seen(true, ModelTier::Capable),
            "view create edit grep glob shell read_shell sql report_intent web_fetch ask_user task skill"
        );
        assert_eq!(first_seen(false, ModelTier::Capable), "view create edit shell");
        assert_eq!(first_seen(true, ModelTier::Small), "view create edit grep shell");
        assert_eq!(first_seen(false, ModelTier::Small), "view create edit grep shell");
    }

    #[test]
    fn tools_have_the_names_of_a_dialect() {
        let in_dialect = |name: &str| {
            let tool = all_tools().into_iter().find(|tool| tool.spec().name == name).unwrap();
            let spec = spec_in_dialect(&tool, Some(HookDialect::Camel), &["explore"]);
            let required = spec.schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
            let mut required: Vec<_> = required.map(str::to_owned).collect();
            required.sort();
            assert!(required.iter().all(|name| spec.schema["properties"].get(name).is_some()), "{name}");
            (spec.name, required.join(" "))
        };
        let names = |name: &str, required: &str| (name.to_owned(), required.to_owned());
        assert_eq!(in_dialect("shell"), names("bash", "command"));
        assert_eq!(in_dialect("create"), names("create", "file_text path"));
        assert_eq!(in_dialect("edit"), names("edit", "new_str old_str path"));
        assert_eq!(in_dialect("until").0, "until", "it shares its name with `shell`");
        assert_eq!(in_dialect("sql").0, "sql");
    }

    #[test]
    fn tools_of_subagents_come_with_task() {
        let definition = |tools: &[&str], denied: &[&str]| AgentSpec {
            tools: Some(tools.iter().map(|&tool| tool.to_owned()).collect()),
            denied: denied.iter().map(|&tool| tool.to_owned()).collect(),
            ..AgentSpec::default()
        };
        let with_task = definition(&["task"], &["wait"]);
        let has = |name: &str| has_tool(&with_task, name);
        assert!(has("read_agent") && has("stop_agent") && !has("wait") && !has("until") && !has("TaskGet"));
        assert!(has_tool(&definition(&["task", "shell"], &[]), "until"));
        assert!(!has_tool(&definition(&["task", "shell"], &["shell"]), "until"));
        assert!(!has_tool(&definition(&["shell"], &[]), "read_agent"));
    }
}
