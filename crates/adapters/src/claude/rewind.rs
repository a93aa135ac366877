//! `rewind_files`: files go back to what they were before a message of the user. The conversation stays.

use std::sync::Arc;

use host::Home;
use protocol::api::{
    FileRewind, Method, RestoreObstacle, RewindParams, RewindPreview, RewindPreviewParams, RewindResult, RewindScope,
};
use protocol::{MailId, SessionId};
use rpc::RpcClient;
use serde_json::{Value, json};

use super::args::MAX_NAME_BYTES;
use super::background::error_text;
use super::conversation::ClientConversation;
use super::resume_cut;

/// The variable with which the SDKs ask for checkpoints of files.
pub(super) const CHECKPOINTS_VARIABLE: &str = "CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING";

/// How many files that stay as they are are named.
const NAMED_FILES: usize = 10;

/// A request to rewind files.
struct FileRewindRequest {
    api: Arc<RpcClient>,
    home: Home,
    session: SessionId,
    /// The message's id, as the client knows it.
    message: String,
    /// The message, if this client has sent it.
    mail: Option<MailId>,
    is_dry_run: bool,
}

impl ClientConversation {
    /// Answers a request to rewind files when that is done.
    pub(super) fn rewind_files(&self, request: &Value) -> impl Future<Output = Result<Value, String>> + Send + 'static {
        let message = request["user_message_id"].as_str().unwrap_or_default().to_owned();
        let request = FileRewindRequest {
            api: Arc::clone(&self.api),
            home: self.sessions.home().clone(),
            session: SessionId::new(self.session),
            mail: self.sent.get(&message).copied(),
            message,
            is_dry_run: request["dry_run"] == true,
        };
        let is_enabled = self.options.keeps_checkpoints;
        async move {
            let rewound = match is_enabled {
                true => request.answer().await,
                false => Err("checkpoints of files are not enabled: enable them when the session starts".into()),
            };
            match rewound {
                Err(why) if request.is_dry_run => Ok(json!({ "canRewind": false, "error": why })),
                other => other,
            }
        }
    }
}

impl FileRewindRequest {
    async fn answer(&self) -> Result<Value, String> {
        let after = self.place().await?;
        let preview = self.api.call::<RewindPreview>(Method::RewindPreview, RewindPreviewParams { after });
        let preview = preview.await.map_err(error_text)?;
        if self.is_dry_run {
            let changed = preview.files.iter().filter(|file| file.obstacle.is_none());
            let paths = changed.map(|file| file.path.clone()).collect();
            let skipped = preview.files.iter().filter_map(|file| Some((file.path.clone(), file.obstacle?))).collect();
            return answer(&preview.files, paths, skipped, RewindRun::Dry);
        }
        let params = RewindParams { after, scope: RewindScope::Files };
        let done = self.api.call::<RewindResult>(Method::RewindApply, params).await.map_err(error_text)?;
        let skipped = done.skipped.into_iter().map(|file| (file.path, file.obstacle)).collect();
        answer(&preview.files, done.restored, skipped, RewindRun::Real)
    }

    /// The last event before the message.
    async fn place(&self) -> Result<u64, String> {
        let (home, session, message, mail) = (self.home.clone(), self.session, self.message.clone(), self.mail);
        let find = move || resume_cut::find_user_message(&home, session, &message, mail);
        let found = tokio::task::spawn_blocking(find).await.map_err(|error| error.to_string())?;
        let named = protocol::clip_middle(&self.message, MAX_NAME_BYTES);
        found
            .map_err(|error| error.to_string())?
            .ok_or_else(|| format!("the session has no message `{named}` of a user"))
    }
}

/// Whether files are restored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RewindRun {
    Real,
    Dry,
}

fn answer(
    files: &[FileRewind],
    changed: Vec<String>,
    skipped: Vec<(String, RestoreObstacle)>,
    run: RewindRun,
) -> Result<Value, String> {
    let left = (!skipped.is_empty()).then(|| format!("left as they are: {}", name_files(&skipped)));
    if let Some(left) = left.as_ref().filter(|_| changed.is_empty()) {
        return Err(format!("no file can be restored; {left}"));
    }
    let restored = files.iter().filter(|file| changed.contains(&file.path));
    // What tools added goes away, and what they removed comes back.
    let (deletions, insertions) =
        restored.fold((0, 0), |(added, removed), file| (added + file.lines_added, removed + file.lines_removed));
    let mut answer = json!({
        "canRewind": true, "filesChanged": changed, "insertions": insertions, "deletions": deletions,
    });
    if let Some(left) = left {
        answer["error"] = left.into();
    }
    let links = skipped.iter().filter(|(_, obstacle)| *obstacle == RestoreObstacle::Unreachable).count();
    if run == RewindRun::Real && links > 0 {
        answer["skippedLinks"] = links.into();
    }
    Ok(answer)
}

fn name_files(skipped: &[(String, RestoreObstacle)]) -> String {
    let name = |(path, obstacle): &(String, RestoreObstacle)| format!("{path} ({})", obstacle.as_str());
    let mut names: Vec<String> = skipped.iter().take(NAMED_FILES).map(name).collect();
    if skipped.len() > NAMED_FILES {
        names.push(format!("{} more", skipped.len() - NAMED_FILES));
    }
    names.join(", ")
}
