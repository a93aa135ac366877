//! Agents and their results in words for a model. What an agent said stands in them as data, with where it came from.

use git::CheckoutId;
use protocol::{Activation, Evidence, ModelUse, Outcome, TaskId};

use crate::agent::Desk;
use crate::compact::one_line;
use crate::prompt;
use crate::roster::{Ending, Known};

/// Most pieces of evidence of one kind that are told.
const LISTED: usize = 20;

/// Most bytes of each, and of why a task failed.
const PIECE: usize = 200;
const WHY: usize = 1_000;

/// Room in an answer for what stands around a quote.
pub(super) const HEAD: usize = 512;

/// A task's latest result.
pub(super) fn result(desk: &Desk, task: TaskId) -> Option<String> {
    quoted(desk, task, Known::latest)
}

/// A task's first result, as the answer to the call that started it.
pub(super) fn first_result(desk: &Desk, task: TaskId) -> Option<String> {
    quoted(desk, task, Known::first)
}

type Which = fn(&Known) -> Option<(Activation, &Ending)>;

fn quoted(desk: &Desk, task: TaskId, which: Which) -> Option<String> {
    let id = CheckoutId { session: desk.session, task };
    let words = desk.words(task);
    desk.roster.known(task, |known| {
        let max = desk.settings.tools.output.saturating_sub(HEAD);
        let (activation, ending) = which(known)?;
        Some(prompt::quote_within(&told(id, known, ending, words.ended(activation)), max))
    })?
}

/// How one activation of a task ended, as mail for its parent; it is quoted where it is read.
pub(crate) fn ended(desk: &Desk, task: TaskId, activation: Activation) -> Option<String> {
    let id = CheckoutId { session: desk.session, task };
    let words = desk.words(task);
    desk.roster.known(task, |known| {
        let ending = known.endings.get(&activation)?;
        Some(told(id, known, ending, words.ended(activation)))
    })?
}

/// A message of another task; it is quoted where it is read.
pub(crate) fn message(desk: &Desk, from: TaskId, text: &str) -> String {
    format!("Message from {} ({from}):\n{text}", desk.roster.path(from))
}

fn told(id: CheckoutId, known: &Known, ending: &Ending, (text, evidence): (&str, &[Evidence])) -> String {
    let detail = match &ending.outcome {
        // On one line: nothing in it can be taken for what follows.
        Outcome::Failed { kind, message } => format!(" ({kind:?}: {})", one_line(message, WHY)),
        Outcome::Completed
        | Outcome::Cancelled { .. }
        | Outcome::TimedOut { .. }
        | Outcome::BudgetExhausted
        | Outcome::Lost => String::new(),
    };
    let agent = &known.spec.agent;
    let head = format!("{} ({agent}, {}): {}{detail}", known.path, id.task, ending.outcome.word());
    // What the runtime knows comes first: whatever stands after the agent's first word is the agent's.
    let said = if text.is_empty() { "It said nothing.".to_owned() } else { format!("It said:\n{text}") };
    [head, facts(id, known, ending, evidence), said].join("\n")
}

/// What the runtime knows of the work, whatever the agent says about it.
fn facts(id: CheckoutId, known: &Known, ending: &Ending, evidence: &[Evidence]) -> String {
    let tally = ending.tally;
    let time = tally.began.map_or(0, |began| ending.at.0.saturating_sub(began.0));
    let mut facts = vec![format!("{} turns", tally.turns), format!("{} tokens", tally.usage.total())];
    if tally.cost.micros > 0 {
        facts.push(format!("${}.{:06}", tally.cost.micros / 1_000_000, tally.cost.micros % 1_000_000));
    }
    facts.push(format!("{}.{} s", time / 1000, time % 1000 / 100));
    let mut lines = vec![format!("[{}]", facts.join(", "))];
    lines.extend(known.spec.model.as_ref().and_then(replaced));
    let changed = listed(evidence.iter().filter_map(|piece| match piece {
        Evidence::Changed { path } => Some(one_line(path, PIECE)),
        Evidence::Ran { .. } => None,
    }));
    let ran = listed(evidence.iter().filter_map(|piece| match piece {
        Evidence::Ran { command, exit: Some(code) } => Some(format!("`{}` → {code}", one_line(command, PIECE))),
        Evidence::Ran { command, exit: None } => Some(format!("`{}` → killed", one_line(command, PIECE))),
        Evidence::Changed { .. } => None,
    }));
    for (what, list) in
        [("files changed", changed), ("commands", ran), ("its agents", listed(ending.children.iter().cloned()))]
    {
        if let Some(list) = list {
            lines.push(format!("[{what}: {list}]"));
        }
    }
    lines.extend(kept(id, known));
    lines.join("\n")
}

/// Where the work of an agent is that had a checkout of its own.
fn kept(id: CheckoutId, known: &Known) -> Option<String> {
    let path = known.placed.as_deref()?;
    Some(match &known.sealed {
        Some(commit) => {
            let short = commit.get(..12).unwrap_or(commit);
            format!("[its work is commit {short}, not in your files yet: `git merge {}` brings it in]", id.work_ref())
        }
        None => format!("[its work was not kept as a commit; it is in {path}]"),
    })
}

/// Says so if another model is asked than was asked for.
fn replaced(model: &ModelUse) -> Option<String> {
    let (wanted, why) = (model.requested.as_deref()?, model.why.as_deref()?);
    Some(format!("[{} instead of {}: {}]", model.effective, one_line(wanted, PIECE), one_line(why, PIECE)))
}

fn listed(all: impl Iterator<Item = String>) -> Option<String> {
    let all: Vec<String> = all.collect();
    let more = all.len().saturating_sub(LISTED);
    let mut shown = all.into_iter().take(LISTED).collect::<Vec<_>>().join(", ");
    if more > 0 {
        shown.push_str(&format!(" and {more} more"));
    }
    (!shown.is_empty()).then_some(shown)
}
