//! A provider that fails in the middle of a tree's work.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use model::{Deltas, Model, ModelFacts, ModelRequest};
use protocol::{Event, FailKind, MailDelivery, ModelFault, TaskOutcome, TaskState};
use runtime::{SessionStart, SessionStatus};
use testkit::session::{FakeClock, scenario};

use crate::support::{eventually, pass_seconds, rules, run_ready_tasks, script};

const AGENTS: usize = 20;

/// A model whose account's quota is used up after `quota` requests, until an hour after the start of the test.
#[derive(Debug)]
struct Metered {
    facts: ModelFacts,
    open: Arc<dyn Model>,
    closed: Arc<dyn Model>,
    quota: usize,
    asked: AtomicUsize,
    refused: AtomicUsize,
}

const RESET: Duration = Duration::from_secs(3600);

impl Metered {
    fn new(answers: &str, quota: usize) -> Arc<Metered> {
        Arc::new(Metered {
            facts: ModelFacts { bucket_key: Some("demo/account/model".into()), ..ModelFacts::UNKNOWN },
            open: script(answers),
            closed: script(&rules("  - fail: { class: quota-until, after: 1h, message: used up }\n")),
            quota,
            asked: AtomicUsize::new(0),
            refused: AtomicUsize::new(0),
        })
    }

    fn refused(&self) -> usize {
        self.refused.load(Ordering::SeqCst)
    }
}

impl Model for Metered {
    fn name(&self) -> &str {
        self.open.name()
    }

    fn facts(&self) -> &ModelFacts {
        &self.facts
    }

    fn send(&self, request: ModelRequest) -> Deltas {
        let used_up = self.asked.fetch_add(1, Ordering::SeqCst) >= self.quota;
        if used_up && request.requested_at < FakeClock::START.plus(RESET) {
            self.refused.fetch_add(1, Ordering::SeqCst);
            return self.closed.send(request);
        }
        self.open.send(request)
    }
}

/// Rules for a root that starts twenty agents, each of which creates a file per turn.
fn marks() -> String {
    let start = |n| {
        format!(
            "      - call: {{ id: s{n}, tool: task, input: {{ description: mark, prompt: mark, agent_type: worker, \
             name: w{n}, mode: background }} }}\n"
        )
    };
    let starts: String = (0..AGENTS).map(start).collect();
    rules(&format!(
        "  - when: {{ agent: worker, turn: ..3 }}
    answer:
      - call: {{ tool: shell, input: {{ command: 'mkdir -p marks && mktemp \"marks/$(basename ${{path}})-${{turn}}-XXXXXX\"' }} }}
  - when: {{ agent: worker }}
    answer: [say: done]
  - when: {{ turn: 1 }}
    answer:
{starts}  - answer: [say: noted]
"
    ))
}

#[tokio::test]
async fn a_used_up_quota_parks_the_whole_tree_and_nothing_is_done_twice_afterwards() {
    let model = Metered::new(&marks(), 1 + 2 * AGENTS);
    let limits = kernel::SessionLimits { live: 6, ..kernel::SessionLimits::default() };
    let stage = scenario().model(Arc::clone(&model) as Arc<dyn Model>).allow_all().limits(limits).ready();
    let mut driver = stage.open(SessionStart::New).await;
    driver.send("go", MailDelivery::FollowUp).await;
    let is_parked = |state: &TaskState| matches!(state, TaskState::Parked { .. });
    eventually("all tasks parked or done", || {
        // Lets the governor's own pauses pass, which are far shorter than the quota's.
        stage.clock().advance(Duration::from_millis(100));
        let tasks = driver.tasks();
        tasks.len() == AGENTS + 1 && tasks.iter().all(|task| is_parked(&task.state) || task.last_outcome.is_some())
    })
    .await;
    let parked = driver.tasks().iter().filter(|task| is_parked(&task.state)).count();
    assert!(parked > AGENTS / 2, "{parked} are parked");
    let refused = model.refused();
    assert!((1..=6).contains(&refused), "{refused} were under way at once");
    let asked = driver.model().requests().len();
    // Half the time passes without a request.
    stage.clock().advance(RESET / 2);
    run_ready_tasks().await;
    driver.until_status("still parked", |status: &SessionStatus| !status.quiet).await;
    assert_eq!((driver.model().requests().len(), model.refused()), (asked, refused));
    stage.clock().advance(RESET);
    eventually("rest", || {
        stage.clock().advance(Duration::from_millis(100));
        driver.session().status().borrow().quiet
    })
    .await;
    driver.rest().await;
    assert_eq!(model.refused(), refused);
    let run = driver.leave().await;
    assert!(run.tasks().iter().all(|task| task.last_outcome == Some(TaskOutcome::Completed)), "{}", run.transcript());
    let marks = std::fs::read_dir(stage.path("marks")).unwrap().count();
    assert_eq!(marks, 3 * AGENTS);
    let quota = |event: &Event| matches!(event, Event::TurnFailed { fault: ModelFault::QuotaUntil { .. }, .. });
    assert_eq!(run.count(quota), refused);
}

#[tokio::test]
async fn a_stream_that_is_cut_after_a_call_runs_nothing_and_is_retried() {
    let script = rules(
        "  - when: { turn: 1, attempt: 1 }
    answer:
      - call: { id: cut, tool: shell, input: { command: 'touch witness' } }
      - cut: true
  - answer: [say: whole]
",
    );
    let run = scenario().script(&script).allow_all().prompt("go").run().await;
    assert_eq!((run.outcome(), run.text(), run.file("witness")), (Some(&TaskOutcome::Completed), "whole", None));
    assert_eq!(run.count(|event| matches!(event, Event::CallStarted { .. })), 0);
}

#[tokio::test]
async fn a_stream_that_is_cut_every_time_is_a_failure() {
    let script = rules(
        "  - answer:
      - say: I shall
      - call: { id: cut, tool: shell, input: { command: 'touch witness' } }
      - cut: true
",
    );
    let mut driver = scenario().script(&script).allow_all().ready().open(SessionStart::New).await;
    driver.send("go", MailDelivery::FollowUp).await;
    for _ in 0..5 {
        driver.until("a cut", |event| matches!(event, Event::TurnFailed { .. })).await;
        pass_seconds(4).await;
    }
    driver.rest().await;
    let run = driver.leave().await;
    assert!(matches!(run.outcome(), Some(TaskOutcome::Failed { kind: FailKind::Model, .. })), "{:?}", run.outcome());
    assert_eq!(run.file("witness"), None);
}

#[tokio::test]
async fn a_key_revoked_during_work_parks_the_agent_and_keeps_its_work() {
    let script = rules(
        "  - when: { agent: worker, turn: 1 }
    answer:
      - say: I mark it
      - call: { tool: shell, input: { command: 'echo x >> marks' } }
  - when: { agent: worker, turn: 2, prompt: again }
    answer: [say: back]
  - when: { agent: worker }
    fail: { class: auth, message: key revoked }
  - when: { turn: 1 }
    answer:
      - call: { id: t, tool: task, input: { description: mark, prompt: mark, agent_type: worker, name: w } }
  - answer: [say: 'told ${answer}']
",
    );
    let stage = scenario().script(&script).allow_all().ready();
    let mut driver = stage.open(SessionStart::New).await;
    driver.send("go", MailDelivery::FollowUp).await;
    driver.until_status("parked", |status| status.parked.is_some_and(|parking| parking.until.is_none())).await;
    let run = driver.leave().await;
    let worker = run.tasks().iter().find(|task| task.path == "/root/w").unwrap();
    assert_eq!(worker.last_outcome, None, "{worker:?}");
    assert_eq!(run.file("marks").as_deref(), Some("x\n"));
    assert_eq!(run.count(|event| matches!(event, Event::TurnFailed { .. })), 1);
}

#[tokio::test]
async fn a_missing_folder_is_an_error_and_not_an_empty_success() {
    let script = rules(
        "  - when: { turn: 1 }
    answer:
      - call: { tool: shell, input: { command: 'rm -rf \"$PWD\"; echo gone' } }
  - when: { turn: 2 }
    answer:
      - call: { id: late, tool: shell, input: { command: 'echo here' } }
  - answer: [say: '${answer}']
",
    );
    let run = scenario().script(&script).allow_all().prompt("go").run().await;
    assert!(!run.text().contains("here"), "{}", run.text());
    let done = |event: &Event| match event {
        Event::CallAnswered { call, answer, .. } => {
            call.0 == "late" && answer.status == protocol::ToolResultStatus::Done
        }
        _other => false,
    };
    assert_eq!(run.count(done), 0, "{}", run.transcript());
}

/// A model whose provider refuses the key after this many answers, until it is valid again.
#[derive(Debug)]
struct Locked {
    open: Arc<dyn Model>,
    closed: Arc<dyn Model>,
    answers: usize,
    asked: AtomicUsize,
    valid: std::sync::atomic::AtomicBool,
}

impl Model for Locked {
    fn name(&self) -> &str {
        self.open.name()
    }

    fn facts(&self) -> &ModelFacts {
        &ModelFacts::UNKNOWN
    }

    fn send(&self, request: ModelRequest) -> Deltas {
        let refused = self.asked.fetch_add(1, Ordering::SeqCst) >= self.answers && !self.valid.load(Ordering::SeqCst);
        if refused { self.closed.send(request) } else { self.open.send(request) }
    }
}

#[tokio::test]
async fn agents_whose_key_is_refused_are_parked_and_resume_with_a_valid_one() {
    let model = Arc::new(Locked {
        open: script(&marks()),
        closed: script(&rules("  - fail: { class: auth, message: expired }\n")),
        answers: 1,
        asked: AtomicUsize::new(0),
        valid: std::sync::atomic::AtomicBool::new(false),
    });
    let stage = scenario().model(Arc::clone(&model) as Arc<dyn Model>).allow_all().ready();
    let mut driver = stage.open(SessionStart::New).await;
    driver.send("go", MailDelivery::FollowUp).await;
    driver.until_status("parked", |status| status.parked.is_some_and(|parking| parking.until.is_none())).await;
    assert!(driver.tasks().iter().all(|task| task.last_outcome.is_none()), "no task has failed");
    let id = driver.leave().await.id();
    model.valid.store(true, Ordering::SeqCst);
    let mut driver = stage.open(SessionStart::Resume(id)).await;
    driver.resume().await;
    driver.rest().await;
    assert!(driver.tasks().iter().all(|task| task.last_outcome == Some(TaskOutcome::Completed)));
}

#[tokio::test]
async fn a_root_that_waits_for_a_parked_agent_makes_the_session_parked() {
    let answers = rules(
        "  - when: { agent: worker }
    answer: [say: done]
  - when: { turn: 1 }
    answer:
      - call: { id: a, tool: task, input: { description: d, prompt: p, agent_type: worker, name: w, mode: sync } }
  - answer: [say: told]
",
    );
    let stage = scenario().model(Metered::new(&answers, 1)).ready();
    let mut driver = stage.open(SessionStart::New).await;
    driver.send("go", MailDelivery::FollowUp).await;
    driver.until_status("parked", |status| status.parked.is_some()).await;
    assert_eq!(driver.session().status().borrow().root, Some(TaskState::Running));
    let id = driver.leave().await.id();
    let mut driver = stage.open(SessionStart::Resume(id)).await;
    driver.resume().await;
    driver.until_status("parked", |status| status.parked.is_some()).await;
    stage.clock().advance(RESET * 2);
    driver.rest().await;
    assert!(driver.tasks().iter().all(|task| task.last_outcome == Some(TaskOutcome::Completed)));
}
