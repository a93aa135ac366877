//! Parked agents and parked sessions.

use bosun_kernel::*;
use protocol::*;

use crate::fixture::*;

const AUTH: Parking = Parking { until: None, why: ParkReason::Auth };

#[test]
fn a_root_that_waits_for_a_parked_agent_is_parked_with_it() {
    let mut kernel = KernelFixture::new();
    let turn = kernel.answer_with_started_calls(kernel.root, &["a", "b"]);
    kernel.spawn_sync(kernel.root, turn, "a", 2);
    assert_eq!(kernel.kernel.parked(), None);
    kernel.report(kernel.run(2), RunUpdate::Park(parking(Timestamp(900))));
    // Another call of the root still runs.
    assert_eq!(kernel.kernel.parked(), None);
    kernel.report(kernel.root, call_answered(turn, "b"));
    assert_eq!(kernel.kernel.parked(), Some(parking(Timestamp(900))));
    kernel.child(3);
    assert_eq!(kernel.kernel.parked(), None);
    kernel.report(kernel.run(3), RunUpdate::Park(parking(Timestamp(700))));
    assert_eq!(kernel.kernel.parked(), Some(parking(Timestamp(700))));
    kernel.now = Timestamp(700);
    kernel.ok(KernelInput::Tick);
    assert_eq!(kernel.kernel.parked(), None);
}

#[test]
fn agents_parked_for_a_key_are_resumed_only_with_the_session() {
    let mut kernel = KernelFixture::new();
    kernel.child(2);
    kernel.complete(kernel.root);
    kernel.report(kernel.run(2), RunUpdate::Park(AUTH));
    assert_eq!((kernel.kernel.parked(), kernel.kernel.next_alarm()), (Some(AUTH), None));
    kernel.now = Timestamp(9_000_000);
    kernel.ok(KernelInput::Tick);
    assert_eq!(kernel.state(2), "parked");
    kernel.ok(KernelInput::Adopt { fence: Fence(2), config: session_config() });
    assert_eq!(kernel.state(2), "parked");
    kernel.ok(KernelInput::Resume);
    assert_eq!(kernel.state(2), "running");
}

#[test]
fn a_message_from_the_user_resumes_an_agent_parked_for_a_key() {
    let mut kernel = KernelFixture::new();
    kernel.report(kernel.root, RunUpdate::Park(AUTH));
    kernel.ok(KernelInput::Send(user_mail(id(1), MailDelivery::Steer)));
    assert_eq!(kernel.state(1), "running");
}
