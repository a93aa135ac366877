//! Tells a root on autopilot to go on when everything rests. The kernel counts, and says when that is enough.

use std::fmt::Debug;
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;
use std::time::Duration;

use kernel::Input;
use protocol::Item;
use sha2::{Digest, Sha256};
use store::StoreError;
use tokio::sync::watch;

use crate::agent::Desk;
use crate::session::Status;
use crate::supervisor::{Rejected, Supervisor};
use crate::{plan, prompt};

/// How many files of each folder are looked at for a change.
const FILES: usize = 50_000;

/// How long each folder is looked through.
const LOOK: Duration = Duration::from_secs(2);

/// Who tells the root to go on.
#[derive(Debug)]
pub(crate) struct Autopilot {
    pub(crate) desk: Arc<Desk>,
    pub(crate) supervisor: Supervisor,
    pub(crate) status: watch::Receiver<Status>,
    /// Whether the commands that waited for the session are applied.
    pub(crate) looked: watch::Receiver<bool>,
}

impl Autopilot {
    /// Does so until the session ends.
    pub(crate) async fn stand(mut self) {
        if self.looked.wait_for(|looked| *looked).await.is_err() {
            return;
        }
        while self.status.wait_for(|status| status.continuation_due).await.is_ok() {
            let items = self.desk.list.items().await;
            let desk = Arc::clone(&self.desk);
            let seen = tokio::task::spawn_blocking(move || state(&desk, &items)).await.unwrap_or_default();
            let go_on = Input::GoOn { state: seen, text: prompt::CONTINUE.trim_end().into() };
            match self.supervisor.submit(go_on).await {
                Ok(_receipt) => {}
                // Somebody came first; what it led to changes the status.
                Err(Rejected::Refused(_)) => drop(self.status.changed().await),
                Err(rejected) => return tracing::info!(%rejected, "nobody is told to go on any more"),
            }
        }
    }
}

/// A digest of everything that work would change: files, todos, the plan, the list, and what calls left behind. What of
/// it cannot be read has not changed.
fn state(desk: &Desk, items: &[Item]) -> String {
    let mut digest = Sha256::new();
    let folders = [desk.settings.cwd.clone()].into_iter().chain(desk.settings.roots.iter().cloned());
    for folder in folders {
        tools::each_file(&folder, FILES, LOOK, |path| {
            let Ok(found) = path.symlink_metadata() else { return };
            let stamp = (found.mtime(), found.mtime_nsec(), found.len(), found.ino());
            add(&mut digest, &(path, stamp));
        });
    }
    add(&mut digest, &plan::read_plan(&desk.settings.home, desk.session).ok());
    add(&mut digest, &todos(desk).ok());
    add(&mut digest, &items);
    add(&mut digest, &desk.roster.left_behind());
    digest.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

fn todos(desk: &Desk) -> Result<Vec<store::TodoRow>, StoreError> {
    desk.reader()?.todos()
}

fn add(digest: &mut Sha256, part: &dyn Debug) {
    digest.update(format!("{part:?}\n"));
}
