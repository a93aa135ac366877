//! Plan mode and autopilot, decision by decision.

use bosun_kernel::*;
use protocol::*;

use crate::desk::{Desk, answered, id, letter, terms};

fn set(mode: SessionMode) -> Input {
    Input::SetMode { mode, by: Origin::User }
}

fn go_on(state: &str) -> Input {
    Input::GoOn { state: state.into(), text: "go on".into() }
}

/// A session on autopilot whose root works on its objective.
fn flying(continues: u32) -> Desk {
    let limits = Limits { live: 2, depth: 2, total: 9, continues, ..Limits::default() };
    let mut desk = Desk::with(limits, |root| root.max_turns = None);
    desk.ok(set(SessionMode::Autopilot));
    desk
}

/// The root says something and rests.
fn rest(desk: &mut Desk) {
    let run = desk.run(1);
    desk.completes(run);
}

fn stopped(effects: &[String]) -> bool {
    effects.iter().any(|effect| effect.ends_with("autopilotStopped"))
}

fn objective(desk: &mut Desk, completion: Completion) -> Vec<String> {
    let run = desk.run(1);
    let turn = desk.runs(run, &["c"]);
    let done = desk.report(run, Report::Objective { turn, call: CallId("c".into()), completion });
    desk.report(run, answered(turn, "c"));
    done
}

#[test]
fn x2_a_root_that_rests_without_a_word_on_its_objective_is_told_to_go_on() {
    let mut desk = flying(5);
    assert!(!desk.kernel.is_continuation_due(), "it works");
    assert_eq!(desk.refused(go_on("a")), "the root is not to be told to go on, or to come to its end");
    rest(&mut desk);
    assert!(desk.kernel.is_continuation_due());
    let told = desk.ok(go_on("a"));
    let expected = ["1 autopilotContinued", "1 mailAdmitted", "1 taskRequeued", "1 activationStarted", "start 1:2.1"];
    assert_eq!(told, expected);
    assert_eq!(desk.kernel.helm().flight.as_ref().unwrap().continues, 1);
}

#[test]
fn x2_interactive_sessions_are_never_told_to_go_on() {
    let mut desk = Desk::new();
    rest(&mut desk);
    assert!(!desk.kernel.is_continuation_due());
    desk.refused(go_on("a"));
    desk.ok(set(SessionMode::Autopilot));
    assert!(!desk.kernel.is_continuation_due(), "nobody has given it an objective");
    desk.ok(Input::Send(letter(id(1), Delivery::FollowUp)));
    rest(&mut desk);
    assert!(desk.kernel.is_continuation_due());
}

#[test]
fn x2_nobody_is_told_to_go_on_while_agents_work_and_commands_do_not_count() {
    let mut desk = flying(5);
    desk.child(2);
    desk.spawn(3, |spec| spec.kind = Kind::Shell);
    rest(&mut desk);
    assert!(!desk.kernel.is_continuation_due(), "an agent works for it");
    let child = desk.run(2);
    desk.completes(child);
    assert!(!desk.kernel.is_continuation_due(), "it reads the result first");
    rest(&mut desk);
    assert_eq!(desk.state(3), "running");
    assert!(desk.kernel.is_continuation_due());
}

#[test]
fn x2_the_limit_of_continuations_holds() {
    let mut desk = flying(2);
    for state in ["a", "b"] {
        rest(&mut desk);
        assert!(!stopped(&desk.ok(go_on(state))));
    }
    rest(&mut desk);
    assert_eq!(desk.ok(go_on("c")), ["1 autopilotStopped"]);
    assert!(!desk.kernel.is_continuation_due());
    // The next message is a new objective.
    desk.ok(Input::Send(letter(id(1), Delivery::FollowUp)));
    rest(&mut desk);
    assert!(!stopped(&desk.ok(go_on("c"))));
}

#[test]
fn x2_two_continuations_without_a_change_are_enough() {
    let mut desk = flying(9);
    for state in ["a", "b", "b"] {
        rest(&mut desk);
        assert!(!stopped(&desk.ok(go_on(state))), "{state}");
    }
    rest(&mut desk);
    assert!(stopped(&desk.ok(go_on("b"))));
}

#[test]
fn x2_the_count_survives_the_owner() {
    let mut desk = flying(1);
    rest(&mut desk);
    desk.ok(go_on("a"));
    desk.ok(Input::Adopt { fence: Fence(2), terms: crate::desk::terms() });
    assert!(!desk.kernel.is_continuation_due(), "nobody has let it go on");
    desk.ok(Input::Resume);
    rest(&mut desk);
    assert!(stopped(&desk.ok(go_on("b"))));
}

#[test]
fn x2_what_the_root_reports_ends_it_once() {
    let done = || Completion::Done { summary: "all".into() };
    for completion in [done(), Completion::Blocked { summary: "some".into(), reason: "no key".into() }] {
        let mut desk = flying(5);
        assert_eq!(objective(&mut desk, completion), ["1 autopilotStopped"]);
        let run = desk.run(1);
        desk.report(run, wrap_up(WrapUp::Reported));
        let turn = desk.runs(run, &["d"]);
        let again = Report::Objective { turn, call: CallId("d".into()), completion: done() };
        assert!(desk.refused(Input::Report(run, again)).contains("no objective"));
        desk.report(run, answered(turn, "d"));
        desk.report(run, ended());
        assert!(!desk.kernel.is_continuation_due());
    }
}

#[test]
fn x2_only_the_root_reports() {
    let mut desk = flying(5);
    desk.child(2);
    let run = desk.run(2);
    desk.report(run, Report::Boundary(Point::Between));
    let turn = desk.runs(run, &["c"]);
    let completion = Completion::Done { summary: "all".into() };
    let report = Report::Objective { turn, call: CallId("c".into()), completion };
    assert!(desk.refused(Input::Report(run, report)).contains("no objective"));
}

#[test]
fn x2_whoever_stops_the_root_ends_its_objective() {
    for input in [Input::Interrupt(id(1)), Input::Stop { by: CancelBy::User }] {
        let mut desk = flying(5);
        assert!(stopped(&desk.ok(input.clone())), "{input:?}");
        let mut desk = flying(5);
        desk.child(2);
        rest(&mut desk);
        assert!(stopped(&desk.ok(input.clone())), "{input:?} while it rests");
        assert!(!desk.kernel.is_continuation_due());
    }
}

#[test]
fn x2_an_activation_that_failed_is_not_continued() {
    let mut desk = flying(5);
    let run = desk.run(1);
    let ending = Ending::Failed { kind: FailKind::Model, message: "no key".into() };
    assert!(stopped(&desk.report(run, Report::Ended { ending, text: String::new() })));
}

/// The root asks how its plan goes on.
fn plan(desk: &mut Desk, until_at: Option<At>, otherwise: PlanAction) -> AskId {
    let run = desk.run(1);
    let turn = desk.runs(run, &["p"]);
    let subject = Subject::Plan {
        summary: "s".into(),
        plan: "p".into(),
        actions: PlanAction::ALL.to_vec(),
        recommended: PlanAction::Autopilot,
        otherwise,
    };
    let ask = AskId("plan".into());
    desk.report(run, Report::Ask { turn, ask: Ask { id: ask.clone(), call: CallId("p".into()), subject, until_at } });
    ask
}

fn planning() -> Desk {
    let mut desk = Desk::with(Limits::default(), |root| root.max_turns = None);
    desk.ok(set(SessionMode::Plan));
    desk
}

#[test]
fn x1_a_plan_that_is_approved_changes_the_mode_in_the_same_decision() {
    for (action, mode) in [
        (PlanAction::Interactive, SessionMode::Interactive),
        (PlanAction::Autopilot, SessionMode::Autopilot),
        (PlanAction::AutopilotFleet, SessionMode::Autopilot),
    ] {
        let mut desk = planning();
        let ask = plan(&mut desk, None, PlanAction::ExitOnly);
        let decided = desk.ok(Input::Decide { ask, decision: Decision::Proceed { action }, by: DecidedBy::User });
        assert_eq!(decided, ["1 askDecided", "1 modeChanged", "ask over 1:1.1 p"]);
        assert_eq!(desk.kernel.helm().mode, mode);
        assert_eq!(desk.kernel.helm().flight.is_some(), mode == SessionMode::Autopilot);
    }
}

#[test]
fn x1_a_plan_that_nobody_carries_out_stays_one_until_the_last_word() {
    let mut desk = planning();
    let until = desk.now;
    plan(&mut desk, Some(until), PlanAction::ExitOnly);
    assert_eq!(desk.kernel.helm().mode, SessionMode::Plan, "decided at once, by nobody");
    let run = desk.run(1);
    let turn = desk.task(1).turn;
    desk.report(run, answered(turn, "p"));
    let ended = desk.completes(run);
    assert!(ended.contains(&"1 modeChanged".to_owned()), "{ended:?}");
    assert_eq!(desk.kernel.helm().mode, SessionMode::Interactive);
}

#[test]
fn x1_a_person_s_words_leave_the_mode_as_it_is() {
    let mut desk = planning();
    let ask = plan(&mut desk, None, PlanAction::ExitOnly);
    let allow = Input::Decide {
        ask: ask.clone(),
        decision: Decision::Allow { rules: Vec::new(), input: None },
        by: DecidedBy::User,
    };
    assert!(desk.refused(allow).contains("cannot be decided like this"));
    desk.ok(Input::Decide { ask, decision: Decision::Deny { words: "smaller".into() }, by: DecidedBy::User });
    assert_eq!(desk.kernel.helm().mode, SessionMode::Plan);
}

#[test]
fn x1_only_the_root_in_plan_mode_has_a_plan_to_leave() {
    let mut desk = Desk::new();
    let run = desk.root;
    let turn = desk.runs(run, &["p"]);
    let subject = Subject::Plan {
        summary: String::new(),
        plan: String::new(),
        actions: Vec::new(),
        recommended: PlanAction::ExitOnly,
        otherwise: PlanAction::ExitOnly,
    };
    let ask = Ask { id: AskId("plan".into()), call: CallId("p".into()), subject, until_at: None };
    assert!(desk.refused(Input::Report(run, Report::Ask { turn, ask })).contains("not in plan mode"));
}

#[test]
fn x4_the_mode_stays_over_adoption_and_fork() {
    let mut desk = planning();
    desk.ok(Input::Adopt { fence: Fence(2), terms: crate::desk::terms() });
    desk.ok(Input::Fork { from: SessionId::new(uuid::Uuid::nil()) });
    assert_eq!(desk.kernel.helm().mode, SessionMode::Plan);
}

#[test]
fn d1_a_model_is_chosen_once_kept_in_every_mode_and_named_anew_by_the_next_owner() {
    let mut desk = Desk::new();
    let choose = |model: &str| Input::SetModel { model: model.into(), by: Origin::User };
    assert_eq!(desk.kernel.helm().model, None);
    assert_eq!(desk.ok(choose("other")).len(), 1);
    assert_eq!(desk.ok(choose("other")), Vec::<String>::new(), "it is so already");
    desk.ok(set(SessionMode::Plan));
    assert_eq!(desk.kernel.helm().model.as_deref(), Some("other"));
    desk.ok(Input::Adopt { fence: Fence(2), terms: Terms { model: "third".into(), ..terms() } });
    assert_eq!(desk.kernel.helm().model.as_deref(), Some("third"));
    assert_eq!(desk.ok(choose("third")), Vec::<String>::new());
    let closed = Kernel::new(Limits::default()).apply(At(1), choose("m"));
    assert_eq!(closed, Err(Refusal::Closed));
}

fn wrap_up(why: WrapUp) -> Report {
    Report::WrapUp(why)
}

fn ended() -> Report {
    Report::Ended { ending: Ending::Completed, text: "done".into() }
}

fn reported(desk: &mut Desk) -> Run {
    objective(desk, Completion::Done { summary: "s".into() });
    desk.run(1)
}

#[test]
fn after_a_report_on_its_objective_the_root_has_one_turn_left() {
    let mut desk = flying(5);
    let run = reported(&mut desk);
    let begun = Input::Report(run, desk.begin());
    assert_eq!(desk.refused(begun), "the objective is over, so the next turn is the last");
    desk.report(run, wrap_up(WrapUp::Reported));
    // Even if it calls a tool instead of saying a word.
    let turn = desk.calls(run, &["more"]);
    assert_eq!(desk.refused(Input::Report(run, ended())), "a turn is under way");
    desk.report(run, Report::CallsDropped { turn });
    assert_eq!(desk.refused(Input::Report(run, desk.begin())), "the last turn is taken");
    assert_eq!(desk.report(run, ended()), ["1 activationEnded completed"]);
    assert!(!desk.kernel.is_continuation_due());
}

#[test]
fn whoever_writes_to_a_root_that_reported_is_answered() {
    let mut desk = flying(5);
    let run = reported(&mut desk);
    desk.report(run, wrap_up(WrapUp::Reported));
    desk.says(run, "done");
    desk.ok(Input::Send(letter(id(1), Delivery::FollowUp)));
    assert_eq!(desk.refused(Input::Report(run, ended())), "there is unread mail");
    desk.report(run, Report::Boundary(Point::End));
    // A new objective: as many turns as it takes.
    desk.says(run, "one");
    desk.says(run, "two");
    desk.report(run, ended());
    assert!(desk.kernel.is_continuation_due());
}

#[test]
fn a_hook_may_hold_a_root_that_reported() {
    let mut desk = flying(5);
    let run = reported(&mut desk);
    desk.report(run, wrap_up(WrapUp::Reported));
    desk.says(run, "done");
    desk.report(run, Report::Held { by: Holder::Hook, reason: "the tests fail".into() });
    desk.report(run, Report::Boundary(Point::Between));
    desk.says(run, "one");
    desk.says(run, "two");
    desk.report(run, ended());
}

#[test]
fn only_a_root_on_autopilot_for_whom_nobody_works_is_stopped_for_want_of_change() {
    let mut desk = Desk::new();
    desk.refused(Input::Report(desk.root, wrap_up(WrapUp::NoChange)));
    let mut desk = flying(5);
    desk.child(2);
    desk.refused(Input::Report(desk.root, wrap_up(WrapUp::NoChange)));
    let two = desk.run(2);
    desk.completes(two);
    let told = desk.report(desk.root, wrap_up(WrapUp::NoChange));
    assert_eq!(told, ["1 autopilotStopped", "1 wrapUpBegan"]);
    desk.refused(Input::Report(two, wrap_up(WrapUp::Reported)));
}

#[test]
fn autopilot_has_a_limit_of_turns_that_goes_over_activations() {
    let limits = Limits { autopilot_turns: 3, continues: 9, ..Limits::default() };
    let mut desk = Desk::with(limits.clone(), |root| root.max_turns = None);
    desk.ok(set(SessionMode::Autopilot));
    rest(&mut desk);
    desk.ok(go_on("a"));
    let run = desk.run(1);
    desk.report(run, Report::Boundary(Point::Between));
    desk.says(run, "two");
    desk.says(run, "three");
    assert_eq!(desk.refused(Input::Report(run, desk.begin())), "the limit of 3 turns is reached");
    let end = Report::Ended { ending: Ending::TimedOut(Limit::Turns), text: String::new() };
    assert!(stopped(&desk.report(run, end)));
    // Whoever says how many gets so many, and a new objective has its own.
    let mut desk = Desk::with(limits, |root| root.max_turns = Some(5));
    desk.ok(set(SessionMode::Autopilot));
    let run = desk.run(1);
    (0..5).for_each(|_| desk.says(run, "on"));
    assert_eq!(desk.refused(Input::Report(run, desk.begin())), "the limit of 5 turns is reached");
}
