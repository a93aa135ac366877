//! Measures how many events per second one session can make durable.

#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a measurement that talks to a terminal")]

use std::sync::Arc;
use std::time::Instant;

use bosun_store::{SessionFile, WriteBatch};
use host::{Home, ProcessIdentity};
use protocol::{Event, LogEntry, SessionId, TaskId, Timestamp};
use tokio::task::JoinSet;

/// The number of callers, and the number of events that they write in total, each with about 400 bytes of text.
const CASES: [(usize, usize); 3] = [(1, 5_000), (8, 20_000), (64, 64_000)];

#[tokio::main(flavor = "current_thread")]
async fn main() {
    println!("| callers | events per second |\n|---:|---:|");
    for (callers, events) in CASES {
        println!("| {callers} | {:.0} |", rate(callers, events).await);
    }
}

/// Events per second if every caller waits for each of its events to be durable before it sends the next.
async fn rate(callers: usize, events: usize) -> f64 {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::open(folder.path().join("home")).unwrap();
    let id = uuid::Uuid::now_v7();
    let opened =
        SessionFile::create(&home, SessionId::new(id), &ProcessIdentity::current().unwrap(), Timestamp(1)).unwrap();
    let writer = Arc::new(opened.writer);
    let began = Instant::now();
    let mut work = JoinSet::new();
    for _ in 0..callers {
        let writer = Arc::clone(&writer);
        work.spawn(async move {
            for n in 0..events / callers {
                let event = Event::IntentReported { intent: format!("{n:0400}") };
                let entry = LogEntry { task: TaskId::new(id), at: Timestamp(1), event };
                let batch = WriteBatch { entries: vec![entry], applied_commands: Vec::new() };
                writer.commit(batch).await.unwrap();
            }
        });
    }
    work.join_all().await;
    (events / callers * callers) as f64 / began.elapsed().as_secs_f64()
}
