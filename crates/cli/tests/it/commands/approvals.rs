//! What waits for a person is decided from another terminal, while its session runs and after.

use std::fs;

use host::{Home, ProcessIdentity};
use protocol::api::{DecideParams, SessionCommand};
use protocol::{Ask, AskDecision, AskId, AskSubject, CallId, Event, LogEntry, SessionId, Timestamp};
use serde_json::{Value, json};
use testkit::binary::{BinaryExit, BinaryFixture, PATIENCE, ProcessSignal, RunningBinary, within};

use crate::scripts::HELLO;
use crate::{BOSUN, stage};

/// A model that calls the shell so often in one message, each time with another word to write down.
fn calls(count: usize) -> String {
    let calls: String = (0..count)
        .map(|n| format!("      - call: {{ tool: shell, input: {{ command: echo {n} >> witness }} }}\n"))
        .collect();
    format!(
        "version: 1\nrules:\n  - when: {{ turn: 1 }}\n    answer:\n{calls}  - answer: [say: \"It said: ${{answer}}\"]\n"
    )
}

fn approvals(stage: &BinaryFixture, args: &[&str]) -> BinaryExit {
    stage.bosun(["approvals"].iter().chain(args)).run()
}

/// What waits, as JSON.
#[track_caller]
fn waiting(stage: &BinaryFixture) -> Vec<Value> {
    approvals(stage, &["--json"]).expect(0).json().as_array().unwrap().clone()
}

/// A run in which so many calls wait for a minute.
#[track_caller]
fn asking(stage: &BinaryFixture, count: usize) -> RunningBinary {
    let running = stage.script(&calls(count)).bosun(["-p", "go", "--ask-wait", "1m"]).start();
    within(PATIENCE, "the asks", || waiting(stage).len() == count);
    running
}

fn id(row: &Value) -> &str {
    row["id"].as_str().unwrap()
}

fn witness(stage: &BinaryFixture) -> String {
    fs::read_to_string(stage.path("witness")).unwrap_or_default()
}

#[test]
fn a_call_is_listed_shown_and_allowed_while_its_session_runs() {
    let stage = stage();
    assert_eq!(approvals(&stage, &[]).expect(0).stderr, "nothing waits for your decision\n");
    let running = asking(&stage, 1);
    running.await_stderr("    bosun approvals allow ");
    let row = waiting(&stage).remove(0);
    assert_eq!(
        (&row["path"], &row["title"], &row["state"]),
        (&json!("/root"), &json!("go"), &json!({ "type": "open" }))
    );
    assert_eq!(row["ownerPid"], json!(running.pid()));
    let listed = approvals(&stage, &[]).expect(0);
    let lines: Vec<&str> = listed.stdout.lines().collect();
    assert!(
        lines[0].starts_with(&format!("1  {}", &id(&row)[..12])) && lines[0].contains("  /root  (will be denied in "),
        "{listed:#?}"
    );
    assert_eq!(lines[1], format!("  in {}: go", row["session"].as_str().unwrap()));
    assert_eq!(lines[2..4], ["  shell", "  $ echo 0 >> witness"]);
    assert!(lines[4].starts_with("  why: "), "{listed:#?}");
    assert_eq!(listed.stderr, "hint: bosun approvals allow 1, or deny, or always\n");
    assert!(!listed.stdout.contains('\u{1b}'), "no colour in a pipe: {listed:#?}");
    let one = approvals(&stage, &["show", &id(&row)[..6]]).expect(0).stdout;
    for part in [id(&row), row["session"].as_str().unwrap(), "run by", "deadline", lines[3], lines[4]] {
        assert!(one.contains(part), "{part}: {one}");
    }
    let asked = one.lines().find_map(|line| line.strip_prefix("  asked    ")).unwrap();
    assert_eq!(asked.len(), "09:05".len(), "a time of today is short: {one}");
    let allowed = approvals(&stage, &["allow", &id(&row)[..8].to_uppercase()]).expect(0);
    assert!(allowed.stdout.ends_with(" allowed: shell echo 0 >> witness\n"), "{}", allowed.stdout);
    assert_eq!(allowed.stderr, "", "it was taken at once");
    let ended = running.wait().expect(0);
    assert!(ended.stderr.contains(&format!("  ? {} allowed\n", &id(&row)[..12])), "{}", ended.stderr);
    assert_eq!(witness(&stage), "0\n");
    let again = approvals(&stage, &["allow", id(&row)]).expect(2);
    assert!(again.stderr.contains(" was allowed at "), "{}", again.stderr);
}

#[test]
fn twenty_asks_outlive_a_kill_and_one_decision_releases_one_call() {
    let stage = stage();
    let mut running = asking(&stage, 20);
    running.signal(ProcessSignal::Kill);
    running.wait().expect_killed();
    let asks = waiting(&stage);
    assert_eq!(asks.len(), 20);
    assert!(asks.iter().all(|ask| ask["ownerPid"].is_null()));

    let first = id(&asks[0]);
    let kept = approvals(&stage, &["allow", first]).expect(0);
    let session = asks[0]["session"].as_str().unwrap();
    assert!(kept.stderr.contains(&format!("decision waits; resume with: bosun --resume {session}")), "{}", kept.stderr);
    assert_eq!(waiting(&stage)[0]["left"], json!({ "type": "allow" }));
    approvals(&stage, &["deny", first]).expect(2).says(&["is already allowed, and waits for its session"]);

    let running = stage.bosun(["--resume", session, "--ask-wait", "1m"]).start();
    within(PATIENCE, "the allowed call", || witness(&stage) == "0\n");
    within(PATIENCE, "the others", || waiting(&stage).len() == 19);
    let last = approvals(&stage, &["allow", id(&asks[19])]).expect(0);
    assert_eq!(last.stderr, "it runs after the calls before it; 18 of them wait for you\n");
    assert_eq!(witness(&stage), "0\n");
    let denied = approvals(&stage, &["deny", "--session", session, "--reason", "enough", "--json"]).expect(0).json();
    let fates: Vec<&Value> = denied.as_array().unwrap().iter().map(|row| &row["fate"]["type"]).collect();
    assert_eq!(fates, ["applied"; 18]);
    let ended = running.wait().expect(0);
    let told = |envelope: &&protocol::Envelope| match &envelope.entry.event {
        Event::CallAnswered { answer, .. } => answer.text.ends_with("and says: enough"),
        _other => false,
    };
    assert_eq!(stage.log(session).iter().filter(told).count(), 18);
    assert!(ended.stderr.contains("not permitted: shell"), "{}", ended.stderr);
    assert_eq!((witness(&stage).as_str(), waiting(&stage).len()), ("0\n19\n", 0));
}

#[test]
fn a_process_that_sleeps_takes_no_decision_and_that_is_said() {
    let stage = stage();
    let mut running = asking(&stage, 1);
    let ask = waiting(&stage).remove(0);
    running.signal(ProcessSignal::Stop);
    let asleep = format!("process {} runs the session and does not answer", running.pid());
    approvals(&stage, &["allow", id(&ask)]).expect(1).says(&[&asleep]);
    running.signal(ProcessSignal::Continue);
    approvals(&stage, &["allow", id(&ask)]).expect(0);
    running.wait().expect(0);
    assert_eq!(witness(&stage), "0\n");
}

#[test]
fn what_nobody_decided_in_time_is_in_the_result() {
    let stage = stage();
    let run = stage.script(&calls(1)).bosun(["-p", "go", "--ask-wait", "300ms", "--output-format", "json"]).run();
    let denial = run.expect(0).json()["denials"][0].clone();
    assert_eq!(denial["input"], r#"{"command":"echo 0 >> witness"}"#);
    assert!(denial["reason"].as_str().unwrap().ends_with(", and it was not decided in time"), "{denial}");
    let ask = denial["ask"].as_str().unwrap();
    let late = approvals(&stage, &["allow", ask]).expect(2);
    assert!(late.stderr.contains(": no decision in time"), "{}", late.stderr);
    assert_eq!(witness(&stage), "");
}

#[test]
fn wrong_ids_and_wrong_verbs_decide_nothing_and_say_what_to_do() {
    let stage = stage();
    let _running = asking(&stage, 60);
    let asks = waiting(&stage);
    approvals(&stage, &["allow", "no-such"])
        .expect(2)
        .says(&["no ask begins with `no-such`", "hint: `bosun approvals` lists"]);
    // There are sixty of them, and six letters to begin with; digits alone are numbers.
    let begins = |digit: &char| asks.iter().filter(|ask| id(ask).starts_with(*digit)).count() > 1;
    let digit = "abcdef".chars().find(begins).unwrap().to_string();
    approvals(&stage, &["allow", &digit]).expect(2).says(&["several asks begin with", "give more of the id"]);
    approvals(&stage, &["allow", id(&asks[0]), "no-such"]).expect(2);
    approvals(&stage, &["allow"]).expect(2);
    approvals(&stage, &["allow", id(&asks[0]), "--all"]).expect(2);
    approvals(&stage, &["answer", id(&asks[0]), "yes"]).expect(2).says(&["is a tool call; allow or deny it"]);
    approvals(&stage, &["always", id(&asks[0]), "--rule", " "]).expect(2).says(&["is not a rule"]);
    approvals(&stage, &["--session", "nope"]).expect(2).says(&["no session begins with `nope`"]);
    assert_eq!(waiting(&stage), asks, "nothing was decided");
}

#[test]
fn a_call_cannot_hide_what_it_would_do() {
    let stage = stage();
    let long = "x".repeat(3_000);
    let script = format!(
        "version: 1\nrules:\n  - answer:\n      - call: {{ tool: shell, input: {{ command: \"touch \\u202etxt.\\u001b[8m {long}\\ntail\" }} }}\n"
    );
    let _running = stage.script(&script).bosun(["-p", "go", "--ask-wait", "1m"]).start();
    within(PATIENCE, "the ask", || waiting(&stage).len() == 1);
    let listed = approvals(&stage, &[]).expect(0).stdout;
    assert!(listed.contains(r"$ touch \u{202e}txt.\u{1b}[8m xxx"), "{listed}");
    assert!(listed.contains(" more bytes: bosun approvals show ") && listed.len() < 2_000, "{listed}");
    let shown = approvals(&stage, &["show", id(&waiting(&stage)[0])]).expect(0).stdout;
    assert!(shown.contains(&long) && shown.contains("\n    tail\n"), "{shown}");
    assert!(!shown.contains('\u{1b}') && !shown.contains('\u{202e}'), "{shown}");
}

#[test]
fn a_full_disk_is_told_and_a_decision_after_it_is_kept() {
    let Some(stage) = BinaryFixture::on_small_disk(BOSUN, 1024) else {
        return println!("skipped: only root can mount a small disk");
    };
    let running = asking(&stage, 1);
    let ask = waiting(&stage).remove(0);
    let ballast = stage.disk().fill();
    let refused = approvals(&stage, &["allow", id(&ask)]);
    assert!(matches!(refused.code(), Some(1 | 2)), "{refused:?}");
    refused.says(&["no space left", "free some"]);
    drop(ballast);
    // Its owner was not told anything, and did not have to write: it goes on.
    approvals(&stage, &["allow", id(&ask)]).expect(0);
    running.wait().expect(0);
    assert_eq!(witness(&stage), "0\n");
}

/// Leaves a question open in a session that nobody runs, as a process does that is told to end.
fn leave_question(stage: &BinaryFixture) -> SessionId {
    stage.script(HELLO).prompt("go").run().expect(0);
    let id: SessionId = stage.newest().parse().unwrap();
    let home = Home::open(stage.home()).unwrap();
    let root =
        store::SessionReader::open(&home, id).unwrap().tasks(&protocol::api::TasksParams::all_tasks()).unwrap().tasks
            [0]
        .id;
    let subject = AskSubject::Question { question: "Which one?".into(), choices: vec!["left".into(), "right".into()] };
    let ask = Ask { id: AskId("81d2".repeat(8)), call: CallId("c".into()), subject, until_at: None };
    let asked = LogEntry { task: root, at: Timestamp(1), event: Event::AskOpened(ask) };
    let opened = store::SessionFile::adopt(&home, id, &ProcessIdentity::current().unwrap(), Timestamp(1)).unwrap();
    let batch = store::WriteBatch { entries: vec![asked], applied_commands: Vec::new() };
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(opened.writer.commit(batch)).unwrap();
    opened.writer.release().unwrap();
    let reader = store::SessionReader::open(&home, id).unwrap();
    store::SessionIndex::open(&home).unwrap().record_session(&home, &reader).unwrap();
    id
}

#[test]
fn a_question_is_listed_with_its_choices_and_answered() {
    let stage = stage();
    let session = leave_question(&stage);
    let listed = approvals(&stage, &[]).expect(0);
    assert!(listed.stdout.ends_with("\n  Which one?\n  1. left\n  2. right\n"), "{}", listed.stdout);
    assert_eq!(listed.stderr, "hint: bosun approvals answer 1 \"…\", or deny\n");
    approvals(&stage, &["allow", "81d2"]).expect(2).says(&["is a question; answer or deny it"]);
    approvals(&stage, &["always", "81d2"]).expect(2).says(&["a question cannot be allowed"]);
    approvals(&stage, &["allow", "--all"]).expect(0).says(&["1 left open: answer or deny questions"]);
    let answered = approvals(&stage, &["answer", "81d2", "2"]).expect(0);
    assert_eq!(answered.stdout, "81d281d281d2 answered: Which one?\n");
    let home = Home::open(stage.home()).unwrap();
    let left = store::SessionReader::open(&home, session).unwrap().pending_commands().unwrap();
    let decision = AskDecision::Reply { text: "right".into() };
    let expected = SessionCommand::Decide(DecideParams { ask: AskId("81d2".repeat(8)), decision });
    assert_eq!(left, [(1, expected)]);
    assert!(approvals(&stage, &[]).expect(0).stdout.contains("answered; resume with: bosun --resume ses-"));
}
