//! A decision reaches its session.

use host::Home;
use protocol::api::{AskState, AskView, Command, CommandFate, DecideParams};
use protocol::{AskId, DecidedBy, Decision, PlanAction, SessionId, Subject};
use serde::Serialize;
use store::Reader;

use super::inbox::{Waiting, left, over};
use crate::deliver::{Delivered, deliver};
use crate::exact::exact;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::print;
use crate::run::show;

/// What is to be decided.
#[derive(Debug)]
pub(super) enum Verb {
    /// The same for all.
    Decide(Decision),
    /// These words, or the choice of this number.
    Answer(String),
}

impl Verb {
    fn on(&self, subject: &Subject) -> Decision {
        match (self, subject) {
            (Verb::Decide(Decision::Allow { rules, input: None }), Subject::Plan { recommended, .. })
                if rules.is_empty() =>
            {
                Decision::Proceed { action: *recommended }
            }
            (Verb::Answer(text), Subject::Plan { actions, .. }) => on_plan(text, actions),
            (Verb::Decide(decision), _) => decision.clone(),
            (Verb::Answer(text), Subject::Question { choices, .. }) => {
                let number = text.trim().parse::<usize>().ok().and_then(|number| number.checked_sub(1));
                let choice = number.and_then(|index| choices.get(index));
                Decision::Reply { text: choice.unwrap_or(text).clone() }
            }
            (Verb::Answer(text), Subject::Permission { .. }) => Decision::Reply { text: text.clone() },
        }
    }
}

/// What a line says to a plan: the action of this number or name, or else what should be different.
pub(crate) fn on_plan(line: &str, actions: &[PlanAction]) -> Decision {
    let line = line.trim();
    let number = line.parse::<usize>().ok().and_then(|number| actions.get(number.checked_sub(1)?).copied());
    match number.or(PlanAction::named(line)).filter(|action| actions.contains(action)) {
        Some(action) => Decision::Proceed { action },
        None => Decision::Deny { words: line.to_owned() },
    }
}

/// What became of a decision.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
enum Fate {
    /// The session acts on it, once as many calls before it are decided: those of one message run in their order.
    Applied { behind: usize },
    /// It lies in the file of a session that nobody runs.
    Kept,
    /// Something else came first.
    TooLate { message: String },
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Decided {
    id: AskId,
    session: SessionId,
    decision: Decision,
    fate: Fate,
}

/// Decides on all of these and tells what became of it.
pub(super) async fn decide(home: &Home, asks: Vec<Waiting>, verb: &Verb, json: bool) -> Result<Exit, Failure> {
    for waiting in &asks {
        expect_fit(waiting, &verb.on(&waiting.view.ask.subject))?;
    }
    if asks.is_empty() {
        print::note("nothing waits for you");
    }
    let mut rows = Vec::new();
    let mut failed = None;
    for waiting in &asks {
        let decision = verb.on(&waiting.view.ask.subject);
        let (id, session) = (waiting.view.ask.id.clone(), waiting.view.session);
        let fate = match give(home, waiting, &decision).await {
            Ok(fate) => fate,
            Err(failure) => {
                failed = Some(failure);
                break;
            }
        };
        rows.push(Decided { id, session, decision, fate });
    }
    // Only now: whether a call runs at once depends on what was decided on those before it.
    for (row, waiting) in rows.iter_mut().zip(&asks) {
        if let Fate::Applied { behind } = &mut row.fate {
            *behind = behind_of(&Reader::open(home, row.session)?.asks(true)?, &waiting.view);
        }
        if !json {
            tell(waiting, &row.decision, &row.fate);
        }
    }
    if json {
        print::json(&rows);
    }
    if let Some(failure) = failed {
        return Err(failure);
    }
    let too_late = rows.iter().any(|row| matches!(row.fate, Fate::TooLate { .. }));
    Ok(if too_late { Exit::Usage } else { Exit::Success })
}

/// Fails for a decision that cannot be one on this.
fn expect_fit(waiting: &Waiting, decision: &Decision) -> Result<(), Failure> {
    let ask = &waiting.view.ask;
    if decision.fits(&ask.subject) {
        return Ok(());
    }
    let id = ask.id.short();
    Err(match ask.subject {
        Subject::Permission { .. } => Failure::usage(format!("{id} is a call, which is allowed or denied"))
            .hint(format!("bosun approvals allow {id}, or deny")),
        Subject::Question { .. } => Failure::usage(format!("{id} is a question, which is answered or denied"))
            .hint(format!("bosun approvals answer {id} \"…\"")),
        Subject::Plan { .. } => Failure::usage(format!("{id} is a plan, which is approved with one of its actions"))
            .hint(format!("bosun approvals show {id}")),
    })
}

/// Gives one decision to its session.
async fn give(home: &Home, waiting: &Waiting, decision: &Decision) -> Result<Fate, Failure> {
    let (session, ask) = (waiting.view.session, &waiting.view.ask.id);
    let command = Command::Decide(DecideParams { ask: ask.clone(), decision: decision.clone() });
    Ok(match deliver(home, session, &command).await? {
        Delivered::Answered(CommandFate::Applied { .. }) => Fate::Applied { behind: 0 },
        Delivered::Answered(CommandFate::Refused { message, .. }) => {
            // Somebody else may have come first; then that is what there is to say.
            match state(&Reader::open(home, session)?.asks(true)?, ask) {
                AskState::Open => Fate::TooLate { message: format!("is refused: {message}") },
                AskState::Decided { decision: made, by: DecidedBy::User, .. } if made.word() == decision.word() => {
                    Fate::Applied { behind: 0 }
                }
                state @ (AskState::Decided { .. } | AskState::Withdrawn) => Fate::TooLate { message: over(&state) },
            }
        }
        Delivered::Kept => {
            let commands = Reader::open(home, session)?.pending_commands()?;
            unless_second(&commands, waiting, decision).unwrap_or(Fate::Kept)
        }
    })
}

/// What becomes of a decision that lies in the file behind another one, which somebody left at the same moment.
fn unless_second(commands: &[(i64, Command)], waiting: &Waiting, decision: &Decision) -> Option<Fate> {
    let first = left(commands, &waiting.view.ask.id).filter(|first| first.word() != decision.word())?;
    Some(Fate::TooLate { message: format!("is {} already, and waits for its session", first.word()) })
}

fn state(asks: &[AskView], id: &AskId) -> AskState {
    let found = asks.iter().find(|view| view.ask.id == *id);
    found.map_or(AskState::Withdrawn, |view| view.state.clone())
}

/// How many calls of the same agent wait for a decision and come before this one.
fn behind_of(asks: &[AskView], this: &AskView) -> usize {
    let before = asks.iter().take_while(|view| view.ask.id != this.ask.id);
    before.filter(|view| view.task == this.task && view.state == AskState::Open).count()
}

fn tell(waiting: &Waiting, decision: &Decision, fate: &Fate) {
    let (id, session, word) = (waiting.view.ask.id.short(), waiting.view.session, decision.word());
    let what = match &waiting.view.ask.subject {
        Subject::Permission { tool, input, .. } => format!("{tool} {}", show::gist(input)),
        Subject::Question { question, .. } => question.clone(),
        Subject::Plan { summary, .. } => summary.clone(),
    };
    let what = exact(&print::one_line(&what, 60));
    match fate {
        Fate::Applied { behind } => {
            print::answer(format_args!("{id} {word}: {what}"));
            if let (1.., Decision::Allow { .. }) = (*behind, decision) {
                print::note(format_args!("it runs after the calls before it, {behind} of which wait for you"));
            }
        }
        Fate::Kept => {
            print::answer(format_args!("{id} {word}: {what}"));
            print::note(format_args!("nobody runs the session, so it waits; go on with: bosun --resume {session}"));
        }
        Fate::TooLate { message } => print::error(&format!("{id} {message}")),
    }
}

#[cfg(test)]
mod tests {
    use protocol::{Ask, At, CallId, TaskId};

    use super::*;

    #[test]
    fn of_two_decisions_that_are_left_at_once_the_first_counts() {
        let subject =
            Subject::Permission { tool: "shell".into(), input: "{}".into(), reason: "".into(), rules: Vec::new() };
        let ask = Ask { id: AskId("a".into()), call: CallId("c".into()), subject, until_at: None };
        let (session, task) = (SessionId::new(uuid::Uuid::nil()), TaskId::new(uuid::Uuid::nil()));
        let view =
            AskView { session, number: 1, task, path: "/root".into(), asked_at: At(1), ask, state: AskState::Open };
        let waiting = Waiting { view, cwd: "/".into(), title: String::new(), owner: None, left: None };
        let (allow, deny) =
            (Decision::Allow { rules: Vec::new(), input: None }, Decision::Deny { words: String::new() });
        let left = |ask: &str, decision: &Decision| {
            Command::Decide(DecideParams { ask: AskId(ask.into()), decision: decision.clone() })
        };
        let commands = [(1, Command::Stop), (2, left("b", &deny)), (3, left("a", &allow)), (4, left("a", &deny))];
        assert!(unless_second(&commands, &waiting, &allow).is_none());
        let fate = unless_second(&commands, &waiting, &deny);
        assert!(matches!(&fate, Some(Fate::TooLate { message }) if message.contains("is allowed already")), "{fate:?}");
    }
}
