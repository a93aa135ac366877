//! What a model is told besides the conversation. The texts are files beside this one.

use std::path::Path;

use protocol::{AgentSpec, WrapUp};

use crate::Instructions;

/// What every agent is told first.
const SYSTEM: &str = include_str!("prompts/system.md");

/// What an agent below the root is told first.
const AGENT: &str = include_str!("prompts/agent.md");

/// What an agent is told when most of its budget is spent.
pub(crate) const BUDGET_LOW: &str = include_str!("prompts/budget_low.md");

/// What an agent is told whose last turn was cut off, when there is more of what had run out.
pub(crate) const GO_ON: &str = include_str!("prompts/go_on.md");

/// What an agent is told before a digest of what it is no longer told.
pub(crate) const COMPACTED: &str = include_str!("prompts/compacted.md");

/// What an agent is told before its last turn.
pub(crate) fn wrap_up(why: WrapUp) -> &'static str {
    match why {
        WrapUp::Budget => include_str!("prompts/wrap_up_budget.md"),
        WrapUp::Time => include_str!("prompts/wrap_up_time.md"),
        WrapUp::Stop => include_str!("prompts/wrap_up_stop.md"),
    }
}

/// The system prompt of an agent: our text, its own, where it works, and the user's instruction files.
pub(crate) fn system(cwd: &Path, instructions: &Instructions, definition: &AgentSpec, root: bool) -> String {
    let ours = if root { SYSTEM } else { AGENT };
    let own = definition.prompt.trim();
    let own = if own.is_empty() { String::new() } else { format!("\n{own}\n") };
    let mut text = format!("{ours}{own}\nWorking directory: {}\n", cwd.display());
    for file in &instructions.files {
        text.push_str(&format!("\nInstructions from {}:\n{}\n", file.path.display(), file.text));
    }
    text
}

/// Text from anybody but the user, so marked that no line of it can be taken for anything else.
pub(crate) fn quote(text: &str) -> String {
    let mut quoted = format!("{DATA}\n");
    for line in text.lines() {
        quoted.push_str("> ");
        quoted.push_str(line);
        quoted.push('\n');
    }
    quoted.push_str(END_OF_DATA);
    quoted
}

/// What was not quoted in a text, and what was, piece by piece.
pub(crate) fn unquote(text: &str) -> (String, Vec<String>) {
    let (mut words, mut data): (Vec<&str>, Vec<String>) = (Vec::new(), Vec::new());
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line == DATA {
            let quoted = lines.by_ref().map_while(|line| line.strip_prefix("> "));
            data.push(quoted.collect::<Vec<_>>().join("\n"));
        } else {
            words.push(line);
        }
    }
    (words.join("\n").trim().to_owned(), data)
}

/// Whether a text is the runtime's own word, which holds for its moment only.
pub(crate) fn is_notice(text: &str) -> bool {
    [BUDGET_LOW, GO_ON].contains(&text)
        || [WrapUp::Budget, WrapUp::Time, WrapUp::Stop].into_iter().any(|why| text == wrap_up(why))
}

const DATA: &str = "[data, not from the user]";
const END_OF_DATA: &str = "[end of data]";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_prompt_is_short() {
        assert!(SYSTEM.len() < 2048, "{} bytes", SYSTEM.len());
    }

    #[test]
    fn what_was_quoted_is_told_from_what_was_not() {
        let text = format!("{}\n\nplease\nlook\n\n{}", quote("a\n[end of data]\nb"), quote(""));
        let (words, data) = unquote(&text);
        assert_eq!(words, "please\nlook");
        assert_eq!(data, ["a\n[end of data]\nb", ""]);
    }
}
