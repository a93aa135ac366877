//! A session killed at any point resumes where it was: nothing is done twice, and no finished work is lost.

use std::collections::BTreeMap;
use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use protocol::{Envelope, Event, TaskOutcome, ToolResult, ToolResultStatus};
use testkit::binary::{BinaryFixture, PATIENCE, ProcessSignal, within};

use crate::fixture;
use crate::scripts::HELLO;

/// The line that each shell call appends to the witness file: its turn, and a letter for the call within the turn.
const LINES: [&str; 11] = ["1a", "2a", "2b", "3a", "4a", "5a", "6a", "6b", "7a", "8a", "9a"];

/// A script of ten turns. A command appends its line and then waits while its `hold-` file exists.
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

/// A session with its log after the kill and after it was resumed.
struct ResumedSession {
    fixture: BinaryFixture,
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

fn contains_event(log: &[Envelope], event: impl Fn(&Event) -> bool) -> bool {
    log.iter().any(|envelope| event(&envelope.entry.event))
}

fn is_answer(event: &Event) -> bool {
    match event {
        Event::ActivationEnded { outcome, text, .. } => *outcome == TaskOutcome::Completed && text == "All done.",
        _other => false,
    }
}

impl ResumedSession {
    /// Checks everything that must hold wherever the process was killed.
    #[track_caller]
    fn check(&self, point: &str) {
        let ResumedSession { before, after, .. } = self;
        assert_eq!(after[..before.len()], before[..], "{point}: durable events are unchanged");
        let numbers: Vec<u64> = after.iter().map(|envelope| envelope.seq).collect();
        assert_eq!(numbers, (1..).take(after.len()).collect::<Vec<u64>>(), "{point}: no gaps");
        assert!(contains_event(after, is_answer), "{point}: it has its answer");
        self.check_calls(point);
    }

    /// Checks that every call has one answer, that a running one is interrupted, and that every other ran exactly once.
    #[track_caller]
    fn check_calls(&self, point: &str) {
        let witness = fs::read_to_string(self.fixture.path("witness")).unwrap();
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

/// Runs the session with a fault, resumes it without, and checks it.
fn kill_and_resume(fault: &str) {
    let fixture = fixture();
    fixture.script(&ten_turns());
    fixture.prompt("do it").env("BOSUN_FAULT", fault).discard_output().run().expect_killed();
    resume_and_check(fixture, fault);
}

/// Resumes after a kill and checks the session; returns it unless there was nothing to resume.
fn resume_and_check(fixture: BinaryFixture, point: &str) -> Option<ResumedSession> {
    let sessions = fixture.sessions();
    assert!(sessions.len() <= 1, "{point}: {sessions:?}");
    let id = sessions.first().map(|session| session["id"].as_str().unwrap().to_owned());
    let before = id.as_ref().map(|id| fixture.log(id)).unwrap_or_default();
    let prompted = contains_event(&before, |event| matches!(event, Event::MailAdmitted { .. }));
    let finished = contains_event(&before, |event| matches!(event, Event::ActivationEnded { .. }));
    let continued = fixture.bosun(["--continue", "--allow-all"]).run();
    if !prompted {
        let output = if before.is_empty() { "there is no session in" } else { "has nothing left to do" };
        continued.expect(2).says(&[output, "hint:"]);
        fixture.script(HELLO).prompt("again").run().expect(0);
        return None;
    }
    if finished {
        continued.expect(2).says(&["has nothing left to do", "hint:"]);
    } else {
        assert_eq!(continued.expect(0).stdout, "All done.\n", "{point}");
    }
    let after = fixture.log(&id.unwrap());
    let survived = ResumedSession { fixture, before, after };
    survived.check(point);
    Some(survived)
}

/// The number of events of a session that is not killed.
fn event_count() -> u64 {
    let fixture = fixture();
    fixture.script(&ten_turns()).prompt("do it").run().expect(0);
    let log = fixture.log(&fixture.newest());
    let survived = ResumedSession { before: log.clone(), after: log, fixture };
    survived.check("undisturbed");
    let turns = contains_event(&survived.after, |event| matches!(event, Event::TurnBegun { turn, .. } if turn.0 == 10));
    assert!(turns, "it has ten turns");
    survived.after.len() as u64
}

/// Calls `act` for every point, two at a time.
fn for_each_concurrently<T: Sync>(points: &[T], act: impl Fn(&T) + Sync) {
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
fn session_killed_before_any_commit_resumes() {
    let points: Vec<String> = (1..=event_count()).map(|seq| format!("before-commit:{seq}")).collect();
    for_each_concurrently(&points, |fault| kill_and_resume(fault));
}

#[test]
fn session_killed_after_any_commit_resumes() {
    let points: Vec<String> = (1..=event_count()).map(|seq| format!("after-commit:{seq}")).collect();
    for_each_concurrently(&points, |fault| kill_and_resume(fault));
}

#[test]
fn session_killed_during_a_tool_call_resumes_with_it_interrupted() {
    for_each_concurrently(&LINES, |line| {
        let fixture = fixture();
        fixture.script(&ten_turns());
        let hold = fixture.path(&format!("hold-{line}"));
        fs::write(&hold, "").unwrap();
        let mut running = fixture.prompt("do it").discard_output().start();
        let witness = fixture.path("witness");
        let written = || fs::read_to_string(&witness).is_ok_and(|text| text.lines().any(|written| written == *line));
        within(PATIENCE, &format!("{line} runs"), written);
        running.signal(ProcessSignal::Kill);
        running.wait().expect_killed();
        fs::remove_file(&hold).unwrap();

        let survived = resume_and_check(fixture, line).unwrap();
        let answer = &answers(&survived.after)[*line][0];
        assert_eq!(answer.status, ToolResultStatus::Interrupted, "{line}");
        let witness = fs::read_to_string(survived.fixture.path("witness")).unwrap();
        assert_eq!(witness.lines().collect::<Vec<_>>(), LINES, "every call ran once and in order");
    });
}

#[test]
fn session_killed_twice_resumes() {
    let last = event_count();
    for_each_concurrently(&[7, 12, 20, last - 3], |&seq| {
        let fixture = fixture();
        fixture.script(&ten_turns());
        fixture
            .prompt("do it")
            .env("BOSUN_FAULT", format!("after-commit:{seq}"))
            .discard_output()
            .run()
            .expect_killed();
        let again = fixture.bosun(["--continue", "--allow-all"]);
        again.env("BOSUN_FAULT", format!("before-commit:{}", seq + 3)).discard_output().run().expect_killed();
        resume_and_check(fixture, &format!("twice at {seq}"));
    });
}

#[test]
fn committed_prompt_is_found_without_an_index_entry() {
    let fixture = fixture();
    fs::create_dir(fixture.path("elsewhere")).unwrap();
    fixture.script(HELLO).prompt("something else").within(&fixture.path("elsewhere")).run().expect(0);
    fixture.script(&ten_turns());
    fixture.prompt("do it").env("BOSUN_FAULT", "after-commit:5").discard_output().run().expect_killed();
    assert_eq!(fixture.sessions().len(), 2);
    assert_eq!(fixture.bosun(["--continue", "--allow-all"]).run().expect(0).stdout, "All done.\n");
}
