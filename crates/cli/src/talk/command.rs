//! Slash commands that only make sense at a terminal.

use protocol::PermissionMode;
use runtime::slash::Screen;

/// What can be typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Command {
    Mode(Option<PermissionMode>),
    Approvals,
    Show(usize),
    Resume(Option<String>),
    New,
    Keys,
    Exit,
}

/// Reads what follows a command that is for the terminal.
pub(super) fn read(screen: Screen, rest: &str) -> Result<Command, String> {
    match screen {
        Screen::Mode => mode(rest),
        Screen::Approvals => alone(rest, Command::Approvals),
        Screen::Show => show(rest),
        Screen::Resume => Ok(Command::Resume(word(rest)?)),
        Screen::New => alone(rest, Command::New),
        Screen::Keys => alone(rest, Command::Keys),
        Screen::Exit => alone(rest, Command::Exit),
    }
}

fn alone(rest: &str, command: Command) -> Result<Command, String> {
    if rest.is_empty() { Ok(command) } else { Err("nothing follows it".into()) }
}

fn word(rest: &str) -> Result<Option<String>, String> {
    match rest.split_whitespace().collect::<Vec<_>>()[..] {
        [] => Ok(None),
        [word] => Ok(Some(word.to_owned())),
        [..] => Err("one word follows it at most".into()),
    }
}

fn mode(rest: &str) -> Result<Command, String> {
    let Some(word) = word(rest)? else { return Ok(Command::Mode(None)) };
    let found = PermissionMode::ALL.into_iter().find(|mode| mode.word() == word);
    let words = PermissionMode::ALL.map(PermissionMode::word).join(", ");
    found.map(|mode| Command::Mode(Some(mode))).ok_or_else(|| format!("`{word}` is none of {words}"))
}

fn show(rest: &str) -> Result<Command, String> {
    match word(rest)? {
        None => Ok(Command::Show(1)),
        Some(word) => match word.parse() {
            Ok(ago @ 1..) => Ok(Command::Show(ago)),
            Ok(0) | Err(_) => Err(format!("`{word}` is no number of calls; 1 is the last")),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_a_command_is_read() {
        assert_eq!(read(Screen::Exit, ""), Ok(Command::Exit));
        assert_eq!(read(Screen::Mode, "plan"), Ok(Command::Mode(Some(PermissionMode::Plan))));
        assert_eq!(read(Screen::Show, "3"), Ok(Command::Show(3)));
        assert_eq!(read(Screen::Resume, ""), Ok(Command::Resume(None)));
        assert!(read(Screen::Show, "0").is_err() && read(Screen::Mode, "x").is_err());
        assert!(read(Screen::New, "now").is_err() && read(Screen::Resume, "a b").is_err());
    }
}
