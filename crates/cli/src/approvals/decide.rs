//! A decision reaches its session: through the session's file, and at once if a process runs it.

use std::time::Duration;

use host::{Clock, Home, SystemClock};
use protocol::api::{AskState, AskView, Command, DecideParams, Method};
use protocol::{AskId, DecidedBy, Decision, PlanAction, SessionId, Subject};
use rpc::Client;
use serde::Serialize;
use serde_json::{Value, json};
use store::{Reader, StoreError};
use tokio::time::Instant;

use super::inbox::{Waiting, left, live_owner, over};
use crate::exact::exact;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::print;

/// How long a running session is given to take a decision before this command ends.
const PATIENCE: Duration = Duration::from_secs(2);

/// How often its file is looked at meanwhile.
const LOOK: Duration = Duration::from_millis(10);

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
    /// It lies in the file of a session whose process has not taken it yet.
    Left { owner_pid: u32 },
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
    // All of them are written before any is waited for: calls of one message run in their order.
    let (posted, failed) = post(home, &asks, verb);
    let mut rows = Vec::new();
    let until = Instant::now() + PATIENCE;
    for (waiting, decision) in posted {
        let (id, session) = (waiting.view.ask.id.clone(), waiting.view.session);
        let fate = fate(home, waiting, &decision, until).await?;
        if !json {
            tell(waiting, &decision, &fate);
        }
        rows.push(Decided { id, session, decision, fate });
    }
    if json {
        print::json(&rows);
    }
    if let Some(error) = failed {
        return Err(error.into());
    }
    let too_late = rows.iter().any(|row| matches!(row.fate, Fate::TooLate { .. }));
    Ok(if too_late { Exit::Usage } else { Exit::Success })
}

/// Leaves the decisions in the sessions' files, up to the first that cannot be.
fn post<'a>(home: &Home, asks: &'a [Waiting], verb: &Verb) -> (Vec<(&'a Waiting, Decision)>, Option<StoreError>) {
    let mut posted = Vec::new();
    for waiting in asks {
        let decision = verb.on(&waiting.view.ask.subject);
        let params = DecideParams { ask: waiting.view.ask.id.clone(), decision: decision.clone() };
        if let Err(error) = store::post_command(home, waiting.view.session, &Command::Decide(params), SystemClock.now())
        {
            return (posted, Some(error));
        }
        posted.push((waiting, decision));
    }
    (posted, None)
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

/// Waits until the process that runs the session has taken the decision.
async fn fate(home: &Home, waiting: &Waiting, decision: &Decision, until: Instant) -> Result<Fate, StoreError> {
    let session = waiting.view.session;
    let reader = Reader::open(home, session)?;
    let mut poked = false;
    loop {
        // Before the look at the ask: what an owner that is gone did not do, it will not do any more.
        let owner = live_owner(&reader)?;
        let asks = reader.asks(true)?;
        match (state(&asks, &waiting.view.ask.id), owner) {
            // Its words may have been redacted.
            (AskState::Decided { decision: made, by: DecidedBy::User, .. }, _) if made.word() == decision.word() => {
                return Ok(Fate::Applied { behind: behind(&asks, &waiting.view) });
            }
            (state @ (AskState::Decided { .. } | AskState::Withdrawn), _) => {
                return Ok(Fate::TooLate { message: over(&state) });
            }
            (AskState::Open, None) => {
                return Ok(unless_second(&reader.pending_commands()?, waiting, decision).unwrap_or(Fate::Kept));
            }
            (AskState::Open, Some(owner)) if Instant::now() >= until => {
                let taken_later = Fate::Left { owner_pid: owner.pid };
                return Ok(unless_second(&reader.pending_commands()?, waiting, decision).unwrap_or(taken_later));
            }
            (AskState::Open, Some(_)) if !poked => {
                // A process that cannot be poked looks by itself.
                let _unheard = tokio::time::timeout_at(until, poke(home, session)).await;
                poked = true;
            }
            (AskState::Open, Some(_)) => tokio::time::sleep(LOOK).await,
        }
    }
}

/// What becomes of a decision that lies in the file behind another one, which somebody left at the same moment.
fn unless_second(commands: &[(i64, Command)], waiting: &Waiting, decision: &Decision) -> Option<Fate> {
    let first = left(commands, &waiting.view.ask.id).filter(|first| first.word() != decision.word())?;
    Some(Fate::TooLate { message: format!("is {} already, and waits for its session", first.word()) })
}

async fn poke(home: &Home, id: SessionId) -> Option<()> {
    let (client, _notifications) = Client::connect(&home.socket(id)).await.ok()?;
    client.call::<Value>(Method::SessionPoke, json!({})).await.ok().map(|_poked| ())
}

fn state(asks: &[AskView], id: &AskId) -> AskState {
    let found = asks.iter().find(|view| view.ask.id == *id);
    found.map_or(AskState::Withdrawn, |view| view.state.clone())
}

/// How many calls of the same agent wait for a decision and come before this one.
fn behind(asks: &[AskView], this: &AskView) -> usize {
    let before = asks.iter().take_while(|view| view.ask.id != this.ask.id);
    before.filter(|view| view.task == this.task && view.state == AskState::Open).count()
}

fn tell(waiting: &Waiting, decision: &Decision, fate: &Fate) {
    let (id, session, word) = (waiting.view.ask.id.short(), waiting.view.session, decision.word());
    let what = match &waiting.view.ask.subject {
        Subject::Permission { tool, input, .. } => format!("{tool} {input}"),
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
        Fate::Left { owner_pid } => {
            print::answer(format_args!("{id} {word}: {what}"));
            print::note(format_args!("process {owner_pid} runs the session and has not taken it yet"));
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
        let view = AskView { session, task, path: "/root".into(), asked_at: At(1), ask, state: AskState::Open };
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
