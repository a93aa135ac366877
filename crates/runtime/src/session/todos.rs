//! Todos that agents and users change while a fleet works, without a fleet, and while no process runs the session.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use kernel::{KernelInput, TaskSpawn};
use policy::Policy;
use protocol::api::{NewTodo, TodoChange, TodoEdit};
use protocol::{
    Budget, Event, FleetConfig, FleetEnd, MailDelivery, PermissionMode, Principal, TaskId, TaskSpec, TaskType, TodoId,
    TodoStatus,
};
use store::{SessionReader, SqlConnection, SqlLimits};

use super::{Session, SessionStart, many_agents};
use crate::SessionSettings;
use crate::bus::{BusMessage, Subscription};

/// A root that plans, and agents that write any todo status.
const PLANS: &str = "
version: 1
rules:
  - when: { path: /root, prompt: plan, turn: 1 }
    answer: [call: { tool: sql, input: { query: \"INSERT INTO todos (id, title) VALUES ('a', 'one'), ('b', 'two'), ('c', 'three')\" } }]
  - when: { path: /root, prompt: skip, not: { answered: { tool: sql } } }
    answer: [call: { tool: sql, input: { query: \"UPDATE todos SET status = 'done' WHERE id = 'c'\" } }]
  - when: { path: /root }
    answer: [say: planned]
  - when: { path: /root/liar, turn: 1 }
    answer: [call: { tool: sql, input: { query: \"UPDATE todos SET status = 'done'\" } }]
  - when: { path: /root/liar, turn: 2 }
    answer: [call: { tool: sql, input: { query: \"SELECT group_concat(id || '=' || status) AS truth FROM todos\" } }]
  - when: { path: /root/liar, turn: 3 }
    answer: [call: { tool: sql, input: { query: \"UPDATE todos SET title = 'mine' WHERE id = 'a'\" } }]
  - answer: [say: done]
";

fn settings(folder: &Path) -> SessionSettings {
    SessionSettings {
        model: Arc::new(model::ScriptModel::parse(PLANS, "test.yaml").unwrap()),
        model_spec: "script/test.yaml".into(),
        policy: Policy { mode: PermissionMode::AllowAll, ..Policy::default() },
        ..many_agents::settings(folder, "http://127.0.0.1:1".to_owned(), Budget::default())
    }
}

fn terms() -> FleetConfig {
    FleetConfig {
        goal: "all of it".into(),
        agent: None,
        parallel: None,
        retries: 0,
        rounds: 1,
        isolated: false,
        dirty: false,
        merge: false,
        check: None,
        plan: None,
    }
}

struct TodoTestSession {
    folder: tempfile::TempDir,
    session: Session,
    events: Subscription,
}

impl TodoTestSession {
    async fn open() -> TodoTestSession {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("work")).unwrap();
        let session = Session::open(settings(folder.path()), SessionStart::New).await.unwrap();
        let events = session.subscribe(0);
        TodoTestSession { folder, session, events }
    }

    /// The same session in a process that comes later.
    async fn reopen(self, between: impl FnOnce(&Session)) -> TodoTestSession {
        let id = self.session.id();
        between(&self.session);
        self.session.leave().await.unwrap();
        let session = Session::open(settings(self.folder.path()), SessionStart::Resume(id)).await.unwrap();
        let events = session.subscribe(session.first_seq());
        TodoTestSession { folder: self.folder, session, events }
    }

    async fn until(&mut self, wanted: impl Fn(&Event) -> bool) -> Event {
        let next = async {
            loop {
                let Some(BusMessage::Event(envelope)) = self.events.next().await.unwrap() else { continue };
                if wanted(&envelope.entry.event) {
                    return envelope.entry.event.clone();
                }
            }
        };
        tokio::time::timeout(Duration::from_secs(20), next).await.unwrap()
    }

    /// The answer of the next call.
    async fn answered(&mut self) -> String {
        match self.until(|event| matches!(event, Event::CallAnswered { .. })).await {
            Event::CallAnswered { answer, .. } => answer.text,
            other => panic!("{other:?}"),
        }
    }

    async fn changed(&mut self) -> (Principal, Vec<(String, TodoStatus)>) {
        match self.until(|event| matches!(event, Event::TodosChanged { .. })).await {
            Event::TodosChanged { by, changed, .. } => {
                (by, changed.into_iter().map(|todo| (todo.id.0, todo.status)).collect())
            }
            other => panic!("{other:?}"),
        }
    }

    async fn plan(&mut self) {
        self.session.send("plan", MailDelivery::FollowUp).await.unwrap();
        self.until(|event| matches!(event, Event::ActivationEnded { .. })).await;
    }

    async fn give(&self, input: KernelInput) {
        self.session.supervision.supervisor.submit(input).await.unwrap();
    }

    /// An agent that works on a todo.
    async fn worker(&self, name: &str, todo: &str) -> TaskId {
        let spec = TaskSpec {
            parent: Some(self.session.root),
            todo: Some(todo.into()),
            ..TaskSpec::new(TaskType::Agent, "main", name)
        };
        let id = TaskId::new(self.session.context.settings.ids.uuid());
        let (prompt, definition) = ("work".into(), None);
        self.give(KernelInput::Spawn(TaskSpawn { id, spec, prompt, by: None, until: None, definition })).await;
        id
    }

    fn statuses(&self) -> Vec<(String, TodoStatus)> {
        let rows = SessionReader::open(self.session.home(), self.session.id()).unwrap().todos().unwrap();
        rows.into_iter().map(|row| (row.todo.id.0, row.todo.status)).collect()
    }

    /// Whether the kernel says the same as the table.
    async fn agrees(&self) -> bool {
        let known = |kernel: &kernel::Kernel| -> Vec<(String, TodoStatus)> {
            kernel.graph().nodes().map(|(id, node)| (id.0.clone(), node.progress.status())).collect()
        };
        self.session.supervision.supervisor.query(known).await.unwrap() == self.statuses()
    }
}

fn all(of: [TodoStatus; 3]) -> Vec<(String, TodoStatus)> {
    ["a", "b", "c"].map(str::to_owned).into_iter().zip(of).collect()
}

use TodoStatus::{Blocked, Done, InProgress, Pending};

#[tokio::test]
async fn without_a_fleet_the_table_is_the_truth_whoever_writes_it() {
    let mut stage = TodoTestSession::open().await;
    stage.plan().await;
    assert_eq!(stage.statuses(), all([Pending; 3]));
    let by = Principal::Task { id: stage.session.root() };
    stage.events = stage.session.subscribe(0);
    assert_eq!(stage.changed().await, (by, all([Pending; 3])));
    let spec = TaskSpec { parent: Some(stage.session.root), ..TaskSpec::new(TaskType::Agent, "main", "liar") };
    let id = TaskId::new(stage.session.context.settings.ids.uuid());
    let spawn = TaskSpawn { id, spec, prompt: "work".into(), by: None, until: None, definition: None };
    stage.give(KernelInput::Spawn(spawn)).await;
    assert_eq!(stage.changed().await, (Principal::Task { id }, all([Done; 3])));
    assert_eq!(stage.answered().await, "3 rows changed");
    assert!(stage.agrees().await);
    stage.session.leave().await.unwrap();
}

#[tokio::test]
async fn a_worker_can_mark_neither_its_own_todo_done_nor_another_while_a_fleet_works() {
    let mut stage = TodoTestSession::open().await;
    stage.plan().await;
    stage.give(KernelInput::BeginFleet(terms())).await;
    let worker = stage.worker("liar", "a").await;
    let told = (Principal::Task { id: worker }, all([InProgress, Pending, Pending]));
    assert_eq!(stage.changed().await, told, "the event says what holds");
    let answer = stage.answered().await;
    let note = "Not applied: while a fleet runs, the runtime sets the status of todos: \
                `a` is in_progress, not done, `b` is pending, not done, `c` is pending, not done.";
    assert_eq!(answer, format!("3 rows changed\n{note}"));
    let truth = stage.answered().await;
    assert!(truth.contains("a=in_progress,b=pending,c=pending"), "{truth}");
    assert_eq!(stage.answered().await, "1 row changed", "there is nothing to say of a title");
    stage.until(|event| matches!(event, Event::TodoDone { .. })).await;
    assert_eq!(stage.statuses(), all([Done, Pending, Pending]));
    assert!(stage.agrees().await);
    stage.session.leave().await.unwrap();
}

#[tokio::test]
async fn the_root_and_people_plan_while_a_fleet_works() {
    let mut stage = TodoTestSession::open().await;
    stage.plan().await;
    stage.give(KernelInput::BeginFleet(terms())).await;
    stage.session.send("skip c", MailDelivery::FollowUp).await.unwrap();
    assert_eq!(stage.answered().await, "1 row changed");
    assert_eq!(stage.statuses(), all([Pending, Pending, Done]));
    let edits = vec![
        TodoEdit::Change(TodoChange::status("b".into(), Blocked, Some("no key".into()))),
        TodoEdit::Add(NewTodo { title: "Four".into(), depends_on: vec!["c".into()], ..NewTodo::default() }),
    ];
    assert_eq!(stage.session.edit_todos(edits).await.unwrap(), [TodoId::from("b"), TodoId::from("four")]);
    assert!(stage.agrees().await);
    let due = |kernel: &kernel::Kernel| kernel.due_todos("main");
    let due = stage.session.supervision.supervisor.query(due).await.unwrap();
    assert_eq!(due, [TodoId::from("a"), TodoId::from("four")]);
    stage.give(KernelInput::EndFleet(FleetEnd::Stopped)).await;
    stage.session.leave().await.unwrap();
}

#[tokio::test]
async fn a_change_that_nobody_vouches_for_is_not_a_persons() {
    let mut stage = TodoTestSession::open().await;
    stage.plan().await;
    stage.give(KernelInput::BeginFleet(terms())).await;
    let (home, id) = (stage.session.home().clone(), stage.session.id());
    let done = [TodoEdit::Change(TodoChange::status("a".into(), Done, None))];
    let refused = store::edit_todos(&home, id, &done);
    assert!(matches!(refused, Err(store::TodoError::Store(store::StoreError::Owned { .. }))), "{refused:?}");
    // As a program would do it, which can write to the file like its user.
    store::edit_own_todos(&home, id, &done, drop).unwrap();
    stage.session.context.todos.sync().await.unwrap();
    let nobody = Principal::Task { id: TaskId::new(uuid::Uuid::nil()) };
    stage.events = stage.session.subscribe(0);
    let by_nobody = |event: &Event| matches!(event, Event::TodosChanged { by, .. } if *by == nobody);
    stage.until(by_nobody).await;
    assert_eq!(stage.statuses(), all([Pending; 3]), "its word does not hold");
    assert!(stage.agrees().await);
    // Nor does it when it is signed as the root.
    let forger = SqlConnection::open(&home.session_db(id), SqlLimits::default()).unwrap();
    forger.run_by(stage.session.root(), "UPDATE todos SET status = 'done' WHERE id = 'b'", || false).unwrap();
    stage.session.context.todos.sync().await.unwrap();
    assert_eq!(stage.statuses(), all([Pending; 3]), "its signature does not count");
    // An edit by the user at the same time does count.
    stage.session.edit_todos(done.to_vec()).await.unwrap();
    assert_eq!(stage.statuses(), all([Done, Pending, Pending]));
    stage.give(KernelInput::EndFleet(FleetEnd::Stopped)).await;
    stage.session.leave().await.unwrap();
}

#[tokio::test]
async fn a_change_that_its_process_could_not_tell_is_told_by_the_next_with_the_same_author() {
    let mut stage = TodoTestSession::open().await;
    stage.plan().await;
    stage.give(KernelInput::BeginFleet(terms())).await;
    let worker = stage.worker("liar", "a").await;
    stage.until(|event| matches!(event, Event::TodoDone { .. })).await;
    // As if the process had died between the worker's commit and the event for it.
    let mut stage = stage
        .reopen(|session| {
            let space = SqlConnection::open(&session.home().session_db(session.id()), SqlLimits::default()).unwrap();
            space.run_by(worker, "UPDATE todos SET status = 'done' WHERE id = 'b'", || false).unwrap();
        })
        .await;
    // Either of the two processes may have recorded it.
    stage.events = stage.session.subscribe(0);
    let by_worker = |event: &Event| match event {
        Event::TodosChanged { by: Principal::Task { id }, changed, .. } => {
            *id == worker && changed.iter().any(|todo| todo.id.0 == "b" && todo.status == Pending && changed.len() == 1)
        }
        _other => false,
    };
    stage.until(by_worker).await;
    assert_eq!(stage.statuses(), all([Done, Pending, Pending]));
    assert!(stage.agrees().await);
    stage.session.leave().await.unwrap();
}

#[tokio::test]
async fn what_was_changed_while_nobody_ran_the_session_is_taken_over_first() {
    let mut stage = TodoTestSession::open().await;
    stage.plan().await;
    let (home, id) = (stage.session.home().clone(), stage.session.id());
    stage.session.leave().await.unwrap();
    store::edit_todos(&home, id, &[TodoEdit::Change(TodoChange::status("b".into(), Done, None))]).unwrap();
    let session = Session::open(settings(stage.folder.path()), SessionStart::Resume(id)).await.unwrap();
    let known = |kernel: &kernel::Kernel| kernel.graph().node(&"b".into()).unwrap().progress.status();
    assert_eq!(session.supervision.supervisor.query(known).await.unwrap(), Done);
    session.leave().await.unwrap();
}
