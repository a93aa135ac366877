//! Agents that work in their own checkouts.

use std::fs;
use std::path::Path;

use protocol::{AgentSpec, Event, Isolation, MailDelivery, SpawnPolicy, TaskOutcome, ToolResultStatus};
use runtime::SessionStart;
use testkit::session::{PlayedSession, Scenario, SessionFixture, scenario};

use crate::support::rules;

/// An agent that works in its own checkout.
fn maker() -> AgentSpec {
    AgentSpec {
        name: "maker".into(),
        isolation: Some(Isolation::Worktree { base: None, dirty: false }),
        model_invocable: true,
        spawns: SpawnPolicy::Any,
        ..AgentSpec::default()
    }
}

/// A root that starts `maker` and repeats its result; `rest` are the rules of the other agents.
fn starts(rest: &str) -> Scenario {
    let start = "  - when: { agent: main, turn: 1 }
    answer:
      - call: { id: t1, tool: task, input: { description: make, prompt: make it, agent_type: maker, name: made } }
  - when: { agent: main }
    answer: [say: '${answer}']
";
    scenario().script(&rules(&format!("{start}{rest}"))).agent(maker()).allow_all().file("a.txt", "one\n")
}

#[expect(clippy::disallowed_methods, reason = "a repository to work in is made beside the session")]
fn git(folder: &Path, args: &[&str]) -> String {
    let done = std::process::Command::new("git").current_dir(folder).args(args).output().unwrap();
    assert!(done.status.success(), "{args:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap().trim().to_owned()
}

/// The stage with a repository in its folder.
fn ready(scenario: Scenario) -> SessionFixture {
    let stage = scenario.ready();
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

async fn play(stage: &SessionFixture) -> PlayedSession {
    let mut driver = stage.open(SessionStart::New).await;
    driver.send("go", MailDelivery::FollowUp).await;
    driver.rest().await;
    driver.leave().await
}

fn checkout_path(run: &PlayedSession) -> String {
    run.events()
        .iter()
        .find_map(|it| match &it.entry.event {
            Event::WorkCheckedOut { path, .. } => Some(path.clone()),
            _other => None,
        })
        .unwrap()
}

fn sealed(run: &PlayedSession) -> (String, Vec<String>) {
    run.events()
        .iter()
        .rev()
        .find_map(|it| match &it.entry.event {
            Event::WorkSealed { commit, files } => Some((commit.clone(), files.clone())),
            _other => None,
        })
        .unwrap()
}

fn event_positions(run: &PlayedSession, wanted: &[fn(&Event) -> bool]) -> Vec<usize> {
    let position = |wanted: &fn(&Event) -> bool| run.events().iter().position(|it| wanted(&it.entry.event)).unwrap();
    wanted.iter().map(position).collect()
}

#[tokio::test]
async fn an_agent_works_in_its_own_checkout_and_its_parent_learns_how_to_get_the_work() {
    let stage = ready(starts(
        "  - when: { turn: 1, system: 'checkout of your own' }
    answer:
      - call: { id: c1, tool: create, input: { path: b.txt, content: made } }
      - call: { id: c2, tool: shell, input: { description: look, command: 'git status --short; pwd; cat a.txt; ls *' } }
  - when: { turn: 2 }
    answer: [say: '${answer}']
",
    ));
    let run = play(&stage).await;
    let (path, (commit, files)) = (checkout_path(&run), sealed(&run));
    assert!(path.starts_with(stage.home().checkouts_dir().to_str().unwrap()), "{path}");
    let result = run.text().to_owned();
    for part in ["?? b.txt", path.as_str(), "one", "files changed: b.txt", "`git merge refs/bosun/", &commit[..12]] {
        assert!(result.contains(part), "no {part:?} in {result}");
    }
    assert_eq!(files, ["b.txt"]);
    assert_eq!(stage.file("b.txt"), None, "the user's files are as they were");
    assert_eq!(git(&stage.path("."), &["show", &format!("{commit}:b.txt")]), "made");
    assert_eq!(git(&stage.path("."), &["status", "--porcelain"]), "");
    let order = event_positions(
        &run,
        &[
            |event| matches!(event, Event::WorkCheckedOut { .. }),
            |event| matches!(event, Event::CallStarted { call } if call.0 == "c1"),
            |event| matches!(event, Event::WorkSealed { .. }),
            |event| matches!(event, Event::ActivationEnded { .. }),
        ],
    );
    assert!(order.is_sorted(), "{order:?}");
}

#[tokio::test]
async fn without_a_repository_the_agent_fails_without_a_request() {
    let stage = starts("  - when: { agent: maker }\n    answer: [say: worked]\n").ready();
    let run = play(&stage).await;
    let result = run.text();
    assert!(
        result.contains("failed") && result.contains("not in a git repository") && !result.contains("worked"),
        "{result}"
    );
    assert_eq!(run.count(|event| matches!(event, Event::WorkCheckedOut { .. })), 0);
}

#[tokio::test]
async fn agents_and_commands_below_it_work_in_the_same_checkout() {
    let stage = ready(starts(
        "  - when: { agent: worker, turn: 1 }
    answer:
      - call: { tool: create, input: { path: below.txt, content: made } }
  - when: { agent: worker }
    answer: [say: below]
  - when: { turn: 1 }
    answer:
      - call: { id: t2, tool: task, input: { description: more, prompt: more, agent_type: worker, name: more } }
      - call: { id: s1, tool: shell, input: { description: b, background: true, command: 'echo made > shell.txt' } }
  - when: { turn: 2 }
    answer:
      - call: { tool: read_shell, input: { name: echo, wait_secs: 60 } }
  - answer: [say: done]
",
    ));
    let run = play(&stage).await;
    assert_eq!(sealed(&run).1, ["below.txt", "shell.txt"], "{}", run.transcript());
    assert_eq!(run.count(|event| matches!(event, Event::WorkCheckedOut { .. })), 1);
    assert_eq!((stage.file("below.txt"), stage.file("shell.txt")), (None, None));
}

#[tokio::test]
async fn the_users_files_and_other_checkouts_are_out_of_reach() {
    let scenario = starts(
        "  - when: { turn: 1 }
    answer:
      - call: { id: up, tool: view, input: { path: ../../../config.toml } }
      - call: { id: cat, tool: shell, input: { description: look, command: 'cat ../../../sessions/x' } }
      - call: { id: beside, tool: shell, input: { description: look, command: 'ls ..' } }
      - call: { id: yours, tool: create, input: { path: ../../../../work/stray.txt, content: x } }
      - call: { id: own, tool: create, input: { path: .bosun/config.toml, content: x } }
  - answer: [say: done]
",
    );
    let stage = ready(scenario);
    let run = play(&stage).await;
    let answered = |id: &str| {
        let mut answers = run.events().iter().filter_map(|it| match &it.entry.event {
            Event::CallAnswered { call, answer, .. } if call.0 == id => Some(answer.clone()),
            _other => None,
        });
        answers.next_back().unwrap()
    };
    for id in ["up", "cat", "beside", "yours", "own"] {
        let answer = answered(id);
        assert!(matches!(answer.status, ToolResultStatus::Denied | ToolResultStatus::Refused), "{id}: {answer:?}");
    }
    assert_eq!(stage.file("stray.txt"), None);
}

/// A maker that creates one file, then hangs, and creates another one when it is resumed.
const HANGS: &str = "  - when: { turn: 1 }
    answer:
      - call: { tool: create, input: { path: b.txt, content: before } }
  - when: { turn: 2 }
    answer:
      - call: { tool: shell, input: { description: wait, command: 'until [ -e never ]; do sleep 0.05; done' } }
  - when: { turn: 3 }
    answer:
      - call: { tool: create, input: { path: c.txt, content: after } }
  - answer: [say: done]
";

#[tokio::test]
async fn after_a_crash_the_work_continues_in_the_same_checkout() {
    let stage = ready(starts(HANGS));
    let mut driver = stage.open(SessionStart::New).await;
    driver.send("go", MailDelivery::FollowUp).await;
    driver.until("the second call", |event| matches!(event, Event::CallStarted { call } if call.0.contains("2"))).await;
    let id = driver.id();
    driver.crash().await;
    let mut driver = stage.open(SessionStart::Resume(id)).await;
    driver.resume().await;
    driver.rest().await;
    let run = driver.leave().await;
    assert_eq!(run.count(|event| matches!(event, Event::WorkCheckedOut { .. })), 1);
    assert_eq!(sealed(&run).1, ["b.txt", "c.txt"]);
}

#[tokio::test]
async fn a_checkout_that_is_gone_after_a_crash_fails_the_task() {
    let stage = ready(starts(HANGS));
    let mut driver = stage.open(SessionStart::New).await;
    driver.send("go", MailDelivery::FollowUp).await;
    let placed = driver.until("the place", |event| matches!(event, Event::WorkCheckedOut { .. })).await;
    driver.until("the second call", |event| matches!(event, Event::CallStarted { call } if call.0.contains("2"))).await;
    let id = driver.id();
    driver.crash().await;
    let Event::WorkCheckedOut { path, .. } = &placed.entry.event else { panic!("{placed:?}") };
    fs::remove_dir_all(path).unwrap();
    let mut driver = stage.open(SessionStart::Resume(id)).await;
    driver.resume().await;
    driver.rest().await;
    let run = driver.leave().await;
    assert!(run.text().contains("it is gone; start the task again"), "{}", run.text());
}

#[tokio::test]
async fn the_work_of_a_failed_agent_is_sealed_too() {
    let stage = ready(starts(
        "  - when: { turn: 1 }
    answer:
      - call: { tool: create, input: { path: b.txt, content: half } }
  - fail: { class: terminal, message: no more }
",
    ));
    let run = play(&stage).await;
    assert_eq!(sealed(&run).1, ["b.txt"]);
    assert!(run.text().contains("failed"), "{}", run.text());
}

#[tokio::test]
async fn a_folder_that_vanishes_during_a_command_is_an_error() {
    let script = rules(
        "  - when: { turn: 1 }
    answer:
      - call: { id: during, tool: shell, input: { description: rm, command: 'rm -rf \"$PWD\"; true' } }
  - when: { turn: 2 }
    answer:
      - call: { id: shell, tool: shell, input: { description: look, command: 'true' } }
      - call: { id: glob, tool: glob, input: { pattern: '*' } }
      - call: { id: grep, tool: grep, input: { pattern: x } }
      - call: { id: view, tool: view, input: { path: . } }
  - answer: [say: done]
",
    );
    let stage = scenario().script(&script).allow_all().file("a.txt", "x").ready();
    let run = play(&stage).await;
    assert_eq!(run.outcome(), Some(&TaskOutcome::Completed));
    for it in run.events() {
        if let Event::CallAnswered { call, answer, .. } = &it.entry.event {
            assert!(answer.status.is_error(), "{call}: {answer:?}");
        }
    }
}

#[tokio::test]
async fn a_half_made_checkout_of_a_dead_owner_goes_to_the_trash() {
    let stage = ready(starts(
        "  - when: { turn: 1 }
    answer:
      - call: { tool: create, input: { path: b.txt, content: made } }
  - answer: [say: done]
",
    ));
    // Ids are sequential here, so the path is known in advance.
    let below = "ses-00000000000000000000000000000001/task-00000000000000000000000000000003";
    let left = stage.home().checkouts_dir().join(below);
    fs::create_dir_all(&left).unwrap();
    fs::write(left.join("half"), "begun").unwrap();
    let run = play(&stage).await;
    assert_eq!((checkout_path(&run).as_str(), sealed(&run).1), (left.to_str().unwrap(), vec!["b.txt".to_owned()]));
    let trashed: Vec<_> = fs::read_dir(stage.home().trash_dir()).unwrap().map(|it| it.unwrap().path()).collect();
    assert_eq!(trashed.len(), 1);
    assert_eq!(fs::read_to_string(trashed[0].join("checkout/half")).unwrap(), "begun");
}
