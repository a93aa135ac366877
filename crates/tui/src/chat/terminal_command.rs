//! Slash commands that only make sense at a terminal.

use protocol::{PermissionMode, TerminalCommand};

/// A terminal command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ChatCommand {
    Mode(Option<PermissionMode>),
    Approvals,
    Show(usize),
    Resume(Option<String>),
    New,
    Background,
    Keys,
    Exit,
}

/// Parses the arguments of a terminal command.
pub(super) fn parse_command(command: TerminalCommand, arguments: &str) -> Result<ChatCommand, String> {
    match command {
        TerminalCommand::Mode => parse_mode(arguments),
        TerminalCommand::Approvals => without_arguments(arguments, ChatCommand::Approvals),
        TerminalCommand::Show => parse_show(arguments),
        TerminalCommand::Resume => Ok(ChatCommand::Resume(optional_word(arguments)?)),
        TerminalCommand::New => without_arguments(arguments, ChatCommand::New),
        TerminalCommand::Background => without_arguments(arguments, ChatCommand::Background),
        TerminalCommand::Keys => without_arguments(arguments, ChatCommand::Keys),
        TerminalCommand::Exit => without_arguments(arguments, ChatCommand::Exit),
    }
}

fn without_arguments(arguments: &str, command: ChatCommand) -> Result<ChatCommand, String> {
    if arguments.is_empty() { Ok(command) } else { Err("this command takes no argument".into()) }
}

fn optional_word(arguments: &str) -> Result<Option<String>, String> {
    match arguments.split_whitespace().collect::<Vec<_>>()[..] {
        [] => Ok(None),
        [word] => Ok(Some(word.to_owned())),
        [..] => Err("this command takes at most one argument".into()),
    }
}

fn parse_mode(arguments: &str) -> Result<ChatCommand, String> {
    let Some(word) = optional_word(arguments)? else { return Ok(ChatCommand::Mode(None)) };
    let mode = PermissionMode::ALL.into_iter().find(|mode| mode.as_str() == word);
    let modes = PermissionMode::ALL.map(PermissionMode::as_str).join(", ");
    mode.map(|mode| ChatCommand::Mode(Some(mode))).ok_or_else(|| format!("`{word}` is not one of {modes}"))
}

fn parse_show(arguments: &str) -> Result<ChatCommand, String> {
    match optional_word(arguments)? {
        None => Ok(ChatCommand::Show(1)),
        Some(word) => match word.parse() {
            Ok(ago @ 1..) => Ok(ChatCommand::Show(ago)),
            Ok(0) | Err(_) => Err(format!("`{word}` is not a number of calls; 1 is the last")),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_arguments_are_parsed() {
        assert_eq!(parse_command(TerminalCommand::Exit, ""), Ok(ChatCommand::Exit));
        assert_eq!(parse_command(TerminalCommand::Mode, "plan"), Ok(ChatCommand::Mode(Some(PermissionMode::Plan))));
        assert_eq!(parse_command(TerminalCommand::Show, "3"), Ok(ChatCommand::Show(3)));
        assert_eq!(parse_command(TerminalCommand::Resume, ""), Ok(ChatCommand::Resume(None)));
        assert!(
            parse_command(TerminalCommand::Show, "0").is_err() && parse_command(TerminalCommand::Mode, "x").is_err()
        );
        assert!(
            parse_command(TerminalCommand::New, "now").is_err()
                && parse_command(TerminalCommand::Resume, "a b").is_err()
        );
    }
}
