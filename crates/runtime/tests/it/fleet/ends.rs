//! What others have to say to a fleet: what is known already, where work is done, and what becomes of it.

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

use super::{by, course, given, prompts, reason, statuses, todo};
use crate::support::{UNTIL_GO, until_file};

/// Knows what `a` brought, and notes what it is told.
#[derive(Debug, Default)]
struct Notes(Mutex<Vec<String>>);

impl Notes {
    fn note(&self, words: String) {
        self.0.lock().unwrap().push(words);
    }
}

impl TodoResultCache for Notes {
    fn begin<'a>(&'a self, todos: &'a [Todo]) -> BoxFuture<'a, ()> {
        Box::pin(async move { self.note(format!("begin {}", todos.len())) })
    }

    fn lookup<'a>(&'a self, todo: &'a Todo) -> BoxFuture<'a, Option<ReusedResult>> {
        let known =
            (todo.id.0 == "a").then(|| ReusedResult { result: "as ever".into(), commit: Some("c0ffee".into()) });
        Box::pin(async move { known })
    }

    fn store<'a>(&'a self, todo: &'a Todo, brought: &'a ReusedResult) -> BoxFuture<'a, ()> {
        Box::pin(async move { self.note(format!("{}: {}", todo.id, brought.result)) })
    }

    fn finish(&self, landing: WorkLocation) -> BoxFuture<'_, ()> {
        Box::pin(async move { self.note(format!("{landing:?}")) })
    }
}

impl WorkspaceProvider for Notes {
    fn workspace_for<'a>(
        &'a self,
        _terms: &'a FleetConfig,
        todo: &'a Todo,
    ) -> BoxFuture<'a, Result<Option<Isolation>, String>> {
        let place = if todo.id.0 == "nowhere" { Err("there is no repository here".to_owned()) } else { Ok(None) };
        Box::pin(async move { place })
    }
}

impl Collector for Notes {
    fn collect<'a>(&'a self, _terms: &'a FleetConfig, done: &'a [FinishedTodo]) -> BoxFuture<'a, CollectedWork> {
        let works: Vec<String> = done.iter().map(|done| format!("{}={:?}", done.todo.id, done.work)).collect();
        self.note(works.join(" "));
        let short = done.iter().filter(|done| done.todo.id.0 == "c").map(|done| done.todo.id.clone());
        let short: Vec<_> = short.map(|id| (id, "conflicts in x.txt".to_owned())).collect();
        Box::pin(async move { CollectedWork { landing: WorkLocation::InCommits, missing: short } })
    }
}

#[tokio::test]
async fn what_is_known_is_not_done_again_and_what_is_done_is_kept() {
    let notes = Arc::new(Notes::default());
    let aids = FleetServices {
        result_cache: Arc::clone(&notes) as _,
        workspaces: Arc::clone(&notes) as _,
        collector: Arc::clone(&notes) as _,
    };
    let mut driver = by("  - answer: [say: \"${path} is done\"]\n").ready().open(SessionStart::New).await;
    let plan = [todo("a", &[]), todo("b", &["a"]), todo("c", &[]), todo("nowhere", &[])];
    let mut fleet = driver.session_mut().start_fleet(given(plan), aids).await.unwrap();
    assert_eq!(driver.fleet_ended(&mut fleet).await, FleetOutcome::Ended(FleetEnd::Blocked));
    let run = driver.leave().await;
    assert!(!course(&run).contains(&"+a".to_owned()), "{:?}", course(&run));
    assert_eq!(run.count(|event| matches!(event, Event::TodoDone { fence: None, .. })), 1);
    assert!(prompts(&run, "/root/b")[0].contains("> Result of a:\n> as ever"));
    assert_eq!(reason(&run, "nowhere"), "there is no repository here");
    assert_eq!((statuses(&run)[2].1, reason(&run, "c").as_str()), (TodoStatus::Blocked, "conflicts in x.txt"));
    let mut told = notes.0.lock().unwrap().clone();
    told[1..3].sort();
    let expected =
        ["begin 4", "b: /root/b is done", "c: /root/c is done", "a=Some(\"c0ffee\") b=None c=None", "InCommits"];
    assert_eq!(told, expected);
}

#[tokio::test]
async fn what_another_owner_used_again_is_not_lost_to_the_next() {
    let notes = Arc::new(Notes::default());
    let aids = || FleetServices {
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
    let stage = by(&script).ready();
    let mut driver = stage.open(SessionStart::New).await;
    let id = driver.id();
    let plan = given([todo("a", &[]), todo("b", &["a"])]);
    let _fleet = driver.session_mut().start_fleet(plan, aids()).await.unwrap();
    until_file(&stage.path("began")).await;
    driver.crash().await;
    std::fs::write(stage.path("go"), "").unwrap();
    notes.0.lock().unwrap().clear();
    let mut driver = stage.open(SessionStart::Resume(id)).await;
    driver.resume().await;
    let mut fleet = driver.session_mut().resume_fleet(aids()).await.unwrap();
    assert_eq!(driver.fleet_ended(&mut fleet).await, FleetOutcome::Ended(FleetEnd::Done));
    driver.leave().await;
    let told = notes.0.lock().unwrap().clone();
    let kept = ["begin 2", "a: as ever", "b: /root/b is done", "a=Some(\"c0ffee\") b=None", "InCommits"];
    assert_eq!(told, kept);
}

/// C6: a todo whose row is gone, however that came, would be due for ever.
#[tokio::test]
async fn a_fleet_ends_though_the_row_of_a_todo_is_gone() {
    let stage = by("  - answer: [say: done]\n").ready();
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
    let mut fleet = driver.fleet(given([todo("a", &[])])).await;
    assert_eq!(driver.fleet_ended(&mut fleet).await, FleetOutcome::Ended(FleetEnd::Done));
    assert_eq!(statuses(&driver.leave().await), [("a".to_owned(), TodoStatus::Done)]);
}
