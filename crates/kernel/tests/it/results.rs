//! Results for an idle task are held back for a while, so that it reads several of them together.

use std::time::Duration;

use bosun_kernel::*;
use protocol::*;

use crate::fixture::{KernelFixture, id, user_mail};

/// A session whose idle root has started this many agents in the background.
fn idle_root(agents: u128, window: Duration) -> KernelFixture {
    let limits = SessionLimits { live: 1_000, total: 1_000, result_window: window, ..SessionLimits::default() };
    let mut kernel = KernelFixture::with(limits, |root| root.max_turns = None);
    (0..agents).for_each(|n| drop(kernel.child(n + 2)));
    kernel.complete(kernel.root);
    kernel
}

const WINDOW: Duration = Duration::from_secs(1);

fn advance(kernel: &mut KernelFixture, by: Duration) -> Vec<String> {
    kernel.now = kernel.now.plus(by);
    kernel.ok(KernelInput::Tick)
}

/// Lets the root read its mail and become idle again; returns the number of delivery events.
fn read_mail(kernel: &mut KernelFixture) -> usize {
    let run = kernel.run(1);
    let effects = kernel.report(run, RunUpdate::Boundary(BoundaryPoint::BetweenTurns));
    kernel.complete(run);
    effects.len()
}

#[test]
fn the_result_of_the_only_agent_at_work_wakes_the_root_at_once() {
    let mut kernel = idle_root(1, WINDOW);
    assert!(kernel.complete(kernel.run(2)).contains(&"1 activationStarted".into()));
}

#[test]
fn results_wait_for_each_other_while_agents_are_at_work() {
    let mut kernel = idle_root(3, WINDOW);
    let ended = kernel.complete(kernel.run(2));
    assert_eq!(ended.last().map(String::as_str), Some("1 wakeDelayed"));
    assert!(advance(&mut kernel, WINDOW / 2).is_empty());
    kernel.complete(kernel.run(3));
    assert_eq!(advance(&mut kernel, WINDOW / 2), ["1 taskRequeued", "1 activationStarted", "start 1:2.1"]);
    assert_eq!(
        kernel.report(kernel.run(1), RunUpdate::Boundary(BoundaryPoint::BetweenTurns)),
        ["1 mailDelivered [4, 5]"]
    );
}

#[test]
fn the_last_result_or_a_message_ends_the_delay() {
    let mut kernel = idle_root(2, WINDOW);
    kernel.complete(kernel.run(2));
    assert!(kernel.complete(kernel.run(3)).contains(&"1 activationStarted".into()));
    let mut kernel = idle_root(2, WINDOW);
    kernel.complete(kernel.run(2));
    assert!(
        kernel.ok(KernelInput::Send(user_mail(id(1), MailDelivery::FollowUp))).contains(&"1 activationStarted".into())
    );
    assert_eq!(kernel.kernel.next_alarm(), None);
}

#[test]
fn without_a_window_each_result_wakes_the_root() {
    let mut kernel = idle_root(2, Duration::ZERO);
    assert!(kernel.complete(kernel.run(2)).contains(&"1 activationStarted".into()));
}

#[test]
fn a_root_with_a_final_message_becomes_idle_despite_results_if_more_will_come() {
    let limits = SessionLimits { live: 9, total: 9, result_window: WINDOW, ..SessionLimits::default() };
    let mut kernel = KernelFixture::with(limits, |_| {});
    (2..5).for_each(|n| drop(kernel.child(n)));
    kernel.answer_with_text(kernel.root, "I wait.");
    kernel.complete(kernel.run(2));
    kernel.report(kernel.root, RunUpdate::Boundary(BoundaryPoint::End));
    let ended = kernel.report(kernel.root, RunUpdate::Ended { ending: RunEnding::Completed, text: String::new() });
    assert_eq!(ended, ["1 activationEnded completed", "1 wakeDelayed"]);
    kernel.complete(kernel.run(3));
    assert!(kernel.complete(kernel.run(4)).contains(&"1 activationStarted".into()));
    assert_eq!(read_mail(&mut kernel), 1);
}

#[test]
fn a_new_owner_wakes_tasks_with_unread_results() {
    let mut kernel = idle_root(2, WINDOW);
    kernel.complete(kernel.run(2));
    kernel.ok(KernelInput::Adopt { fence: Fence(2), config: crate::fixture::session_config() });
    assert!(kernel.ok(KernelInput::Resume).contains(&"1 activationStarted".into()));
    assert_eq!(kernel.kernel.next_alarm(), None);
}

/// 400 agents that end one after the other cost few turns, at any interval.
#[test]
fn many_results_that_come_one_by_one_cost_few_turns() {
    for (apart, max_wakes) in [(Duration::from_millis(40), 8), (Duration::from_secs(5), 45)] {
        let mut kernel = idle_root(400, WINDOW);
        let mut wakes = 0;
        for n in 0..400 {
            kernel.complete(kernel.run(n + 2));
            advance(&mut kernel, apart);
            if kernel.task(1).is_running() {
                wakes += 1;
                read_mail(&mut kernel);
            }
        }
        assert!(wakes <= max_wakes, "{wakes} turns for results {apart:?} apart");
        assert!(kernel.task(1).inbox.is_empty() && kernel.kernel.is_quiet());
    }
}
