//! Tasks of MCP servers: a call waits for one, it outlives its owner, and it asks the user itself.

use bosun_kernel::*;
use protocol::*;

use crate::fixture::*;

/// A call of a tool, which is a task of its server or is not.
fn spec(remote: bool) -> McpTaskSpec {
    let remote = remote.then(|| McpRemoteTask {
        id: "7".into(),
        form: McpTaskForm::Extension,
        progress_token: "c".into(),
        ttl_ms: None,
        poll_interval_ms: None,
    });
    let (server, tool, started_at, deadline_at) = ("s".into(), "t".into(), Timestamp(0), Timestamp(9_000));
    McpTaskSpec { server, definition: None, tool, remote, started_at, deadline_at }
}

fn kind_of(remote: bool) -> TaskType {
    TaskSpec::mcp("t", spec(remote)).kind
}

/// A session whose root waits in the call `c` for the task 2 of a server, at most until 500.
fn waiting() -> KernelFixture {
    let mut kernel = KernelFixture::new();
    let turn = kernel.answer_with_started_calls(kernel.root, &["c"]);
    let mut spawn = spawn_by_call(kernel.root, turn, "c", 2, TaskMode::Sync);
    (spawn.spec.kind, spawn.until) = (kind_of(true), Some(Timestamp(500)));
    kernel.ok(KernelInput::Spawn(spawn));
    kernel.report(kernel.run(2), RunUpdate::Boundary(BoundaryPoint::BetweenTurns));
    kernel
}

fn adopt(kernel: &mut KernelFixture) {
    kernel.ok(KernelInput::Adopt { fence: Fence(2), config: session_config() });
}

fn ended(ending: RunEnding) -> RunUpdate {
    RunUpdate::Ended { ending, text: "so".into() }
}

fn ask(call: &str) -> RunUpdate {
    let subject = AskSubject::Question { question: "which?".into(), choices: Vec::new() };
    let ask = Ask { id: AskId(format!("ask-{call}")), call: CallId(call.into()), subject, until_at: None };
    RunUpdate::Ask { turn: Turn(0), ask }
}

#[test]
fn a_task_of_a_server_outlives_its_owner_and_the_call_that_waits_for_it() {
    let mut kernel = waiting();
    adopt(&mut kernel);
    assert_eq!((kernel.state(1), kernel.state(2)), ("interrupted", "interrupted"));
    kernel.ok(KernelInput::Resume);
    assert!(matches!(kernel.call_phase(1, "c"), Some(CallPhase::Waiting(_))), "the call is not repeated");
    kernel.now = Timestamp(500);
    let tick = kernel.ok(KernelInput::Tick);
    assert_eq!(tick, ["2 taskPromoted", "1 waitEnded c TimedOut", "wait over 1:1.2 c TimedOut"]);
    kernel.report(kernel.run(2), ended(RunEnding::Completed));
    assert_eq!(kernel.task(1).results.len(), 1, "the result is mail");
}

#[test]
fn a_call_without_a_task_at_its_server_is_lost_with_its_owner_and_its_parent_is_told_once() {
    let mut kernel = KernelFixture::new();
    let kind = kind_of(false);
    kernel.spawn(2, |spec| spec.kind = kind);
    adopt(&mut kernel);
    assert_eq!((kernel.state(2), kernel.task(1).results.len()), ("lost", 1));
    kernel.ok(KernelInput::Resume);
    adopt(&mut kernel);
    assert_eq!(kernel.task(1).results.len(), 1);
}

#[test]
fn a_call_that_becomes_a_task_at_its_server_outlives_its_owner() {
    let mut kernel = KernelFixture::new();
    let kind = kind_of(false);
    kernel.spawn(2, |spec| spec.kind = kind);
    let report = McpTaskReport::new(spec(true), Timestamp(3));
    kernel.report(kernel.run(2), RunUpdate::McpReported(Box::new(report)));
    adopt(&mut kernel);
    assert_eq!((kernel.state(2), kernel.task(1).results.len()), ("interrupted", 0));
}

#[test]
fn every_end_that_a_server_reports_is_an_outcome() {
    for (ending, state) in [
        (RunEnding::Completed, "completed"),
        (RunEnding::Failed { kind: FailKind::Reported, message: "no".into() }, "failed"),
        (RunEnding::CancelledByServer, "cancelled"),
        (RunEnding::Lost, "lost"),
        (RunEnding::TimedOut(LimitKind::Time), "timed_out"),
    ] {
        let mut kernel = waiting();
        let effects = kernel.report(kernel.run(2), ended(ending));
        assert_eq!(effects.last().unwrap(), "wait over 1:1.1 c Satisfied");
        assert_eq!((kernel.state(2), kernel.task(1).results.len()), (state, 0), "the call has the result");
    }
}

#[test]
fn a_task_of_a_server_asks_the_user_itself_also_across_owners() {
    let mut kernel = waiting();
    kernel.report(kernel.run(2), ask("q1"));
    assert_eq!(kernel.kernel.open_asks(), 1);
    kernel.refused(KernelInput::Report(kernel.run(2), ask("q1")));
    adopt(&mut kernel);
    kernel.ok(KernelInput::Resume);
    assert!(matches!(kernel.call_phase(2, "q1"), Some(CallPhase::Asking(_))), "it is not asked again");
    let decision = AskDecision::Reply { text: "this".into() };
    kernel.ok(KernelInput::Decide { ask: AskId("ask-q1".into()), decision, by: DecidedBy::User });
    kernel.report(kernel.run(2), ask("q2"));
    kernel.report(kernel.run(2), call_answered(Turn(0), "q1"));
    let effects = kernel.report(kernel.run(2), ended(RunEnding::Completed));
    assert!(effects.contains(&"2 callAnswered q2 Cancelled".to_owned()), "{effects:?}");
    assert_eq!((kernel.state(2), kernel.kernel.open_asks()), ("completed", 0));
}

#[test]
fn an_agent_asks_only_in_its_calls() {
    let mut kernel = KernelFixture::new();
    assert_eq!(
        kernel.refused(KernelInput::Report(kernel.root, ask("q1"))),
        "the call q1 is not in a state that allows this"
    );
}

#[test]
fn a_message_to_a_task_of_a_server_is_refused_with_advice() {
    let mut kernel = waiting();
    let refusal = kernel.refused(KernelInput::Send(user_mail(id(2), MailDelivery::Steer)));
    assert!(refusal.ends_with("is an MCP task and cannot receive messages; start a new one instead"), "{refusal}");
}
