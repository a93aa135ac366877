//! Prompts of the commands that have agents do something.

use super::Prompt;

const REVIEW: &str = include_str!("../prompts/review.md");
const SECURITY: &str = include_str!("../prompts/security_review.md");
const RESEARCH: &str = include_str!("../prompts/research.md");

/// Has a change reviewed.
pub(super) fn review(range: &str) -> Prompt {
    prompt(REVIEW, "review", range, &change(range))
}

/// The same with an eye on security.
pub(super) fn security_review(range: &str) -> Prompt {
    prompt(SECURITY, "security-review", range, &change(range))
}

/// Has a topic looked into.
pub(super) fn research(topic: &str) -> Prompt {
    prompt(RESEARCH, "research", topic, &format!("Topic: {topic}"))
}

fn change(range: &str) -> String {
    match range {
        "" => "The change: what is not committed yet, staged or not, and new files (`git status`, `git diff HEAD`)."
            .into(),
        range => format!("The change: {range} (a range of commits for `git diff`, unless its words say otherwise)."),
    }
}

fn prompt(text: &str, name: &str, rest: &str, subject: &str) -> Prompt {
    let display = format!("/{name} {rest}").trim_end().to_owned();
    Prompt { text: format!("{text}\n{subject}"), display, mode: None }
}
