//! Colour, decided once. It only repeats what the words say.

use std::io::IsTerminal;

use config::Env;

/// What a piece of text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Text like any other.
    Plain,
    /// What is said with weight.
    Strong,
    /// The head of a section.
    Heading,
    /// Code.
    Code,
    /// What is there for those who look for it.
    Dim,
    /// What went well.
    Good,
    /// What went wrong.
    Bad,
    /// What asks for attention.
    Accent,
}

/// Whether a stream takes colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// Text alone.
    Plain,
    /// With colour.
    Colour,
}

impl Style {
    /// The style of a stream: colour only on a terminal that knows it, and where nobody refused it.
    pub(crate) fn of(stream: &impl IsTerminal, env: &Env) -> Style {
        let colour = stream.is_terminal() && env.allows_colour() && !env.has_dumb_terminal();
        if colour { Style::Colour } else { Style::Plain }
    }

    /// The text as the stream takes it.
    pub(crate) fn paint(self, role: Role, text: &str) -> String {
        match (self, code(role)) {
            (Style::Colour, Some(code)) if !text.is_empty() => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
            (Style::Colour | Style::Plain, _) => text.to_owned(),
        }
    }
}

/// What a word says of a state, in lists of tasks, sessions, todos and checks.
pub(crate) fn of_state(word: &str) -> Option<Role> {
    Some(match word {
        "ok" | "done" | "completed" => Role::Good,
        "fail" | "failed" | "blocked" | "lost" | "timed_out" | "budget_exhausted" | "damaged" | "unreadable" => {
            Role::Bad
        }
        "warn" | "needs you" | "interrupted" | "parked" | "newer" => Role::Accent,
        "running" | "at work" | "in_progress" => Role::Strong,
        "idle" | "queued" | "pending" | "waits" | "cancelled" => Role::Dim,
        _other => return None,
    })
}

fn code(role: Role) -> Option<&'static str> {
    match role {
        Role::Plain => None,
        Role::Strong => Some("1"),
        Role::Heading => Some("1;4"),
        Role::Code => Some("36"),
        Role::Dim => Some("2"),
        Role::Good => Some("32"),
        Role::Bad => Some("31"),
        Role::Accent => Some("1;33"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_without_colour_is_the_text() {
        assert_eq!(Style::Plain.paint(Role::Bad, "no"), "no");
        assert_eq!(Style::Colour.paint(Role::Plain, "no"), "no");
        assert_eq!(Style::Colour.paint(Role::Bad, "no"), "\u{1b}[31mno\u{1b}[0m");
        assert_eq!(Style::Colour.paint(Role::Bad, ""), "");
    }
}
