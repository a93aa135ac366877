//! Caps on agents of one definition, memory that is short, and places in line.

use std::collections::BTreeMap;

use bosun_kernel::*;
use protocol::*;

use crate::desk::*;

fn capped(live: u32, kind: &str, cap: u32) -> Desk {
    let of_type = BTreeMap::from([(kind.to_owned(), cap)]);
    Desk::with(Limits { live, depth: 6, total: 20, of_type, ..Limits::default() }, |_| {})
}

fn agent(desk: &mut Desk, n: u128, kind: &str) -> Vec<String> {
    desk.spawn(n, |spec| spec.agent = kind.into())
}

fn sync_of(desk: &mut Desk, parent: u128, n: u128, kind: &str) {
    let run = desk.run(parent);
    let turn = desk.calls(run, &["s"]);
    let mut spawn = by_call(run, turn, "s", n, Mode::Sync);
    spawn.spec.agent = kind.into();
    desk.ok(Input::Spawn(spawn));
}

#[test]
fn t5_agents_of_a_capped_type_queue_and_others_pass_them() {
    let mut desk = capped(4, "build", 1);
    agent(&mut desk, 2, "build");
    agent(&mut desk, 3, "build");
    agent(&mut desk, 4, "build");
    assert!(agent(&mut desk, 5, "look").contains(&"start 5:1.1".into()));
    assert_eq!((desk.state(2), desk.state(3), desk.state(4)), ("running", "queued", "queued"));
    let ended = desk.completes(desk.run(2));
    assert_eq!(ended.last().unwrap(), "start 3:1.1");
    assert_eq!(desk.state(4), "queued");
}

#[test]
fn t5_a_cap_on_a_type_holds_for_those_who_come_back_from_a_wait_too() {
    let mut desk = capped(4, "build", 1);
    agent(&mut desk, 2, "build");
    agent(&mut desk, 3, "build");
    sync_of(&mut desk, 2, 4, "look");
    assert_eq!(desk.state(3), "running", "who waits holds no place");
    desk.completes(desk.run(4));
    assert_eq!(desk.task(2).phase, Phase::Running(Footing::Returning));
    agent(&mut desk, 5, "build");
    let ended = desk.completes(desk.run(3));
    assert!(ended.contains(&"go 2:1.1".into()), "{ended:?}");
    assert_eq!(desk.state(5), "queued");
}

#[test]
fn one_that_comes_back_does_not_keep_those_of_other_types_from_starting() {
    let mut desk = capped(2, "build", 1);
    agent(&mut desk, 2, "build");
    agent(&mut desk, 3, "build");
    sync_of(&mut desk, 2, 4, "look");
    desk.completes(desk.run(4));
    assert_eq!((desk.state(3), desk.task(2).phase.clone()), ("running", Phase::Running(Footing::Returning)));
    assert!(agent(&mut desk, 5, "look").contains(&"start 5:1.1".into()));
}

#[test]
fn a_chain_of_one_capped_type_finishes() {
    let mut desk = capped(1, "build", 1);
    agent(&mut desk, 2, "build");
    for n in 3..7 {
        sync_of(&mut desk, n - 1, n, "build");
    }
    for n in (2..7).rev() {
        if n < 6 {
            desk.report(desk.run(n), answered(Turn(1), "s"));
        }
        desk.completes(desk.run(n));
    }
    assert_eq!(desk.state(2), "completed");
}

#[test]
fn an_agent_whose_type_may_not_run_at_all_is_refused_rather_than_queued_for_ever() {
    let mut desk = capped(4, "build", 0);
    let mut spec = spec(Kind::Agent, Some(id(1)));
    spec.agent = "build".into();
    let spawn = Spawn { id: id(2), spec, prompt: "go".into(), by: None, until: None, definition: None };
    assert_eq!(desk.refused(Input::Spawn(spawn)), "no agent of the type `build` may run: its limit is 0");
}

#[test]
fn t5_while_memory_is_short_one_agent_begins_at_a_time() {
    let mut desk = Desk::with(Limits { live: 4, depth: 4, total: 9, ..Limits::default() }, |_| {});
    desk.child(2);
    desk.child(3);
    desk.ok(Input::Memory(Memory::Tight));
    desk.child(4);
    desk.child(5);
    assert_eq!((desk.state(2), desk.state(3), desk.state(4)), ("running", "running", "queued"));
    desk.completes(desk.run(2));
    assert_eq!(desk.state(4), "queued");
    assert_eq!(desk.completes(desk.run(3)).last().unwrap(), "start 4:1.1");
    assert_eq!(desk.ok(Input::Memory(Memory::Ample)), ["5 activationStarted", "start 5:1.1"]);
}

#[test]
fn who_comes_back_from_a_wait_goes_on_though_memory_is_short() {
    let mut desk = Desk::with(Limits { live: 4, depth: 4, total: 9, ..Limits::default() }, |_| {});
    desk.child(2);
    desk.child(3);
    desk.ok(Input::Memory(Memory::Tight));
    sync_of(&mut desk, 2, 4, "task");
    assert_eq!(desk.state(4), "queued", "3 runs");
    desk.completes(desk.run(3));
    assert_eq!(desk.state(4), "running", "nobody else does");
    assert!(desk.completes(desk.run(4)).contains(&"go 2:1.1".into()));
}

#[test]
fn mail_does_not_cost_a_queued_agent_its_place_in_line() {
    let mut desk = Desk::with(Limits { live: 1, depth: 4, total: 9, ..Limits::default() }, |_| {});
    for n in 2..5 {
        desk.child(n);
    }
    desk.ok(Input::Send(letter(id(3), Delivery::Steer)));
    let ended = desk.completes(desk.run(2));
    assert_eq!(ended.last().unwrap(), "start 3:1.1");
}
