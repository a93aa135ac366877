//! What is silent is found and in the end given up, what has a reason to be silent is not, and a machine that is short
//! of memory begins one agent at a time.

mod memory;
mod reasons;
mod silence;

use protocol::{Event, FailKind, MailDelivery, TaskOutcome};
use runtime::SessionStart;
use testkit::session::{Scenario, SessionDriver};

/// Longer than the usual patience before something is called stalled, and before it is given up.
pub(super) const LONG: u32 = 5 * 60 + 5;
pub(super) const TOO_LONG: u32 = 30 * 60 + 10;

pub(super) fn stalled(event: &Event) -> bool {
    matches!(event, Event::TaskStalled { .. })
}

pub(super) fn stirred(event: &Event) -> bool {
    matches!(event, Event::TaskUnstalled)
}

pub(super) fn given_up(event: &Event) -> bool {
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
