//! `find`: the commands that its actions run.

use super::raw_command::{RawCommand, RawWord};
use super::resolve::InnerCommands;

const ACTIONS: [&str; 4] = ["-exec", "-execdir", "-ok", "-okdir"];

/// The commands that the actions of a `find` run.
pub(super) fn inner_commands(raw: &RawCommand) -> InnerCommands {
    let mut runs = InnerCommands::itself();
    let mut rest = raw.args();
    while let [arg, after @ ..] = rest {
        rest = after;
        match arg.text() {
            Some(action) if ACTIONS.contains(&action) => {
                let ends = |at: &usize| match after.get(*at).and_then(RawWord::text) {
                    Some(";") => true,
                    Some("+") => at.checked_sub(1).and_then(|before| after.get(before)?.text()) == Some("{}"),
                    Some(_) | None => false,
                };
                let end = (0..after.len()).find(ends);
                let Some((command, further)) = end.and_then(|end| after.split_at_checked(end)) else {
                    return InnerCommands::unclear("an action of find has no end");
                };
                if !command.first().is_some_and(names_program) {
                    return InnerCommands::unclear("the command of an action of find is unknown");
                }
                runs.commands.push(action_command(raw, command));
                rest = further;
            }
            Some("-delete") => runs.risks.push("it deletes what it finds"),
            Some(action) if action.starts_with("-fprint") || action == "-fls" => {
                runs.risks.push("it writes to a file");
            }
            Some(_) | None => {}
        }
    }
    runs
}

/// Whether a word can name a program. An option or operator means that the action was an argument of something else.
fn names_program(word: &RawWord) -> bool {
    word.prefix.starts_with(|c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '_'))
}

/// The command of an action, in which `{}` is a found file.
fn action_command(raw: &RawCommand, words: &[RawWord]) -> RawCommand {
    let mut inner = raw.inner_command(words);
    for word in &mut inner.words {
        if word.display().contains("{}") {
            // A found path begins with the searched folder, which may be anything.
            *word = RawWord { splits: true, ..RawWord::unknown(word.display(), "") };
        }
    }
    inner
}
