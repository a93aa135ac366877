//! A long job for a model with a small window, and functions that read facts from its runs.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::{StreamExt, stream};
use model::{Deltas, Model, ModelError, ModelFacts, ModelRequest};
use protocol::{ContentBlock, Event, MailDelivery, ModelFault};
use runtime::SessionStart;
use testkit::session::{PlayedSession, SessionFixture, scenario};

use crate::support::{UNTIL_GO, script, turns};

/// The maximum output tokens of an answer, small so that windows can be small.
pub(super) const MAX_OUTPUT_TOKENS: u32 = 200;

pub(super) const PROMPT: &str = "Build it, then tidy up: the release is today.";

/// A job of many turns, each with a long answer, and a command that ends much later than it starts.
fn job() -> String {
    let look = "      - call: { tool: view, input: { path: big.txt } }";
    turns(&format!(
        "    - - say: I look around.
      - call: {{ tool: view, input: {{ path: a.txt }} }}
{look}
    - - call: {{ tool: sql, input: {{ query: \"INSERT INTO todos (id, title) VALUES ('t1', 'edit'), ('t2', 'tidy up')\" }} }}
{look}
    - - call: {{ tool: shell, input: {{ background: true, command: '{UNTIL_GO}; echo built > built.txt' }} }}
{look}
    - - call: {{ tool: view, input: {{ path: a.txt }} }}
      - call: {{ tool: edit, input: {{ path: a.txt, old: one, new: two }} }}
{look}
    - - call: {{ tool: sql, input: {{ query: \"UPDATE todos SET status = 'done' WHERE id = 't1'\" }} }}
      - call: {{ tool: create, input: {{ path: b.txt, content: b }} }}
{look}
    - - call: {{ tool: shell, input: {{ command: mkdir sub && echo c > sub/c.txt }} }}
{look}
    - - call: {{ tool: shell, input: {{ command: touch go }} }}
      - call: {{ tool: read_shell, input: {{ name: until, wait_secs: 300 }} }}
{look}
    - - say: It is built.
      - call: {{ tool: view, input: {{ path: a.txt }} }}
      - call: {{ tool: edit, input: {{ path: a.txt, old: two, new: three }} }}
{look}
    - - call: {{ tool: shell, input: {{ command: cat a.txt b.txt built.txt > all.txt; rm go }} }}
{look}
    - - say: All is done.
"
    ))
}

/// The number of the job's turns.
pub(super) const TURNS: u32 = 10;

/// The first turn before which something can be left out.
pub(super) const FIRST_COMPACTABLE_TURN: u32 = 3;

/// A model that has a window or rejects requests as too long.
#[derive(Debug)]
pub(super) struct Windowed {
    model: Arc<dyn Model>,
    facts: ModelFacts,
    /// The turn whose first request it does not answer.
    hangs_at: Option<u32>,
    hung: AtomicBool,
    /// Whether it rejects a request as too long.
    is_too_long: fn(&ModelRequest) -> bool,
}

impl Windowed {
    pub(super) fn with_context(context: Option<u64>) -> Windowed {
        let facts = ModelFacts { context_tokens: context, max_output_tokens: MAX_OUTPUT_TOKENS, ..ModelFacts::UNKNOWN };
        Windowed { model: script(&job()), facts, hangs_at: None, hung: AtomicBool::new(false), is_too_long: |_| false }
    }

    /// Leaves the first request of this turn unanswered.
    pub(super) fn hanging_at(self, turn: u32) -> Windowed {
        Windowed { hangs_at: Some(turn), ..self }
    }

    /// Rejects these requests as too long.
    pub(super) fn refusing(self, is_too_long: fn(&ModelRequest) -> bool) -> Windowed {
        Windowed { is_too_long, ..self }
    }

    /// Sets the maximum output tokens of an answer.
    pub(super) fn answering(mut self, max_output: u32) -> Windowed {
        self.facts.max_output_tokens = max_output;
        self
    }

    pub(super) fn stage(self) -> SessionFixture {
        let big: String = (0..150).map(|n| format!("line {n} of a file that is long for its meaning\n")).collect();
        scenario().model(Arc::new(self)).file("a.txt", "one\n").file("big.txt", &big).allow_all().ready()
    }

    pub(super) async fn run(self) -> PlayedSession {
        let mut driver = self.stage().open(SessionStart::New).await;
        driver.send(PROMPT, MailDelivery::FollowUp).await;
        driver.rest().await;
        driver.leave().await
    }
}

impl Model for Windowed {
    fn name(&self) -> &'static str {
        "windowed"
    }

    fn facts(&self) -> &ModelFacts {
        &self.facts
    }

    fn send(&self, request: ModelRequest) -> Deltas {
        if self.hangs_at == Some(request.turn) && !self.hung.swap(true, Ordering::SeqCst) {
            return stream::pending().boxed();
        }
        if (self.is_too_long)(&request) {
            let error = ModelError::new(ModelFault::TooLong, "that is too long for me");
            return stream::iter([Err(error)]).boxed();
        }
        self.model.send(request)
    }
}

/// Everything in the working folder.
fn tree(run: &PlayedSession) -> BTreeMap<String, String> {
    fn read(folder: &Path, files: &mut BTreeMap<String, String>) {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            if entry.file_type().unwrap().is_dir() {
                read(&entry.path(), files);
            } else {
                let text = fs::read_to_string(entry.path()).unwrap();
                files.insert(entry.file_name().into_string().unwrap(), text);
            }
        }
    }
    let mut files = BTreeMap::new();
    read(&run.stage().path(""), &mut files);
    files
}

/// The estimated input tokens of each turn.
pub(super) fn inputs(run: &PlayedSession) -> Vec<u64> {
    let input = |event: &Event| match event {
        Event::TurnBegun { reserved, quoted, .. } => Some(reserved.tokens - u64::from(quoted.output)),
        _other => None,
    };
    run.events().iter().filter_map(|envelope| input(&envelope.entry.event)).collect()
}

/// The turns before which the conversation was compacted.
pub(super) fn compacted_turns(run: &PlayedSession) -> Vec<u32> {
    let (mut next, mut found) = (1, Vec::new());
    for envelope in run.events() {
        match &envelope.entry.event {
            Event::TurnAnswered { .. } => next += 1,
            Event::Compacted(_) => found.push(next),
            _other => {}
        }
    }
    found
}

pub(super) fn digests(run: &PlayedSession) -> Vec<&str> {
    let events = run.events().iter().map(|envelope| &envelope.entry.event);
    let compactions = events.filter_map(|event| match event {
        Event::Compacted(compaction) => Some(compaction),
        _other => None,
    });
    compactions.filter_map(|compaction| compaction.digest.as_deref()).collect()
}

/// The model's answers, turn by turn, and the resulting files.
pub(super) fn work(run: &PlayedSession) -> (Vec<&[ContentBlock]>, BTreeMap<String, String>) {
    let events = run.events().iter().map(|envelope| &envelope.entry.event);
    let answers = events.filter_map(|event| match event {
        Event::TurnAnswered { content, .. } => Some(content.as_slice()),
        _other => None,
    });
    (answers.collect(), tree(run))
}

/// A window that a run first exceeds at this turn.
pub(super) fn window(inputs: &[u64], turn: u32) -> u64 {
    let (before, this) = (inputs[..turn as usize - 1].iter().max().unwrap(), inputs[turn as usize - 1]);
    assert!(*before < this, "{inputs:?}");
    (before.midpoint(this) + u64::from(MAX_OUTPUT_TOKENS)) * 100 / 85
}
