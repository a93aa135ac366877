//! The hooks of a session, and how they run.

use std::sync::{Arc, Mutex, PoisonError};

use hooks::{Hook, HookContext, HookEventData, HookRunner, HookRunnerConfig, HookSet, HookVerdict};
use host::Guardian;
use protocol::{AgentSpec, HookEvent, HookSpec, RunId, TaskId};

use super::transcripts::TranscriptWriters;
use crate::session_context::SessionContext;
use crate::settings::SessionSettings;

/// The hooks of a session, with their runner.
#[derive(Debug)]
pub(crate) struct SessionHooks {
    /// The hooks that apply to every agent.
    hooks: HookSet,
    runner: HookRunner,
    pub(super) transcripts: TranscriptWriters,
    /// Text of the session start hooks, until the root receives it.
    start_context: Mutex<Vec<String>>,
}

impl SessionHooks {
    pub(crate) fn new(settings: &SessionSettings, guardian: Guardian) -> SessionHooks {
        let runner = HookRunner::new(HookRunnerConfig {
            guardian,
            env: Arc::new(settings.env.clone()),
            cwd: settings.cwd.clone(),
            project_root: settings.policy.project_dir.clone(),
            route: settings.route.clone(),
            client_hooks: settings.client_extensions.hook_driver.clone(),
        });
        let hooks = settings.catalog.hooks.iter().chain(&settings.client_extensions.hooks);
        let hooks = HookSet::new(hooks.cloned());
        SessionHooks { hooks, runner, transcripts: TranscriptWriters::default(), start_context: Mutex::default() }
    }

    /// Whether the session itself has a hook for this event.
    pub(super) fn has_hook_for(&self, event: HookEvent) -> bool {
        self.hooks.has_event(event)
    }

    /// Whether there are hooks on the start or end of activations.
    pub(super) fn has_activation_hooks(&self) -> bool {
        [HookEvent::SessionStart, HookEvent::SubagentStart, HookEvent::SubagentStop, HookEvent::AgentStop]
            .into_iter()
            .any(|event| self.has_hook_for(event))
    }

    /// Keeps text for the root's first activation.
    pub(super) fn keep_context(&self, context: Vec<String>) {
        self.start_context.lock().unwrap_or_else(PoisonError::into_inner).extend(context);
    }

    /// Takes the text for the root's first activation.
    pub(crate) fn take_context(&self) -> Vec<String> {
        std::mem::take(&mut self.start_context.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn has_context(&self) -> bool {
        !self.start_context.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }
}

/// Runs the hooks that match an event of a run's agent.
pub(crate) async fn run_hooks(context: &Arc<SessionContext>, run: RunId, event: HookEventData) -> HookVerdict {
    let matching = context.matching_hooks(run.task, &event);
    if matching.is_empty() {
        return HookVerdict::default();
    }
    let hook_context = context.hook_context(run).await;
    let matching: Vec<&Hook> = matching.iter().collect();
    context.session_hooks.runner.run_hooks(&matching, &event, &hook_context).await
}

impl SessionContext {
    /// Whether there are hooks on the start or end of a task's activations.
    pub(crate) fn has_lifecycle_hooks(&self, task: TaskId) -> bool {
        let stop = HookEventData::AgentStop { reason: String::new(), last_message: String::new(), is_repeated: false };
        let is_root = self.is_root(task);
        (is_root && self.session_hooks.has_context())
            || (!is_root && !self.matching_hooks(task, &HookEventData::AgentStart).is_empty())
            || !self.matching_hooks(task, &stop).is_empty()
    }

    /// Whether a hook may apply to this event of a task.
    pub(crate) fn may_have_hook_for(&self, task: TaskId, event: HookEvent) -> bool {
        self.session_hooks.has_hook_for(event)
            || self.current_definition(task).is_some_and(|definition| !definition.hooks.is_empty())
    }

    /// Whether a task is the root of the session.
    pub(crate) fn is_root(&self, task: TaskId) -> bool {
        self.log.roster.with_task(task, |entry| entry.spec.kind.is_root()).unwrap_or_default()
    }

    /// The hooks that match an event: the session's, then the agent's own.
    fn matching_hooks(&self, task: TaskId, data: &HookEventData) -> Vec<Hook> {
        let is_root = self.is_root(task);
        let event = data.event(is_root);
        let definition = self.current_definition(task).filter(|definition| !definition.hooks.is_empty());
        if definition.is_none() && !self.session_hooks.has_hook_for(event) {
            return Vec::new();
        }
        let names = self.log.roster.with_task(task, |entry| (entry.spec.agent.clone(), entry.spec.name.clone()));
        let (agent_type, name) = names.unwrap_or_default();
        let agent = ::hooks::HookAgent { definition: &agent_type, name: &name };
        let own = definition.map(|definition| HookSet::new(own_hooks(definition, event, is_root))).unwrap_or_default();
        let all =
            self.session_hooks.hooks.matching(event, data, &agent).into_iter().chain(own.matching(event, data, &agent));
        all.cloned().collect()
    }

    /// The definition of a task's agent in the current catalog. The definition stored in the session may be from files
    /// that are no longer trusted.
    pub(super) fn current_definition(&self, task: TaskId) -> Option<&AgentSpec> {
        let name = &self.log.roster.definition(task)?.name;
        let main = self.catalog.main_agent.as_ref().filter(|main| self.is_root(task) && main.name == *name);
        main.or_else(|| self.catalog.definitions.agents.iter().find(|agent| agent.name == *name))
    }

    /// The folder that a task works in, or worked in.
    fn work_folder(&self, task: TaskId) -> String {
        let checkout_path = || {
            let owner = self.log.roster.checkout_owner(task)?;
            self.log.roster.with_task(owner, |entry| entry.checkout_path.clone()).flatten()
        };
        match self.task_workspace(task) {
            Ok(workspace) => workspace.cwd().display().to_string(),
            Err(_gone) => checkout_path().unwrap_or_default(),
        }
    }

    /// The context of a hook run. Brings the agent's transcript up to date first.
    async fn hook_context(self: &Arc<Self>, run: RunId) -> HookContext {
        let context = Arc::clone(self);
        let written =
            tokio::task::spawn_blocking(move || context.session_hooks.transcripts.write(&context, run.task)).await;
        let sequence = match written {
            Ok(Ok(sequence)) => sequence,
            Ok(Err(error)) => {
                tracing::warn!(%error, "a transcript for hooks was not written");
                0
            }
            Err(error) => {
                tracing::error!(%error, "writing a transcript for hooks failed");
                0
            }
        };
        let entry = self
            .log
            .roster
            .with_task(run.task, |entry| (Arc::clone(&entry.spec), Arc::clone(&entry.path), entry.depth));
        let (spec, path, depth) =
            entry.map_or((None, Arc::from(""), 0), |(spec, path, depth)| (Some(spec), path, depth));
        let field = |get: fn(&protocol::TaskSpec) -> &String| spec.as_deref().map(get).cloned().unwrap_or_default();
        HookContext {
            session: self.facts.session,
            cwd: self.work_folder(run.task),
            transcript: TranscriptWriters::path(self, run.task).display().to_string(),
            mode: self.policy().mode,
            occurred_at: self.facts.clock.now(),
            agent: run.task,
            parent: spec.as_ref().and_then(|spec| spec.parent),
            definition: field(|spec| &spec.agent),
            name: field(|spec| &spec.name),
            description: field(|spec| &spec.description),
            path: path.to_string(),
            depth,
            activation: run.activation,
            attempt: run.attempt,
            sequence,
        }
    }
}

/// An agent's own hooks on an event. For a subagent, `AgentStop` means the end of that subagent.
fn own_hooks(definition: &AgentSpec, event: HookEvent, is_root: bool) -> Vec<HookSpec> {
    let effective_event = |hook: &HookSpec| match hook.event {
        HookEvent::AgentStop if !is_root => HookEvent::SubagentStop,
        HookEvent::SubagentStop if is_root => HookEvent::AgentStop,
        event => event,
    };
    let hooks = definition.hooks.iter().filter(|hook| effective_event(hook) == event);
    hooks.map(|hook| HookSpec { event, ..hook.clone() }).collect()
}
