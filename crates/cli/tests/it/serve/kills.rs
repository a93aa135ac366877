//! Clients and servers that end or are killed.

use std::fs;

use testkit::binary::ProcessSignal;

use super::{HELD, await_held, hold, release, serve};
use crate::fixture;

#[test]
fn session_keeps_running_without_its_client() {
    let fixture = fixture();
    fixture.script(HELD);
    hold(&fixture);
    let server = serve(&fixture);
    let path = server.begin("go");
    let watching = server.http.watch(&format!("{path}/events"), None);
    await_held(&fixture);
    drop(watching);
    release(&fixture);
    server.await_state(&path, "idle");
    let events: Vec<_> = server.http.watch(&format!("{path}/events"), None).until(|event| event.name == "status");
    assert!(events.iter().any(|event| event.data["text"] == "It is done."), "{events:#?}");
}

#[test]
fn session_of_a_killed_server_is_resumed_by_the_next() {
    let fixture = fixture();
    fixture.script(HELD);
    hold(&fixture);
    let mut server = serve(&fixture);
    let path = server.begin("go");
    await_held(&fixture);
    let before = server.http.watch(&format!("{path}/events"), None).until(|event| event.data["type"] == "callStarted");
    let last = before.iter().filter_map(|event| event.id).next_back().unwrap();
    server.running.signal(ProcessSignal::Kill);
    server.running.wait().expect_killed();
    assert_eq!(fixture.sessions()[0]["state"], "interrupted");

    let server = serve(&fixture);
    release(&fixture);
    server.await_state(&path, "idle");
    let after = server.http.watch(&format!("{path}/events"), Some(last)).until(|event| event.name == "status");
    let numbers: Vec<u64> = before.iter().chain(&after).filter_map(|event| event.id).collect();
    assert!(numbers.iter().zip(1..).all(|(seq, n)| *seq == n), "{numbers:?}");
    // A call that ran is not run again.
    assert_eq!(fs::read_to_string(fixture.path("witness")).unwrap(), "run\n");
}

#[test]
fn terminated_server_leaves_its_sessions_resumable() {
    let fixture = fixture();
    fixture.script(HELD);
    hold(&fixture);
    let mut server = serve(&fixture);
    let path = server.begin("go");
    let watching = server.http.watch(&format!("{path}/events"), None);
    await_held(&fixture);
    server.running.signal(ProcessSignal::Terminate);
    let events: Vec<_> = watching.collect();
    assert_eq!(events.last().unwrap().name, "end", "{events:#?}");
    server.running.wait().expect(0);
    let session = fixture.sessions()[0].clone();
    assert_eq!(session["state"], "interrupted");
}
