use protocol::{
    Activation, Answer, At, Attempt, Block, Body, Call, CallId, Cost, Delivery, Entry, Event, Kind, MailId, Mode,
    Origin, SessionId, StopReason, TaskId, TaskSpec, Usage,
};
use uuid::Uuid;

use super::*;

const ROOT: u128 = 1;
const FRONT: u128 = 2;

/// A log of one agent that made one call and was told its answer.
fn log() -> Vec<(u128, Event)> {
    let call = CallId("one".into());
    let content = vec![Block::Call(Call { id: call.clone(), tool: "shell".into(), input: "{}".into() })];
    let spec = |name: &str, parent: Option<u128>| TaskSpec {
        parent: parent.map(|id| TaskId::new(Uuid::from_u128(id))),
        mode: Mode::Sync,
        ..TaskSpec::new(Kind::Agent, "general-purpose", name)
    };
    let mail =
        Event::MailAdmitted { mail: MailId(1), from: Origin::User, delivery: Delivery::Steer, body: Body::text("go") };
    let answer = Answer { status: AnswerStatus::Done, text: String::new() };
    vec![
        (ROOT, Event::TaskCreated(Box::new(spec("root", None)))),
        (FRONT, Event::TaskCreated(Box::new(spec("front-0", Some(ROOT))))),
        (FRONT, mail),
        (FRONT, Event::ActivationStarted { activation: Activation(1), attempt: Attempt(1) }),
        (FRONT, Event::MailDelivered { mail: vec![MailId(1)] }),
        (
            FRONT,
            Event::TurnAnswered {
                turn: protocol::Turn(1),
                content,
                stop: StopReason::Calls,
                usage: Usage::default(),
                cost: Cost::default(),
                model: "script".into(),
            },
        ),
        (FRONT, Event::CallAnswered { call, answer, evidence: Vec::new() }),
        (
            FRONT,
            Event::ActivationEnded {
                activation: Activation(1),
                outcome: Outcome::Completed,
                text: "Done by /root/front-0.".into(),
            },
        ),
        (FRONT, Event::ActivationGreeted { activation: Activation(1), context: Vec::new() }),
        (FRONT, Event::ActivationParted { activation: Activation(1) }),
    ]
}

fn envelopes(events: Vec<(u128, Event)>) -> Vec<Envelope> {
    let envelope = |(seq, (task, event)): (u64, (u128, Event))| {
        let entry = Entry { task: TaskId::new(Uuid::from_u128(task)), at: At(0), event };
        Envelope { v: Envelope::VERSION, seq, session: SessionId::new(Uuid::nil()), entry }
    };
    (1..).zip(events).map(envelope).collect()
}

fn remains(events: Vec<(u128, Event)>) -> Remains {
    let witness = "/root/front-0 one\n".into();
    let (deaths, tasks) = (Vec::new(), Vec::new());
    let id = TaskId::new(Uuid::from_u128(FRONT));
    let told = |event: &str| format!("{{\"bosun\":{{\"event\":\"{event}\",\"agent\":\"{id}\",\"activation\":1}}}}\n");
    let told = told("subagentStart") + &told("subagentStop");
    Remains { log: envelopes(events), tasks, deaths, witness, recording: String::new(), told, strays: 0 }
}

/// The kinds of faults besides those of the agents that this log lacks.
fn kinds(remains: &Remains) -> Vec<FaultKind> {
    let faults = audit(Workload::of(1), remains);
    faults.iter().map(|fault| fault.kind).filter(|kind| *kind != FaultKind::Lost).collect()
}

#[test]
fn a_log_with_nothing_wrong_but_missing_agents_has_no_other_fault() {
    let remains = remains(log());
    assert_eq!(kinds(&remains), []);
    let lost = audit(Workload::of(1), &remains).len();
    assert_eq!(lost, 11, "every agent of the group, none of which any view shows at rest, and the root");
}

#[test]
fn whatever_is_done_or_told_twice_is_found() {
    let twice = |nth: usize| {
        let mut events = log();
        events.push(events[nth].clone());
        kinds(&remains(events))
    };
    assert_eq!(twice(4), [FaultKind::Delivery], "mail");
    assert_eq!(twice(6), [FaultKind::Delivery], "an answer");
    assert_eq!(twice(7), [FaultKind::Untrue], "an ending");
    let witness = "/root/front-0 one\n".repeat(2);
    assert_eq!(kinds(&Remains { witness, ..remains(log()) }), [FaultKind::RepeatedCall]);
    assert_eq!(
        kinds(&Remains { witness: String::new(), ..remains(log()) }),
        [FaultKind::Untrue],
        "a call that did nothing"
    );
}

#[test]
fn a_turn_that_was_durable_is_not_asked_again() {
    let asked = |turn: u32| {
        let recording = format!("{{\"path\":\"/root/front-0\",\"turn\":{turn}}}\n");
        let deaths = vec![Death { log: envelopes(log()), recorded: 0 }];
        kinds(&Remains { recording, deaths, ..remains(log()) })
    };
    assert_eq!(asked(1), [FaultKind::RepeatedTurn]);
    assert_eq!(asked(2), []);
}

#[test]
fn starts_without_stops_processes_and_lost_events_are_found() {
    let parted = log().len() - 1;
    let unparted = remains(log()[..parted].to_vec());
    assert_eq!(kinds(&unparted), [FaultKind::Unpaired]);
    let ungreeted = remains(log()[..parted - 1].to_vec());
    assert_eq!(kinds(&ungreeted), [FaultKind::Unpaired]);
    assert_eq!(kinds(&Remains { strays: 1, ..remains(log()) }), [FaultKind::Stray]);
    let deaths = vec![Death { log: envelopes(log()), recorded: 0 }];
    assert_eq!(kinds(&Remains { deaths, ..unparted }), [FaultKind::Untrue, FaultKind::Unpaired]);
}

#[test]
fn what_hooks_were_told_is_what_the_log_says() {
    let told = remains(log()).told;
    let lines: Vec<&str> = told.lines().collect();
    let kinds = |told: String| kinds(&Remains { told, ..remains(log()) });
    assert_eq!(kinds(told.repeat(2)), [], "told again by the next owner");
    assert_eq!(kinds(lines[0].to_owned()), [FaultKind::Unpaired; 2], "a start without a stop");
    assert_eq!(kinds(lines[1].to_owned()), [FaultKind::Unpaired], "a stop without a start");
    assert_eq!(kinds(String::new()), [FaultKind::Unpaired], "nothing was told");
}
