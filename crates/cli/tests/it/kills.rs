//! Killed at every point of a session, the work goes on where it was: nothing is done twice, nothing finished is lost.

use std::collections::BTreeMap;
use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use protocol::{Envelope, Event, TaskOutcome, ToolResult, ToolResultStatus};
use testkit::binary::{BinaryFixture, PATIENCE, ProcessSignal, within};

use crate::scripts::HELLO;
use crate::stage;

/// Every shell call of the session, as the line it leaves on the witness; a letter tells calls of one turn apart.
const LINES: [&str; 11] = ["1a", "2a", "2b", "3a", "4a", "5a", "6a", "6b", "7a", "8a", "9a"];

/// Ten turns. A command leaves its line and then waits for as long as there is a file that tells it to.
fn ten_turns() -> String {
    let call = |line: &&str| {
        let command = format!("echo {line} >> witness; while [ -e hold-{line} ]; do sleep 0.01; done; echo ran {line}");
        format!("      - call: {{ id: {line}, tool: shell, input: {{ command: \"{command}\" }} }}\n")
    };
    let mut script = "version: 1\nagents:\n  main:\n".to_owned();
    for turn in 1..=9 {
        script += &format!("    - - say: Turn {turn}.\n");
        if turn == 4 {
            script += "      - call: { id: look, tool: view, input: { path: witness } }\n";
        }
        script.extend(LINES.iter().filter(|line| line.starts_with(&turn.to_string())).map(call));
    }
    script + "    - - say: All done.\n"
}

/// A session with its log after the kill and after it went on.
struct Survived {
    stage: BinaryFixture,
    before: Vec<Envelope>,
    after: Vec<Envelope>,
}

fn answers(log: &[Envelope]) -> BTreeMap<String, Vec<ToolResult>> {
    let mut answers: BTreeMap<String, Vec<ToolResult>> = BTreeMap::new();
    for envelope in log {
        if let Event::CallAnswered { call, answer, .. } = &envelope.entry.event {
            answers.entry(call.0.clone()).or_default().push(answer.clone());
        }
    }
    answers
}

fn started(log: &[Envelope]) -> Vec<String> {
    let call = |envelope: &Envelope| match &envelope.entry.event {
        Event::CallStarted { call } => Some(call.0.clone()),
        _other => None,
    };
    log.iter().filter_map(call).collect()
}

fn has(log: &[Envelope], event: impl Fn(&Event) -> bool) -> bool {
    log.iter().any(|envelope| event(&envelope.entry.event))
}

fn is_answer(event: &Event) -> bool {
    match event {
        Event::ActivationEnded { outcome, text, .. } => *outcome == TaskOutcome::Completed && text == "All done.",
        _other => false,
    }
}

impl Survived {
    /// Checks everything that must hold wherever the process was killed.
    #[track_caller]
    fn check(&self, point: &str) {
        let Survived { before, after, .. } = self;
        assert_eq!(after[..before.len()], before[..], "{point}: what was durable is kept as it was");
        let numbers: Vec<u64> = after.iter().map(|envelope| envelope.seq).collect();
        assert_eq!(numbers, (1..).take(after.len()).collect::<Vec<u64>>(), "{point}: no gaps");
        assert!(has(after, is_answer), "{point}: it has its answer");
        self.check_calls(point);
    }

    /// Every call is answered once; one that was running is interrupted; every other ran exactly once.
    #[track_caller]
    fn check_calls(&self, point: &str) {
        let witness = fs::read_to_string(self.stage.path("witness")).unwrap();
        let (then, now) = (answers(&self.before), answers(&self.after));
        let was_running = |call: &str| started(&self.before).iter().any(|id| id == call) && !then.contains_key(call);
        for line in LINES {
            let times = witness.lines().filter(|written| *written == line).count();
            let [answer] = &now[line][..] else { panic!("{point}: {line} has {:?}", now[line]) };
            match answer.status {
                ToolResultStatus::Done => {
                    assert_eq!((times, &*answer.text), (1, &*format!("ran {line}\n")), "{point}: {line}");
                    assert!(!was_running(line), "{point}: {line} was running");
                }
                ToolResultStatus::Interrupted => {
                    assert!(times <= 1, "{point}: {line} ran {times} times");
                    assert!(was_running(line), "{point}: {line} was not running");
                }
                other => panic!("{point}: {line} is {other:?}"),
            }
        }
        assert_eq!(now["look"].len(), 1, "{point}");
        assert_eq!(now.len(), LINES.len() + 1, "{point}: {:?}", now.keys());
    }
}

/// Runs the session with a fault, goes on without it, and checks.
fn die_and_go_on(fault: &str) {
    let stage = stage();
    stage.script(&ten_turns());
    stage.prompt("do it").env("BOSUN_FAULT", fault).discard_output().run().expect_killed();
    go_on(stage, fault);
}

/// Goes on after a kill and checks what came of it; returns it unless there was nothing to go on with.
fn go_on(stage: BinaryFixture, point: &str) -> Option<Survived> {
    let sessions = stage.sessions();
    assert!(sessions.len() <= 1, "{point}: {sessions:?}");
    let id = sessions.first().map(|session| session["id"].as_str().unwrap().to_owned());
    let before = id.as_ref().map(|id| stage.log(id)).unwrap_or_default();
    let prompted = has(&before, |event| matches!(event, Event::MailAdmitted { .. }));
    let finished = has(&before, |event| matches!(event, Event::ActivationEnded { .. }));
    let continued = stage.bosun(["--continue", "--allow-all"]).run();
    if !prompted {
        let said = if before.is_empty() { "there is no session in" } else { "has nothing left to do" };
        continued.expect(2).says(&[said, "hint:"]);
        stage.script(HELLO).prompt("again").run().expect(0);
        return None;
    }
    if finished {
        continued.expect(2).says(&["has nothing left to do", "hint:"]);
    } else {
        assert_eq!(continued.expect(0).stdout, "All done.\n", "{point}");
    }
    let after = stage.log(&id.unwrap());
    let survived = Survived { stage, before, after };
    survived.check(point);
    Some(survived)
}

/// How many events the session has when nothing happens to it.
fn events() -> u64 {
    let stage = stage();
    stage.script(&ten_turns()).prompt("do it").run().expect(0);
    let log = stage.log(&stage.newest());
    let survived = Survived { before: log.clone(), after: log, stage };
    survived.check("undisturbed");
    let turns = has(&survived.after, |event| matches!(event, Event::TurnBegun { turn, .. } if turn.0 == 10));
    assert!(turns, "it has ten turns");
    survived.after.len() as u64
}

/// Does something at every point, two points at a time.
fn at_each<T: Sync>(points: &[T], act: impl Fn(&T) + Sync) {
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(point) = points.get(next.fetch_add(1, Ordering::Relaxed)) {
                    act(point);
                }
            });
        }
    });
}

#[test]
fn killed_before_any_commit_it_goes_on() {
    let points: Vec<String> = (1..=events()).map(|seq| format!("before-commit:{seq}")).collect();
    at_each(&points, |fault| die_and_go_on(fault));
}

#[test]
fn killed_after_any_commit_it_goes_on() {
    let points: Vec<String> = (1..=events()).map(|seq| format!("after-commit:{seq}")).collect();
    at_each(&points, |fault| die_and_go_on(fault));
}

#[test]
fn killed_while_any_tool_runs_it_goes_on_and_the_call_is_interrupted() {
    at_each(&LINES, |line| {
        let stage = stage();
        stage.script(&ten_turns());
        let hold = stage.path(&format!("hold-{line}"));
        fs::write(&hold, "").unwrap();
        let mut running = stage.prompt("do it").discard_output().start();
        let witness = stage.path("witness");
        let written = || fs::read_to_string(&witness).is_ok_and(|text| text.lines().any(|written| written == *line));
        within(PATIENCE, &format!("{line} runs"), written);
        running.signal(ProcessSignal::Kill);
        running.wait().expect_killed();
        fs::remove_file(&hold).unwrap();

        let survived = go_on(stage, line).unwrap();
        let answer = &answers(&survived.after)[*line][0];
        assert_eq!(answer.status, ToolResultStatus::Interrupted, "{line}");
        let witness = fs::read_to_string(survived.stage.path("witness")).unwrap();
        assert_eq!(witness.lines().collect::<Vec<_>>(), LINES, "every call ran once and in order");
    });
}

#[test]
fn a_session_that_dies_twice_goes_on_all_the_same() {
    let last = events();
    at_each(&[7, 12, 20, last - 3], |&seq| {
        let stage = stage();
        stage.script(&ten_turns());
        stage.prompt("do it").env("BOSUN_FAULT", format!("after-commit:{seq}")).discard_output().run().expect_killed();
        let again = stage.bosun(["--continue", "--allow-all"]);
        again.env("BOSUN_FAULT", format!("before-commit:{}", seq + 3)).discard_output().run().expect_killed();
        go_on(stage, &format!("twice at {seq}"));
    });
}

#[test]
fn a_committed_prompt_is_found_even_if_the_index_never_heard_of_it() {
    let stage = stage();
    fs::create_dir(stage.path("elsewhere")).unwrap();
    stage.script(HELLO).prompt("something else").within(&stage.path("elsewhere")).run().expect(0);
    stage.script(&ten_turns());
    stage.prompt("do it").env("BOSUN_FAULT", "after-commit:5").discard_output().run().expect_killed();
    assert_eq!(stage.sessions().len(), 2);
    assert_eq!(stage.bosun(["--continue", "--allow-all"]).run().expect(0).stdout, "All done.\n");
}
