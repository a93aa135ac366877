//! Prompts of the built-in commands that start agents.

use super::SlashPrompt;

const REVIEW: &str = include_str!("../prompts/review.md");
const SECURITY: &str = include_str!("../prompts/security_review.md");
const RESEARCH: &str = include_str!("../prompts/research.md");

/// Reviews a change.
pub(super) fn review(range: &str) -> SlashPrompt {
    prompt(REVIEW, "review", range, &describe_change(range))
}

/// Reviews a change for security problems.
pub(super) fn security_review(range: &str) -> SlashPrompt {
    prompt(SECURITY, "security-review", range, &describe_change(range))
}

/// Researches a topic.
pub(super) fn research(topic: &str) -> SlashPrompt {
    prompt(RESEARCH, "research", topic, &format!("Topic: {topic}"))
}

fn describe_change(range: &str) -> String {
    match range {
        "" => "The change: what is not committed yet, staged or not, and new files (`git status`, `git diff HEAD`)."
            .into(),
        range => format!("The change: {range} (a range of commits for `git diff`, unless it reads otherwise)."),
    }
}

fn prompt(text: &str, name: &str, rest: &str, subject: &str) -> SlashPrompt {
    let display = format!("/{name} {rest}").trim_end().to_owned();
    SlashPrompt { text: format!("{text}\n{subject}"), display, mode: None }
}
