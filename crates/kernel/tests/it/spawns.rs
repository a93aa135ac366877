//! Tool calls that start agents: in one step, whatever else their answer calls for.

use bosun_kernel::*;
use protocol::*;

use crate::desk::*;

fn wide() -> Desk {
    Desk::with(Limits { live: 4, depth: 4, total: 9, ..Limits::default() }, |_| {})
}

fn defined(spawn: Spawn, digest: &str) -> Input {
    let spec = Box::new(AgentSpec::default());
    Input::Spawn(Spawn { definition: Some(Definition { id: DefinitionId(digest.into()), spec }), ..spawn })
}

#[test]
fn t4_a_background_agent_starts_with_its_call_and_the_call_is_answered_in_the_same_step() {
    let mut desk = wide();
    let root = desk.root;
    let turn = desk.calls(root, &["a", "b"]);
    let expected = [
        "1 callStarted a",
        "2 taskCreated",
        "2 mailAdmitted",
        "1 callAnswered a Done",
        "2 activationStarted",
        "start 2:1.1",
    ];
    assert_eq!(desk.background(root, turn, "a", 2), expected);
    assert_eq!((desk.call(1, "a"), desk.call(1, "b")), (Some(&CallPhase::Answered), Some(&CallPhase::Pending)));
    desk.background(root, turn, "b", 3);
    assert_eq!(desk.task(1).work, Work::Boundary);
}

#[test]
fn t4_the_agents_of_one_message_start_together_and_each_call_waits_for_its_own() {
    let mut desk = wide();
    let root = desk.root;
    let turn = desk.calls(root, &["a", "b", "c"]);
    desk.sync(root, turn, "a", 2);
    desk.sync(root, turn, "b", 3);
    desk.background(root, turn, "c", 4);
    let ended = desk.completes(desk.run(3));
    assert!(ended.contains(&"wait over 1:1.1 b Satisfied".into()), "{ended:?}");
    assert!(matches!(desk.call(1, "a"), Some(CallPhase::Waiting(_))));
    assert_eq!(desk.call(1, "c"), Some(&CallPhase::Answered));
}

#[test]
fn an_agent_that_waits_for_one_child_can_start_another_in_the_background() {
    let mut desk = Desk::with(Limits { live: 1, depth: 4, total: 9, ..Limits::default() }, |_| {});
    desk.child(2);
    let two = desk.run(2);
    let turn = desk.calls(two, &["a", "b"]);
    desk.sync(two, turn, "a", 3);
    desk.background(two, turn, "b", 4);
    assert_eq!(desk.task(2).phase, Phase::Running(Footing::Lent));
    let ended = desk.completes(desk.run(3));
    assert!(ended.contains(&"go 2:1.1".into()), "{ended:?}");
    assert_eq!((desk.state(3), desk.state(4)), ("completed", "queued"));
}

#[test]
fn a_call_starts_one_agent_and_no_other_phase_starts_any() {
    let mut desk = wide();
    let root = desk.root;
    let turn = desk.calls(root, &["a", "b", "c", "d"]);
    desk.background(root, turn, "a", 2);
    desk.sync(root, turn, "b", 3);
    let subject =
        || Subject::Permission { tool: "task".into(), input: "{}".into(), reason: "r".into(), rules: Vec::new() };
    let ask =
        |call: &str| Ask { id: AskId(call.into()), call: CallId(call.into()), subject: subject(), until_at: None };
    desk.report(root, Report::Ask { turn, ask: ask("c") });
    desk.report(root, Report::Ask { turn, ask: ask("d") });
    for call in ["a", "b", "c"] {
        for mode in [Mode::Sync, Mode::Background] {
            let refused = desk.refused(Input::Spawn(by_call(root, turn, call, 5, mode)));
            assert_eq!(refused, format!("the call {call} is not open for this"));
        }
    }
    let decide = |ask: &str, decision| Input::Decide { ask: AskId(ask.into()), decision, by: DecidedBy::User };
    desk.ok(decide("c", Decision::Deny { words: String::new() }));
    assert_eq!(desk.refused(Input::Spawn(by_call(root, turn, "c", 5, Mode::Sync))), "the call c is not open for this");
    desk.ok(decide("d", Decision::Allow { rules: Vec::new(), input: None }));
    assert_eq!(desk.sync(root, turn, "d", 5)[0], "1 callStarted d");
}

#[test]
fn a_definition_is_kept_once_whoever_owns_the_session() {
    let mut desk = wide();
    let root = desk.root;
    let turn = desk.calls(root, &["a", "b", "c"]);
    let first = desk.ok(defined(by_call(root, turn, "a", 2, Mode::Background), "x"));
    assert_eq!(first[0], "1 agentDefined");
    desk.ok(Input::Adopt { fence: Fence(2), terms: terms() });
    desk.ok(Input::Resume);
    let root = desk.run(1);
    let second = desk.ok(defined(by_call(root, turn, "b", 3, Mode::Background), "x"));
    assert_eq!(second[0], "1 callStarted b");
    let other = desk.ok(defined(by_call(root, turn, "c", 4, Mode::Background), "y"));
    assert_eq!(other[0], "1 agentDefined");
}

#[test]
fn r5_a_call_that_started_an_agent_is_never_answered_as_interrupted() {
    let mut desk = wide();
    let root = desk.root;
    let turn = desk.calls(root, &["a", "b"]);
    desk.background(root, turn, "a", 2);
    desk.sync(root, turn, "b", 3);
    let adopted = desk.ok(Input::Adopt { fence: Fence(2), terms: terms() });
    assert!(!adopted.iter().any(|effect| effect.contains("callAnswered")), "{adopted:?}");
    desk.ok(Input::Resume);
    let again = desk.refused(Input::Spawn(by_call(desk.run(1), turn, "a", 5, Mode::Background)));
    assert_eq!(again, "the call a is not open for this");
}

#[test]
fn a_synchronous_agent_that_takes_too_long_goes_on_and_its_result_comes_as_mail() {
    let mut desk = wide();
    let root = desk.root;
    let turn = desk.calls(root, &["a"]);
    desk.ok(Input::Spawn(Spawn { until: Some(At(300)), ..by_call(root, turn, "a", 2, Mode::Sync) }));
    desk.now = At(300);
    let late = desk.ok(Input::Tick);
    assert_eq!(late, ["2 taskPromoted", "1 waitEnded a TimedOut", "wait over 1:1.1 a TimedOut"]);
    desk.report(root, answered(turn, "a"));
    desk.ok(Input::Send(letter(id(1), Delivery::Interrupt)));
    assert_eq!(desk.state(2), "running");
    assert_eq!(desk.completes(desk.run(2)).last().unwrap(), "1 mailAdmitted result 2:1");
}

#[test]
fn a_second_call_that_gives_up_on_a_child_does_not_send_it_to_the_background() {
    let mut desk = wide();
    let root = desk.root;
    let turn = desk.runs(root, &["a", "b"]);
    desk.sync(root, turn, "a", 2);
    desk.report(root, wait(turn, "b", &[2], WaitMode::All, Some(300)));
    desk.now = At(300);
    assert_eq!(desk.ok(Input::Tick), ["1 waitEnded b TimedOut", "wait over 1:1.1 b TimedOut"]);
    assert_eq!(desk.task(2).mode, Mode::Sync);
    assert!(desk.completes(desk.run(2)).contains(&"wait over 1:1.1 a Satisfied".into()));
}

#[test]
fn a_child_whose_own_call_gave_up_tells_its_result_as_mail_though_another_call_waits() {
    let mut desk = wide();
    let root = desk.root;
    let turn = desk.runs(root, &["a", "b"]);
    desk.ok(Input::Spawn(Spawn { until: Some(At(300)), ..by_call(root, turn, "a", 2, Mode::Sync) }));
    desk.report(root, wait(turn, "b", &[2, 2], WaitMode::All, Some(300)));
    desk.now = At(300);
    let late = desk.ok(Input::Tick);
    assert_eq!(late.iter().filter(|effect| *effect == "2 taskPromoted").count(), 1, "{late:?}");
    assert_eq!(desk.completes(desk.run(2)).last().unwrap(), "1 mailAdmitted result 2:1");
}

#[test]
fn a_session_has_one_root() {
    let mut desk = wide();
    let spec = spec(Kind::Main, None);
    let twin = Spawn { id: id(2), spec, prompt: "go".into(), by: None, until: None, definition: None };
    assert_eq!(desk.refused(Input::Spawn(twin)), "the session is open already");
    assert_eq!(desk.kernel.root(), Some(id(1)));
}

#[test]
fn a_command_has_no_children() {
    let mut desk = wide();
    desk.spawn(2, |spec| spec.kind = Kind::Shell);
    let spec = spec(Kind::Agent, Some(id(2)));
    let below = Spawn { id: id(3), spec, prompt: "go".into(), by: None, until: None, definition: None };
    assert!(desk.refused(Input::Spawn(below)).ends_with("is a command and starts no tasks"));
}

#[test]
fn only_what_the_root_waits_for_goes_on_in_the_background() {
    let mut desk = wide();
    let root = desk.root;
    let turn = desk.calls(root, &["a"]);
    desk.sync(root, turn, "a", 2);
    let two = desk.run(2);
    let turn = desk.calls(two, &["b"]);
    desk.sync(two, turn, "b", 3);
    assert!(desk.refused(Input::Promote(id(3))).contains("was not started by the session's root"));
    assert!(desk.refused(Input::Promote(id(1))).starts_with("nobody waits"));
    desk.ok(Input::Promote(id(2)));
}
