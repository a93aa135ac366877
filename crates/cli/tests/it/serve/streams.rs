//! Event streams: the same for every client, from any event on, and without delaying the session.

use testkit::http::SseEvent;

use super::{HELD, await_held, hold, release, serve};
use crate::fixture;

/// The durable events, by number.
fn durable(events: &[SseEvent]) -> Vec<(u64, String)> {
    events.iter().filter_map(|event| Some((event.id?, event.data["type"].as_str()?.to_owned()))).collect()
}

fn is_quiet(event: &SseEvent) -> bool {
    event.name == "status" && event.data["quiet"] == true
}

#[test]
fn watchers_see_the_same_order_and_can_reconnect() {
    let fixture = fixture();
    fixture.script(HELD);
    hold(&fixture);
    let server = serve(&fixture);
    let path = format!("{}/events", server.begin("go"));
    let mut one = server.http.watch(&path, None);
    let mut two = server.http.watch(&path, None);
    let is_started = |event: &SseEvent| event.data["type"] == "callStarted";
    let before = one.until(is_started);
    assert_eq!(durable(&before), durable(&two.until(is_started)));
    let last = durable(&before).last().unwrap().0;
    // The first watcher disconnects; events that happen meanwhile are sent when it reconnects.
    drop(one);
    await_held(&fixture);
    release(&fixture);
    let meanwhile = two.until(is_quiet);
    let mut back = server.http.watch(&format!("{path}?after=999"), Some(last));
    let after = back.until(is_quiet);
    assert_eq!(durable(&meanwhile), durable(&after));
    let all = [durable(&before), durable(&after)].concat();
    assert!(all.iter().enumerate().all(|(n, (seq, _))| *seq == n as u64 + 1), "{all:#?}");
    assert!(before.iter().chain(&meanwhile).any(|event| event.name == "text"), "text is streamed");
    let exported = fixture.log(&fixture.newest());
    assert_eq!(all.len(), exported.len());
}

#[test]
fn watcher_that_does_not_read_delays_no_session() {
    let fixture = fixture();
    let turn = r#"
    - - call: { tool: shell, input: { command: "yes 0123456789 | head -c 20000" } }"#;
    fixture.script(&format!("version: 1\nagents:\n  main:{}\n    - - say: It is done.\n", turn.repeat(40)));
    let server = serve(&fixture);
    let path = server.begin("go");
    // More events than any buffer holds.
    let mut late = server.http.with_tiny_buffer().watch(&format!("{path}/events"), None);
    server.await_state(&path, "idle");
    let all = durable(&late.until(is_quiet));
    assert!(all.iter().enumerate().all(|(n, (seq, _))| *seq == n as u64 + 1), "{} events", all.len());
    assert_eq!(all.len(), fixture.log(&fixture.newest()).len());
}

#[test]
fn events_of_an_idle_session_come_from_its_file() {
    let fixture = fixture();
    fixture.script("version: 1\nagents:\n  main:\n    - - say: Hello.\n");
    fixture.prompt("hello").run().expect(0);
    let server = serve(&fixture);
    let path = format!("/v1/sessions/{}/events", fixture.newest());
    let events: Vec<SseEvent> = server.http.watch(&path, None).collect();
    assert_eq!(durable(&events).len(), fixture.log(&fixture.newest()).len());
    assert_eq!(events.last().unwrap().name, "end");
    let rest: Vec<SseEvent> = server.http.watch(&path, Some(3)).collect();
    assert_eq!(durable(&rest), durable(&events)[3..]);
    let beyond: Vec<SseEvent> = server.http.watch(&path, Some(999_999_999_999_999)).collect();
    assert_eq!(beyond.len(), 1);
    server.http.send_raw(&format!("{}Last-Event-ID: x\r\n\r\n", server.http.head("GET", &path))).problem(400);
}
