//! Limits per agent type, tight memory, and the order of the queue.

use std::collections::BTreeMap;

use bosun_kernel::*;
use protocol::*;

use crate::fixture::*;

fn capped(live: u32, agent_type: &str, cap: u32) -> KernelFixture {
    let of_type = BTreeMap::from([(agent_type.to_owned(), cap)]);
    KernelFixture::with(
        SessionLimits { live, depth: 6, total: 20, max_by_type: of_type, ..SessionLimits::default() },
        |_| {},
    )
}

fn agent(kernel: &mut KernelFixture, n: u128, agent_type: &str) -> Vec<String> {
    kernel.spawn(n, |spec| spec.agent = agent_type.into())
}

fn sync_of(kernel: &mut KernelFixture, parent: u128, n: u128, agent_type: &str) {
    let run = kernel.run(parent);
    let turn = kernel.answer_with_calls(run, &["s"]);
    let mut spawn = spawn_by_call(run, turn, "s", n, TaskMode::Sync);
    spawn.spec.agent = agent_type.into();
    kernel.ok(KernelInput::Spawn(spawn));
}

#[test]
fn agents_of_a_capped_type_queue_and_others_pass_them() {
    let mut kernel = capped(4, "build", 1);
    agent(&mut kernel, 2, "build");
    agent(&mut kernel, 3, "build");
    agent(&mut kernel, 4, "build");
    assert!(agent(&mut kernel, 5, "look").contains(&"start 5:1.1".into()));
    assert_eq!((kernel.state(2), kernel.state(3), kernel.state(4)), ("running", "queued", "queued"));
    let ended = kernel.complete(kernel.run(2));
    assert_eq!(ended.last().unwrap(), "start 3:1.1");
    assert_eq!(kernel.state(4), "queued");
}

#[test]
fn a_cap_on_a_type_also_applies_to_agents_that_return_from_a_wait() {
    let mut kernel = capped(4, "build", 1);
    agent(&mut kernel, 2, "build");
    agent(&mut kernel, 3, "build");
    sync_of(&mut kernel, 2, 4, "look");
    assert_eq!(kernel.state(3), "running", "a waiting agent holds no slot");
    kernel.complete(kernel.run(4));
    assert_eq!(kernel.task(2).phase, TaskPhase::Running(SlotStatus::Returning));
    agent(&mut kernel, 5, "build");
    let ended = kernel.complete(kernel.run(3));
    assert!(ended.contains(&"go 2:1.1".into()), "{ended:?}");
    assert_eq!(kernel.state(5), "queued");
}

#[test]
fn a_returning_agent_does_not_prevent_other_types_from_starting() {
    let mut kernel = capped(2, "build", 1);
    agent(&mut kernel, 2, "build");
    agent(&mut kernel, 3, "build");
    sync_of(&mut kernel, 2, 4, "look");
    kernel.complete(kernel.run(4));
    assert_eq!((kernel.state(3), kernel.task(2).phase.clone()), ("running", TaskPhase::Running(SlotStatus::Returning)));
    assert!(agent(&mut kernel, 5, "look").contains(&"start 5:1.1".into()));
}

#[test]
fn a_chain_of_one_capped_type_finishes() {
    let mut kernel = capped(1, "build", 1);
    agent(&mut kernel, 2, "build");
    for n in 3..7 {
        sync_of(&mut kernel, n - 1, n, "build");
    }
    for n in (2..7).rev() {
        if n < 6 {
            kernel.report(kernel.run(n), call_answered(Turn(1), "s"));
        }
        kernel.complete(kernel.run(n));
    }
    assert_eq!(kernel.state(2), "completed");
}

#[test]
fn an_agent_whose_type_may_never_run_is_refused() {
    let mut kernel = capped(4, "build", 0);
    let mut spec = spec(TaskType::Agent, Some(id(1)));
    spec.agent = "build".into();
    let spawn =
        TaskSpawn { id: id(2), spec, prompt: "go".into(), by: None, until: None, definition: None, redo_reason: None };
    assert_eq!(kernel.refused(KernelInput::Spawn(spawn)), "no agent of the type `build` may run: its limit is 0");
}

#[test]
fn while_memory_is_tight_an_agent_starts_only_if_no_other_runs() {
    let mut kernel =
        KernelFixture::with(SessionLimits { live: 4, depth: 4, total: 9, ..SessionLimits::default() }, |_| {});
    kernel.child(2);
    kernel.child(3);
    kernel.ok(KernelInput::Memory(MemoryPressure::Tight));
    kernel.child(4);
    kernel.child(5);
    assert_eq!((kernel.state(2), kernel.state(3), kernel.state(4)), ("running", "running", "queued"));
    kernel.complete(kernel.run(2));
    assert_eq!(kernel.state(4), "queued");
    assert_eq!(kernel.complete(kernel.run(3)).last().unwrap(), "start 4:1.1");
    assert_eq!(kernel.ok(KernelInput::Memory(MemoryPressure::Ample)), ["5 activationStarted", "start 5:1.1"]);
}

#[test]
fn an_agent_that_returns_from_a_wait_continues_even_if_memory_is_tight() {
    let mut kernel =
        KernelFixture::with(SessionLimits { live: 4, depth: 4, total: 9, ..SessionLimits::default() }, |_| {});
    kernel.child(2);
    kernel.child(3);
    kernel.ok(KernelInput::Memory(MemoryPressure::Tight));
    sync_of(&mut kernel, 2, 4, "task");
    assert_eq!(kernel.state(4), "queued", "3 runs");
    kernel.complete(kernel.run(3));
    assert_eq!(kernel.state(4), "running", "no other agent runs");
    assert!(kernel.complete(kernel.run(4)).contains(&"go 2:1.1".into()));
}

#[test]
fn mail_does_not_change_the_position_of_a_queued_agent() {
    let mut kernel =
        KernelFixture::with(SessionLimits { live: 1, depth: 4, total: 9, ..SessionLimits::default() }, |_| {});
    for n in 2..5 {
        kernel.child(n);
    }
    kernel.ok(KernelInput::Send(user_mail(id(3), MailDelivery::Steer)));
    let ended = kernel.complete(kernel.run(2));
    assert_eq!(ended.last().unwrap(), "start 3:1.1");
}
