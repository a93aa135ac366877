//! Tells a root on autopilot to continue when every task is idle. The kernel counts this and decides when to stop.

use std::fmt::Debug;
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;
use std::time::Duration;

use data_encoding::HEXLOWER;
use kernel::KernelInput;
use protocol::ListItem;
use sha2::{Digest, Sha256};
use store::{StoreError, plan};
use tokio::sync::watch;

use crate::prompt;
use crate::session::SessionStatus;
use crate::session_context::SessionContext;
use crate::supervisor::{InputRejection, Supervisor};

/// Maximum number of files per folder that are checked for changes.
const MAX_FILES: usize = 50_000;

/// Maximum time spent on checking each folder.
const MAX_SCAN_TIME: Duration = Duration::from_secs(2);

/// The loop that tells the root to continue.
#[derive(Debug)]
pub(crate) struct Autopilot {
    pub(crate) context: Arc<SessionContext>,
    pub(crate) supervisor: Supervisor,
    pub(crate) status: watch::Receiver<SessionStatus>,
    /// Whether the commands that were stored before the session was opened have been applied.
    pub(crate) commands_applied: watch::Receiver<bool>,
}

impl Autopilot {
    /// Runs until the session ends.
    pub(crate) async fn run(mut self) {
        if self.commands_applied.wait_for(|applied| *applied).await.is_err() {
            return;
        }
        while self.status.wait_for(|status| status.continuation_due).await.is_ok() {
            let items = self.context.shared_list.items().await;
            let context = Arc::clone(&self.context);
            let state = tokio::task::spawn_blocking(move || work_digest(&context, &items)).await.unwrap_or_default();
            let input = KernelInput::ContinueAutopilot { state, text: prompt::CONTINUE.trim_end().into() };
            match self.supervisor.submit(input).await {
                Ok(_receipt) => {}
                // Another input came first; its effect changes the status.
                Err(InputRejection::Refused(_)) => drop(self.status.changed().await),
                Err(rejected) => return tracing::info!(%rejected, "autopilot ends"),
            }
        }
    }
}

/// A digest of everything that work would change: files, todos, the plan, the shared list and the evidence. A part that
/// cannot be read counts as unchanged.
fn work_digest(context: &SessionContext, items: &[ListItem]) -> String {
    let mut digest = Sha256::new();
    let folders = [context.facts.cwd.clone()].into_iter().chain(context.facts.added_folders.iter().cloned());
    for folder in folders {
        tools::for_each_file(&folder, MAX_FILES, MAX_SCAN_TIME, |path| {
            let Ok(metadata) = path.symlink_metadata() else { return };
            let stamp = (metadata.mtime(), metadata.mtime_nsec(), metadata.len(), metadata.ino());
            add_part(&mut digest, &(path, stamp));
        });
    }
    add_part(&mut digest, &plan::read(&context.facts.home, context.facts.session).ok());
    add_part(&mut digest, &todos(context).ok());
    add_part(&mut digest, &items);
    add_part(&mut digest, &context.log.roster.evidence_hash());
    HEXLOWER.encode(&digest.finalize()[..16])
}

fn todos(context: &SessionContext) -> Result<Vec<store::TodoRow>, StoreError> {
    context.log.reader()?.todos()
}

fn add_part(digest: &mut Sha256, part: &dyn Debug) {
    digest.update(format!("{part:?}\n"));
}
