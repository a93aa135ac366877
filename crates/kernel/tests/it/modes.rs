//! Plan mode and autopilot.

use bosun_kernel::*;
use protocol::*;

use crate::fixture::{KernelFixture, call_answered, id, session_config, user_mail};

fn set(mode: SessionMode) -> KernelInput {
    KernelInput::SetMode { mode, by: Principal::User }
}

fn continue_autopilot(state: &str) -> KernelInput {
    KernelInput::ContinueAutopilot { state: state.into(), text: "go on".into() }
}

/// A session on autopilot whose root works on its objective.
fn on_autopilot(continues: u32) -> KernelFixture {
    let limits = SessionLimits { live: 2, depth: 2, total: 9, max_continues: continues, ..SessionLimits::default() };
    let mut kernel = KernelFixture::with(limits, |root| root.max_turns = None);
    kernel.ok(set(SessionMode::Autopilot));
    kernel
}

/// Lets the root write a final message and become idle.
fn complete_root(kernel: &mut KernelFixture) {
    let run = kernel.run(1);
    kernel.complete(run);
}

fn stopped(effects: &[String]) -> bool {
    effects.iter().any(|effect| effect.ends_with("autopilotStopped"))
}

fn report_objective(kernel: &mut KernelFixture, completion: ObjectiveReport) -> Vec<String> {
    let run = kernel.run(1);
    let turn = kernel.answer_with_started_calls(run, &["c"]);
    let done = kernel.report(run, RunUpdate::Objective { turn, call: CallId("c".into()), completion });
    kernel.report(run, call_answered(turn, "c"));
    done
}

#[test]
fn an_idle_root_that_has_not_reported_is_told_to_continue() {
    let mut kernel = on_autopilot(5);
    assert!(!kernel.kernel.is_continuation_due(), "it works");
    assert_eq!(
        kernel.refused(continue_autopilot("a")),
        "the root cannot be told to continue or be given a last turn now"
    );
    complete_root(&mut kernel);
    assert!(kernel.kernel.is_continuation_due());
    let effects = kernel.ok(continue_autopilot("a"));
    let expected = ["1 autopilotContinued", "1 mailAdmitted", "1 taskRequeued", "1 activationStarted", "start 1:2.1"];
    assert_eq!(effects, expected);
    assert_eq!(kernel.kernel.root_control().objective.as_ref().unwrap().continues, 1);
}

#[test]
fn the_root_of_an_interactive_session_is_never_told_to_continue() {
    let mut kernel = KernelFixture::new();
    complete_root(&mut kernel);
    assert!(!kernel.kernel.is_continuation_due());
    kernel.refused(continue_autopilot("a"));
    kernel.ok(set(SessionMode::Autopilot));
    assert!(!kernel.kernel.is_continuation_due(), "it has no objective");
    kernel.ok(KernelInput::Send(user_mail(id(1), MailDelivery::FollowUp)));
    complete_root(&mut kernel);
    assert!(kernel.kernel.is_continuation_due());
}

#[test]
fn the_root_is_not_told_to_continue_while_agents_work_but_while_commands_do() {
    let mut kernel = on_autopilot(5);
    kernel.child(2);
    kernel.spawn(3, |spec| spec.kind = TaskType::Shell);
    complete_root(&mut kernel);
    assert!(!kernel.kernel.is_continuation_due(), "an agent works for it");
    let child = kernel.run(2);
    kernel.complete(child);
    assert!(!kernel.kernel.is_continuation_due(), "it reads the result first");
    complete_root(&mut kernel);
    assert_eq!(kernel.state(3), "running");
    assert!(kernel.kernel.is_continuation_due());
}

#[test]
fn continuations_are_limited() {
    let mut kernel = on_autopilot(2);
    for state in ["a", "b"] {
        complete_root(&mut kernel);
        assert!(!stopped(&kernel.ok(continue_autopilot(state))));
    }
    complete_root(&mut kernel);
    assert_eq!(kernel.ok(continue_autopilot("c")), ["1 autopilotStopped"]);
    assert!(!kernel.kernel.is_continuation_due());
    // The next message is a new objective.
    kernel.ok(KernelInput::Send(user_mail(id(1), MailDelivery::FollowUp)));
    complete_root(&mut kernel);
    assert!(!stopped(&kernel.ok(continue_autopilot("c"))));
}

#[test]
fn autopilot_stops_after_two_continuations_without_a_change() {
    let mut kernel = on_autopilot(9);
    for state in ["a", "b", "b"] {
        complete_root(&mut kernel);
        assert!(!stopped(&kernel.ok(continue_autopilot(state))), "{state}");
    }
    complete_root(&mut kernel);
    assert!(stopped(&kernel.ok(continue_autopilot("b"))));
}

#[test]
fn the_count_of_continuations_survives_a_change_of_owner() {
    let mut kernel = on_autopilot(1);
    complete_root(&mut kernel);
    kernel.ok(continue_autopilot("a"));
    kernel.ok(KernelInput::Adopt { fence: Fence(2), config: crate::fixture::session_config() });
    assert!(!kernel.kernel.is_continuation_due(), "the session is not resumed yet");
    kernel.ok(KernelInput::Resume);
    complete_root(&mut kernel);
    assert!(stopped(&kernel.ok(continue_autopilot("b"))));
}

#[test]
fn a_report_of_the_root_ends_the_objective_once() {
    let done = || ObjectiveReport::Done { summary: "all".into() };
    for completion in [done(), ObjectiveReport::Blocked { summary: "some".into(), reason: "no key".into() }] {
        let mut kernel = on_autopilot(5);
        assert_eq!(report_objective(&mut kernel, completion), ["1 autopilotStopped"]);
        let run = kernel.run(1);
        kernel.report(run, wrap_up(WrapUpReason::Reported));
        let turn = kernel.answer_with_started_calls(run, &["d"]);
        let again = RunUpdate::Objective { turn, call: CallId("d".into()), completion: done() };
        assert!(kernel.refused(KernelInput::Report(run, again)).contains("no objective"));
        kernel.report(run, call_answered(turn, "d"));
        kernel.report(run, ended());
        assert!(!kernel.kernel.is_continuation_due());
    }
}

#[test]
fn only_the_root_can_report_on_the_objective() {
    let mut kernel = on_autopilot(5);
    kernel.child(2);
    let run = kernel.run(2);
    kernel.report(run, RunUpdate::Boundary(BoundaryPoint::BetweenTurns));
    let turn = kernel.answer_with_started_calls(run, &["c"]);
    let completion = ObjectiveReport::Done { summary: "all".into() };
    let report = RunUpdate::Objective { turn, call: CallId("c".into()), completion };
    assert!(kernel.refused(KernelInput::Report(run, report)).contains("no objective"));
}

#[test]
fn stopping_the_root_ends_its_objective() {
    for input in [KernelInput::Interrupt(id(1)), KernelInput::Stop { by: CancelBy::User }] {
        let mut kernel = on_autopilot(5);
        assert!(stopped(&kernel.ok(input.clone())), "{input:?}");
        let mut kernel = on_autopilot(5);
        kernel.child(2);
        complete_root(&mut kernel);
        assert!(stopped(&kernel.ok(input.clone())), "{input:?} while it is idle");
        assert!(!kernel.kernel.is_continuation_due());
    }
}

#[test]
fn a_failed_activation_stops_autopilot() {
    let mut kernel = on_autopilot(5);
    let run = kernel.run(1);
    let ending = RunEnding::Failed { kind: FailKind::Model, message: "no key".into() };
    assert!(stopped(&kernel.report(run, RunUpdate::Ended { ending, text: String::new() })));
}

/// Has the root ask for a decision on its plan.
fn ask_for_plan(kernel: &mut KernelFixture, until_at: Option<Timestamp>, default_action: PlanAction) -> AskId {
    let run = kernel.run(1);
    let turn = kernel.answer_with_started_calls(run, &["p"]);
    let subject = AskSubject::Plan {
        summary: "s".into(),
        plan: "p".into(),
        actions: PlanAction::ALL.to_vec(),
        recommended: PlanAction::Autopilot,
        default_action,
    };
    let ask = AskId("plan".into());
    kernel.report(
        run,
        RunUpdate::Ask { turn, ask: Ask { id: ask.clone(), call: CallId("p".into()), subject, until_at } },
    );
    ask
}

fn in_plan_mode() -> KernelFixture {
    let mut kernel = KernelFixture::with(SessionLimits::default(), |root| root.max_turns = None);
    kernel.ok(set(SessionMode::Plan));
    kernel
}

#[test]
fn approving_a_plan_changes_the_mode_in_the_same_decision() {
    for (action, mode) in [
        (PlanAction::Interactive, SessionMode::Interactive),
        (PlanAction::Autopilot, SessionMode::Autopilot),
        (PlanAction::AutopilotFleet, SessionMode::Autopilot),
    ] {
        let mut kernel = in_plan_mode();
        let ask = ask_for_plan(&mut kernel, None, PlanAction::ExitOnly);
        let decided =
            kernel.ok(KernelInput::Decide { ask, decision: AskDecision::Proceed { action }, by: DecidedBy::User });
        assert_eq!(decided, ["1 askDecided", "1 modeChanged", "ask over 1:1.1 p"]);
        assert_eq!(kernel.kernel.root_control().mode, mode);
        assert_eq!(kernel.kernel.root_control().objective.is_some(), mode == SessionMode::Autopilot);
    }
}

#[test]
fn exit_only_leaves_plan_mode_at_the_end_of_the_activation() {
    let mut kernel = in_plan_mode();
    let until = kernel.now;
    ask_for_plan(&mut kernel, Some(until), PlanAction::ExitOnly);
    assert_eq!(kernel.kernel.root_control().mode, SessionMode::Plan, "the default decision is taken at once");
    let run = kernel.run(1);
    let turn = kernel.task(1).turn;
    kernel.report(run, call_answered(turn, "p"));
    let ended = kernel.complete(run);
    assert!(ended.contains(&"1 modeChanged".to_owned()), "{ended:?}");
    assert_eq!(kernel.kernel.root_control().mode, SessionMode::Interactive);
}

#[test]
fn denying_a_plan_keeps_plan_mode() {
    let mut kernel = in_plan_mode();
    let ask = ask_for_plan(&mut kernel, None, PlanAction::ExitOnly);
    let allow = KernelInput::Decide {
        ask: ask.clone(),
        decision: AskDecision::Allow { rules: Vec::new(), input: None },
        by: DecidedBy::User,
    };
    assert!(kernel.refused(allow).contains("cannot be decided like this"));
    kernel.ok(KernelInput::Decide {
        ask,
        decision: AskDecision::Deny { message: "smaller".into() },
        by: DecidedBy::User,
    });
    assert_eq!(kernel.kernel.root_control().mode, SessionMode::Plan);
}

#[test]
fn a_plan_can_be_proposed_only_in_plan_mode() {
    let mut kernel = KernelFixture::new();
    let run = kernel.root;
    let turn = kernel.answer_with_started_calls(run, &["p"]);
    let subject = AskSubject::Plan {
        summary: String::new(),
        plan: String::new(),
        actions: Vec::new(),
        recommended: PlanAction::ExitOnly,
        default_action: PlanAction::ExitOnly,
    };
    let ask = Ask { id: AskId("plan".into()), call: CallId("p".into()), subject, until_at: None };
    assert!(kernel.refused(KernelInput::Report(run, RunUpdate::Ask { turn, ask })).contains("not in plan mode"));
}

#[test]
fn the_mode_survives_adoption_and_fork() {
    let mut kernel = in_plan_mode();
    kernel.ok(KernelInput::Adopt { fence: Fence(2), config: crate::fixture::session_config() });
    kernel.ok(KernelInput::Fork { from: SessionId::new(uuid::Uuid::nil()) });
    assert_eq!(kernel.kernel.root_control().mode, SessionMode::Plan);
}

#[test]
fn a_chosen_model_is_kept_in_every_mode_until_the_next_owner_names_another() {
    let mut kernel = KernelFixture::new();
    let choose = |model: &str| KernelInput::SetModel { model: model.into(), effort: None, by: Principal::User };
    assert_eq!(kernel.kernel.root_control().model, None);
    assert_eq!(kernel.ok(choose("other")).len(), 1);
    assert_eq!(kernel.ok(choose("other")), Vec::<String>::new(), "it is already the model");
    kernel.ok(set(SessionMode::Plan));
    assert_eq!(kernel.kernel.root_control().model.as_deref(), Some("other"));
    kernel.ok(KernelInput::Adopt {
        fence: Fence(2),
        config: SessionConfig { model: "third".into(), ..session_config() },
    });
    assert_eq!(kernel.kernel.root_control().model.as_deref(), Some("third"));
    assert_eq!(kernel.ok(choose("third")), Vec::<String>::new());
    let closed = Kernel::new(SessionLimits::default()).decide(Timestamp(1), choose("m"));
    assert_eq!(closed, Err(InputRefusal::Closed));
}

fn wrap_up(why: WrapUpReason) -> RunUpdate {
    RunUpdate::WrapUp(why)
}

fn ended() -> RunUpdate {
    RunUpdate::Ended { ending: RunEnding::Completed, text: "done".into() }
}

fn reported(kernel: &mut KernelFixture) -> RunId {
    report_objective(kernel, ObjectiveReport::Done { summary: "s".into() });
    kernel.run(1)
}

#[test]
fn after_a_report_on_its_objective_the_root_has_one_turn_left() {
    let mut kernel = on_autopilot(5);
    let run = reported(&mut kernel);
    let begun = KernelInput::Report(run, kernel.begin());
    assert_eq!(kernel.refused(begun), "the objective is over, so the next turn is the last");
    kernel.report(run, wrap_up(WrapUpReason::Reported));
    // Even if it calls a tool instead of writing a message.
    let turn = kernel.answer_with_calls(run, &["more"]);
    assert_eq!(kernel.refused(KernelInput::Report(run, ended())), "a turn is in progress");
    kernel.report(run, RunUpdate::CallsOutOfTime { turn });
    assert_eq!(kernel.refused(KernelInput::Report(run, kernel.begin())), "the last turn has already been taken");
    assert_eq!(kernel.report(run, ended()), ["1 activationEnded completed"]);
    assert!(!kernel.kernel.is_continuation_due());
}

#[test]
fn a_root_that_reported_still_answers_new_mail() {
    let mut kernel = on_autopilot(5);
    let run = reported(&mut kernel);
    kernel.report(run, wrap_up(WrapUpReason::Reported));
    kernel.answer_with_text(run, "done");
    kernel.ok(KernelInput::Send(user_mail(id(1), MailDelivery::FollowUp)));
    assert_eq!(kernel.refused(KernelInput::Report(run, ended())), "there is unread mail");
    kernel.report(run, RunUpdate::Boundary(BoundaryPoint::End));
    // The message is a new objective, so the root may take more turns.
    kernel.answer_with_text(run, "one");
    kernel.answer_with_text(run, "two");
    kernel.report(run, ended());
    assert!(kernel.kernel.is_continuation_due());
}

#[test]
fn a_hook_can_block_the_stop_of_a_root_that_reported() {
    let mut kernel = on_autopilot(5);
    let run = reported(&mut kernel);
    kernel.report(run, wrap_up(WrapUpReason::Reported));
    kernel.answer_with_text(run, "done");
    kernel.report(run, RunUpdate::StopBlocked { by: StopBlocker::Hook, reason: "the tests fail".into() });
    kernel.report(run, RunUpdate::Boundary(BoundaryPoint::BetweenTurns));
    kernel.answer_with_text(run, "one");
    kernel.answer_with_text(run, "two");
    kernel.report(run, ended());
}

#[test]
fn only_a_root_on_autopilot_without_working_agents_is_stopped_for_lack_of_change() {
    let mut kernel = KernelFixture::new();
    kernel.refused(KernelInput::Report(kernel.root, wrap_up(WrapUpReason::NoChange)));
    let mut kernel = on_autopilot(5);
    kernel.child(2);
    kernel.refused(KernelInput::Report(kernel.root, wrap_up(WrapUpReason::NoChange)));
    let two = kernel.run(2);
    kernel.complete(two);
    let effects = kernel.report(kernel.root, wrap_up(WrapUpReason::NoChange));
    assert_eq!(effects, ["1 autopilotStopped", "1 wrapUpBegan"]);
    kernel.refused(KernelInput::Report(two, wrap_up(WrapUpReason::Reported)));
}

#[test]
fn the_turn_limit_of_autopilot_spans_activations() {
    let limits = SessionLimits { max_autopilot_turns: 3, max_continues: 9, ..SessionLimits::default() };
    let mut kernel = KernelFixture::with(limits.clone(), |root| root.max_turns = None);
    kernel.ok(set(SessionMode::Autopilot));
    complete_root(&mut kernel);
    kernel.ok(continue_autopilot("a"));
    let run = kernel.run(1);
    kernel.report(run, RunUpdate::Boundary(BoundaryPoint::BetweenTurns));
    kernel.answer_with_text(run, "two");
    kernel.answer_with_text(run, "three");
    assert_eq!(kernel.refused(KernelInput::Report(run, kernel.begin())), "the limit of 3 turns is reached");
    let end = RunUpdate::Ended { ending: RunEnding::TimedOut(LimitKind::Turns), text: String::new() };
    assert!(stopped(&kernel.report(run, end)));
    // A turn limit of the root itself takes precedence.
    let mut kernel = KernelFixture::with(limits, |root| root.max_turns = Some(5));
    kernel.ok(set(SessionMode::Autopilot));
    let run = kernel.run(1);
    (0..5).for_each(|_| kernel.answer_with_text(run, "on"));
    assert_eq!(kernel.refused(KernelInput::Report(run, kernel.begin())), "the limit of 5 turns is reached");
}
