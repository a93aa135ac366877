//! The services of a fleet: reused results, workspaces, and the collection of work.

use std::sync::{Arc, Mutex};

use host::ProcessIdentity;
use protocol::{Event, FleetConfig, FleetEnd, Isolation, LogEntry, Principal, ReusedResult, Todo, TodoStatus};
use runtime::{
    CollectedWork, Collector, FinishedTodo, FleetOutcome, FleetServices, SessionStart, TodoResultCache, WorkLocation,
    WorkspaceProvider,
};
use store::{SessionFile, WriteBatch};
use testkit::session::FakeClock;
use tools::BoxFuture;

use super::{prompts, reason, statuses, todo, todo_steps, with_plan, with_script};
use crate::support::{UNTIL_GO, until_file};

/// Has a cached result for `a`, and records all calls.
#[derive(Debug, Default)]
struct RecordingServices(Mutex<Vec<String>>);

impl RecordingServices {
    fn note(&self, text: String) {
        self.0.lock().unwrap().push(text);
    }
}

impl TodoResultCache for RecordingServices {
    fn begin<'a>(&'a self, todos: &'a [Todo]) -> BoxFuture<'a, ()> {
        Box::pin(async move { self.note(format!("begin {}", todos.len())) })
    }

    fn lookup<'a>(&'a self, todo: &'a Todo) -> BoxFuture<'a, Option<ReusedResult>> {
        let known =
            (todo.id.0 == "a").then(|| ReusedResult { result: "as ever".into(), commit: Some("c0ffee".into()) });
        Box::pin(async move { known })
    }

    fn store<'a>(&'a self, todo: &'a Todo, result: &'a ReusedResult) -> BoxFuture<'a, ()> {
        Box::pin(async move { self.note(format!("{}: {}", todo.id, result.result)) })
    }

    fn finish(&self, location: WorkLocation) -> BoxFuture<'_, ()> {
        Box::pin(async move { self.note(format!("{location:?}")) })
    }
}

impl WorkspaceProvider for RecordingServices {
    fn workspace_for<'a>(
        &'a self,
        _terms: &'a FleetConfig,
        todo: &'a Todo,
    ) -> BoxFuture<'a, Result<Option<Isolation>, String>> {
        let workspace = if todo.id.0 == "nowhere" { Err("there is no repository here".to_owned()) } else { Ok(None) };
        Box::pin(async move { workspace })
    }
}

impl Collector for RecordingServices {
    fn collect<'a>(&'a self, _terms: &'a FleetConfig, done: &'a [FinishedTodo]) -> BoxFuture<'a, CollectedWork> {
        let works: Vec<String> = done.iter().map(|done| format!("{}={:?}", done.todo.id, done.commit)).collect();
        self.note(works.join(" "));
        let missing = done.iter().filter(|done| done.todo.id.0 == "c").map(|done| done.todo.id.clone());
        let missing: Vec<_> = missing.map(|id| (id, "conflicts in x.txt".to_owned())).collect();
        Box::pin(async move { CollectedWork { location: WorkLocation::InCommits, missing } })
    }
}

#[tokio::test]
async fn cached_todos_are_not_done_again_and_new_results_are_stored() {
    let notes = Arc::new(RecordingServices::default());
    let services = FleetServices {
        result_cache: Arc::clone(&notes) as _,
        workspaces: Arc::clone(&notes) as _,
        collector: Arc::clone(&notes) as _,
    };
    let mut driver = with_script("  - answer: [say: \"${path} is done\"]\n").ready().open(SessionStart::New).await;
    let plan = [todo("a", &[]), todo("b", &["a"]), todo("c", &[]), todo("nowhere", &[])];
    let mut fleet = driver.session_mut().start_fleet(with_plan(plan), services).await.unwrap();
    assert_eq!(driver.fleet_ended(&mut fleet).await, FleetOutcome::Ended(FleetEnd::Blocked));
    let run = driver.leave().await;
    assert!(!todo_steps(&run).contains(&"+a".to_owned()), "{:?}", todo_steps(&run));
    assert_eq!(run.count(|event| matches!(event, Event::TodoDone { fence: None, .. })), 1);
    assert!(prompts(&run, "/root/b")[0].contains("> Result of a:\n> as ever"));
    assert_eq!(reason(&run, "nowhere"), "there is no repository here");
    assert_eq!((statuses(&run)[2].1, reason(&run, "c").as_str()), (TodoStatus::Blocked, "conflicts in x.txt"));
    let mut recorded = notes.0.lock().unwrap().clone();
    recorded[1..3].sort();
    let expected =
        ["begin 4", "b: /root/b is done", "c: /root/c is done", "a=Some(\"c0ffee\") b=None c=None", "InCommits"];
    assert_eq!(recorded, expected);
}

#[tokio::test]
async fn results_reused_by_an_earlier_owner_are_kept_by_the_next() {
    let notes = Arc::new(RecordingServices::default());
    let services = || FleetServices {
        result_cache: Arc::clone(&notes) as _,
        workspaces: Arc::clone(&notes) as _,
        collector: Arc::clone(&notes) as _,
    };
    let script = format!(
        "
  - when: {{ path: /root/b, turn: 1 }}
    answer: [call: {{ tool: shell, input: {{ command: \"touch began; {UNTIL_GO}\" }} }}]
  - answer: [say: \"${{path}} is done\"]
"
    );
    let stage = with_script(&script).ready();
    let mut driver = stage.open(SessionStart::New).await;
    let id = driver.id();
    let plan = with_plan([todo("a", &[]), todo("b", &["a"])]);
    let _fleet = driver.session_mut().start_fleet(plan, services()).await.unwrap();
    until_file(&stage.path("began")).await;
    driver.crash().await;
    std::fs::write(stage.path("go"), "").unwrap();
    notes.0.lock().unwrap().clear();
    let mut driver = stage.open(SessionStart::Resume(id)).await;
    driver.resume().await;
    let mut fleet = driver.session_mut().resume_fleet(services()).await.unwrap();
    assert_eq!(driver.fleet_ended(&mut fleet).await, FleetOutcome::Ended(FleetEnd::Done));
    driver.leave().await;
    let recorded = notes.0.lock().unwrap().clone();
    let kept = ["begin 2", "a: as ever", "b: /root/b is done", "a=Some(\"c0ffee\") b=None", "InCommits"];
    assert_eq!(recorded, kept);
}

/// C6: without special care, a todo whose row is missing would be due for ever.
#[tokio::test]
async fn a_fleet_ends_although_the_row_of_a_todo_is_missing() {
    let stage = with_script("  - answer: [say: done]\n").ready();
    let driver = stage.open(SessionStart::New).await;
    let root = driver.tasks()[0].id;
    let id = driver.leave().await.id();
    let opened = SessionFile::adopt(stage.home(), id, &ProcessIdentity::current().unwrap(), FakeClock::START).unwrap();
    let (changed, gone) = (vec![todo("lost", &[])], Vec::new());
    let event = Event::TodosChanged { by: Principal::User, changed, gone, upto: 0 };
    let entries = vec![LogEntry { at: FakeClock::START, task: root, event }];
    opened.writer.commit(WriteBatch { entries, applied_commands: Vec::new() }).await.unwrap();
    opened.writer.release().unwrap();
    let mut driver = stage.open(SessionStart::Resume(id)).await;
    let mut fleet = driver.fleet(with_plan([todo("a", &[])])).await;
    assert_eq!(driver.fleet_ended(&mut fleet).await, FleetOutcome::Ended(FleetEnd::Done));
    assert_eq!(statuses(&driver.leave().await), [("a".to_owned(), TodoStatus::Done)]);
}
