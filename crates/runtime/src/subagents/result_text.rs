//! Agents and their results in words for a model. What an agent said stands in them as data, with where it came from.

use git::CheckoutId;
use protocol::{Activation, Evidence, ModelUse, TaskId, TaskOutcome};

use crate::agent::SessionContext;
use crate::compact::one_line;
use crate::prompt;
use crate::roster::{ActivationEnding, RosterEntry};

/// Most pieces of evidence of one kind that are told.
const MAX_LISTED: usize = 20;

/// Most bytes of each, and of why a task failed.
const MAX_ITEM_BYTES: usize = 200;
const MAX_REASON_BYTES: usize = 1_000;

/// Room in an answer for what stands around a quote.
pub(super) const QUOTE_MARGIN: usize = 512;

/// A task's latest result.
pub(super) fn latest_result(context: &SessionContext, task: TaskId) -> Option<String> {
    quoted_result(context, task, RosterEntry::latest)
}

/// A task's first result, as the answer to the call that started it.
pub(super) fn first_result(context: &SessionContext, task: TaskId) -> Option<String> {
    quoted_result(context, task, RosterEntry::first)
}

type EndingSelector = fn(&RosterEntry) -> Option<(Activation, &ActivationEnding)>;

fn quoted_result(context: &SessionContext, task: TaskId, which: EndingSelector) -> Option<String> {
    let id = CheckoutId { session: context.session, task };
    let words = context.task_trace(task);
    context.roster.with_task(task, |known| {
        let max = context.settings.tools.output.saturating_sub(QUOTE_MARGIN);
        let (activation, ending) = which(known)?;
        Some(prompt::quote_within(&result_text(id, known, ending, words.result_of(activation)), max))
    })?
}

/// How one activation of a task ended, as mail for its parent; it is quoted where it is read.
pub(crate) fn activation_result(context: &SessionContext, task: TaskId, activation: Activation) -> Option<String> {
    let id = CheckoutId { session: context.session, task };
    let words = context.task_trace(task);
    context.roster.with_task(task, |known| {
        let ending = known.endings.get(&activation)?;
        Some(result_text(id, known, ending, words.result_of(activation)))
    })?
}

/// A message of another task; it is quoted where it is read.
pub(crate) fn message_text(context: &SessionContext, from: TaskId, text: &str) -> String {
    format!("Message from {} ({from}):\n{text}", context.roster.path(from))
}

fn result_text(
    id: CheckoutId,
    known: &RosterEntry,
    ending: &ActivationEnding,
    (text, evidence): (&str, &[Evidence]),
) -> String {
    let detail = match &ending.outcome {
        // On one line: nothing in it can be taken for what follows.
        TaskOutcome::Failed { kind, message } => format!(" ({kind:?}: {})", one_line(message, MAX_REASON_BYTES)),
        TaskOutcome::Completed
        | TaskOutcome::Cancelled { .. }
        | TaskOutcome::TimedOut { .. }
        | TaskOutcome::BudgetExhausted
        | TaskOutcome::Lost => String::new(),
    };
    let agent = &known.spec.agent;
    let head = format!("{} ({agent}, {}): {}{detail}", known.path, id.task, ending.outcome.as_str());
    // What the runtime knows comes first: whatever stands after the agent's first word is the agent's.
    let said = if text.is_empty() { "It said nothing.".to_owned() } else { format!("It said:\n{text}") };
    [head, work_facts(id, known, ending, evidence), said].join("\n")
}

/// What the runtime knows of the work, whatever the agent says about it.
fn work_facts(id: CheckoutId, known: &RosterEntry, ending: &ActivationEnding, evidence: &[Evidence]) -> String {
    let tally = ending.usage;
    let time = tally.began.map_or(0, |began| ending.at.0.saturating_sub(began.0));
    let mut facts = vec![format!("{} turns", tally.turns), format!("{} tokens", tally.tokens.total())];
    if tally.cost.micros > 0 {
        facts.push(format!("${}.{:06}", tally.cost.micros / 1_000_000, tally.cost.micros % 1_000_000));
    }
    facts.push(format!("{}.{} s", time / 1000, time % 1000 / 100));
    let mut lines = vec![format!("[{}]", facts.join(", "))];
    lines.extend(known.spec.model.as_ref().and_then(model_replacement));
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
    lines.extend(work_location(id, known));
    lines.join("\n")
}

/// Where the work of an agent is that had a checkout of its own.
fn work_location(id: CheckoutId, known: &RosterEntry) -> Option<String> {
    let path = known.checkout_path.as_deref()?;
    Some(match &known.sealed_commit {
        Some(commit) => {
            let short = commit.get(..12).unwrap_or(commit);
            format!("[its work is commit {short}, not in your files yet: `git merge {}` brings it in]", id.work_ref())
        }
        None => format!("[its work was not kept as a commit; it is in {path}]"),
    })
}

/// Says so if another model is asked than was asked for.
fn model_replacement(model: &ModelUse) -> Option<String> {
    let (wanted, why) = (model.requested.as_deref()?, model.why.as_deref()?);
    Some(format!(
        "[{} instead of {}: {}]",
        model.effective,
        one_line(wanted, MAX_ITEM_BYTES),
        one_line(why, MAX_ITEM_BYTES)
    ))
}

fn joined_list(all: impl Iterator<Item = String>) -> Option<String> {
    let all: Vec<String> = all.collect();
    let more = all.len().saturating_sub(MAX_LISTED);
    let mut shown = all.into_iter().take(MAX_LISTED).collect::<Vec<_>>().join(", ");
    if more > 0 {
        shown.push_str(&format!(" and {more} more"));
    }
    (!shown.is_empty()).then_some(shown)
}
