//! Stopping an agent, a tree or the session, whatever it is waiting for.

mod stops;
mod stuck;

use std::fs;
use std::time::{Duration, Instant};

use protocol::api::{Method, StopTaskParams, TaskView};
use protocol::{CancelBy, CancelMode, Event, MailDelivery, TaskId, TaskOutcome, TaskState};
use rpc::RpcClient;
use runtime::SessionStart;
use serde_json::Value;
use testkit::session::{PlayedSession, Scenario, SessionDriver, scenario};

use crate::support::{UNTIL_GO, eventually, rules};

/// Longest time that an abort may take.
pub(super) const MAX_ABORT_TIME: Duration = Duration::from_secs(2);

/// Where an agent is stuck.
pub(super) struct Stuck {
    /// The rules of `/root/stuck` and of agents below it.
    pub(super) rules: String,
    /// Recognises the event after which it is stuck.
    pub(super) since: fn(&Event) -> bool,
}

pub(super) fn stuck(rules: &str, since: fn(&Event) -> bool) -> Stuck {
    Stuck { rules: rules.into(), since }
}

pub(super) fn task_call(name: &str, mode: &str) -> String {
    format!(
        "      - call: {{ id: {name}, tool: task, input: {{ description: work, prompt: work, agent_type: worker, name: \
         {name}, mode: {mode} }} }}"
    )
}

pub(super) fn asks_its_model(event: &Event) -> bool {
    matches!(event, Event::TurnBegun { .. })
}

pub(super) fn has_failed_once(event: &Event) -> bool {
    matches!(event, Event::TurnFailed { .. })
}

pub(super) fn runs_a_call(event: &Event) -> bool {
    matches!(event, Event::CallStarted { call } if call.0 == "endless")
}

pub(super) fn find(driver: &SessionDriver, path: &str) -> Option<TaskView> {
    driver.tasks().into_iter().find(|task| task.path == path)
}

pub(super) fn task(driver: &SessionDriver, path: &str) -> TaskView {
    find(driver, path).unwrap_or_else(|| panic!("there is no {path}"))
}

pub(super) async fn stop(driver: &SessionDriver, task: TaskId, how: CancelMode) {
    let (client, _notifications) = RpcClient::connect(&driver.session().home().socket(driver.id())).await.unwrap();
    let _: Value = client.call(Method::TasksStop, StopTaskParams { task, how }).await.unwrap();
}

/// Waits for an event of one task.
pub(super) async fn until(driver: &mut SessionDriver, path: &str, wanted: fn(&Event) -> bool) {
    loop {
        let envelope = driver.until(path, wanted).await;
        if find(driver, path).is_some_and(|task| task.id == envelope.entry.task) {
            return;
        }
    }
}

/// Starts a tree: a sibling that keeps working, and an agent that gets stuck while the root waits for it. There are
/// slots for these two only.
pub(super) async fn begin(base: Scenario, stuck: &Stuck) -> SessionDriver {
    let script = rules(&format!(
        "{}  - when: {{ path: /root/sibling, turn: 1 }}
    answer:
      - call: {{ tool: shell, input: {{ command: 'touch busy; {UNTIL_GO}' }} }}
  - when: {{ agent: worker }}
    answer: [say: done]
  - when: {{ turn: 1 }}
    answer:
{}
  - when: {{ turn: 2 }}
    answer:
{}
  - when: {{ turn: 3 }}
    answer:
{}
  - answer: [say: 'all is well']
",
        stuck.rules,
        task_call("sibling", "background"),
        task_call("stuck", "sync"),
        task_call("after", "sync"),
    ));
    let limits = kernel::SessionLimits { live: 2, ..kernel::SessionLimits::default() };
    let mut driver = base.script(&script).limits(limits).ready().open(SessionStart::New).await;
    driver.send("go", MailDelivery::FollowUp).await;
    until(&mut driver, "/root/stuck", stuck.since).await;
    let busy = driver.stage().path("busy");
    eventually("the sibling at work", || busy.exists()).await;
    driver
}

/// Aborts the stuck agent: it ends in time, the root continues, its slot is free, and its sibling keeps working.
pub(super) async fn abort(mut driver: SessionDriver) -> PlayedSession {
    let began = Instant::now();
    stop(&driver, task(&driver, "/root/stuck").id, CancelMode::Abort).await;
    assert!(began.elapsed() < MAX_ABORT_TIME, "{:?}", began.elapsed());
    let cancelled = TaskOutcome::Cancelled { by: CancelBy::User };
    assert_eq!(task(&driver, "/root/stuck").state, TaskState::Finished { outcome: cancelled });
    driver.until_status("the root at rest", |status| status.root == Some(TaskState::Idle)).await;
    assert_eq!(task(&driver, "/root/after").last_outcome, Some(TaskOutcome::Completed));
    assert_eq!(task(&driver, "/root/sibling").state, TaskState::Running);
    fs::write(driver.stage().path("go"), "").unwrap();
    driver.rest().await;
    assert_eq!(task(&driver, "/root/sibling").last_outcome, Some(TaskOutcome::Completed));
    let run = driver.leave().await;
    assert_eq!(run.text(), "all is well");
    run
}

pub(super) fn allow_all_scenario() -> Scenario {
    scenario().allow_all()
}
