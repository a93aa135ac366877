//! Feeds arbitrary bytes to an adapter as its client's input, until they end or are refused. Fuzz targets share it.

use std::io::Cursor;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use host::Home;
use server::{OpenRefusal, OpenRequest, OpenSessionFuture, SessionOpener};
use tempfile::TempDir;
use tokio::runtime::Builder;

/// How the Claude SDKs start their program.
const ARGS: [&str; 5] = ["--output-format", "stream-json", "--verbose", "--input-format", "stream-json"];

/// Feeds these bytes to the Claude adapter.
pub(crate) fn claude(bytes: &[u8]) {
    let args = ARGS.map(String::from).to_vec();
    drive(bosun_adapters::claude::serve_on(
        Arc::new(ClosedSessionOpener),
        args,
        Cursor::new(bytes.to_vec()),
        tokio::io::sink(),
    ));
}

/// Feeds these bytes to the Copilot adapter.
pub(crate) fn copilot(bytes: &[u8]) {
    drive(bosun_adapters::copilot::serve_on(
        Arc::new(ClosedSessionOpener),
        Cursor::new(bytes.to_vec()),
        tokio::io::sink(),
    ));
}

/// Runs an adapter to its end. Time is paused, so the timeout fires only if the adapter hangs.
fn drive(adapter: impl Future<Output = bosun_adapters::AdapterExit>) {
    let runtime = Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(async { tokio::time::timeout(Duration::from_secs(24 * 3600), adapter).await.unwrap() });
}

/// Opens no sessions.
struct ClosedSessionOpener;

impl SessionOpener for ClosedSessionOpener {
    fn home(&self) -> &Home {
        static HOME: OnceLock<(TempDir, Home)> = OnceLock::new();
        let (_folder, home) = HOME.get_or_init(|| {
            let folder = TempDir::new().unwrap();
            let home = Home::open(folder.path().to_owned()).unwrap();
            (folder, home)
        });
        home
    }

    fn open(&self, _request: OpenRequest) -> OpenSessionFuture<'_> {
        let refusal = OpenRefusal { words: "this host opens no sessions".into(), hint: None };
        Box::pin(async move { Err(refusal) })
    }
}
