use protocol::{
    Activation, Attempt, CallId, CompletionPolicy, Cost, LogEntry, MailDelivery, MailId, Principal, SessionId,
    StopReason, TaskMode, ToolCallRequest, Turn, Usage,
};

use super::*;

const ROOT: u128 = 1;
const CHILD: u128 = 2;

fn id(n: u128) -> TaskId {
    TaskId::new(Uuid::from_u128(n))
}

fn envelope(task: u128, at: u64, event: Event) -> Envelope {
    let entry = LogEntry { task: id(task), at: Timestamp(at), event };
    Envelope { v: 1, seq: at, session: SessionId::new(Uuid::nil()), entry }
}

/// A session whose root has started an agent.
fn started_session(mode: TaskMode) -> (TaskReporter, Vec<Value>) {
    let mut tasks = TaskReporter::new(Uuid::nil(), |tool| format!("their {tool}"));
    let root = TaskSpec::root("main");
    let child = TaskSpec {
        parent: Some(id(ROOT)),
        mode,
        on_complete: CompletionPolicy::Idle,
        description: "count".into(),
        call: Some(CallId("c1".into())),
        ..TaskSpec::agent("worker", "counter")
    };
    let prompt = Event::MailAdmitted {
        mail: MailId(1),
        from: Principal::Task { id: id(ROOT) },
        delivery: MailDelivery::Steer,
        body: MailBody::text("count to ten"),
    };
    let events = [
        envelope(ROOT, 1, Event::TaskCreated(Box::new(root))),
        envelope(CHILD, 2, Event::TaskCreated(Box::new(child))),
        envelope(CHILD, 2, prompt),
        envelope(CHILD, 3, Event::ActivationStarted { activation: Activation(1), attempt: Attempt(1) }),
    ];
    let frames = events.iter().flat_map(|envelope| tasks.apply_event(envelope)).collect();
    (tasks, frames)
}

fn end_event(at: u64, outcome: TaskOutcome) -> Envelope {
    envelope(CHILD, at, Event::ActivationEnded { activation: Activation(1), outcome, text: "ten".into() })
}

fn subtypes(frames: &[Value]) -> Vec<&str> {
    frames.iter().map(|frame| frame["subtype"].as_str().unwrap()).collect()
}

#[test]
fn agent_frames_from_start_to_end() {
    let (mut tasks, frames) = started_session(TaskMode::Sync);
    assert_eq!(subtypes(&frames), ["task_started"]);
    let started = &frames[0];
    assert_eq!((&started["prompt"], &started["task_type"]), (&json!("count to ten"), &json!("local_agent")));
    assert_eq!((&started["tool_use_id"], &started["subagent_type"]), (&json!("c1"), &json!("worker")));
    assert_eq!(tasks.active_agents(), 1);
    let call = ToolCallRequest { id: CallId("t".into()), tool: "view".into(), input: "{}".into() };
    let answered = Event::TurnAnswered {
        turn: Turn(1),
        content: vec![ContentBlock::Call(call)],
        stop: StopReason::Calls,
        usage: Usage { input: 5, output: 2, ..Usage::default() },
        cost: Cost::ZERO,
        model: "m".into(),
    };
    let frames = tasks.apply_event(&envelope(CHILD, 1002, answered));
    assert_eq!(frames[0]["usage"], json!({ "total_tokens": 7, "tool_uses": 1, "duration_ms": 1000 }));
    assert_eq!(frames[0]["last_tool_name"], "their view");
    let frames = tasks.apply_event(&end_event(2000, TaskOutcome::Completed));
    assert_eq!(subtypes(&frames), ["task_updated", "task_notification"]);
    assert_eq!(frames[0]["patch"], json!({ "status": "completed", "end_time": 2000 }));
    assert_eq!((&frames[1]["status"], &frames[1]["summary"]), (&json!("completed"), &json!("ten")));
    assert_eq!(tasks.active_agents(), 0);
    let finished = Event::TaskFinished { outcome: TaskOutcome::Completed };
    assert_eq!(tasks.apply_event(&envelope(CHILD, 2001, finished)), Vec::<Value>::new());
}

#[test]
fn background_changes_are_reported() {
    let (mut tasks, frames) = started_session(TaskMode::Background);
    assert_eq!(subtypes(&frames), ["task_started", "background_tasks_changed"]);
    assert_eq!(frames[1]["tasks"][0]["task_id"], id(CHILD).to_string());
    assert_eq!(subtypes(&tasks.running_task_frames()), ["task_started", "background_tasks_changed"]);
    let stopped = TaskOutcome::Cancelled { by: protocol::CancelBy::User };
    let frames = tasks.apply_event(&end_event(5, stopped));
    assert_eq!(subtypes(&frames), ["task_updated", "task_notification", "background_tasks_changed"]);
    assert_eq!((&frames[0]["patch"]["status"], &frames[1]["status"]), (&json!("killed"), &json!("stopped")));
    assert_eq!(frames[2]["tasks"], json!([]));
    assert_eq!(tasks.running_task_frames(), Vec::<Value>::new());
}

#[test]
fn promoted_and_woken_agents_are_reported() {
    let (mut tasks, _) = started_session(TaskMode::Sync);
    let frames = tasks.apply_event(&envelope(CHILD, 4, Event::TaskPromoted));
    assert_eq!(subtypes(&frames), ["task_updated", "background_tasks_changed"]);
    assert_eq!(tasks.running_tasks(Some("c1")), [id(CHILD)]);
    assert_eq!(tasks.running_tasks(Some("c2")), []);
    tasks.apply_event(&end_event(5, TaskOutcome::Completed));
    let woken = Event::ActivationStarted { activation: Activation(2), attempt: Attempt(1) };
    let frames = tasks.apply_event(&envelope(CHILD, 6, woken));
    assert_eq!(subtypes(&frames), ["task_updated", "task_started", "background_tasks_changed"]);
}
