//! Runs several sessions at once in one process, each with the same prompt to a model server, to test what processes
//! share.

#![expect(clippy::print_stderr, clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use host::{Home, SystemClock, TimeIds};
use model::{Model, Provider, ProviderKey, Providers, WireFormat};
use net::Secret;
use policy::Policy;
use protocol::{Budget, MailDelivery, TaskOutcome};
use runtime::{Session, SessionSettings, SessionStart};
use store::NoWriterProbe;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [home, folder, url, count] = arguments.as_slice() else {
        eprintln!("usage: many-sessions HOME FOLDER BASE_URL COUNT");
        return ExitCode::from(2);
    };
    let settings = settings(Path::new(home), Path::new(folder), url);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(join_all((0..count.parse().unwrap()).map(|_: usize| play(settings.clone()))));
    ExitCode::SUCCESS
}

/// Runs a session from its prompt until it is idle; panics unless it completes.
async fn play(settings: SessionSettings) {
    let session = Session::open(settings, SessionStart::New).await.unwrap();
    session.send("go", MailDelivery::FollowUp).await.unwrap();
    let mut status = session.status();
    status.wait_for(|status| status.root_is_at_rest()).await.unwrap();
    let outcome = session.view().unwrap().last_outcome;
    session.leave().await.unwrap();
    assert_eq!(outcome, Some(TaskOutcome::Completed));
}

fn settings(home: &Path, folder: &Path, url: &str) -> SessionSettings {
    SessionSettings {
        home: Home::open(home.to_owned()).unwrap(),
        cwd: folder.to_owned(),
        added_folders: Vec::new(),
        model: model(url),
        model_spec: "test/test-model".into(),
        models: Arc::new(runtime::SessionModelOnly),
        cost_guard: runtime::CostGuard::default(),
        catalog: Arc::default(),
        main_agent: None,
        client_extensions: runtime::ClientExtensions::default(),
        id: None,
        features: runtime::SessionFeatures::default(),
        policy: Policy::default(),
        rules: Vec::new(),
        mode: None,
        default_plan_action: protocol::PlanAction::ExitOnly,
        ask_user: true,
        day_budget: None,
        ask_wait: Some(Duration::ZERO),
        limits: kernel::SessionLimits::default(),
        watchdog: runtime::WatchdogSettings::default(),
        list: protocol::ListName::Session,
        max_turns: None,
        budget: Budget::default(),
        timeout: None,
        effort: None,
        secrets: Arc::default(),
        route: net::NetworkRoute::default(),
        tools: tools::ToolLimits::default(),
        spools: Arc::new(runtime::Spools::new(
            runtime::SpoolLimits { command: 1 << 20, session: 1 << 24, min_free: 0 },
            Arc::new(runtime::SystemDisk),
        )),
        guardian: "/proc/self/exe".into(),
        env: Vec::new(),
        clock: Arc::new(SystemClock),
        ids: Arc::new(TimeIds),
        probe: Arc::new(NoWriterProbe),
    }
}

fn model(url: &str) -> Arc<dyn Model> {
    let key = ProviderKey::Present(Secret::new("sk-0123456789"));
    let provider = Provider::new(WireFormat::Responses, url, key);
    let providers = Providers { by_name: [("test".into(), provider)].into(), ..Providers::default() };
    model::open("test/test-model", Path::new("/"), &providers).unwrap()
}
