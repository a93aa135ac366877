//! The tree of a run as a table: who did what, how long it took, and what it used.

use protocol::api::TaskView;
use protocol::{Kind, TaskState};

use crate::money::Money;

/// The table, a line for each agent.
pub(super) fn table(tasks: &[TaskView]) -> Vec<String> {
    let head = line("agent", "type", "outcome", "turns", "tokens", "cost", "time");
    let agents = tasks.iter().filter(|task| task.kind != Kind::Shell);
    std::iter::once(head).chain(agents.map(row)).collect()
}

fn row(task: &TaskView) -> String {
    let depth = task.path.matches('/').count().saturating_sub(1);
    let name = task.path.rsplit('/').next().unwrap_or_default();
    let name = format!("{}{name}", "  ".repeat(depth));
    let millis = task.updated_at.0.saturating_sub(task.created_at.0);
    let time = format!("{}.{} s", millis / 1000, millis % 1000 / 100);
    let (turns, tokens) = (task.turns.to_string(), task.usage.total().to_string());
    line(&name, &task.agent, outcome(task), &turns, &tokens, &Money::Known(task.cost_micros).to_string(), &time)
}

/// How it ended: an agent that rests has ended all it was given.
fn outcome(task: &TaskView) -> &'static str {
    match (&task.state, &task.last_outcome) {
        (TaskState::Idle, Some(outcome)) => outcome.word(),
        (state, _) => state.word(),
    }
}

fn line(name: &str, agent: &str, outcome: &str, turns: &str, tokens: &str, cost: &str, time: &str) -> String {
    format!("{name:<12}{agent:<17}{outcome:<11}{turns:>5}{tokens:>9}{cost:>12}{time:>9}")
}
