//! The worker of a todo: its definition, its expectations and its permissions.

use std::sync::Arc;

use protocol::{AgentSpec, Clip, DEFAULT_AGENT, Expectations, FleetConfig, PermissionMode, RuleEffect, TaskId, Todo};
use store::TodoRow;

use crate::session_context::SessionContext;
use crate::spawn::SpawnBuilder;
use crate::{expectations, permission_check};

/// The agent type of todos that name none.
pub(super) fn default_agent(config: &FleetConfig) -> &str {
    config.agent.as_deref().unwrap_or(DEFAULT_AGENT)
}

/// The definition of a todo's worker, or the reason why there is none.
pub(super) fn worker_agent<'a>(
    context: &'a SessionContext,
    config: &FleetConfig,
    todo: &Todo,
) -> Result<&'a AgentSpec, String> {
    let wanted = todo.agent_type.as_deref().unwrap_or(default_agent(config));
    let catalog = &context.catalog.definitions;
    catalog.agent(wanted).filter(|agent| agent.model_invocable).ok_or_else(|| {
        let known: Vec<&str> = catalog.invocable().map(|agent| agent.name.as_str()).collect();
        format!("there is no agent type `{}`; there are: {}", Clip::new(wanted, 100), known.join(", "))
    })
}

/// The expectations of a todo's worker, or the reason why they can never be checked.
pub(super) fn worker_expectations(todo: &Todo) -> Result<Option<Expectations>, String> {
    let schema = todo.expects.as_deref().map(serde_json::from_str).transpose();
    let schema = schema.map_err(|error| format!("`expects` is not JSON: {error}"))?;
    let expected = Expectations { files: Vec::new(), command: todo.check.clone(), schema };
    expectations::check_usable(&expected)?;
    Ok((expected != Expectations::default()).then_some(expected))
}

/// Checks whether a command may run as a todo's check; the error says why not. The user is not asked, since the
/// check runs long after it was written.
pub(crate) async fn check_permitted(context: &Arc<SessionContext>, root: TaskId, command: &str) -> Result<(), String> {
    let (prepared, workspace) = (context.prepared_agent(root)?, context.task_workspace(root)?);
    let verdict =
        permission_check::judge_command(&context.workplace, &prepared, &workspace, protocol::tool_name::TASK, command)
            .await;
    let verdict = verdict.map_err(|error| error.to_string())?;
    if verdict.effect == RuleEffect::Allow {
        return Ok(());
    }
    let remedy = policy::allow_flags(&verdict.suggested_rules()).map(|flags| format!("; `{flags}` permits it"));
    let shown = Clip::new(command, 200);
    Err(format!("its check `{shown}` is not permitted: {}{}", verdict.reason(), remedy.unwrap_or_default()))
}

/// Checks that a todo written by an agent other than the planner asks for nothing that this agent may not do itself;
/// the error says why not.
pub(super) async fn check_author_rights(
    context: &Arc<SessionContext>,
    (root, author): (TaskId, TaskId),
    config: &FleetConfig,
    todo: &Todo,
) -> Result<(), String> {
    let (prepared, wanted) = (context.prepared_agent(author)?, worker_agent(context, config, todo)?);
    let (author_type, name) = (&prepared.definition.name, &wanted.name);
    let narrowest_mode = |modes: [Option<PermissionMode>; 2]| {
        modes.into_iter().flatten().reduce(|one, other| if other.is_narrower(one) { other } else { one })
    };
    let granted = narrowest_mode([context.log.roster.mode(root), wanted.permission]);
    let is_wider =
        context.log.roster.mode(author).is_some_and(|limit| granted.is_none_or(|granted| limit.is_narrower(granted)));
    if is_wider || author_type != name && !prepared.definition.spawns.permits(name) {
        return Err(format!(
            "a `{author_type}` agent wrote this todo, but may not start `{name}`; the main agent can write it again"
        ));
    }
    let Some(check) = &todo.check else { return Ok(()) };
    let verdict = permission_check::judge_command(
        &context.workplace,
        &prepared,
        &prepared.task_workspace,
        protocol::tool_name::SHELL,
        check,
    )
    .await;
    let verdict = verdict.map_err(|error| error.to_string())?;
    if verdict.effect == RuleEffect::Allow {
        return Ok(());
    }
    let (shown, why) = (Clip::new(check, 200), verdict.reason());
    Err(format!("a `{author_type}` agent wrote the check `{shown}`, but may not run it: {why}"))
}

/// The task that does a todo.
pub(super) async fn worker_spawn(
    context: &Arc<SessionContext>,
    root: TaskId,
    config: &FleetConfig,
    row: &TodoRow,
    prompt: String,
) -> Result<SpawnBuilder, String> {
    let todo = &row.todo;
    let agent = worker_agent(context, config, todo)?;
    let model = context.model_for(agent, todo.model.as_deref()).map_err(|error| error.to_string())?;
    let expects = worker_expectations(todo)?;
    if let Some(check) = &todo.check {
        check_permitted(context, root, check).await?;
    }
    let spawn = SpawnBuilder::agent(context, agent, &todo.id.0, model)?;
    Ok(spawn.below(root).describe(&todo.title).finishes().expects(expects).todo(todo.id.clone()).prompt(prompt))
}
