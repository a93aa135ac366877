//! Tests changes of todos by agents and users: during a fleet, without a fleet, and while no process runs the session.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use host::Home;
use kernel::{KernelInput, TaskSpawn};
use policy::Policy;
use protocol::api::{NewTodo, TodoChange, TodoEdit};
use protocol::{
    Event, FleetConfig, FleetEnd, MailDelivery, PermissionMode, Principal, TaskId, TaskSpec, TaskType, TodoId,
    TodoStatus,
};
use store::{SessionReader, SqlConnection, SqlLimits};

use super::{Session, SessionStart};
use crate::SessionSettings;
use crate::bus::{BusMessage, Subscription};

/// A root that plans, and agents that write any todo status.
const PLAN_SCRIPT: &str = "
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
    let home = Home::open(folder.join("home")).unwrap();
    let model = Arc::new(model::ScriptModel::parse(PLAN_SCRIPT, "test.yaml").unwrap());
    SessionSettings {
        policy: Policy { mode: PermissionMode::AllowAll, ..Policy::default() },
        ..SessionSettings::minimal(home, folder.join("work"), model, "script/test.yaml")
    }
}

fn fleet_config() -> FleetConfig {
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

    /// Closes the session and opens it again, as a later process would.
    async fn reopen(self, before_closing: impl FnOnce(&Session)) -> TodoTestSession {
        let id = self.session.id();
        before_closing(&self.session);
        self.session.leave().await.unwrap();
        let session = Session::open(settings(self.folder.path()), SessionStart::Resume(id)).await.unwrap();
        let events = session.subscribe(session.first_seq());
        TodoTestSession { folder: self.folder, session, events }
    }

    async fn wait_for_event(&mut self, wanted: impl Fn(&Event) -> bool) -> Event {
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

    /// Waits for the next answer of a call.
    async fn next_answer(&mut self) -> String {
        match self.wait_for_event(|event| matches!(event, Event::CallAnswered { .. })).await {
            Event::CallAnswered { answer, .. } => answer.text,
            other => panic!("{other:?}"),
        }
    }

    async fn next_change(&mut self) -> (Principal, Vec<(String, TodoStatus)>) {
        match self.wait_for_event(|event| matches!(event, Event::TodosChanged { .. })).await {
            Event::TodosChanged { by, changed, .. } => {
                (by, changed.into_iter().map(|todo| (todo.id.0, todo.status)).collect())
            }
            other => panic!("{other:?}"),
        }
    }

    async fn plan(&mut self) {
        self.session.send("plan", MailDelivery::FollowUp).await.unwrap();
        self.wait_for_event(|event| matches!(event, Event::ActivationEnded { .. })).await;
    }

    async fn submit(&self, input: KernelInput) {
        self.session.supervision.supervisor.submit(input).await.unwrap();
    }

    /// Starts an agent that works on a todo.
    async fn start_worker(&self, name: &str, todo: &str) -> TaskId {
        let spec = TaskSpec {
            parent: Some(self.session.root),
            todo: Some(todo.into()),
            ..TaskSpec::new(TaskType::Agent, "main", name)
        };
        let id = TaskId::new(self.session.context.facts.ids.uuid());
        let (prompt, definition) = ("work".into(), None);
        self.submit(KernelInput::Spawn(TaskSpawn {
            id,
            spec,
            prompt,
            by: None,
            until: None,
            definition,
            redo_reason: None,
        }))
        .await;
        id
    }

    fn statuses(&self) -> Vec<(String, TodoStatus)> {
        let rows = SessionReader::open(self.session.home(), self.session.id()).unwrap().todos().unwrap();
        rows.into_iter().map(|row| (row.todo.id.0, row.todo.status)).collect()
    }

    /// Whether the kernel and the table have the same statuses.
    async fn kernel_matches_table(&self) -> bool {
        let kernel_statuses = |kernel: &kernel::Kernel| -> Vec<(String, TodoStatus)> {
            kernel.graph().nodes().map(|(id, node)| (id.0.clone(), node.progress.status())).collect()
        };
        self.session.supervision.supervisor.query(kernel_statuses).await.unwrap() == self.statuses()
    }
}

fn with_ids(statuses: [TodoStatus; 3]) -> Vec<(String, TodoStatus)> {
    ["a", "b", "c"].map(str::to_owned).into_iter().zip(statuses).collect()
}

use TodoStatus::{Blocked, Done, InProgress, Pending};

#[tokio::test]
async fn without_a_fleet_every_change_of_the_table_applies() {
    let mut test = TodoTestSession::open().await;
    test.plan().await;
    assert_eq!(test.statuses(), with_ids([Pending; 3]));
    let by = Principal::Task { id: test.session.root() };
    test.events = test.session.subscribe(0);
    assert_eq!(test.next_change().await, (by, with_ids([Pending; 3])));
    let spec = TaskSpec { parent: Some(test.session.root), ..TaskSpec::new(TaskType::Agent, "main", "liar") };
    let id = TaskId::new(test.session.context.facts.ids.uuid());
    let spawn =
        TaskSpawn { id, spec, prompt: "work".into(), by: None, until: None, definition: None, redo_reason: None };
    test.submit(KernelInput::Spawn(spawn)).await;
    assert_eq!(test.next_change().await, (Principal::Task { id }, with_ids([Done; 3])));
    assert_eq!(test.next_answer().await, "3 rows changed");
    assert!(test.kernel_matches_table().await);
    test.session.leave().await.unwrap();
}

#[tokio::test]
async fn during_a_fleet_a_worker_cannot_set_the_status_of_any_todo() {
    let mut test = TodoTestSession::open().await;
    test.plan().await;
    test.submit(KernelInput::BeginFleet(fleet_config())).await;
    let worker = test.start_worker("liar", "a").await;
    let expected = (Principal::Task { id: worker }, with_ids([InProgress, Pending, Pending]));
    assert_eq!(test.next_change().await, expected, "the event has the statuses that apply");
    let answer = test.next_answer().await;
    let note = "Not applied: while a fleet runs, the runtime sets the status of todos: \
                `a` is in_progress, not done, `b` is pending, not done, `c` is pending, not done.";
    assert_eq!(answer, format!("3 rows changed\n{note}"));
    let truth = test.next_answer().await;
    assert!(truth.contains("a=in_progress,b=pending,c=pending"), "{truth}");
    assert_eq!(test.next_answer().await, "1 row changed", "a changed title needs no note");
    test.wait_for_event(|event| matches!(event, Event::TodoDone { .. })).await;
    assert_eq!(test.statuses(), with_ids([Done, Pending, Pending]));
    assert!(test.kernel_matches_table().await);
    test.session.leave().await.unwrap();
}

#[tokio::test]
async fn the_root_and_the_user_can_change_todos_during_a_fleet() {
    let mut test = TodoTestSession::open().await;
    test.plan().await;
    test.submit(KernelInput::BeginFleet(fleet_config())).await;
    test.session.send("skip c", MailDelivery::FollowUp).await.unwrap();
    assert_eq!(test.next_answer().await, "1 row changed");
    assert_eq!(test.statuses(), with_ids([Pending, Pending, Done]));
    let edits = vec![
        TodoEdit::Change(TodoChange::status("b".into(), Blocked, Some("no key".into()))),
        TodoEdit::Add(NewTodo { title: "Four".into(), depends_on: vec!["c".into()], ..NewTodo::default() }),
    ];
    assert_eq!(test.session.edit_todos(edits).await.unwrap(), [TodoId::from("b"), TodoId::from("four")]);
    assert!(test.kernel_matches_table().await);
    let due_todos = |kernel: &kernel::Kernel| kernel.due_todos("main");
    let due = test.session.supervision.supervisor.query(due_todos).await.unwrap();
    assert_eq!(due, [TodoId::from("a"), TodoId::from("four")]);
    test.submit(KernelInput::EndFleet { end: FleetEnd::Stopped, why: None }).await;
    test.session.leave().await.unwrap();
}

#[tokio::test]
async fn a_change_of_unknown_origin_does_not_count_as_the_user_s() {
    let mut test = TodoTestSession::open().await;
    test.plan().await;
    test.submit(KernelInput::BeginFleet(fleet_config())).await;
    let (home, id) = (test.session.home().clone(), test.session.id());
    let done = [TodoEdit::Change(TodoChange::status("a".into(), Done, None))];
    let refused = store::edit_todos(&home, id, &done);
    assert!(matches!(refused, Err(store::TodoError::Store(store::StoreError::Owned { .. }))), "{refused:?}");
    // A program can write to the file as its user can.
    store::edit_own_todos(&home, id, &done, drop).unwrap();
    test.session.context.todo_sync.sync().await.unwrap();
    let unknown_author = Principal::Task { id: TaskId::new(uuid::Uuid::nil()) };
    test.events = test.session.subscribe(0);
    let by_unknown_author = |event: &Event| matches!(event, Event::TodosChanged { by, .. } if *by == unknown_author);
    test.wait_for_event(by_unknown_author).await;
    assert_eq!(test.statuses(), with_ids([Pending; 3]), "the change does not apply");
    assert!(test.kernel_matches_table().await);
    // Nor does it apply when it is signed as the root.
    let forger = SqlConnection::open(&home.session_db(id), SqlLimits::default()).unwrap();
    forger.run_by(test.session.root(), "UPDATE todos SET status = 'done' WHERE id = 'b'", || false).unwrap();
    test.session.context.todo_sync.sync().await.unwrap();
    assert_eq!(test.statuses(), with_ids([Pending; 3]), "the signature does not count");
    // An edit by the user at the same time does count.
    test.session.edit_todos(done.to_vec()).await.unwrap();
    assert_eq!(test.statuses(), with_ids([Done, Pending, Pending]));
    test.submit(KernelInput::EndFleet { end: FleetEnd::Stopped, why: None }).await;
    test.session.leave().await.unwrap();
}

#[tokio::test]
async fn a_change_that_a_process_could_not_record_is_recorded_by_the_next_with_its_author() {
    let mut test = TodoTestSession::open().await;
    test.plan().await;
    test.submit(KernelInput::BeginFleet(fleet_config())).await;
    let worker = test.start_worker("liar", "a").await;
    test.wait_for_event(|event| matches!(event, Event::TodoDone { .. })).await;
    // As if the process had died between the worker's commit and the event for it.
    let mut test = test
        .reopen(|session| {
            let connection =
                SqlConnection::open(&session.home().session_db(session.id()), SqlLimits::default()).unwrap();
            connection.run_by(worker, "UPDATE todos SET status = 'done' WHERE id = 'b'", || false).unwrap();
        })
        .await;
    // Either of the two processes may have recorded it.
    test.events = test.session.subscribe(0);
    let by_worker = |event: &Event| match event {
        Event::TodosChanged { by: Principal::Task { id }, changed, .. } => {
            *id == worker && changed.iter().any(|todo| todo.id.0 == "b" && todo.status == Pending && changed.len() == 1)
        }
        _other => false,
    };
    test.wait_for_event(by_worker).await;
    assert_eq!(test.statuses(), with_ids([Done, Pending, Pending]));
    assert!(test.kernel_matches_table().await);
    test.session.leave().await.unwrap();
}

#[tokio::test]
async fn changes_made_while_no_process_ran_the_session_are_applied_first() {
    let mut test = TodoTestSession::open().await;
    test.plan().await;
    let (home, id) = (test.session.home().clone(), test.session.id());
    test.session.leave().await.unwrap();
    store::edit_todos(&home, id, &[TodoEdit::Change(TodoChange::status("b".into(), Done, None))]).unwrap();
    let session = Session::open(settings(test.folder.path()), SessionStart::Resume(id)).await.unwrap();
    let status_of_b = |kernel: &kernel::Kernel| kernel.graph().node(&"b".into()).unwrap().progress.status();
    assert_eq!(session.supervision.supervisor.query(status_of_b).await.unwrap(), Done);
    session.leave().await.unwrap();
}
