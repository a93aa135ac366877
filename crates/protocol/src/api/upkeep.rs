//! API types for the machine and Bosun's home: models, checkouts, checks of the installation, and cleaning up.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Price, Timestamp};

/// All providers and their models.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelsResult {
    /// The providers, by name.
    pub providers: Vec<ProviderView>,
    /// Models that are not asked now because their provider asked to wait.
    pub closed: Vec<ClosedModelView>,
}

/// A provider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProviderView {
    /// Its name in the names of models, before the slash.
    pub name: String,
    /// Its address.
    pub base_url: String,
    /// Whether it has the key that it needs.
    pub has_key: bool,
    /// Its models.
    pub models: Vec<ModelView>,
}

/// A model of a provider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelView {
    /// Its name, after the slash.
    pub name: String,
    /// Whether a server on this machine reported it.
    pub running: bool,
    /// How many tokens its context may have.
    pub context_tokens: Option<u64>,
    /// How many tokens it may answer with.
    pub max_output_tokens: Option<u32>,
    /// Its price in millionths of a US dollar per million tokens.
    pub price: Option<Price>,
}

/// A model that receives no requests from this machine for now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClosedModelView {
    /// The model.
    pub model: String,
    /// When it is asked again.
    pub until: Timestamp,
}

/// The checkouts that agents work in, and those in the trash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CheckoutsResult {
    /// The checkouts.
    pub checkouts: Vec<CheckoutView>,
}

/// Whether a checkout is in use, and whether its work is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CheckoutState {
    /// An agent works in it.
    #[serde(rename = "in use")]
    InUse,
    /// A commit holds its work.
    Sealed,
    /// No commit holds its work.
    Unsealed,
    /// It is in the trash.
    Trash,
    /// A state from a newer version.
    #[serde(other)]
    Unknown,
}

impl CheckoutState {
    /// The state as people read it.
    pub fn as_str(self) -> &'static str {
        match self {
            CheckoutState::InUse => "in use",
            CheckoutState::Sealed => "sealed",
            CheckoutState::Unsealed => "unsealed",
            CheckoutState::Trash => "trash",
            CheckoutState::Unknown => "unknown",
        }
    }
}

/// A checkout.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CheckoutView {
    /// The task that it belongs to.
    pub task: String,
    /// That task's session.
    pub session: String,
    /// Its name; why it is there, if it is in the trash.
    pub name: String,
    /// Whether it is in use, and whether its work is kept.
    pub state: CheckoutState,
    /// Its folder.
    pub path: String,
    /// The commit that holds its work.
    pub commit: Option<String>,
    /// The ref that keeps that commit.
    pub pinned: Option<String>,
    /// The repository that it was made from.
    pub repository: Option<String>,
    /// The size of its files.
    pub bytes: u64,
}

/// Which checkout.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CheckoutParams {
    /// The beginning of the id of the task that it belongs to, or all of it.
    pub prefix: String,
}

/// A checkout that was moved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MovedCheckout {
    /// The task that it belongs to.
    pub task: String,
    /// Its name in the trash, or its folder after it was restored; absent if it was removed.
    pub location: Option<String>,
}

/// What is checked about an installation, and how to fix it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DoctorResult {
    /// The version of Bosun.
    pub version: String,
    /// The checks.
    pub checks: Vec<DoctorCheckView>,
}

/// The result of one check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DoctorCheckView {
    /// Its topic, in one word.
    pub topic: String,
    /// Its status.
    pub status: DoctorStatus,
    /// The finding.
    pub text: String,
    /// How to fix it; every warning and failure has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

/// The status of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum DoctorStatus {
    /// No problem.
    Ok,
    /// Neither good nor bad: something is absent that nothing needs.
    Note,
    /// Something works less well than it could, or is ignored.
    Warn,
    /// Something does not work.
    Fail,
}

impl DoctorStatus {
    /// The status in one word.
    pub fn as_str(self) -> &'static str {
        match self {
            DoctorStatus::Ok => "ok",
            DoctorStatus::Note => "note",
            DoctorStatus::Warn => "warn",
            DoctorStatus::Fail => "fail",
        }
    }
}

/// What to clean up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct CollectParams {
    /// Whether to remove work of removed sessions that is not on any branch too.
    pub unlanded: bool,
    /// Keeps sessions this many days after their last event; `retention.days` when absent.
    pub days: Option<u32>,
    /// Whether to remove nothing and only report what would be removed.
    pub dry_run: bool,
}

/// What was cleaned up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CollectResult {
    /// The sessions that were removed.
    pub removed: Vec<String>,
    /// How many sessions are kept.
    pub kept: u64,
    /// The sessions that could not be removed.
    pub failed: Vec<String>,
    /// Command output that is no longer reachable.
    pub outputs: OutputCleanup,
    /// Copies of files for going back that are too old.
    pub file_copies: FileCopyCleanup,
    /// How many results of todos no fleet used within the retention time.
    pub results: u64,
    /// Checkouts without a session.
    pub checkouts: CheckoutCleanup,
    /// Refs and folders that sessions left in the users' repositories.
    pub refs: RefCleanup,
    /// Whether nothing was removed.
    pub dry_run: bool,
}

/// Command output that was removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OutputCleanup {
    /// The number of tasks whose output was removed.
    pub removed: u64,
    /// Its size.
    pub bytes: u64,
}

/// Copies of files that were removed: the files can no longer go back to what they were then.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileCopyCleanup {
    /// The number of copies.
    pub removed: u64,
    /// Their size.
    pub bytes: u64,
}

/// Checkouts that were removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CheckoutCleanup {
    /// Checkouts removed because their work is in the user's repository.
    pub removed: u64,
    /// Checkouts moved to the trash.
    pub trashed: u64,
    /// Checkouts removed from the trash.
    pub emptied: u64,
    /// The size of what was removed.
    pub bytes: u64,
}

/// Refs that were removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RefCleanup {
    /// Refs removed.
    pub removed: u64,
    /// Refs of removed sessions that were kept because their work is not on any branch.
    pub unlanded: u64,
    /// Folders of interrupted landings removed.
    pub landings: u64,
}
