//! The one way to build the start of a task.

use std::time::Duration;

use kernel::{AgentDefinition, TaskSpawn};
use protocol::{
    AgentSpec, CallId, Clip, CompletionPolicy, Expectations, ExternalTaskSpec, Isolation, McpTaskSpec, ModelUse,
    QuestionSpec, ReasoningEffort, RunId, TaskId, TaskMode, TaskSpec, Timestamp, TodoId, Turn,
};

use crate::call_waits::Caller;
use crate::definition::{self, DefinitionError};
use crate::session_context::SessionContext;

/// The maximum length of a description, in bytes.
const MAX_DESCRIPTION_BYTES: usize = 200;

/// The maximum length of an agent's name, in characters.
const MAX_NAME_CHARS: usize = 40;

/// The maximum length of a command's name, in characters.
const MAX_COMMAND_NAME_CHARS: usize = 24;

/// A task that is about to start. Without further calls it is a background task of the root that the user starts.
#[derive(Debug)]
pub struct SpawnBuilder {
    spec: TaskSpec,
    prompt: String,
    by: Option<(RunId, Turn, CallId)>,
    until: Option<Timestamp>,
    definition: Option<AgentDefinition>,
    redo_reason: Option<String>,
}

impl SpawnBuilder {
    /// An agent of this definition with this model.
    pub(crate) fn agent(
        context: &SessionContext,
        agent: &AgentSpec,
        name: &str,
        model: ModelUse,
    ) -> Result<SpawnBuilder, DefinitionError> {
        let definition = definition::definition_of(agent)?;
        let on_complete =
            if context.facts.features.multi_turn { CompletionPolicy::Idle } else { CompletionPolicy::Finish };
        let spec = TaskSpec {
            on_complete,
            max_turns: agent.max_turns,
            budget: agent.budget,
            isolation: agent.isolation.clone(),
            place: agent.place.clone(),
            definition: Some(definition.id.clone()),
            model: Some(model),
            ..TaskSpec::agent(agent.name.as_str(), path_name(name))
        };
        Ok(SpawnBuilder { definition: Some(definition), ..SpawnBuilder::of(spec) })
    }

    /// A shell command.
    pub(crate) fn shell(command: String) -> SpawnBuilder {
        SpawnBuilder::of(TaskSpec::shell(command_name(&command))).prompt(command)
    }

    /// A shell command that the user runs.
    pub(crate) fn user_shell(command: String) -> SpawnBuilder {
        SpawnBuilder::of(TaskSpec::user_shell(command_name(&command))).prompt(command)
    }

    /// A command that runs again and again until it succeeds, with this pause between two runs.
    pub(crate) fn monitor(command: String, pause: Duration) -> SpawnBuilder {
        let secs = u32::try_from(pause.as_secs()).unwrap_or(u32::MAX);
        SpawnBuilder::of(TaskSpec::monitor("until", secs)).prompt(command)
    }

    /// Work that a client does itself.
    pub(crate) fn external(external: ExternalTaskSpec) -> SpawnBuilder {
        let name = external.title.as_deref().unwrap_or(&external.id.0);
        SpawnBuilder::of(TaskSpec::external(path_name(name), external))
    }

    /// A call of an MCP server's tool; its prompt is the arguments.
    pub(crate) fn mcp(mcp: McpTaskSpec) -> SpawnBuilder {
        let (name, description) = (path_name(&mcp.tool), format!("{}.{}", mcp.server, mcp.tool));
        SpawnBuilder::of(TaskSpec::mcp(name, mcp)).describe(&description)
    }

    /// A question to a model outside of any conversation.
    pub(crate) fn question(purpose: &str, model: Option<ModelUse>, question: QuestionSpec) -> SpawnBuilder {
        SpawnBuilder::of(TaskSpec { model, ..TaskSpec::question(purpose, question) })
    }

    fn of(spec: TaskSpec) -> SpawnBuilder {
        SpawnBuilder { spec, prompt: String::new(), by: None, until: None, definition: None, redo_reason: None }
    }

    /// Starts it below this task.
    pub(crate) fn below(mut self, parent: TaskId) -> SpawnBuilder {
        self.spec.parent = Some(parent);
        self
    }

    /// Starts it as the effect of this tool call, below the calling agent.
    pub(crate) fn called_by(mut self, caller: &Caller) -> SpawnBuilder {
        self.by = Some((caller.run, caller.turn, caller.call.clone()));
        self.below(caller.run.task)
    }

    /// Lets the call that starts it wait for its result, at most until this time.
    pub(crate) fn awaited_until(mut self, until: Timestamp) -> SpawnBuilder {
        self.until = Some(until);
        self.mode(TaskMode::Sync)
    }

    pub(crate) fn mode(mut self, mode: TaskMode) -> SpawnBuilder {
        self.spec.mode = mode;
        self
    }

    /// One line on what it is for, clipped.
    pub fn describe(mut self, description: &str) -> SpawnBuilder {
        self.spec.description = Clip::new(description.trim(), MAX_DESCRIPTION_BYTES).into_string();
        self
    }

    /// Its first mail: the agent's prompt or the command itself.
    pub fn prompt(mut self, prompt: String) -> SpawnBuilder {
        self.prompt = prompt;
        self
    }

    pub(crate) fn effort(mut self, effort: Option<ReasoningEffort>) -> SpawnBuilder {
        self.spec.effort = effort;
        self
    }

    /// What its result must be.
    pub fn expects(mut self, expects: Option<Expectations>) -> SpawnBuilder {
        self.spec.expects = expects;
        self
    }

    /// The todo that it works on, and why an earlier fleet's result is not reused.
    pub fn todo(mut self, todo: TodoId, redo_reason: Option<String>) -> SpawnBuilder {
        (self.spec.todo, self.redo_reason) = (Some(todo), redo_reason);
        self
    }

    /// The todo whose changes it merges.
    pub fn merges(mut self, todo: TodoId) -> SpawnBuilder {
        self.spec.merges = Some(todo);
        self
    }

    /// Where it works, instead of the place that its definition names.
    pub fn isolation(mut self, isolation: Option<Isolation>) -> SpawnBuilder {
        self.spec.isolation = isolation;
        self
    }

    /// Finishes it at the end of its first activation, since no message would ever wake it.
    pub(crate) fn finishes(mut self) -> SpawnBuilder {
        self.spec.on_complete = CompletionPolicy::Finish;
        self
    }

    /// The start of the task, with a new id.
    pub(crate) fn build(self, context: &SessionContext) -> TaskSpawn {
        let SpawnBuilder { spec, prompt, by, until, definition, redo_reason } = self;
        TaskSpawn { id: TaskId::new(context.facts.ids.uuid()), spec, prompt, by, until, definition, redo_reason }
    }
}

/// Converts a requested name to one that can be part of a task path, such as `/root/tests`.
fn path_name(requested: &str) -> String {
    let sanitize = |c: char| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    let name: String = requested.trim().chars().map(sanitize).take(MAX_NAME_CHARS).collect();
    let name = name.trim_matches(['-', '.']).to_owned();
    if name.is_empty() { "agent".into() } else { name }
}

/// A short task name, taken from a command's first word.
fn command_name(command: &str) -> String {
    let word = command.split_whitespace().next().unwrap_or_default();
    let word = word.rsplit('/').next().unwrap_or_default();
    let is_allowed = |c: &char| c.is_ascii_alphanumeric() || "-_.".contains(*c);
    let name: String = word.chars().filter(is_allowed).take(MAX_COMMAND_NAME_CHARS).collect();
    if name.is_empty() { "shell".into() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_converted_to_parts_of_task_paths() {
        let names = ["unit tests", "../../etc", "a/b", "  ", "Größe", "…"].map(path_name);
        assert_eq!(names, ["unit-tests", "etc", "a-b", "agent", "Größe", "agent"]);
    }

    #[test]
    fn a_command_is_named_after_its_program() {
        let names = ["cargo test", "/usr/bin/python3 -m http.server", "  ", "$(x)", "FOO=1 make"].map(command_name);
        assert_eq!(names, ["cargo", "python3", "shell", "x", "FOO1"]);
    }

    #[test]
    fn a_command_is_its_own_prompt_and_its_description_is_clipped() {
        let long = format!("  {}  ", "x".repeat(300));
        let built = SpawnBuilder::shell("make all".into()).describe(&long);
        assert_eq!((built.prompt.as_str(), built.spec.name.as_str()), ("make all", "make"));
        assert!(built.spec.description.starts_with('x') && built.spec.description.len() <= MAX_DESCRIPTION_BYTES);
        assert_eq!(built.spec.mode, TaskMode::Background);
    }

    #[test]
    fn a_monitor_keeps_its_command_and_its_pause() {
        let built = SpawnBuilder::monitor("test -e done".into(), Duration::from_secs(7)).awaited_until(Timestamp(9));
        let expected = TaskSpec { mode: TaskMode::Sync, ..TaskSpec::monitor("until", 7) };
        assert_eq!((built.prompt.as_str(), built.spec, built.until), ("test -e done", expected, Some(Timestamp(9))));
    }
}
