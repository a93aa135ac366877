//! Several sessions at once in one process, each with the same prompt to a model server, for tests of what processes
//! share.

#![expect(clippy::print_stderr, clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use host::{Home, SystemClock, TimeIds};
use model::{Key, Model, Provider, Providers, Wire};
use net::Secret;
use policy::Policy;
use protocol::{Budget, Delivery, Outcome};
use runtime::{Session, Settings, Start};
use store::NoProbe;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [home, folder, url, count] = arguments.as_slice() else {
        eprintln!("usage: many-sessions HOME FOLDER BASE_URL COUNT");
        return ExitCode::from(2);
    };
    let settings = settings(Path::new(home), Path::new(folder), url);
    let clock = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    clock.block_on(join_all((0..count.parse().unwrap()).map(|_: usize| play(settings.clone()))));
    ExitCode::SUCCESS
}

/// One session from its prompt to its rest; panics unless it completes.
async fn play(settings: Settings) {
    let session = Session::open(settings, Start::New).await.unwrap();
    session.send("go", Delivery::FollowUp).await.unwrap();
    let mut status = session.status();
    status.wait_for(|status| status.root_is_at_rest()).await.unwrap();
    let outcome = session.view().unwrap().last_outcome;
    session.leave().await.unwrap();
    assert_eq!(outcome, Some(Outcome::Completed));
}

fn settings(home: &Path, folder: &Path, url: &str) -> Settings {
    Settings {
        home: Home::open(home.to_owned()).unwrap(),
        cwd: folder.to_owned(),
        roots: Vec::new(),
        model: model(url),
        model_spec: "test/test-model".into(),
        models: Arc::new(runtime::OnlyOwn),
        guard: runtime::CostGuard::default(),
        catalog: Arc::default(),
        main: None,
        guests: runtime::Guests::default(),
        id: None,
        features: runtime::Features::default(),
        policy: Policy::default(),
        rules: Vec::new(),
        mode: None,
        plan_exit: protocol::PlanAction::ExitOnly,
        ask_user: true,
        day_budget: None,
        ask_wait: Some(Duration::ZERO),
        limits: kernel::Limits::default(),
        watch: runtime::Watch::default(),
        list: protocol::ListName::Session,
        max_turns: None,
        budget: Budget::default(),
        timeout: None,
        effort: None,
        secrets: Arc::default(),
        route: net::Route::default(),
        tools: tools::Limits::default(),
        spools: Arc::new(runtime::Spools::new(
            runtime::SpoolLimits { command: 1 << 20, session: 1 << 24, min_free: 0 },
            Arc::new(runtime::SystemDisk),
        )),
        guardian: "/proc/self/exe".into(),
        env: Vec::new(),
        clock: Arc::new(SystemClock),
        ids: Arc::new(TimeIds),
        probe: Arc::new(NoProbe),
    }
}

fn model(url: &str) -> Arc<dyn Model> {
    let provider = Provider {
        wire: Wire::Responses,
        base_url: url.to_owned(),
        key: Key::Given(Secret::new("sk-0123456789")),
        small: false,
        at_once: None,
        extra: model::Extra::default(),
        models: std::collections::BTreeMap::new(),
    };
    let providers = Providers { places: [("test".into(), provider)].into(), ..Providers::default() };
    model::open("test/test-model", Path::new("/"), &providers).unwrap()
}
