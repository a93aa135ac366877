//! Models that are closed because their provider asked to wait.

use kernel::RateBucket;
use protocol::Timestamp;
use serde::Serialize;
use store::{BucketStore, StoreError};

use crate::print;

/// A model that receives no requests from this machine for now.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ClosedModel {
    model: String,
    until: Timestamp,
}

/// The models that are closed now. Unreadable state counts as open.
pub(super) fn list_closed(buckets: &BucketStore, now: Timestamp) -> Result<Vec<ClosedModel>, StoreError> {
    let closed = |(key, state): (String, String)| {
        let bucket: RateBucket = serde_json::from_str(&state).ok()?;
        let until = bucket.closed_until().filter(|until| *until > now)?;
        Some(ClosedModel { model: without_account(&key), until })
    };
    Ok(buckets.all()?.into_iter().filter_map(closed).collect())
}

/// Prints the closed models and how to reopen them.
pub(super) fn print_closed(closed: &[ClosedModel]) {
    for ClosedModel { model, until } in closed {
        print::note(format_args!("{model} is closed until {until}: its provider asked to wait or did not answer"));
    }
    if !closed.is_empty() {
        print::note("to ask now anyway, run: bosun models --reopen (and resume a parked session as a copy: --fork)");
    }
}

/// The name as `--model` takes it, without the account between provider and model.
fn without_account(key: &str) -> String {
    let mut parts = key.splitn(3, '/');
    match (parts.next(), parts.next(), parts.next()) {
        (Some(provider), Some(_account), Some(model)) => format!("{provider}/{model}"),
        _ => key.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closed_models_are_named_without_account() {
        assert_eq!(without_account("openai/1a2b/gpt-x"), "openai/gpt-x");
        assert_eq!(without_account("box/none/org/model"), "box/org/model");
        assert_eq!(without_account("odd"), "odd");
    }
}
