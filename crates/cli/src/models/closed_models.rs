//! Models that are closed because their provider asked to wait.

use client::StoreError;
use host::Home;
use protocol::Timestamp;
use protocol::api::ClosedModelView;
use tui::print;

/// The models that are closed now.
pub(super) fn list_closed(home: &Home, now: Timestamp) -> Result<Vec<ClosedModelView>, StoreError> {
    let closed = runtime::closed_models(home, now)?.into_iter();
    Ok(closed.map(|closed| ClosedModelView { model: without_account(&closed.key), until: closed.until }).collect())
}

/// Prints the closed models and how to reopen them.
pub(super) fn print_closed(closed: &[ClosedModelView]) {
    for ClosedModelView { model, until } in closed {
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
