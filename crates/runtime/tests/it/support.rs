//! Helpers that these tests share, in addition to the test kit.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::{StreamExt, stream};
use model::{Delta, Deltas, Model, ModelFacts, ModelRequest, ScriptModel};
use protocol::{StopReason, Usage};
use rpc::RpcClient;
use testkit::session::SessionDriver;
pub(crate) use testkit::session::{
    TIME_LIMIT, UNTIL_GO, eventually, pass_time_limit, rules, run_ready_tasks, until_file,
};
use tokio::sync::Semaphore;
use tokio::time::{advance, pause, resume};

/// A script of one answer per turn.
pub(crate) fn turns(turns: &str) -> String {
    format!("version: 1\nabout: For a test\nagents:\n  main:\n{turns}")
}

/// A model that answers by these rules.
pub(crate) fn script(yaml: &str) -> Arc<dyn Model> {
    Arc::new(ScriptModel::parse(yaml, "test.yaml").unwrap())
}

/// Passes each request to the next model, and all further ones to the last: a model that changes over time, which a
/// script cannot do.
#[derive(Debug)]
pub(crate) struct Relay {
    models: Vec<Arc<dyn Model>>,
    asked: AtomicUsize,
}

pub(crate) fn relay(models: impl IntoIterator<Item = Arc<dyn Model>>) -> Arc<dyn Model> {
    Arc::new(Relay { models: models.into_iter().collect(), asked: AtomicUsize::new(0) })
}

/// A model that never answers.
pub(crate) fn silent_model() -> Arc<dyn Model> {
    script(&rules("  - answer:\n      - hang: true\n"))
}

impl Model for Relay {
    fn name(&self) -> &str {
        self.models[0].name()
    }

    fn send(&self, request: ModelRequest) -> Deltas {
        let next = self.asked.fetch_add(1, Ordering::SeqCst).min(self.models.len() - 1);
        self.models[next].send(request)
    }
}

/// A script with model facts, which scripts do not have.
#[derive(Debug)]
pub(crate) struct ScriptWithFacts {
    pub(crate) script: Arc<dyn Model>,
    pub(crate) facts: ModelFacts,
}

impl Model for ScriptWithFacts {
    fn name(&self) -> &str {
        self.script.name()
    }

    fn facts(&self) -> &ModelFacts {
        &self.facts
    }

    fn send(&self, request: ModelRequest) -> Deltas {
        self.script.send(request)
    }
}

/// A model whose answer waits until the gate is opened.
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

    /// Releases one answer.
    pub(crate) fn open(&self) {
        self.open.add_permits(1);
    }
}

impl Model for Gate {
    fn name(&self) -> &'static str {
        // The name of the model that follows it in a relay.
        "script/test.yaml"
    }

    fn send(&self, _request: ModelRequest) -> Deltas {
        let done = Delta::Done { stop: self.stop, usage: Usage::default(), model: self.name().into() };
        let (answer, open) = (self.answer.clone(), Arc::clone(&self.open));
        let first = stream::once(async move {
            open.acquire().await.unwrap().forget();
            Ok(answer)
        });
        first.chain(stream::iter([Ok(done)])).boxed()
    }
}

/// Lets seconds pass one at a time, as if this process were awake and did nothing else.
pub(crate) async fn pass_seconds(seconds: u32) {
    pause();
    for _ in 0..seconds {
        // Timers have millisecond precision, and may fire one millisecond late.
        advance(Duration::from_millis(1002)).await;
        run_ready_tasks().await;
    }
    resume();
}

/// A client of the session's socket.
pub(crate) async fn connect(driver: &SessionDriver) -> RpcClient {
    RpcClient::connect(&driver.session().home().socket(driver.id())).await.unwrap().0
}
