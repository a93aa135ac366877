//! Sessions survive the end of their host: a kill, and a new binary.

use std::fs;

use protocol::Envelope;
use serde_json::Value;
use testkit::binary::ProcessSignal;
use testkit::http::Http;

use super::logs::{check_requests, check_resumed};
use super::{HostFixture, answers_of_job, install};
use crate::BOSUN;

const SESSIONS: usize = 20;

/// The lines of held jobs whose calls were interrupted: each ran once.
#[track_caller]
fn check_calls_ran_once(host: &HostFixture) {
    let mut lines = host.witness();
    let all = lines.len();
    lines.sort();
    lines.dedup();
    assert_eq!(lines.len(), all, "a call ran twice: {lines:?}");
}

#[test]
fn sessions_of_a_killed_host_are_adopted_by_the_next_command_and_keep_every_turn() {
    let host = HostFixture::new(BOSUN);
    let mut ids = host.begin_jobs(SESSIONS);
    let killed = host.pid();
    ProcessSignal::Kill.send(killed);
    let before: Vec<Vec<Envelope>> = ids.iter().map(|id| host.fixture.log(id)).collect();
    host.release();
    ids.push(host.detach("busy job 20"));
    assert_ne!(host.pid(), killed);
    host.await_rest(&ids);
    let after: Vec<Vec<Envelope>> = ids.iter().map(|id| host.fixture.log(id)).collect();
    for (number, (before, after)) in before.iter().zip(&after).enumerate() {
        check_resumed(before, after, answers_of_job(number), 1);
    }
    check_calls_ran_once(&host);
    check_requests(&host.server, &after);
}

#[test]
fn a_new_binary_takes_over_every_session_and_followers_see_each_event_once() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("bosun");
    install(&program);
    let host = HostFixture::new(program.to_str().unwrap());
    let mut ids = host.begin_jobs(SESSIONS);
    let followers: Vec<_> = ids.iter().map(|id| host.bosun(&["sessions", "watch", id]).start()).collect();
    followers.iter().for_each(|follower| follower.await_stdout("turnAnswered"));
    let before: Vec<Vec<Envelope>> = ids.iter().map(|id| host.fixture.log(id)).collect();
    let old = host.status();
    install(&program);
    ids.push(host.detach("busy job 20"));
    let new = host.status();
    assert_ne!((&old["pid"], &old["program"]["inode"]), (&new["pid"], &new["program"]["inode"]));
    assert_eq!(new["notAdopted"], Value::Array(Vec::new()));
    host.release();
    host.await_rest(&ids);
    let after: Vec<Vec<Envelope>> = ids.iter().map(|id| host.fixture.log(id)).collect();
    for (number, (before, after)) in before.iter().zip(&after).enumerate() {
        check_resumed(before, after, answers_of_job(number), 0);
    }
    for (follower, log) in followers.into_iter().zip(&after) {
        let followed = follower.wait().expect(0).stdout;
        let followed: Vec<Envelope> = followed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(followed, *log, "each event once and in order");
    }
    check_calls_ran_once(&host);
    check_requests(&host.server, &after);
}

#[test]
fn http_clients_of_a_replaced_host_reconnect_and_miss_nothing() {
    let host = HostFixture::new(BOSUN);
    let first = host.bosun(&["serve", "--json"]).start();
    first.await_stdout("\n");
    let output: Value = serde_json::from_str(first.stdout().trim()).unwrap();
    let http = Http::new(output["url"].as_str().unwrap(), output["token"].as_str().unwrap());
    let body = serde_json::json!({ "prompt": "held job 1", "permission": "allowAll", "cwd": host.fixture.folder() });
    let session = http.request_ok("POST", "/v1/sessions", Some(body));
    let path = format!("/v1/sessions/{}", session["id"].as_str().unwrap());
    let mut stream = http.watch(&format!("{path}/events"), None);
    let mut events = stream.until(|event| event.data["type"] == "callStarted" && event.data["call"] == "held");

    let second = host.bosun(&["serve", "--json", "--replace"]).start();
    events.extend(stream);
    assert!(events.iter().all(|event| event.name != "end"), "the stream breaks off, so that its client reconnects");
    first.wait().expect(0);
    second.await_stdout("\n");
    let taken_over: Value = serde_json::from_str(second.stdout().trim()).unwrap();
    assert_eq!((&taken_over["url"], &taken_over["token"]), (&output["url"], &output["token"]));
    let last = events.iter().filter_map(|event| event.id).next_back();
    host.release();
    let mut stream = http.watch(&format!("{path}/events"), last);
    events.extend(stream.until(|event| event.name == "status" && event.data["quiet"] == true));
    let numbers: Vec<u64> = events.iter().filter_map(|event| event.id).collect();
    assert!(numbers.iter().zip(1..).all(|(seq, n)| *seq == n), "{numbers:?}");
    assert!(events.iter().any(|event| event.data["text"] == "It is done."), "{events:#?}");
    assert_eq!(fs::read_to_string(host.fixture.path("witness")).unwrap(), "begin-1\nheld-1\n");
}
