//! The worker of a todo: its definition, its expectations and its permissions.

use protocol::{
    AgentSpec, Clip, DEFAULT_AGENT, Expectations, FleetConfig, Hinted, PermissionMode, Refusal, RuleEffect, TaskId,
    Todo,
};
use runtime::{FleetSession, SpawnBuilder, check_usable};
use store::TodoRow;

/// Why a todo has no worker.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WorkerError {
    #[error("there is no agent type `{wanted}`")]
    UnknownAgent { wanted: Clip, known: String },
    #[error("`expects` is not JSON: {0}")]
    ExpectsNotJson(#[from] serde_json::Error),
    #[error("its check `{check}` is not permitted: {reason}")]
    CheckNotPermitted { check: Clip, reason: String, allow_flags: Option<String> },
    #[error("a `{author}` agent wrote this todo, but may not start `{agent}`")]
    AuthorMayNotStart { author: String, agent: String },
    #[error("a `{author}` agent wrote the check `{check}`, but may not run it: {reason}")]
    AuthorMayNotRun { author: String, check: Clip, reason: String },
    /// The session refuses it.
    #[error("{}", .0.message)]
    Session(#[from] Refusal),
}

impl Hinted for WorkerError {
    fn hint(&self) -> Option<String> {
        match self {
            WorkerError::UnknownAgent { known, .. } => Some(format!("available: {known}")),
            WorkerError::CheckNotPermitted { allow_flags, .. } => {
                allow_flags.as_ref().map(|flags| format!("`{flags}` permits it"))
            }
            WorkerError::AuthorMayNotStart { .. } => Some("the main agent can write it again".into()),
            WorkerError::Session(refusal) => refusal.hint.clone(),
            WorkerError::ExpectsNotJson(_) | WorkerError::AuthorMayNotRun { .. } => None,
        }
    }
}

/// The agent type of todos that name none.
pub(crate) fn default_agent(config: &FleetConfig) -> &str {
    config.agent.as_deref().unwrap_or(DEFAULT_AGENT)
}

/// The definition of a todo's worker.
pub(crate) fn worker_agent<'a>(
    session: &'a FleetSession,
    config: &FleetConfig,
    todo: &Todo,
) -> Result<&'a AgentSpec, WorkerError> {
    let wanted = todo.agent_type.as_deref().unwrap_or(default_agent(config));
    let catalog = session.definitions();
    catalog.agent(wanted).filter(|agent| agent.model_invocable).ok_or_else(|| {
        let known: Vec<&str> = catalog.invocable().map(|agent| agent.name.as_str()).collect();
        WorkerError::UnknownAgent { wanted: Clip::new(wanted, 100), known: known.join(", ") }
    })
}

/// The expectations of a todo's worker. They can be checked.
pub(crate) fn worker_expectations(todo: &Todo) -> Result<Option<Expectations>, WorkerError> {
    let schema = todo.expects.as_deref().map(serde_json::from_str).transpose()?;
    let expected = Expectations { files: Vec::new(), command: todo.check.clone(), schema };
    check_usable(&expected).map_err(|error| error.refusal())?;
    Ok((expected != Expectations::default()).then_some(expected))
}

/// Checks whether a command may run as a todo's check. The user is not asked, since the check runs long after it was
/// written.
pub(crate) async fn check_permitted(session: &FleetSession, command: &str) -> Result<(), WorkerError> {
    let verdict = session.judge(session.root(), protocol::tool_name::TASK, command).await?;
    if verdict.effect == RuleEffect::Allow {
        return Ok(());
    }
    let (check, reason) = (Clip::new(command, 200), verdict.reason());
    let allow_flags = policy::allow_flags(&verdict.suggested_rules());
    Err(WorkerError::CheckNotPermitted { check, reason, allow_flags })
}

/// Checks that a todo written by an agent other than the planner asks for nothing that this agent may not do itself.
pub(crate) async fn check_author_rights(
    session: &FleetSession,
    author: TaskId,
    config: &FleetConfig,
    todo: &Todo,
) -> Result<(), WorkerError> {
    let (definition, wanted) = (session.definition_of(author)?, worker_agent(session, config, todo)?);
    let (author_type, name) = (&definition.name, &wanted.name);
    let narrowest_mode = |modes: [Option<PermissionMode>; 2]| {
        modes.into_iter().flatten().reduce(|one, other| if other.is_narrower(one) { other } else { one })
    };
    let granted = narrowest_mode([session.mode(session.root()), wanted.permission]);
    let is_wider = session.mode(author).is_some_and(|limit| granted.is_none_or(|granted| limit.is_narrower(granted)));
    if is_wider || author_type != name && !definition.spawns.permits(name) {
        return Err(WorkerError::AuthorMayNotStart { author: author_type.clone(), agent: name.clone() });
    }
    let Some(check) = &todo.check else { return Ok(()) };
    let verdict = session.judge(author, protocol::tool_name::SHELL, check).await?;
    if verdict.effect == RuleEffect::Allow {
        return Ok(());
    }
    let (check, reason) = (Clip::new(check, 200), verdict.reason());
    Err(WorkerError::AuthorMayNotRun { author: author_type.clone(), check, reason })
}

/// The agent that does a todo, without its prompt.
pub(crate) async fn worker_spawn(
    session: &FleetSession,
    config: &FleetConfig,
    row: &TodoRow,
    redo_reason: Option<String>,
) -> Result<SpawnBuilder, WorkerError> {
    let todo = &row.todo;
    let agent = worker_agent(session, config, todo)?;
    let expects = worker_expectations(todo)?;
    let spawn = session.spawn(agent, &todo.id.0, todo.model.as_deref())?;
    if let Some(check) = &todo.check {
        check_permitted(session, check).await?;
    }
    Ok(spawn.describe(&todo.title).expects(expects).todo(todo.id.clone(), redo_reason))
}
