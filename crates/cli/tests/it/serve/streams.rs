//! Streams of events: the same for everybody, from any point on, and never in anybody's way.

use testkit::http::SseEvent;

use super::{HELD, await_held, hold, release, serve};
use crate::stage;

/// The durable events, by number.
fn durable(told: &[SseEvent]) -> Vec<(u64, String)> {
    told.iter().filter_map(|told| Some((told.id?, told.data["type"].as_str()?.to_owned()))).collect()
}

fn is_quiet(told: &SseEvent) -> bool {
    told.name == "status" && told.data["quiet"] == true
}

#[test]
fn two_watchers_see_the_same_order_and_who_comes_back_loses_nothing() {
    let stage = stage();
    stage.script(HELD);
    hold(&stage);
    let server = serve(&stage);
    let path = format!("{}/events", server.begin("go"));
    let mut one = server.http.watch(&path, None);
    let mut two = server.http.watch(&path, None);
    let is_started = |told: &SseEvent| told.data["type"] == "callStarted";
    let before = one.until(is_started);
    assert_eq!(durable(&before), durable(&two.until(is_started)));
    let last = durable(&before).last().unwrap().0;
    // It goes away, and what happens meanwhile is there when it comes back.
    drop(one);
    await_held(&stage);
    release(&stage);
    let meanwhile = two.until(is_quiet);
    let mut back = server.http.watch(&format!("{path}?after=999"), Some(last));
    let after = back.until(is_quiet);
    assert_eq!(durable(&meanwhile), durable(&after));
    let all = [durable(&before), durable(&after)].concat();
    assert!(all.iter().enumerate().all(|(n, (seq, _))| *seq == n as u64 + 1), "{all:#?}");
    assert!(before.iter().chain(&meanwhile).any(|told| told.name == "text"), "text is streamed");
    let exported = stage.log(&stage.newest());
    assert_eq!(all.len(), exported.len());
}

#[test]
fn a_watcher_that_reads_nothing_holds_up_nobody() {
    let stage = stage();
    let turn = r#"
    - - call: { tool: shell, input: { command: "yes 0123456789 | head -c 20000" } }"#;
    stage.script(&format!("version: 1\nagents:\n  main:{}\n    - - say: It is done.\n", turn.repeat(40)));
    let server = serve(&stage);
    let path = server.begin("go");
    // More happens than waits for it anywhere.
    let mut late = server.http.narrow().watch(&format!("{path}/events"), None);
    server.await_state(&path, "idle");
    let all = durable(&late.until(is_quiet));
    assert!(all.iter().enumerate().all(|(n, (seq, _))| *seq == n as u64 + 1), "{} events", all.len());
    assert_eq!(all.len(), stage.log(&stage.newest()).len());
}

#[test]
fn what_nobody_runs_is_told_from_its_file_and_ends() {
    let stage = stage();
    stage.script("version: 1\nagents:\n  main:\n    - - say: Hello.\n");
    stage.prompt("hello").run().expect(0);
    let server = serve(&stage);
    let path = format!("/v1/sessions/{}/events", stage.newest());
    let told: Vec<SseEvent> = server.http.watch(&path, None).collect();
    assert_eq!(durable(&told).len(), stage.log(&stage.newest()).len());
    assert_eq!(told.last().unwrap().name, "end");
    let rest: Vec<SseEvent> = server.http.watch(&path, Some(3)).collect();
    assert_eq!(durable(&rest), durable(&told)[3..]);
    let beyond: Vec<SseEvent> = server.http.watch(&path, Some(999_999_999_999_999)).collect();
    assert_eq!(beyond.len(), 1);
    server.http.say(&format!("{}Last-Event-ID: x\r\n\r\n", server.http.head("GET", &path))).problem(400);
}
