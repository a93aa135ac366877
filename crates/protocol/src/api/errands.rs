//! What the API says of errands.

use serde::{Deserialize, Serialize};

use crate::{Errand, ErrandId, ErrandWord};

/// The errands of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ErrandsResult {
    /// Them, by name.
    pub errands: Vec<Errand>,
}

/// An errand that a client begins, or takes up again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ErrandParams {
    /// Its name.
    pub id: ErrandId,
    /// What people call it.
    #[serde(default)]
    pub title: Option<String>,
    /// What it is for.
    pub description: String,
    /// Whether the client can be asked to stop it.
    pub cancellable: bool,
    /// The connection that does it.
    pub owner: String,
    /// The number that the client thinks it stands at.
    #[serde(default)]
    pub expected: Option<u64>,
}

/// What a client says of its errand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ErrandUpdate {
    /// The errand.
    pub id: ErrandId,
    /// The connection that says it; anybody may end an errand whose client is gone.
    #[serde(default)]
    pub owner: Option<String>,
    /// The number of what is said; what is not newer than what was said before changes nothing.
    pub sequence: u64,
    /// What is said.
    pub words: Vec<ErrandWord>,
}

/// An errand, and whether this call changed it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ErrandResult {
    /// The errand as it stands.
    pub errand: Errand,
    /// What the call did.
    pub change: ErrandChange,
}

/// What a call did to an errand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ErrandChange {
    /// It is new.
    Made,
    /// It was nobody's, and is its client's again.
    Reclaimed,
    /// What was said of it counts.
    Told,
    /// Nothing: it was known already.
    Known,
}

/// Whose errands, or which.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OwnerParams {
    /// The connection that is gone.
    pub owner: String,
}

/// Which errand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ErrandIdParams {
    /// Its name.
    pub id: ErrandId,
}
