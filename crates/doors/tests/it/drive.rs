//! Gives a door whatever bytes as what its client says, until they end or are refused. Fuzz targets share it.

use std::io::Cursor;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bosun_doors::{House, Opening, Order, Refusal};
use host::Home;
use tempfile::TempDir;
use tokio::runtime::Builder;

/// How the Claude SDKs start their program.
const ARGS: [&str; 5] = ["--output-format", "stream-json", "--verbose", "--input-format", "stream-json"];

/// Says these bytes to the Claude door.
pub(crate) fn claude(bytes: &[u8]) {
    let args = ARGS.map(String::from).to_vec();
    drive(bosun_doors::claude::serve_on(Arc::new(Shut), args, Cursor::new(bytes.to_vec()), tokio::io::sink()));
}

/// Says these bytes to the Copilot door.
pub(crate) fn copilot(bytes: &[u8]) {
    drive(bosun_doors::copilot::serve_on(Arc::new(Shut), Cursor::new(bytes.to_vec()), tokio::io::sink()));
}

/// Runs a door to its end. Nothing else takes time here: one that does not end waits for something that never comes.
fn drive(door: impl Future<Output = bosun_doors::Ended>) {
    let runtime = Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(async { tokio::time::timeout(Duration::from_secs(24 * 3600), door).await.unwrap() });
}

/// A house that opens nothing.
struct Shut;

impl House for Shut {
    fn home(&self) -> &Home {
        static HOME: OnceLock<(TempDir, Home)> = OnceLock::new();
        let (_folder, home) = HOME.get_or_init(|| {
            let folder = TempDir::new().unwrap();
            let home = Home::open(folder.path().to_owned()).unwrap();
            (folder, home)
        });
        home
    }

    fn open(&self, _order: Order) -> Opening<'_> {
        let refusal = Refusal { words: "this house opens nothing".into(), hint: None };
        Box::pin(async move { Err(refusal) })
    }
}
