//! Text about agents and their results, for a model. Text of an agent is quoted in it as data, with its source.

use git::CheckoutId;
use protocol::{Activation, Evidence, ModelUse, TaskId, TaskOutcome};

use crate::compact::one_line;
use crate::prompt;
use crate::roster::{ActivationEnding, RosterEntry};
use crate::session_context::SessionLog;

/// The most items in one list, such as the changed files.
const MAX_LISTED_ITEMS: usize = 20;

/// The most bytes of a listed item.
const MAX_ITEM_BYTES: usize = 200;

/// The most bytes of the reason why a task failed.
const MAX_REASON_BYTES: usize = 1_000;

/// Room in a tool result for the text around a quote, in bytes.
pub(super) const QUOTE_MARGIN: usize = 512;

/// A task's latest result.
pub(super) fn latest_result(log: &SessionLog, task: TaskId) -> Option<String> {
    quoted_result(log, task, RosterEntry::latest_ending)
}

/// A task's first result, as the answer to the call that started it.
pub(super) fn first_result(log: &SessionLog, task: TaskId) -> Option<String> {
    quoted_result(log, task, RosterEntry::first_ending)
}

type EndingSelector = fn(&RosterEntry) -> Option<(Activation, &ActivationEnding)>;

fn quoted_result(log: &SessionLog, task: TaskId, select_ending: EndingSelector) -> Option<String> {
    let id = CheckoutId { session: log.facts.session, task };
    let trace = log.task_trace(task);
    log.roster.with_task(task, |entry| {
        let max = log.facts.tools.output_bytes.saturating_sub(QUOTE_MARGIN);
        let (activation, ending) = select_ending(entry)?;
        Some(prompt::quote_within(&result_text(id, entry, ending, trace.result_of(activation)), max))
    })?
}

/// The result of one activation, as mail for the parent; the reader quotes it.
pub(crate) fn activation_result(log: &SessionLog, task: TaskId, activation: Activation) -> Option<String> {
    let id = CheckoutId { session: log.facts.session, task };
    let trace = log.task_trace(task);
    log.roster.with_task(task, |entry| {
        let ending = entry.endings.get(&activation)?;
        Some(result_text(id, entry, ending, trace.result_of(activation)))
    })?
}

/// A message from another task; the reader quotes it.
pub(crate) fn message_text(log: &SessionLog, from: TaskId, text: &str) -> String {
    format!("Message from {} ({from}):\n{text}", log.roster.path(from))
}

fn result_text(
    id: CheckoutId,
    entry: &RosterEntry,
    ending: &ActivationEnding,
    (text, evidence): (&str, &[Evidence]),
) -> String {
    let detail = match &ending.outcome {
        // On one line, so that nothing in it can be mistaken for what follows.
        TaskOutcome::Failed { kind, message } => format!(" ({kind:?}: {})", one_line(message, MAX_REASON_BYTES)),
        TaskOutcome::Completed
        | TaskOutcome::Cancelled { .. }
        | TaskOutcome::TimedOut { .. }
        | TaskOutcome::BudgetExhausted
        | TaskOutcome::Lost => String::new(),
    };
    let agent = &entry.spec.agent;
    let head = format!("{} ({agent}, {}): {}{detail}", entry.path, id.task, ending.outcome.as_str());
    // The runtime's facts come first: everything after the start of the agent's text may be written by the agent.
    let report = if text.is_empty() { "It said nothing.".to_owned() } else { format!("It said:\n{text}") };
    [head, work_facts(id, entry, ending, evidence), report].join("\n")
}

/// What the runtime itself knows about the work, independent of the agent's report.
fn work_facts(id: CheckoutId, entry: &RosterEntry, ending: &ActivationEnding, evidence: &[Evidence]) -> String {
    let usage = ending.usage;
    let time = usage.started_at.map_or(0, |began| ending.ended_at.0.saturating_sub(began.0));
    let mut facts = vec![format!("{} turns", usage.turns), format!("{} tokens", usage.tokens.total())];
    if usage.cost.micros > 0 {
        facts.push(format!("${}.{:06}", usage.cost.micros / 1_000_000, usage.cost.micros % 1_000_000));
    }
    facts.push(format!("{}.{} s", time / 1000, time % 1000 / 100));
    let mut lines = vec![format!("[{}]", facts.join(", "))];
    lines.extend(entry.spec.model.as_ref().and_then(model_replacement));
    let changed = joined_list(evidence.iter().filter_map(|piece| match piece {
        Evidence::Changed { path } => Some(one_line(path, MAX_ITEM_BYTES)),
        Evidence::Ran { .. } => None,
    }));
    let ran = joined_list(evidence.iter().filter_map(|piece| match piece {
        Evidence::Ran { command, exit: Some(code) } => {
            Some(format!("`{}` → {code}", one_line(command, MAX_ITEM_BYTES)))
        }
        Evidence::Ran { command, exit: None } => Some(format!("`{}` → killed", one_line(command, MAX_ITEM_BYTES))),
        Evidence::Changed { .. } => None,
    }));
    for (what, list) in
        [("files changed", changed), ("commands", ran), ("its agents", joined_list(ending.children.iter().cloned()))]
    {
        if let Some(list) = list {
            lines.push(format!("[{what}: {list}]"));
        }
    }
    lines.extend(work_location(id, entry));
    lines.join("\n")
}

/// Where to find the work of an agent that had its own checkout.
fn work_location(id: CheckoutId, entry: &RosterEntry) -> Option<String> {
    let path = entry.checkout_path.as_deref()?;
    Some(match &entry.sealed_commit {
        Some(commit) => {
            let short = commit.get(..12).unwrap_or(commit);
            format!("[its work is commit {short}, not in your files yet: `git merge {}` brings it in]", id.work_ref())
        }
        None => format!("[its work was not saved as a commit; it is in {path}]"),
    })
}

/// A note if the effective model is not the requested one.
fn model_replacement(model: &ModelUse) -> Option<String> {
    let (wanted, why) = (model.requested.as_deref()?, model.why.as_deref()?);
    Some(format!(
        "[{} instead of {}: {}]",
        model.effective,
        one_line(wanted, MAX_ITEM_BYTES),
        one_line(why, MAX_ITEM_BYTES)
    ))
}

fn joined_list(items: impl Iterator<Item = String>) -> Option<String> {
    let items: Vec<String> = items.collect();
    let more = items.len().saturating_sub(MAX_LISTED_ITEMS);
    let mut list = items.into_iter().take(MAX_LISTED_ITEMS).collect::<Vec<_>>().join(", ");
    if more > 0 {
        list.push_str(&format!(" and {more} more"));
    }
    (!list.is_empty()).then_some(list)
}
