//! Asks are decided from another terminal, while their session runs and afterwards.

use std::fs;

use host::{Home, ProcessIdentity};
use protocol::api::{DecideParams, SessionCommand};
use protocol::{Ask, AskDecision, AskId, AskSubject, CallId, Event, LogEntry, SessionId, Timestamp};
use serde_json::{Value, json};
use testkit::binary::{BinaryExit, BinaryFixture, PATIENCE, ProcessSignal, RunningBinary, within};

use crate::scripts::HELLO;
use crate::{BOSUN, fixture};

/// A script whose model makes this many shell calls in one message; each appends its number to a file.
fn shell_calls_script(count: usize) -> String {
    let calls: String = (0..count)
        .map(|n| format!("      - call: {{ tool: shell, input: {{ command: echo {n} >> witness }} }}\n"))
        .collect();
    format!(
        "version: 1\nrules:\n  - when: {{ turn: 1 }}\n    answer:\n{calls}  - answer: [say: \"It said: ${{answer}}\"]\n"
    )
}

fn approvals(fixture: &BinaryFixture, args: &[&str]) -> BinaryExit {
    fixture.bosun(["approvals"].iter().chain(args)).run()
}

/// The open asks, as JSON.
#[track_caller]
fn open_asks(fixture: &BinaryFixture) -> Vec<Value> {
    approvals(fixture, &["--json"]).expect(0).json().as_array().unwrap().clone()
}

/// A run in which this many calls wait for a decision, for up to a minute.
#[track_caller]
fn start_asking(fixture: &BinaryFixture, count: usize) -> RunningBinary {
    let running = fixture.script(&shell_calls_script(count)).bosun(["-p", "go", "--ask-wait", "1m"]).start();
    within(PATIENCE, "the asks", || open_asks(fixture).len() == count);
    running
}

fn id(row: &Value) -> &str {
    row["id"].as_str().unwrap()
}

fn witness(fixture: &BinaryFixture) -> String {
    fs::read_to_string(fixture.path("witness")).unwrap_or_default()
}

#[test]
fn a_call_is_listed_shown_and_allowed_while_its_session_runs() {
    let fixture = fixture();
    assert_eq!(approvals(&fixture, &[]).expect(0).stderr, "nothing waits for your decision\n");
    let running = start_asking(&fixture, 1);
    running.await_stderr("    bosun approvals allow ");
    let row = open_asks(&fixture).remove(0);
    assert_eq!(
        (&row["path"], &row["title"], &row["state"]),
        (&json!("/root"), &json!("go"), &json!({ "type": "open" }))
    );
    assert_eq!(row["ownerPid"], json!(running.pid()));
    let listed = approvals(&fixture, &[]).expect(0);
    let lines: Vec<&str> = listed.stdout.lines().collect();
    assert!(
        lines[0].starts_with(&format!("1  {}", &id(&row)[..12]))
            && lines[0].contains("  main agent  (will be denied in "),
        "{listed:#?}"
    );
    assert_eq!(lines[1], format!("  in {}: go", row["session"].as_str().unwrap()));
    assert_eq!(lines[2..4], ["  shell", "  $ echo 0 >> witness"]);
    assert!(lines[4].starts_with("  why: "), "{listed:#?}");
    assert_eq!(listed.stderr, "hint: bosun approvals allow 1, or deny, or always\n");
    assert!(!listed.stdout.contains('\u{1b}'), "no colour in a pipe: {listed:#?}");
    let one = approvals(&fixture, &["show", &id(&row)[..6]]).expect(0).stdout;
    for part in [id(&row), row["session"].as_str().unwrap(), "run by", "deadline", lines[3], lines[4]] {
        assert!(one.contains(part), "{part}: {one}");
    }
    let asked = one.lines().find_map(|line| line.strip_prefix("  asked    ")).unwrap();
    assert_eq!(asked.len(), "09:05".len(), "a time of today is short: {one}");
    let allowed = approvals(&fixture, &["allow", &id(&row)[..8].to_uppercase()]).expect(0);
    assert!(allowed.stdout.ends_with(" allowed: shell echo 0 >> witness\n"), "{}", allowed.stdout);
    assert_eq!(allowed.stderr, "", "it is applied at once");
    let ended = running.wait().expect(0);
    assert!(ended.stderr.contains(&format!("  ? {} allowed\n", &id(&row)[..12])), "{}", ended.stderr);
    assert_eq!(witness(&fixture), "0\n");
    let again = approvals(&fixture, &["allow", id(&row)]).expect(2);
    assert!(again.stderr.contains(" was allowed at "), "{}", again.stderr);
}

#[test]
fn twenty_asks_survive_a_kill_and_one_decision_releases_one_call() {
    let fixture = fixture();
    let mut running = start_asking(&fixture, 20);
    running.signal(ProcessSignal::Kill);
    running.wait().expect_killed();
    let asks = open_asks(&fixture);
    assert_eq!(asks.len(), 20);
    assert!(asks.iter().all(|ask| ask["ownerPid"].is_null()));

    let first = id(&asks[0]);
    let kept = approvals(&fixture, &["allow", first]).expect(0);
    let session = asks[0]["session"].as_str().unwrap();
    assert!(kept.stderr.contains(&format!("decision waits; resume with: bosun --resume {session}")), "{}", kept.stderr);
    assert_eq!(open_asks(&fixture)[0]["left"], json!({ "type": "allow" }));
    approvals(&fixture, &["deny", first]).expect(2).says(&["is already allowed, and waits for its session"]);

    let running = fixture.bosun(["--resume", session, "--ask-wait", "1m"]).start();
    within(PATIENCE, "the allowed call", || witness(&fixture) == "0\n");
    within(PATIENCE, "the others", || open_asks(&fixture).len() == 19);
    let last = approvals(&fixture, &["allow", id(&asks[19])]).expect(0);
    assert_eq!(last.stderr, "it runs after the calls before it; 18 of them wait for you\n");
    assert_eq!(witness(&fixture), "0\n");
    let denied = approvals(&fixture, &["deny", "--session", session, "--reason", "enough", "--json"]).expect(0).json();
    let fates: Vec<&Value> = denied.as_array().unwrap().iter().map(|row| &row["outcome"]["type"]).collect();
    assert_eq!(fates, ["applied"; 18]);
    let ended = running.wait().expect(0);
    let has_reason = |envelope: &&protocol::Envelope| match &envelope.entry.event {
        Event::CallAnswered { answer, .. } => answer.text.ends_with("and says: enough"),
        _other => false,
    };
    assert_eq!(fixture.log(session).iter().filter(has_reason).count(), 18);
    assert!(ended.stderr.contains("not permitted: shell"), "{}", ended.stderr);
    assert_eq!((witness(&fixture).as_str(), open_asks(&fixture).len()), ("0\n19\n", 0));
}

#[test]
fn suspended_process_accepts_no_decision_and_is_reported() {
    let fixture = fixture();
    let mut running = start_asking(&fixture, 1);
    let ask = open_asks(&fixture).remove(0);
    running.signal(ProcessSignal::Stop);
    let asleep = format!("process {} runs the session and does not answer", running.pid());
    approvals(&fixture, &["allow", id(&ask)]).expect(1).says(&[&asleep]);
    running.signal(ProcessSignal::Continue);
    approvals(&fixture, &["allow", id(&ask)]).expect(0);
    running.wait().expect(0);
    assert_eq!(witness(&fixture), "0\n");
}

#[test]
fn expired_ask_is_in_the_result() {
    let fixture = fixture();
    let run = fixture
        .script(&shell_calls_script(1))
        .bosun(["-p", "go", "--ask-wait", "300ms", "--output-format", "json"])
        .run();
    let denial = run.expect(0).json()["denials"][0].clone();
    assert_eq!(denial["input"], r#"{"command":"echo 0 >> witness"}"#);
    assert!(denial["reason"].as_str().unwrap().ends_with(", and it was not decided in time"), "{denial}");
    let ask = denial["ask"].as_str().unwrap();
    let late = approvals(&fixture, &["allow", ask]).expect(2);
    assert!(late.stderr.contains(": no decision in time"), "{}", late.stderr);
    assert_eq!(witness(&fixture), "");
}

#[test]
fn wrong_ids_and_verbs_decide_nothing_and_are_explained() {
    let fixture = fixture();
    let _running = start_asking(&fixture, 60);
    let asks = open_asks(&fixture);
    approvals(&fixture, &["allow", "no-such"])
        .expect(2)
        .says(&["there is no request `no-such`", "hint: `bosun approvals` lists"]);
    // With sixty ids, at least two start with the same of six letters. An argument of digits is a number.
    let is_ambiguous = |digit: &char| asks.iter().filter(|ask| id(ask).starts_with(*digit)).count() > 1;
    let digit = "abcdef".chars().find(is_ambiguous).unwrap().to_string();
    approvals(&fixture, &["allow", &digit]).expect(2).says(&["several requests begin with", "give more of the id"]);
    approvals(&fixture, &["allow", id(&asks[0]), "no-such"]).expect(2);
    approvals(&fixture, &["allow"]).expect(2);
    approvals(&fixture, &["allow", id(&asks[0]), "--all"]).expect(2);
    approvals(&fixture, &["answer", id(&asks[0]), "yes"]).expect(2).says(&["is a tool call; allow or deny it"]);
    approvals(&fixture, &["always", id(&asks[0]), "--rule", " "]).expect(2).says(&["is not a rule"]);
    approvals(&fixture, &["--session", "nope"]).expect(2).says(&["no session begins with `nope`"]);
    assert_eq!(open_asks(&fixture), asks, "nothing was decided");
}

#[test]
fn a_call_cannot_hide_what_it_would_do() {
    let fixture = fixture();
    let long = "x".repeat(3_000);
    let script = format!(
        "version: 1\nrules:\n  - answer:\n      - call: {{ tool: shell, input: {{ command: \"touch \\u202etxt.\\u001b[8m {long}\\ntail\" }} }}\n"
    );
    let _running = fixture.script(&script).bosun(["-p", "go", "--ask-wait", "1m"]).start();
    within(PATIENCE, "the ask", || open_asks(&fixture).len() == 1);
    let listed = approvals(&fixture, &[]).expect(0).stdout;
    assert!(listed.contains(r"$ touch \u{202e}txt.\u{1b}[8m xxx"), "{listed}");
    assert!(listed.contains(" more bytes: bosun approvals show ") && listed.len() < 2_000, "{listed}");
    let shown = approvals(&fixture, &["show", id(&open_asks(&fixture)[0])]).expect(0).stdout;
    assert!(shown.contains(&long) && shown.contains("\n    tail\n"), "{shown}");
    assert!(!shown.contains('\u{1b}') && !shown.contains('\u{202e}'), "{shown}");
}

#[test]
fn full_disk_is_reported_and_a_later_decision_is_stored() {
    let Some(fixture) = BinaryFixture::on_small_disk(BOSUN, 1024) else {
        return println!("skipped: only root can mount a small disk");
    };
    let running = start_asking(&fixture, 1);
    let ask = open_asks(&fixture).remove(0);
    let ballast = fixture.disk().fill();
    let refused = approvals(&fixture, &["allow", id(&ask)]);
    assert!(matches!(refused.code(), Some(1 | 2)), "{refused:?}");
    refused.says(&["no space left", "free some"]);
    drop(ballast);
    // Its owner received nothing and had nothing to write, so it continues.
    approvals(&fixture, &["allow", id(&ask)]).expect(0);
    running.wait().expect(0);
    assert_eq!(witness(&fixture), "0\n");
}

/// Leaves a question open in a session without an owner, as a terminated process does.
fn leave_question(fixture: &BinaryFixture) -> SessionId {
    fixture.script(HELLO).prompt("go").run().expect(0);
    let id: SessionId = fixture.newest().parse().unwrap();
    let home = Home::open(fixture.home()).unwrap();
    let root = testkit::store::SessionReader::open(&home, id)
        .unwrap()
        .tasks(&protocol::api::TasksParams::all_tasks())
        .unwrap()
        .tasks[0]
        .id;
    let subject = AskSubject::Question { question: "Which one?".into(), choices: vec!["left".into(), "right".into()] };
    let ask = Ask { id: AskId("81d2".repeat(8)), call: CallId("c".into()), subject, until_at: None };
    let asked = LogEntry { task: root, at: Timestamp(1), event: Event::AskOpened(ask) };
    let opened =
        testkit::store::SessionFile::adopt(&home, id, &ProcessIdentity::current().unwrap(), Timestamp(1)).unwrap();
    let batch = testkit::store::WriteBatch { entries: vec![asked], applied_commands: Vec::new() };
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(opened.writer.commit(batch)).unwrap();
    opened.writer.release().unwrap();
    let reader = testkit::store::SessionReader::open(&home, id).unwrap();
    testkit::store::SessionIndex::open(&home).unwrap().record_session(&home, &reader).unwrap();
    id
}

#[test]
fn a_question_is_listed_with_its_choices_and_answered() {
    let fixture = fixture();
    let session = leave_question(&fixture);
    let listed = approvals(&fixture, &[]).expect(0);
    assert!(listed.stdout.ends_with("\n  Which one?\n  1. left\n  2. right\n"), "{}", listed.stdout);
    assert_eq!(listed.stderr, "hint: bosun approvals answer 1 \"…\", or deny\n");
    approvals(&fixture, &["allow", "81d2"]).expect(2).says(&["is a question; answer or deny it"]);
    approvals(&fixture, &["always", "81d2"]).expect(2).says(&["a question cannot be allowed"]);
    approvals(&fixture, &["allow", "--all"]).expect(0).says(&["1 left open: answer or deny questions"]);
    let answered = approvals(&fixture, &["answer", "81d2", "2"]).expect(0);
    assert_eq!(answered.stdout, "81d281d281d2 answered: Which one?\n");
    let home = Home::open(fixture.home()).unwrap();
    let left = testkit::store::SessionReader::open(&home, session).unwrap().pending_commands().unwrap();
    let decision = AskDecision::Reply { text: "right".into() };
    let expected = SessionCommand::Decide(DecideParams { ask: AskId("81d2".repeat(8)), decision });
    assert_eq!(left, [(1, expected)]);
    assert!(approvals(&fixture, &[]).expect(0).stdout.contains("answered; resume with: bosun --resume ses-"));
}
