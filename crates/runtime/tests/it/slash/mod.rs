//! Slash commands: their texts, actions and prompts.

mod built_in;
mod clients;
mod documents;
mod files;
mod servers;

use std::path::Path;

use protocol::{DefinitionSource, SlashSpec};
use runtime::slash::{SlashOutcome, SlashPrompt};
use testkit::session::SessionDriver;

/// A command from a file with this text.
fn command(folder: &Path, name: &str, text: &str) -> SlashSpec {
    let file = folder.canonicalize().unwrap().join(format!("{name}.md"));
    std::fs::write(&file, text).unwrap();
    let path = file.display().to_string();
    SlashSpec {
        name: name.into(),
        file: path.clone(),
        source: DefinitionSource::Project { path },
        ..SlashSpec::default()
    }
}

/// The prompt that a command becomes.
async fn prompt(driver: &SessionDriver, line: &str) -> SlashPrompt {
    match driver.session().dispatch(line).await {
        SlashOutcome::Prompt(prompt) => prompt,
        other => panic!("{line}: {other:?}"),
    }
}

/// The text that a command shows to the user.
async fn shown_text(driver: &SessionDriver, line: &str) -> String {
    match driver.session().dispatch(line).await {
        SlashOutcome::Text(text) | SlashOutcome::Done { message: text, .. } | SlashOutcome::FleetStarted(text) => text,
        other => panic!("{line}: {other:?}"),
    }
}

/// The reason why a command is refused.
async fn refused(driver: &SessionDriver, line: &str) -> String {
    let outcome = driver.session().dispatch(line).await;
    outcome.refusal().unwrap_or_else(|| panic!("{line}: {outcome:?}")).in_one_line()
}
