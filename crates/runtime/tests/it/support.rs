//! What these tests share beyond the test kit.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::{StreamExt, stream};
use model::{Delta, Deltas, Model, ModelFacts, ModelRequest, ScriptModel};
use protocol::{StopReason, Usage};
use tokio::sync::Semaphore;
use tokio::time::{advance, pause, resume};

/// A script of these rules.
pub(crate) fn rules(rules: &str) -> String {
    format!("version: 1\nabout: For a test\nrules:\n{rules}")
}

/// A script of one answer per turn.
pub(crate) fn turns(turns: &str) -> String {
    format!("version: 1\nabout: For a test\nagents:\n  main:\n{turns}")
}

/// A model that answers by these rules.
pub(crate) fn script(yaml: &str) -> Arc<dyn Model> {
    Arc::new(ScriptModel::parse(yaml, "test.yaml").unwrap())
}

/// Gives each request to the next model, and what comes after to the last: a model that changes with time, which no
/// script does.
#[derive(Debug)]
pub(crate) struct Relay {
    models: Vec<Arc<dyn Model>>,
    asked: AtomicUsize,
}

pub(crate) fn relay(models: impl IntoIterator<Item = Arc<dyn Model>>) -> Arc<dyn Model> {
    Arc::new(Relay { models: models.into_iter().collect(), asked: AtomicUsize::new(0) })
}

/// A model that never says a word.
pub(crate) fn silence() -> Arc<dyn Model> {
    script(&rules("  - answer:\n      - hang: true\n"))
}

impl Model for Relay {
    fn name(&self) -> &str {
        self.models[0].name()
    }

    fn ask(&self, request: ModelRequest) -> Deltas {
        let next = self.asked.fetch_add(1, Ordering::SeqCst).min(self.models.len() - 1);
        self.models[next].ask(request)
    }
}

/// A script with facts of which scripts know nothing.
#[derive(Debug)]
pub(crate) struct Known {
    pub(crate) script: Arc<dyn Model>,
    pub(crate) facts: ModelFacts,
}

impl Model for Known {
    fn name(&self) -> &str {
        self.script.name()
    }

    fn facts(&self) -> &ModelFacts {
        &self.facts
    }

    fn ask(&self, request: ModelRequest) -> Deltas {
        self.script.ask(request)
    }
}

/// A model whose answer waits until it is let go.
#[derive(Debug)]
pub(crate) struct Gate {
    answer: Delta,
    stop: StopReason,
    open: Arc<Semaphore>,
}

impl Gate {
    pub(crate) fn says(text: &str) -> Arc<Gate> {
        let answer = Delta::Text(text.into());
        Arc::new(Gate { answer, stop: StopReason::End, open: Arc::new(Semaphore::new(0)) })
    }

    pub(crate) fn calls(tool: &str, input: &str) -> Arc<Gate> {
        let id = protocol::CallId("gated".into());
        let answer = Delta::Call(protocol::ToolCallRequest { id, tool: tool.into(), input: input.into() });
        Arc::new(Gate { answer, stop: StopReason::Calls, open: Arc::new(Semaphore::new(0)) })
    }

    /// Lets one answer go.
    pub(crate) fn open(&self) {
        self.open.add_permits(1);
    }
}

impl Model for Gate {
    fn name(&self) -> &'static str {
        // What answers after it in a relay.
        "script/test.yaml"
    }

    fn ask(&self, _request: ModelRequest) -> Deltas {
        let done = Delta::Done { stop: self.stop, usage: Usage::default(), model: self.name().into() };
        let (answer, open) = (self.answer.clone(), Arc::clone(&self.open));
        let first = stream::once(async move {
            open.acquire().await.unwrap().forget();
            Ok(answer)
        });
        first.chain(stream::iter([Ok(done)])).boxed()
    }
}

/// A shell command that waits for a file called `go`.
pub(crate) const UNTIL_GO: &str = "until [ -e go ]; do sleep 0.01; done";

/// Waits for something outside the session.
pub(crate) async fn eventually(what: &str, holds: impl Fn() -> bool) {
    for _ in 0..2000 {
        if holds() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("waited in vain for: {what}");
}

/// Waits until a file is there.
pub(crate) async fn until_file(path: &Path) {
    eventually("a file", || path.exists()).await;
}

/// Lets everything that is ready run.
pub(crate) async fn breathe() {
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
}

/// A limit of a session's time that no loaded machine reaches by itself.
pub(crate) const TIME: Duration = Duration::from_secs(60);

/// Lets that time pass at once, when what should be under way then is.
pub(crate) async fn time_is_up() {
    pause();
    advance(TIME).await;
    breathe().await;
    resume();
}

/// Lets seconds pass, one at a time, in which this process is awake and nothing else takes time.
pub(crate) async fn awake(seconds: u32) {
    pause();
    for _ in 0..seconds {
        // Timers go by whole milliseconds, and may be due one later.
        advance(Duration::from_millis(1002)).await;
        breathe().await;
    }
    resume();
}
