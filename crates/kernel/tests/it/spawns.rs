//! Tool calls that start agents: the call and the agent start in one step.

use bosun_kernel::*;
use protocol::*;

use crate::fixture::*;

fn wide() -> KernelFixture {
    KernelFixture::with(SessionLimits { live: 4, depth: 4, total: 9, ..SessionLimits::default() }, |_| {})
}

fn defined(spawn: TaskSpawn, digest: &str) -> KernelInput {
    let spec = Box::new(AgentSpec::default());
    KernelInput::Spawn(TaskSpawn {
        definition: Some(AgentDefinition { id: DefinitionId(digest.into()), spec }),
        ..spawn
    })
}

#[test]
fn a_background_agent_starts_with_its_call_and_the_call_is_answered_in_the_same_step() {
    let mut kernel = wide();
    let root = kernel.root;
    let turn = kernel.answer_with_calls(root, &["a", "b"]);
    let expected = [
        "1 callStarted a",
        "2 taskCreated",
        "2 mailAdmitted",
        "1 callAnswered a Done",
        "2 activationStarted",
        "start 2:1.1",
    ];
    assert_eq!(kernel.spawn_background(root, turn, "a", 2), expected);
    assert_eq!(
        (kernel.call_phase(1, "a"), kernel.call_phase(1, "b")),
        (Some(&CallPhase::Answered), Some(&CallPhase::Pending))
    );
    kernel.spawn_background(root, turn, "b", 3);
    assert_eq!(kernel.task(1).work, ActivationWork::BetweenTurns);
}

#[test]
fn the_agents_of_one_answer_start_together_and_each_call_waits_for_its_own() {
    let mut kernel = wide();
    let root = kernel.root;
    let turn = kernel.answer_with_calls(root, &["a", "b", "c"]);
    kernel.spawn_sync(root, turn, "a", 2);
    kernel.spawn_sync(root, turn, "b", 3);
    kernel.spawn_background(root, turn, "c", 4);
    let ended = kernel.complete(kernel.run(3));
    assert!(ended.contains(&"wait over 1:1.1 b Satisfied".into()), "{ended:?}");
    assert!(matches!(kernel.call_phase(1, "a"), Some(CallPhase::Waiting(_))));
    assert_eq!(kernel.call_phase(1, "c"), Some(&CallPhase::Answered));
}

#[test]
fn an_agent_that_waits_for_one_child_can_start_another_in_the_background() {
    let mut kernel =
        KernelFixture::with(SessionLimits { live: 1, depth: 4, total: 9, ..SessionLimits::default() }, |_| {});
    kernel.child(2);
    let two = kernel.run(2);
    let turn = kernel.answer_with_calls(two, &["a", "b"]);
    kernel.spawn_sync(two, turn, "a", 3);
    kernel.spawn_background(two, turn, "b", 4);
    assert_eq!(kernel.task(2).phase, TaskPhase::Running(SlotStatus::Lent));
    let ended = kernel.complete(kernel.run(3));
    assert!(ended.contains(&"go 2:1.1".into()), "{ended:?}");
    assert_eq!((kernel.state(3), kernel.state(4)), ("completed", "queued"));
}

#[test]
fn a_call_can_start_only_one_agent_and_only_if_it_is_open() {
    let mut kernel = wide();
    let root = kernel.root;
    let turn = kernel.answer_with_calls(root, &["a", "b", "c", "d"]);
    kernel.spawn_background(root, turn, "a", 2);
    kernel.spawn_sync(root, turn, "b", 3);
    let subject =
        || AskSubject::Permission { tool: "task".into(), input: "{}".into(), reason: "r".into(), rules: Vec::new() };
    let ask =
        |call: &str| Ask { id: AskId(call.into()), call: CallId(call.into()), subject: subject(), until_at: None };
    kernel.report(root, RunUpdate::Ask { turn, ask: ask("c") });
    kernel.report(root, RunUpdate::Ask { turn, ask: ask("d") });
    for call in ["a", "b", "c"] {
        for mode in [TaskMode::Sync, TaskMode::Background] {
            let refused = kernel.refused(KernelInput::Spawn(spawn_by_call(root, turn, call, 5, mode)));
            assert_eq!(refused, format!("the call {call} is not in a state that allows this"));
        }
    }
    let decide = |ask: &str, decision| KernelInput::Decide { ask: AskId(ask.into()), decision, by: DecidedBy::User };
    kernel.ok(decide("c", AskDecision::Deny { message: String::new() }));
    assert_eq!(
        kernel.refused(KernelInput::Spawn(spawn_by_call(root, turn, "c", 5, TaskMode::Sync))),
        "the call c is not in a state that allows this"
    );
    kernel.ok(decide("d", AskDecision::Allow { rules: Vec::new(), input: None }));
    assert_eq!(kernel.spawn_sync(root, turn, "d", 5)[0], "1 callStarted d");
}

#[test]
fn a_definition_is_recorded_once_even_if_the_owner_changes() {
    let mut kernel = wide();
    let root = kernel.root;
    let turn = kernel.answer_with_calls(root, &["a", "b", "c"]);
    let first = kernel.ok(defined(spawn_by_call(root, turn, "a", 2, TaskMode::Background), "x"));
    assert_eq!(first[0], "1 agentDefined");
    kernel.ok(KernelInput::Adopt { fence: Fence(2), config: session_config() });
    kernel.ok(KernelInput::Resume);
    let root = kernel.run(1);
    let second = kernel.ok(defined(spawn_by_call(root, turn, "b", 3, TaskMode::Background), "x"));
    assert_eq!(second[0], "1 callStarted b");
    let other = kernel.ok(defined(spawn_by_call(root, turn, "c", 4, TaskMode::Background), "y"));
    assert_eq!(other[0], "1 agentDefined");
}

#[test]
fn a_call_that_started_an_agent_is_never_answered_as_interrupted() {
    let mut kernel = wide();
    let root = kernel.root;
    let turn = kernel.answer_with_calls(root, &["a", "b"]);
    kernel.spawn_background(root, turn, "a", 2);
    kernel.spawn_sync(root, turn, "b", 3);
    let adopted = kernel.ok(KernelInput::Adopt { fence: Fence(2), config: session_config() });
    assert!(!adopted.iter().any(|effect| effect.contains("callAnswered")), "{adopted:?}");
    kernel.ok(KernelInput::Resume);
    let again = kernel.refused(KernelInput::Spawn(spawn_by_call(kernel.run(1), turn, "a", 5, TaskMode::Background)));
    assert_eq!(again, "the call a is not in a state that allows this");
}

#[test]
fn a_synchronous_agent_that_takes_too_long_continues_and_its_result_comes_as_mail() {
    let mut kernel = wide();
    let root = kernel.root;
    let turn = kernel.answer_with_calls(root, &["a"]);
    kernel.ok(KernelInput::Spawn(TaskSpawn {
        until: Some(Timestamp(300)),
        ..spawn_by_call(root, turn, "a", 2, TaskMode::Sync)
    }));
    kernel.now = Timestamp(300);
    let late = kernel.ok(KernelInput::Tick);
    assert_eq!(late, ["2 taskPromoted", "1 waitEnded a TimedOut", "wait over 1:1.1 a TimedOut"]);
    kernel.report(root, call_answered(turn, "a"));
    kernel.ok(KernelInput::Send(user_mail(id(1), MailDelivery::Interrupt)));
    assert_eq!(kernel.state(2), "running");
    assert_eq!(kernel.complete(kernel.run(2)).last().unwrap(), "1 mailAdmitted result 2:1");
}

#[test]
fn the_timeout_of_another_call_does_not_move_a_child_into_the_background() {
    let mut kernel = wide();
    let root = kernel.root;
    let turn = kernel.answer_with_started_calls(root, &["a", "b"]);
    kernel.spawn_sync(root, turn, "a", 2);
    kernel.report(root, wait(turn, "b", &[2], WaitMode::All, Some(300)));
    kernel.now = Timestamp(300);
    assert_eq!(kernel.ok(KernelInput::Tick), ["1 waitEnded b TimedOut", "wait over 1:1.1 b TimedOut"]);
    assert_eq!(kernel.task(2).mode, TaskMode::Sync);
    assert!(kernel.complete(kernel.run(2)).contains(&"wait over 1:1.1 a Satisfied".into()));
}

#[test]
fn a_child_whose_own_call_timed_out_sends_its_result_as_mail_even_if_another_call_waits() {
    let mut kernel = wide();
    let root = kernel.root;
    let turn = kernel.answer_with_started_calls(root, &["a", "b"]);
    kernel.ok(KernelInput::Spawn(TaskSpawn {
        until: Some(Timestamp(300)),
        ..spawn_by_call(root, turn, "a", 2, TaskMode::Sync)
    }));
    kernel.report(root, wait(turn, "b", &[2, 2], WaitMode::All, Some(300)));
    kernel.now = Timestamp(300);
    let late = kernel.ok(KernelInput::Tick);
    assert_eq!(late.iter().filter(|effect| *effect == "2 taskPromoted").count(), 1, "{late:?}");
    assert_eq!(kernel.complete(kernel.run(2)).last().unwrap(), "1 mailAdmitted result 2:1");
}

#[test]
fn a_session_has_one_root() {
    let mut kernel = wide();
    let spec = spec(TaskType::Main, None);
    let twin =
        TaskSpawn { id: id(2), spec, prompt: "go".into(), by: None, until: None, definition: None, redo_reason: None };
    assert_eq!(kernel.refused(KernelInput::Spawn(twin)), "the session is already open");
    assert_eq!(kernel.kernel.root(), Some(id(1)));
}

#[test]
fn a_command_has_no_children() {
    let mut kernel = wide();
    kernel.spawn(2, |spec| spec.kind = TaskType::Shell);
    let spec = spec(TaskType::Agent, Some(id(2)));
    let below =
        TaskSpawn { id: id(3), spec, prompt: "go".into(), by: None, until: None, definition: None, redo_reason: None };
    assert!(kernel.refused(KernelInput::Spawn(below)).ends_with("is a command and cannot start tasks"));
}

#[test]
fn only_a_task_that_the_root_waits_for_can_be_promoted() {
    let mut kernel = wide();
    let root = kernel.root;
    let turn = kernel.answer_with_calls(root, &["a"]);
    kernel.spawn_sync(root, turn, "a", 2);
    let two = kernel.run(2);
    let turn = kernel.answer_with_calls(two, &["b"]);
    kernel.spawn_sync(two, turn, "b", 3);
    assert!(kernel.refused(KernelInput::Promote(id(3))).contains("was not started by the session's root"));
    assert!(kernel.refused(KernelInput::Promote(id(1))).starts_with("no tool call is waiting"));
    kernel.ok(KernelInput::Promote(id(2)));
}
