//! What a line means among the slash commands of a session.

use protocol::Refusal;
use protocol::api::InvokeSlashParams;
use runtime::slash::{SlashLookup, SlashOutcome, SlashRegistry};
use tui::chat::{SlashCommands, SlashInput};

/// The slash commands of a session.
#[derive(Debug)]
pub(crate) struct RegistrySlashCommands(pub(crate) SlashRegistry);

impl SlashCommands for RegistrySlashCommands {
    fn look_up(&self, line: &str) -> SlashInput {
        let command = match self.0.parse(line) {
            SlashLookup::NotACommand => return SlashInput::NotACommand,
            SlashLookup::Unavailable(outcome) => {
                let is_unknown = matches!(outcome, SlashOutcome::Unknown { .. });
                let refusal = outcome.refusal().unwrap_or_else(|| Refusal::new("it cannot be run here"));
                return if is_unknown { SlashInput::Unknown(refusal) } else { SlashInput::Refused(refusal) };
            }
            SlashLookup::OutsidePrompt { name, arguments: input } => {
                return SlashInput::Session(InvokeSlashParams { name, input });
            }
            SlashLookup::Command(command) => command,
        };
        match command.terminal_command() {
            Some((terminal, arguments)) => SlashInput::Terminal(terminal, arguments.to_owned()),
            None => {
                let (name, input) = (command.name().to_owned(), command.arguments().to_owned());
                SlashInput::Session(InvokeSlashParams { name, input })
            }
        }
    }

    fn completions(&self, typed: &str) -> Vec<String> {
        self.0.completions(typed).into_iter().map(str::to_owned).collect()
    }
}
