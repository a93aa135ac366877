//! A worker for a todo: what it is, what it is told, and what is expected of it.

use std::sync::Arc;

use kernel::Spawn;
use protocol::{AgentSpec, Clip, Expects, FleetTerms, Mode, PermissionMode, Rest, RuleEffect, TaskId, TaskSpec, Todo};
use store::TodoRow;

use crate::agent::Desk;
use crate::{definition, expects, permit};

/// The type of agent that does what names none.
const USUAL: &str = "general-purpose";

/// Most bytes of a description.
const DESCRIPTION: usize = 200;

/// The type of agent that does todos which name none.
pub(super) fn usual(terms: &FleetTerms) -> &str {
    terms.agent.as_deref().unwrap_or(USUAL)
}

/// The definition that a todo's worker has; says in words why there is none.
pub(super) fn agent<'a>(desk: &'a Desk, terms: &FleetTerms, todo: &Todo) -> Result<&'a AgentSpec, String> {
    let wanted = todo.agent_type.as_deref().unwrap_or(usual(terms));
    let catalog = &desk.settings.catalog;
    catalog.agent(wanted).filter(|agent| agent.model_invocable).ok_or_else(|| {
        let known: Vec<&str> = catalog.invocable().map(|agent| agent.name.as_str()).collect();
        format!("there is no agent type `{}`; there are: {}", Clip::new(wanted, 100), known.join(", "))
    })
}

/// What is expected of a todo's worker; says in words why it could never be looked at.
pub(super) fn expected(todo: &Todo) -> Result<Option<Expects>, String> {
    let schema = todo.expects.as_deref().map(serde_json::from_str).transpose();
    let schema = schema.map_err(|error| format!("`expects` is not JSON: {error}"))?;
    let expected = Expects { files: Vec::new(), command: todo.check.clone(), schema };
    expects::check(&expected)?;
    Ok((expected != Expects::default()).then_some(expected))
}

/// Says in words why a command may not be run to see whether a todo is done. Nobody is asked about it: it was written
/// long before it runs.
pub(crate) async fn permitted(desk: &Arc<Desk>, root: TaskId, command: &str) -> Result<(), String> {
    let (outfit, site) = (desk.outfit(root)?, desk.site(root)?);
    let verdict = permit::judge_command(desk, &outfit, &site, "task", command).await;
    let verdict = verdict.map_err(|error| error.to_string())?;
    if verdict.effect == RuleEffect::Allow {
        return Ok(());
    }
    let remedy = policy::allow_flags(&verdict.rules()).map(|flags| format!("; `{flags}` permits it"));
    let shown = Clip::new(command, 200);
    Err(format!("its check `{shown}` is not permitted: {}{}", verdict.reason(), remedy.unwrap_or_default()))
}

/// Says in words why a todo that an agent wrote, which does not plan, asks for more than that agent may do itself.
pub(super) async fn within_reach(
    desk: &Arc<Desk>,
    (root, author): (TaskId, TaskId),
    terms: &FleetTerms,
    todo: &Todo,
) -> Result<(), String> {
    let (outfit, wanted) = (desk.outfit(author)?, agent(desk, terms, todo)?);
    let (own, name) = (&outfit.definition.name, &wanted.name);
    let mode = |modes: [Option<PermissionMode>; 2]| {
        modes.into_iter().flatten().reduce(|one, other| if other.is_narrower(one) { other } else { one })
    };
    let given = mode([desk.roster.mode(root), wanted.permission]);
    let is_wider = desk.roster.mode(author).is_some_and(|own| given.is_none_or(|given| own.is_narrower(given)));
    if is_wider || own != name && !outfit.definition.spawns.permit(name) {
        return Err(format!(
            "a `{own}` agent wrote it, which may not start `{name}`; the main agent can write it anew"
        ));
    }
    let Some(check) = &todo.check else { return Ok(()) };
    let verdict = permit::judge_command(desk, &outfit, &outfit.site, "shell", check).await;
    let verdict = verdict.map_err(|error| error.to_string())?;
    if verdict.effect == RuleEffect::Allow {
        return Ok(());
    }
    let (shown, why) = (Clip::new(check, 200), verdict.reason());
    Err(format!("a `{own}` agent wrote its check `{shown}`, which may not run that: {why}"))
}

/// The task that does a todo.
pub(super) async fn spawn(
    desk: &Arc<Desk>,
    root: TaskId,
    terms: &FleetTerms,
    row: &TodoRow,
    prompt: String,
) -> Result<Spawn, String> {
    let todo = &row.todo;
    let agent = agent(desk, terms, todo)?;
    let definition = definition::of(agent)?;
    let model = desk.model_for(agent, todo.model.as_deref()).map_err(|error| error.to_string())?;
    let expects = expected(todo)?;
    if let Some(check) = &todo.check {
        permitted(desk, root, check).await?;
    }
    let spec = TaskSpec {
        parent: Some(root),
        description: Clip::new(todo.title.trim(), DESCRIPTION).into_string(),
        mode: Mode::Background,
        // Nobody would ever wake it.
        rest: Rest::Finish,
        definition: Some(definition.id.clone()),
        model: Some(model),
        expects,
        todo: Some(todo.id.clone()),
        ..desk.task_of(agent, &todo.id.0)
    };
    let id = TaskId::new(desk.settings.ids.uuid());
    Ok(Spawn { id, spec, prompt, by: None, until: None, definition: Some(definition) })
}
