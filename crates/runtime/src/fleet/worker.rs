//! A worker for a todo: what it is, what it is told, and what is expected of it.

use std::sync::Arc;

use kernel::TaskSpawn;
use protocol::{
    AgentSpec, Clip, CompletionPolicy, Expectations, FleetConfig, PermissionMode, RuleEffect, TaskId, TaskMode,
    TaskSpec, Todo,
};
use store::TodoRow;

use crate::agent::SessionContext;
use crate::{definition, expectations, permission_check};

/// The type of agent that does what names none.
const DEFAULT_AGENT: &str = "general-purpose";

/// Most bytes of a description.
const MAX_DESCRIPTION_BYTES: usize = 200;

/// The type of agent that does todos which name none.
pub(super) fn default_agent(terms: &FleetConfig) -> &str {
    terms.agent.as_deref().unwrap_or(DEFAULT_AGENT)
}

/// The definition that a todo's worker has; says in words why there is none.
pub(super) fn worker_agent<'a>(
    context: &'a SessionContext,
    terms: &FleetConfig,
    todo: &Todo,
) -> Result<&'a AgentSpec, String> {
    let wanted = todo.agent_type.as_deref().unwrap_or(default_agent(terms));
    let catalog = &context.settings.catalog;
    catalog.agent(wanted).filter(|agent| agent.model_invocable).ok_or_else(|| {
        let known: Vec<&str> = catalog.invocable().map(|agent| agent.name.as_str()).collect();
        format!("there is no agent type `{}`; there are: {}", Clip::new(wanted, 100), known.join(", "))
    })
}

/// What is expected of a todo's worker; says in words why it could never be looked at.
pub(super) fn worker_expectations(todo: &Todo) -> Result<Option<Expectations>, String> {
    let schema = todo.expects.as_deref().map(serde_json::from_str).transpose();
    let schema = schema.map_err(|error| format!("`expects` is not JSON: {error}"))?;
    let expected = Expectations { files: Vec::new(), command: todo.check.clone(), schema };
    expectations::check(&expected)?;
    Ok((expected != Expectations::default()).then_some(expected))
}

/// Says in words why a command may not be run to see whether a todo is done. Nobody is asked about it: it was written
/// long before it runs.
pub(crate) async fn check_permitted(context: &Arc<SessionContext>, root: TaskId, command: &str) -> Result<(), String> {
    let (prepared, site) = (context.prepared_agent(root)?, context.task_workspace(root)?);
    let verdict = permission_check::judge_command(context, &prepared, &site, "task", command).await;
    let verdict = verdict.map_err(|error| error.to_string())?;
    if verdict.effect == RuleEffect::Allow {
        return Ok(());
    }
    let remedy = policy::allow_flags(&verdict.rules()).map(|flags| format!("; `{flags}` permits it"));
    let shown = Clip::new(command, 200);
    Err(format!("its check `{shown}` is not permitted: {}{}", verdict.reason(), remedy.unwrap_or_default()))
}

/// Says in words why a todo that an agent wrote, which does not plan, asks for more than that agent may do itself.
pub(super) async fn check_author_rights(
    context: &Arc<SessionContext>,
    (root, author): (TaskId, TaskId),
    terms: &FleetConfig,
    todo: &Todo,
) -> Result<(), String> {
    let (prepared, wanted) = (context.prepared_agent(author)?, worker_agent(context, terms, todo)?);
    let (own, name) = (&prepared.definition.name, &wanted.name);
    let mode = |modes: [Option<PermissionMode>; 2]| {
        modes.into_iter().flatten().reduce(|one, other| if other.is_narrower(one) { other } else { one })
    };
    let given = mode([context.roster.mode(root), wanted.permission]);
    let is_wider = context.roster.mode(author).is_some_and(|own| given.is_none_or(|given| own.is_narrower(given)));
    if is_wider || own != name && !prepared.definition.spawns.permits(name) {
        return Err(format!(
            "a `{own}` agent wrote it, which may not start `{name}`; the main agent can write it anew"
        ));
    }
    let Some(check) = &todo.check else { return Ok(()) };
    let verdict = permission_check::judge_command(context, &prepared, &prepared.task_workspace, "shell", check).await;
    let verdict = verdict.map_err(|error| error.to_string())?;
    if verdict.effect == RuleEffect::Allow {
        return Ok(());
    }
    let (shown, why) = (Clip::new(check, 200), verdict.reason());
    Err(format!("a `{own}` agent wrote its check `{shown}`, which may not run that: {why}"))
}

/// The task that does a todo.
pub(super) async fn worker_spawn(
    context: &Arc<SessionContext>,
    root: TaskId,
    terms: &FleetConfig,
    row: &TodoRow,
    prompt: String,
) -> Result<TaskSpawn, String> {
    let todo = &row.todo;
    let agent = worker_agent(context, terms, todo)?;
    let definition = definition::definition_of(agent)?;
    let model = context.model_for(agent, todo.model.as_deref()).map_err(|error| error.to_string())?;
    let expects = worker_expectations(todo)?;
    if let Some(check) = &todo.check {
        check_permitted(context, root, check).await?;
    }
    let spec = TaskSpec {
        parent: Some(root),
        description: Clip::new(todo.title.trim(), MAX_DESCRIPTION_BYTES).into_string(),
        mode: TaskMode::Background,
        // Nobody would ever wake it.
        on_complete: CompletionPolicy::Finish,
        definition: Some(definition.id.clone()),
        model: Some(model),
        expects,
        todo: Some(todo.id.clone()),
        ..context.task_spec(agent, &todo.id.0)
    };
    let id = TaskId::new(context.settings.ids.uuid());
    Ok(TaskSpawn { id, spec, prompt, by: None, until: None, definition: Some(definition) })
}
