//! Tests agents of one session that use models of two accounts, one of which is used up.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use host::{Clock, Home};
use model::{Deltas, Model, ModelFacts, ModelRequest, ScriptModel};
use protocol::{AgentSpec, MailDelivery, ModelPreference, SpawnPolicy, TaskOutcome, TaskState, Timestamp};
use testkit::session::FakeClock;

use super::{Session, SessionStart};
use crate::{Catalog, ModelResolveError, ModelResolver, SessionSettings};

const QUOTA_RESET_AFTER: Duration = Duration::from_secs(3600);

/// A model with its own account, whose quota is used up until a set time.
#[derive(Debug)]
struct QuotaModel {
    facts: ModelFacts,
    script: ScriptModel,
    quota_script: ScriptModel,
    quota_resets_at: Timestamp,
    request_count: AtomicUsize,
}

impl QuotaModel {
    fn new(bucket_key: &str, script: &str, quota_resets_at: Timestamp) -> Arc<QuotaModel> {
        let parse =
            |rules: &str| ScriptModel::parse(&format!("version: 1\nabout: x\nrules:\n{rules}"), "test.yaml").unwrap();
        let quota_script = parse("  - fail: { class: quota-until, after: 1h, message: used up }\n");
        let facts = ModelFacts { bucket_key: Some(bucket_key.into()), ..ModelFacts::UNKNOWN };
        Arc::new(QuotaModel {
            facts,
            script: parse(script),
            quota_script,
            quota_resets_at,
            request_count: AtomicUsize::new(0),
        })
    }
}

impl Model for QuotaModel {
    fn name(&self) -> &str {
        self.script.name()
    }

    fn facts(&self) -> &ModelFacts {
        &self.facts
    }

    fn send(&self, request: ModelRequest) -> Deltas {
        self.request_count.fetch_add(1, Ordering::SeqCst);
        if request.requested_at < self.quota_resets_at {
            self.quota_script.send(request)
        } else {
            self.script.send(request)
        }
    }
}

/// One model besides the session's own.
#[derive(Debug)]
struct OneOtherModel(Arc<QuotaModel>);

impl ModelResolver for OneOtherModel {
    fn open(&self, _spec: &str) -> Result<Arc<dyn Model>, ModelResolveError> {
        Ok(Arc::clone(&self.0) as Arc<dyn Model>)
    }

    fn available(&self) -> Vec<String> {
        vec!["other/b".into()]
    }

    fn preferred(&self, _preference: ModelPreference) -> Option<String> {
        None
    }
}

const SESSION_MODEL_RULES: &str = "
  - when: { agent: worker }
    answer: [say: done]
  - when: { turn: 1 }
    answer:
      - call: { id: a, tool: task, input: { description: d, prompt: p, agent_type: worker, name: first, model: other/b, mode: background } }
      - call: { id: b, tool: task, input: { description: d, prompt: p, agent_type: worker, name: free, mode: sync } }
  - when: { turn: 2 }
    answer:
      - call: { id: c, tool: task, input: { description: d, prompt: p, agent_type: worker, name: second, model: other/b, mode: background } }
  - answer: [say: noted]
";

fn settings(folder: &Path, own: &Arc<QuotaModel>, other: &Arc<QuotaModel>, clock: &Arc<FakeClock>) -> SessionSettings {
    let worker = AgentSpec {
        name: "worker".into(),
        description: "works".into(),
        model_invocable: true,
        spawns: SpawnPolicy::Any,
        ..AgentSpec::default()
    };
    let (home, model) = (Home::open(folder.join("home")).unwrap(), Arc::clone(own) as Arc<dyn Model>);
    SessionSettings {
        models: Arc::new(OneOtherModel(Arc::clone(other))),
        catalog: Arc::new(Catalog { agents: vec![worker], ..Catalog::default() }),
        clock: Arc::clone(clock) as Arc<dyn Clock>,
        ..SessionSettings::minimal(home, folder.join("work"), model, "own/a")
    }
}

fn state(session: &Session, name: &str) -> Option<TaskState> {
    let tasks = session.tasks().unwrap();
    tasks.into_iter().find(|task| task.path == format!("/root/{name}")).map(|task| task.state)
}

/// Advances the clock until a condition holds.
async fn advance_until(clock: &FakeClock, what: &str, holds: impl Fn() -> bool) {
    for _ in 0..2000 {
        if holds() {
            return;
        }
        clock.advance(Duration::from_millis(100));
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("timed out waiting for: {what}");
}

#[tokio::test]
async fn when_one_account_is_used_up_only_its_agents_wait() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("work")).unwrap();
    let clock = Arc::new(FakeClock::default());
    let own = QuotaModel::new("own/account/a", SESSION_MODEL_RULES, Timestamp(0));
    let other =
        QuotaModel::new("other/account/b", "  - answer: [say: at last]\n", FakeClock::START.plus(QUOTA_RESET_AFTER));
    let session = Session::open(settings(folder.path(), &own, &other, &clock), SessionStart::New).await.unwrap();
    session.send("go", MailDelivery::FollowUp).await.unwrap();
    let is_parked = |name: &str| matches!(state(&session, name), Some(TaskState::Parked { .. }));
    advance_until(&clock, "two parked agents", || is_parked("first") && is_parked("second")).await;
    advance_until(&clock, "an idle root", || session.status().borrow().root == Some(TaskState::Idle)).await;
    assert_eq!(state(&session, "free"), Some(TaskState::Idle));
    // The second agent learned of the quota from the first one's request.
    assert_eq!(other.request_count.load(Ordering::SeqCst), 1);
    clock.advance(QUOTA_RESET_AFTER);
    advance_until(&clock, "a quiet session", || session.status().borrow().quiet).await;
    let tasks = session.tasks().unwrap();
    assert!(tasks.iter().all(|task| task.last_outcome == Some(TaskOutcome::Completed)), "{tasks:?}");
    let answered = tasks.iter().filter(|task| task.result.as_deref() == Some("at last")).count();
    assert_eq!((answered, other.request_count.load(Ordering::SeqCst)), (2, 3));
    session.leave().await.unwrap();
}
