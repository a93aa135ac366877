//! Compares the kernel's graph of todos with the table: agents, users and the runtime change both at random, and they
//! agree after each sync.

use std::collections::BTreeSet;

use host::{Home, ProcessIdentity};
use kernel::{
    BoundaryPoint, InputRefusal, Kernel, KernelEffect, KernelInput, RunEnding, RunUpdate, SessionLimits, TaskSpawn,
    TodoTransition,
};
use protocol::api::{NewTodo, TodoChange, TodoEdit};
use protocol::*;
use store::{OwnedSession, SessionFile, SessionReader, SqlConnection, SqlLimits, TodoAuthor, TodoChanges, WriteBatch};

const STEPS: usize = 120;

struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }
}

struct World {
    seed: u64,
    dice: Dice,
    kernel: Kernel,
    opened: OwnedSession,
    reader: SessionReader,
    sql_connection: SqlConnection,
    home: Home,
    id: SessionId,
    now: u64,
    tasks: Vec<TaskId>,
    /// Changes read from the table and not yet reported to the kernel.
    unreported: Vec<TodoChanges>,
    _folder: tempfile::TempDir,
}

fn task(n: usize) -> TaskId {
    TaskId::new(format!("{:032x}", n + 1).parse().unwrap())
}

impl World {
    async fn new(seed: u64) -> World {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path().join("home")).unwrap();
        let id = SessionId::new(format!("{seed:032x}").parse().unwrap());
        let opened = SessionFile::create(&home, id, &ProcessIdentity::current().unwrap(), Timestamp(1)).unwrap();
        let space = SqlConnection::open(&home.session_db(id), SqlLimits::default()).unwrap();
        let reader = SessionReader::open(&home, id).unwrap();
        let (kernel, dice) = (Kernel::new(SessionLimits { live: 3, ..SessionLimits::default() }), Dice(seed));
        let (tasks, read, now) = (vec![task(0)], Vec::new(), 10);
        let mut world = World {
            seed,
            dice,
            kernel,
            opened,
            reader,
            sql_connection: space,
            home,
            id,
            now,
            tasks,
            unreported: read,
            _folder: folder,
        };
        let spec = TaskSpec { on_complete: CompletionPolicy::Idle, ..TaskSpec::new(TaskType::Main, "main", "root") };
        let config = SessionConfig {
            cwd: "/work".into(),
            model: "m".into(),
            permission: PermissionMode::Default,
            rules: Vec::new(),
            roots: Vec::new(),
            ask_user: true,
            max_turns: None,
            root_turns: None,
            limits: protocol::AgentLimits::default(),
            budget: Budget::default(),
            effort: None,
            list: ListName::Session,
            version: "1".into(),
        };
        world.apply(KernelInput::Open { root: task(0), spec, definition: None, config }).await;
        world
    }

    /// Applies an input and commits its events; a refused input changes nothing.
    async fn apply(&mut self, input: KernelInput) {
        self.now += 1;
        let entries = match self.kernel.decide(Timestamp(self.now), input) {
            Ok(effects) => effects.into_iter().filter_map(|effect| match effect {
                KernelEffect::Record(entry) => Some(entry),
                _other => None,
            }),
            Err(InputRefusal::InvalidEvent(defect)) => panic!("history {}: {defect}", self.seed),
            Err(_refusal) => return,
        };
        let batch = WriteBatch { entries: entries.collect(), applied_commands: Vec::new() };
        self.opened.writer.commit(batch).await.unwrap();
    }

    async fn step(&mut self) {
        match self.dice.below(12) {
            0..3 => self.sql(),
            3..5 => self.edit(),
            5..8 => {
                let input = self.runtime_input();
                self.apply(input).await;
            }
            8 => self.end_one().await,
            // Reading and reporting are separate steps, so that all other steps can happen in between.
            9 => {
                if self.unreported.is_empty() {
                    self.unreported = self.reader.todo_changes(&|_n| true).unwrap();
                }
            }
            _ => {
                self.sync().await;
                self.compare();
            }
        }
    }

    async fn sync(&mut self) {
        loop {
            for TodoChanges { by, changed, gone, upto } in std::mem::take(&mut self.unreported) {
                let by = match by {
                    TodoAuthor::Person => Principal::User,
                    TodoAuthor::Root(id) | TodoAuthor::Worker(id) => Principal::Task { id },
                    TodoAuthor::Unverified => panic!("nobody wrote a todo"),
                };
                self.apply(KernelInput::TodosChanged { by, changed, gone, upto }).await;
            }
            self.unreported = self.reader.todo_changes(&|_n| true).unwrap();
            if self.unreported.is_empty() {
                return;
            }
        }
    }

    fn todo(&mut self) -> String {
        format!("t{}", self.dice.below(8))
    }

    fn status(&mut self) -> TodoStatus {
        TodoStatus::ALL[self.dice.below(4)]
    }

    fn sql(&mut self) {
        let (a, b, status) = (self.todo(), self.todo(), self.status().as_str());
        let sql = match self.dice.below(7) {
            0..3 => format!("INSERT INTO todos (id, title, status) VALUES ('{a}', 'x', '{status}')"),
            3 => format!("UPDATE todos SET status = '{status}' WHERE id IN ('{a}', '{b}')"),
            4 => format!("UPDATE todos SET title = title || 'y' WHERE id = '{a}'"),
            5 => format!("INSERT INTO todo_deps VALUES ('{a}', '{b}')"),
            _ => format!("DELETE FROM todos WHERE id = '{a}'"),
        };
        let author = self.tasks[self.dice.below(self.tasks.len())];
        // The table refuses statements that violate its constraints.
        let _refused = self.sql_connection.run_by(author, &sql, || false);
    }

    fn edit(&mut self) {
        let (a, b, status) = (TodoId(self.todo()), TodoId(self.todo()), self.status());
        let edit = match self.dice.below(3) {
            0 => {
                let depends_on = vec![b];
                TodoEdit::Add(NewTodo { id: Some(a), title: "x".into(), depends_on, ..NewTodo::default() })
            }
            1 => TodoEdit::Change(TodoChange::status(a, status, Some("so".into()))),
            _ => {
                let change = TodoChange { depends_on: Some(vec![b]), ..TodoChange::status(a, status, None) };
                TodoEdit::Change(TodoChange { status: None, ..change })
            }
        };
        let _refused = store::edit_own_todos(&self.home, self.id, &[edit], drop);
    }

    fn runtime_input(&mut self) -> KernelInput {
        let todo = TodoId(self.todo());
        match self.dice.below(12) {
            0..2 => KernelInput::BeginFleet(FleetConfig {
                goal: "all".into(),
                parallel: None,
                retries: 1,
                rounds: 1,
                isolated: false,
                dirty: false,
                merge: false,
                check: None,
                plan: None,
                agent: None,
            }),
            2 => KernelInput::EndFleet { end: FleetEnd::Stopped, why: None },
            3 => KernelInput::SetTodoState { todo, to: TodoTransition::Reuse(None) },
            4 => KernelInput::SetTodoState { todo, to: TodoTransition::Block("no".into()) },
            5 => KernelInput::SetTodoState { todo, to: TodoTransition::Reopen },
            _ => {
                let id = task(self.tasks.len());
                let due = self.kernel.due_todos("a");
                let Some(todo) = due.first().cloned() else { return KernelInput::Tick };
                self.tasks.push(id);
                let spec = TaskSpec {
                    parent: Some(task(0)),
                    todo: Some(todo),
                    on_complete: CompletionPolicy::Finish,
                    ..TaskSpec::new(TaskType::Agent, "a", "worker")
                };
                KernelInput::Spawn(TaskSpawn {
                    id,
                    spec,
                    prompt: "go".into(),
                    by: None,
                    until: None,
                    definition: None,
                    redo_reason: None,
                })
            }
        }
    }

    /// Ends a worker in one of several ways.
    async fn end_one(&mut self) {
        let running: Vec<RunId> =
            self.kernel.tasks().filter(|task| task.is_running()).map(kernel::KernelTask::run_id).collect();
        let Some(run) = running.first().copied() else { return };
        match self.dice.below(3) {
            0 => self.apply(KernelInput::Cancel { task: run.task, by: CancelBy::User, how: CancelMode::Abort }).await,
            1 => {
                let ending = RunEnding::Failed { kind: FailKind::Model, message: "no".into() };
                self.apply(KernelInput::Report(run, RunUpdate::Boundary(BoundaryPoint::BetweenTurns))).await;
                self.apply(KernelInput::Report(run, RunUpdate::Ended { ending, text: String::new() })).await;
            }
            _ => {
                self.apply(KernelInput::Report(run, RunUpdate::Boundary(BoundaryPoint::BetweenTurns))).await;
                let quote = TurnQuote {
                    input: 1,
                    estimated: 0,
                    min_output: 1,
                    expected_output: 1,
                    max_output: 1,
                    price: None,
                    last_turn_reserve: Cost::ZERO,
                };
                self.apply(KernelInput::Report(run, RunUpdate::TurnBegun { model: "m".into(), quote })).await;
                let turn = self.kernel.task(run.task).unwrap().turn;
                let content = vec![ContentBlock::Text { text: "done".into() }];
                let (stop, usage, cost) = (StopReason::End, Usage::default(), Cost::ZERO);
                let model = String::from("m");
                let answered = RunUpdate::TurnAnswered { turn, content, stop, usage, cost, model };
                self.apply(KernelInput::Report(run, answered)).await;
                self.apply(KernelInput::Report(run, RunUpdate::Boundary(BoundaryPoint::End))).await;
                let ending = RunEnding::Completed;
                self.apply(KernelInput::Report(run, RunUpdate::Ended { ending, text: "done".into() })).await;
            }
        }
    }

    fn compare(&self) {
        let rows = self.reader.todos().unwrap();
        let table: BTreeSet<(TodoId, &str, BTreeSet<TodoId>)> = rows
            .into_iter()
            .map(|row| (row.todo.id, row.todo.status.as_str(), row.todo.depends_on.into_iter().collect()))
            .collect();
        let nodes = self.kernel.graph().nodes();
        let graph: BTreeSet<(TodoId, &str, BTreeSet<TodoId>)> =
            nodes.map(|(id, node)| (id.clone(), node.progress.status().as_str(), node.depends_on.clone())).collect();
        assert_eq!(table, graph, "history {}, step {}", self.seed, self.now);
        assert_eq!(self.kernel.graph().cycle(), None, "history {}", self.seed);
        let mut replayed = Kernel::new(SessionLimits { live: 3, ..SessionLimits::default() });
        for envelope in self.reader.events_after(0, usize::MAX).unwrap() {
            replayed.apply_event(&envelope.entry).unwrap();
        }
        assert_eq!(replayed.graph(), self.kernel.graph(), "history {}: the log gives another graph", self.seed);
    }
}

#[tokio::test]
async fn the_graph_and_the_table_agree_after_each_sync_whoever_changed_them() {
    let mut seen = BTreeSet::new();
    for seed in 1..=16 {
        let mut world = World::new(seed).await;
        for _ in 0..STEPS {
            world.step().await;
        }
        world.sync().await;
        world.compare();
        let log = world.reader.events_after(0, usize::MAX).unwrap();
        seen.extend(log.iter().filter_map(|envelope| match &envelope.entry.event {
            Event::TodosChanged { .. } => Some("changed"),
            Event::TodoClaimed { .. } => Some("claimed"),
            Event::TodoReturned { .. } => Some("returned"),
            Event::TodoDone { .. } => Some("done"),
            Event::TodoBlocked { .. } => Some("blocked"),
            Event::TodoUnblocked { .. } => Some("freed"),
            _other => None,
        }));
    }
    assert_eq!(seen.len(), 6, "{seen:?}");
}
