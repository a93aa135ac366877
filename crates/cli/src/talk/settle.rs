//! What events and decisions do to the asks that a terminal shows, in a conversation and in a run alike.

use std::path::Path;

use protocol::api::DecideParams;
use protocol::{Ask, AskId, DecidedBy, Decision, Event, TaskId};
use runtime::{Rejected, Session};

use super::asks::Asks;
use crate::approvals;
use crate::args::Place;
use crate::failure::Failure;
use crate::setup::Setup;

/// What an event means for what is asked.
#[derive(Debug)]
pub(super) enum Change {
    /// Nothing.
    None,
    /// Something is to be asked.
    Asked(Ask),
    /// An ask is decided; if it was in line, what the person is to be told.
    Decided { ask: AskId, words: Option<String>, next: Next },
    /// Nobody has to decide any more.
    Withdrawn(Next),
}

/// Whether another ask has come to the front.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    Same,
    Other,
}

/// Takes in what happened to a task.
pub(super) fn hear(asks: &mut Asks, task: TaskId, event: &Event) -> Change {
    match event {
        Event::Asked(ask) => Change::Asked(ask.clone()),
        Event::AskDecided { ask, decision, by, .. } => {
            let next = if asks.current() == Some(ask) { Next::Other } else { Next::Same };
            let words = asks.decided(ask).map(|title| match by {
                DecidedBy::User => format!("{} elsewhere: {title}", decision.word()),
                DecidedBy::Deadline => format!("not decided in time: {title}"),
            });
            Change::Decided { ask: ask.clone(), words, next }
        }
        Event::CallAnswered { call, .. } => {
            let before = asks.current().cloned();
            match asks.withdrawn(task, call) {
                true if before.as_ref() == asks.current() => Change::Withdrawn(Next::Same),
                true => Change::Withdrawn(Next::Other),
                false => Change::None,
            }
        }
        _other => Change::None,
    }
}

/// What a person is told.
#[derive(Debug)]
pub(super) enum Told {
    Note(String),
    Complaint(String),
}

/// Tells the session what was decided, and keeps the rules of it for the project of this folder.
pub(super) async fn decide(
    session: &Session,
    setup: &Setup,
    cwd: &Path,
    params: DecideParams,
) -> Result<Vec<Told>, Failure> {
    let rules = match &params.decision {
        Decision::Allow { rules, .. } => rules.clone(),
        Decision::Deny { .. } | Decision::Reply { .. } | Decision::Proceed { .. } => Vec::new(),
    };
    match session.decide(params).await {
        Ok(()) => Ok(rules.iter().map(|rule| remember(setup, cwd, rule)).collect()),
        Err(refused @ (Rejected::Refused(_) | Rejected::Rule(_) | Rejected::Hook(_))) => {
            Ok(vec![Told::Complaint(refused.to_string())])
        }
        Err(worse @ (Rejected::Paused(_) | Rejected::Gone)) => Err(worse.into()),
    }
}

/// Keeps a rule for this project. The session follows it already.
fn remember(setup: &Setup, cwd: &Path, rule: &str) -> Told {
    match approvals::remember(setup, cwd, rule, Place::Local) {
        Ok(path) => Told::Note(format!("`{rule}` is allowed from now on; it stands in {}", path.display())),
        Err(failure) => Told::Complaint(format!("`{rule}` is allowed for this session only: {failure}")),
    }
}
