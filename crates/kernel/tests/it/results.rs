//! Results that come to a task at rest wait for each other.

use std::time::Duration;

use bosun_kernel::*;
use protocol::*;

use crate::desk::{Desk, id, letter};

/// A root at rest that has started this many agents in the background.
fn resting(agents: u128, window: Duration) -> Desk {
    let limits = Limits { live: 1_000, total: 1_000, result_window: window, ..Limits::default() };
    let mut desk = Desk::with(limits, |root| root.max_turns = None);
    (0..agents).for_each(|n| drop(desk.child(n + 2)));
    desk.completes(desk.root);
    desk
}

const WINDOW: Duration = Duration::from_secs(1);

fn later(desk: &mut Desk, by: Duration) -> Vec<String> {
    desk.now = desk.now.plus(by);
    desk.ok(Input::Tick)
}

/// The root hears what there is and rests again.
fn hears(desk: &mut Desk) -> usize {
    let run = desk.run(1);
    let heard = desk.report(run, Report::Boundary(Point::Between));
    desk.completes(run);
    heard.len()
}

#[test]
fn the_result_of_the_only_agent_at_work_wakes_at_once() {
    let mut desk = resting(1, WINDOW);
    assert!(desk.completes(desk.run(2)).contains(&"1 activationStarted".into()));
}

#[test]
fn results_wait_for_each_other_while_agents_are_at_work() {
    let mut desk = resting(3, WINDOW);
    let ended = desk.completes(desk.run(2));
    assert_eq!(ended.last().map(String::as_str), Some("1 wakeDelayed"));
    assert!(later(&mut desk, WINDOW / 2).is_empty());
    desk.completes(desk.run(3));
    assert_eq!(later(&mut desk, WINDOW / 2), ["1 taskRequeued", "1 activationStarted", "start 1:2.1"]);
    assert_eq!(desk.report(desk.run(1), Report::Boundary(Point::Between)), ["1 mailDelivered [4, 5]"]);
}

#[test]
fn the_last_result_and_anybody_who_writes_end_the_wait() {
    let mut desk = resting(2, WINDOW);
    desk.completes(desk.run(2));
    assert!(desk.completes(desk.run(3)).contains(&"1 activationStarted".into()));
    let mut desk = resting(2, WINDOW);
    desk.completes(desk.run(2));
    assert!(desk.ok(Input::Send(letter(id(1), Delivery::FollowUp))).contains(&"1 activationStarted".into()));
    assert_eq!(desk.kernel.alarm(), None);
}

#[test]
fn without_a_window_each_result_wakes() {
    let mut desk = resting(2, Duration::ZERO);
    assert!(desk.completes(desk.run(2)).contains(&"1 activationStarted".into()));
}

#[test]
fn a_root_that_has_said_its_word_rests_over_results_while_more_are_to_come() {
    let limits = Limits { live: 9, total: 9, result_window: WINDOW, ..Limits::default() };
    let mut desk = Desk::with(limits, |_| {});
    (2..5).for_each(|n| drop(desk.child(n)));
    desk.says(desk.root, "I wait.");
    desk.completes(desk.run(2));
    desk.report(desk.root, Report::Boundary(Point::End));
    let ended = desk.report(desk.root, Report::Ended { ending: Ending::Completed, text: String::new() });
    assert_eq!(ended, ["1 activationEnded completed", "1 wakeDelayed"]);
    desk.completes(desk.run(3));
    assert!(desk.completes(desk.run(4)).contains(&"1 activationStarted".into()));
    assert_eq!(hears(&mut desk), 1);
}

#[test]
fn a_new_owner_wakes_whoever_has_results() {
    let mut desk = resting(2, WINDOW);
    desk.completes(desk.run(2));
    desk.ok(Input::Adopt { fence: Fence(2), terms: crate::desk::terms() });
    assert!(desk.ok(Input::Resume).contains(&"1 activationStarted".into()));
    assert_eq!(desk.kernel.alarm(), None);
}

/// D14: 400 agents that end apart cost few turns, however far apart they end.
#[test]
fn many_results_that_come_one_by_one_cost_few_turns() {
    for (apart, most) in [(Duration::from_millis(40), 8), (Duration::from_secs(5), 45)] {
        let mut desk = resting(400, WINDOW);
        let mut wakes = 0;
        for n in 0..400 {
            desk.completes(desk.run(n + 2));
            later(&mut desk, apart);
            if desk.task(1).is_running() {
                wakes += 1;
                hears(&mut desk);
            }
        }
        assert!(wakes <= most, "{wakes} turns for results {apart:?} apart");
        assert!(desk.task(1).inbox.is_empty() && desk.kernel.is_quiet());
    }
}
