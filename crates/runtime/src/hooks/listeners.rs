//! The hooks of a session, and how they are told.

use std::sync::{Arc, Mutex, PoisonError};

use hooks::{About, Hook, Hooks, Occasion, Runner, Verdict, Ways};
use host::Guardian;
use protocol::{AgentSpec, HookEvent, HookSpec, Kind, Run, TaskId};

use super::scribe::Scribes;
use crate::agent::Desk;
use crate::settings::Settings;

/// The hooks of a session, with what they are run with.
#[derive(Debug)]
pub(crate) struct Listeners {
    /// Those that hold for every agent.
    hooks: Hooks,
    runner: Runner,
    pub(super) scribes: Scribes,
    /// What hooks said when the session began, until the root hears it.
    context: Mutex<Vec<String>>,
}

impl Listeners {
    pub(crate) fn new(settings: &Settings, guardian: Guardian) -> Listeners {
        let runner = Runner::new(Ways {
            guardian,
            env: Arc::new(settings.env.clone()),
            cwd: settings.cwd.clone(),
            top: settings.policy.top.clone(),
            route: settings.route.clone(),
            driver: settings.guests.driver.clone(),
        });
        let hooks = settings.catalog.hooks.iter().chain(&settings.guests.hooks);
        let hooks = Hooks::new(hooks.cloned());
        Listeners { hooks, runner, scribes: Scribes::default(), context: Mutex::default() }
    }

    /// Whether any hook of the whole session is told of such an event.
    pub(super) fn listen(&self, event: HookEvent) -> bool {
        self.hooks.listen(event)
    }

    /// Whether activations may have to be greeted and parted from.
    pub(super) fn attend_activations(&self) -> bool {
        [HookEvent::SessionStart, HookEvent::SubagentStart, HookEvent::SubagentStop, HookEvent::AgentStop]
            .into_iter()
            .any(|event| self.listen(event))
    }

    /// Keeps what the root is to hear when it begins.
    pub(super) fn keep(&self, context: Vec<String>) {
        self.context.lock().unwrap_or_else(PoisonError::into_inner).extend(context);
    }

    /// What the root is to hear, once.
    pub(crate) fn take_context(&self) -> Vec<String> {
        std::mem::take(&mut self.context.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn has_context(&self) -> bool {
        !self.context.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }
}

/// Tells the hooks that it concerns of what happens to a run's agent.
pub(crate) async fn tell(desk: &Arc<Desk>, run: Run, occasion: Occasion) -> Verdict {
    let concerned = desk.concerned(run.task, &occasion);
    if concerned.is_empty() {
        return Verdict::default();
    }
    let about = desk.about(run).await;
    let concerned: Vec<&Hook> = concerned.iter().collect();
    desk.listeners.runner.tell(&concerned, &occasion, &about).await
}

impl Desk {
    /// Whether hooks are to be told of the beginning and the end of a task's activations.
    pub(crate) fn is_attended(&self, task: TaskId) -> bool {
        let stop = Occasion::Stop { reason: String::new(), said: String::new(), again: false };
        let is_root = self.is_root(task);
        (is_root && self.listeners.has_context())
            || (!is_root && !self.concerned(task, &Occasion::Start).is_empty())
            || !self.concerned(task, &stop).is_empty()
    }

    /// Whether any hook may be told of such an event of a task.
    pub(crate) fn is_told_of(&self, task: TaskId, event: HookEvent) -> bool {
        self.listeners.listen(event) || self.present(task).is_some_and(|own| !own.hooks.is_empty())
    }

    /// Whether a task is the session's own conversation.
    pub(crate) fn is_root(&self, task: TaskId) -> bool {
        self.roster.known(task, |known| known.spec.kind == Kind::Main).unwrap_or_default()
    }

    /// The hooks that are told of an occasion: the session's, then the agent's own.
    fn concerned(&self, task: TaskId, occasion: &Occasion) -> Vec<Hook> {
        let is_root = self.is_root(task);
        let event = occasion.event(is_root);
        let definition = self.present(task).filter(|definition| !definition.hooks.is_empty());
        if definition.is_none() && !self.listeners.listen(event) {
            return Vec::new();
        }
        let names = self.roster.known(task, |known| (known.spec.agent.clone(), known.spec.name.clone()));
        let (kind, name) = names.unwrap_or_default();
        let agent = ::hooks::Agent { kind: &kind, name: &name };
        let own = definition.map(|definition| Hooks::new(own(definition, event, is_root))).unwrap_or_default();
        let all = self.listeners.hooks.on(event, occasion, &agent).into_iter().chain(own.on(event, occasion, &agent));
        all.cloned().collect()
    }

    /// What the catalogue says of a task's agent in this run. The session keeps what it said before; that may have come
    /// from files that nobody trusts any more.
    pub(super) fn present(&self, task: TaskId) -> Option<&AgentSpec> {
        let Settings { main, catalog, .. } = &self.settings;
        let name = &self.roster.definition(task)?.name;
        let main = main.as_ref().filter(|main| self.is_root(task) && main.name == *name);
        main.or_else(|| catalog.agents.iter().find(|agent| agent.name == *name))
    }

    /// The folder that a task works in, or worked in.
    fn folder(&self, task: TaskId) -> String {
        let placed = || {
            let holder = self.roster.isolated(task)?;
            self.roster.known(holder, |known| known.placed.clone()).flatten()
        };
        match self.site(task) {
            Ok(site) => site.cwd().display().to_string(),
            Err(_gone) => placed().unwrap_or_default(),
        }
    }

    /// Whom hooks are told about. What the agent heard and said so far is in its transcript by then.
    async fn about(self: &Arc<Self>, run: Run) -> About {
        let desk = Arc::clone(self);
        let written = tokio::task::spawn_blocking(move || desk.listeners.scribes.write(&desk, run.task)).await;
        let sequence = match written {
            Ok(Ok(sequence)) => sequence,
            Ok(Err(error)) => {
                tracing::warn!(%error, "a transcript for hooks was not written");
                0
            }
            Err(error) => {
                tracing::error!(%error, "writing a transcript for hooks broke");
                0
            }
        };
        let known =
            self.roster.known(run.task, |known| (Arc::clone(&known.spec), Arc::clone(&known.path), known.depth));
        let (spec, path, depth) =
            known.map_or((None, Arc::from(""), 0), |(spec, path, depth)| (Some(spec), path, depth));
        let word = |of: fn(&protocol::TaskSpec) -> &String| spec.as_deref().map(of).cloned().unwrap_or_default();
        About {
            session: self.session,
            cwd: self.folder(run.task),
            transcript: Scribes::path(self, run.task).display().to_string(),
            mode: self.policy().mode,
            at: self.settings.clock.now(),
            agent: run.task,
            parent: spec.as_ref().and_then(|spec| spec.parent),
            kind: word(|spec| &spec.agent),
            name: word(|spec| &spec.name),
            description: word(|spec| &spec.description),
            path: path.to_string(),
            depth,
            activation: run.activation,
            attempt: run.attempt,
            sequence,
        }
    }
}

/// An agent's own hooks on an event. Below the root, the end of the agent is the end it speaks of.
fn own(definition: &AgentSpec, event: HookEvent, is_root: bool) -> Vec<HookSpec> {
    let meant = |hook: &HookSpec| match hook.event {
        HookEvent::AgentStop if !is_root => HookEvent::SubagentStop,
        HookEvent::SubagentStop if is_root => HookEvent::AgentStop,
        event => event,
    };
    let hooks = definition.hooks.iter().filter(|hook| meant(hook) == event);
    hooks.map(|hook| HookSpec { event, ..hook.clone() }).collect()
}
