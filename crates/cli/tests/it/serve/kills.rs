//! Clients and servers that go away, politely or not.

use std::fs;

use testkit::binary::ProcessSignal;

use super::{HELD, await_held, hold, release, serve};
use crate::stage;

#[test]
fn a_session_runs_on_without_its_client_and_is_there_when_it_comes_back() {
    let stage = stage();
    stage.script(HELD);
    hold(&stage);
    let server = serve(&stage);
    let path = server.begin("go");
    let watching = server.http.watch(&format!("{path}/events"), None);
    await_held(&stage);
    drop(watching);
    release(&stage);
    server.await_state(&path, "idle");
    let told: Vec<_> = server.http.watch(&format!("{path}/events"), None).until(|told| told.name == "status");
    assert!(told.iter().any(|told| told.data["text"] == "It is done."), "{told:#?}");
}

#[test]
fn a_killed_server_leaves_a_session_that_is_interrupted_and_resumes() {
    let stage = stage();
    stage.script(HELD);
    hold(&stage);
    let mut server = serve(&stage);
    let path = server.begin("go");
    await_held(&stage);
    let before = server.http.watch(&format!("{path}/events"), None).until(|told| told.data["type"] == "callStarted");
    let last = before.iter().filter_map(|told| told.id).next_back().unwrap();
    server.running.signal(ProcessSignal::Kill);
    server.running.wait().expect_killed();

    let server = serve(&stage);
    let listed = server.http.done("GET", "/v1/sessions?state=interrupted", None);
    assert_eq!(listed["total"], 1, "{listed}");
    release(&stage);
    server.http.done("POST", &format!("{path}/resume"), None);
    server.await_state(&path, "idle");
    let after = server.http.watch(&format!("{path}/events"), Some(last)).until(|told| told.name == "status");
    let numbers: Vec<u64> = before.iter().chain(&after).filter_map(|told| told.id).collect();
    assert!(numbers.iter().zip(1..).all(|(seq, n)| *seq == n), "{numbers:?}");
    // A call that ran is not run again.
    assert_eq!(fs::read_to_string(stage.path("witness")).unwrap(), "run\n");
}

#[test]
fn a_server_that_is_asked_to_end_leaves_its_sessions_resumable() {
    let stage = stage();
    stage.script(HELD);
    hold(&stage);
    let mut server = serve(&stage);
    let path = server.begin("go");
    let watching = server.http.watch(&format!("{path}/events"), None);
    await_held(&stage);
    server.running.signal(ProcessSignal::Terminate);
    let told: Vec<_> = watching.collect();
    assert_eq!(told.last().unwrap().name, "end", "{told:#?}");
    server.running.wait().expect(0);
    let session = stage.sessions()[0].clone();
    assert_eq!(session["state"], "interrupted");
}
