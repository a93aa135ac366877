//! A recorded conversation can be replayed, but no other conversation with it.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bosun_model::{Delta, Deltas, Model, ModelError, ModelRequest, RecordingModel, ReplayModel};
use futures_util::{StreamExt, stream};
use protocol::ToolResultStatus::Done;
use protocol::{ModelFault, StopReason, Usage};
use tempfile::TempDir;

use crate::conversation::{Then, prompt, script, sent};

const RULES: &str = "
  - when: { turn: 1, attempt: 1 }
    fail: { class: retry-after, after: 2s, message: slow down }
  - when: { turn: 1 }
    answer: [ { think: hm }, { say: a }, { say: b }, { call: { tool: t, input: { x: 1 } } } ]
  - when: { turn: 2 }
    answer: [ { say: half }, { cut: true } ]
";

struct Tape {
    _folder: TempDir,
    path: PathBuf,
}

impl Tape {
    fn new() -> Tape {
        let folder = tempfile::tempdir().unwrap();
        Tape { path: folder.path().join("tape.jsonl"), _folder: folder }
    }

    fn recorder(&self) -> RecordingModel {
        RecordingModel::open(Arc::new(script(RULES)), &self.path).unwrap()
    }

    fn replay(&self) -> ReplayModel {
        ReplayModel::load(&self.path).unwrap()
    }

    fn append(&self, bytes: &[u8]) {
        OpenOptions::new().append(true).open(&self.path).unwrap().write_all(bytes).unwrap();
    }
}

fn again(mut request: ModelRequest) -> ModelRequest {
    request.attempt += 1;
    request
}

fn second_turn() -> ModelRequest {
    prompt("go").calls("t", r#"{"x":1}"#).answered("t", Done, "fine")
}

fn error(path: &Path) -> String {
    let error = ReplayModel::load(path).map(|_| "no error").unwrap_err().to_string();
    error.replace(&path.display().to_string(), "TAPE")
}

#[tokio::test]
async fn replay_repeats_every_answer_delta_by_delta() {
    let tape = Tape::new();
    let recorder = tape.recorder();
    assert_eq!(recorder.name(), "script/test.yaml");
    let requests = [prompt("go"), again(prompt("go")), second_turn()];
    let mut recorded = Vec::new();
    for request in &requests {
        recorded.push(sent(&recorder, request.clone()).await);
    }
    assert_eq!(recorded.iter().map(Vec::len).collect::<Vec<_>>(), [1, 5, 1]);

    let replay = tape.replay();
    assert!(!replay.is_torn());
    for (request, recorded) in requests.iter().zip(&recorded).rev() {
        assert_eq!(sent(&replay, request.clone()).await, *recorded);
    }
    assert_eq!(sent(&replay, again(again(prompt("go")))).await, recorded[1], "the last one answers further tries");
}

#[tokio::test]
async fn ids_the_system_prompt_and_times_may_differ() {
    let tape = Tape::new();
    let expected = sent(&tape.recorder(), second_turn()).await;
    let mut request = second_turn();
    request.system = "Another day.".into();
    request.requested_at = protocol::Timestamp(9);
    request.messages.edit(|messages| {
        for message in messages {
            match message {
                bosun_model::ModelMessage::Answers { answers } => answers[0].0 = protocol::CallId("other".into()),
                bosun_model::ModelMessage::User { .. } | bosun_model::ModelMessage::Assistant { .. } => {}
            }
        }
    });
    assert_eq!(sent(&tape.replay(), request).await, expected);
}

#[tokio::test]
async fn replay_of_another_conversation_fails_with_the_difference() {
    let tape = Tape::new();
    sent(&tape.recorder(), again(prompt("go"))).await;
    sent(&tape.recorder(), second_turn()).await;
    let replay = tape.replay();
    let calls = prompt("go").calls("t", r#"{"x":1}"#);
    let mut elsewhere = prompt("go");
    elsewhere.path = "/root/other".into();
    let cases = [
        (prompt("stop"), {
            r#"/root turn 1 differs from the one in TAPE: message 1: recorded user "go", requested user "stop""#
        }),
        (calls.answered("t", Done, "bad"), {
            r#"/root turn 2 differs from the one in TAPE: message 3: recorded answers "fine", requested answers "bad""#
        }),
        (second_turn().user("hurry"), {
            "/root turn 2 differs from the one in TAPE: the recording has 3 messages, the request 4"
        }),
        (prompt("oh").calls("t", r#"{"x":1}"#).answered("t", Done, "fine"), {
            "/root turn 2 differs from the one in TAPE: a message before the last answer differs"
        }),
        (second_turn().says("b"), "TAPE has no answer for /root turn 3"),
        (elsewhere, "TAPE has no answer for /root/other turn 1"),
    ];
    for (request, message) in cases {
        let error = sent(&replay, request).await.remove(0).unwrap_err();
        assert_eq!(error.fault, ModelFault::Terminal);
        assert_eq!(error.message.replace(&tape.path.display().to_string(), "TAPE"), message);
        assert!(error.hint.is_some());
    }
}

#[tokio::test]
async fn truncated_last_line_is_ignored_and_recording_continues() {
    let tape = Tape::new();
    let expected = sent(&tape.recorder(), again(prompt("go"))).await;
    tape.append(format!("{{\"agent\":\"{}", "x".repeat(200_000)).as_bytes());
    assert!(tape.replay().is_torn());
    assert_eq!(sent(&tape.replay(), prompt("go")).await, expected);

    let more = sent(&tape.recorder(), second_turn()).await;
    assert!(!tape.replay().is_torn());
    assert_eq!(sent(&tape.replay(), prompt("go")).await, expected);
    assert_eq!(sent(&tape.replay(), second_turn()).await, more);
}

#[tokio::test]
async fn a_damaged_line_is_named() {
    let tape = Tape::new();
    sent(&tape.recorder(), prompt("go")).await;
    tape.append(b"{\"agent\":1}\n");
    assert_eq!(
        error(&tape.path),
        "TAPE:3: not a recorded answer: invalid type: integer `1`, expected a string at line 1 column 10; \
         record the session again"
    );
}

#[test]
fn file_that_is_not_a_recording_is_not_changed() {
    let tape = Tape::new();
    let newer = "TAPE is a recording of version 2; this program reads version 1";
    let other = "TAPE is not a recording; make one with --record FILE, in a new file";
    for (text, message) in [("{\"bosunRecording\":2}\n", newer), ("hello\n", other), ("{\"bosunRec", other)] {
        fs::write(&tape.path, text).unwrap();
        assert_eq!(error(&tape.path), message);
        let refused = RecordingModel::open(Arc::new(script(RULES)), &tape.path).unwrap_err().to_string();
        assert_eq!(refused.replace(&tape.path.display().to_string(), "TAPE"), message);
        assert_eq!(fs::read_to_string(&tape.path).unwrap(), text);
    }
    fs::write(&tape.path, "").unwrap();
    assert_eq!(error(&tape.path), other);
}

#[tokio::test]
async fn cancelled_answer_is_not_recorded() {
    let tape = Tape::new();
    let recorder = tape.recorder();
    let mut deltas = recorder.send(again(prompt("go")));
    deltas.next().await;
    drop(deltas);
    assert_eq!(fs::read_to_string(&tape.path).unwrap(), "{\"bosunRecording\":1}\n");
}

#[tokio::test]
async fn answer_too_large_to_record_fails() {
    let tape = Tape::new();
    let flood = RecordingModel::open(Arc::new(Flood), &tape.path).unwrap();
    let last = sent(&flood, prompt("go")).await.pop().unwrap().unwrap_err();
    assert!(last.message.ends_with("the answer is larger than 16777216 bytes"), "{last}");
}

/// A model whose answer exceeds the limit.
#[derive(Debug)]
struct Flood;

impl Model for Flood {
    fn name(&self) -> &str {
        "flood"
    }

    fn send(&self, _: ModelRequest) -> Deltas {
        let words = stream::repeat_with(|| Ok::<_, ModelError>(Delta::Text("x".repeat(1 << 20)))).take(40);
        let done = Delta::Done { stop: StopReason::End, usage: Usage::default(), model: String::new() };
        words.chain(stream::iter([Ok(done)])).boxed()
    }
}

#[tokio::test]
async fn recording_is_readable_only_by_its_owner() {
    use std::os::unix::fs::PermissionsExt;

    let tape = Tape::new();
    sent(&tape.recorder(), prompt("go")).await;
    assert_eq!(fs::metadata(&tape.path).unwrap().permissions().mode() & 0o777, 0o600);
}
