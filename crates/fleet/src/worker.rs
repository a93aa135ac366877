//! The worker of a todo: its definition, its expectations and its permissions.

use protocol::{
    AgentSpec, Clip, DEFAULT_AGENT, Expectations, FleetConfig, Hinted as _, PermissionMode, RuleEffect, TaskId, Todo,
};
use runtime::{FleetSession, SpawnBuilder, check_usable};
use store::TodoRow;

/// The agent type of todos that name none.
pub(crate) fn default_agent(config: &FleetConfig) -> &str {
    config.agent.as_deref().unwrap_or(DEFAULT_AGENT)
}

/// The definition of a todo's worker, or the reason why there is none.
pub(crate) fn worker_agent<'a>(
    session: &'a FleetSession,
    config: &FleetConfig,
    todo: &Todo,
) -> Result<&'a AgentSpec, String> {
    let wanted = todo.agent_type.as_deref().unwrap_or(default_agent(config));
    let catalog = session.definitions();
    catalog.agent(wanted).filter(|agent| agent.model_invocable).ok_or_else(|| {
        let known: Vec<&str> = catalog.invocable().map(|agent| agent.name.as_str()).collect();
        format!("there is no agent type `{}`; there are: {}", Clip::new(wanted, 100), known.join(", "))
    })
}

/// The expectations of a todo's worker, or the reason why they can never be checked.
pub(crate) fn worker_expectations(todo: &Todo) -> Result<Option<Expectations>, String> {
    let schema = todo.expects.as_deref().map(serde_json::from_str).transpose();
    let schema = schema.map_err(|error| format!("`expects` is not JSON: {error}"))?;
    let expected = Expectations { files: Vec::new(), command: todo.check.clone(), schema };
    check_usable(&expected).map_err(|error| error.in_one_line())?;
    Ok((expected != Expectations::default()).then_some(expected))
}

/// Checks whether a command may run as a todo's check; the error says why not. The user is not asked, since the
/// check runs long after it was written.
pub(crate) async fn check_permitted(session: &FleetSession, command: &str) -> Result<(), String> {
    let verdict = session.judge(session.root(), protocol::tool_name::TASK, command).await?;
    if verdict.effect == RuleEffect::Allow {
        return Ok(());
    }
    let remedy = policy::allow_flags(&verdict.suggested_rules()).map(|flags| format!("; `{flags}` permits it"));
    let shown = Clip::new(command, 200);
    Err(format!("its check `{shown}` is not permitted: {}{}", verdict.reason(), remedy.unwrap_or_default()))
}

/// Checks that a todo written by an agent other than the planner asks for nothing that this agent may not do itself;
/// the error says why not.
pub(crate) async fn check_author_rights(
    session: &FleetSession,
    author: TaskId,
    config: &FleetConfig,
    todo: &Todo,
) -> Result<(), String> {
    let (definition, wanted) = (session.definition_of(author)?, worker_agent(session, config, todo)?);
    let (author_type, name) = (&definition.name, &wanted.name);
    let narrowest_mode = |modes: [Option<PermissionMode>; 2]| {
        modes.into_iter().flatten().reduce(|one, other| if other.is_narrower(one) { other } else { one })
    };
    let granted = narrowest_mode([session.mode(session.root()), wanted.permission]);
    let is_wider = session.mode(author).is_some_and(|limit| granted.is_none_or(|granted| limit.is_narrower(granted)));
    if is_wider || author_type != name && !definition.spawns.permits(name) {
        return Err(format!(
            "a `{author_type}` agent wrote this todo, but may not start `{name}`; the main agent can write it again"
        ));
    }
    let Some(check) = &todo.check else { return Ok(()) };
    let verdict = session.judge(author, protocol::tool_name::SHELL, check).await?;
    if verdict.effect == RuleEffect::Allow {
        return Ok(());
    }
    let (shown, why) = (Clip::new(check, 200), verdict.reason());
    Err(format!("a `{author_type}` agent wrote the check `{shown}`, but may not run it: {why}"))
}

/// The task that does a todo.
pub(crate) async fn worker_spawn(
    session: &FleetSession,
    config: &FleetConfig,
    row: &TodoRow,
    prompt: String,
) -> Result<SpawnBuilder, String> {
    let todo = &row.todo;
    let agent = worker_agent(session, config, todo)?;
    let expects = worker_expectations(todo)?;
    let spawn = session.spawn(agent, &todo.id.0, todo.model.as_deref())?;
    if let Some(check) = &todo.check {
        check_permitted(session, check).await?;
    }
    Ok(spawn.describe(&todo.title).expects(expects).todo(todo.id.clone()).prompt(prompt))
}
