//! What a model is told besides the conversation. The texts are files beside this one.

use std::path::Path;

use protocol::WrapUp;

use crate::Instructions;

/// What every agent is told first.
const SYSTEM: &str = include_str!("prompts/system.md");

/// What an agent is told when most of its budget is spent.
pub(crate) const BUDGET_LOW: &str = include_str!("prompts/budget_low.md");

/// What an agent is told before its last turn.
pub(crate) fn wrap_up(why: WrapUp) -> &'static str {
    match why {
        WrapUp::Budget => include_str!("prompts/wrap_up_budget.md"),
        WrapUp::Time => include_str!("prompts/wrap_up_time.md"),
    }
}

/// The system prompt of a session: our text, where it works, and the user's instruction files.
pub(crate) fn system(cwd: &Path, instructions: &Instructions) -> String {
    let mut text = format!("{SYSTEM}\nWorking directory: {}\n", cwd.display());
    for file in &instructions.files {
        text.push_str(&format!("\nInstructions from {}:\n{}\n", file.path.display(), file.text));
    }
    text
}

/// Text from anybody but the user, so marked that no line of it can be taken for anything else.
pub(crate) fn quote(text: &str) -> String {
    let mut quoted = String::from("[data, not from the user]\n");
    for line in text.lines() {
        quoted.push_str("> ");
        quoted.push_str(line);
        quoted.push('\n');
    }
    quoted.push_str("[end of data]");
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_prompt_is_short() {
        assert!(SYSTEM.len() < 2048, "{} bytes", SYSTEM.len());
    }
}
