//! Tasks of the fixtures, in memory.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bosun_adapters::mcp::{McpFault, ProvidedTask, ProvidedTaskState, ProviderChange};
use protocol::Timestamp;
use serde_json::{Map, Value};
use tokio::sync::{broadcast, watch};
use tokio::task::JoinSet;

/// How often clients should ask.
const POLL: Duration = Duration::from_millis(100);

/// All tasks.
pub(super) struct FixtureTasks {
    tasks: Arc<Mutex<BTreeMap<String, FixtureTask>>>,
    changes: broadcast::Sender<ProviderChange>,
    /// Counts changes, for those who wait for one.
    version: Arc<watch::Sender<u64>>,
    running: Mutex<JoinSet<()>>,
}

struct FixtureTask {
    task: ProvidedTask,
    /// The result once everything that it asks for is answered.
    result: Map<String, Value>,
}

impl FixtureTasks {
    pub(super) fn new(changes: broadcast::Sender<ProviderChange>) -> FixtureTasks {
        FixtureTasks {
            tasks: Arc::default(),
            changes,
            version: Arc::new(watch::Sender::new(0)),
            running: Mutex::default(),
        }
    }

    /// Starts a task that gets into this state after a while.
    pub(super) fn start(&self, after: Duration, state: ProvidedTaskState) -> ProvidedTask {
        let task = self.add(ProvidedTaskState::Working, Map::new());
        let (tasks, changes, version, id) =
            (Arc::clone(&self.tasks), self.changes.clone(), Arc::clone(&self.version), task.id.clone());
        lock(&self.running).spawn(async move {
            tokio::time::sleep(after).await;
            let mut tasks = lock(&tasks);
            let entry = tasks.get_mut(&id).expect("tasks stay");
            if !entry.task.state.is_final() {
                set_state(&mut entry.task, state);
                report(&changes, &version, &entry.task);
            }
        });
        task
    }

    /// Starts a task that asks for input, and then has this result.
    pub(super) fn ask(&self, requests: Map<String, Value>, result: Map<String, Value>) -> ProvidedTask {
        self.add(ProvidedTaskState::InputRequired(requests), result)
    }

    fn add(&self, state: ProvidedTaskState, result: Map<String, Value>) -> ProvidedTask {
        let mut tasks = lock(&self.tasks);
        let now = Timestamp(1_790_000_000_000);
        let task = ProvidedTask {
            id: format!("fixture-task-{}", tasks.len() + 1),
            state,
            message: None,
            created_at: now,
            updated_at: now,
            ttl: Some(Duration::from_secs(3600)),
            poll: POLL,
        };
        tasks.insert(task.id.clone(), FixtureTask { task: task.clone(), result });
        task
    }

    pub(super) fn find(&self, id: &str) -> Result<ProvidedTask, McpFault> {
        lock(&self.tasks).get(id).map(|entry| entry.task.clone()).ok_or_else(|| McpFault::unknown_task(id))
    }

    pub(super) fn all(&self) -> Vec<ProvidedTask> {
        lock(&self.tasks).values().rev().map(|entry| entry.task.clone()).collect()
    }

    pub(super) async fn next(&self, earlier: &ProvidedTask) -> Result<ProvidedTask, McpFault> {
        let mut version = self.version.subscribe();
        loop {
            let task = self.find(&earlier.id)?;
            if task != *earlier {
                return Ok(task);
            }
            version.changed().await.expect("its sender is here");
        }
    }

    pub(super) fn cancel(&self, id: &str) -> Result<(), McpFault> {
        let mut tasks = lock(&self.tasks);
        let entry = tasks.get_mut(id).ok_or_else(|| McpFault::unknown_task(id))?;
        if !entry.task.state.is_final() {
            set_state(&mut entry.task, ProvidedTaskState::Cancelled);
            report(&self.changes, &self.version, &entry.task);
        }
        Ok(())
    }

    pub(super) fn answer(&self, id: &str, responses: &Map<String, Value>) -> Result<(), McpFault> {
        let mut tasks = lock(&self.tasks);
        let entry = tasks.get_mut(id).ok_or_else(|| McpFault::unknown_task(id))?;
        let ProvidedTaskState::InputRequired(requests) = &entry.task.state else { return Ok(()) };
        let answered: BTreeSet<&String> = responses.keys().collect();
        let open: Map<String, Value> =
            requests.iter().filter(|(key, _)| !answered.contains(key)).map(|(k, v)| (k.clone(), v.clone())).collect();
        let state = match open.is_empty() {
            true => ProvidedTaskState::Completed(entry.result.clone()),
            false => ProvidedTaskState::InputRequired(open),
        };
        set_state(&mut entry.task, state);
        report(&self.changes, &self.version, &entry.task);
        Ok(())
    }
}

fn set_state(task: &mut ProvidedTask, state: ProvidedTaskState) {
    task.state = state;
    task.updated_at = task.updated_at.plus(Duration::from_secs(1));
}

fn report(changes: &broadcast::Sender<ProviderChange>, version: &watch::Sender<u64>, task: &ProvidedTask) {
    // Fails if nobody listens.
    changes.send(ProviderChange::Task(Box::new(task.clone()))).ok();
    version.send_modify(|version| *version += 1);
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
