//! What an agent works with: its definition made ready to run. Agents of one definition share one prepared agent.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use model::{Model, ModelTier, ToolSpec};
use policy::AgentRole;
use protocol::{
    AgentSpec, Clip, HookDialect, PermissionMode, ReasoningEffort, SessionMode, SpawnPolicy, TaskId, TaskSpec, TaskType,
};
use tools::{Tool, ToolAccess};

use crate::agent::SessionContext;
use crate::conversation::AddedTools;
use crate::task_workspaces::TaskWorkspace;
use crate::{prompt, skill};

/// What a small model is told of at once, besides the tool that finds the others: each more is one more to mistake.
const SMALL: [&str; 5] = ["view", "create", "edit", "grep", "shell"];

/// What a model of a subagent is told of at once, unless its definition lists its tools: its first request is small,
/// since there may be very many.
const AT_ONCE: [&str; 4] = ["view", "edit", "create", "shell"];

/// What the root's model is told of when it asks, besides what goes with `task`.
const SELDOM: [&str; 3] = ["apply_patch", "stop_shell", "list_shells"];

/// Most bytes of the text of one skill in a system prompt.
const SKILL: usize = 32 * 1024;

/// An agent's definition, ready to run.
#[derive(Debug)]
pub(crate) struct PreparedAgent {
    pub(crate) definition: Arc<AgentSpec>,
    pub(crate) system: Arc<str>,
    /// Everything it may call.
    pub(crate) toolbox: Vec<Arc<dyn Tool>>,
    /// What its model is told of from the beginning.
    pub(crate) specs: Arc<[ToolSpec]>,
    /// What its model is told of when it asks.
    pub(crate) deferred: Vec<ToolSpec>,
    /// What the root may call besides, and is told of in the mode that it is for.
    mode_tools: Vec<ModeTool>,
    pub(crate) role: AgentRole,
    pub(crate) model: Arc<dyn Model>,
    /// The model's name, as `--model` takes it.
    pub(crate) model_spec: Arc<str>,
    pub(crate) effort: Option<ReasoningEffort>,
    /// Where it works.
    pub(crate) task_workspace: Arc<TaskWorkspace>,
}

/// A tool of one mode.
#[derive(Debug)]
struct ModeTool {
    mode: SessionMode,
    tool: Arc<dyn Tool>,
    spec: ToolSpec,
}

impl PreparedAgent {
    pub(crate) fn tool(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        let steering = self.mode_tools.iter().map(|steer| &steer.tool);
        self.toolbox.iter().chain(steering).find(|tool| tool.spec().name == name)
    }

    /// What its model is told of once there is more.
    pub(crate) fn visible_tools(&self, grown: &[AddedTools]) -> Arc<[ToolSpec]> {
        if grown.is_empty() {
            return Arc::clone(&self.specs);
        }
        self.specs.iter().chain(self.added_tools(grown)).cloned().collect()
    }

    /// The tools that there are more of.
    pub(crate) fn added_tools<'a>(&'a self, grown: &'a [AddedTools]) -> impl Iterator<Item = &'a ToolSpec> {
        grown.iter().flat_map(|more| {
            let loaded = self.deferred.iter().filter(move |spec| *more == AddedTools::Loaded(spec.name.clone()));
            let steering = self.mode_tools.iter().filter(move |steer| *more == AddedTools::Mode(steer.mode));
            loaded.chain(steering.map(|steer| &steer.spec))
        })
    }
}

/// The prepared agents that are in use, by what they depend on.
#[derive(Debug, Default)]
pub(crate) struct PreparedAgents(Mutex<HashMap<PreparedAgentKey, Arc<PreparedAgent>>>);

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct PreparedAgentKey {
    definition: Option<String>,
    model: Arc<str>,
    effort: Option<String>,
    root: bool,
    may_spawn: bool,
    /// Its own mode, or a narrower one of an agent above it.
    mode: Option<PermissionMode>,
}

impl SessionContext {
    /// What a task's agent works with; says in words why it cannot be had.
    pub(crate) fn prepared_agent(&self, task: TaskId) -> Result<Arc<PreparedAgent>, String> {
        let known = self.roster.with_task(task, |known| (Arc::clone(&known.spec), known.depth));
        let (spec, depth) = known.ok_or_else(|| format!("{task} is not known"))?;
        let key = PreparedAgentKey {
            definition: spec.definition.as_ref().map(ToString::to_string),
            model: self.task_model_spec(&spec),
            effort: spec.effort.map(|effort| format!("{effort:?}")),
            root: spec.kind == TaskType::Main,
            may_spawn: depth < self.settings.limits.depth,
            mode: self.roster.mode(task),
        };
        let site = self.task_workspace(task)?;
        if site.is_checkout() {
            // Nobody else works there.
            return self.prepare_agent(task, &spec, &key, site).map(Arc::new);
        }
        if let Some(prepared) = self.prepared_agents.0.lock().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return Ok(Arc::clone(prepared));
        }
        let prepared = Arc::new(self.prepare_agent(task, &spec, &key, site)?);
        self.prepared_agents.0.lock().unwrap_or_else(PoisonError::into_inner).insert(key, Arc::clone(&prepared));
        Ok(prepared)
    }

    fn prepare_agent(
        &self,
        task: TaskId,
        spec: &TaskSpec,
        key: &PreparedAgentKey,
        site: Arc<TaskWorkspace>,
    ) -> Result<PreparedAgent, String> {
        let definition = self.roster.definition(task).unwrap_or_else(|| Arc::new(main_agent()));
        let model = self.model_by_spec(&key.model)?;
        let toolbox = self.toolbox(&definition, key);
        let (at_once, deferred) = told(&toolbox, &definition, key.root, model.facts().tier);
        let (search, deferred) = match deferred.is_empty() {
            true => (None, deferred),
            false => (Some(tools::tool_search(&names(&deferred))), deferred),
        };
        let specs = at_once.iter().chain(&search).map(spec_of).collect();
        let toolbox: Vec<_> = toolbox.into_iter().chain(search).collect();
        let steering = if key.root { mode_tools(&definition) } else { Vec::new() };
        let names =
            toolbox.iter().chain(steering.iter().map(|steer| &steer.tool)).map(|tool| tool.spec().name.to_string());
        Ok(PreparedAgent {
            system: self.system_prompt(&definition, key.root, &site)?.into(),
            role: AgentRole {
                tools: Some(names.collect()),
                denied: definition.denied.iter().cloned().collect(),
                mode: key.mode,
            },
            specs,
            deferred: deferred.iter().map(spec_of).collect(),
            mode_tools: steering,
            toolbox,
            model,
            model_spec: Arc::clone(&key.model),
            effort: spec.effort.or(definition.effort).or(self.settings.effort),
            definition,
            task_workspace: site,
        })
    }

    /// What an agent of this definition is told first, with the text of the skills that it is given.
    fn system_prompt(&self, definition: &AgentSpec, root: bool, site: &TaskWorkspace) -> Result<String, String> {
        let mut system =
            prompt::system_prompt(site, &self.instructions, definition, root.then_some(self.settings.features));
        if root {
            system = self.settings.client_extensions.system.apply(system);
        }
        for name in &definition.skills {
            let named = self.settings.catalog.skill(name).ok_or_else(|| format!("there is no skill `{name}`"))?;
            let text = skill::read(named).map_err(|why| format!("{} cannot be read: {why}", named.file))?;
            let text = skill::skill_text(&text);
            system.push_str(&format!("\nSkill {name}, from {}:\n{}\n", named.file, Clip::new(&text, SKILL)));
        }
        Ok(system)
    }

    /// Everything that an agent of this definition may call, in an order that never changes.
    fn toolbox(&self, definition: &AgentSpec, key: &PreparedAgentKey) -> Vec<Arc<dyn Tool>> {
        let catalog = &self.settings.catalog;
        let types: Vec<(String, String)> = match key.may_spawn {
            true => catalog.startable(&definition.spawns).map(|it| (it.name.clone(), it.description.clone())).collect(),
            false => Vec::new(),
        };
        let subagents = if types.is_empty() && !key.root { Vec::new() } else { tools::subagent_tools() };
        let skills: Vec<(String, String)> = catalog
            .skills
            .iter()
            .filter(|skill| skill.model_invocable)
            .map(|skill| (skill.name.clone(), skill.description.clone()))
            .collect();
        let all = tools::builtin_tools()
            .into_iter()
            .chain((key.root && self.asks_user).then(tools::ask_user))
            .chain((!types.is_empty()).then(|| tools::task(&types)))
            .chain((!skills.is_empty()).then(|| tools::skill(&skills)))
            .chain(subagents)
            .chain(tools::shared_list_tools());
        let extensions = &self.settings.client_extensions.tools;
        // A program whose `bash` stands in for ours must not find its model at our `shell`.
        let is_replaced = |tool: &Arc<dyn Tool>| {
            let mut names = extensions.iter().map(|guest| &guest.spec().name);
            names.any(|name| hooks::tool_names::is_name_of(&tool.spec().name, name, HookDialect::Camel))
        };
        let all = all.filter(|tool| !is_replaced(tool)).chain(extensions.iter().cloned());
        all.filter(|tool| has_tool(definition, &tool.spec().name)).collect()
    }
}

/// The tools of the session's own agent, mode by mode. They are the session's, so its definition need not list them.
fn mode_tools(definition: &AgentSpec) -> Vec<ModeTool> {
    let of = |mode: SessionMode, tools: AgentTools| {
        tools.into_iter().map(move |tool| ModeTool { mode, spec: spec_of(&tool), tool })
    };
    let all =
        of(SessionMode::Plan, tools::plan_mode_tools()).chain(of(SessionMode::Autopilot, tools::autopilot_tools()));
    all.filter(|steer| !definition.denied.contains(&steer.spec.name)).collect()
}

/// Whether a definition has a tool. What goes with `task` is had by whoever has that; `until`, which runs commands, only
/// by whoever may run them.
fn has_tool(definition: &AgentSpec, name: &str) -> bool {
    let is_denied = |name: &str| definition.denied.iter().any(|denied| denied == name);
    let is_listed = |name: &str| definition.tools.as_ref().is_none_or(|listed| listed.iter().any(|one| one == name));
    let is_had = is_listed(name) || (is_subagent_tool(name) && is_listed("task"));
    is_had && !is_denied(name) && (name != "until" || (is_listed("shell") && !is_denied("shell")))
}

fn is_subagent_tool(name: &str) -> bool {
    matches!(name, "read_agent" | "write_agent" | "list_agents" | "stop_agent" | "wait" | "until")
}

fn is_list_tool(name: &str) -> bool {
    matches!(name, "TaskCreate" | "TaskGet" | "TaskList" | "TaskUpdate" | "TaskOutput" | "TaskStop")
}

type AgentTools = Vec<Arc<dyn Tool>>;

/// What a model is told of at once, and what only when it asks.
fn told(toolbox: &[Arc<dyn Tool>], definition: &AgentSpec, root: bool, skill: ModelTier) -> (AgentTools, AgentTools) {
    toolbox.iter().cloned().partition(|tool| {
        let name = tool.spec().name.as_ref();
        match &definition.tools {
            Some(listed) => listed.iter().any(|known| known == name),
            None if skill == ModelTier::Small => SMALL.contains(&name) || tool.spec().access == ToolAccess::Other,
            None if root => !is_subagent_tool(name) && !is_list_tool(name) && !SELDOM.contains(&name),
            None => AT_ONCE.contains(&name) || tool.spec().access == ToolAccess::Other,
        }
    })
}

fn names(tools: &[Arc<dyn Tool>]) -> Vec<&str> {
    tools.iter().map(|tool| tool.spec().name.as_ref()).collect()
}

/// A tool as a model is told of it.
fn spec_of(tool: &Arc<dyn Tool>) -> ToolSpec {
    let spec = tool.spec();
    ToolSpec { name: spec.name.to_string(), about: spec.about.clone().into_owned(), schema: spec.schema.clone() }
}

/// The session's own agent: every tool, and any agent may be started.
pub(crate) fn main_agent() -> AgentSpec {
    AgentSpec { name: "main".into(), spawns: SpawnPolicy::Anybody, ..AgentSpec::default() }
}
