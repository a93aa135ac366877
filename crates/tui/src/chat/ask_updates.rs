//! Keeps the asks shown on a terminal up to date, in conversations and with `-p`.

use std::path::Path;

use client::{ClientError, SessionHandle};
use protocol::api::{AsksDecideParams, DecideParams, Nothing, calls};
use protocol::{Ask, AskDecision, AskId, DecidedBy, Event, TaskId};

use super::ask_queue::AskQueue;
use super::owner::AllowRules;
use super::session_call::{CallFailure, call_session};

/// The effect of an event on the asks.
#[derive(Debug)]
pub(super) enum AskChange {
    /// Nothing.
    None,
    /// A new ask.
    Opened(Ask),
    /// A decided ask; with a note for the user if it was in the queue.
    Decided { ask: AskId, words: Option<String>, next: CurrentAsk },
    /// An ask no longer needs a decision.
    Withdrawn(CurrentAsk),
}

/// Whether the current ask has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CurrentAsk {
    Unchanged,
    Changed,
}

/// Applies an event of a task.
pub(super) fn apply_event(asks: &mut AskQueue, task: TaskId, event: &Event) -> AskChange {
    match event {
        Event::AskOpened(ask) => AskChange::Opened(ask.clone()),
        Event::AskDecided { ask, decision, by, .. } => {
            let next = if asks.current() == Some(ask) { CurrentAsk::Changed } else { CurrentAsk::Unchanged };
            let words = asks.remove_decided(ask).map(|title| match by {
                DecidedBy::User => format!("{} elsewhere: {title}", decision.as_str()),
                DecidedBy::Deadline => format!("not decided in time: {title}"),
            });
            AskChange::Decided { ask: ask.clone(), words, next }
        }
        Event::CallAnswered { call, .. } => {
            let previous = asks.current().cloned();
            match asks.remove_withdrawn(task, call) {
                true if previous.as_ref() == asks.current() => AskChange::Withdrawn(CurrentAsk::Unchanged),
                true => AskChange::Withdrawn(CurrentAsk::Changed),
                false => AskChange::None,
            }
        }
        _other => AskChange::None,
    }
}

/// The number of an ask in its session, which users type; none if the session cannot be read.
pub(super) fn ask_number(session: &SessionHandle, ask: &AskId) -> Option<u64> {
    session.ask_number(ask).ok().flatten()
}

/// A message to the user.
#[derive(Debug)]
pub(super) enum DecisionNotice {
    Note(String),
    Error(String),
}

/// Sends a decision to the session, and saves its rules for the project of this folder.
pub(super) async fn send_decision(
    session: &SessionHandle,
    rules_store: &(impl AllowRules + ?Sized),
    cwd: &Path,
    params: DecideParams,
) -> Result<Vec<DecisionNotice>, ClientError> {
    let rules = match &params.decision {
        AskDecision::Allow { rules, .. } => rules.clone(),
        AskDecision::Deny { .. } | AskDecision::Reply { .. } | AskDecision::Proceed { .. } => Vec::new(),
    };
    let params = AsksDecideParams { decided: params, interrupt: false };
    match call_session::<calls::AsksDecide>(session, &params).await {
        Ok(Nothing {}) => Ok(rules.iter().map(|rule| save_rule(rules_store, cwd, rule)).collect()),
        Err(CallFailure::Refused(reason)) => Ok(vec![DecisionNotice::Error(reason.in_one_line())]),
        Err(CallFailure::Fatal(error)) => Err(error),
    }
}

/// Saves a rule for this project. The session already applies it.
fn save_rule(rules_store: &(impl AllowRules + ?Sized), cwd: &Path, rule: &str) -> DecisionNotice {
    match rules_store.save_allow_rule(cwd, rule) {
        Ok(path) => DecisionNotice::Note(format!("`{rule}` is allowed from now on, saved in {}", path.display())),
        Err(failure) => DecisionNotice::Error(format!("`{rule}` is allowed for this session only: {failure}")),
    }
}
