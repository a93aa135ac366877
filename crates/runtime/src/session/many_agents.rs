//! Sixty-four agents on one budget, against a server that fails now and then. The cap holds at every event, and the
//! sums are the server's own.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use host::{Home, SystemClock, TimeIds};
use kernel::{Kernel, SessionLimits, TaskSpawn};
use model::{Provider, ProviderKey, Providers, WireFormat};
use net::Secret;
use protocol::{Budget, Cost, Event, Price, TaskId, TaskSpec, TaskType, Usage};
use store::{NoWriterProbe, SessionReader};
use testkit::server::ModelServer;

use super::{Session, SessionStart};
use crate::SessionSettings;

const AGENTS: u32 = 64;

const PRICE: Price = Price { input: 2_000_000, output: 10_000_000, cache_read: 200_000, cache_write: 2_500_000 };

/// Each agent looks four times, unless it is told to stop.
const LOOKS: &str = "
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
    let provider = Provider {
        wire: WireFormat::Chat,
        base_url: url,
        key: ProviderKey::Present(Secret::new("sk-0123456789")),
        is_small: false,
        max_concurrent_requests: None,
        extra: model::RequestExtras::default(),
        models: [("m".into(), model::ModelListing { price: Some(PRICE), context: None, max_output: Some(1_000) })]
            .into(),
    };
    let providers = Providers { by_name: [("test".into(), provider)].into(), ..Providers::default() };
    model::open("test/m", Path::new("/"), &providers).unwrap()
}

pub(super) fn settings(folder: &Path, url: String, budget: Budget) -> SessionSettings {
    SessionSettings {
        home: Home::open(folder.join("home")).unwrap(),
        cwd: folder.join("work"),
        roots: Vec::new(),
        model: model(url),
        model_spec: "test/m".into(),
        models: Arc::new(crate::SessionModelOnly),
        cost_guard: crate::CostGuard::default(),
        catalog: Arc::default(),
        main_agent: None,
        client_extensions: crate::ClientExtensions::default(),
        id: None,
        features: crate::SessionFeatures::default(),
        policy: policy::Policy::default(),
        rules: Vec::new(),
        mode: None,
        plan_exit: protocol::PlanAction::ExitOnly,
        ask_user: true,
        day_budget: None,
        ask_wait: Some(Duration::ZERO),
        limits: SessionLimits { live: AGENTS, ..SessionLimits::default() },
        watchdog: crate::WatchdogSettings::default(),
        list: protocol::ListName::Session,
        max_turns: None,
        budget,
        timeout: None,
        effort: None,
        secrets: Arc::default(),
        route: net::NetworkRoute::default(),
        tools: tools::ToolLimits::default(),
        spools: Arc::new(crate::Spools::new(
            crate::SpoolLimits { command: 1 << 20, session: 1 << 30, min_free: 0 },
            Arc::new(crate::SystemDisk),
        )),
        guardian: "/proc/self/exe".into(),
        env: Vec::new(),
        clock: Arc::new(SystemClock),
        ids: Arc::new(TimeIds),
        probe: Arc::new(NoWriterProbe),
    }
}

/// Starts a subagent of the root whose result goes nowhere.
async fn spawn(session: &Session, number: u32) {
    let spec = TaskSpec {
        parent: Some(session.root),
        description: "looks".into(),
        ..TaskSpec::new(TaskType::Agent, "main", format!("agent-{number}"))
    };
    let id = TaskId::new(session.context.settings.ids.uuid());
    let spawn = TaskSpawn { id, spec, prompt: "look".into(), by: None, until: None, definition: None };
    session.supervision.supervisor.submit(kernel::KernelInput::Spawn(spawn)).await.unwrap();
}

/// The totals of the log.
#[derive(Debug, Default)]
struct LogTotals {
    answered: Usage,
    cost: Cost,
    failed: u32,
    stopped: u32,
    looked: u32,
}

/// Runs all agents to the end, checks the ledger after every event, and adds up the log.
async fn run(server: &ModelServer, budget: Budget) -> LogTotals {
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

    let (mut kernel, mut sums) = (Kernel::new(SessionLimits::default()), LogTotals::default());
    for envelope in SessionReader::open(&home, id).unwrap().events_after(0, usize::MAX).unwrap() {
        kernel.evolve(&envelope.entry).unwrap();
        if let Some(root) = kernel.root().and_then(|root| kernel.task(root)) {
            let booked = root.ledger.spent.plus(root.ledger.reserved);
            assert!(budget.allows(booked), "event {} goes past the budget: {booked:?}", envelope.seq);
        }
        match &envelope.entry.event {
            Event::TurnAnswered { usage, cost, .. } => {
                (sums.answered, sums.cost) = (sums.answered.plus(*usage), sums.cost.plus(*cost));
            }
            Event::TurnFailed { cost, .. } => {
                assert_eq!(*cost, Cost::ZERO, "a try that the server refused costs nothing");
                sums.failed += 1;
            }
            Event::WrapUpBegan { .. } => sums.stopped += 1,
            Event::ActivationEnded { text, .. } if text == "looked" => sums.looked += 1,
            _other => {}
        }
    }
    assert_eq!(kernel.root().and_then(|root| kernel.task(root)).unwrap().ledger.spent, sums.cost);
    sums
}

fn server() -> ModelServer {
    ModelServer::script(LOOKS).faults("%7=status:500,%11=status:503,%17=close".parse().unwrap()).start()
}

#[tokio::test]
async fn with_enough_for_all_the_sums_are_the_server_s_own() {
    let server = server();
    let sums = run(&server, Budget { tokens: Some(100_000_000), micros: None }).await;
    assert_eq!(sums.answered, server.usage_sent());
    assert_eq!(sums.cost, Cost { tokens: sums.answered.total(), micros: sums.cost.micros });
    assert!(sums.failed > 20 && sums.stopped == 0 && sums.looked >= AGENTS, "{sums:?}");
}

#[tokio::test]
async fn with_too_little_for_all_the_cap_holds_at_every_event() {
    let server = server();
    let budget = Budget { tokens: Some(250_000), micros: Some(500_000) };
    let sums = run(&server, budget).await;
    assert_eq!(sums.answered, server.usage_sent());
    assert!(budget.allows(sums.cost) && sums.stopped > 0 && sums.looked > 0, "{sums:?}");
}
