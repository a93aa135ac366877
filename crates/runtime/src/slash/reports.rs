//! Reports of slash commands on a session.

use protocol::api::{TodoView, TodosParams};
use protocol::{TaskId, Timestamp, TodoStatus};
use store::{StoreError, TaskSpending};

use super::error::SlashError;
use crate::session_context::SessionContext;

/// Maximum number of rows in a list.
const MAX_ROWS: usize = 200;

/// The agents that the user may start.
pub(super) fn agents(context: &SessionContext) -> String {
    let agents = context.catalog.definitions.agents.iter().filter(|agent| agent.user_invocable);
    agents.map(|agent| format!("{}: {}", agent.name, agent.description)).collect::<Vec<_>>().join("\n")
}

/// All tasks with their states.
pub(super) fn tasks(context: &SessionContext) -> Result<String, StoreError> {
    let page = context.log.reader()?.tasks(&protocol::api::TasksParams::all_tasks())?;
    let line = |task: &protocol::api::TaskView| {
        let intent = task.intent.as_ref().map(|intent| format!("; {intent}")).unwrap_or_default();
        let turns = if task.turns == 1 { "1 turn".to_owned() } else { format!("{} turns", task.turns) };
        format!("{} ({}): {}, {turns}{intent}", task.path, task.agent, task.state.as_str())
    };
    Ok(clip_rows(page.tasks.iter().map(line).collect()))
}

/// The todos with their states.
pub(super) fn todos(context: &SessionContext) -> Result<String, StoreError> {
    let rows = context.log.reader()?.todos_page(&TodosParams::all_todos())?.todos;
    if rows.is_empty() {
        return Ok("there are no todos".into());
    }
    let done = rows.iter().filter(|row| row.status == TodoStatus::Done).count();
    let line = |row: &TodoView| {
        let dependencies: Vec<&str> = row.depends_on.iter().map(|id| id.0.as_str()).collect();
        let dependencies =
            if dependencies.is_empty() { String::new() } else { format!(" (after {})", dependencies.join(", ")) };
        format!("{:<11} {}: {}{dependencies}", row.status_name(), row.id.0, row.title)
    };
    let lines = clip_rows(rows.iter().map(line).collect());
    Ok(format!("{done} of {} are done\n{lines}", rows.len()))
}

/// What the session has used.
pub(super) fn cost(context: &SessionContext) -> Result<String, StoreError> {
    let reader = context.log.reader()?;
    let view = reader.session_view()?;
    let spendings = reader.spendings(Timestamp(0))?;
    let unanswered: u64 = spendings.iter().map(TaskSpending::unanswered_tokens).sum();
    let unreported: u64 = spendings.iter().map(TaskSpending::unreported_tokens).sum();
    let cost = match (view.spent.micros, view.priced) {
        (_, false) => "unknown".to_owned(),
        (0, true) => "nothing".to_owned(),
        (micros, true) => dollars(micros),
    };
    let usage = view.usage;
    let mut line = format!(
        "turns: {}; tokens: {} in, {} from cache, {} to cache, {} out; cost: {cost}; model: {}",
        view.turns,
        usage.input,
        usage.cache_read,
        usage.cache_write,
        usage.output,
        protocol::model_display_name(&view.model)
    );
    if unreported > 0 {
        line += &format!("; about {unreported} tokens (estimated; the server reports none)");
    }
    if unanswered > 0 {
        line += &format!("; {unanswered} more tokens are counted for requests without an answer");
    }
    Ok(line)
}

/// How much of the model's window the root's next request takes.
pub(super) fn context(context: &SessionContext, root: TaskId) -> Result<String, SlashError> {
    let prepared = context.prepared_agent(root)?;
    let conversation = context.log.conversation(root)?;
    let tokens = crate::agent::request_tokens(&prepared, &conversation);
    let window = match prepared.model.facts().context_tokens {
        Some(window) => format!(" of {window} ({}%)", tokens.saturating_mul(100) / window.max(1)),
        None => String::new(),
    };
    Ok(format!(
        "the next request has about {tokens} tokens{window}: {} messages, {} tools, {} instruction files",
        conversation.messages().len(),
        prepared.initial_tools.len(),
        context.catalog.instructions.files.len()
    ))
}

/// Formats millionths of a dollar without trailing zeros, but at least with cents.
fn dollars(micros: u64) -> String {
    let decimals = format!("{:06}", micros % 1_000_000);
    let cents = decimals.trim_end_matches('0').len().max(2);
    format!("${}.{}", micros / 1_000_000, &decimals[..cents])
}

fn clip_rows(mut lines: Vec<String>) -> String {
    let more = lines.len().saturating_sub(MAX_ROWS);
    lines.truncate(MAX_ROWS);
    lines.extend((more > 0).then(|| format!("and {more} more")));
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lists_are_cut_and_money_is_exact() {
        let lines = clip_rows(vec!["x".into(); MAX_ROWS + 7]);
        assert_eq!((lines.lines().count(), lines.lines().last()), (MAX_ROWS + 1, Some("and 7 more")));
        assert_eq!([1, 12_300, 5_000_000].map(dollars), ["$0.000001", "$0.0123", "$5.00"]);
    }
}
