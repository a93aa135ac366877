use protocol::{
    Attempt, CallId, CancelBy, ContentBlock, Envelope, Evidence, StopReason, TaskType, ToolResult, ToolResultStatus,
    Turn,
};

use super::*;

fn id(n: u128) -> TaskId {
    TaskId::new(format!("{n:032x}").parse().unwrap())
}

/// A roster with a root and an agent below it, after these events.
fn roster(events: Vec<Event>) -> Roster {
    let agent = TaskSpec { parent: Some(id(1)), ..TaskSpec::new(TaskType::Agent, "worker", "one") };
    let roster = Roster::default();
    let created = [(1, TaskSpec::new(TaskType::Main, "main", "root")), (2, agent)];
    let created = created.into_iter().map(|(task, spec)| (task, Event::TaskCreated(Box::new(spec))));
    for (task, event) in created.chain(events.into_iter().map(|event| (2, event))) {
        roster.apply_event(&LogEntry { task: id(task), at: Timestamp(7), event });
    }
    roster
}

fn holds_trace(roster: &Roster, task: TaskId) -> bool {
    roster.with_task(task, |entry| entry.trace.is_some()) == Some(true)
}

fn started(activation: u32) -> Event {
    Event::ActivationStarted { activation: Activation(activation), attempt: Attempt(1) }
}

fn answered(text: &str) -> Event {
    Event::TurnAnswered {
        turn: Turn(1),
        content: vec![ContentBlock::Text { text: text.into() }],
        stop: StopReason::End,
        usage: Usage::default(),
        cost: Cost::ZERO,
        model: "m".into(),
    }
}

fn ended(activation: u32, text: &str) -> Event {
    Event::ActivationEnded { activation: Activation(activation), outcome: TaskOutcome::Completed, text: text.into() }
}

fn finished() -> Event {
    Event::TaskFinished { outcome: TaskOutcome::Cancelled { by: CancelBy::User } }
}

fn endings(roster: &Roster) -> Vec<(u32, &'static str)> {
    let all = |entry: &RosterEntry| {
        entry.endings.iter().map(|(activation, ending)| (activation.0, ending.outcome.as_str())).collect()
    };
    roster.with_task(id(2), all).unwrap()
}

#[test]
fn the_call_that_started_a_task_gets_its_first_result() {
    let roster = roster(vec![started(1), ended(1, "first"), Event::TaskRequeued, started(2), ended(2, "second")]);
    let first =
        roster.with_task(id(2), |entry| entry.first_ending().map(|(activation, _)| activation)).flatten().unwrap();
    assert_eq!(roster.trace(id(2)).unwrap().result_of(first).0, "first");
}

#[test]
fn a_queued_task_gets_an_ending_and_an_idle_one_gets_no_second() {
    assert_eq!(endings(&roster(vec![finished()])), [(1, "cancelled")]);
    assert_eq!(endings(&roster(vec![started(1), ended(1, "done"), finished()])), [(1, "completed")]);
    let waiting = roster(vec![started(1), ended(1, "done"), Event::TaskRequeued, finished()]);
    assert_eq!(endings(&waiting), [(1, "completed"), (2, "cancelled")]);
}

#[test]
fn the_latest_text_of_an_activation_is_held_until_it_ends() {
    let events =
        vec![started(1), answered("a"), answered(""), answered("b"), Event::TaskInterrupted, Event::TaskRequeued];
    assert_eq!(roster(events.clone()).latest_text(id(2)), "b");
    let ended_events = events.into_iter().chain([ended(1, "b")]).collect();
    assert_eq!(roster(ended_events).latest_text(id(2)), "");
}

fn ran(command: &str) -> Event {
    Event::CallAnswered {
        call: CallId("c".into()),
        answer: ToolResult { status: ToolResultStatus::Done, text: String::new() },
        evidence: ran_pieces(command),
    }
}

/// Starts an agent of the root and ends it.
fn run_through(roster: &Roster, task: u128) {
    let spec = TaskSpec { parent: Some(id(1)), ..TaskSpec::new(TaskType::Agent, "worker", format!("w{task}")) };
    let events = [Event::TaskCreated(Box::new(spec)), started(1), answered("x"), ran("ls"), ended(1, "result")];
    events.into_iter().for_each(|event| roster.apply_event(&LogEntry { task: id(task), at: Timestamp(7), event }));
}

/// The text of all agents is in the log; of a thousand that have ended, only the latest traces are held.
#[test]
fn traces_of_tasks_that_are_long_idle_are_not_held() {
    let roster = roster(Vec::new());
    (10..1_010).for_each(|task| run_through(&roster, task));
    let held = (10..1_010).filter(|task| holds_trace(&roster, id(*task))).collect::<Vec<_>>();
    assert_eq!(held, (1_010 - MAX_IDLE_TRACES as u128..1_010).collect::<Vec<_>>());
    assert!(roster.trace(id(10)).is_none() && holds_trace(&roster, id(1)) && holds_trace(&roster, id(2)));
    assert_eq!(roster.trace(id(1_009)).unwrap().result_of(Activation(1)), ("result", &ran_pieces("ls")[..]));
    let outcome = roster.with_task(id(10), |entry| entry.latest_ending().map(|(_, ending)| ending.outcome.as_str()));
    assert_eq!(outcome.flatten(), Some("completed"));
}

fn ran_pieces(command: &str) -> Vec<Evidence> {
    vec![Evidence::Ran { command: command.into(), exit: Some(0) }]
}

#[test]
fn a_task_that_resumes_without_its_trace_is_read_from_the_log() {
    let roster = roster(Vec::new());
    (10..100).for_each(|task| run_through(&roster, task));
    for event in [Event::TaskRequeued, started(2), answered("again"), ran("pwd")] {
        roster.apply_event(&LogEntry { task: id(10), at: Timestamp(8), event });
    }
    assert!(holds_trace(&roster, id(10)) && roster.trace(id(10)).is_none());
    assert_eq!(roster.latest_text(id(10)), "again");
    let log: Vec<Envelope> = [ran("ls"), ended(1, "result"), ran("pwd"), ended(2, "more")]
        .into_iter()
        .map(|event| Envelope {
            v: Envelope::VERSION,
            seq: 1,
            session: protocol::SessionId::new(id(5).uuid()),
            entry: LogEntry { task: id(10), at: Timestamp(8), event },
        })
        .collect();
    let trace = TaskTrace::from_log(&log);
    assert_eq!(trace.result_of(Activation(1)), ("result", &ran_pieces("ls")[..]));
    assert_eq!(trace.result_of(Activation(2)).0, "more");
    assert_eq!(trace.evidence().len(), 2);
}

#[test]
fn only_new_evidence_changes_the_hash() {
    let roster = roster(vec![started(1)]);
    let hash_after = |event: Event| {
        roster.apply_event(&LogEntry { task: id(2), at: Timestamp(8), event });
        roster.evidence_hash()
    };
    let hashes = [ran("ls"), ran("ls"), answered("x"), ran("pwd")].map(hash_after);
    assert_eq!((hashes[0], hashes[1]), (hashes[1], hashes[2]));
    assert_ne!(hashes[2], hashes[3]);
}
