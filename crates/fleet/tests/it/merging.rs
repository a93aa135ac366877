//! Merging the work of isolated workers into one tree.

use std::path::Path;

use protocol::{Event, FleetEnd, PermissionMode, Todo, TodoStatus};
use protocol::{MergeDestination, MergeSummary, TodoMergeOutcome};
use runtime::{FleetOutcome, FleetRequest, SessionStart};
use testkit::session::{PlayedSession, Scenario, SessionFixture};

use crate::support::{reason, statuses, todo, with_plan, with_script};

const DONE: FleetOutcome = FleetOutcome::Ended(FleetEnd::Done);

#[expect(clippy::disallowed_methods, reason = "a repository to work in is made beside the session")]
fn git(folder: &Path, args: &[&str]) -> String {
    let done = std::process::Command::new("git").current_dir(folder).args(args).output().unwrap();
    assert!(done.status.success(), "{args:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap().trim().to_owned()
}

/// A stage whose folder is a repository, and whose model answers by these rules.
fn ready(script: &str) -> SessionFixture {
    with_repository(with_script(script))
}

fn with_repository(scenario: Scenario) -> SessionFixture {
    let stage = scenario.file("shared.txt", "first\nmiddle\nlast\n").ready();
    let folder = stage.path(".");
    for args in [
        &["init", "-q", "-b", "main"][..],
        &["config", "user.name", "someone"],
        &["config", "user.email", "someone@example.invalid"],
        &["add", "-A"],
        &["commit", "-q", "-m", "first"],
    ] {
        git(&folder, args);
    }
    stage
}

fn isolated(todos: impl IntoIterator<Item = Todo>) -> FleetRequest {
    let mut request = with_plan(todos);
    (request.config.isolated, request.config.check) = (true, Some("! grep -rq '^wrong' .".into()));
    request
}

async fn play(stage: &SessionFixture, request: FleetRequest) -> (FleetOutcome, MergeSummary, PlayedSession) {
    let driver = stage.open(SessionStart::New).await;
    let mut fleet = driver.fleet(request).await;
    let outcome = driver.fleet_ended(&mut fleet).await;
    let run = driver.leave().await;
    (outcome, merge_summary(&run), run)
}

/// How the work of the run's latest fleet was merged.
fn merge_summary(run: &PlayedSession) -> MergeSummary {
    let summary = |event: &Event| match event {
        Event::FleetMerged(summary) => Some((**summary).clone()),
        _other => None,
    };
    run.events().iter().rev().find_map(|envelope| summary(&envelope.entry.event)).unwrap()
}

fn show(stage: &SessionFixture, commit: &str, path: &str) -> String {
    git(&stage.path("."), &["show", &format!("{commit}:{path}")])
}

fn merge_outcomes(summary: &MergeSummary) -> Vec<(&str, &TodoMergeOutcome)> {
    summary.todos.iter().map(|result| (result.todo.0.as_str(), &result.outcome)).collect()
}

/// Two independent workers, and one that builds on both.
const THREE: &str = "
  - when: { turn: 1, path: /root/a }
    answer: [call: { tool: shell, input: { description: x, command: 'echo a > a.txt' } }]
  - when: { turn: 1, path: /root/b }
    answer: [call: { tool: shell, input: { description: x, command: 'echo b > b.txt' } }]
  - when: { turn: 1, path: /root/c }
    answer: [call: { tool: shell, input: { description: x, command: 'cat a.txt b.txt > c.txt' } }]
  - answer: [say: done]
";

fn three() -> FleetRequest {
    isolated([todo("c", &["a", "b"]), todo("b", &[]), todo("a", &[])])
}

#[tokio::test]
async fn workers_build_on_what_they_depend_on_and_the_result_is_a_branch() {
    let stage = ready(THREE);
    let head = git(&stage.path("."), &["rev-parse", "HEAD"]);
    let (outcome, summary, run) = play(&stage, three()).await;
    assert_eq!(outcome, DONE, "{}\n{}", summary.text(), run.transcript());
    assert_eq!(
        merge_outcomes(&summary),
        [("b", &TodoMergeOutcome::Merged), ("a", &TodoMergeOutcome::Merged), ("c", &TodoMergeOutcome::Merged)]
    );
    let MergeDestination::Branch { name, kept: None } = &summary.destination else {
        panic!("{:?}", summary.destination)
    };
    assert!(name.starts_with("bosun/fleet-"), "{name}");
    assert_eq!(git(&stage.path("."), &["rev-parse", name]), summary.tip);
    assert_eq!(show(&stage, name, "c.txt"), "a\nb");
    assert!(summary.stat.contains("3 files changed"), "{}", summary.stat);
    assert!(summary.text().contains(&format!("git merge {name}")), "{}", summary.text());
    assert_eq!((git(&stage.path("."), &["rev-parse", "HEAD"]), stage.file("a.txt")), (head, None));
    assert_eq!(git(&stage.path("."), &["status", "--porcelain"]), "");
    assert_eq!(run.count(|event| matches!(event, Event::WorkMerged { .. })), 3);
}

#[tokio::test]
async fn the_users_branch_moves_if_requested_and_all_checks_pass() {
    let stage = ready(THREE);
    let mut request = three();
    request.config.merge = true;
    let (outcome, summary, _run) = play(&stage, request).await;
    assert_eq!((outcome, &summary.destination), (DONE, &MergeDestination::Landed { branch: Some("main".into()) }));
    assert_eq!(git(&stage.path("."), &["rev-parse", "main"]), summary.tip);
    assert_eq!(stage.file("c.txt").as_deref(), Some("a\nb\n"));
    assert_eq!(git(&stage.path("."), &["status", "--porcelain"]), "");
}

#[tokio::test]
async fn landed_work_leaves_no_refs_and_its_commits_have_the_titles_of_todos() {
    let stage = ready(THREE);
    let refs = || git(&stage.path("."), &["for-each-ref", "--format=%(refname)", "refs/bosun/"]);
    let mut request = three();
    request.config.merge = true;
    request.todos.iter_mut().for_each(|todo| todo.title = format!("Write {}.txt", todo.id));
    let (outcome, summary, _run) = play(&stage, request).await;
    assert_eq!((outcome, &summary.destination), (DONE, &MergeDestination::Landed { branch: Some("main".into()) }));
    assert_eq!(refs(), "", "the history holds all of it");
    let subjects = git(&stage.path("."), &["log", "--format=%s"]);
    for subject in ["Write a.txt", "Write b.txt", "Write c.txt", "Merge a: Write a.txt"] {
        assert!(subjects.lines().any(|line| line == subject), "{subject} is missing in\n{subjects}");
    }
    // The work on a separate branch is kept by its refs.
    let apart = ready(THREE);
    play(&apart, three()).await;
    assert_ne!(git(&apart.path("."), &["for-each-ref", "refs/bosun/"]), "");
}

#[tokio::test]
async fn work_landed_beside_uncommitted_edits_leaves_no_refs_and_is_titled_by_the_goal() {
    let stage = ready(THREE);
    std::fs::write(stage.path("shared.txt"), "not committed\n").unwrap();
    let mut request = three();
    (request.config.merge, request.config.dirty) = (true, true);
    request.config.goal = "Write three files\nand more".into();
    request.todos.iter_mut().for_each(|todo| todo.title = format!("Write {}.txt", todo.id));
    let (outcome, summary, run) = play(&stage, request).await;
    assert_eq!(
        (outcome, &summary.destination),
        (DONE, &MergeDestination::Landed { branch: Some("main".into()) }),
        "{}",
        run.transcript()
    );
    assert_eq!(git(&stage.path("."), &["for-each-ref", "refs/bosun/"]), "");
    assert_eq!(git(&stage.path("."), &["status", "--porcelain"]), "M shared.txt");
    let message = git(&stage.path("."), &["log", "-1", "--format=%B"]);
    assert_eq!(message, "Write three files\n\n- Write b.txt\n- Write a.txt\n- Write c.txt");
}

/// Two workers that change the same line; `fix` is the command of the agent that resolves the conflict.
fn conflicting_session(fix: &str) -> SessionFixture {
    ready(&format!(
        "
  - when: {{ turn: 1, path: /root/a }}
    answer: [call: {{ tool: shell, input: {{ description: x, command: 'sed -i s/middle/a/ shared.txt' }} }}]
  - when: {{ turn: 1, path: /root/b }}
    answer: [call: {{ tool: shell, input: {{ description: x, command: 'sed -i s/middle/b/ shared.txt; echo b > b.txt' }} }}]
  - when: {{ turn: 1, path: /root/merge-b }}
    answer: [call: {{ tool: shell, input: {{ description: x, command: '{fix}' }} }}]
  - answer: [say: done]
"
    ))
}

fn two() -> FleetRequest {
    let mut request = isolated([todo("a", &[]), todo("b", &[]), todo("on-b", &["b"])]);
    request.config.merge = true;
    request
}

#[tokio::test]
async fn a_conflict_goes_to_an_agent_once() {
    let stage =
        conflicting_session("grep -q \"^<<<<<<<\" shared.txt && printf \"first\\na and b\\nlast\\n\" > shared.txt");
    let (outcome, summary, run) = play(&stage, two()).await;
    assert_eq!(outcome, DONE, "{}\n{}", summary.text(), run.transcript());
    assert_eq!(summary.predicted_conflicts, [("a".into(), "b".into()), ("a".into(), "on-b".into())]);
    assert_eq!(stage.file("shared.txt").as_deref(), Some("first\na and b\nlast\n"));
    assert_eq!(stage.file("b.txt").as_deref(), Some("b\n"));
    let requests = run.stage().model(run.id()).requests();
    assert!(requests.iter().all(|requests| requests.path != "/root"), "the root gets no request");
    assert_eq!(requests.iter().filter(|requests| requests.path == "/root/merge-b" && requests.turn == 1).count(), 1);
}

#[tokio::test]
async fn an_unresolved_conflict_is_reported_and_the_branch_stays() {
    for (fix, why) in [("true", "left conflict markers"), ("echo wrong > shared.txt", "the check fails")] {
        let stage = conflicting_session(fix);
        let head = git(&stage.path("."), &["rev-parse", "HEAD"]);
        let (outcome, summary, run) = play(&stage, two()).await;
        assert_eq!(outcome, FleetOutcome::Ended(FleetEnd::Blocked), "{}", run.transcript());
        let [
            ("a", TodoMergeOutcome::Merged),
            ("b", TodoMergeOutcome::Conflict { files, .. }),
            ("on-b", TodoMergeOutcome::Blocked { on }),
        ] = &merge_outcomes(&summary)[..]
        else {
            panic!("{}", summary.text())
        };
        assert_eq!((files.as_slice(), on.0.as_str()), (&["shared.txt".to_owned()][..], "b"));
        assert!(reason(&run, "b").contains(why) && reason(&run, "b").contains("shared.txt"), "{}", reason(&run, "b"));
        assert_eq!(statuses(&run)[0], ("a".into(), TodoStatus::Done));
        assert_eq!(git(&stage.path("."), &["rev-parse", "HEAD"]), head);
        let MergeDestination::Branch { name, kept: Some(_) } = &summary.destination else {
            panic!("{:?}", summary.destination)
        };
        assert_eq!(show(&stage, name, "shared.txt"), "first\na\nlast");
    }
}

#[tokio::test]
async fn the_next_owner_continues_the_merge_queue() {
    let stage = ready(THREE);
    let mut driver = stage.open(SessionStart::New).await;
    let _fleet = driver.fleet(three()).await;
    driver.until("a merge", |event| matches!(event, Event::WorkMerged { .. })).await;
    let id = driver.crash().await.id();
    let driver = stage.open(SessionStart::Resume(id)).await;
    driver.resume().await;
    let mut fleet = driver.resume_fleet().await;
    assert_eq!(driver.fleet_ended(&mut fleet).await, DONE);
    let run = driver.leave().await;
    let summary = merge_summary(&run);
    assert_eq!(show(&stage, &summary.tip, "c.txt"), "a\nb");
    let merges =
        git(&stage.path("."), &["rev-list", "--count", "--merges", &format!("{}..{}", summary.base, summary.tip)]);
    assert_eq!(merges, "1", "merged work is not merged again");
    let claims = run.count(|event| matches!(event, Event::TodoClaimed { .. }));
    assert_eq!(claims, 3, "finished work is kept");
}

#[tokio::test]
async fn a_resumed_fleet_neither_repeats_work_nor_resolves_a_conflict_again() {
    let stage = conflicting_session("true");
    let driver = stage.open(SessionStart::New).await;
    let mut fleet = driver.fleet(two()).await;
    let blocked = FleetOutcome::Ended(FleetEnd::Blocked);
    assert_eq!(driver.fleet_ended(&mut fleet).await, blocked);
    let mut fleet = driver.resume_fleet().await;
    assert_eq!(driver.fleet_ended(&mut fleet).await, blocked);
    let run = driver.leave().await;
    assert_eq!(run.count(|event| matches!(event, Event::TodoClaimed { .. })), 3, "{}", run.transcript());
    let asked = run.stage().model(run.id()).requests();
    assert_eq!(asked.iter().filter(|asked| asked.path == "/root/merge-b" && asked.turn == 1).count(), 1);
    assert!(reason(&run, "b").contains("left conflict markers"), "{}", reason(&run, "b"));
}

/// The remaining checkout folders of a session.
fn checkouts(run: &PlayedSession) -> Vec<String> {
    let folder = run.stage().home().checkouts_dir().join(run.id().to_string());
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    entries.filter(|entry| entry.path().is_dir()).map(|entry| entry.file_name().into_string().unwrap()).collect()
}

#[tokio::test]
async fn checkouts_with_merged_work_are_removed_and_their_commits_stay() {
    let stage = ready(THREE);
    let (outcome, summary, run) = play(&stage, three()).await;
    assert_eq!((outcome, &summary.leftover_checkouts), (DONE, &Vec::new()), "{}", summary.text());
    assert_eq!(checkouts(&run), Vec::<String>::new());
    let pinned = git(&stage.path("."), &["for-each-ref", "--format=%(objectname)", "refs/bosun/"]);
    for result in &summary.todos {
        assert!(pinned.contains(&result.commit), "{} is not among {pinned}", result.commit);
    }
}

#[tokio::test]
async fn a_failed_attempt_is_kept_and_reported_and_the_next_starts_clean() {
    let stage = ready(
        "
  - when: { turn: 1, prompt: An earlier attempt failed }
    answer: [call: { tool: shell, input: { description: x, command: 'ls junk.txt || echo a > a.txt' } }]
  - when: { turn: 1, path: /root/a }
    answer: [call: { tool: shell, input: { description: x, command: 'echo junk > junk.txt' } }]
  - answer: [say: done]
",
    );
    let (outcome, summary, run) = play(&stage, isolated([crate::support::checked("a", "test -f a.txt")])).await;
    assert_eq!(outcome, DONE, "{}\n{}", summary.text(), run.transcript());
    let [left] = &summary.leftover_checkouts[..] else { panic!("{}", summary.text()) };
    assert!(left.why.contains("is not in the result") && summary.text().contains(&left.path), "{}", summary.text());
    assert_eq!(checkouts(&run), std::slice::from_ref(&left.task));
    assert_eq!(std::fs::read_to_string(Path::new(&left.path).join("junk.txt")).unwrap(), "junk\n");
    assert_eq!(git(&stage.path("."), &["ls-tree", "--name-only", &summary.tip]), "a.txt\nshared.txt");
}

#[tokio::test]
async fn a_check_that_was_changed_after_the_work_is_judged_before_it_runs() {
    let script = "
  - when: { turn: 1, path: /root }
    answer: [call: { tool: sql, input: { query: \"UPDATE todos SET check_command = 'touch witness'\" } }]
  - when: { turn: 1, path: /root/a }
    answer: [call: { tool: create, input: { path: a.txt, content: a } }]
  - answer: [say: done]
";
    let stage = with_repository(with_script(script).mode(PermissionMode::AcceptEdits));
    let mut request = isolated([todo("a", &[])]);
    (request.config.check, request.config.rounds) = (None, 1);
    let (_outcome, summary, run) = play(&stage, request).await;
    let [("a", TodoMergeOutcome::CheckFailed { said })] = merge_outcomes(&summary)[..] else {
        panic!("{:?}\n{}", merge_outcomes(&summary), run.transcript());
    };
    assert!(said.contains("`touch witness` is not permitted"), "{said}");
}
