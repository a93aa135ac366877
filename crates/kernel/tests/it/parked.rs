//! A session that waits for a provider.

use bosun_kernel::*;
use protocol::*;

use crate::desk::*;

const AUTH: Parking = Parking { until: None, why: ParkReason::Auth };

#[test]
fn a_root_that_waits_for_a_parked_agent_is_parked_with_it() {
    let mut desk = Desk::new();
    let turn = desk.runs(desk.root, &["a", "b"]);
    desk.sync(desk.root, turn, "a", 2);
    assert_eq!(desk.kernel.parked(), None);
    desk.report(desk.run(2), Report::Park(parking(At(900))));
    // Another call of the root still runs.
    assert_eq!(desk.kernel.parked(), None);
    desk.report(desk.root, answered(turn, "b"));
    assert_eq!(desk.kernel.parked(), Some(parking(At(900))));
    desk.child(3);
    assert_eq!(desk.kernel.parked(), None);
    desk.report(desk.run(3), Report::Park(parking(At(700))));
    assert_eq!(desk.kernel.parked(), Some(parking(At(700))));
    desk.now = At(700);
    desk.ok(Input::Tick);
    assert_eq!(desk.kernel.parked(), None);
}

#[test]
fn agents_parked_for_their_key_resume_with_the_session_and_not_before() {
    let mut desk = Desk::new();
    desk.child(2);
    desk.completes(desk.root);
    desk.report(desk.run(2), Report::Park(AUTH));
    assert_eq!((desk.kernel.parked(), desk.kernel.alarm()), (Some(AUTH), None));
    desk.now = At(9_000_000);
    desk.ok(Input::Tick);
    assert_eq!(desk.state(2), "parked");
    desk.ok(Input::Adopt { fence: Fence(2), terms: terms() });
    assert_eq!(desk.state(2), "parked");
    desk.ok(Input::Resume);
    assert_eq!(desk.state(2), "running");
}

#[test]
fn a_message_of_the_user_lets_an_agent_try_its_key_again() {
    let mut desk = Desk::new();
    desk.report(desk.root, Report::Park(AUTH));
    desk.ok(Input::Send(letter(id(1), Delivery::Steer)));
    assert_eq!(desk.state(1), "running");
}
