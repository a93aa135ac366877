//! Runs several sessions at once in one process, each with the same prompt to a model server, to test what processes
//! share.

#![expect(clippy::print_stderr, clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use futures_util::future::join_all;
use host::Home;
use model::{Model, Provider, ProviderKey, Providers, WireFormat};
use net::Secret;
use protocol::{MailDelivery, TaskOutcome};
use runtime::{Session, SessionSettings, SessionStart};

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
    let home = Home::open(home.to_owned()).unwrap();
    SessionSettings::minimal(home, folder.to_owned(), model(url), "test/test-model")
}

fn model(url: &str) -> Arc<dyn Model> {
    let key = ProviderKey::Present(Secret::new("sk-0123456789"));
    let provider = Provider::new(WireFormat::Responses, url, key);
    let providers = Providers { by_name: [("test".into(), provider)].into(), ..Providers::default() };
    model::open("test/test-model", Path::new("/"), &providers).unwrap()
}
