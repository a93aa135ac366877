use protocol::{
    Activation, Attempt, CallId, ContentBlock, Cost, Event, LogEntry, MailBody, MailDelivery, MailId, Principal,
    SessionId, StopReason, TaskId, TaskMode, TaskSpec, TaskType, Timestamp, ToolCallRequest, ToolResult, Usage,
};
use uuid::Uuid;

use super::*;

const ROOT: u128 = 1;
const FRONT: u128 = 2;

/// A log of one agent that made one call and received its result.
fn log() -> Vec<(u128, Event)> {
    let call = CallId("one".into());
    let content =
        vec![ContentBlock::Call(ToolCallRequest { id: call.clone(), tool: "shell".into(), input: "{}".into() })];
    let spec = |name: &str, parent: Option<u128>| TaskSpec {
        parent: parent.map(|id| TaskId::new(Uuid::from_u128(id))),
        mode: TaskMode::Sync,
        ..TaskSpec::new(TaskType::Agent, "general-purpose", name)
    };
    let mail = Event::MailAdmitted {
        mail: MailId(1),
        from: Principal::User,
        delivery: MailDelivery::Steer,
        body: MailBody::text("go"),
    };
    let answer = ToolResult { status: ToolResultStatus::Done, text: String::new() };
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
                outcome: TaskOutcome::Completed,
                text: "Done by /root/front-0.".into(),
            },
        ),
        (FRONT, Event::StartHooksRan { activation: Activation(1), context: Vec::new() }),
        (FRONT, Event::StopHooksRan { activation: Activation(1) }),
    ]
}

fn envelopes(events: Vec<(u128, Event)>) -> Vec<Envelope> {
    let envelope = |(seq, (task, event)): (u64, (u128, Event))| {
        let entry = LogEntry { task: TaskId::new(Uuid::from_u128(task)), at: Timestamp(0), event };
        Envelope { v: Envelope::VERSION, seq, session: SessionId::new(Uuid::nil()), entry }
    };
    (1..).zip(events).map(envelope).collect()
}

fn artifacts(events: Vec<(u128, Event)>) -> RunArtifacts {
    let witness = "/root/front-0 one\n".into();
    let (deaths, tasks) = (Vec::new(), Vec::new());
    let id = TaskId::new(Uuid::from_u128(FRONT));
    let hook_line =
        |event: &str| format!("{{\"bosun\":{{\"event\":\"{event}\",\"agent\":\"{id}\",\"activation\":1}}}}\n");
    let hook_lines = hook_line("subagentStart") + &hook_line("subagentStop");
    RunArtifacts {
        log: envelopes(events),
        tasks,
        deaths,
        witness,
        recording: String::new(),
        hook_lines,
        stray_processes: 0,
    }
}

/// The kinds of faults, except those about agents that this log lacks.
fn kinds(artifacts: &RunArtifacts) -> Vec<AuditFaultKind> {
    let faults = audit_run(Workload::of(1), artifacts);
    faults.iter().map(|fault| fault.kind).filter(|kind| *kind != AuditFaultKind::Lost).collect()
}

#[test]
fn correct_log_lacks_only_agents() {
    let artifacts = artifacts(log());
    assert_eq!(kinds(&artifacts), []);
    let lost = audit_run(Workload::of(1), &artifacts).len();
    assert_eq!(lost, 11, "every agent of the group and the root: no view shows them as idle");
}

#[test]
fn repetitions_are_found() {
    let twice = |nth: usize| {
        let mut events = log();
        events.push(events[nth].clone());
        kinds(&artifacts(events))
    };
    assert_eq!(twice(4), [AuditFaultKind::Delivery], "mail");
    assert_eq!(twice(6), [AuditFaultKind::Delivery], "an answer");
    assert_eq!(twice(7), [AuditFaultKind::Untrue], "an ending");
    let witness = "/root/front-0 one\n".repeat(2);
    assert_eq!(kinds(&RunArtifacts { witness, ..artifacts(log()) }), [AuditFaultKind::RepeatedCall]);
    assert_eq!(
        kinds(&RunArtifacts { witness: String::new(), ..artifacts(log()) }),
        [AuditFaultKind::Untrue],
        "a call that did nothing"
    );
}

#[test]
fn repeated_durable_turns_are_found() {
    let asked = |turn: u32| {
        let recording = format!("{{\"path\":\"/root/front-0\",\"turn\":{turn}}}\n");
        let deaths = vec![OwnerDeath { log: envelopes(log()), recorded_bytes: 0 }];
        kinds(&RunArtifacts { recording, deaths, ..artifacts(log()) })
    };
    assert_eq!(asked(1), [AuditFaultKind::RepeatedTurn]);
    assert_eq!(asked(2), []);
}

#[test]
fn unpaired_starts_stray_processes_and_lost_events_are_found() {
    let last = log().len() - 1;
    let unpaired = artifacts(log()[..last].to_vec());
    assert_eq!(kinds(&unpaired), [AuditFaultKind::Unpaired]);
    let without_hooks = artifacts(log()[..last - 1].to_vec());
    assert_eq!(kinds(&without_hooks), [AuditFaultKind::Unpaired]);
    assert_eq!(kinds(&RunArtifacts { stray_processes: 1, ..artifacts(log()) }), [AuditFaultKind::Stray]);
    let deaths = vec![OwnerDeath { log: envelopes(log()), recorded_bytes: 0 }];
    assert_eq!(kinds(&RunArtifacts { deaths, ..unpaired }), [AuditFaultKind::Untrue, AuditFaultKind::Unpaired]);
}

#[test]
fn hook_lines_are_compared_with_the_log() {
    let hook_lines = artifacts(log()).hook_lines;
    let lines: Vec<&str> = hook_lines.lines().collect();
    let kinds = |hook_lines: String| kinds(&RunArtifacts { hook_lines, ..artifacts(log()) });
    assert_eq!(kinds(hook_lines.repeat(2)), [], "repeated by the next owner");
    assert_eq!(kinds(lines[0].to_owned()), [AuditFaultKind::Unpaired; 2], "a start without a stop");
    assert_eq!(kinds(lines[1].to_owned()), [AuditFaultKind::Unpaired], "a stop without a start");
    assert_eq!(kinds(String::new()), [AuditFaultKind::Unpaired], "no hook ran");
}
