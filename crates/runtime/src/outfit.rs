//! What an agent works with: its definition made ready to run. Agents of one definition share one outfit.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use model::{Model, Skill, ToolSpec};
use policy::Role;
use protocol::{AgentSpec, Clip, Effort, HookDialect, Kind, PermissionMode, SessionMode, Spawns, TaskId, TaskSpec};
use tools::{Access, Tool};

use crate::agent::Desk;
use crate::conversation::Grown;
use crate::sites::Site;
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
pub(crate) struct Outfit {
    pub(crate) definition: Arc<AgentSpec>,
    pub(crate) system: Arc<str>,
    /// Everything it may call.
    pub(crate) toolbox: Vec<Arc<dyn Tool>>,
    /// What its model is told of from the beginning.
    pub(crate) specs: Arc<[ToolSpec]>,
    /// What its model is told of when it asks.
    pub(crate) deferred: Vec<ToolSpec>,
    /// What the root may call besides, and is told of in the mode that it is for.
    steering: Vec<Steer>,
    pub(crate) role: Role,
    pub(crate) model: Arc<dyn Model>,
    /// The model's name, as `--model` takes it.
    pub(crate) model_spec: Arc<str>,
    pub(crate) effort: Option<Effort>,
    /// Where it works.
    pub(crate) site: Arc<Site>,
}

/// A tool of one mode.
#[derive(Debug)]
struct Steer {
    mode: SessionMode,
    tool: Arc<dyn Tool>,
    spec: ToolSpec,
}

impl Outfit {
    pub(crate) fn tool(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        let steering = self.steering.iter().map(|steer| &steer.tool);
        self.toolbox.iter().chain(steering).find(|tool| tool.spec().name == name)
    }

    /// What its model is told of once there is more.
    pub(crate) fn told(&self, grown: &[Grown]) -> Arc<[ToolSpec]> {
        if grown.is_empty() {
            return Arc::clone(&self.specs);
        }
        self.specs.iter().chain(self.more(grown)).cloned().collect()
    }

    /// The tools that there are more of.
    pub(crate) fn more<'a>(&'a self, grown: &'a [Grown]) -> impl Iterator<Item = &'a ToolSpec> {
        grown.iter().flat_map(|more| {
            let loaded = self.deferred.iter().filter(move |spec| *more == Grown::Loaded(spec.name.clone()));
            let steering = self.steering.iter().filter(move |steer| *more == Grown::Mode(steer.mode));
            loaded.chain(steering.map(|steer| &steer.spec))
        })
    }
}

/// The outfits that are in use, by what they depend on.
#[derive(Debug, Default)]
pub(crate) struct Outfits(Mutex<HashMap<Key, Arc<Outfit>>>);

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    definition: Option<String>,
    model: Arc<str>,
    effort: Option<String>,
    root: bool,
    may_spawn: bool,
    /// Its own mode, or a narrower one of an agent above it.
    mode: Option<PermissionMode>,
}

impl Desk {
    /// What a task's agent works with; says in words why it cannot be had.
    pub(crate) fn outfit(&self, task: TaskId) -> Result<Arc<Outfit>, String> {
        let known = self.roster.known(task, |known| (Arc::clone(&known.spec), known.depth));
        let (spec, depth) = known.ok_or_else(|| format!("{task} is not known"))?;
        let key = Key {
            definition: spec.definition.as_ref().map(ToString::to_string),
            model: self.model_name(&spec),
            effort: spec.effort.map(|effort| format!("{effort:?}")),
            root: spec.kind == Kind::Main,
            may_spawn: depth < self.settings.limits.depth,
            mode: self.roster.mode(task),
        };
        let site = self.site(task)?;
        if site.is_checkout() {
            // Nobody else works there.
            return self.fit(task, &spec, &key, site).map(Arc::new);
        }
        if let Some(outfit) = self.outfits.0.lock().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return Ok(Arc::clone(outfit));
        }
        let outfit = Arc::new(self.fit(task, &spec, &key, site)?);
        self.outfits.0.lock().unwrap_or_else(PoisonError::into_inner).insert(key, Arc::clone(&outfit));
        Ok(outfit)
    }

    fn fit(&self, task: TaskId, spec: &TaskSpec, key: &Key, site: Arc<Site>) -> Result<Outfit, String> {
        let definition = self.roster.definition(task).unwrap_or_else(|| Arc::new(main()));
        let model = self.named(&key.model)?;
        let toolbox = self.toolbox(&definition, key);
        let (at_once, deferred) = told(&toolbox, &definition, key.root, model.facts().skill);
        let (search, deferred) = match deferred.is_empty() {
            true => (None, deferred),
            false => (Some(tools::tool_search(&names(&deferred))), deferred),
        };
        let specs = at_once.iter().chain(&search).map(spec_of).collect();
        let toolbox: Vec<_> = toolbox.into_iter().chain(search).collect();
        let steering = if key.root { steering(&definition) } else { Vec::new() };
        let names =
            toolbox.iter().chain(steering.iter().map(|steer| &steer.tool)).map(|tool| tool.spec().name.to_string());
        Ok(Outfit {
            system: self.system(&definition, key.root, &site)?.into(),
            role: Role {
                tools: Some(names.collect()),
                denied: definition.denied.iter().cloned().collect(),
                mode: key.mode,
            },
            specs,
            deferred: deferred.iter().map(spec_of).collect(),
            steering,
            toolbox,
            model,
            model_spec: Arc::clone(&key.model),
            effort: spec.effort.or(definition.effort).or(self.settings.effort),
            definition,
            site,
        })
    }

    /// What an agent of this definition is told first, with the text of the skills that it is given.
    fn system(&self, definition: &AgentSpec, root: bool, site: &Site) -> Result<String, String> {
        let mut system = prompt::system(site, &self.instructions, definition, root.then_some(self.settings.features));
        if root {
            system = self.settings.guests.system.of(system);
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
    fn toolbox(&self, definition: &AgentSpec, key: &Key) -> Vec<Arc<dyn Tool>> {
        let catalog = &self.settings.catalog;
        let types: Vec<(String, String)> = match key.may_spawn {
            true => catalog.startable(&definition.spawns).map(|it| (it.name.clone(), it.description.clone())).collect(),
            false => Vec::new(),
        };
        let crew = if types.is_empty() && !key.root { Vec::new() } else { tools::crew() };
        let skills: Vec<(String, String)> = catalog
            .skills
            .iter()
            .filter(|skill| skill.model_invocable)
            .map(|skill| (skill.name.clone(), skill.description.clone()))
            .collect();
        let all = tools::everyday()
            .into_iter()
            .chain((key.root && self.asks_user).then(tools::ask_user))
            .chain((!types.is_empty()).then(|| tools::task(&types)))
            .chain((!skills.is_empty()).then(|| tools::skill(&skills)))
            .chain(crew)
            .chain(tools::list());
        let guests = &self.settings.guests.tools;
        // A program whose `bash` stands in for ours must not find its model at our `shell`.
        let is_replaced = |tool: &Arc<dyn Tool>| {
            let mut names = guests.iter().map(|guest| &guest.spec().name);
            names.any(|name| hooks::names::is_called(&tool.spec().name, name, HookDialect::Camel))
        };
        let all = all.filter(|tool| !is_replaced(tool)).chain(guests.iter().cloned());
        all.filter(|tool| has(definition, &tool.spec().name)).collect()
    }
}

/// The tools of the session's own agent, mode by mode. They are the session's, so its definition need not list them.
fn steering(definition: &AgentSpec) -> Vec<Steer> {
    let of =
        |mode: SessionMode, tools: Tools| tools.into_iter().map(move |tool| Steer { mode, spec: spec_of(&tool), tool });
    let all = of(SessionMode::Plan, tools::plan()).chain(of(SessionMode::Autopilot, tools::autopilot()));
    all.filter(|steer| !definition.denied.contains(&steer.spec.name)).collect()
}

/// Whether a definition has a tool. What goes with `task` is had by whoever has that; `until`, which runs commands, only
/// by whoever may run them.
fn has(definition: &AgentSpec, name: &str) -> bool {
    let is_denied = |name: &str| definition.denied.iter().any(|denied| denied == name);
    let is_listed = |name: &str| definition.tools.as_ref().is_none_or(|listed| listed.iter().any(|one| one == name));
    let is_had = is_listed(name) || (is_crew(name) && is_listed("task"));
    is_had && !is_denied(name) && (name != "until" || (is_listed("shell") && !is_denied("shell")))
}

fn is_crew(name: &str) -> bool {
    matches!(name, "read_agent" | "write_agent" | "list_agents" | "stop_agent" | "wait" | "until")
}

fn is_list(name: &str) -> bool {
    matches!(name, "TaskCreate" | "TaskGet" | "TaskList" | "TaskUpdate" | "TaskOutput" | "TaskStop")
}

type Tools = Vec<Arc<dyn Tool>>;

/// What a model is told of at once, and what only when it asks.
fn told(toolbox: &[Arc<dyn Tool>], definition: &AgentSpec, root: bool, skill: Skill) -> (Tools, Tools) {
    toolbox.iter().cloned().partition(|tool| {
        let name = tool.spec().name.as_ref();
        match &definition.tools {
            Some(listed) => listed.iter().any(|known| known == name),
            None if skill == Skill::Small => SMALL.contains(&name) || tool.spec().access == Access::Other,
            None if root => !is_crew(name) && !is_list(name) && !SELDOM.contains(&name),
            None => AT_ONCE.contains(&name) || tool.spec().access == Access::Other,
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
pub(crate) fn main() -> AgentSpec {
    AgentSpec { name: "main".into(), spawns: Spawns::Anybody, ..AgentSpec::default() }
}
