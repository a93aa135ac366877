//! Results that come to a task at rest wait for each other.

use std::time::Duration;

use bosun_kernel::*;
use protocol::*;

use crate::fixture::{KernelFixture, id, letter};

/// A root at rest that has started this many agents in the background.
fn resting(agents: u128, window: Duration) -> KernelFixture {
    let limits = SessionLimits { live: 1_000, total: 1_000, result_window: window, ..SessionLimits::default() };
    let mut kernel = KernelFixture::with(limits, |root| root.max_turns = None);
    (0..agents).for_each(|n| drop(kernel.child(n + 2)));
    kernel.completes(kernel.root);
    kernel
}

const WINDOW: Duration = Duration::from_secs(1);

fn later(kernel: &mut KernelFixture, by: Duration) -> Vec<String> {
    kernel.now = kernel.now.plus(by);
    kernel.ok(KernelInput::Tick)
}

/// The root hears what there is and rests again.
fn hears(kernel: &mut KernelFixture) -> usize {
    let run = kernel.run(1);
    let heard = kernel.report(run, RunUpdate::Boundary(BoundaryPoint::Between));
    kernel.completes(run);
    heard.len()
}

#[test]
fn the_result_of_the_only_agent_at_work_wakes_at_once() {
    let mut kernel = resting(1, WINDOW);
    assert!(kernel.completes(kernel.run(2)).contains(&"1 activationStarted".into()));
}

#[test]
fn results_wait_for_each_other_while_agents_are_at_work() {
    let mut kernel = resting(3, WINDOW);
    let ended = kernel.completes(kernel.run(2));
    assert_eq!(ended.last().map(String::as_str), Some("1 wakeDelayed"));
    assert!(later(&mut kernel, WINDOW / 2).is_empty());
    kernel.completes(kernel.run(3));
    assert_eq!(later(&mut kernel, WINDOW / 2), ["1 taskRequeued", "1 activationStarted", "start 1:2.1"]);
    assert_eq!(kernel.report(kernel.run(1), RunUpdate::Boundary(BoundaryPoint::Between)), ["1 mailDelivered [4, 5]"]);
}

#[test]
fn the_last_result_and_anybody_who_writes_end_the_wait() {
    let mut kernel = resting(2, WINDOW);
    kernel.completes(kernel.run(2));
    assert!(kernel.completes(kernel.run(3)).contains(&"1 activationStarted".into()));
    let mut kernel = resting(2, WINDOW);
    kernel.completes(kernel.run(2));
    assert!(
        kernel.ok(KernelInput::Send(letter(id(1), MailDelivery::FollowUp))).contains(&"1 activationStarted".into())
    );
    assert_eq!(kernel.kernel.next_alarm(), None);
}

#[test]
fn without_a_window_each_result_wakes() {
    let mut kernel = resting(2, Duration::ZERO);
    assert!(kernel.completes(kernel.run(2)).contains(&"1 activationStarted".into()));
}

#[test]
fn a_root_that_has_said_its_word_rests_over_results_while_more_are_to_come() {
    let limits = SessionLimits { live: 9, total: 9, result_window: WINDOW, ..SessionLimits::default() };
    let mut kernel = KernelFixture::with(limits, |_| {});
    (2..5).for_each(|n| drop(kernel.child(n)));
    kernel.says(kernel.root, "I wait.");
    kernel.completes(kernel.run(2));
    kernel.report(kernel.root, RunUpdate::Boundary(BoundaryPoint::End));
    let ended = kernel.report(kernel.root, RunUpdate::Ended { ending: RunEnding::Completed, text: String::new() });
    assert_eq!(ended, ["1 activationEnded completed", "1 wakeDelayed"]);
    kernel.completes(kernel.run(3));
    assert!(kernel.completes(kernel.run(4)).contains(&"1 activationStarted".into()));
    assert_eq!(hears(&mut kernel), 1);
}

#[test]
fn a_new_owner_wakes_whoever_has_results() {
    let mut kernel = resting(2, WINDOW);
    kernel.completes(kernel.run(2));
    kernel.ok(KernelInput::Adopt { fence: Fence(2), config: crate::fixture::terms() });
    assert!(kernel.ok(KernelInput::Resume).contains(&"1 activationStarted".into()));
    assert_eq!(kernel.kernel.next_alarm(), None);
}

/// D14: 400 agents that end apart cost few turns, however far apart they end.
#[test]
fn many_results_that_come_one_by_one_cost_few_turns() {
    for (apart, most) in [(Duration::from_millis(40), 8), (Duration::from_secs(5), 45)] {
        let mut kernel = resting(400, WINDOW);
        let mut wakes = 0;
        for n in 0..400 {
            kernel.completes(kernel.run(n + 2));
            later(&mut kernel, apart);
            if kernel.task(1).is_running() {
                wakes += 1;
                hears(&mut kernel);
            }
        }
        assert!(wakes <= most, "{wakes} turns for results {apart:?} apart");
        assert!(kernel.task(1).inbox.is_empty() && kernel.kernel.is_quiet());
    }
}
