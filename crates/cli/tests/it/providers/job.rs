//! A job of many calls, and its results.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use protocol::{ContentBlock, Envelope, Event, Usage};
use serde_json::Value;
use testkit::binary::{BinaryFixture, BinaryInvocation};

use crate::fixture;

/// The script of the job.
pub(super) const JOB: &str = include_str!("job.yaml");

/// The results of a job.
#[derive(Debug)]
pub(super) struct JobResult {
    /// Its output.
    pub(super) stdout: String,
    /// The files of its folder.
    pub(super) tree: BTreeMap<String, String>,
    /// The calls as they were made.
    pub(super) calls: Vec<String>,
    /// All events, without the parts that differ between runs.
    pub(super) transcript: String,
    /// The total usage of its turns.
    pub(super) usage: Usage,
}

/// Does the job in a folder of its own, with the binary as `ask` invokes it.
pub(super) fn run_job(ask: impl Fn(&BinaryFixture) -> BinaryInvocation) -> JobResult {
    let fixture = fixture();
    fs::create_dir_all(fixture.path("src")).unwrap();
    fs::create_dir_all(fixture.path("notes")).unwrap();
    fs::write(fixture.path("src/greet.sh"), "echo 'helo, world'\n").unwrap();
    fs::write(fixture.path("größe.txt"), "eins\nzwei ☃\n").unwrap();
    let ended = ask(&fixture).run().expect(0);
    let log = fixture.log(&fixture.newest());
    JobResult {
        stdout: ended.stdout,
        tree: tree(&fixture.folder()),
        calls: calls(&log),
        transcript: transcript(&fixture, &log),
        usage: usage(&log),
    }
}

fn tree(folder: &Path) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().display().to_string();
                files.insert(name, fs::read_to_string(&path).unwrap());
            }
        }
    }
    files
}

fn calls(log: &[Envelope]) -> Vec<String> {
    let content = log.iter().flat_map(|envelope| match &envelope.entry.event {
        Event::TurnAnswered { content, .. } => content.as_slice(),
        _other => &[],
    });
    let call = |block: &ContentBlock| match block {
        ContentBlock::Call(call) => Some(format!("{} {} {}", call.id, call.tool, call.input)),
        ContentBlock::Text { .. } | ContentBlock::Thinking { .. } | ContentBlock::Opaque { .. } => None,
    };
    content.filter_map(call).collect()
}

/// The sum over all turns.
pub(super) fn usage(log: &[Envelope]) -> Usage {
    log.iter().fold(Usage::default(), |sum, envelope| match &envelope.entry.event {
        Event::TurnAnswered { usage, .. } => sum.plus(*usage),
        _other => sum,
    })
}

fn transcript(fixture: &BinaryFixture, log: &[Envelope]) -> String {
    let mut events: Vec<Value> = log.iter().map(normalized).collect();
    // Adjacent read-only calls run at the same time, so their answers may come in any order.
    for run in events.chunk_by_mut(|a, b| is_answer(a) && is_answer(b)) {
        run.sort_by_key(|event| event["call"].as_str().map(str::to_owned));
    }
    let text: String = events.iter().map(|event| format!("{event}\n")).collect();
    text.replace(&fixture.folder().display().to_string(), "FOLDER")
}

fn is_answer(event: &Value) -> bool {
    event["type"] == "callAnswered"
}

/// An event without ids, times, model names and opaque data of its wire.
fn normalized(envelope: &Envelope) -> Value {
    let mut event = serde_json::to_value(envelope).unwrap();
    let fields = event.as_object_mut().unwrap();
    for name in ["seq", "session", "task", "at", "by", "model", "reserved", "price", "maxOutput"] {
        fields.remove(name);
    }
    if let Some(Value::Array(content)) = fields.get_mut("content") {
        content.retain(|block| block["type"] != "opaque");
    }
    event
}
