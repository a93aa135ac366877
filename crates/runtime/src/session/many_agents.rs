//! Tests sixty-four agents with one budget against a server that sometimes fails: the budget holds at every event, and
//! the totals of the log equal those of the server.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use host::Home;
use kernel::{Kernel, SessionLimits, TaskSpawn};
use model::{Provider, ProviderKey, Providers, WireFormat};
use net::Secret;
use protocol::{Budget, Cost, Event, Price, TaskId, TaskSpec, TaskType, Usage};
use store::SessionReader;
use testkit::server::ModelServer;

use super::{Session, SessionStart};
use crate::SessionSettings;

const AGENTS: u32 = 64;

const PRICE: Price = Price { input: 2_000_000, output: 10_000_000, cache_read: 200_000, cache_write: 2_500_000 };

/// Each agent looks four times, unless it is told to stop.
const LOOK_SCRIPT: &str = "
version: 1
about: Looks, and then says so
rules:
  - when: { prompt: 'your last answer' }
    answer: [say: stopped early]
  - when: { turn: ..4 }
    answer:
      - say: I look.
      - call: { tool: glob, input: { pattern: '*.txt' } }
  - answer: [say: looked]
";

fn model(url: String) -> Arc<dyn model::Model> {
    let key = ProviderKey::Present(Secret::new("sk-0123456789"));
    let provider = Provider {
        models: [(
            "m".into(),
            model::ModelListing { price: Some(PRICE), context_tokens: None, max_output_tokens: Some(1_000) },
        )]
        .into(),
        ..Provider::new(WireFormat::Chat, url, key)
    };
    let providers = Providers { by_name: [("test".into(), provider)].into(), ..Providers::default() };
    model::open("test/m", Path::new("/"), &providers).unwrap()
}

fn settings(folder: &Path, url: String, budget: Budget) -> SessionSettings {
    let home = Home::open(folder.join("home")).unwrap();
    SessionSettings {
        limits: SessionLimits { live: AGENTS, ..SessionLimits::default() },
        budget,
        ..SessionSettings::minimal(home, folder.join("work"), model(url), "test/m")
    }
}

/// Starts a subagent of the root; no call waits for its result.
async fn spawn(session: &Session, number: u32) {
    let spec = TaskSpec {
        parent: Some(session.root),
        description: "looks".into(),
        ..TaskSpec::new(TaskType::Agent, "main", format!("agent-{number}"))
    };
    let id = TaskId::new(session.context.facts.ids.uuid());
    let spawn =
        TaskSpawn { id, spec, prompt: "look".into(), by: None, until: None, definition: None, redo_reason: None };
    session.supervision.supervisor.submit(kernel::KernelInput::Spawn(spawn)).await.unwrap();
}

/// The totals of the log.
#[derive(Debug, Default)]
struct LogTotals {
    usage: Usage,
    cost: Cost,
    failed_turns: u32,
    wrap_ups: u32,
    completed: u32,
}

/// Runs all agents to the end, checks the ledger after every event, and adds up the log.
async fn run_agents(server: &ModelServer, budget: Budget) -> LogTotals {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("work")).unwrap();
    let session = Session::open(settings(folder.path(), server.openai_url(), budget), SessionStart::New).await.unwrap();
    for number in 0..AGENTS {
        spawn(&session, number).await;
    }
    let mut status = session.status();
    let quiet = status.wait_for(|status| status.quiet);
    tokio::time::timeout(Duration::from_secs(120), quiet).await.unwrap().unwrap();
    let (home, id) = (session.home().clone(), session.id());
    session.leave().await.unwrap();

    let (mut kernel, mut totals) = (Kernel::new(SessionLimits::default()), LogTotals::default());
    for envelope in SessionReader::open(&home, id).unwrap().events_after(0, usize::MAX).unwrap() {
        kernel.apply_event(&envelope.entry).unwrap();
        if let Some(root) = kernel.root().and_then(|root| kernel.task(root)) {
            let booked = root.ledger.spent.plus(root.ledger.reserved);
            assert!(budget.allows(booked), "event {} exceeds the budget: {booked:?}", envelope.seq);
        }
        match &envelope.entry.event {
            Event::TurnAnswered { usage, cost, .. } => {
                (totals.usage, totals.cost) = (totals.usage.plus(*usage), totals.cost.plus(*cost));
            }
            Event::TurnFailed { cost, .. } => {
                assert_eq!(*cost, Cost::ZERO, "a request that the server refused costs nothing");
                totals.failed_turns += 1;
            }
            Event::WrapUpBegan { .. } => totals.wrap_ups += 1,
            Event::ActivationEnded { text, .. } if text == "looked" => totals.completed += 1,
            _other => {}
        }
    }
    assert_eq!(kernel.root().and_then(|root| kernel.task(root)).unwrap().ledger.spent, totals.cost);
    totals
}

fn server() -> ModelServer {
    ModelServer::script(LOOK_SCRIPT).faults("%7=status:500,%11=status:503,%17=close".parse().unwrap()).start()
}

#[tokio::test]
async fn with_a_large_budget_the_totals_equal_the_server_s() {
    let server = server();
    let totals = run_agents(&server, Budget { tokens: Some(100_000_000), micros: None }).await;
    assert_eq!(totals.usage, server.usage_sent());
    assert_eq!(totals.cost, Cost { tokens: totals.usage.total(), micros: totals.cost.micros });
    assert!(totals.failed_turns > 20 && totals.wrap_ups == 0 && totals.completed >= AGENTS, "{totals:?}");
}

#[tokio::test]
async fn with_a_small_budget_the_cap_holds_at_every_event() {
    let server = server();
    let budget = Budget { tokens: Some(250_000), micros: Some(500_000) };
    let totals = run_agents(&server, budget).await;
    assert_eq!(totals.usage, server.usage_sent());
    assert!(budget.allows(totals.cost) && totals.wrap_ups > 0 && totals.completed > 0, "{totals:?}");
}
