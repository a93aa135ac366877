//! Texts for models besides the conversation. They are files in `prompts/`.

use protocol::{AgentSpec, SessionMode, WrapUpReason};

use crate::system_text::{SystemSection, SystemSections};
use crate::task_workspaces::TaskWorkspace;
use crate::{Instructions, SessionFeatures};

pub(crate) use protocol::{quote, quote_within, unquote};

/// The beginning of the root's system prompt.
const SYSTEM: [(SystemSection, &str); 6] = [
    (SystemSection::Preamble, include_str!("prompts/system/preamble.md")),
    (SystemSection::CodeChangeRules, include_str!("prompts/system/code_change_rules.md")),
    (SystemSection::ToolEfficiency, include_str!("prompts/system/tool_efficiency.md")),
    (SystemSection::Safety, include_str!("prompts/system/safety.md")),
    (SystemSection::Guidelines, include_str!("prompts/system/guidelines.md")),
    (SystemSection::Tone, include_str!("prompts/system/tone.md")),
];

/// The beginning of a subagent's system prompt.
const AGENT: &str = include_str!("prompts/agent.md");

/// Explains to an agent the checkout that it works in.
const ISOLATED: &str = include_str!("prompts/isolated.md");

/// The notice when most of an agent's budget is spent.
pub(crate) const BUDGET_LOW: &str = include_str!("prompts/budget_low.md");

/// The notice to an agent that was in its last turn when it received more budget, time or turns.
pub(crate) const RESUME: &str = include_str!("prompts/go_on.md");

/// Precedes the unmet expectations of an agent that reports to be done.
pub(crate) const UNMET: &str = include_str!("prompts/unmet.md");

/// Precedes the digest that replaces the older part of a conversation.
pub(crate) const COMPACTED: &str = include_str!("prompts/compacted.md");

/// The reply to an answer without text or calls.
pub(crate) const EMPTY: &str = include_str!("prompts/empty.md");

/// Tells a root on autopilot to continue.
pub(crate) const CONTINUE: &str = include_str!("prompts/continue.md");

/// Explains the session's mode to the root.
pub(crate) fn mode_prompt(mode: SessionMode) -> &'static str {
    match mode {
        SessionMode::Interactive => include_str!("prompts/mode_interactive.md"),
        SessionMode::Plan => include_str!("prompts/mode_plan.md"),
        SessionMode::Autopilot => include_str!("prompts/mode_autopilot.md"),
    }
}

/// The notice before an agent's last turn.
pub(crate) fn wrap_up_prompt(why: WrapUpReason) -> &'static str {
    match why {
        WrapUpReason::Budget => include_str!("prompts/wrap_up_budget.md"),
        WrapUpReason::Time => include_str!("prompts/wrap_up_time.md"),
        WrapUpReason::Turns => include_str!("prompts/wrap_up_turns.md"),
        WrapUpReason::Stop => include_str!("prompts/wrap_up_stop.md"),
        WrapUpReason::Reported => include_str!("prompts/wrap_up_reported.md"),
        WrapUpReason::NoChange => include_str!("prompts/wrap_up_no_change.md"),
    }
}

/// Additions to the root's system prompt for the features that are enabled.
fn feature_prompts(features: SessionFeatures) -> String {
    let parallel = features.parallelism_prompts.then_some(include_str!("prompts/parallel.md"));
    let suggest = features.prompt_suggestions.then_some(SUGGEST);
    parallel.into_iter().chain(suggest).collect()
}

/// The beginning of an answer's last line if it suggests the user's next prompt.
const SUGGESTION_PREFIX: &str = "Next: ";

/// Asks for that line.
const SUGGEST: &str = include_str!("prompts/suggest.md");

/// Splits an answer into its text and the suggested next prompt.
pub(crate) fn split_suggestion(answer: &str) -> Option<(&str, &str)> {
    let (before, last) = answer.trim_end().rsplit_once('\n')?;
    let next = last.trim().strip_prefix(SUGGESTION_PREFIX)?.trim();
    (!next.is_empty() && !before.trim().is_empty()).then(|| (before.trim_end(), next))
}

/// Mentions instruction files that are not read at the start.
const NESTED_FILES_NOTICE: &str =
    "\nA folder below may have an AGENTS.md or CLAUDE.md of its own: read it before you change files there.\n";

/// The system prompt of an agent: Bosun's text, its definition's, its working directory and the instruction files.
pub(crate) fn system_sections(
    workspace: &TaskWorkspace,
    instructions: &Instructions,
    definition: &AgentSpec,
    root: Option<SessionFeatures>,
) -> SystemSections {
    let mut sections: Vec<(SystemSection, String)> = match root {
        Some(features) => {
            let built_in = SYSTEM.into_iter().map(|(section, text)| (section, text.to_owned()));
            let more = [(SystemSection::LastInstructions, feature_prompts(features))];
            built_in.chain(more).chain([(SystemSection::ToolInstructions, String::new())]).collect()
        }
        None => vec![(SystemSection::Preamble, AGENT.to_owned())],
    };
    let agent_prompt = definition.prompt.trim();
    let agent_prompt = if agent_prompt.is_empty() { String::new() } else { format!("\n{agent_prompt}\n") };
    sections.push((SystemSection::RuntimeInstructions, agent_prompt));
    let isolated = if workspace.is_checkout() { ISOLATED } else { "" };
    let place = format!("\nWorking directory: {}\n{isolated}", workspace.cwd().display());
    sections.push((SystemSection::EnvironmentContext, place));
    sections.push((SystemSection::CustomInstructions, instructions_text(instructions)));
    SystemSections(sections)
}

/// The instruction files.
fn instructions_text(instructions: &Instructions) -> String {
    let mut text = String::new();
    for file in &instructions.files {
        let scope = file.scope.as_ref().map(|scope| format!(", for files that match {scope}")).unwrap_or_default();
        text.push_str(&format!("\nInstructions from {}{scope}:\n{}\n", file.path.display(), file.text));
    }
    if !instructions.files.is_empty() {
        text.push_str(NESTED_FILES_NOTICE);
    }
    text
}

/// Whether a text is a notice of the runtime, which is relevant only when it is sent.
pub(crate) fn is_notice(text: &str) -> bool {
    [BUDGET_LOW, RESUME].contains(&text)
        || [CONTINUE, EMPTY].iter().any(|known| text == known.trim_end())
        || SessionMode::ALL.into_iter().any(|known| text == mode_prompt(known))
        || text.starts_with(UNMET)
        || [
            WrapUpReason::Budget,
            WrapUpReason::Time,
            WrapUpReason::Turns,
            WrapUpReason::Stop,
            WrapUpReason::Reported,
            WrapUpReason::NoChange,
        ]
        .into_iter()
        .any(|why| text == wrap_up_prompt(why))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_of_an_answer_may_suggest_a_prompt() {
        let split = |answer| split_suggestion(answer);
        assert_eq!(split("Done.\nNext: run the tests\n"), Some(("Done.", "run the tests")));
        assert_eq!(split("Done.\n\n  Next:  x "), Some(("Done.", "x")));
        for answer in ["Done.", "Next: x", "\nNext: x", "Done.\nNext: ", "Next: x\nDone.", ""] {
            assert_eq!(split(answer), None, "{answer:?}");
        }
    }

    #[test]
    fn the_system_prompt_is_short() {
        let bytes: usize = SYSTEM.iter().map(|(_, text)| text.len()).sum();
        assert!(bytes < 2048, "{bytes} bytes");
    }
}
