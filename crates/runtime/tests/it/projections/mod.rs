//! Compares the store's task rows with the kernel's state: random sessions are written as they happen, and read back
//! from time to time.

mod world;

use std::collections::{BTreeMap, BTreeSet};

use host::{Home, ProcessIdentity};
use kernel::{Kernel, KernelTask, QueuePurpose, SessionLimits, TaskPhase};
use protocol::api::{TaskView, TasksParams};
use protocol::{Activation, SessionId, TaskId, TaskState, TaskType, Timestamp};
use store::{OwnedSession, SessionFile, SessionReader, WriteBatch};
use world::World;

const STEPS: usize = 400;

/// Compares one row with the kernel's state of the task.
fn compare(row: &TaskView, task: &KernelTask, seed: u64) {
    let row_state = (row.parent, row.kind, row.depth, row.mode, &row.state, row.name.as_str());
    let kernel_state = (task.parent, task.kind, task.depth, task.mode, &task.phase.state(), task.name.as_str());
    assert_eq!(row_state, kernel_state, "{} of history {seed}", task.id);
    let row_state = (row.activation, row.attempt, row.unread as usize, row.stalled_since_at.is_some(), row.forgotten);
    let kernel_state = (task.activation, task.attempt, task.inbox.len(), task.stalled, task.forgotten);
    assert_eq!(row_state, kernel_state, "{} of history {seed}", task.id);
    let cancel = row.cancel.as_ref().map(|cancel| ((cancel.by, cancel.how), cancel.until_at));
    // The row of a stopped root keeps the cancel request until the root starts again.
    if task.cancel.is_some() || task.kind != TaskType::Main {
        assert_eq!(cancel, task.cancel.map(|cancel| (cancel, task.cancel_until)), "{} of history {seed}", task.id);
    }
    assert_eq!(row.queued_at.is_some(), row.state == TaskState::Queued, "{} of history {seed}", task.id);
    let has_ended = match task.phase {
        TaskPhase::Finished(_) => true,
        TaskPhase::Idle | TaskPhase::Queued(QueuePurpose::Begin) => task.activation > Activation(0),
        TaskPhase::Queued(QueuePurpose::Resume)
        | TaskPhase::Running(_)
        | TaskPhase::Parked(_)
        | TaskPhase::Interrupted => false,
    };
    assert_eq!(row.ended_at.is_some(), has_ended, "{} of history {seed}", task.id);
}

/// Compares all rows, and checks that the costs of tasks add up in the ledgers above them; returns the observed states.
fn compare_all(reader: &SessionReader, kernel: &Kernel, seed: u64) -> BTreeSet<&'static str> {
    let rows = reader.tasks(&TasksParams { all: true, ..TasksParams::all_tasks() }).unwrap().tasks;
    assert_eq!(rows.len(), kernel.tasks().count(), "history {seed}");
    let mut below: BTreeMap<TaskId, u64> = BTreeMap::new();
    // Children come after their parents.
    for row in rows.iter().rev() {
        let task = kernel.task(row.id).unwrap();
        compare(row, task, seed);
        let spent = row.cost_micros + below.get(&row.id).copied().unwrap_or_default();
        assert_eq!(spent, task.ledger.spent.micros, "{} of history {seed}", row.id);
        if let Some(parent) = row.parent {
            *below.entry(parent).or_default() += spent;
        }
    }
    let root = kernel.root().and_then(|root| kernel.task(root)).unwrap();
    assert_eq!(reader.session_view().unwrap().spent, root.ledger.spent, "history {seed}");
    let stalled = rows.iter().filter(|row| row.stalled_since_at.is_some()).map(|_| "stalled");
    let forgotten = rows.iter().filter(|row| row.forgotten).map(|_| "forgotten");
    rows.iter().map(|row| row.state.as_str()).chain(stalled).chain(forgotten).collect()
}

async fn history(seed: u64) -> BTreeSet<&'static str> {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::open(folder.path().join("home")).unwrap();
    let id = SessionId::new(format!("{seed:032x}").parse().unwrap());
    let OwnedSession { writer, .. } =
        SessionFile::create(&home, id, &ProcessIdentity::current().unwrap(), Timestamp(1)).unwrap();
    let mut world = World::new(seed);
    let (reader, mut seen) = (SessionReader::open(&home, id).unwrap(), BTreeSet::new());
    for step in 1..=STEPS {
        world.step();
        if step % 40 == 0 {
            let entries = std::mem::take(&mut world.unwritten);
            writer.commit(WriteBatch { entries, applied_commands: Vec::new() }).await.unwrap();
            seen.extend(compare_all(&reader, &world.kernel, seed));
        }
    }
    // A kernel that is rebuilt from the log has the same state, except for what is not durable.
    let mut rebuilt = Kernel::new(SessionLimits::default());
    for envelope in reader.events_after(0, usize::MAX).unwrap() {
        rebuilt.apply_event(&envelope.entry).unwrap();
    }
    assert!(rebuilt.tasks().eq(world.kernel.tasks()), "history {seed}");
    seen
}

#[tokio::test]
async fn the_rows_of_random_sessions_match_the_kernel() {
    let mut seen = BTreeSet::new();
    for seed in 1..=30 {
        seen.extend(history(seed).await);
    }
    let states = ["queued", "running", "idle", "parked", "interrupted", "cancelled", "completed", "failed", "lost"];
    for state in states.into_iter().chain(["stalled", "forgotten"]) {
        assert!(seen.contains(state), "no task was {state}: {seen:?}");
    }
}
