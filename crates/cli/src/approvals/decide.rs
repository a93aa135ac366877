//! Delivers decisions to their sessions.

use client::{SessionHandle, asks};
use host::Home;
use protocol::api::{AskState, AskView, CommandFate, CommandOutcome, DecideParams, SessionAskView, SessionCommand};
use protocol::{AskDecision, AskId, AskSubject, DecidedBy, SessionId};
use serde::Serialize;
use tui::chat::parse_plan_decision;
use tui::escape::escape_invisible;
use tui::{event_text, print};

use super::inbox::describe_ask_state;
use crate::error::CliError;
use crate::exit::CommandExit;
use crate::fleet;

/// The response to one or more asks.
#[derive(Debug)]
pub(super) enum ApprovalResponse {
    /// The same decision for all.
    Decide(AskDecision),
    /// This text, or the choice with this number.
    Answer(String),
}

impl ApprovalResponse {
    fn decision_for(&self, subject: &AskSubject) -> AskDecision {
        match (self, subject) {
            (
                ApprovalResponse::Decide(AskDecision::Allow { rules, input: None }),
                AskSubject::Plan { recommended, .. },
            ) if rules.is_empty() => AskDecision::Proceed { action: *recommended },
            (ApprovalResponse::Answer(text), AskSubject::Plan { actions, .. }) => parse_plan_decision(text, actions),
            (ApprovalResponse::Decide(decision), _) => decision.clone(),
            (ApprovalResponse::Answer(text), AskSubject::Question { choices, .. }) => {
                let number = text.trim().parse::<usize>().ok().and_then(|number| number.checked_sub(1));
                let choice = number.and_then(|index| choices.get(index));
                AskDecision::Reply { text: choice.unwrap_or(text).clone() }
            }
            (ApprovalResponse::Answer(text), AskSubject::Permission { .. }) => {
                AskDecision::Reply { text: text.clone() }
            }
        }
    }
}

/// The outcome of a decision.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
enum DecisionOutcome {
    /// The session applies it once the `behind` earlier calls of the same message are decided: they run in order.
    Applied { behind: usize },
    /// Stored in the file of a session that is not running.
    Queued,
    /// Already decided or withdrawn.
    TooLate { message: String },
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct DecisionRow {
    id: AskId,
    session: SessionId,
    decision: AskDecision,
    outcome: DecisionOutcome,
}

/// Decides all of these asks and prints the outcomes.
pub(super) async fn decide(
    home: &Home,
    asks: Vec<SessionAskView>,
    response: &ApprovalResponse,
    json: bool,
) -> Result<CommandExit, CliError> {
    for pending in &asks {
        ensure_decision_fits(pending, &response.decision_for(&pending.view.ask.subject))?;
    }
    if asks.is_empty() {
        print::note("nothing waits for your decision");
    }
    let mut rows = Vec::new();
    let mut failed = None;
    for pending in &asks {
        let decision = response.decision_for(&pending.view.ask.subject);
        let (id, session) = (pending.view.ask.id.clone(), pending.view.session);
        let outcome = match deliver_decision(home, pending, &decision).await {
            Ok(outcome) => outcome,
            Err(failure) => {
                failed = Some(failure);
                break;
            }
        };
        rows.push(DecisionRow { id, session, decision, outcome });
    }
    // Count only after all deliveries: whether a call can run depends on the decisions on the calls before it.
    for (row, pending) in rows.iter_mut().zip(&asks) {
        if let DecisionOutcome::Applied { behind } = &mut row.outcome {
            *behind = count_calls_ahead(&SessionHandle::new(home, row.session).all_asks()?, &pending.view);
        }
        if !json {
            print_outcome(home, pending, &row.decision, &row.outcome);
        }
    }
    if json {
        print::json(&rows);
    }
    if let Some(failure) = failed {
        return Err(failure);
    }
    let too_late = rows.iter().any(|row| matches!(row.outcome, DecisionOutcome::TooLate { .. }));
    Ok(if too_late { CommandExit::Usage } else { CommandExit::Success })
}

/// Fails if the decision does not fit the ask.
fn ensure_decision_fits(pending: &SessionAskView, decision: &AskDecision) -> Result<(), CliError> {
    let ask = &pending.view.ask;
    if decision.fits(&ask.subject) {
        return Ok(());
    }
    let id = ask.id.short();
    Err(match ask.subject {
        AskSubject::Permission { .. } => CliError::usage(format!("{id} is a tool call; allow or deny it"))
            .with_hint(format!("bosun approvals allow {id}, or deny")),
        AskSubject::Question { .. } => CliError::usage(format!("{id} is a question; answer or deny it"))
            .with_hint(format!("bosun approvals answer {id} \"…\"")),
        AskSubject::Plan { .. } => CliError::usage(format!("{id} is a plan; answer it with one of its actions"))
            .with_hint(format!("bosun approvals show {id}")),
    })
}

/// Delivers one decision to its session.
async fn deliver_decision(
    home: &Home,
    pending: &SessionAskView,
    decision: &AskDecision,
) -> Result<DecisionOutcome, CliError> {
    let (session, ask) = (pending.view.session, &pending.view.ask.id);
    let command = SessionCommand::Decide(DecideParams { ask: ask.clone(), decision: decision.clone() });
    Ok(match SessionHandle::new(home, session).give(&command).await? {
        CommandFate::Answered { outcome: CommandOutcome::Applied { .. } } => DecisionOutcome::Applied { behind: 0 },
        CommandFate::Answered { outcome: CommandOutcome::Refused { message, .. } } => {
            // Another decision may have come first; then report that one.
            match ask_state(&SessionHandle::new(home, session).all_asks()?, ask) {
                AskState::Open => DecisionOutcome::TooLate { message: format!("is refused: {message}") },
                AskState::Decided { decision: made, by: DecidedBy::User, .. } if made.as_str() == decision.as_str() => {
                    DecisionOutcome::Applied { behind: 0 }
                }
                state @ (AskState::Decided { .. } | AskState::Withdrawn) => {
                    DecisionOutcome::TooLate { message: describe_ask_state(&state) }
                }
            }
        }
        CommandFate::Queued | CommandFate::NothingToDo => {
            let queued = SessionHandle::new(home, session).queued_decisions()?;
            superseded_outcome(&queued, pending, decision).unwrap_or(DecisionOutcome::Queued)
        }
    })
}

/// Returns the outcome of a queued decision if another one was queued before it at the same time.
fn superseded_outcome(
    queued: &[(AskId, AskDecision)],
    pending: &SessionAskView,
    decision: &AskDecision,
) -> Option<DecisionOutcome> {
    let first =
        asks::queued_decision(queued, &pending.view.ask.id).filter(|first| first.as_str() != decision.as_str())?;
    Some(DecisionOutcome::TooLate { message: format!("is already {}, and waits for its session", first.as_str()) })
}

fn ask_state(asks: &[AskView], id: &AskId) -> AskState {
    let view = asks.iter().find(|view| view.ask.id == *id);
    view.map_or(AskState::Withdrawn, |view| view.state.clone())
}

/// Counts the undecided calls of the same agent before this one.
fn count_calls_ahead(asks: &[AskView], this: &AskView) -> usize {
    let earlier = asks.iter().take_while(|view| view.ask.id != this.ask.id);
    earlier.filter(|view| view.task == this.task && view.state == AskState::Open).count()
}

fn print_outcome(home: &Home, pending: &SessionAskView, decision: &AskDecision, outcome: &DecisionOutcome) {
    let (id, decided) = (pending.view.ask.id.short(), decision.as_str());
    let subject = match &pending.view.ask.subject {
        AskSubject::Permission { tool, input, .. } => format!("{tool} {}", event_text::main_argument(input)),
        AskSubject::Question { question, .. } => question.clone(),
        AskSubject::Plan { summary, .. } => summary.clone(),
    };
    let subject = escape_invisible(&print::one_line(&subject, 60));
    match outcome {
        DecisionOutcome::Applied { behind } => {
            print::output(format_args!("{id} {decided}: {subject}"));
            if let (1.., AskDecision::Allow { .. }) = (*behind, decision) {
                print::note(format_args!("it runs after the calls before it; {behind} of them wait for you"));
            }
        }
        DecisionOutcome::Queued => {
            print::output(format_args!("{id} {decided}: {subject}"));
            print::note(format_args!(
                "the session is not running, so the decision waits; resume with: {}",
                fleet::resume_command(home, pending.view.session)
            ));
        }
        DecisionOutcome::TooLate { message } => print::error(&format!("{id} {message}")),
    }
}

#[cfg(test)]
mod tests {
    use protocol::{Ask, CallId, TaskId, Timestamp};

    use super::*;

    #[test]
    fn first_of_two_queued_decisions_wins() {
        let subject =
            AskSubject::Permission { tool: "shell".into(), input: "{}".into(), reason: "".into(), rules: Vec::new() };
        let ask = Ask { id: AskId("a".into()), call: CallId("c".into()), subject, until_at: None };
        let (session, task) = (SessionId::new(uuid::Uuid::nil()), TaskId::new(uuid::Uuid::nil()));
        let view = AskView {
            session,
            number: 1,
            task,
            path: "/root".into(),
            asked_at: Timestamp(1),
            ask,
            state: AskState::Open,
        };
        let pending =
            SessionAskView { view, cwd: "/".into(), title: String::new(), owner_pid: None, queued_decision: None };
        let (allow, deny) =
            (AskDecision::Allow { rules: Vec::new(), input: None }, AskDecision::Deny { message: String::new() });
        let decide = |ask: &str, decision: &AskDecision| (AskId(ask.into()), decision.clone());
        let commands = [decide("b", &deny), decide("a", &allow), decide("a", &deny)];
        assert!(superseded_outcome(&commands, &pending, &allow).is_none());
        let outcome = superseded_outcome(&commands, &pending, &deny);
        assert!(
            matches!(&outcome, Some(DecisionOutcome::TooLate { message }) if message.contains("is already allowed")),
            "{outcome:?}"
        );
    }
}
