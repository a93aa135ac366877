//! The watchdog marks silent tasks as stalled and then aborts them, unless they have a reason to be silent. When memory
//! is short, it lets one agent start at a time.

mod memory;
mod reasons;
mod silence;

use protocol::{Event, FailKind, MailDelivery, TaskOutcome};
use runtime::SessionStart;
use testkit::session::{Scenario, SessionDriver};

/// Seconds until a silent task is marked as stalled, and a little more.
pub(super) const STALL_SECONDS: u32 = 5 * 60 + 5;

/// Seconds until a stalled task is aborted, and a little more.
pub(super) const ABORT_SECONDS: u32 = 30 * 60 + 10;

pub(super) fn stalled(event: &Event) -> bool {
    matches!(event, Event::TaskStalled { .. })
}

pub(super) fn unstalled(event: &Event) -> bool {
    matches!(event, Event::TaskUnstalled)
}

pub(super) fn aborted_as_stalled(event: &Event) -> bool {
    matches!(event, Event::ActivationEnded { outcome: TaskOutcome::Failed { kind: FailKind::Stalled, .. }, .. })
}

pub(super) async fn begin(scenario: Scenario) -> SessionDriver {
    let driver = scenario.ready().open(SessionStart::New).await;
    driver.send("go", MailDelivery::FollowUp).await;
    driver
}

/// Calls that start workers.
pub(super) fn starts(names: &[&str], mode: &str) -> String {
    let call = |name: &&str| {
        format!(
            "      - call: {{ id: {name}, tool: task, input: {{ description: work, prompt: work, agent_type: worker, \
             name: {name}, mode: {mode} }} }}\n"
        )
    };
    names.iter().map(call).collect()
}
