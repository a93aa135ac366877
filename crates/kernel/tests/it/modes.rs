//! Plan mode and autopilot, decision by decision.

use bosun_kernel::*;
use protocol::*;

use crate::fixture::{KernelFixture, answered, id, letter, terms};

fn set(mode: SessionMode) -> KernelInput {
    KernelInput::SetMode { mode, by: Principal::User }
}

fn go_on(state: &str) -> KernelInput {
    KernelInput::ContinueAutopilot { state: state.into(), text: "go on".into() }
}

/// A session on autopilot whose root works on its objective.
fn flying(continues: u32) -> KernelFixture {
    let limits = SessionLimits { live: 2, depth: 2, total: 9, max_continues: continues, ..SessionLimits::default() };
    let mut kernel = KernelFixture::with(limits, |root| root.max_turns = None);
    kernel.ok(set(SessionMode::Autopilot));
    kernel
}

/// The root says something and rests.
fn rest(kernel: &mut KernelFixture) {
    let run = kernel.run(1);
    kernel.completes(run);
}

fn stopped(effects: &[String]) -> bool {
    effects.iter().any(|effect| effect.ends_with("autopilotStopped"))
}

fn objective(kernel: &mut KernelFixture, completion: ObjectiveReport) -> Vec<String> {
    let run = kernel.run(1);
    let turn = kernel.runs(run, &["c"]);
    let done = kernel.report(run, RunUpdate::Objective { turn, call: CallId("c".into()), completion });
    kernel.report(run, answered(turn, "c"));
    done
}

#[test]
fn a_root_that_rests_without_a_word_on_its_objective_is_told_to_go_on() {
    let mut kernel = flying(5);
    assert!(!kernel.kernel.is_continuation_due(), "it works");
    assert_eq!(kernel.refused(go_on("a")), "the root must not be told to continue or to finish now");
    rest(&mut kernel);
    assert!(kernel.kernel.is_continuation_due());
    let told = kernel.ok(go_on("a"));
    let expected = ["1 autopilotContinued", "1 mailAdmitted", "1 taskRequeued", "1 activationStarted", "start 1:2.1"];
    assert_eq!(told, expected);
    assert_eq!(kernel.kernel.root_control().objective.as_ref().unwrap().continues, 1);
}

#[test]
fn interactive_sessions_are_never_told_to_go_on() {
    let mut kernel = KernelFixture::new();
    rest(&mut kernel);
    assert!(!kernel.kernel.is_continuation_due());
    kernel.refused(go_on("a"));
    kernel.ok(set(SessionMode::Autopilot));
    assert!(!kernel.kernel.is_continuation_due(), "nobody has given it an objective");
    kernel.ok(KernelInput::Send(letter(id(1), MailDelivery::FollowUp)));
    rest(&mut kernel);
    assert!(kernel.kernel.is_continuation_due());
}

#[test]
fn nobody_is_told_to_go_on_while_agents_work_and_commands_do_not_count() {
    let mut kernel = flying(5);
    kernel.child(2);
    kernel.spawn(3, |spec| spec.kind = TaskType::Shell);
    rest(&mut kernel);
    assert!(!kernel.kernel.is_continuation_due(), "an agent works for it");
    let child = kernel.run(2);
    kernel.completes(child);
    assert!(!kernel.kernel.is_continuation_due(), "it reads the result first");
    rest(&mut kernel);
    assert_eq!(kernel.state(3), "running");
    assert!(kernel.kernel.is_continuation_due());
}

#[test]
fn the_limit_of_continuations_holds() {
    let mut kernel = flying(2);
    for state in ["a", "b"] {
        rest(&mut kernel);
        assert!(!stopped(&kernel.ok(go_on(state))));
    }
    rest(&mut kernel);
    assert_eq!(kernel.ok(go_on("c")), ["1 autopilotStopped"]);
    assert!(!kernel.kernel.is_continuation_due());
    // The next message is a new objective.
    kernel.ok(KernelInput::Send(letter(id(1), MailDelivery::FollowUp)));
    rest(&mut kernel);
    assert!(!stopped(&kernel.ok(go_on("c"))));
}

#[test]
fn two_continuations_without_a_change_are_enough() {
    let mut kernel = flying(9);
    for state in ["a", "b", "b"] {
        rest(&mut kernel);
        assert!(!stopped(&kernel.ok(go_on(state))), "{state}");
    }
    rest(&mut kernel);
    assert!(stopped(&kernel.ok(go_on("b"))));
}

#[test]
fn the_count_survives_the_owner() {
    let mut kernel = flying(1);
    rest(&mut kernel);
    kernel.ok(go_on("a"));
    kernel.ok(KernelInput::Adopt { fence: Fence(2), config: crate::fixture::terms() });
    assert!(!kernel.kernel.is_continuation_due(), "nobody has let it go on");
    kernel.ok(KernelInput::Resume);
    rest(&mut kernel);
    assert!(stopped(&kernel.ok(go_on("b"))));
}

#[test]
fn what_the_root_reports_ends_it_once() {
    let done = || ObjectiveReport::Done { summary: "all".into() };
    for completion in [done(), ObjectiveReport::Blocked { summary: "some".into(), reason: "no key".into() }] {
        let mut kernel = flying(5);
        assert_eq!(objective(&mut kernel, completion), ["1 autopilotStopped"]);
        let run = kernel.run(1);
        kernel.report(run, wrap_up(WrapUpReason::Reported));
        let turn = kernel.runs(run, &["d"]);
        let again = RunUpdate::Objective { turn, call: CallId("d".into()), completion: done() };
        assert!(kernel.refused(KernelInput::Report(run, again)).contains("no objective"));
        kernel.report(run, answered(turn, "d"));
        kernel.report(run, ended());
        assert!(!kernel.kernel.is_continuation_due());
    }
}

#[test]
fn only_the_root_reports() {
    let mut kernel = flying(5);
    kernel.child(2);
    let run = kernel.run(2);
    kernel.report(run, RunUpdate::Boundary(BoundaryPoint::Between));
    let turn = kernel.runs(run, &["c"]);
    let completion = ObjectiveReport::Done { summary: "all".into() };
    let report = RunUpdate::Objective { turn, call: CallId("c".into()), completion };
    assert!(kernel.refused(KernelInput::Report(run, report)).contains("no objective"));
}

#[test]
fn whoever_stops_the_root_ends_its_objective() {
    for input in [KernelInput::Interrupt(id(1)), KernelInput::Stop { by: CancelBy::User }] {
        let mut kernel = flying(5);
        assert!(stopped(&kernel.ok(input.clone())), "{input:?}");
        let mut kernel = flying(5);
        kernel.child(2);
        rest(&mut kernel);
        assert!(stopped(&kernel.ok(input.clone())), "{input:?} while it rests");
        assert!(!kernel.kernel.is_continuation_due());
    }
}

#[test]
fn an_activation_that_failed_is_not_continued() {
    let mut kernel = flying(5);
    let run = kernel.run(1);
    let ending = RunEnding::Failed { kind: FailKind::Model, message: "no key".into() };
    assert!(stopped(&kernel.report(run, RunUpdate::Ended { ending, text: String::new() })));
}

/// The root asks how its plan goes on.
fn plan(kernel: &mut KernelFixture, until_at: Option<Timestamp>, otherwise: PlanAction) -> AskId {
    let run = kernel.run(1);
    let turn = kernel.runs(run, &["p"]);
    let subject = AskSubject::Plan {
        summary: "s".into(),
        plan: "p".into(),
        actions: PlanAction::ALL.to_vec(),
        recommended: PlanAction::Autopilot,
        default_action: otherwise,
    };
    let ask = AskId("plan".into());
    kernel.report(
        run,
        RunUpdate::Ask { turn, ask: Ask { id: ask.clone(), call: CallId("p".into()), subject, until_at } },
    );
    ask
}

fn planning() -> KernelFixture {
    let mut kernel = KernelFixture::with(SessionLimits::default(), |root| root.max_turns = None);
    kernel.ok(set(SessionMode::Plan));
    kernel
}

#[test]
fn a_plan_that_is_approved_changes_the_mode_in_the_same_decision() {
    for (action, mode) in [
        (PlanAction::Interactive, SessionMode::Interactive),
        (PlanAction::Autopilot, SessionMode::Autopilot),
        (PlanAction::AutopilotFleet, SessionMode::Autopilot),
    ] {
        let mut kernel = planning();
        let ask = plan(&mut kernel, None, PlanAction::ExitOnly);
        let decided =
            kernel.ok(KernelInput::Decide { ask, decision: AskDecision::Proceed { action }, by: DecidedBy::User });
        assert_eq!(decided, ["1 askDecided", "1 modeChanged", "ask over 1:1.1 p"]);
        assert_eq!(kernel.kernel.root_control().mode, mode);
        assert_eq!(kernel.kernel.root_control().objective.is_some(), mode == SessionMode::Autopilot);
    }
}

#[test]
fn a_plan_that_nobody_carries_out_stays_one_until_the_last_word() {
    let mut kernel = planning();
    let until = kernel.now;
    plan(&mut kernel, Some(until), PlanAction::ExitOnly);
    assert_eq!(kernel.kernel.root_control().mode, SessionMode::Plan, "decided at once, by nobody");
    let run = kernel.run(1);
    let turn = kernel.task(1).turn;
    kernel.report(run, answered(turn, "p"));
    let ended = kernel.completes(run);
    assert!(ended.contains(&"1 modeChanged".to_owned()), "{ended:?}");
    assert_eq!(kernel.kernel.root_control().mode, SessionMode::Interactive);
}

#[test]
fn a_person_s_words_leave_the_mode_as_it_is() {
    let mut kernel = planning();
    let ask = plan(&mut kernel, None, PlanAction::ExitOnly);
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
fn only_the_root_in_plan_mode_has_a_plan_to_leave() {
    let mut kernel = KernelFixture::new();
    let run = kernel.root;
    let turn = kernel.runs(run, &["p"]);
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
fn the_mode_stays_over_adoption_and_fork() {
    let mut kernel = planning();
    kernel.ok(KernelInput::Adopt { fence: Fence(2), config: crate::fixture::terms() });
    kernel.ok(KernelInput::Fork { from: SessionId::new(uuid::Uuid::nil()) });
    assert_eq!(kernel.kernel.root_control().mode, SessionMode::Plan);
}

#[test]
fn a_model_is_chosen_once_kept_in_every_mode_and_named_anew_by_the_next_owner() {
    let mut kernel = KernelFixture::new();
    let choose = |model: &str| KernelInput::SetModel { model: model.into(), by: Principal::User };
    assert_eq!(kernel.kernel.root_control().model, None);
    assert_eq!(kernel.ok(choose("other")).len(), 1);
    assert_eq!(kernel.ok(choose("other")), Vec::<String>::new(), "it is so already");
    kernel.ok(set(SessionMode::Plan));
    assert_eq!(kernel.kernel.root_control().model.as_deref(), Some("other"));
    kernel.ok(KernelInput::Adopt { fence: Fence(2), config: SessionConfig { model: "third".into(), ..terms() } });
    assert_eq!(kernel.kernel.root_control().model.as_deref(), Some("third"));
    assert_eq!(kernel.ok(choose("third")), Vec::<String>::new());
    let closed = Kernel::new(SessionLimits::default()).apply(Timestamp(1), choose("m"));
    assert_eq!(closed, Err(InputRefusal::Closed));
}

fn wrap_up(why: WrapUpReason) -> RunUpdate {
    RunUpdate::WrapUp(why)
}

fn ended() -> RunUpdate {
    RunUpdate::Ended { ending: RunEnding::Completed, text: "done".into() }
}

fn reported(kernel: &mut KernelFixture) -> RunId {
    objective(kernel, ObjectiveReport::Done { summary: "s".into() });
    kernel.run(1)
}

#[test]
fn after_a_report_on_its_objective_the_root_has_one_turn_left() {
    let mut kernel = flying(5);
    let run = reported(&mut kernel);
    let begun = KernelInput::Report(run, kernel.begin());
    assert_eq!(kernel.refused(begun), "the objective is over, so the next turn is the last");
    kernel.report(run, wrap_up(WrapUpReason::Reported));
    // Even if it calls a tool instead of saying a word.
    let turn = kernel.calls(run, &["more"]);
    assert_eq!(kernel.refused(KernelInput::Report(run, ended())), "a turn is under way");
    kernel.report(run, RunUpdate::CallsDropped { turn });
    assert_eq!(kernel.refused(KernelInput::Report(run, kernel.begin())), "the last turn is taken");
    assert_eq!(kernel.report(run, ended()), ["1 activationEnded completed"]);
    assert!(!kernel.kernel.is_continuation_due());
}

#[test]
fn whoever_writes_to_a_root_that_reported_is_answered() {
    let mut kernel = flying(5);
    let run = reported(&mut kernel);
    kernel.report(run, wrap_up(WrapUpReason::Reported));
    kernel.says(run, "done");
    kernel.ok(KernelInput::Send(letter(id(1), MailDelivery::FollowUp)));
    assert_eq!(kernel.refused(KernelInput::Report(run, ended())), "there is unread mail");
    kernel.report(run, RunUpdate::Boundary(BoundaryPoint::End));
    // A new objective: as many turns as it takes.
    kernel.says(run, "one");
    kernel.says(run, "two");
    kernel.report(run, ended());
    assert!(kernel.kernel.is_continuation_due());
}

#[test]
fn a_hook_may_hold_a_root_that_reported() {
    let mut kernel = flying(5);
    let run = reported(&mut kernel);
    kernel.report(run, wrap_up(WrapUpReason::Reported));
    kernel.says(run, "done");
    kernel.report(run, RunUpdate::StopBlocked { by: StopBlocker::Hook, reason: "the tests fail".into() });
    kernel.report(run, RunUpdate::Boundary(BoundaryPoint::Between));
    kernel.says(run, "one");
    kernel.says(run, "two");
    kernel.report(run, ended());
}

#[test]
fn only_a_root_on_autopilot_for_whom_nobody_works_is_stopped_for_want_of_change() {
    let mut kernel = KernelFixture::new();
    kernel.refused(KernelInput::Report(kernel.root, wrap_up(WrapUpReason::NoChange)));
    let mut kernel = flying(5);
    kernel.child(2);
    kernel.refused(KernelInput::Report(kernel.root, wrap_up(WrapUpReason::NoChange)));
    let two = kernel.run(2);
    kernel.completes(two);
    let told = kernel.report(kernel.root, wrap_up(WrapUpReason::NoChange));
    assert_eq!(told, ["1 autopilotStopped", "1 wrapUpBegan"]);
    kernel.refused(KernelInput::Report(two, wrap_up(WrapUpReason::Reported)));
}

#[test]
fn autopilot_has_a_limit_of_turns_that_goes_over_activations() {
    let limits = SessionLimits { autopilot_turns: 3, max_continues: 9, ..SessionLimits::default() };
    let mut kernel = KernelFixture::with(limits.clone(), |root| root.max_turns = None);
    kernel.ok(set(SessionMode::Autopilot));
    rest(&mut kernel);
    kernel.ok(go_on("a"));
    let run = kernel.run(1);
    kernel.report(run, RunUpdate::Boundary(BoundaryPoint::Between));
    kernel.says(run, "two");
    kernel.says(run, "three");
    assert_eq!(kernel.refused(KernelInput::Report(run, kernel.begin())), "the limit of 3 turns is reached");
    let end = RunUpdate::Ended { ending: RunEnding::TimedOut(LimitKind::Turns), text: String::new() };
    assert!(stopped(&kernel.report(run, end)));
    // Whoever says how many gets so many, and a new objective has its own.
    let mut kernel = KernelFixture::with(limits, |root| root.max_turns = Some(5));
    kernel.ok(set(SessionMode::Autopilot));
    let run = kernel.run(1);
    (0..5).for_each(|_| kernel.says(run, "on"));
    assert_eq!(kernel.refused(KernelInput::Report(run, kernel.begin())), "the limit of 5 turns is reached");
}
